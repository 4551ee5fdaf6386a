// Fixed-width integers as bytes, most significant byte first. Invariant: all formats of Coffret use this order.

// All of it can be inlined: run unspecialised from another module, a generic loop looks up metadata for each byte,
// which was two fifths of opening a vault.

extension Array where Element == UInt8 {
    @inlinable package mutating func appendBigEndian<Value: FixedWidthInteger>(_ value: Value) {
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
    @inlinable package var bigEndianBytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.bitWidth / 8)
        bytes.appendBigEndian(self)
        return bytes
    }

    /// Reads an integer from exactly as many bytes as it is wide.
    @inlinable package init?<Bytes: Collection>(bigEndianBytes bytes: Bytes) where Bytes.Element == UInt8 {
        guard bytes.count == Self.bitWidth / 8 else { return nil }
        var value: Self = 0
        for byte in bytes { value = (value << 8) | Self(truncatingIfNeeded: byte) }
        self = value
    }
}

extension UnsafeRawBufferPointer {
    /// Reads an integer at `byteOffset`; the caller has checked that it lies inside the buffer.
    @inlinable package func loadBigEndian<Value: FixedWidthInteger>(_ type: Value.Type, at byteOffset: Int) -> Value {
        unsafe Value(bigEndian: loadUnaligned(fromByteOffset: byteOffset, as: Value.self))
    }
}
