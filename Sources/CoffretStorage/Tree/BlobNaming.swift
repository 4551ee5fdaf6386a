// Names of blobs that are not written yet. The one thing to keep true: the name is the one that
// writing the blob gives, on every device.

internal import CoffretBase
internal import CoffretCrypto

extension BlobName {
    /// BLAKE2b-256 of the plaintext that sealing would lay out: type (1) ‖ version (1) ‖ length (4) ‖
    /// content ‖ zeros up to the padded size (Spec/blob.md).
    package static func derive(type: BlobType, content: Span<UInt8>) -> BlobName {
        let headerByteCount = BlobFormat.headerByteCount
        let byteCount = headerByteCount + content.count
        let paddedByteCount = Padding.paddedByteCount(byteCount)
        return unsafe withUnsafeTemporaryAllocation(byteCount: paddedByteCount + 32, alignment: 8) { buffer in
            unsafe buffer[0] = type.rawValue
            unsafe buffer[1] = BlobFormat.version
            unsafe buffer.storeBytes(of: UInt32(content.count).bigEndian, toByteOffset: 2, as: UInt32.self)
            unsafe content.withUnsafeBytes { bytes in
                unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[headerByteCount...]).copyMemory(from: bytes)
            }
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[byteCount..<paddedByteCount])
                .initializeMemory(as: UInt8.self, repeating: 0)
            let hash = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[paddedByteCount...])
            unsafe BLAKE2b.hash(UnsafeRawBufferPointer(rebasing: buffer[..<paddedByteCount]), into: hash)
            return unsafe BlobName(Bytes32(UnsafeRawBufferPointer(hash)))
        }
    }
}
