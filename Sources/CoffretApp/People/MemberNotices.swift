// News of the people of a vault, as its chains have them. The one thing to keep true: they rest on links that were verified and taken, and
// the person's own acts are none.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
package import CoffretKeys
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

/// Changes of a vault's people by its links.
package struct MemberNotices {
    /// So many links were taken; the next look begins behind them.
    package let linkCount: Int
    package private(set) var notices: [PeopleNotice] = []
    /// Of each member whose account was recovered since it came.
    package private(set) var recoveries: [PeopleNotice] = []

    /// More changes at once are told as a number.
    private static let shownCountMax = 3

    fileprivate init(_ members: VaultMembers, takenCount: Int, behind told: Int) {
        linkCount = takenCount
        guard let state = members.chains.members?.state, takenCount <= state.count else { return }
        let vault = TextWidth.displaySafe(members.record.name)
        var changes: [String] = []
        for number in max(1, told)..<max(1, told, takenCount) {
            let (link, before) = (state.links[number], state.states[number - 1].members)
            guard link.accountID != members.own else { continue }
            let signer = members.words(for: link.accountID)
            for (account, role) in link.roleChanges.sorted(by: { $0.key.hex < $1.key.hex }) {
                let who = members.words(for: account)
                switch (before[account], role) {
                // A vault that waits is told as that.
                case (nil, _) where account == members.own: break
                case (nil, let role?):
                    changes.append("\(signer) added \(who) to the vault \"\(vault)\": \(ShareRole(role).rawValue)")
                case (let member, nil) where account == link.accountID:
                    changes.append("\(who) \(member?.hasAccepted == true ? "left" : "declined") the vault \"\(vault)\"")
                case (_, nil): changes.append("\(signer) removed \(who) from the vault \"\(vault)\"")
                case (_, let role?):
                    changes.append(
                        "\(signer) changed the role of \(who) in the vault \"\(vault)\": \(ShareRole(role).rawValue)")
                }
            }
            // The one who let somebody in waits for that.
            for account in link.accepts
            where state.links[..<number].last(where: { $0.roleChanges[account] != nil })?.accountID == members.own {
                changes.append("\(members.words(for: account)) accepted the vault \"\(vault)\"")
            }
        }
        let id = members.record.vaultID
        if changes.count > Self.shownCountMax {
            changes = [
                "\(changes.count) changes of the people of the vault \"\(vault)\": coffret share members \(id.hex.prefix(8))"
            ]
        }
        notices = changes.map { PeopleNotice(.members, id.bytes, $0) }
        recoveries = Self.recoveries(members, state, takenCount)
    }

    /// A recovery behind the head with which a member came in: whoever holds the sheet, or the shares, holds the account.
    private static func recoveries(_ members: VaultMembers, _ state: MemberState, _ takenCount: Int) -> [PeopleNotice] {
        var notices: [PeopleNotice] = []
        for (account, member) in state.states[max(0, takenCount - 1)].members.sorted(by: { $0.key.hex < $1.key.hex }) {
            guard account != members.own, let followed = members.chains.accounts[account],
                let head = state.states[Int(member.addedAt)].heads[account],
                let start = followed.devices.position(of: head)
            else { continue }
            for link in followed.chain.links {
                guard case .recover? = try? DeviceOperation(decoding: link.link), let hash = Bytes32(link.hash),
                    let place = followed.devices.position(of: hash), place > start
                else { continue }
                let name = members.names[account].map { "contact verify \(TextWidth.displaySafe($0))" }
                notices.append(
                    PeopleNotice(
                        .recovery, link.hash, isLoud: true,
                        "the account of \(members.words(for: account)), in the vault \"\(TextWidth.displaySafe(members.record.name))\", was "
                            + "recovered: somebody else may hold it. Speak with that person, and then: coffret "
                            + (name ?? "share members \(members.record.vaultID.hex.prefix(8))")))
            }
        }
        return notices
    }
}

extension AccountSync {
    /// Changes of the people of a vault, and recoveries among them.
    ///
    /// - Parameter told: the person knows what so many links did; nil: nothing of before is news.
    package func memberNotices(of record: VaultRecord, behind told: Int?) throws -> MemberNotices {
        let members = try VaultMembers(record, store, desk.personNames())
        let vault = try store.openVault(record.vaultID.hex, isWritable: false)
        defer { vault.close() }
        let takenCount = try vault.repository.ask { (machine) in machine.members.takenCount }
        return MemberNotices(members, takenCount: takenCount, behind: told ?? takenCount)
    }
}
