// Items into other vaults. Invariant: an item stands in its new vault, and at the server where others read it, before it leaves
// the old one; what breaks off leaves both, and the same request finishes it.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
package import CoffretWire

extension ItemMove: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let target = try desk.record(to)
        let isCopying = isCopy == true
        let places: StoreDesk.Places
        do {
            places = try desk.find(all: items, vault: vault, notIn: isCopying ? nil : target.vaultID)
        } catch let error as CoreError where error.code == .itemNotFound && !isCopying {
            places = try desk.find(all: items, vault: target.vaultID.hex)
        }
        guard isCopying || places.record.vaultID != target.vaultID else {
            throw CommandFailure(.usage, .inputInvalid, "that is in \"\(TextWidth.displaySafe(target.name))\" already")
        }
        try desk.requireMovable(places, isCopying: isCopying)
        let readers = try desk.others(in: target)
        if !readers.isEmpty { try desk.requireOwnPassphrases(places) }
        let ids = try desk.transfer(places, to: target, isCopying ? .copy : .move) {
            if !readers.isEmpty { try desk.push(target) }
        }
        var answer = Answer()
        (answer.items, answer.from, answer.vault) = (ids.map(\.uuid.hex), places.record.name, target.name)
        guard !readers.isEmpty else { return answer }
        let members = try VaultMembers(target, desk.store, desk.personNames())
        answer.people = readers.map { members.words(for: $0) }
        return answer
    }
}

extension StoreDesk {
    /// Brings items into a vault.
    ///
    /// - Parameter settle: makes sure of them, before they leave the old one.
    func transfer(
        _ places: Places, to target: VaultRecord, _ manner: TransferManner, settle: () throws -> Void
    ) throws -> [EntityID] {
        let ids = try writing(target) { try $0.take(places.ids, from: places.vault, manner) }
        do {
            try settle()
        } catch {
            var failure = FailureTranslation.failure(from: error)
            failure.details.append(
                "\(NumberText.counted(ids.count, "item")) can be read in \"\(TextWidth.displaySafe(target.name))\" here, and "
                    + (manner == .copy
                        ? "the next sync sends them." : "nothing left the old vault: the same command goes on."))
            throw failure
        }
        if manner == .move {
            try writing(places.record) { source in try source.leave(places.ids, to: vault(target)) }
        }
        return ids
    }

    /// Refuses before anything is written.
    func requireMovable(_ places: Places, isCopying: Bool) throws {
        let items = try places.ids.map(places.vault.item)
        if isCopying, let locked = items.first(where: \.isLocked) {
            throw CommandFailure(
                .noteLocked, code: CoreError.Code.noteLocked.rawValue,
                "\"\(TextWidth.displaySafe(locked.title))\" is locked, and its sealed parts belong to one note",
                hint: "coffret mv moves it as it is; coffret note unlock NOTE --for-good takes the lock off first")
        }
        if !isCopying { try places.vault.requireWritingAccount() }
        for item in items where item.isVeiled { try surroundings.requirePresence(store, item) }
        for item in items {
            for file in item.attachments where try !places.vault.hasFile(of: file) {
                throw CommandFailure(
                    .unavailable, code: StorageError.Code.attachmentMissing.rawValue,
                    "\(TextWidth.displaySafe(file.name)) of \"\(TextWidth.displaySafe(item.title))\" is not on this device",
                    hint: "coffret attach get fetches it")
            }
        }
    }

    /// The other accounts of a vault, as far as its chain is known here; none of one that nobody else has.
    func others(in record: VaultRecord) throws -> [ChainID] {
        guard record.kind == .synced else { return [] }
        let own = try store.keyring.accountID()
        return try vault(record).repository.ask { (machine) -> [ChainID] in
            guard machine.members.takenCount > 0 else { return [] }
            return machine.members.newestState.members.keys.filter { $0 != own }.sortedByBytes
        }
    }

    /// Sends what was written to a vault, files too.
    ///
    /// - Throws: what keeps it from the server.
    func push(_ record: VaultRecord) throws {
        let sync = self.sync(try account())
        defer { sync.account.connection.logOut() }
        try follow(sync.account)
        try send(record, sync)
    }

    /// As `push`, of an account that was followed.
    func send(_ record: VaultRecord, _ sync: AccountSync, _ prepare: (inout SyncOptions) -> Void = { _ in }) throws {
        var options = SyncOptions()
        options.hurries = true
        prepare(&options)
        let progress = progress(of: record)
        do {
            let report = try sync.sync(record, options, progress: progress.changes, fileProgress: progress.files)
            sync.note(record, report.waitingProblem)
            if let problem = report.waitingProblem { throw problem }
            guard report.role?.writes != false else { throw SyncError(.roleViewer) }
        } catch {
            sync.note(record, error)
            throw error
        }
        let sent = try vault(record)
        guard try VaultSyncer.unsentEntryCount(of: sent) ?? 0 == 0 else { throw SyncError(.changeWaits) }
    }
}
