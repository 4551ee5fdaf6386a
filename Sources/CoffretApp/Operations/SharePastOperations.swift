// Deeds of a vault's people, and the values that they have seen. Invariant: it comes from verified links and entries, and names are those
// that this person knows.

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

// MARK: Seen

extension ShareSeen: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let record = try desk.record(vault)
        let members = try VaultMembers(record, desk.store, desk.personNames())
        let account = try members.account(person, among: members.everybody)
        guard account != members.own else {
            throw CommandFailure(.usage, .inputInvalid, "that is you, and all of it is here: coffret ls")
        }
        let reading = try MemberReading(of: account, members)
        var answer = Answer()
        (answer.vault, answer.person, answer.isMember) = (
            record.name, members.message(for: account), reading.end == nil
        )
        answer.endedAt = reading.endedAt.map { WireMoment($0) }
        answer.values = try reading.values(in: desk.vault(record)).map(SeenValue.init)
        return answer
    }
}

/// The time in which an account could read a vault.
struct MemberReading {
    private let account: ChainID
    /// The entries up to which it read; nil: it does still.
    let end: Frontier?
    let endedAt: Milliseconds?

    init(of account: ChainID, _ members: VaultMembers) throws {
        self.account = account
        guard members.rights.rights.members[account] == nil, let state = members.chains.members?.state,
            let last = state.links.lastIndex(where: { link in link.roleChanges[account].map { $0 == nil } ?? false })
        else {
            (end, endedAt) = (nil, nil)
            return
        }
        // A leaving member writes no checkpoint: then the next one bounds the values of that time.
        let bound = state.links.indices.dropFirst(last).first { state.links[$0].checkpoint != nil }
        end = bound.map { state.states[$0].accepted } ?? state.states[state.count - 1].accepted
        endedAt = state.links[last].details?.time
    }

    func values(in vault: Vault) throws -> [ReadValue] {
        try vault.valuesRead(upTo: end) { $0.context.accountID == account }
    }

    /// Items with secrets that it has seen.
    func secretItemCount(in vault: Vault) throws -> Int {
        Set(try values(in: vault).filter { $0.kind == .secret }.map(\.item)).count
    }
}

extension SeenValue {
    init(_ value: ReadValue) {
        self.init()
        (item, title, field) = (value.item.uuid.hex, value.title, value.label)
        kind =
            switch value.kind {
            case .secret: .secret
            case .text: .text
            case .file: .file
            }
        (hadForSure, isChangedSince, isGone) = (value.isKnownForSure, value.isChangedSince, value.isGone)
    }
}

// MARK: Activity

extension ShareActivity: PerformedOperation {
    private static let usualLimit = 1_000

    package func perform(on desk: StoreDesk) throws -> Answer {
        let record = try desk.record(vault)
        let members = try VaultMembers(record, desk.store, desk.personNames())
        let account = try person.map { wanted in
            wanted == "you" ? members.own : try members.account(wanted, among: members.everybody)
        }
        let limit = max(0, limit ?? Self.usualLimit)
        var entries = try changes(of: desk.vault(record), by: account, limit, members, desk)
        for link in members.chains.members?.state.links.dropFirst() ?? []
        where account.map({ $0 == link.accountID }) ?? true {
            guard let words = members.words(for: link) else { continue }
            var message = message(of: link.accountID, link.deviceID.bytes, members, desk)
            (message.time, message.link, message.summary) = (
                link.details.map { WireMoment($0.time) }, link.number, words
            )
            entries.append(message)
        }
        var answer = Answer()
        answer.vault = record.name
        answer.entries = Array(
            entries.enumerated().sorted { left, right in
                let (a, b) = (left.element.time?.milliseconds ?? 0, right.element.time?.milliseconds ?? 0)
                return a != b ? a > b : left.offset < right.offset
            }.map(\.element).prefix(limit))
        return answer
    }

    private func changes(
        of vault: Vault, by account: ChainID?, _ limit: Int, _ members: VaultMembers, _ desk: StoreDesk
    ) throws -> [ActivityMessage] {
        let present = try vault.present
        return try vault.log(limit: limit, by: account?.bytes).map { entry in
            try desk.work.checkCancelled()
            let author = ChainID(entry.account) ?? members.own
            var message = message(of: author, entry.device, members, desk)
            (message.time, message.version) = (WireMoment(entry.time), entry.commit.description)
            message.items = entry.items.map(\.uuid.hex)
            message.summary = try LogRead.summary(of: entry, present, vault)
            return message
        }
    }

    private func message(
        of account: ChainID, _ device: [UInt8], _ members: VaultMembers, _ desk: StoreDesk
    ) -> ActivityMessage {
        var message = ActivityMessage()
        (message.account, message.person) = (account.hex, members.plainName(of: account))
        message.device = account == members.own ? desk.deviceName(device) : Hex.encode(device.prefix(4))
        return message
    }
}

extension VaultMembers {
    /// The name as it is; `you`; the beginning of the id where no name is known.
    func plainName(of account: ChainID) -> String {
        if account == own { return "you" }
        return name(of: account) ?? String(account.hex.prefix(8))
    }

    /// A change of members in words; nil for a link that changes none.
    func words(for link: VerifiedMemberLink) -> String? {
        guard let state = chains.members?.state, link.number > 0 else { return nil }
        let before = state.states[link.number - 1].members
        var words = link.roleChanges.sorted { $0.key.hex < $1.key.hex }.map { account, role -> String in
            let who = self.words(for: account)
            guard let role else {
                if account == link.accountID { return before[account]?.hasAccepted == true ? "left" : "declined" }
                return "removed \(who)"
            }
            let right = ShareRole(role).rawValue
            return before[account] == nil
                ? "added \(who) as \(right)" : "made \(who) \(right == "owner" ? "an" : "a") \(right)"
        }
        if link.accepts.contains(link.accountID) { words.append("accepted") }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }
}
