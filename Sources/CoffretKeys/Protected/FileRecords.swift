// Records in files: of programs without a way to a TPM or a keyring, and where there is neither. Invariant: an altered
// record is distinguished from a missing one.

package import CoffretBase
internal import CoffretCrypto

/// Records in files, each with a MAC under a secret of this machine.
///
/// A program that runs as this user can read the secret, or put an old file back: this home slows honest people and
/// notices accidents. Layout: bytes ‖ BLAKE2b-256(key, name ‖ bytes).
package struct FileRecords: ProtectedRecords {
    private static let macByteCount = 32
    private static let byteCountMax = 4096

    package let folder: String
    private let fileSystem: any FileSystem
    private let random: any RandomSource

    /// - Parameter folder: made if it is missing, for its owner only.
    package init(folder: String, fileSystem: any FileSystem, random: any RandomSource) {
        self.folder = folder
        self.fileSystem = fileSystem
        self.random = random
    }

    /// The records that all programs of the person share.
    package init(stateDirectory: String, fileSystem: any FileSystem, random: any RandomSource) {
        self.init(folder: PathText.join(stateDirectory, "agent"), fileSystem: fileSystem, random: random)
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
            try makeKey(path)
        }
        guard let status = try fileSystem.status(path), status.kind == .file, status.mode & 0o077 == 0,
            status.byteCount == AuthenticationKey.byteCount
        else { return nil }
        var bytes = try fileSystem.readFile(path, byteCountMax: AuthenticationKey.byteCount)
        return AuthenticationKey(SecretBytes(consuming: &bytes))
    }

    /// Two programs at once make one key: records of the other's would count as altered.
    private func makeKey(_ path: String) throws(FileSystemError) {
        let lock = try fileSystem.open(path + ".lock", .createIfAbsent)
        try lock.lock(.exclusive, waits: true)
        defer { withExtendedLifetime(lock) {} }
        if try !fileSystem.exists(path) {
            let fresh = AuthenticationKey.generate(from: random)
            // EXPOSE: into the file that keeps it; the copy is zeroed.
            var bytes = unsafe fresh.withUnsafeBytes { unsafe [UInt8]($0) }
            defer { bytes.zero() }
            try fileSystem.replaceFile(path, with: bytes, isLocked: true)
        }
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
