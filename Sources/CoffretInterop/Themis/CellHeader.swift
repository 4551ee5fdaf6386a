// The header of a Secure Cell. It is not authenticated and comes from the attacker: every number is
// checked against the bytes at hand before it is used, and before any key is derived.

/// The header before the ciphertext of a cell. Spec: Spec/interop-themis.md §3, §4 and §6.
struct CellHeader: Equatable {
    static let nonceByteCount = 12
    static let tagByteCount = 16
    /// The size of a header made with a key.
    static let keyByteCount = 44
    /// The size of a header made with a passphrase and a salt of `saltByteCount` bytes.
    static let passphraseByteCount = 70
    static let saltByteCount = 16
    /// The longest salt that is read: other writers may choose another size, but not any size.
    static let saltByteCountMax = 64
    static let plaintextByteCountMax = Int(UInt32.max)

    /// How the AES key comes about: the bits 24 to 27 of the algorithm identifier.
    enum Derivation: UInt32 {
        case key = 0
        case passphrase = 1
    }

    /// The size of the AES key in bytes: 16, 24 or 32.
    let aesKeyByteCount: Int
    /// The size of the plaintext, and of the ciphertext.
    let messageByteCount: UInt32
    let nonce: Range<Int>
    let tag: Range<Int>
    /// Passphrase cells only.
    let iterationCount: UInt32
    /// Passphrase cells only.
    let salt: Range<Int>

    /// The identifier that we write: AES-256 in GCM.
    static func algorithmIdentifier(_ derivation: Derivation) -> UInt32 { 0x4001_0100 | derivation.rawValue << 24 }

    /// AES-GCM with a key of 128, 192 or 256 bits, the padding nibble 1, the wanted derivation, and no
    /// other bit; nil for everything else.
    private static func aesKeyByteCount(_ identifier: UInt32, _ derivation: Derivation) -> Int? {
        let bitCount = identifier & 0xFFF
        guard identifier & ~0xFFF == algorithmIdentifier(derivation) & ~0xFFF,
            bitCount == 128 || bitCount == 192 || bitCount == 256
        else { return nil }
        return Int(bitCount / 8)
    }

    /// Splits a Seal cell: its last bytes, as many as the header says, are the ciphertext.
    static func tokenByteCount(cell: UnsafeRawBufferPointer) -> Int? {
        guard cell.count >= 16 else { return nil }
        let messageByteCount = unsafe Int(cell.littleEndian(UInt32.self, at: 12))
        guard messageByteCount > 0, messageByteCount <= cell.count else { return nil }
        return cell.count - messageByteCount
    }

    /// Reads the header of a cell made with a key; `token` is everything before the ciphertext.
    ///
    /// The reference tolerates longer nonces, longer tags and stray bytes between the fields. No writer
    /// makes them, so we refuse: exactly 12, 16 and 44 bytes.
    static func parse(keyToken token: UnsafeRawBufferPointer, ciphertextByteCount: Int) -> CellHeader? {
        guard token.count == keyByteCount,
            let aesKeyByteCount = unsafe aesKeyByteCount(token.littleEndian(UInt32.self, at: 0), .key),
            unsafe token.littleEndian(UInt32.self, at: 4) == UInt32(nonceByteCount),
            unsafe token.littleEndian(UInt32.self, at: 8) == UInt32(tagByteCount)
        else { return nil }
        let messageByteCount = unsafe token.littleEndian(UInt32.self, at: 12)
        guard messageByteCount > 0, Int(messageByteCount) == ciphertextByteCount else { return nil }
        return CellHeader(
            aesKeyByteCount: aesKeyByteCount, messageByteCount: messageByteCount, nonce: 16..<28, tag: 28..<44,
            iterationCount: 0, salt: 0..<0)
    }

    /// Reads the header of a cell made with a passphrase.
    static func parse(passphraseToken token: UnsafeRawBufferPointer, ciphertextByteCount: Int) -> CellHeader? {
        guard token.count >= 54, token.count <= 54 + saltByteCountMax,
            let aesKeyByteCount = unsafe aesKeyByteCount(token.littleEndian(UInt32.self, at: 0), .passphrase),
            unsafe token.littleEndian(UInt32.self, at: 4) == UInt32(nonceByteCount),
            unsafe token.littleEndian(UInt32.self, at: 8) == UInt32(tagByteCount),
            unsafe token.littleEndian(UInt32.self, at: 16) == UInt32(token.count - 48),
            unsafe Int(token.littleEndian(UInt16.self, at: 52)) == token.count - 54
        else { return nil }
        let messageByteCount = unsafe token.littleEndian(UInt32.self, at: 12)
        let iterationCount = unsafe token.littleEndian(UInt32.self, at: 48)
        guard messageByteCount > 0, Int(messageByteCount) == ciphertextByteCount, iterationCount > 0 else {
            return nil
        }
        return CellHeader(
            aesKeyByteCount: aesKeyByteCount, messageByteCount: messageByteCount, nonce: 20..<32, tag: 32..<48,
            iterationCount: iterationCount, salt: 54..<token.count)
    }
}
