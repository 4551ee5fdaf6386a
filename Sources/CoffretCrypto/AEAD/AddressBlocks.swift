// The bare block cipher under addresses. Invariant: the key stands in OpenSSL's context only, which clears it when it
// is freed.

internal import COpenSSL
internal import CoffretBase

/// AES-128 of one block, in one direction, with the vector that a chain of blocks begins with.
///
/// The caller chains the blocks: setting the vector of a CBC context anew for each address costs more than both blocks
/// of an address.
@safe struct AddressBlocks: ~Copyable {
    typealias Block = (UInt64, UInt64)

    // SAFETY: owned by this value alone.
    private let context: OpaquePointer
    private let direction: CipherDirection
    let vector: Block

    /// - Parameter key: initialisation vector (16 bytes) ‖ AES key (16 bytes).
    init(_ key: AddressKey, _ direction: CipherDirection) {
        guard let context = unsafe EVP_CIPHER_CTX_new() else { fatalError("no memory for a cipher context") }
        unsafe self.context = unsafe context
        self.direction = direction
        // EXPOSE: the AES key into OpenSSL's context, which clears it when freed; the vector into this
        // value, which shows at most whether two first halves were equal.
        let (vector, isReady) = unsafe key.withUnsafeBytes { bytes in
            let isReady =
                unsafe EVP_CipherInit_ex(
                    context, FetchedCipher.aes128ECB.pointer, nil,
                    bytes.baseAddress!.assumingMemoryBound(to: UInt8.self) + 16, nil, direction == .seal ? 1 : 0) == 1
                && EVP_CIPHER_CTX_set_padding(context, 0) == 1
            return (unsafe Self.load(bytes, 0), isReady)
        }
        self.vector = vector
        precondition(isReady, "OpenSSL lacks AES-128")
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(context)
    }

    /// One block through the cipher.
    func transform(_ block: inout Block) {
        var byteCount: Int32 = 0
        let status = unsafe withUnsafeMutableBytes(of: &block) { block in
            let bytes = unsafe block.baseAddress!.assumingMemoryBound(to: UInt8.self)
            return unsafe direction == .seal
                ? EVP_EncryptUpdate(context, bytes, &byteCount, bytes, 16)
                : EVP_DecryptUpdate(context, bytes, &byteCount, bytes, 16)
        }
        precondition(status == 1 && byteCount == 16, "a block cipher cannot fail")
    }

    static func load(_ bytes: UnsafeRawBufferPointer, _ byteOffset: Int) -> Block {
        unsafe (
            bytes.loadUnaligned(fromByteOffset: byteOffset, as: UInt64.self),
            bytes.loadUnaligned(fromByteOffset: byteOffset + 8, as: UInt64.self)
        )
    }

    static func store(_ block: Block, in bytes: UnsafeMutableRawBufferPointer, _ byteOffset: Int) {
        unsafe bytes.storeBytes(of: block.0, toByteOffset: byteOffset, as: UInt64.self)
        unsafe bytes.storeBytes(of: block.1, toByteOffset: byteOffset + 8, as: UInt64.self)
    }
}
