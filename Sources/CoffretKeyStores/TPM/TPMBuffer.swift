// Between Swift's bytes and the TPM's sized buffers, which Swift sees as tuples.

internal import CTPM2
internal import Glibc

enum TPMBuffer {
    /// Copies `bytes` into a TPM2B's buffer and sets its size. Too many bytes are our own bug.
    static func fill<Buffer>(_ buffer: inout Buffer, _ size: inout UInt16, from bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= MemoryLayout<Buffer>.size, "too many bytes for a TPM buffer")
        unsafe withUnsafeMutableBytes(of: &buffer) { target in
            unsafe target.copyMemory(from: bytes)
        }
        size = UInt16(bytes.count)
    }

    /// The bytes of a TPM2B, padded on the left to `byteCount`: the TPM drops leading zeros of coordinates.
    ///
    /// - Returns: nil when the buffer claims more bytes than fit.
    static func bytes<Buffer>(of buffer: Buffer, size: UInt16, paddedTo byteCount: Int) -> [UInt8]? {
        guard Int(size) <= min(byteCount, MemoryLayout<Buffer>.size) else { return nil }
        var result = [UInt8](repeating: 0, count: byteCount - Int(size))
        unsafe withUnsafeBytes(of: buffer) { source in
            unsafe result.append(contentsOf: source.prefix(Int(size)))
        }
        return result
    }

    /// Overwrites a structure that held a secret.
    static func zero<Structure>(_ structure: inout Structure) {
        unsafe withUnsafeMutableBytes(of: &structure) { bytes in
            if let base = bytes.baseAddress { unsafe explicit_bzero(base, bytes.count) }
        }
    }
}
