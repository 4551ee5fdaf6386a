// Records in the desktop's keyring. Invariant: one entry, found by its tag; a second one under the same tag is an
// error, never a choice.

package import CoffretBase
internal import CoffretCrypto
package import CoffretKeys

/// Small records in one entry of the desktop's keyring, all together.
///
/// Entry: CBOR [1, [* [name: tstr, record: bstr]]] sealed as a table under the machine secret, so that an entry of
/// another program is detected. Protection: a file of coffret put back changes nothing here; the keyring's own file
/// put back, before the login, is not noticed.
/// Spec: Spec/keystores.md §8.
package struct SecretServiceRecords: ProtectedRecords {
    private let files: RecordFiles
    private let machineSecret: MachineSecretFile
    private let random: any RandomSource
    private let limit: Duration
    private let tag: [UInt8]

    /// - Parameter folder: where the locks lie; it also tells the entry's tag.
    /// - Parameter limit: how long a call may take; the keyring is open when the agent chooses this home, so
    ///   nobody has to be asked.
    package init(
        folder: String, machineSecret: MachineSecretFile, fileSystem: any FileSystem, random: any RandomSource,
        limit: Duration = .seconds(10)
    ) {
        files = RecordFiles(folder: folder, fileSystem: fileSystem)
        self.machineSecret = machineSecret
        self.random = random
        self.limit = limit
        var hasher = BLAKE2bHasher(byteCount: 32)
        hasher.update(Array("coffret/records/1".utf8))
        hasher.update(Array(folder.utf8))
        tag = Array(hasher.finish()[..<16])
    }

    /// Whether there is a keyring, and it is open.
    package func isAvailable() -> Bool {
        let tag = Hex.encode(tag)
        let isOpen = try? perform { cancellation throws(KeyStoreError) -> Bool in
            guard try SecretServiceConnection.isUnlocked(cancellation: cancellation) else { return false }
            // A second entry under the tag makes this no home.
            _ = try SecretServiceConnection.find(tag: tag, cancellation: cancellation)
            return true
        }
        return isOpen == true
    }

    package func read(_ name: String) -> ProtectedRecord {
        do {
            let table = try load()
            return table?.records[name].map { .present($0) } ?? .missing
        } catch {
            return .altered
        }
    }

    package func write(_ name: String, _ bytes: [UInt8]) throws {
        try files.exclusively("keyring.records") {
            var table: RecordTable
            do throws(KeyStoreError) {
                table = try load() ?? RecordTable()
            } catch {
                guard error.code == .malformed else { throw error }
                table = RecordTable()
            }
            try table.set(name, bytes)
            let sealed = table.sealed(under: try key(), home: tag, count: 0, random: random)
            let (tag, label) = (Hex.encode(tag), Hex.encode(random.bytes(count: 8)))
            try perform { cancellation throws(KeyStoreError) in
                var bytes = sealed
                try SecretServiceConnection.replace(
                    SecretBytes(consuming: &bytes), tag: tag, label: label, cancellation: cancellation)
            }
        }
    }

    package func exclusively<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
        // Not the name alone: file records may lie in the same folder, and a ledger in both homes locks both.
        try files.exclusively("keyring." + name, body)
    }

    private func load() throws(KeyStoreError) -> RecordTable? {
        let tagText = Hex.encode(tag)
        let found = try perform { cancellation throws(KeyStoreError) -> [UInt8]? in
            guard let secret = try SecretServiceConnection.find(tag: tagText, cancellation: cancellation) else {
                return nil
            }
            // EXPOSE: records are not secret; they are sealed so that nobody sets them.
            return unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) }
        }
        guard let found else { return nil }
        guard let table = RecordTable(opening: found, key: try key(), home: tag, count: 0) else {
            throw KeyStoreError(.malformed, place: "keyring record")
        }
        return table
    }

    private func key() throws(KeyStoreError) -> AuthenticationKey {
        do throws(KeyError) {
            return KDF.derive(from: try machineSecret.loadOrMake(), .recordsKey, tag)
        } catch {
            throw KeyStoreError(.failed, place: "machine secret")
        }
    }

    private func perform<Value: Sendable>(
        _ body: @escaping @Sendable (SecretServiceCancellation) throws(KeyStoreError) -> Value
    ) throws(KeyStoreError) -> Value {
        let cancellation = SecretServiceCancellation()
        return try LimitedCall.run(limit: limit, cancel: { cancellation.cancel() }) { () throws(KeyStoreError) in
            try body(cancellation)
        }
    }
}
