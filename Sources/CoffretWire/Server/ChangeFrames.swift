// The stream of a zone's objects. Invariant: a stream may break after any byte, and what was read up to the last mark
// stays good.

package import CoffretBase

/// One frame of `GET …/changes` and `POST …/fetch`.
///
/// Layout: length (4 bytes, big-endian) ‖ deterministic CBOR [1, address(32), ciphertext, uploader's account(32)] or
/// [2, head address(32) or empty, cursor, whether more follows].
package enum ChangeFrame: ServerMessage {
    case object(ZoneObject, uploader: [UInt8])
    /// All objects before this mark are covered by its cursor. `head` counts in the last mark (`hasMore` false):
    /// everything that it needs was sent, now or before the cursor that was asked from.
    case mark(head: [UInt8]?, cursor: [UInt8], hasMore: Bool)

    package static let lengthByteCount = 4

    private static let objectLayout = CBORLayout(
        version: 1, { (address: $0, ciphertext: $1, uploader: $2) }, CBORField("address", \.address, .address),
        CBORField("ciphertext", \.ciphertext, .ciphertext), CBORField("uploader", \.uploader, .account))
    private static let markLayout = CBORLayout(
        version: 2, { (head: $0, cursor: $1, hasMore: $2) }, CBORField("head", \.head, .addressOrEmpty),
        CBORField("cursor", \.cursor, .cursor), CBORField("more", \.hasMore, .bool))

    package static var notation: String { "\(objectLayout.notation) / \(markLayout.notation)" }

    package func encode(to encoder: inout CBOREncoder) {
        switch self {
        case .object(let object, let uploader):
            Self.objectLayout.encode((object.address, object.ciphertext, uploader), to: &encoder)
        case .mark(let head, let cursor, let hasMore): Self.markLayout.encode((head, cursor, hasMore), to: &encoder)
        }
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        switch try decoder.peekKind() {
        case 1:
            let object = try Self.objectLayout.decode(from: &decoder)
            self = .object(
                ZoneObject(address: object.address, ciphertext: object.ciphertext), uploader: object.uploader)
        case 2:
            let mark = try Self.markLayout.decode(from: &decoder)
            self = .mark(head: mark.head, cursor: mark.cursor, hasMore: mark.hasMore)
        default: throw CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        }
    }

    /// The frame with its length in front.
    package func framed() -> [UInt8] {
        let body = encoded()
        return UInt32(body.count).bigEndianBytes + body
    }
}

/// Cuts frames out of bytes as they arrive.
package struct ChangeFrameReader: Sendable {
    private var buffer: [UInt8] = []
    private var offset = 0

    package init() {}

    /// Whether the stream may end here: nothing is left of a frame.
    package var isBetweenFrames: Bool { offset == buffer.count }

    package mutating func append(_ bytes: [UInt8]) {
        // Frames that were read go before the buffer grows, so it holds two frames at most and the newest bytes.
        if offset > 0 {
            buffer.removeFirst(offset)
            offset = 0
        }
        buffer += bytes
    }

    /// The next whole frame; nil until more bytes come.
    ///
    /// - Throws: `.malformed` for a length above the limit, before anything is allocated for it, or a bad frame.
    package mutating func next() throws(WireError) -> ChangeFrame? {
        guard buffer.count - offset >= ChangeFrame.lengthByteCount else { return nil }
        var length = 0
        for index in 0..<ChangeFrame.lengthByteCount { length = length << 8 | Int(buffer[offset + index]) }
        guard length <= ServerLimits.frameByteCountMax else { throw WireError(.malformed, byteOffset: offset) }
        let start = offset + ChangeFrame.lengthByteCount
        guard buffer.count - start >= length else { return nil }
        let frame = try ChangeFrame(decoding: Array(buffer[start..<start + length]))
        offset = start + length
        return frame
    }
}
