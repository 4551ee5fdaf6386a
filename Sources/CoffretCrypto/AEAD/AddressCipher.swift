// Names into addresses. The one thing to keep true: an address is a permutation of the name under a
// key of one vault, epoch and type, so that equal names meet and nothing else shows.

internal import COpenSSL
internal import CoffretBase

/// AES-128 in CBC mode over exactly 32 bytes, without padding.
///
/// Key material: initialisation vector (first 16 bytes) ‖ AES key (last 16 bytes). The input is a hash,
/// so that a fixed vector shows nothing but equality (protocol decision 24).
///
/// The two blocks are chained here over a context of the bare block cipher: setting the vector of a CBC
/// context anew for each address costs more than both blocks.
/// - Concurrency: one user at a time; each makes his own from the key.
@safe package final class AddressCipher {
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
                unsafe EVP_EncryptInit_ex(
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

    /// Enciphers a name of 32 bytes into `address`, of 32 bytes.
    package func encipher(_ name: UnsafeRawBufferPointer, into address: UnsafeMutableRawBufferPointer) {
        precondition(name.count == 32 && address.count == 32, "names and addresses have 32 bytes")
        var previous = vector
        for byteOffset in [0, 16] {
            var block = unsafe (
                name.loadUnaligned(fromByteOffset: byteOffset, as: UInt64.self) ^ previous.0,
                name.loadUnaligned(fromByteOffset: byteOffset + 8, as: UInt64.self) ^ previous.1
            )
            var byteCount: Int32 = 0
            let status = unsafe withUnsafeMutableBytes(of: &block) { block in
                let bytes = unsafe block.baseAddress!.assumingMemoryBound(to: UInt8.self)
                return unsafe EVP_EncryptUpdate(context, bytes, &byteCount, bytes, 16)
            }
            precondition(status == 1 && byteCount == 16, "a block cipher cannot fail")
            unsafe address.storeBytes(of: block.0, toByteOffset: byteOffset, as: UInt64.self)
            unsafe address.storeBytes(of: block.1, toByteOffset: byteOffset + 8, as: UInt64.self)
            previous = block
        }
    }

    /// Enciphers a name of 32 bytes.
    package func address(ofName name: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { output, count in
            unsafe name.withUnsafeBytes { name in
                unsafe encipher(name, into: UnsafeMutableRawBufferPointer(start: output.baseAddress, count: 32))
            }
            count = 32
        }
    }
}
