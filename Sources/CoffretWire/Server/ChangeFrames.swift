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

    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: 4)
        switch self {
        case .object(let object, let uploader):
            encoder.encode(unsigned: 1)
            encoder.encode(bytes: object.address)
            encoder.encode(bytes: object.ciphertext)
            encoder.encode(bytes: uploader)
        case .mark(let head, let cursor, let hasMore):
            encoder.encode(unsigned: 2)
            encoder.encode(bytes: head ?? [])
            encoder.encode(bytes: cursor)
            encoder.encode(bool: hasMore)
        }
    }

    package init(from decoder: inout CBORDecoder) throws(CBORError) {
        try decoder.readArrayHeader(count: 4)
        let start = decoder.byteOffset
        switch try decoder.readUnsigned() {
        case 1:
            let address = try decoder.readBytes(count: ServerLimits.addressByteCount)
            let ciphertext = try decoder.readBytes(countMax: ServerLimits.objectByteCountMax)
            self = .object(ZoneObject(address: address, ciphertext: ciphertext), uploader: try decoder.readID())
        case 2:
            let head = try decoder.readOptionalAddress()
            let cursor = try decoder.readCursor()
            self = .mark(head: head, cursor: cursor, hasMore: try decoder.readBool())
        default: throw CBORError(.unexpectedItem, byteOffset: start)
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
