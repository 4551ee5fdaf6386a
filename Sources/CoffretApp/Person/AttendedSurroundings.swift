// A desk whose operations ask and tell a person on the way.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
package import CoffretSearch
package import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

extension DeskSurroundings {
    /// - Parameters:
    ///   - policy: which schemes of locking are trusted.
    ///   - observe: is handed each vault that was opened.
    package init(
        stateDirectory: String, person: any OperationPerson, check: PersonCheck,
        policy: @escaping () throws -> LockPolicy,
        observe: @escaping (Vault, _ isWritable: Bool) -> Void
    ) {
        self.init(stateDirectory: stateDirectory)
        self.person = person
        (presence, profile, tpm) = (check.presence, check.profile, check.tpm)
        let now = clock.now
        let open = { (store: Store, record: VaultRecord, isWritable: Bool) throws -> Vault in
            let vault = try store.openVault(record.vaultID.hex, isWritable: isWritable)
            vault.lockPolicy = try policy()
            observe(vault, isWritable)
            if vault.isOlderCopy { person.warn(StoreWords.olderCopy(vault)) }
            person.observeIndex(of: vault)
            return vault
        }
        openVault = { store, record, isWritable in
            let vault = try open(store, record, isWritable)
            if !isWritable {
                try BrokenSchemes.replace(in: vault, now: now, person: person) { try open(store, record, true) }
            }
            return vault
        }
        requirePresence = { store, item in try check.require(toShow: item, in: store) }
        requirePassphrase = { try check.requirePassphrase(to: $0) }
        requirePerson = { store, reason, outcome in try check.require(to: reason, orElse: outcome, in: store) }
        canAskForPresence = { check.canAsk }
        openNote = { store, record, vault, item in
            let opening = NoteOpening(person: person, now: now) { try open(store, $0, true) }
            return try opening.open(item, record, vault)
        }
    }
}

/// Words about a store that is opened.
package enum StoreWords {
    /// Said until a person has said that the store is to go on here.
    package static let markerMissing =
        "this machine remembers nothing of this store: it was copied here, or its marker was removed "
        + "(\(KeyError.Code.markerMissing.rawValue)); nothing is written before coffret device renew"

    package static func olderCopy(_ vault: Vault) -> String {
        "\"\(TextWidth.displaySafe(vault.name))\" is older than this machine remembers: an old copy was "
            + "put back (\(CoreError.Code.vaultRolledBack.rawValue)); put the newer one back, "
            + "or go on with this one: coffret device renew"
    }
}

extension StorageNotice {
    var notice: SessionNotice { SessionNotice(.storage, words, code: kind.rawValue) }

    /// What storage did by itself.
    package var words: String {
        switch kind {
        case .unfinishedAppend: "a change that was never confirmed was found at the end of the journal and left out"
        case .indexRebuilt: "a damaged index was made anew from the records"
        case .orphansRemoved: "files that an interrupted run left behind were removed"
        case .damageAccepted: "damaged changes were given up, as you asked"
        }
    }
}

extension OperationPerson {
    /// Says why an index is made again, and that one cannot be used.
    fileprivate func observeIndex(of vault: Vault) {
        vault.observeIndex(
            willRebuild: { [self] reason in
                note("\(Self.words(reason)), so it is made again; the notes themselves are whole.")
            },
            willRead: { [self] obstacle in
                note("The search index cannot be used now [\(obstacle.code.rawValue)]; the notes are read instead.")
            })
    }

    private static func words(_ reason: RebuildReason) -> String {
        switch reason {
        case .missing: "There was no search index"
        case .unfinished: "The search index was left unfinished"
        case .unknownVersion: "The search index is of another version"
        case .damaged: "The search index is damaged"
        }
    }
}

extension SearchError {
    /// Why an index could not be made, in a sentence.
    package var words: String {
        switch code {
        case .indexFull: "There is no space for the search index."
        case .indexBusy: "Another coffret is at work on the search index."
        case .indexReadOnly: "The search index cannot be written here."
        default: "The search index cannot be used now [\(code.rawValue)]."
        }
    }
}
