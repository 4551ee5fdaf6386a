// Operations on vaults and devices. Invariant: what cannot be undone is refused unless the request knows how much it is about.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
package import CoffretTerminal
internal import CoffretTrust
package import CoffretWire

extension VaultList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        answer.vaults = try desk.vaultRecords.map(desk.message)
        return answer
    }
}

extension StoreDesk {
    fileprivate func message(_ record: VaultRecord) throws -> VaultMessage {
        var message = VaultMessage()
        message.id = record.vaultID.hex
        message.name = record.name
        message.isSynced = record.kind == .synced
        message.isDefault = try record.vaultID == defaultVault.vaultID
        if message.isSynced { message.files = deviceRecords.areFilesAsked(message.id) ? .asked : .all }
        return message
    }
}

extension VaultCreate: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> VaultMessage {
        let id = try desk.store.addVault(named: name)
        return try desk.message(desk.store.vaultRecord(id.hex))
    }
}

extension VaultEdit: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> VaultMessage {
        let record = try desk.record(vault)
        let id = record.vaultID.hex
        if isDefault == false { throw OperationError(.requestInvalid, at: "isDefault") }
        if files != nil, record.kind != .synced { throw CommandFailure.notSynced(record.name) }
        if let newName, newName != record.name { try desk.store.renameVault(id, to: newName) }
        if isDefault == true { try desk.deviceRecords.setDefaultVault(id) }
        if let files { try desk.deviceRecords.setFilesAsked(id, files == .asked) }
        var message = try desk.message(desk.store.vaultRecord(id))
        if message.name != record.name { message.formerName = record.name }
        return message
    }
}

extension VaultRemove: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let (record, count) = try counted(on: desk)
        var answer = Answer()
        (answer.removed, answer.itemCount) = (record.vaultID.hex, count)
        guard isTrial != true else {
            (answer.name, answer.changeCount) = (record.name, try desk.vault(record).log().count)
            return answer
        }
        guard count == itemCount else { throw OperationError(.requestInvalid, at: "itemCount") }
        try desk.removeVault(record)
        return answer
    }

    /// How much would go.
    ///
    /// - Throws: `CommandFailure` `.vaultSynced`; `CoreError.vaultIsLast`.
    private func counted(on desk: StoreDesk) throws -> (record: VaultRecord, itemCount: Int) {
        let record = try desk.record(vault)
        guard record.kind != .synced else {
            throw CommandFailure(
                .usage, .vaultSynced, "\"\(TextWidth.displaySafe(record.name))\" lies on the server too",
                hint: "coffret vault unsync \(record.vaultID.hex.prefix(8)) keeps it here only; then remove it")
        }
        guard try desk.store.vaults.count > 1 else { throw CoreError(.vaultIsLast, at: record.name) }
        return (record, try desk.vault(record).page(.everything, limit: 0).totalCount)
    }
}

extension CommandFailure {
    package static func notSynced(_ name: String) -> CommandFailure {
        CommandFailure(
            .notFound, .vaultNotSynced, "\"\(TextWidth.displaySafe(name))\" is on this device only",
            hint: "coffret vault sync NAME begins to sync it")
    }
}

extension DeviceList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let keyring = desk.store.keyring
        let (chain, own) = (try keyring.deviceChain(), try keyring.deviceID())
        var answer = Answer()
        answer.devices = try chain.devices.map { device in
            let details = try keyring.details(of: device)
            var message = DeviceMessage()
            message.id = device.id.hex
            message.name = details?.name ?? ""
            message.model = details?.model ?? ""
            message.kind = device.kind == .paper ? .paper : .device
            message.added = details.map { WireMoment($0.time) }
            message.isRevoked = !device.isTrusted
            message.isCurrent = device.id == own
            message.revocable = chain.announcements.filter { $0.target == device.id }.map(\.endOfWaiting).min()
                .map { WireMoment($0) }
            return message
        }
        return answer
    }
}

extension StoreRead: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        desk.warnOfPaper()
        let record = try desk.record(vault)
        let vault = try desk.vault(record)
        var answer = Answer()
        answer.storeID = desk.store.keyring.storeID.hex
        let keys = try desk.store.keyring.slotDetails().filter { $0.kind == .recovery }
        answer.recoveryKeyCount = keys.count
        answer.printedKeyCount = keys.count { desk.deviceRecords.isOnlyPrinted($0.slotID.hex) }
        answer.vaults = try desk.vaultRecords.map(\.name)
        (answer.id, answer.name, answer.isSynced) = (record.vaultID.hex, vault.name, record.kind == .synced)
        let counts = try vault.itemCounts()
        answer.trashedCount = counts.trashed
        answer.kinds = ItemKind.allCases.compactMap { kind in counts.kinds[kind].map { KindCount(kind.name, $0) } }
        let last = try vault.log(limit: 1).first
        (answer.lastChange, answer.version) = (last.map { WireMoment($0.time) }, try vault.stateVersion)
        if answer.isSynced { answer.headCode = try desk.store.headCode(of: vault) }
        answer.isRemembered = desk.store.keyring.instanceStatus == .current
        answer.isOlderCopy = vault.isOlderCopy
        answer.people = desk.deviceRecords.waitingForPerson.map { PeopleWaiting($0) }
        // Files of a synced vault may lie at the server; of those that are here, size and head are looked at.
        answer.faultyFiles = try vault.faultyAttachments(reads: false)
            .filter { !answer.isSynced || $0.fault != .missing }.map { FaultyFileMessage($0) }
        // Last: an index that was damaged has been made again by now.
        answer.byteCount = try Self.byteCount(below: desk.store.layout.path, desk.store.fileSystem)
        return answer
    }

    private static func byteCount(below path: String, _ fileSystem: any FileSystem) throws -> Int {
        try fileSystem.list(path).reduce(0) { sum, entry in
            let inner = PathText.join(path, entry.name)
            guard let status = try fileSystem.status(inner) else { return sum }
            return sum + (status.kind == .directory ? try byteCount(below: inner, fileSystem) : Int(status.byteCount))
        }
    }
}
