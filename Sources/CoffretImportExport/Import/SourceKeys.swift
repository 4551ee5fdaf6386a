// The secrets that open a protected export: its password and its key file. Invariant: neither lives longer than the import.

package import CoffretBase

/// Gives the secrets of a protected export to the importer that asks for them.
package final class SourceKeys {
    private let password: (_ question: String) throws -> SecretBytes
    private var keyFile: [UInt8]?
    /// The constants of the program that sealed notes of the source, as the person's file has them.
    package var constants: [UInt8]?
    /// Decrypts a file under OpenPGP with the person's own keys; its result is nil if they do not open it.
    package var decryptOpenPGP: ((_ ciphertext: [UInt8]) throws -> [UInt8]?)?
    /// Why the person gave no password, or did not open a file.
    package private(set) var refusal: (any Error)?

    /// - Parameters:
    ///   - keyFile: the content of a key file, for a format that has such; zeroed when this object goes.
    ///   - password: asked once, and only if the export is protected.
    package init(keyFile: [UInt8]? = nil, password: @escaping (_ question: String) throws -> SecretBytes) {
        self.keyFile = keyFile
        self.password = password
    }

    /// No keys: a protected export is refused.
    package static func none() -> SourceKeys {
        SourceKeys { _ in throw ImportExportError(.passwordNeeded) }
    }

    /// The content of a file under OpenPGP.
    ///
    /// - Throws: `.passwordWrong` if the person's keys do not open it, `.passwordNeeded` where they cannot be used.
    func decrypt(_ ciphertext: [UInt8], of name: String) throws(ImportExportError) -> [UInt8] {
        guard let decryptOpenPGP else { throw ImportExportError(.passwordNeeded, subject: name) }
        guard let bytes = try asked({ try decryptOpenPGP(ciphertext) }) else {
            throw ImportExportError(.passwordWrong, at: "gpg", subject: name)
        }
        return bytes
    }

    private func asked<Value: ~Copyable>(_ ask: () throws -> Value) throws(ImportExportError) -> Value {
        do {
            return try ask()
        } catch {
            refusal = error
            throw ImportExportError(.passwordNeeded, cause: error)
        }
    }

    /// Lends the content of the key file; nil if there is none.
    func withKeyFile<Result>(_ body: ([UInt8]?) throws(ImportExportError) -> Result) throws(ImportExportError) -> Result
    {
        try body(keyFile)
    }

    /// Lends the password as it was typed.
    ///
    /// - Throws: `.passwordNeeded` where there is nobody to ask.
    func withPassword<Result>(
        of name: String, _ body: ([UInt8]) throws(ImportExportError) -> Result
    ) throws(ImportExportError) -> Result {
        let secret = try asked { try password("Password of \(name): ") }
        // EXPOSE: into an array for key derivation in C; zeroed below.
        var bytes = unsafe secret.withUnsafeBytes { unsafe Array($0) }
        defer { bytes.zero() }
        return try body(bytes)
    }

    deinit { keyFile?.zero() }
}
