// Operations on the account: its server, its devices, and the vaults that lie there. Invariant: the server is asked first, so that
// what breaks off can be repeated.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal
package import CoffretTrust
package import CoffretWire

extension ServerRead: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        guard let record = try desk.store.keyring.server() else { return answer }
        let id = try desk.store.keyring.accountID()
        (answer.url, answer.name) = (record.url, record.name)
        (answer.account, answer.accountName) = (id.hex, AccountName(id).text)
        if !record.fingerprint.allSatisfy({ $0 == 0 }) { answer.fingerprint = Hex.encode(record.fingerprint) }
        do {
            let account = try desk.account()
            defer { account.connection.logOut() }
            try desk.follow(account)
            answer.isReachable = true
        } catch {
            let failure = FailureTranslation.failure(from: error)
            (answer.isReachable, answer.problem, answer.message) = (false, failure.code, failure.message)
            if failure.code == HTTPError.Code.pinDiffers.rawValue {
                answer.shownFingerprint = Self.shownPin(of: record).map { Hex.encode($0.bytes) }
            }
        }
        return answer
    }

    /// The key that a server shows now, where it is not the remembered one.
    ///
    /// - Returns: nil if it cannot be had.
    private static func shownPin(of record: ServerRecord) -> ServerPin? {
        guard let address = try? ServerAddress(record.url, allowsPlain: true), !address.isPlain else { return nil }
        return try? HTTPClient(HTTPSettings(address)).readPin(checksCertificate: false)
    }
}

// MARK: Devices

extension DeviceFollow: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        guard try desk.store.keyring.server() != nil else { return answer }
        let account = try desk.account()
        defer { account.connection.logOut() }
        try desk.follow(account)
        answer.requests = try account.pairingRequests().map { request in
            var message = JoinRequestMessage()
            (message.id, message.since) = (request.relayID.hex, WireMoment(request.since))
            return message
        }
        return answer
    }
}

extension StoreDesk {
    /// The devices that a reference may mean, revoked ones too.
    package func devices(matching wanted: String) throws -> [VerifiedDevice] {
        try store.keyring.deviceChain().devices.filter { device in
            if wanted.utf8.count >= 4, device.id.hex.hasPrefix(wanted.lowercased()) { return true }
            return try store.keyring.details(of: device)?.name == wanted
        }
    }

    /// The one of them that counts.
    ///
    /// - Throws: `CommandFailure` `.deviceNotFound`, `.deviceAmbiguous`.
    package func device(_ wanted: String, among matching: [VerifiedDevice]) throws -> VerifiedDevice {
        let found = matching.filter(\.isTrusted)
        let wanted = TextWidth.displaySafe(wanted)
        guard let target = found.first else {
            throw CommandFailure(
                .notFound, .deviceNotFound, "you have no device \"\(wanted)\"", hint: "coffret device ls lists them")
        }
        guard found.count > 1 else { return target }
        var failure = CommandFailure(
            .ambiguous, .deviceAmbiguous, "\"\(wanted)\" names \(found.count) devices", hint: "use the id")
        let keyring = store.keyring
        let (own, time) = (try keyring.deviceID(), RelativeTime(nowMilliseconds: surroundings.clock.now))
        failure.add(
            try found.map { device in
                let details = try keyring.details(of: device)
                let parts = [
                    details?.name ?? "?", details.map { "added \(time.moment($0.time))" },
                    device.kind == .paper ? "paper" : device.id == own ? "this device" : nil,
                ]
                return CoreError.Candidate(id: device.id.hex, title: parts.compactMap(\.self).joined(separator: ", "))
            })
        throw failure
    }
}

extension DeviceRename: PerformedOperation {
    private static let nameByteCountMax = 200

    /// - Throws: `CommandFailure` `.inputInvalid` for what can be no device's name.
    package static func check(_ name: String) throws {
        guard !name.allSatisfy(\.isWhitespace), name.utf8.count <= nameByteCountMax,
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw CommandFailure(
                .usage, .inputInvalid, "a device's name is one line of at most \(nameByteCountMax) bytes, and not empty"
            )
        }
    }

    package func perform(on desk: StoreDesk) throws -> Answer {
        try Self.check(newName)
        let keyring = desk.store.keyring
        let account = try keyring.server() == nil ? nil : desk.account()
        defer { account?.connection.logOut() }
        if let account { try desk.follow(account) }
        let target = try desk.device(device, among: desk.devices(matching: device))
        let before = try keyring.details(of: target)?.name ?? String(target.id.hex.prefix(8))
        let isTaken = try keyring.deviceChain().devices.contains { other in
            try other.isTrusted && other.id != target.id
                && keyring.details(of: other)?.name.lowercased() == newName.lowercased()
        }
        guard !isTaken else {
            throw CommandFailure(
                .alreadyExists, .deviceNameTaken,
                "another device is called \"\(TextWidth.displaySafe(newName))\" already",
                hint: "coffret device ls lists them")
        }
        if newName != before {
            if let account {
                try account.rename(target.id, to: newName)
            } else {
                try Account.renameLocally(target.id, to: newName, in: desk.store)
            }
        }
        var answer = Answer()
        (answer.id, answer.name, answer.formerName) = (target.id.hex, newName, before)
        return answer
    }
}

// MARK: Vaults

extension VaultSyncBegin: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> VaultSyncResult {
        var record = try desk.record(vault)
        let sync = desk.sync(try desk.account())
        let account = sync.account
        defer { account.connection.logOut() }
        try desk.follow(account)
        try account.makeZone(for: record)
        if record.kind != .synced {
            let id = record.vaultID
            try desk.store.setKind(of: id, .synced)
            record = try desk.store.vaultRecord(id.hex)
        }
        // Keys before content, and again when this is repeated: an attempt that broke off is made whole.
        try account.sendKeys()
        let progress = desk.progress(of: record)
        let report: SyncReport
        do {
            var options = SyncOptions()
            // A new device begins with it.
            options.writesCheckpoint = try desk.vault(record).stateVersion != nil
            report = try sync.sync(record, options, progress: progress.changes)
        } catch {
            try desk.work.checkCancelled()
            throw error
        }
        sync.note(record, nil)
        return try VaultSyncResult(report, of: record, desk)
    }
}

extension VaultSyncEnd: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let record = try desk.record(vault)
        guard record.kind == .synced else { throw CommandFailure.notSynced(record.name) }
        let id = record.vaultID
        var answer = Answer()
        (answer.name, answer.id) = (record.name, id.hex)
        if isTrial == true { return answer }
        if deletesFromServer == true {
            let account = try desk.account()
            defer { account.connection.logOut() }
            // The server first: if this breaks off, the vault is still synced, and it can be repeated.
            try account.deleteZone(of: record)
            try desk.store.forgetZone(of: record)
            answer.isDeletedFromServer = true
        }
        try desk.store.setKind(of: id, .local)
        return answer
    }
}

// MARK: Settings

extension SettingsRead: PerformedOperation {
    package func perform(on desk: StoreDesk) -> SettingsMessage { SettingsMessage(desk.deviceRecords) }
}

extension SettingsEdit: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> SettingsMessage {
        let records = desk.deviceRecords
        if let syncs { try records.setOff(!syncs) }
        if let opensWhenAsked { try records.setOpensWhenAsked(opensWhenAsked) }
        if let look { try records.setLook(look.rawValue) }
        return SettingsMessage(records)
    }
}

extension SettingsMessage {
    fileprivate init(_ records: SyncRecords) {
        self.init()
        (syncs, opensWhenAsked) = (!records.isOff, records.opensWhenAsked)
        look = records.look.flatMap(Look.init)
    }
}
