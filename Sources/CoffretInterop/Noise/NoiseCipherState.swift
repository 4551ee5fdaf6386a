// One direction's key and counter. A nonce is used once: the counter moves before anything encrypted
// under it can leave, and the value cannot be copied.

internal import CoffretBase
internal import CoffretCrypto

/// The CipherState of the specification, for one direction. Spec: Spec/interop-noise.md §4.
struct NoiseCipherState: ~Copyable, Sendable {
    static let tagByteCount = KeyedAEAD.tagByteCount
    private let cipher: NoiseCipher
    private let direction: CipherDirection
    private var key: SecretBytes
    private var aead: KeyedAEAD
    /// The next nonce; 2⁶⁴ - 1 is kept back for rekeying.
    private(set) var nonce: UInt64

    init(
        _ cipher: NoiseCipher, _ direction: CipherDirection, key: consuming SecretBytes, nonce: UInt64 = 0
    ) throws(InteropError) {
        self.cipher = cipher
        self.direction = direction
        self.nonce = nonce
        // EXPOSE: goes into OpenSSL's context, which overwrites its copy when freed.
        aead = try Self.makeAEAD(cipher, direction, key)
        self.key = key
    }

    private static func makeAEAD(
        _ cipher: NoiseCipher, _ direction: CipherDirection, _ key: borrowing SecretBytes
    ) throws(InteropError) -> KeyedAEAD {
        try unsafe key.withUnsafeBytes { (bytes) throws(InteropError) in
            try translatingErrors(unsafe KeyedAEAD(cipher.algorithm, direction, key: bytes.bytes))
        }
    }

    /// Whether any nonce is left.
    private func checkNonce() throws(InteropError) {
        guard nonce < UInt64.max else { throw InteropError(.nonceExhausted) }
    }

    /// Encrypts `plaintext` to `output`, which is 16 bytes longer and may start at the same place.
    mutating func encrypt(
        _ plaintext: UnsafeRawBufferPointer, additionalData: RawSpan, into output: UnsafeMutableRawBufferPointer
    ) throws(InteropError) {
        precondition(direction == .seal && output.count == plaintext.count + Self.tagByteCount)
        try checkNonce()
        let used = cipher.nonce(nonce)
        nonce += 1
        do throws(CryptoError) {
            try unsafe aead.seal(
                plaintext, nonce: used.span.bytes, additionalData: additionalData,
                ciphertext: output.part(0..<plaintext.count), tag: output.part(plaintext.count..<output.count))
        } catch {
            throw InteropError(error)
        }
    }

    /// Decrypts `input` to `plaintext`, which is 16 bytes shorter; on failure the nonce stays where it was.
    mutating func decrypt(
        _ input: UnsafeRawBufferPointer, additionalData: RawSpan, into plaintext: UnsafeMutableRawBufferPointer
    ) throws(InteropError) {
        precondition(direction == .open && input.count == plaintext.count + Self.tagByteCount)
        try checkNonce()
        let used = cipher.nonce(nonce)
        do throws(CryptoError) {
            try unsafe aead.open(
                input.part(0..<plaintext.count), tag: input.part(plaintext.count..<input.count),
                nonce: used.span.bytes, additionalData: additionalData, plaintext: plaintext)
        } catch {
            throw .authenticationFailed
        }
        nonce += 1
    }

    /// Replaces the key by the encryption of 32 zero bytes under nonce 2⁶⁴ - 1; the counter goes on.
    mutating func rekey() throws(InteropError) {
        let last = cipher.nonce(UInt64.max)
        let fresh = try unsafe SecretBytes(byteCount: 32) { (output) throws(InteropError) in
            // EXPOSE: goes into OpenSSL's context, which overwrites its copy when freed.
            var sealer = try Self.makeAEAD(cipher, .seal, key)
            let zeros = InlineArray<32, UInt8>(repeating: 0)
            try unsafe withSecretScratch(byteCount: Self.tagByteCount) { (tag) throws(InteropError) in
                do throws(CryptoError) {
                    try unsafe zeros.span.bytes.withUnsafeBytes { (zeros) throws(CryptoError) in
                        try unsafe sealer.seal(
                            zeros, nonce: last.span.bytes, additionalData: RawSpan(), ciphertext: output, tag: tag)
                    }
                } catch {
                    throw InteropError(error)
                }
            }
        }
        aead = try Self.makeAEAD(cipher, direction, fresh)
        key = fresh
    }

    /// Lends the key, for tests that compare it with vectors.
    func withKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // EXPOSE: to tests alone; nothing in the library calls this.
        unsafe key.withUnsafeBytes { unsafe body($0) }
    }
}
