// Operations on the members of vaults. Invariant: each change is one link, written by a sync that has seen everything before it,
// and nothing is told as done before the server has it.

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

extension StoreDesk {
    /// Syncs a vault with a change of its members.
    ///
    /// - Parameter prepare: fills in the rest.
    /// - Throws: `SyncError`, a `MemberError` below it; nothing was changed then.
    func change(
        _ record: VaultRecord, _ sync: AccountSync, to change: MemberChange,
        _ prepare: (inout SyncOptions) -> Void = { _ in }
    ) throws -> SyncReport {
        var options = SyncOptions()
        (options.change, options.hurries) = (change, true)
        options.acknowledgesAnew = true
        prepare(&options)
        let progress = progress(of: record)
        do {
            let report = try sync.sync(record, options, progress: progress.changes, fileProgress: progress.files)
            sync.note(record, nil)
            return report
        } catch {
            sync.note(record, error)
            throw error
        }
    }

    /// A vault that several people may have: it is on the server.
    func sharedRecord(_ vault: String) throws -> VaultRecord {
        let record = try record(vault)
        guard record.kind == .synced else { throw CommandFailure.notSynced(record.name) }
        return record
    }
}

// MARK: Lists

extension ShareList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        let names = try desk.personNames()
        if let vault {
            answer.vaults = [try SharedVault(VaultMembers(desk.record(vault), desk.store, names), desk)]
            return answer
        }
        for record in try desk.vaultRecords where record.kind == .synced {
            guard let members = try? VaultMembers(record, desk.store, names), members.isShared else { continue }
            answer.vaults.append(try SharedVault(members, desk))
        }
        return answer
    }
}

extension ShareRequests: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let sync = desk.sync(try desk.account())
        defer { sync.account.connection.logOut() }
        try desk.follow(sync.account)
        // Without one nobody can seal anything to this account.
        try sync.people.ownIdentity()
        if try !desk.store.accountVaults.isEmpty { try ContactDesk(desk: desk, sync: sync).send() }
        let names = try desk.personNames()
        var answer = Answer()
        for intake in try desk.waitingVaults(sync) {
            guard includesStrangers == true || names[intake.adder] != nil else { continue }
            answer.vaults.append(WaitingVault(intake, names))
        }
        return answer
    }
}

extension StoreDesk {
    /// Vaults into which somebody added the account, and that it has not accepted.
    fileprivate func waitingVaults(_ sync: AccountSync) throws -> [VaultIntake] {
        var found: [VaultIntake] = []
        for entry in try sync.account.connection.memberships()
        where entry.state == 1 && entry.epoch > 0 {
            guard let id = VaultID(entry.zone), let intake = try sync.intake(of: id), !intake.own.hasAccepted else {
                continue
            }
            found.append(intake)
        }
        return found
    }

    fileprivate func waitingVault(_ wanted: String, _ sync: AccountSync) throws -> VaultIntake {
        let sought = wanted.lowercased()
        let found = try waitingVaults(sync).filter { intake in
            intake.vaultID.hex.hasPrefix(sought) && sought.utf8.count >= 4 || intake.name?.lowercased() == sought
        }
        guard let first = found.first else {
            throw CommandFailure(
                .notFound, code: SyncError.Code.memberUnknown.rawValue,
                "nobody added you to a vault \"\(TextWidth.displaySafe(wanted))\" that waits for your word",
                hint: "coffret share requests lists those that wait")
        }
        guard found.count == 1 else {
            throw CommandFailure(
                .ambiguous, .deviceAmbiguous, "\(found.count) vaults that wait are called so",
                details: found.map { String($0.vaultID.hex.prefix(8)) }, hint: "use the id")
        }
        return first
    }
}

extension WaitingVault {
    init(_ intake: VaultIntake, _ names: PersonNames) {
        self.init()
        (id, name, role) = (intake.vaultID.hex, intake.name, ShareRole(intake.own.role))
        (from, fromName) = (intake.adder.hex, names[intake.adder])
        memberCount = intake.rights.rights.members.count
        problem = intake.obstacle.map(FailureCode.of)
    }
}

// MARK: Adding

extension ShareAdd: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let record = try desk.record(vault)
        let sync = desk.sync(try desk.account())
        defer { sync.account.connection.logOut() }
        try desk.follow(sync.account)
        let found = try desk.findPerson(person, sync)
        try desk.checkRequirement(of: record, found)
        var answer = Answer()
        answer.vault = record.name
        answer.person = found.message(role: role)
        answer.itemCount = try desk.vault(record).page(.everything, limit: 0).totalCount
        if let members = try? VaultMembers(record, desk.store, PersonNames()) {
            guard members.rights.rights.members[found.accountID] == nil else {
                throw SyncError(.memberExists, at: found.words)
            }
            try members.checkRoom(for: role.right, isNew: true)
        }
        if isTrial == true { return answer }
        let lockedCount = try desk.vault(record).lockedNotes().count
        if lockedCount > 0 {
            desk.surroundings.person?.warn(
                "\(NumberText.counted(lockedCount, "locked note")) in this vault: who reads it can try to guess the passphrase"
            )
        }
        try desk.surroundings.requirePassphrase("share a vault")
        // The person took his time.
        try sync.account.readAgain()
        try sync.people.ownIdentity()
        let shared = try desk.prepareForSharing(record, sync)
        // Another owner may have asked for more meanwhile.
        try desk.checkRequirement(of: shared, found)
        let report = try desk.add(found, role.right, to: shared, sync)
        (answer.isAdded, answer.hasKey) = (report.changeNumber != nil, report.letterCount > 0)
        answer.problem = answer.hasKey ? nil : sync.people.unsealed[found.accountID]
        return answer
    }
}

extension StoreDesk {
    private static let checkpointAge: Milliseconds = 86_400_000

    /// Puts a vault on the server, with a checkpoint from which a new member begins.
    func prepareForSharing(_ record: VaultRecord, _ sync: AccountSync) throws -> VaultRecord {
        var shared = record
        if record.kind != .synced {
            try sync.account.makeZone(for: record)
            let id = record.vaultID
            try store.setKind(of: id, .synced)
            shared = try store.vaultRecord(id.hex)
            try sync.account.sendKeys()
        }
        let vault = try store.openVault(shared.vaultID.hex, isWritable: false)
        defer { vault.close() }
        let rootTime = try vault.repository.ask { (machine) in
            machine.base.map { machine.members.chain.states[$0].time }
        }
        let (age, overflow) = surroundings.clock.now.subtractingReportingOverflow(rootTime ?? 0)
        let isDue = rootTime == nil || overflow || age > Self.checkpointAge
        var options = SyncOptions()
        options.hurries = true
        options.writesCheckpoint = try isDue && vault.stateVersion != nil
        _ = try sync.sync(shared, options)
        return shared
    }
}

// MARK: Answering

extension ShareAnswer: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let sync = desk.sync(try desk.account())
        defer { sync.account.connection.logOut() }
        try desk.follow(sync.account)
        let intake = try desk.waitingVault(vault, sync)
        var answer = Answer()
        (answer.id, answer.role) = (intake.vaultID.hex, ShareRole(intake.own.role))
        guard isAccepted else {
            try sync.decline(intake)
            return answer
        }
        let record = try desk.join(intake, newName)
        _ = try desk.change(record, sync, to: .accept)
        try sync.account.sendKeys()
        answer.name = record.name
        answer.itemCount = try desk.vault(record).page(.everything, limit: 0).totalCount
        return answer
    }
}

extension StoreDesk {
    /// Takes a vault into the store; one that is there already goes on.
    fileprivate func join(_ intake: VaultIntake, _ wanted: String?) throws -> VaultRecord {
        if let known = try store.vaults.first(where: { $0.vaultID == intake.vaultID }) {
            guard known.kind == .local else { return known }
            // The copy of somebody who left it.
            try store.setKind(of: known.vaultID, .synced)
            return try store.vaultRecord(known.vaultID.hex)
        }
        if let obstacle = intake.obstacle { throw obstacle }
        guard let splitKey = intake.splitKey else { throw SyncError(.keyAwaited) }
        let name = try wanted ?? Self.localName(intake.name, among: store.vaults.map(\.name))
        var chains = intake.chains
        do throws(FollowFailure) { _ = try chains.finish(keys: GivenKeys(keys: intake.keys)) } catch {
            throw SyncError(.chainsRefused, at: "\(error)", cause: error)
        }
        let record = try store.joinVault(chains, named: name, keys: intake.keys, splitKey: splitKey)
        if !intake.word.isEmpty, let server = try store.keyring.server()?.url {
            // The letter told of a state: a server that shows less is found out at once.
            try store.keep(pairingWords: [record.vaultID: intake.word], server: server)
        }
        return record
    }

    /// A name that is free here: own names are local, and another person's vault takes none of them.
    static func localName(_ wanted: String?, among taken: [String]) -> String {
        let plain = wanted.flatMap { (try? Store.checkName($0)) != nil ? $0 : nil } ?? "Shared"
        let used = Set(taken.map { $0.lowercased() })
        guard used.contains(plain.lowercased()) else { return plain }
        var number = 2
        while used.contains("\(plain) \(number)".lowercased()) { number += 1 }
        return "\(plain) \(number)"
    }
}

/// Keys that came in a letter and its history object.
private struct GivenKeys: MemberKeys {
    let keys: [UInt32: VaultKey]

    func vaultKey(ofEpoch epoch: UInt32) -> VaultKey? { keys[epoch] }
}

// MARK: Roles, removing, leaving

extension StoreDesk {
    /// A member of a vault, as this device has verified the list.
    ///
    /// - Throws: `SyncError.memberUnknown` for anybody else.
    package func member(_ person: String, of vault: String) throws -> ShareMember {
        let members = try VaultMembers(sharedRecord(vault), store, personNames())
        return members.message(for: try members.member(person))
    }
}

extension ShareChange: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let record = try desk.sharedRecord(vault)
        let sync = desk.sync(try desk.account())
        defer { sync.account.connection.logOut() }
        let before = WorkBefore([record], on: desk)
        try desk.follow(sync.account)
        let members = try VaultMembers(record, desk.store, desk.personNames())
        let account = try members.member(person)
        guard role != nil || account != members.own else {
            throw CommandFailure(
                .usage, .inputInvalid, "you cannot remove yourself",
                hint: "coffret share leave \(record.vaultID.hex.prefix(8)) leaves the vault")
        }
        var answer = Answer()
        (answer.vault, answer.person) = (record.name, members.message(for: account))
        if let role, answer.person.role == role { throw SyncError(.memberExists, at: role.rawValue) }
        if let role, role.right.rawValue < answer.person.role.right.rawValue {
            // The role would go to the present holder of the account.
            try desk.checkUnchanged(account, in: record, sync)
            try members.checkRoom(for: role.right, isNew: false)
        }
        try desk.surroundings.requirePassphrase(role == nil ? "remove a member" : "change a member's role")
        try sync.account.readAgain()
        let change = MemberOperation.RoleChange(account, role?.right)
        _ = try desk.change(record, sync, to: .changeRoles([change], confirming: []))
        (answer.isRemoved, answer.vaultID) = (role == nil, record.vaultID.hex)
        let after = try VaultMembers(record, desk.store, PersonNames())
        answer.epoch = Int(after.rights.rights.epoch)
        if role?.right != .writer, role?.right != .owner {
            answer.unseen = try before.unseen(on: desk) { $0.accountID == account }
        }
        if answer.isRemoved {
            answer.seenCount = try MemberReading(of: account, after).secretItemCount(in: desk.vault(record))
        }
        return answer
    }
}

extension ShareLeave: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let record = try desk.sharedRecord(vault)
        let sync = desk.sync(try desk.account())
        defer { sync.account.connection.logOut() }
        try desk.follow(sync.account)
        do {
            // The link that leaves accepts nothing: what this account wrote has to count before it.
            var options = SyncOptions()
            (options.hurries, options.writesCheckpoint) = (true, true)
            _ = try sync.sync(record, options)
            _ = try desk.change(record, sync, to: .leave) { $0.acknowledges = false }
        } catch let error as SyncError where error.code == .memberUnknown {
            // Somebody removed the account meanwhile: there is nothing to leave.
        } catch  where SyncTrouble.lacksKey(error) {
            // Without the newest key nothing is sent. The link that leaves says nothing that it would seal.
            guard try VaultSyncer.unsentEntryCount(of: desk.vault(record)) ?? 0 == 0,
                let intake = try sync.intake(of: record.vaultID)
            else { throw error }
            try sync.decline(intake)
        }
        let id = record.vaultID
        // The copy stays: it can be read here, and nobody changes it.
        try desk.store.setKind(of: id, .local)
        var answer = Answer()
        (answer.id, answer.name) = (id.hex, record.name)
        return answer
    }
}
