// Themis Secure Cell with a passphrase. The iteration count in a cell is the attacker's until the work is
// done: it is held against a ceiling before any of it begins.

internal import CoffretBase
internal import CoffretCrypto

/// A Themis Secure Cell under a passphrase, which PBKDF2 stretches.
///
/// Only Seal mode exists for passphrases. Writes what Themis 0.15 writes (314,110 iterations), reads what
/// 0.13 and 0.14 wrote, too.
/// Spec: Spec/interop-themis.md §6. Vectors: secure_cell_seal_passphrase.json.
/// - Concurrency: safe from any task.
public final class PassphraseCell: Sendable {
    /// By how many bytes a cell is longer than its plaintext: 70.
    public static let overheadByteCount = CellHeader.passphraseByteCount
    /// How many iterations a new cell asks for: 314,110, as Themis 0.15 has it.
    public static let iterationCountDefault = 314_110
    /// How many iterations a cell may ask for unless the caller says otherwise: 4,000,000, some seconds of work.
    public static let iterationCountMaxDefault = 4_000_000

    private let passphrase: SecretBytes
    private let iterationCountMax: Int

    /// Takes a copy of a passphrase; the original stays the caller's to overwrite.
    ///
    /// Text is taken as it is: nothing is trimmed or normalised, so a composed and a decomposed letter are
    /// two passphrases. Use `Array(text.utf8)`.
    /// - Parameter iterationCountMax: cells that ask for more are refused before any work.
    /// - Throws: `InteropError` `.invalidArgument` for an empty passphrase or a ceiling below 1.
    public init(
        passphrase: some Collection<UInt8>, iterationCountMax: Int = PassphraseCell.iterationCountMaxDefault
    ) throws(InteropError) {
        let passphrase = [UInt8](passphrase)
        guard !passphrase.isEmpty else { throw InteropError(.invalidArgument, at: "empty passphrase") }
        guard iterationCountMax >= 1 else { throw InteropError(.invalidArgument, at: "iteration count") }
        self.passphrase = unsafe SecretBytes(byteCount: passphrase.count) { unsafe $0.copyBytes(from: passphrase) }
        self.iterationCountMax = iterationCountMax
    }

    /// Seals a plaintext. Sealing twice gives two different cells.
    ///
    /// Layout: header (70 bytes: algorithm, sizes, IV, tag, iteration count, salt) ‖ ciphertext (n) = n + 70 bytes.
    /// - Parameter plaintext: 1 to 2³² - 1 bytes.
    /// - Parameter context: is authenticated and needed to open; it is not in the cell. May be empty.
    /// - Throws: `InteropError`: `.invalidArgument` for an empty plaintext, `.limitExceeded`.
    /// - Complexity: 314,110 rounds of PBKDF2, a few tenths of a second.
    public func seal(_ plaintext: some Collection<UInt8>, context: some Collection<UInt8> = [UInt8]())
        throws(InteropError) -> [UInt8]
    {
        let plaintext = [UInt8](plaintext)
        let context = [UInt8](context)
        let random = CellCipher.random
        return try seal(
            plaintext, context: context, nonce: random.bytes(count: CellHeader.nonceByteCount),
            salt: random.bytes(count: CellHeader.saltByteCount), iterationCount: Self.iterationCountDefault)
    }

    /// Opens a cell.
    ///
    /// - Returns: the plaintext, which is the caller's to overwrite.
    /// - Throws: `InteropError`: `.limitExceeded` when the cell asks for more iterations than the ceiling,
    ///   without doing any; otherwise `.authenticationFailed`, for any fault.
    public func open(_ cell: some Collection<UInt8>, context: some Collection<UInt8> = [UInt8]()) throws(InteropError)
        -> [UInt8]
    {
        let cellBytes = [UInt8](cell)
        let context = [UInt8](context)
        let cell = cellBytes.span
        return try unsafe cell.withUnsafeBytes { (bytes) throws(InteropError) in
            guard let tokenByteCount = unsafe CellHeader.tokenByteCount(cell: bytes) else {
                throw .authenticationFailed
            }
            let token = unsafe bytes.part(0..<tokenByteCount)
            let ciphertext = unsafe bytes.part(tokenByteCount..<bytes.count)
            guard
                let header = unsafe CellHeader.parse(passphraseToken: token, ciphertextByteCount: ciphertext.count)
            else { throw .authenticationFailed }
            guard Int(header.iterationCount) <= iterationCountMax else {
                throw InteropError(.limitExceeded, at: "iteration count")
            }
            return try unsafe makeBytes(byteCount: ciphertext.count) { (plaintext) throws(InteropError) in
                try unsafe withStretchedKey(
                    salt: token.part(header.salt).bytes, iterationCount: Int(header.iterationCount)
                ) { (key) throws(InteropError) in
                    try unsafe CellCipher.open(
                        ciphertext, header: header, token: token, key: key.bytes, context: context.span.bytes,
                        plaintext: plaintext)
                }
            }
        }
    }

    func seal(
        _ plaintext: [UInt8], context: [UInt8], nonce: [UInt8], salt: [UInt8], iterationCount: Int
    ) throws(InteropError) -> [UInt8] {
        try CellCipher.checkPlaintext(byteCount: plaintext.count)
        let plaintext = plaintext.span
        return try unsafe makeBytes(byteCount: plaintext.count + 70) { (cell) throws(InteropError) in
            unsafe CellCipher.writeHeader(.passphrase, messageByteCount: plaintext.count, to: cell)
            unsafe cell.storeLittleEndian(UInt32(6 + CellHeader.saltByteCount), at: 16)
            unsafe cell.part(20..<32).copyBytes(from: nonce)
            unsafe cell.storeLittleEndian(UInt32(iterationCount), at: 48)
            unsafe cell.storeLittleEndian(UInt16(CellHeader.saltByteCount), at: 52)
            unsafe cell.part(54..<70).copyBytes(from: salt)
            try unsafe withStretchedKey(salt: salt.span.bytes, iterationCount: iterationCount) {
                (key) throws(InteropError) in
                try unsafe plaintext.withUnsafeBytes { (plaintext) throws(InteropError) in
                    try unsafe CellCipher.seal(
                        plaintext, key: key.bytes, context: context.span.bytes,
                        nonce: UnsafeRawBufferPointer(cell.part(20..<32)), ciphertext: cell.part(70..<cell.count),
                        tag: cell.part(32..<48))
                }
            }
        }
    }

    private func withStretchedKey(
        salt: RawSpan, iterationCount: Int, _ body: (UnsafeRawBufferPointer) throws(InteropError) -> Void
    ) throws(InteropError) {
        try unsafe withSecretScratch(byteCount: 32) { (key) throws(InteropError) in
            // EXPOSE: read by PBKDF2, which keeps no copy.
            try unsafe passphrase.withUnsafeBytes { (passphrase) throws(InteropError) in
                try translatingErrors(
                    unsafe PBKDF2.derive(
                        .sha256, password: passphrase.bytes, salt: salt, iterationCount: iterationCount, into: key))
            }
            try unsafe body(UnsafeRawBufferPointer(key))
        }
    }
}
