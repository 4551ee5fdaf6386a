// The secret that makes this installation's slots its own. Invariant: it never lies in a store or in a backup, and
// without it no PIN and no key store opens anything.

package import CoffretBase
package import CoffretCrypto

/// 32 random bytes in the state directory, which every slot of every key store needs beside the key store itself.
///
/// So a store that was copied away, and one that is put back after everything was removed, opens with its
/// passphrase or a recovery key only, even if the TPM or the keyring still holds the old key.
package struct MachineSecretFile: Sendable {
    private let path: String
    private let fileSystem: any FileSystem
    private let random: any RandomSource

    package init(stateDirectory: String, fileSystem: any FileSystem, random: any RandomSource) {
        path = PathText.join(stateDirectory, "machine.secret")
        self.fileSystem = fileSystem
        self.random = random
    }

    /// - Throws: `.machineSecretMissing`; `.machineSecretInvalid` if others can read it or it is cut short.
    package func load() throws(KeyError) -> MachineSecret {
        guard let secret = try loadIfPresent() else { throw KeyError(.machineSecretMissing) }
        return secret
    }

    package func loadOrMake() throws(KeyError) -> MachineSecret {
        if let secret = try loadIfPresent() { return secret }
        // Of two programs at once one makes it: a slot of the other's would have lost its secret.
        let lock = try withFiles { () throws(FileSystemError) in
            try fileSystem.makeDirectories(PathText.parent(of: path))
            let lock = try fileSystem.open(path + ".lock", .createIfAbsent)
            try lock.lock(.exclusive, waits: true)
            return lock
        }
        defer { withExtendedLifetime(lock) {} }
        if let secret = try loadIfPresent() { return secret }
        let secret = MachineSecret.generate(from: random)
        // EXPOSE: into the file that keeps it; the copy is zeroed.
        var bytes = unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) }
        defer { bytes.zero() }
        try withFiles(fileSystem.replaceFile(path, with: bytes, isLocked: true))
        return secret
    }

    private func loadIfPresent() throws(KeyError) -> MachineSecret? {
        guard let status = try withFiles(fileSystem.status(path)) else {
            return nil
        }
        // Group or others could read it: then it is no secret of this person.
        guard status.kind == .file, status.byteCount == MachineSecret.byteCount, status.mode & 0o077 == 0 else {
            throw KeyError(.machineSecretInvalid)
        }
        var bytes = try withFiles(fileSystem.readFile(path, byteCountMax: MachineSecret.byteCount))
        return MachineSecret(SecretBytes(consuming: &bytes))
    }
}
