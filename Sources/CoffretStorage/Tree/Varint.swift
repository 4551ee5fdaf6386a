// Integers of variable length in tree nodes and stored values. The one thing to keep true: each number has one
// encoding, so that a decoded node would be written again byte for byte.

/// Little-endian groups of seven bits, the last one without the high bit; no superfluous groups.
package enum Varint {
    static let byteCountMax = 10

    static func byteCount(of value: UInt64) -> Int {
        (70 - (value | 1).leadingZeroBitCount) / 7
    }

    package static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    static func append(_ value: UInt64, to bytes: inout OutputSpan<UInt8>) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Reads one number and moves `offset` behind it; nil if the bytes end or the form is not minimal.
    package static func read(_ bytes: Span<UInt8>, at offset: inout Int) -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while offset < bytes.count {
            let byte = bytes[offset]
            offset += 1
            if shift == 63 && byte > 1 { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return byte == 0 && shift > 0 ? nil : value }
            shift += 7
            if shift > 63 { return nil }
        }
        return nil
    }
}
