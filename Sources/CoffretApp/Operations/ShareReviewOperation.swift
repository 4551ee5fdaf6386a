// A person decides: about links of a revoked device, and about what another device deleted for good. Invariant: nothing counts,
// and nothing goes, that the person was not shown.

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

extension ShareReview: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let record = try desk.sharedRecord(vault)
        let review = try MemberReview(record, desk, person)
        var answer = Answer()
        (answer.vault, answer.links, answer.items) = (record.name, review.messages, try review.items())
        answer.purges = try review.purges()
        answer.isForThisDevice = review.isUnspoken
        guard let decision else { return answer }
        guard linkCount == nil || linkCount == answer.links.count else {
            throw OperationError(.requestInvalid, at: "linkCount")
        }
        guard purgeCount == nil || purgeCount == answer.purges.count else {
            throw OperationError(.requestInvalid, at: "purgeCount")
        }
        if decision == .keep || decision == .forget {
            guard !answer.purges.isEmpty else { return answer }
            try desk.surroundings.requirePassphrase("decide about what another device deleted for good")
            try desk.settle(answer.purges.map(\.number), in: record, forgets: decision == .forget)
            answer.isDecided = true
            return answer
        }
        guard !answer.links.isEmpty else { return answer }
        if review.isUnspoken, decision == .undo { throw review.cannotUndo }
        try desk.surroundings.requirePassphrase("decide about links of a revoked device")
        if review.isUnspoken {
            try desk.writing(record) { vault in try vault.repository.takeUnspoken(Set(review.numbers)) }
            answer.isDecided = true
            return answer
        }
        let before = WorkBefore([record], on: desk)
        let sync = desk.sync(try desk.account())
        defer { sync.account.connection.logOut() }
        try desk.follow(sync.account)
        let change = try review.change(decision)
        _ = try desk.change(record, sync, to: change) { options in
            options.shown = ShownLinks(undoneFrom: decision == .undo ? review.numbers.first : nil)
        }
        answer.isDecided = true
        let silenced = change.silenced
        if !silenced.isEmpty { answer.unseen = try before.unseen(on: desk) { silenced.contains($0.accountID) } }
        return answer
    }
}

extension MemberChange {
    /// Those who write no more behind it.
    fileprivate var silenced: Set<ChainID> {
        guard case .changeRoles(let changes, confirming: _) = self else { return [] }
        return Set(changes.filter { $0.role?.writes != true }.map(\.accountID))
    }
}

extension StoreDesk {
    /// P3: refuses what others deleted for good, or lets it go at once.
    fileprivate func settle(_ links: [Int], in record: VaultRecord, forgets: Bool) throws {
        try writing(record) { vault in
            let repository = vault.repository
            for link in links {
                guard forgets else {
                    try repository.refusePurge(of: link)
                    continue
                }
                let unacknowledged = try ServedLogs(LogMemory(of: repository), in: repository)
                    .unacknowledged(in: repository)
                let makesRoom = LogCollector.requested(in: repository) == nil
                try vault.agreeToPurge(of: link, unacknowledged: unacknowledged, makesRoom: makesRoom)
            }
        }
    }
}

/// Links of a vault that wait for a word of one account, or of this device's person.
private struct MemberReview {
    let members: VaultMembers
    /// For whom it is spoken.
    let account: ChainID
    let numbers: [Int]
    /// The decision holds on this device alone, since nobody can say it for all any more (K8a).
    let isUnspoken: Bool
    private let desk: StoreDesk
    private let resting: [RestsOnExcluded]

    init(_ record: VaultRecord, _ desk: StoreDesk, _ person: String?) throws {
        self.desk = desk
        let members = try VaultMembers(record, desk.store, desk.personNames())
        self.members = members
        // Also for who is no member any more.
        let account = try person.map { try members.account($0, among: members.everybody) } ?? members.own
        self.account = account
        let vault = try desk.store.openVault(record.vaultID.hex, isWritable: false)
        defer { vault.close() }
        let own = members.own
        let (view, resting) = try vault.repository.ask { (machine) throws(StorageError) in
            (machine.members, try machine.restsOnExcluded())
        }
        self.resting = resting
        let waiting = view.unconfirmedLinks(spokenForBy: own, and: account == own ? [] : [account])
            .filter { view.chain.links[$0].accountID == account }
        let unspoken = view.unspokenLinks.filter { person == nil || view.chain.links[$0].accountID == account }
        isUnspoken = waiting.isEmpty && !unspoken.isEmpty && unspoken.first == view.waitingForWord
        numbers = isUnspoken ? unspoken : waiting
    }

    var cannotUndo: CommandFailure {
        CommandFailure(
            .permission, code: MemberError.Code.notPermitted.rawValue,
            "nobody can take these links back for all: who could is no member any more; nothing was changed",
            hint: "if they are a thief's: coffret share restart VAULT founds the vault anew, with whom you want")
    }

    var messages: [WaitingLinkMessage] {
        guard let state = members.chains.members?.state else { return [] }
        return (isUnspoken ? numbers : undone.numbers).map { number in
            let link = state.links[number]
            var message = WaitingLinkMessage()
            message.number = number
            message.account = link.accountID.hex
            message.device = name(of: link)
            message.time = link.details.map { WireMoment($0.time) }
            message.words = words(link, before: state.states[number - 1])
            return message
        }
    }

    /// The links, and all that rests on them.
    private var undone: UndoneLinks {
        members.chains.members?.state.undoing(numbers) ?? UndoneLinks(numbers: [], changes: [])
    }

    private func words(_ link: VerifiedMemberLink, before: LinkState) -> String {
        link.roleChanges.sorted { $0.key.hex < $1.key.hex }.map { account, role in
            let who = members.words(for: account)
            guard let role else { return "removes \(who)" }
            let right = ShareRole(role).rawValue
            return before.members[account] == nil ? "adds \(who) as \(right)" : "makes \(who) a \(right)"
        }.joined(separator: ", ")
    }

    func items() throws -> [RescueMessage] { try messages(Set(resting.map(\.key.entity))) }

    /// Items that others deleted for good and this device still has (P3).
    func purges() throws -> [WaitingPurgeMessage] {
        let repository = try desk.vault(members.record).repository
        return try repository.waitingPurges(now: desk.store.environment.clock.now).map { link, remaining in
            var message = WaitingPurgeMessage()
            (message.number, message.account, message.device) = (link.number, link.accountID.hex, name(of: link))
            message.time = link.details.map { WireMoment($0.time) }
            message.dayCount = Int((max(remaining, 1) + Self.day - 1) / Self.day)
            // Their files are entities of their own.
            message.items = try messages(Set((link.checkpoint?.purges ?? []).filter { ItemKind($0) != nil }))
            return message
        }
    }

    private static let day: Milliseconds = 86_400_000

    private func name(of link: VerifiedMemberLink) -> String {
        link.accountID == members.own
            ? desk.deviceName(link.deviceID.bytes)
            : "\(link.deviceID.hex.prefix(8)) of \(members.words(for: link.accountID))"
    }

    private func messages(_ entities: Set<EntityID>) throws -> [RescueMessage] {
        let vault = try desk.vault(members.record)
        return try entities.sorted(by: { $0.uuid.hex < $1.uuid.hex }).map { entity in
            var message = RescueMessage()
            (message.vault, message.id) = (members.record.name, entity.uuid.hex)
            message.title = try vault.lastTitle(of: entity)
            return message
        }
    }

    /// One link that takes them, or takes and undoes them.
    func change(_ decision: ShareReview.Decision) throws -> MemberChange {
        let changes = decision == .undo ? undone.changes : []
        return changes.isEmpty ? .confirm([account]) : .changeRoles(changes, confirming: [account])
    }
}
