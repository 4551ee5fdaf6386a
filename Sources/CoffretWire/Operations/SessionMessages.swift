// What passes in a session beside requests and replies. Invariant: none of these is a reply, so that a client that asks for
// none of them gets replies alone.

internal import CoffretBase

/// A message of a client.
package enum SessionClientMessage: Equatable, Sendable {
    case request(OperationRequest)
    /// Nothing of what was asked for before this is wanted any more.
    case cancel

    /// Layout: `{ "cancel": true }`.
    package static func encodedCancel(isJSON: Bool) -> [UInt8] {
        if isJSON { return Array(JSONValue.object([JSONValue.Member("cancel", .bool(true))]).text().utf8) }
        return CBOREncoder.encode { encoder in
            encoder.encodeMapHeader(count: 1)
            encoder.encode(text: "cancel")
            encoder.encode(bool: true)
        }
    }

    /// - Throws: `.malformed` with the field at fault.
    package init(decoding bytes: [UInt8], isJSON: Bool) throws(WireError) {
        // It is a few bytes long, and there is one way to write it in CBOR.
        if bytes.count <= 64 {
            if isJSON, let value = try? JSONValue(parsing: bytes), value["cancel"]?.bool == true {
                self = .cancel
                return
            }
            if !isJSON, bytes == Self.encodedCancel(isJSON: false) {
                self = .cancel
                return
            }
        }
        self = .request(try OperationRequest(decoding: bytes, isJSON: isJSON))
    }
}

/// How far an operation has come.
package struct OperationProgress: Record {
    package static let recordName = "progress"
    package static let refusesUnknownFields = false

    package var stage: String?
    package var done = 0
    package var total: Int?
    package var byteCount: Int?

    package init() {}

    package init(done: Int, total: Int? = nil, stage: String? = nil, byteCount: Int? = nil) {
        self.stage = stage
        self.done = done
        self.total = total
        self.byteCount = byteCount
    }

    package static let layout = RecordLayout<Self>(
        RecordField("stage", \.stage, "what is done now, in a word such as `reading`"),
        RecordField("done", \.done, "parts of this stage that are done"),
        RecordField("total", \.total, "parts in all, where that is known"),
        RecordField("byteCount", \.byteCount, "bytes that are done, where bytes are read or written"))

    /// As a message of a session: `{ "progress": … }`.
    package func message(isJSON: Bool) -> [UInt8] { OperationReplyForm.encode("progress", self, isJSON: isJSON) }

    /// - Returns: nil for a message of another kind, such as a reply.
    package init?(message bytes: [UInt8], isJSON: Bool) {
        do throws(WireError) {
            guard let progress = try OperationReplyForm.decode("progress", as: Self.self, bytes, isJSON: isJSON) else {
                return nil
            }
            self = progress
        } catch { return nil }
    }
}

/// The last message of a session that ends by itself. A request whose reply it stands for was not looked at.
package enum SessionEnd: String, RecordChoice {
    /// Nobody asked for so long that the keys go.
    case idle

    /// Layout: `{ "end": why }`.
    package func message(isJSON: Bool) -> [UInt8] {
        if isJSON { return Array(JSONValue.object([JSONValue.Member("end", json)]).text().utf8) }
        return CBOREncoder.encode { encoder in
            encoder.encodeMapHeader(count: 1)
            encoder.encode(text: "end")
            encode(to: &encoder)
        }
    }

    /// - Returns: nil for a message of another kind.
    package init?(message bytes: [UInt8], isJSON: Bool) {
        guard let end = Self.allCases.first(where: { $0.message(isJSON: isJSON) == bytes }) else { return nil }
        self = end
    }
}
