// One frame of RFC 6455. Invariant: a header is read in its shortest form only, and its rules are checked before a
// byte of payload is taken.

internal import CoffretBase

/// A message as programs see it.
package enum WebSocketPayload: Equatable, Sendable {
    case binary([UInt8])
    case text(String)
}

enum WebSocketOpcode: UInt8 {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= 8 }
}

/// Layout: final (1 bit) ‖ reserved (3) ‖ opcode (4) ‖ masked (1) ‖ length (7; 126: 16 more bits, 127: 64 more) ‖ mask (32, if masked).
struct WebSocketFrameHeader {
    static let controlByteCountMax = 125

    let isFinal: Bool
    let opcode: WebSocketOpcode
    let byteCount: Int
    let mask: [UInt8]?

    enum Parsed {
        case needsMore
        case invalid
        case header(WebSocketFrameHeader)
    }

    /// Reads a header that is all of `bytes`, if they are enough.
    ///
    /// - Parameter role: of the reader: a server wants masks, a client wants none.
    static func parse(_ bytes: [UInt8], from role: WebSocketRole) -> Parsed {
        guard bytes.count >= 2 else {
            if let first = bytes.first, first & 0x70 != 0 || WebSocketOpcode(rawValue: first & 15) == nil {
                return .invalid
            }
            return .needsMore
        }
        guard bytes[0] & 0x70 == 0, let opcode = WebSocketOpcode(rawValue: bytes[0] & 15) else { return .invalid }
        let isFinal = bytes[0] & 0x80 != 0
        let isMasked = bytes[1] & 0x80 != 0
        guard isMasked == (role == .server) else { return .invalid }
        let short = Int(bytes[1] & 0x7F)
        if opcode.isControl { guard isFinal, short <= controlByteCountMax else { return .invalid } }
        let lengthByteCount = short == 127 ? 8 : short == 126 ? 2 : 0
        let maskStart = 2 + lengthByteCount
        guard bytes.count >= maskStart + (isMasked ? 4 : 0) else { return .needsMore }
        var length = UInt64(short)
        if lengthByteCount > 0 {
            length = bytes[2..<maskStart].reduce(0) { $0 << 8 | UInt64($1) }
            guard length > (lengthByteCount == 2 ? 125 : 0xFFFF), length < 1 << 63 else { return .invalid }
        }
        return .header(
            WebSocketFrameHeader(
                isFinal: isFinal, opcode: opcode, byteCount: Int(length),
                mask: isMasked ? Array(bytes[maskStart..<maskStart + 4]) : nil))
    }

    static func append(opcode: WebSocketOpcode, byteCount: Int, mask: [UInt8]?, to output: inout [UInt8]) {
        output.append(0x80 | opcode.rawValue)
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        if byteCount <= 125 {
            output.append(maskBit | UInt8(byteCount))
        } else if byteCount <= 0xFFFF {
            output.append(maskBit | 126)
            output += UInt16(byteCount).bigEndianBytes
        } else {
            output.append(maskBit | 127)
            output += UInt64(byteCount).bigEndianBytes
        }
        if let mask { output += mask }
    }

    /// Masks or unmasks the bytes from `start`, of which the first is the frame's byte number `offset`.
    static func apply(_ mask: [UInt8], to bytes: inout [UInt8], from start: Int, offset: Int) {
        for index in start..<bytes.count { bytes[index] ^= mask[(index - start + offset) & 3] }
    }
}

/// Checks UTF-8 as it arrives (Unicode 15, table 3-7).
struct UTF8Validator: Sendable {
    private var remaining = 0
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xBF

    /// Whether no character is left unfinished.
    var isComplete: Bool { remaining == 0 }

    /// - Returns: false if the bytes can be no part of valid text.
    mutating func append<Bytes: Collection>(_ bytes: Bytes) -> Bool where Bytes.Element == UInt8 {
        for byte in bytes {
            if remaining > 0 {
                guard byte >= lower, byte <= upper else { return false }
                (lower, upper) = (0x80, 0xBF)
                remaining -= 1
                continue
            }
            switch byte {
            case 0x00...0x7F: break
            case 0xC2...0xDF: remaining = 1
            case 0xE0: (remaining, lower) = (2, 0xA0)
            case 0xED: (remaining, upper) = (2, 0x9F)
            case 0xE1...0xEF: remaining = 2
            case 0xF0: (remaining, lower) = (3, 0x90)
            case 0xF1...0xF3: remaining = 3
            case 0xF4: (remaining, upper) = (3, 0x8F)
            default: return false
            }
        }
        return true
    }
}
