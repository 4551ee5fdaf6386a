// A vault as people use it. Invariant: every change goes through one entry of the repository, and nothing that is
// derived, such as the index, is ever the only place where something stands.

package import CoffretBase
package import CoffretHistory
internal import CoffretKeys
package import CoffretLogs
package import CoffretSearch
package import CoffretStorage

/// Items, their history and how to find them, over one repository.
///
/// Opening reads nothing beyond what the repository's opening reads. Not Sendable: one isolation domain at a time.
package final class Vault {
    /// The name of the vault on this device; devices may name it differently.
    package let name: String
    /// The facts below; import and export read and write them directly where items do not say enough.
    package let repository: LogRepository

    let clock: any WallClock
    let random: any RandomSource
    /// Nil for a vault without an index, in which everything is found by reading.
    let indexer: VaultIndexer?
    let attachmentStore: AttachmentStore?
    /// Commits made here since the index was last brought up to date.
    var unindexed: UnindexedChanges?
    /// The keys of note passphrases that were typed. Opening a vault puts none in.
    package let noteKeys: UnlockedNoteKeys
    /// Whether contents of hidden items are given out. A vault outside of a store hides nothing.
    package internal(set) var hiddenGate = HiddenGate(isOpen: true)
    /// Where wrong passphrases of a record are counted; nil where nobody guesses.
    var noteAttempts: ((UniqueID) -> AttemptLedger)?
    /// The files are older than this machine remembers: an old copy was put back. Nothing is written to it.
    package internal(set) var isOlderCopy = false
    /// Writes a checkpoint into the member chain, of a vault that this device alone has; nil in any other.
    package var writeCheckpoint: ((_ purges: [EntityID], _ frontier: Frontier?) throws -> Int)?
    /// Values that could not be read since somebody last forgot them.
    package let unreadable = UnreadableValues()
    /// The judgement of the schemes under which notes are sealed.
    package var lockPolicy = LockPolicy.release

    /// - Parameters:
    ///   - repository: open, for reading or for writing.
    ///   - attachments: where the contents of files lie.
    ///   - noteKeys: where the keys of locked notes are held while they may be read.
    ///   - openIndex: opens the search index; called when something is looked for, at most once.
    package init(
        name: String, repository: LogRepository, clock: any WallClock, random: any RandomSource,
        attachments: AttachmentStore? = nil, noteKeys: UnlockedNoteKeys = UnlockedNoteKeys(),
        openIndex: (@Sendable () throws(SearchError) -> SearchIndex)? = nil
    ) {
        self.name = name
        self.repository = repository
        self.clock = clock
        self.random = random
        attachmentStore = attachments
        self.noteKeys = noteKeys
        indexer = openIndex.map { VaultIndexer(open: $0) }
    }

    /// Whether the vault may be changed.
    package var isWritable: Bool { repository.isWritable }

    /// Gives the writer's lock back; the vault is not to be used any more.
    package func close() {
        repository.close()
    }

    /// Picks up what other processes committed.
    package func refresh() throws {
        try inStorage { () throws(StorageError) in _ = try repository.refresh() }
    }

    /// Everything as it stands now, hidden items without their contents until `hiddenGate` is open.
    package var present: VaultView {
        get throws {
            VaultView(reader: try presentReader(), hidden: HiddenItems(gate: hiddenGate, present: nil))
        }
    }

    func presentReader() throws -> SnapshotReader {
        try inStorage { () throws(StorageError) in
            let repository = repository
            return SnapshotReader(snapshot: try repository.present(), unreadable: unreadable) { key, _ in
                guard let shown = try inStorage(repository.shownText(under: key)) else {
                    throw CoreError(.storage, at: key.description)
                }
                return shown
            }
        }
    }

    /// The item with an id, trashed or not.
    ///
    /// - Throws: `CoreError.itemNotFound` if there is none.
    package func item(_ id: EntityID) throws -> Item {
        guard let item = try present.item(id) else { throw CoreError(.itemNotFound, at: id.uuid.hex) }
        return item
    }

    /// Writes changes as one entry; none at all if there are none.
    ///
    /// - Returns: the state after it, or nil if nothing changed.
    @discardableResult
    func commit(_ changes: [LogChange]) throws -> StateMark? {
        guard !changes.isEmpty else { return nil }
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        return try inStorage { () throws(StorageError) in
            let before = try repository.stateMark()
            guard try repository.commit(changes, time: clock.now) != nil else { return nil }
            let after = try repository.stateMark()
            UnindexedChanges.add(to: &unindexed, from: before, to: after, changes)
            return after
        }
    }
}
