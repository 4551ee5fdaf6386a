// Fixed-width integers as bytes, most significant byte first. The one thing to keep true: all
// formats of Coffret use this order.

extension Array where Element == UInt8 {
    package mutating func appendBigEndian<Value: FixedWidthInteger>(_ value: Value) {
        var shift = Value.bitWidth
        while shift > 0 {
            shift -= 8
            append(UInt8(truncatingIfNeeded: value >> Value(truncatingIfNeeded: shift)))
        }
    }

    // Without these the callers in other modules would run the generic code above unspecialised, which
    // costs a look-up of metadata per byte.
    package mutating func appendBigEndian(_ value: UInt64) { appendBytes(of: value) }
    package mutating func appendBigEndian(_ value: UInt32) { appendBytes(of: value) }
    package mutating func appendBigEndian(_ value: UInt16) { appendBytes(of: value) }

    private mutating func appendBytes<Value: FixedWidthInteger>(of value: Value) {
        var bigEndian = value.bigEndian
        unsafe Swift.withUnsafeBytes(of: &bigEndian) { bytes in unsafe append(contentsOf: bytes) }
    }

    /// Appends lp(x): the four-byte length of `bytes`, then `bytes`.
    package mutating func appendLengthPrefixed(_ bytes: [UInt8]) {
        appendBigEndian(UInt32(bytes.count))
        append(contentsOf: bytes)
    }
}

extension FixedWidthInteger {
    /// The integer's bytes, most significant first.
    package var bigEndianBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.bitWidth / 8)
        bytes.appendBigEndian(self)
        return bytes
    }

    /// Reads an integer from exactly as many bytes as it is wide.
    package init?<Bytes: Collection>(bigEndianBytes bytes: Bytes) where Bytes.Element == UInt8 {
        guard bytes.count == Self.bitWidth / 8 else { return nil }
        var value: Self = 0
        for byte in bytes { value = (value << 8) | Self(truncatingIfNeeded: byte) }
        self = value
    }
}

extension UInt64 {
    /// The integer's bytes, most significant first.
    package var bigEndianBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8)
        bytes.appendBigEndian(self)
        return bytes
    }
}

extension UInt32 {
    /// The integer's bytes, most significant first.
    package var bigEndianBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(4)
        bytes.appendBigEndian(self)
        return bytes
    }
}

extension UnsafeRawBufferPointer {
    // Specialised here: other modules would run the generic one below through metadata.
    package func loadBigEndian(_ type: UInt64.Type, at byteOffset: Int) -> UInt64 {
        unsafe UInt64(bigEndian: loadUnaligned(fromByteOffset: byteOffset, as: UInt64.self))
    }

    /// Reads an integer at `byteOffset`; the caller has checked that it lies inside the buffer.
    package func loadBigEndian(_ type: UInt32.Type, at byteOffset: Int) -> UInt32 {
        unsafe UInt32(bigEndian: loadUnaligned(fromByteOffset: byteOffset, as: UInt32.self))
    }

    /// Reads an integer at `byteOffset`; the caller has checked that it lies inside the buffer.
    package func loadBigEndian<Value: FixedWidthInteger>(_ type: Value.Type, at byteOffset: Int) -> Value {
        unsafe Value(bigEndian: loadUnaligned(fromByteOffset: byteOffset, as: Value.self))
    }
}
