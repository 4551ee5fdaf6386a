// One OpenSSL cipher operation. The context belongs to one value, and freeing it overwrites the key
// schedule; plaintext is kept from the caller until the tag has been checked.

internal import COpenSSL
internal import CoffretBase

/// Which way a cipher runs.
package enum CipherDirection: Sendable {
    case seal
    case open
}

/// An OpenSSL cipher context with a key in it.
@safe struct CipherContext: ~Copyable, @unchecked Sendable {
    // SAFETY: owned by this value alone; a context is used by one thread at a time because every use
    // is `mutating`. `EVP_CIPHER_CTX_free` overwrites the key schedule.
    private let pointer: OpaquePointer
    private let direction: CipherDirection

    private init(_ direction: CipherDirection) throws(CryptoError) {
        guard let pointer = unsafe EVP_CIPHER_CTX_new() else { throw CryptoError(.unavailable, at: "cipher context") }
        unsafe self.pointer = unsafe pointer
        self.direction = direction
    }

    /// Makes a context with a key, and, if `nonce` is given, starts a message under it in the same step.
    ///
    /// `nonceByteCount` is told to ciphers whose nonce may vary; nil keeps their own size.
    static func make(
        _ cipher: FetchedCipher, _ direction: CipherDirection, key: RawSpan, nonceByteCount: Int?,
        nonce: RawSpan? = nil
    ) throws(CryptoError) -> CipherContext {
        guard Int(unsafe EVP_CIPHER_get_key_length(cipher.pointer)) == key.byteCount else {
            throw CryptoError(.invalidKey, at: "cipher key size")
        }
        var context = try CipherContext(direction)
        let isEncrypting: Int32 = direction == .seal ? 1 : 0
        if let nonceByteCount, nonceByteCount != Int(unsafe EVP_CIPHER_get_iv_length(cipher.pointer)) {
            // The cipher comes first and by itself, as naming it again would reset the nonce's size.
            guard unsafe EVP_CipherInit_ex2(context.pointer, cipher.pointer, nil, nil, isEncrypting, nil) == 1,
                unsafe EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonceByteCount), nil) == 1
            else { throw CryptoError(.invalidParameter, at: "nonce size") }
            try unsafe context.initialize(nil, key, nonce)
        } else {
            try unsafe context.initialize(cipher.pointer, key, nonce)
        }
        return context
    }

    private mutating func initialize(
        _ cipher: OpaquePointer?, _ key: RawSpan, _ nonce: RawSpan?
    ) throws(CryptoError) {
        let isEncrypting: Int32 = direction == .seal ? 1 : 0
        let status = unsafe key.withUnsafeBytes { keyBytes in
            let keyBase = unsafe keyBytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard let nonce else {
                return unsafe EVP_CipherInit_ex2(pointer, cipher, keyBase, nil, isEncrypting, nil)
            }
            return unsafe nonce.withUnsafeBytes { nonceBytes in
                let nonceBase = unsafe nonceBytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                return unsafe EVP_CipherInit_ex2(pointer, cipher, keyBase, nonceBase, isEncrypting, nil)
            }
        }
        guard status == 1 else { throw CryptoError(.unavailable, at: "cipher key") }
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(pointer)
    }

    /// Leaves padding to the caller: what goes in comes out, whole blocks at once.
    mutating func keepPadding() { _ = unsafe EVP_CIPHER_CTX_set_padding(pointer, 0) }

    /// Starts a message under `nonce`, with the key as it stands.
    mutating func start(nonce: RawSpan) throws(CryptoError) {
        let status = unsafe nonce.withUnsafeBytes { bytes in
            unsafe EVP_CipherInit_ex2(
                pointer, nil, nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), direction == .seal ? 1 : 0,
                nil)
        }
        guard status == 1 else { throw CryptoError(.unavailable, at: "nonce") }
    }

    /// One whole message: `ciphertext`, of the plaintext's size, which may be the same memory, and its 16-byte tag.
    mutating func seal(
        _ plaintext: UnsafeRawBufferPointer, additionalData: RawSpan, ciphertext: UnsafeMutableRawBufferPointer,
        tag: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        try authenticate(additionalData)
        try unsafe transform(plaintext, into: ciphertext)
        try unsafe finishSealing(tag: tag)
    }

    /// One whole message: `plaintext`, of the ciphertext's size, which holds zeros when this throws.
    mutating func open(
        _ ciphertext: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, additionalData: RawSpan,
        plaintext: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        try authenticate(additionalData)
        try unsafe transform(ciphertext, into: plaintext)
        try unsafe finishOpening(tag: tag, plaintext: plaintext)
    }

    /// Feeds data that is authenticated and not encrypted.
    private mutating func authenticate(_ additionalData: RawSpan) throws(CryptoError) {
        let status = unsafe additionalData.withUnsafeBytes { bytes in unsafe process(bytes, into: nil) }
        guard status else { throw CryptoError(.unavailable, at: "additional data") }
    }

    /// Encrypts or decrypts all of `input` to `output`, which may be the same memory.
    mutating func transform(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        precondition(input.count == output.count, "a stream cipher keeps sizes")
        // Without this guard an empty output would be taken for additional data.
        guard let base = output.baseAddress, output.count > 0 else { return }
        guard unsafe process(input, into: base) else { throw CryptoError(.unavailable, at: "cipher") }
    }

    private mutating func process(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer?) -> Bool {
        var byteOffset = 0
        while byteOffset < input.count {
            let pieceByteCount = min(openSSLPieceByteCountMax, input.count - byteOffset)
            var writtenByteCount: Int32 = 0
            let status = unsafe EVP_CipherUpdate(
                pointer, output.map { unsafe $0.advanced(by: byteOffset).assumingMemoryBound(to: UInt8.self) },
                &writtenByteCount,
                input.baseAddress?.advanced(by: byteOffset).assumingMemoryBound(to: UInt8.self), Int32(pieceByteCount))
            guard status == 1, Int(writtenByteCount) == pieceByteCount else { return false }
            byteOffset += pieceByteCount
        }
        return true
    }

    /// Ends a sealed message and writes its 16-byte tag.
    private mutating func finishSealing(tag: UnsafeMutableRawBufferPointer) throws(CryptoError) {
        precondition(direction == .seal && tag.count == 16, "a tag has 16 bytes")
        guard finish(),
            unsafe EVP_CIPHER_CTX_ctrl(pointer, EVP_CTRL_AEAD_GET_TAG, 16, tag.baseAddress) == 1
        else { throw CryptoError(.unavailable, at: "tag") }
    }

    /// Ends an opened message: checks its tag and, if it is wrong, overwrites `plaintext`.
    private mutating func finishOpening(
        tag: UnsafeRawBufferPointer, plaintext: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        precondition(direction == .open && tag.count == 16, "a tag has 16 bytes")
        // OpenSSL only reads the tag; the parameter lacks `const` for historical reasons.
        let isTagSet = unsafe EVP_CIPHER_CTX_ctrl(
            pointer, EVP_CTRL_AEAD_SET_TAG, 16, UnsafeMutableRawPointer(mutating: tag.baseAddress))
        guard isTagSet == 1, finish() else {
            unsafe zero(plaintext)
            throw CryptoError(.authenticationFailed)
        }
    }

    private mutating func finish() -> Bool {
        var unusedByteCount: Int32 = 0
        var unused: UInt8 = 0
        return unsafe EVP_CipherFinal_ex(pointer, &unused, &unusedByteCount) == 1
    }
}
