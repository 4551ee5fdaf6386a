// The contents of remote requests. Invariant: each is filled to a multiple of 512 bytes, so that a relay does not tell a refusal from
// a password by its size.

internal import CoffretBase

/// Bounds of remote requests. Spec: Spec/remote.md sections 2 and 6.
package enum RemoteLimits {
    /// A request is good for so long, and so is a question to a person.
    package static let duration = Duration.seconds(60)
    /// Between a message and its answer, where no person is asked.
    package static let messageDuration = Duration.seconds(20)
    package static let itemByteCountMax = 1_024
    package static let fieldByteCountMax = 256
    package static let titleByteCountMax = 4_096
    package static let valueByteCountMax = 32_768
    static let codeByteCountMax = 64
    static let pieceByteCount = 512
}

/// The item and the field that a device asks another one for.
///
/// Layout, deterministic CBOR: [1, item: tstr, field: tstr or null]. Spec: Spec/remote.md section 3.
package struct RemoteRequest: Equatable, Sendable {
    /// As a person names it: title, alias or id.
    package let item: String
    /// Name or label; nil for the password, else the first secret.
    package let field: String?

    /// - Throws: `.itemNotFound`, `.fieldNotFound` for a text that is empty or too long to name one.
    package init(item: String, field: String?) throws(RemoteError) {
        guard (1...RemoteLimits.itemByteCountMax).contains(item.utf8.count) else { throw RemoteError(.itemNotFound) }
        guard (1...RemoteLimits.fieldByteCountMax).contains(field?.utf8.count ?? 1) else {
            throw RemoteError(.fieldNotFound)
        }
        self.item = item
        self.field = field
    }

    var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: 1)
            encoder.encode(text: item)
            if let field { encoder.encode(text: field) } else { encoder.encodeNull() }
        }
    }

    init(decoding bytes: [UInt8]) throws(RemoteError) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 3)
            guard try decoder.readUnsigned() == 1 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            let item = try decoder.readText(byteCountMax: RemoteLimits.itemByteCountMax)
            guard decoder.isNextNull else {
                return (item, Optional(try decoder.readText(byteCountMax: RemoteLimits.fieldByteCountMax)))
            }
            try decoder.readNull()
            return (item, nil)
        }
        guard let read else { throw RemoteError(.mismatch) }
        try self.init(item: read.0, field: read.1)
    }
}

/// A value that a person sent.
package struct RemoteValue: Equatable, Sendable {
    /// Of the item.
    package var title: String
    /// Of the field, for a person.
    package var label: String
    package var value: String
    /// For which a one-time code is good.
    package var seconds: Int?

    package init(title: String, label: String, value: String, seconds: Int? = nil) {
        self.title = title
        self.label = label
        self.value = value
        self.seconds = seconds
    }
}

/// The answer to a request.
///
/// Layout, deterministic CBOR: [1, title: tstr, label: tstr, value: tstr, seconds: uint or null] or [2, code: tstr].
package enum RemoteReply: Equatable, Sendable {
    case value(RemoteValue)
    case refused(RemoteError.Code)

    /// The bytes, which the caller zeroes.
    var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            switch self {
            case .value(let sent):
                encoder.encodeArrayHeader(count: 5)
                encoder.encode(unsigned: 1)
                encoder.encode(text: sent.title)
                encoder.encode(text: sent.label)
                encoder.encode(text: sent.value)
                if let seconds = sent.seconds {
                    encoder.encode(unsigned: UInt64(max(0, seconds)))
                } else {
                    encoder.encodeNull()
                }
            case .refused(let code):
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(unsigned: 2)
                encoder.encode(text: code.rawValue)
            }
        }
    }

    init(decoding bytes: [UInt8]) throws(RemoteError) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) -> RemoteReply in
            let count = try decoder.readArrayHeader()
            switch (try decoder.readUnsigned(), count) {
            case (1, 5):
                var sent = RemoteValue(
                    title: try decoder.readText(byteCountMax: RemoteLimits.titleByteCountMax),
                    label: try decoder.readText(byteCountMax: RemoteLimits.titleByteCountMax),
                    value: try decoder.readText(byteCountMax: RemoteLimits.valueByteCountMax))
                if decoder.isNextNull {
                    try decoder.readNull()
                } else {
                    sent.seconds = Int(clamping: try decoder.readUnsigned())
                }
                return .value(sent)
            case (2, 2):
                let code = try decoder.readText(byteCountMax: RemoteLimits.codeByteCountMax)
                return .refused(RemoteError.Code(rawValue: code) ?? .failed)
            default: throw CBORError(.unexpectedItem, byteOffset: 0)
            }
        }
        guard let read else { throw RemoteError(.mismatch) }
        self = read
    }
}

/// Contents with zeros behind them.
enum RemoteFilling {
    /// Length (4, big-endian) ‖ content ‖ zeros up to a multiple of 512 bytes. The caller zeroes the result.
    static func filled(_ members: [JSONValue.Member]) -> [UInt8] {
        var content = Array(JSONValue.object(members).text().utf8)
        defer { content.zero() }
        return filled(content)
    }

    static func filled(_ content: [UInt8]) -> [UInt8] {
        let piece = RemoteLimits.pieceByteCount
        let count = (4 + content.count + piece - 1) / piece * piece
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: content.count >> shift)) }
        bytes += content
        bytes += [UInt8](repeating: 0, count: count - bytes.count)
        return bytes
    }

    /// - Throws: `.mismatch` for anything that `filled` does not make.
    static func content(_ bytes: [UInt8]) throws(RemoteError) -> [UInt8] {
        guard bytes.count >= 4, bytes.count.isMultiple(of: RemoteLimits.pieceByteCount) else {
            throw RemoteError(.mismatch)
        }
        let count = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard count <= bytes.count - 4, bytes.count - 4 - count < RemoteLimits.pieceByteCount,
            bytes[(4 + count)...].allSatisfy({ $0 == 0 })
        else { throw RemoteError(.mismatch) }
        return Array(bytes[4..<4 + count])
    }
}
