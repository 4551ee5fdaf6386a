// The hashing and mixing of a handshake. All that has been said goes into `hash`, and every key that
// comes out depends on all that has been mixed in.

internal import CoffretBase
internal import CoffretCrypto

/// The SymmetricState of the specification, with SHA-256. Spec: Spec/interop-noise.md §3.
struct NoiseSymmetricState: ~Copyable {
    static let hashByteCount = 32
    let cipher: NoiseCipher
    /// h: everything said so far. Not secret.
    private(set) var hash: [UInt8]
    /// ck ‖ k, in locked memory; k has no meaning while `hasKey` is false.
    private var keys: SecretBytes
    private(set) var hasKey = false
    private var nonce: UInt64 = 0

    init(_ noiseProtocol: NoiseProtocol) {
        let name = Array(noiseProtocol.name.utf8)
        let initial: [UInt8] =
            name.count <= Self.hashByteCount
            ? name + [UInt8](repeating: 0, count: Self.hashByteCount - name.count)
            : unsafe HashAlgorithm.sha256.hash(name.span.bytes)
        cipher = noiseProtocol.cipher
        hash = initial
        keys = unsafe SecretBytes(byteCount: 64) { unsafe $0.part(0..<32).copyBytes(from: initial) }
    }

    mutating func mixHash(_ data: [UInt8]) {
        var context = HashContext(.sha256)
        unsafe context.update(hash.span.bytes)
        unsafe context.update(data.span.bytes)
        hash = context.finalize()
    }

    /// ck, k = HKDF(ck, input): a new key, its nonces starting anew.
    mutating func mixKey(_ input: RawSpan) throws(InteropError) {
        keys = try derive(input, byteCount: 64)
        hasKey = true
        nonce = 0
    }

    /// ck, temp, k = HKDF(ck, input), and temp into the hash: the psk token.
    mutating func mixKeyAndHash(_ input: RawSpan) throws(InteropError) {
        let derived = try derive(input, byteCount: 96)
        // EXPOSE: from locked memory to locked memory; the middle part goes into the hash, as it should.
        var middle = unsafe derived.withUnsafeBytes { unsafe [UInt8]($0.part(32..<64)) }
        mixHash(middle)
        middle.zero()
        keys = unsafe SecretBytes(byteCount: 64) { output in
            unsafe derived.withUnsafeBytes { bytes in
                unsafe output.part(0..<32).copyMemory(from: bytes.part(0..<32))
                unsafe output.part(32..<64).copyMemory(from: bytes.part(64..<96))
            }
        }
        hasKey = true
        nonce = 0
    }

    /// ck, temp = HKDF(ck, psk), and temp into the hash, without setting a key: revision 31.
    mutating func mixOldPreSharedKey(_ preSharedKey: RawSpan) throws(InteropError) {
        let derived = try derive(preSharedKey, byteCount: 64)
        // EXPOSE: as in `mixKeyAndHash`.
        var temporary = unsafe derived.withUnsafeBytes { unsafe [UInt8]($0.part(32..<64)) }
        mixHash(temporary)
        temporary.zero()
        keys = derived
    }

    private func derive(_ input: RawSpan, byteCount: Int) throws(InteropError) -> SecretBytes {
        // EXPOSE: read by the derivation, which keeps no copy.
        try unsafe keys.withUnsafeBytes { (keys) throws(InteropError) in
            try unsafe SecretBytes(byteCount: byteCount) { (output) throws(InteropError) in
                do throws(CryptoError) {
                    try unsafe HKDF.derive(
                        .sha256, inputKeyMaterial: input, salt: keys.part(0..<32).bytes, info: RawSpan(), into: output)
                } catch {
                    throw InteropError(error)
                }
            }
        }
    }

    private func cipherState(_ direction: CipherDirection) throws(InteropError) -> NoiseCipherState {
        // EXPOSE: from locked memory to locked memory.
        let key = unsafe keys.withUnsafeBytes { unsafe SecretBytes(copying: $0.part(32..<64)) }
        return try NoiseCipherState(cipher, direction, key: key, nonce: nonce)
    }

    /// Encrypts under the key, if there is one yet, and hashes what is sent.
    mutating func encryptAndHash(_ plaintext: [UInt8]) throws(InteropError) -> [UInt8] {
        var sent = plaintext
        if hasKey {
            var state = try cipherState(.seal)
            let plaintext = plaintext.span
            let associated = hash
            sent = try unsafe makeBytes(byteCount: plaintext.count + 16) { (output) throws(InteropError) in
                try unsafe plaintext.withUnsafeBytes { (plaintext) throws(InteropError) in
                    try unsafe state.encrypt(plaintext, additionalData: associated.span.bytes, into: output)
                }
            }
            nonce += 1
        }
        mixHash(sent)
        return sent
    }

    /// Decrypts under the key, if there is one yet, and hashes what was received.
    mutating func decryptAndHash(_ received: ArraySlice<UInt8>) throws(InteropError) -> [UInt8] {
        let received = Array(received)
        var plaintext = received
        if hasKey {
            guard received.count >= 16 else { throw .authenticationFailed }
            var state = try cipherState(.open)
            let associated = hash
            let input = received.span
            plaintext = try unsafe makeBytes(byteCount: received.count - 16) { (output) throws(InteropError) in
                try unsafe input.withUnsafeBytes { (input) throws(InteropError) in
                    try unsafe state.decrypt(input, additionalData: associated.span.bytes, into: output)
                }
            }
            nonce += 1
        }
        mixHash(received)
        return plaintext
    }

    /// The keys of the two directions: the initiator's sending key first.
    func split() throws(InteropError) -> SecretBytes {
        try derive(RawSpan(), byteCount: 64)
    }

    /// Lends the chaining key, for tests that compare it with vectors.
    func withChainingKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // EXPOSE: to tests alone; nothing in the library calls this.
        unsafe keys.withUnsafeBytes { unsafe body($0.part(0..<32)) }
    }
}
