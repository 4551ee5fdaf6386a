// Themis Secure Message. Decrypting and verifying are two calls that never replace each other: a signed message is
// readable by anyone, and a caller that means to decrypt must not get one.

internal import CoffretBase
internal import CoffretCrypto

/// Messages between two holders of Themis keys.
///
/// Spec: Spec/interop-themis.md §8. Vectors: secure_message_encrypt.json, secure_message_sign.json.
/// - Concurrency: safe from any task.
public enum SecureMessage {
    /// By how many bytes an encrypted message is longer than its plaintext: 52.
    public static let encryptionOverheadByteCount = 8 + CellHeader.keyByteCount

    private static let encryptedType: UInt32 = 0x2604_2720
    private static let signedType: UInt32 = 0x2604_2620
    /// The size field counts its own 8 bytes and the 44 of the inner header.
    private static let plaintextByteCountMax = Int(UInt32.max) - encryptionOverheadByteCount

    /// Encrypts a message for one recipient.
    ///
    /// Either holder can open it, and either could have made it: the key is what both share. There is no
    /// forward secrecy, and nothing stops a message from being sent again. Neither party is named in it.
    /// Layout: type (4) ‖ size (4) ‖ Seal cell (44 + n) = n + 52 bytes.
    /// - Throws: `InteropError`: `.invalidArgument` for an empty plaintext, `.limitExceeded`.
    public static func encrypt(
        _ plaintext: some Collection<UInt8>, from sender: ThemisPrivateKey, to recipient: ThemisPublicKey
    ) throws(InteropError) -> [UInt8] {
        let plaintext = [UInt8](plaintext)
        let nonce = CellCipher.random.bytes(count: CellHeader.nonceByteCount)
        return try encrypt(plaintext, from: sender, to: recipient, nonce: nonce)
    }

    static func encrypt(
        _ plaintext: [UInt8], from sender: ThemisPrivateKey, to recipient: ThemisPublicKey, nonce: [UInt8]
    ) throws(InteropError) -> [UInt8] {
        try CellCipher.checkPlaintext(byteCount: plaintext.count)
        guard plaintext.count <= plaintextByteCountMax else { throw InteropError(.limitExceeded, at: "plaintext size") }
        let plaintext = plaintext.span
        let byteCount = plaintext.count + encryptionOverheadByteCount
        return try unsafe makeBytes(byteCount: byteCount) { (message) throws(InteropError) in
            unsafe message.storeLittleEndian(encryptedType, at: 0)
            unsafe message.storeLittleEndian(UInt32(byteCount), at: 4)
            let cell = unsafe message.part(8..<byteCount)
            unsafe CellCipher.writeHeader(.key, messageByteCount: plaintext.count, to: cell)
            unsafe cell.part(16..<28).copyBytes(from: nonce)
            try unsafe withSharedSecret(sender, recipient) { (key) throws(InteropError) in
                try unsafe plaintext.withUnsafeBytes { (plaintext) throws(InteropError) in
                    try unsafe CellCipher.seal(
                        plaintext, key: key.bytes, context: RawSpan(),
                        nonce: UnsafeRawBufferPointer(cell.part(16..<28)), ciphertext: cell.part(44..<cell.count),
                        tag: cell.part(28..<44))
                }
            }
        }
    }

    /// Decrypts a message.
    ///
    /// - Returns: the plaintext, which is the caller's to overwrite.
    /// - Throws: `InteropError` `.authenticationFailed`, for any fault; a signed message is refused.
    public static func decrypt(
        _ message: some Collection<UInt8>, to recipient: ThemisPrivateKey, from sender: ThemisPublicKey
    ) throws(InteropError) -> [UInt8] {
        let messageBytes = [UInt8](message)
        let message = messageBytes.span
        return try unsafe message.withUnsafeBytes { (bytes) throws(InteropError) in
            guard bytes.count > 8, unsafe bytes.littleEndian(UInt32.self, at: 0) == encryptedType,
                unsafe Int(bytes.littleEndian(UInt32.self, at: 4)) == bytes.count
            else { throw .authenticationFailed }
            let cell = unsafe bytes.part(8..<bytes.count)
            guard let tokenByteCount = unsafe CellHeader.tokenByteCount(cell: cell) else { throw .authenticationFailed }
            let token = unsafe cell.part(0..<tokenByteCount)
            let ciphertext = unsafe cell.part(tokenByteCount..<cell.count)
            guard let header = unsafe CellHeader.parse(keyToken: token, ciphertextByteCount: ciphertext.count) else {
                throw .authenticationFailed
            }
            return try unsafe makeBytes(byteCount: ciphertext.count) { (plaintext) throws(InteropError) in
                try unsafe withSharedSecret(recipient, sender) { (key) throws(InteropError) in
                    try unsafe CellCipher.open(
                        ciphertext, header: header, token: token, key: key.bytes, context: RawSpan(),
                        plaintext: plaintext)
                }
            }
        }
    }

    /// The raw x coordinate that both holders reach, with its leading zeros, is the key of the inner cell.
    private static func withSharedSecret(
        _ own: ThemisPrivateKey, _ other: ThemisPublicKey,
        _ body: (UnsafeRawBufferPointer) throws(InteropError) -> Void
    ) throws(InteropError) {
        try unsafe withSecretScratch(byteCount: EllipticCurve.p256.coordinateByteCount) {
            (secret) throws(InteropError) in
            try translatingErrors(unsafe own.key.sharedSecret(with: other.key, into: secret))
            try unsafe body(UnsafeRawBufferPointer(secret))
        }
    }

    /// Signs a message, which stays readable.
    ///
    /// Layout: type (4) ‖ message size (4) ‖ signature size (4) ‖ message (n) ‖ ECDSA signature in DER (8 to 72).
    /// The signature can be changed into another valid one by anybody: do not take it for an identity.
    /// - Throws: `InteropError`: `.invalidArgument` for an empty message, `.limitExceeded`.
    public static func sign(_ message: some Collection<UInt8>, with key: ThemisPrivateKey) throws(InteropError)
        -> [UInt8]
    {
        let message = [UInt8](message)
        guard !message.isEmpty else { throw InteropError(.invalidArgument, at: "empty message") }
        guard let byteCount = UInt32(exactly: message.count) else {
            throw InteropError(.limitExceeded, at: "message size")
        }
        let digest = unsafe HashAlgorithm.sha256.hash(message.span.bytes)
        let signature = try translatingErrors(unsafe key.key.signature(digest: digest.span.bytes))
        return unsafe makeBytes(byteCount: 12 + message.count + signature.count) { signed in
            unsafe signed.storeLittleEndian(signedType, at: 0)
            unsafe signed.storeLittleEndian(byteCount, at: 4)
            unsafe signed.storeLittleEndian(UInt32(signature.count), at: 8)
            unsafe signed.part(12..<12 + message.count).copyBytes(from: message)
            unsafe signed.part(12 + message.count..<signed.count).copyBytes(from: signature)
        }
    }

    /// Verifies a signed message and returns what was signed.
    ///
    /// Bytes after the signature are ignored, as some writers leave a few.
    /// - Throws: `InteropError` `.authenticationFailed`, for any fault; an encrypted message is refused.
    public static func verify(_ signed: some Collection<UInt8>, from key: ThemisPublicKey) throws(InteropError)
        -> [UInt8]
    {
        let signedBytes = [UInt8](signed)
        let signed = signedBytes.span
        return try unsafe signed.withUnsafeBytes { (bytes) throws(InteropError) in
            guard bytes.count >= 12, unsafe bytes.littleEndian(UInt32.self, at: 0) == signedType else {
                throw .authenticationFailed
            }
            let messageByteCount = unsafe Int(bytes.littleEndian(UInt32.self, at: 4))
            let signatureByteCount = unsafe Int(bytes.littleEndian(UInt32.self, at: 8))
            guard messageByteCount > 0, signatureByteCount > 0,
                12 + messageByteCount + signatureByteCount <= bytes.count
            else { throw .authenticationFailed }
            let message = unsafe bytes.part(12..<12 + messageByteCount)
            let signature = unsafe bytes.part(12 + messageByteCount..<12 + messageByteCount + signatureByteCount)
            let digest = unsafe HashAlgorithm.sha256.hash(message.bytes)
            guard unsafe key.key.isValidSignature(signature.bytes, digest: digest.span.bytes) else {
                throw .authenticationFailed
            }
            return unsafe [UInt8](message)
        }
    }
}
