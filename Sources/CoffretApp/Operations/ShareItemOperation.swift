// One item that is shared, and vaults that are founded anew. Invariant: an item is a vault of its own before anybody is added, so
// that nobody gets a key with which something else is sealed.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretSharing
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
package import CoffretWire

extension ShareItem: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        guard !people.isEmpty else { throw OperationError(.requestInvalid, at: "people") }
        let places = try desk.find(all: [item], vault: vault)
        let found = try places.vault.item(places.ids[0])
        let sync = desk.sync(try desk.account())
        defer { sync.account.connection.logOut() }
        try desk.follow(sync.account)
        let persons = try people.map { try desk.findPerson($0, sync) }
        var answer = Answer()
        (answer.item, answer.title) = (found.id.uuid.hex, found.title)
        answer.people = persons.map { $0.message(role: role) }
        let isAlone = try desk.isAlone(found, places)
        if isAlone { for person in persons { try desk.checkRequirement(of: places.record, person) } }
        answer.vault = isAlone ? places.record.name : try desk.freeVaultName(found.title)
        if isTrial == true { return answer }
        try desk.surroundings.requirePassphrase("share an item")
        try sync.account.readAgain()
        try sync.people.ownIdentity()
        var record = places.record
        if !isAlone {
            try desk.requireMovable(places, isCopying: false)
            try desk.requireOwnPassphrases(places)
            record = try desk.unfinishedHome(of: found, places) ?? desk.found(answer.vault, sync)
            _ = try desk.transfer(places, to: record, .move) {
                try desk.send(record, sync) { $0.writesCheckpoint = true }
            }
        } else if record.kind != .synced {
            record = try desk.prepareForSharing(record, sync)
        }
        for person in persons {
            let report = try desk.add(person, role.right, to: record, sync)
            answer.keyCount += report.letterCount > 0 ? 1 : 0
        }
        (answer.vault, answer.vaultID, answer.isShared) = (record.name, record.vaultID.hex, true)
        return answer
    }
}

extension StoreDesk {
    func add(
        _ person: FoundPerson, _ role: MemberRole, to record: VaultRecord, _ sync: AccountSync
    ) throws -> SyncReport {
        let head = StatedHead(accountID: person.accountID, device: person.deviceHead, identity: person.identityHead)
        return try change(record, sync, to: .add(head, role, name: person.name)) { options in
            options.introduced = person.followed
        }
    }

    /// Whether an item came into a vault to be shared alone, and is alone there.
    fileprivate func isAlone(_ item: Item, _ places: Places) throws -> Bool {
        try item.origin != nil && guests.isGuest(places.record) == false
            && places.vault.page(.everything, limit: 0).totalCount == 1
    }

    /// The vault that an attempt before has founded for an item, and that nobody else has.
    fileprivate func unfinishedHome(of item: Item, _ places: Places) throws -> VaultRecord? {
        let name = Self.vaultName(item.title).lowercased()
        return try vaultRecords.first { record in
            guard record.vaultID != places.record.vaultID, record.name.lowercased().hasPrefix(name),
                record.kind == .synced, try store.isFoundedHere(record), try others(in: record).isEmpty
            else { return false }
            let there = try vault(record)
            let count = try there.page(.everything, limit: 0).totalCount
            return count == 0 || count == 1 && (try? there.item(item.id))?.origin?.vault == places.record.vaultID
        }
    }

    /// Founds a vault that has its place at the server.
    fileprivate func found(_ name: String, _ sync: AccountSync) throws -> VaultRecord {
        let id = try store.addVault(named: name, kind: .synced)
        let record = try store.vaultRecord(id.hex)
        try sync.account.makeZone(for: record)
        try sync.account.sendKeys()
        return record
    }

    /// A name for a vault after a title: what no vault can have is left out.
    fileprivate static func vaultName(_ title: String) -> String {
        let words = title.split { $0 == "/" || $0.isWhitespace || $0.utf8.allSatisfy { $0 < 0x20 || $0 == 0x7F } }
        var name = String(words.joined(separator: " ").prefix(60))
        while name.utf8.count > 100 || name.hasSuffix(" ") { name.removeLast() }
        return (try? Store.checkName(name)) == nil ? "Note" : name
    }

    fileprivate func freeVaultName(_ title: String) throws -> String {
        Self.localName(Self.vaultName(title), among: try store.vaults.map(\.name))
    }
}

// MARK: Founding anew

extension ShareRestart: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let old = try desk.record(vault)
        let members = try VaultMembers(old, desk.store, desk.personNames())
        let own = members.own
        let wanted = people.map(Set.init)
        let others = members.sorted.filter { entry in
            entry.account != own && wanted?.contains(entry.account.hex) ?? true
        }
        let source = try desk.vault(old)
        let ids = try source.list(.everything).map(\.id)
        var answer = Answer()
        (answer.name, answer.itemCount) = (old.name, ids.count)
        answer.people = others.map { members.message(for: $0.account) }
        if isTrial == true { return answer }
        if let file = try source.absentAttachments().first {
            throw CommandFailure(
                .unavailable, code: StorageError.Code.attachmentMissing.rawValue,
                "\(TextWidth.displaySafe(file.name)) is not on this device, and would be missing in the new vault",
                hint: "coffret attach get fetches it")
        }
        try desk.surroundings.requirePassphrase("found the vault anew")
        let sync = desk.sync(try desk.account())
        defer { sync.account.connection.logOut() }
        try desk.follow(sync.account)
        try sync.people.ownIdentity()
        let persons = try others.map { entry in
            (try desk.findPerson(entry.account.hex, sync), entry.member.role)
        }
        let name = Self.freeName("\(old.name) (old)", among: try desk.store.vaults.map(\.name))
        try desk.store.renameVault(old.vaultID.hex, to: name)
        answer.formerName = name
        let new = try desk.found(answer.name, sync)
        answer.id = new.vaultID.hex
        let required = try source.requiredState
        if required > .linked { try desk.writing(new) { try $0.require(required) } }
        if !ids.isEmpty {
            _ = try desk.writing(new) { try $0.take(ids, from: source, .restart) }
        }
        try desk.send(new, sync) { $0.writesCheckpoint = !ids.isEmpty }
        for (person, role) in persons { _ = try desk.add(person, role, to: new, sync) }
        answer.isLeft = desk.leaveForGood(old, sync)
        return answer
    }

    private static func freeName(_ name: String, among taken: [String]) -> String {
        StoreDesk.localName(name, among: taken)
    }
}

extension StoreDesk {
    /// Leaves a vault as far as its chain lets the account go; here it is read only from then on.
    ///
    /// - Returns: whether the server took the leaving.
    fileprivate func leaveForGood(_ record: VaultRecord, _ sync: AccountSync) -> Bool {
        let isLeft =
            record.kind == .synced
            && (try? change(record, sync, to: .leave) { $0.acknowledges = false }) != nil
        try? store.setKind(of: record.vaultID, .local)
        return isLeft
    }
}
