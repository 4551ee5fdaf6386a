// Themis Secure Cell with a symmetric key: Seal, Token Protect and Context Imprint. Nothing of a
// plaintext is handed out before its tag has been checked, Context Imprint apart, which has none.

internal import CoffretBase
internal import CoffretCrypto

/// A Themis Secure Cell under a symmetric key.
///
/// Reads and writes what Themis 0.10 to 0.15 read and write. The key may have any size from 1 byte on;
/// 32 random bytes are recommended (`generateKey`). Nothing here stretches a key: for a passphrase use
/// `PassphraseCell`.
///
/// Two things to know about keys, which come from HMAC: a key of fewer than 64 bytes and the same key with
/// zero bytes appended are one key, and so are a key longer than 64 bytes and its SHA-256 digest.
///
/// AES-GCM does not commit to its key: do not conclude from a cell opening that no other key opens it.
/// Spec: Spec/interop-themis.md. Vectors: secure_cell_seal.json, secure_cell_token_protect.json,
/// secure_cell_context_imprint.json.
/// - Concurrency: safe from any task.
public final class SecureCell: Sendable {
    /// By how many bytes a Seal cell is longer than its plaintext, and the size of a token: 44.
    public static let overheadByteCount = CellHeader.keyByteCount
    /// The longest plaintext: 2³² - 1 bytes.
    public static let plaintextByteCountMax = CellHeader.plaintextByteCountMax

    /// The key as HMAC takes it: padded with zeros, or hashed, to the 64 bytes of a block.
    private let key: SecretBytes

    /// Takes a copy of a key; the original stays the caller's to overwrite.
    ///
    /// - Throws: `InteropError` `.invalidArgument` for an empty key.
    public convenience init(key: some Collection<UInt8>) throws(InteropError) {
        let key = [UInt8](key)
        try unsafe self.init(key: key.span.bytes)
    }

    /// Takes a copy of a key; the original stays the caller's to overwrite.
    ///
    /// - Throws: `InteropError` `.invalidArgument` for an empty key.
    public init(key: RawSpan) throws(InteropError) {
        guard !key.isEmpty else { throw InteropError(.invalidArgument, at: "empty key") }
        self.key = unsafe SecretBytes(byteCount: 64) { block in
            unsafe key.withUnsafeBytes { bytes in
                if bytes.count <= block.count {
                    unsafe block.copyMemory(from: bytes)
                } else {
                    var hash = HashContext(.sha256)
                    hash.update(key)
                    unsafe hash.finalize(into: block.part(0..<32))
                }
            }
        }
    }

    /// 32 random bytes, fit to be a key. They are the caller's to keep and to overwrite.
    public static func generateKey() -> [UInt8] { SystemRandomSource().bytes(count: 32) }

    // MARK: Seal

    /// Seals a plaintext. Sealing twice gives two different cells.
    ///
    /// Layout: header (44 bytes: algorithm, sizes, IV, tag) ‖ ciphertext (n) = n + 44 bytes.
    /// - Parameter plaintext: 1 to 2³² - 1 bytes; the format has no cell of an empty plaintext.
    /// - Parameter context: is authenticated and needed to open; it is not in the cell. May be empty.
    /// - Throws: `InteropError`: `.invalidArgument` for an empty plaintext, `.limitExceeded`.
    public func seal(_ plaintext: some Collection<UInt8>, context: some Collection<UInt8> = [UInt8]())
        throws(InteropError) -> [UInt8]
    {
        let plaintext = [UInt8](plaintext)
        let context = [UInt8](context)
        return try unsafe seal(plaintext.span.bytes, context: context.span.bytes)
    }

    /// Seals a plaintext that lies in any memory; as `seal(_:context:)` for arrays.
    public func seal(_ plaintext: RawSpan, context: RawSpan) throws(InteropError) -> [UInt8] {
        try seal(plaintext, context: context, nonce: nil)
    }

    /// Seals into memory of the caller's, of exactly `overheadByteCount` bytes more than the plaintext.
    ///
    /// For callers that seal much and keep their buffers: this allocates nothing but what OpenSSL does.
    /// - Throws: as `seal(_:context:)`, and `.invalidArgument` for an output of another size.
    public func seal(
        _ plaintext: RawSpan, context: RawSpan, into cell: inout MutableRawSpan
    ) throws(InteropError) {
        try CellCipher.checkPlaintext(byteCount: plaintext.byteCount)
        guard cell.byteCount == plaintext.byteCount + Self.overheadByteCount else {
            throw InteropError(.invalidArgument, at: "output size")
        }
        try unsafe cell.withUnsafeMutableBytes { (output) throws(InteropError) in
            try unsafe write(
                plaintext, context, nonce: nil, token: output.part(0..<44), ciphertext: output.part(44..<output.count))
        }
    }

    /// Opens a Seal cell.
    ///
    /// - Parameter context: the one it was sealed with; none and an empty one are the same.
    /// - Returns: the plaintext, which is the caller's to overwrite.
    /// - Throws: `InteropError` `.authenticationFailed`, for any fault.
    public func open(_ cell: some Collection<UInt8>, context: some Collection<UInt8> = [UInt8]()) throws(InteropError)
        -> [UInt8]
    {
        let cell = [UInt8](cell)
        let context = [UInt8](context)
        return try unsafe open(cell.span.bytes, context: context.span.bytes)
    }

    /// Opens a Seal cell that lies in any memory; as `open(_:context:)` for arrays.
    public func open(_ cell: RawSpan, context: RawSpan) throws(InteropError) -> [UInt8] {
        try unsafe cell.withUnsafeBytes { (bytes) throws(InteropError) in
            guard let tokenByteCount = unsafe CellHeader.tokenByteCount(cell: bytes) else {
                throw .authenticationFailed
            }
            return try unsafe read(
                token: bytes.part(0..<tokenByteCount), ciphertext: bytes.part(tokenByteCount..<bytes.count), context)
        }
    }

    // MARK: Token Protect

    /// The result of Token Protect.
    public struct ProtectedData: Equatable, Sendable {
        /// 44 bytes that are needed to open, to be kept apart from the ciphertext.
        public var token: [UInt8]
        /// As long as the plaintext.
        public var ciphertext: [UInt8]

        /// Puts a token and its ciphertext together again.
        public init(token: some Collection<UInt8>, ciphertext: some Collection<UInt8>) {
            let token = [UInt8](token)
            let ciphertext = [UInt8](ciphertext)
            self.token = token
            self.ciphertext = ciphertext
        }
    }

    /// Seals a plaintext so that the ciphertext is no longer than it; the rest goes into a token.
    ///
    /// Token and ciphertext put together are a Seal cell, and a Seal cell cut after 44 bytes is both.
    /// - Throws: as `seal(_:context:)`.
    public func protect(_ plaintext: some Collection<UInt8>, context: some Collection<UInt8> = [UInt8]())
        throws(InteropError) -> ProtectedData
    {
        let plaintext = [UInt8](plaintext)
        let context = [UInt8](context)
        return try protect(plaintext, context: context, nonce: nil)
    }

    /// Opens what `protect` made.
    ///
    /// - Throws: `InteropError` `.authenticationFailed`, for any fault.
    public func open(_ protected: ProtectedData, context: some Collection<UInt8> = [UInt8]()) throws(InteropError)
        -> [UInt8]
    {
        let context = [UInt8](context)
        let token = protected.token.span
        let ciphertext = protected.ciphertext.span
        return try unsafe token.withUnsafeBytes { (token) throws(InteropError) in
            try unsafe ciphertext.withUnsafeBytes { (ciphertext) throws(InteropError) in
                try unsafe read(token: token, ciphertext: ciphertext, context.span.bytes)
            }
        }
    }

    // MARK: Context Imprint

    /// Encrypts without adding a byte, and **without authentication**.
    ///
    /// Deterministic: equal inputs give equal outputs, and with one key and context two plaintexts of one
    /// size share a key stream. Authenticate by other means, and give every plaintext a context of its own.
    /// - Parameter data: 1 to 2³² - 1 bytes.
    /// - Parameter context: at least one byte.
    /// - Throws: `InteropError`: `.invalidArgument` where one of them is empty, `.limitExceeded`.
    public func imprint(_ data: some Collection<UInt8>, context: some Collection<UInt8>) throws(InteropError) -> [UInt8]
    {
        let data = [UInt8](data)
        let context = [UInt8](context)
        try CellCipher.checkPlaintext(byteCount: data.count)
        guard !context.isEmpty else { throw InteropError(.invalidArgument, at: "empty context") }
        // EXPOSE: read by the key derivation, which keeps no copy.
        return try unsafe key.withUnsafeBytes { (key) throws(InteropError) in
            try unsafe ContextImprint.apply(to: data.span.bytes, key: key.bytes, context: context.span.bytes)
        }
    }

    /// Decrypts what `imprint` made. A wrong key or context, or altered data, **does not fail**: it gives
    /// wrong bytes.
    ///
    /// - Throws: as `imprint`.
    public func reverseImprint(_ data: some Collection<UInt8>, context: some Collection<UInt8>) throws(InteropError)
        -> [UInt8]
    {
        let data = [UInt8](data)
        let context = [UInt8](context)
        return try imprint(data, context: context)
    }

    // MARK: Internals, with the IV fixed by tests

    func seal(_ plaintext: RawSpan, context: RawSpan, nonce: [UInt8]?) throws(InteropError) -> [UInt8] {
        try CellCipher.checkPlaintext(byteCount: plaintext.byteCount)
        return try unsafe makeBytes(byteCount: plaintext.byteCount + 44) { (output) throws(InteropError) in
            try unsafe write(
                plaintext, context, nonce: nonce, token: output.part(0..<44), ciphertext: output.part(44..<output.count)
            )
        }
    }

    func protect(_ plaintext: [UInt8], context: [UInt8], nonce: [UInt8]?) throws(InteropError) -> ProtectedData {
        var token = unsafe try seal(plaintext.span.bytes, context: context.span.bytes, nonce: nonce)
        let ciphertext = Array(token[44...])
        token.removeSubrange(44...)
        return ProtectedData(token: token, ciphertext: ciphertext)
    }

    private func write(
        _ plaintext: RawSpan, _ context: RawSpan, nonce: [UInt8]?, token: UnsafeMutableRawBufferPointer,
        ciphertext: UnsafeMutableRawBufferPointer
    ) throws(InteropError) {
        unsafe CellCipher.writeHeader(.key, messageByteCount: plaintext.byteCount, to: token)
        let iv = unsafe token.part(16..<28)
        if let nonce { unsafe iv.copyBytes(from: nonce) } else { unsafe CellCipher.random.fill(iv) }
        // EXPOSE: read by the key derivation, which keeps no copy.
        try unsafe key.withUnsafeBytes { (key) throws(InteropError) in
            try unsafe plaintext.withUnsafeBytes { (plaintext) throws(InteropError) in
                try unsafe CellCipher.seal(
                    plaintext, key: key.bytes, context: context, nonce: UnsafeRawBufferPointer(iv),
                    ciphertext: ciphertext, tag: token.part(28..<44))
            }
        }
    }

    private func read(
        token: UnsafeRawBufferPointer, ciphertext: UnsafeRawBufferPointer, _ context: RawSpan
    ) throws(InteropError) -> [UInt8] {
        guard let header = unsafe CellHeader.parse(keyToken: token, ciphertextByteCount: ciphertext.count) else {
            throw .authenticationFailed
        }
        return try unsafe makeBytes(byteCount: ciphertext.count) { (plaintext) throws(InteropError) in
            // EXPOSE: read by the key derivation, which keeps no copy.
            try unsafe key.withUnsafeBytes { (key) throws(InteropError) in
                try unsafe CellCipher.open(
                    ciphertext, header: header, token: token, key: key.bytes, context: context, plaintext: plaintext)
            }
        }
    }
}
