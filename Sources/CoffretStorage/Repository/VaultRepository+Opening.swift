// A repository on disk. The one thing to keep true: opening reads what the journal's end says and nothing
// that grows with the vault.

package import CoffretCrypto

extension BlobStore: BlobMaintenance {}

extension VaultRepository {
    /// Makes an empty vault in `directory` and opens it for writing.
    ///
    /// - Throws: `.alreadyExists`, `.lockBusy`, `.diskFull`, `.fileFailed`.
    package static func create(
        directory: String, keys: VaultKeys, author: CommitAuthor, environment: StorageEnvironment,
        checkpointPolicy: CheckpointPolicy = .shortLived
    ) throws(StorageError) -> VaultRepository {
        VaultRepository(
            backend: try BlobStore.create(directory: directory, keys: keys, environment: environment), keys: keys,
            author: author, random: environment.random, checkpointPolicy: checkpointPolicy)
    }

    /// Opens the vault in `directory`.
    ///
    /// - Parameter author: nil to read only, whatever `mode` says.
    /// - Throws: what `BlobStore.open` throws.
    package static func open(
        directory: String, keys: VaultKeys, author: CommitAuthor?, mode: BlobStore.Mode,
        environment: StorageEnvironment, checkpointPolicy: CheckpointPolicy = .shortLived,
        damagedTail: DamagedTailPolicy = .refuse
    ) throws(StorageError) -> VaultRepository {
        let store = try BlobStore.open(
            directory: directory, keys: keys, environment: environment, mode: mode, damagedTail: damagedTail)
        return VaultRepository(
            backend: store, keys: keys, author: author, random: environment.random,
            checkpointPolicy: checkpointPolicy)
    }

    /// Bytes of all transactions since the last compaction, for measurements and for the decision when to
    /// compact; 0 for a backend without files.
    package var journalByteCount: Int { (backend as? BlobStore)?.journalByteCount ?? 0 }

    /// The number of the last complete transaction, which only grows; 0 for a backend without files.
    package var journalPosition: UInt64 { (backend as? BlobStore)?.lastSequence ?? 0 }

    /// Calls `body` with that number after each transaction of this repository, once it is durable.
    package func onDurable(_ body: @escaping (UInt64) -> Void) { (backend as? BlobStore)?.onDurable = body }

    /// Gives the writer's lock back; nothing acknowledged waits for this.
    package func close() {
        (backend as? BlobStore)?.close()
    }
}
