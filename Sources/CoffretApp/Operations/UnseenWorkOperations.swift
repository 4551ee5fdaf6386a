// Work that counts, of who loses the right to write, and that this device had not seen before. Invariant: it is told with the change that
// ends the right, and nothing of it is taken back without a word of the person.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretStorage
package import CoffretWire

/// The state of vaults before rights of writers end.
struct WorkBefore {
    private let frontiers: [(record: VaultRecord, frontier: Frontier)]

    init(_ records: [VaultRecord], on desk: StoreDesk) {
        // One that cannot be read now fails the sync that follows, and says so there.
        frontiers = records.compactMap { record in
            (try? Self.reading(record, on: desk) { try $0.frontier }).map { (record, $0) }
        }
    }

    /// Opened anew each time: the end of a right brings new keys.
    private static func reading<Result>(
        _ record: VaultRecord, on desk: StoreDesk, _ body: (Vault) throws -> Result
    ) throws -> Result {
        let vault = try desk.store.openVault(record.vaultID.hex, isWritable: false)
        defer { vault.close() }
        return try body(vault)
    }

    /// The work that came since, and counts.
    func unseen(on desk: StoreDesk, by isMeant: (EntryContext) -> Bool) throws -> [UnseenWork] {
        try frontiers.compactMap { record, frontier in
            try Self.reading(record, on: desk) { vault in
                let work = try vault.work(behind: frontier, by: isMeant)
                return work.isEmpty ? nil : UnseenWork(work, vault, record)
            }
        }
    }
}

extension UnseenWork {
    init(_ work: WrittenWork, _ vault: Vault, _ record: VaultRecord) {
        self.init()
        (self.vault, vaultID, entryCount) = (record.name, record.vaultID.hex, work.entryCount)
        versions = work.firsts.map(\.description)
        items = work.items.map { id in
            var item = UnseenItem()
            (item.id, item.title) = (id.uuid.hex, (try? vault.item(id))?.title)
            return item
        }
    }
}

extension ShareUndo: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        guard !versions.isEmpty else { throw OperationError(.requestInvalid, at: "versions") }
        let record = try desk.record(vault)
        var answer = Answer()
        if isTrial == true {
            answer.work = try written(in: desk.vault(record), record).message
            return answer
        }
        return try desk.writing(record) { vault in
            let written = try written(in: vault, record)
            answer.work = written.message
            answer.isDone = try vault.takeBack(written.work) > 0
            return answer
        }
    }

    private func written(in vault: Vault, _ record: VaultRecord) throws -> (work: WrittenWork, message: UnseenWork) {
        let work = try vault.work(from: versions.map { try vault.entry(at: .commit($0)) })
        return (work, UnseenWork(work, vault, record))
    }
}
