// An object of a TPM in its wrapped form, as it is kept in a file. Invariant: the private part is readable by the TPM
// that made it and by nobody else.

internal import CTPM2
package import CoffretKeys

/// A key or sealed data, wrapped by one TPM.
///
/// Layout: version (2) ‖ name of the storage root (34 bytes) ‖ TPM2B_PUBLIC as marshalled by the TPM specification ‖
/// TPM2B_PRIVATE; about 250 bytes.
package struct TPMKeyBlob: Hashable, Sendable {
    package let bytes: [UInt8]

    private static let version: UInt8 = 2
    /// The number of SHA-256, and a digest of it (TPM 2.0 Part 1, section 16).
    static let rootNameByteCount = 34
    private static let headByteCount = 1 + rootNameByteCount
    private static let byteCountMax = headByteCount + MemoryLayout<TPM2B_PUBLIC>.size + MemoryLayout<TPM2B_PRIVATE>.size

    /// Takes bytes that were written earlier; they are parsed when they are used.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// - Parameter rootName: of the storage root that wrapped it.
    init(rootName: [UInt8], publicPart: TPM2B_PUBLIC, privatePart: TPM2B_PRIVATE) throws(KeyStoreError) {
        precondition(rootName.count == Self.rootNameByteCount, "a name is made with SHA-256")
        var publicPart = publicPart
        var privatePart = privatePart
        var bytes = [UInt8](repeating: 0, count: Self.byteCountMax)
        bytes[0] = Self.version
        bytes.replaceSubrange(1..<Self.headByteCount, with: rootName)
        var offset = Self.headByteCount
        let capacity = bytes.count
        let code = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            let first = unsafe Tss2_MU_TPM2B_PUBLIC_Marshal(&publicPart, buffer.baseAddress, capacity, &offset)
            guard first == TSS2_RC_SUCCESS else { return first }
            return unsafe Tss2_MU_TPM2B_PRIVATE_Marshal(&privatePart, buffer.baseAddress, capacity, &offset)
        }
        try TPMFailure.check(code)
        bytes.removeLast(capacity - offset)
        self.bytes = bytes
    }

    /// - Throws: `.malformed` when the bytes are not exactly one wrapped object.
    func decoded() throws(KeyStoreError) -> (
        rootName: [UInt8], publicPart: TPM2B_PUBLIC, privatePart: TPM2B_PRIVATE
    ) {
        guard bytes.first == Self.version, bytes.count <= Self.byteCountMax, bytes.count > Self.headByteCount else {
            throw KeyStoreError(.malformed, place: "tpm key blob")
        }
        var publicPart = TPM2B_PUBLIC()
        var privatePart = TPM2B_PRIVATE()
        var offset = Self.headByteCount
        let rootName = Array(bytes[1..<Self.headByteCount])
        let complete = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe Tss2_MU_TPM2B_PUBLIC_Unmarshal(buffer.baseAddress, buffer.count, &offset, &publicPart)
                == TSS2_RC_SUCCESS
                && Tss2_MU_TPM2B_PRIVATE_Unmarshal(buffer.baseAddress, buffer.count, &offset, &privatePart)
                    == TSS2_RC_SUCCESS
        }
        guard complete, offset == bytes.count else { throw KeyStoreError(.malformed, place: "tpm key blob") }
        // The library is lenient about outer sizes; one object has one encoding here.
        guard try TPMKeyBlob(rootName: rootName, publicPart: publicPart, privatePart: privatePart) == self else {
            throw KeyStoreError(.malformed, place: "tpm key blob")
        }
        return (rootName, publicPart, privatePart)
    }

    /// The public point, uncompressed (65 bytes), of a P-256 key.
    ///
    /// - Throws: `.malformed` when the object is no such key.
    package func publicPoint() throws(KeyStoreError) -> [UInt8] {
        let area = try decoded().publicPart.publicArea
        guard area.type == TPM2_ALG_ID(TPM2_ALG_ECC) else { throw KeyStoreError(.malformed, place: "tpm key type") }
        let point = unsafe area.unique.ecc
        guard
            let x = TPMBuffer.bytes(of: point.x.buffer, size: point.x.size, paddedTo: 32),
            let y = TPMBuffer.bytes(of: point.y.buffer, size: point.y.size, paddedTo: 32)
        else { throw KeyStoreError(.malformed, place: "tpm public point") }
        return [0x04] + x + y
    }
}
