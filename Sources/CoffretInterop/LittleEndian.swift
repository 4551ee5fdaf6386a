// Little-endian numbers, which Themis writes and nothing else here does. Offsets are checked by callers.

extension UnsafeRawBufferPointer {
    /// Reads a little-endian number at an offset that the caller has checked.
    func littleEndian<Value: FixedWidthInteger>(_ type: Value.Type, at byteOffset: Int) -> Value {
        unsafe Value(littleEndian: loadUnaligned(fromByteOffset: byteOffset, as: Value.self))
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Writes a little-endian number at an offset that the caller has checked.
    func storeLittleEndian<Value: FixedWidthInteger>(_ value: Value, at byteOffset: Int) {
        unsafe storeBytes(of: value.littleEndian, toByteOffset: byteOffset, as: Value.self)
    }
}
