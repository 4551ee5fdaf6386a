// The agent's records where there is neither a TPM nor a keyring. The one thing to keep true: a record that was altered
// is told apart from one that is missing.

package import CoffretBase
internal import CoffretCrypto
package import CoffretKeys

/// Records in files, each with a MAC under a secret of this machine.
///
/// Whoever runs as this user can read the secret, or put an old file back: this home slows honest hands and notices
/// accidents. Layout: bytes ‖ BLAKE2b-256(key, name ‖ bytes).
package struct FileRecords: ProtectedRecords {
    private static let macByteCount = 32
    private static let byteCountMax = 4096

    private let folder: String
    private let fileSystem: any FileSystem
    private let random: any RandomSource

    /// - Parameter folder: made if it is missing, for its owner only.
    package init(folder: String, fileSystem: any FileSystem, random: any RandomSource) {
        self.folder = folder
        self.fileSystem = fileSystem
        self.random = random
    }

    package func read(_ name: String) -> ProtectedRecord {
        do throws(FileSystemError) {
            guard try fileSystem.exists(path(name)) else { return .missing }
            let bytes = try fileSystem.readFile(path(name), byteCountMax: Self.byteCountMax)
            guard bytes.count >= Self.macByteCount, let key = try key(isMade: false) else { return .altered }
            let content = Array(bytes.dropLast(Self.macByteCount))
            let mac = Array(bytes.suffix(Self.macByteCount))
            return ConstantTime.isEqual(computeMAC(key, name, content), mac) ? .present(content) : .altered
        } catch {
            return .altered
        }
    }

    package func write(_ name: String, _ bytes: [UInt8]) throws {
        try fileSystem.makeDirectories(folder)
        guard let key = try key(isMade: true) else { throw FileSystemError(.permission, place: folder) }
        try fileSystem.replaceFile(path(name), with: bytes + computeMAC(key, name, bytes))
    }

    package func exclusively<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
        try fileSystem.makeDirectories(folder)
        let lock = try fileSystem.open(path(name + ".lock"), .createIfAbsent)
        try lock.lock(.exclusive, waits: true)
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    private func path(_ name: String) -> String { PathText.join(folder, name) }

    private func key(isMade: Bool) throws(FileSystemError) -> AuthenticationKey? {
        let path = path("records.secret")
        if try !fileSystem.exists(path) {
            guard isMade else { return nil }
            let fresh = AuthenticationKey.generate(from: random)
            // EXPOSE: into the file that keeps it; the copy is zeroed.
            var bytes = unsafe fresh.withUnsafeBytes { unsafe [UInt8]($0) }
            defer { bytes.zero() }
            try fileSystem.replaceFile(path, with: bytes)
        }
        guard let status = try fileSystem.status(path), status.kind == .file, status.mode & 0o077 == 0,
            status.byteCount == AuthenticationKey.byteCount
        else { return nil }
        var bytes = try fileSystem.readFile(path, byteCountMax: AuthenticationKey.byteCount)
        return AuthenticationKey(SecretBytes(consuming: &bytes))
    }

    private func computeMAC(_ key: AuthenticationKey, _ name: String, _ bytes: [UInt8]) -> [UInt8] {
        let derived: AuthenticationKey = KDF.derive(from: key, .recordMAC, Array(name.utf8))
        // EXPOSE: into the hash state, which is zeroed.
        return unsafe derived.withUnsafeBytes { key in
            var hasher = unsafe BLAKE2bHasher(byteCount: Self.macByteCount, keyBytes: key)
            hasher.update(bytes)
            return hasher.finish()
        }
    }
}
