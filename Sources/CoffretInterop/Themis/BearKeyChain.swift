// The key chain of Bear's locked notes, which Coffret calls scheme 1. It stretches nothing: a passphrase
// is guessed at the speed of a few HMACs. It is here to read what exists, not to protect what is new.

package import CoffretBase
internal import CoffretCrypto

/// The key chain of the article "Implementing End-to-End encryption in Bear App": passphrase → application
/// key → a key for each note, all by Context Imprint.
///
/// ```
/// application key = Imprint(key: passphrase, context: applicationContext,
///                           data: passphrase ‖ passwordPart ‖ applicationContext)
/// note key        = Imprint(key: application key, context: note id,
///                           data: application key ‖ passwordPart ‖ applicationContext)
/// note            = Seal(key: note key, context: note id, text)
/// ```
///
/// The two constants belong to an application, and stand in its code: they are no secrets. Those of Bear
/// are not public; Coffret's own are `coffretScheme1`.
/// Spec: Spec/interop-themis.md §9. Vectors: bear_chain.json.
public struct BearKeyChain: Sendable, Equatable {
    /// The constant that the article calls generated_passphrase_password.
    public let passwordPart: [UInt8]
    /// The constant that the article calls generated_app_context; at least one byte.
    public let applicationContext: [UInt8]

    /// Coffret's own constants of scheme 1. Spec: Spec/interop-themis.md §9.
    public static let coffretScheme1 = BearKeyChain(
        uncheckedPasswordPart: Array("coffret/scheme-1/passphrase".utf8), Array("coffret/scheme-1/context".utf8))

    /// A chain with the constants of some application.
    ///
    /// - Throws: `InteropError` `.invalidArgument` for an empty context.
    public init(passwordPart: some Collection<UInt8>, applicationContext: some Collection<UInt8>) throws(InteropError) {
        let passwordPart = [UInt8](passwordPart)
        let applicationContext = [UInt8](applicationContext)
        guard !applicationContext.isEmpty else { throw InteropError(.invalidArgument, at: "empty context") }
        self.init(uncheckedPasswordPart: passwordPart, applicationContext)
    }

    private init(uncheckedPasswordPart: [UInt8], _ applicationContext: [UInt8]) {
        passwordPart = uncheckedPasswordPart
        self.applicationContext = applicationContext
    }

    /// The key that a passphrase leads to; from it the keys of notes are derived when they are needed.
    public final class ApplicationKey: Sendable {
        let bytes: SecretBytes
        package let chain: BearKeyChain

        fileprivate init(_ bytes: consuming SecretBytes, _ chain: BearKeyChain) {
            self.bytes = bytes
            self.chain = chain
        }

        /// Seals the text of a note. Sealing twice gives two different cells.
        ///
        /// - Parameter noteID: the note's random encryption id; at least one byte.
        /// - Throws: `InteropError`: `.invalidArgument` for an empty text or id, `.limitExceeded`.
        public func seal(_ text: some Collection<UInt8>, noteID: some Collection<UInt8>) throws(InteropError) -> [UInt8]
        {
            let text = [UInt8](text)
            let noteID = [UInt8](noteID)
            return try noteCell(noteID).seal(text, context: noteID)
        }

        /// Opens the text of a note; it is the caller's to overwrite.
        ///
        /// - Throws: `InteropError` `.authenticationFailed`, for any fault: most often the passphrase.
        public func open(_ cell: some Collection<UInt8>, noteID: some Collection<UInt8>) throws(InteropError) -> [UInt8]
        {
            let cell = [UInt8](cell)
            let noteID = [UInt8](noteID)
            return try noteCell(noteID).open(cell, context: noteID)
        }

        /// Lends the application key, for sealing it under another key. Each use stands under `// EXPOSE:`.
        package func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
            _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            // EXPOSE: for the caller, who says why.
            try unsafe bytes.withUnsafeBytes(body)
        }

        /// The cell of one note. Its key is derived anew each time and kept no longer than the cell.
        func noteCell(_ noteID: [UInt8]) throws(InteropError) -> SecureCell {
            var key = try noteKey(noteID)
            defer { key.zero() }
            return try SecureCell(key: key)
        }

        func noteKey(_ noteID: [UInt8]) throws(InteropError) -> [UInt8] {
            guard !noteID.isEmpty else { throw InteropError(.invalidArgument, at: "empty note id") }
            // EXPOSE: read by the key derivation; the copy inside its data is overwritten there.
            return try unsafe bytes.withUnsafeBytes { (key) throws(InteropError) in
                try unsafe chain.imprint(key: key.bytes, context: noteID)
            }
        }
    }

    /// Derives the application key of a passphrase. Fast, and so is guessing: see the type's remarks.
    ///
    /// - Parameter passphrase: UTF-8 as typed, neither trimmed nor normalised; at least one byte.
    /// - Throws: `InteropError` `.invalidArgument` for an empty passphrase.
    public func deriveApplicationKey(passphrase: some Collection<UInt8>) throws(InteropError) -> ApplicationKey {
        let passphrase = [UInt8](passphrase)
        guard !passphrase.isEmpty else { throw InteropError(.invalidArgument, at: "empty passphrase") }
        var key = try unsafe imprint(key: passphrase.span.bytes, context: applicationContext)
        return ApplicationKey(SecretBytes(consuming: &key), self)
    }

    /// The application key that `ApplicationKey.withUnsafeBytes` lent, brought back.
    package func restoreApplicationKey(_ bytes: consuming SecretBytes) -> ApplicationKey {
        ApplicationKey(bytes, self)
    }

    /// One step of the chain: the key and the two constants, imprinted under the key.
    private func imprint(key: RawSpan, context: [UInt8]) throws(InteropError) -> [UInt8] {
        let byteCount = key.byteCount + passwordPart.count + applicationContext.count
        return try unsafe withSecretScratch(byteCount: byteCount) { (data) throws(InteropError) in
            unsafe key.withUnsafeBytes { unsafe data.copyMemory(from: $0) }
            unsafe data.part(key.byteCount..<byteCount).copyBytes(from: passwordPart + applicationContext)
            return try unsafe ContextImprint.apply(
                to: UnsafeRawBufferPointer(data).bytes, key: key, context: context.span.bytes)
        }
    }
}
