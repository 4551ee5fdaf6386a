// Addresses back into names. The one thing to keep true: it undoes `AddressCipher` exactly; only checks
// of whole files need it, everything else goes from names to addresses.

internal import COpenSSL

/// AES-128 in CBC mode over exactly 32 bytes, the other way round: see `AddressCipher`.
///
/// - Concurrency: one user at a time; each makes his own from the key.
@safe package final class AddressDecipher {
    // SAFETY: the context is used by this instance only, which is not Sendable.
    private let context: OpaquePointer
    private let vector: (UInt64, UInt64)

    package init(_ key: AddressKey) {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { fatalError("no memory for a cipher context") }
        unsafe self.context = unsafe context
        // EXPOSE: the AES key into OpenSSL's context, which clears it when freed; the vector into this
        // object, which shows at most whether two first halves were equal.
        let (vector, isReady) = unsafe key.withUnsafeBytes { bytes in
            let isReady =
                unsafe EVP_DecryptInit_ex(
                    context, EVP_aes_128_ecb(), nil,
                    bytes.baseAddress!.assumingMemoryBound(to: UInt8.self) + 16, nil) == 1
                && EVP_CIPHER_CTX_set_padding(context, 0) == 1
            let vector = unsafe (
                bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
                bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            )
            return (vector, isReady)
        }
        self.vector = vector
        precondition(isReady, "OpenSSL lacks AES-128")
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(context)
    }

    /// Deciphers an address of 32 bytes into `name`, of 32 bytes.
    package func decipher(_ address: UnsafeRawBufferPointer, into name: UnsafeMutableRawBufferPointer) {
        precondition(address.count == 32 && name.count == 32, "names and addresses have 32 bytes")
        var previous = vector
        for byteOffset in [0, 16] {
            let sealed = unsafe (
                address.loadUnaligned(fromByteOffset: byteOffset, as: UInt64.self),
                address.loadUnaligned(fromByteOffset: byteOffset + 8, as: UInt64.self)
            )
            var block = sealed
            var byteCount: Int32 = 0
            let status = unsafe withUnsafeMutableBytes(of: &block) { block in
                let bytes = unsafe block.baseAddress!.assumingMemoryBound(to: UInt8.self)
                return unsafe EVP_DecryptUpdate(context, bytes, &byteCount, bytes, 16)
            }
            precondition(status == 1 && byteCount == 16, "a block cipher cannot fail")
            unsafe name.storeBytes(of: block.0 ^ previous.0, toByteOffset: byteOffset, as: UInt64.self)
            unsafe name.storeBytes(of: block.1 ^ previous.1, toByteOffset: byteOffset + 8, as: UInt64.self)
            previous = sealed
        }
    }
}
