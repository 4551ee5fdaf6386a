// What a member chain says, folded over its verified links. The one thing to keep true: the state at every link stays
// there, since entries state the link that they were written at.

package import CoffretBase
package import CoffretStorage
package import CoffretTrust

/// An account of a vault, at some link.
package struct Member: Equatable, Sendable {
    package let role: MemberRole
    package let hasAccepted: Bool
    /// The link that added the account; an acceptance names its hash.
    package let addedAt: Int
    /// The link from which on the account is an owner without interruption; nil: it is none.
    package let ownerSince: Int?

    package var writes: Bool { role.writes && hasAccepted }
}

/// What the chain says after one link.
package struct LinkState: Equatable, Sendable {
    package internal(set) var members: [ChainID: Member] = [:]
    /// The newest link of each account's device chain that the chain stated, by hash.
    package internal(set) var heads: [ChainID: Bytes32] = [:]
    /// The heads that the newest epoch link knew of (K3).
    package internal(set) var headsAtEpoch: [ChainID: Bytes32] = [:]
    package internal(set) var epoch: UInt32 = 1
    /// The oldest epoch that an entry stating this link may have (S5): the first one that was opened by the newest link
    /// that ended somebody's reading, or behind it.
    package internal(set) var oldestEpoch: UInt32 = 1
    package internal(set) var splitKeyCommitment: Bytes32?
    /// Logs that links ended (K6), oldest link first. An end says nothing to whom its two entries are not known.
    package internal(set) var ended: [InstanceID: [EndedLog]] = [:]
    /// What counts of each log by the newest checkpoint up to here.
    package internal(set) var accepted = Frontier()
    /// The greatest time that the chain stated up to here (G3).
    package internal(set) var time: Milliseconds = .min
}

package struct EndedLog: Equatable, Sendable {
    package let link: Int
    package let end: LogEnd
}

/// A link that passed all of its checks.
///
/// Only `MemberVerifier` makes one of bytes; the initialiser is internal for the tests of rules, which replay worlds without
/// signatures.
package struct VerifiedMemberLink: Equatable, Sendable {
    package let number: Int
    package let hash: Bytes32
    package let accountID: ChainID
    package let deviceID: UniqueID
    /// Rights that it gives, changes or takes; nil takes all.
    package let roleChanges: [ChainID: MemberRole?]
    package let accepts: Set<ChainID>
    package let confirms: Set<ChainID>
    /// Heads that it states, by the hash of a device link; the signer's among them.
    package let heads: [ChainID: Bytes32]
    package let opensEpoch: Bool
    package let keyCommitment: Bytes32?
    package let splitKeyCommitment: Bytes32?
    /// Whether it ends somebody's reading: it removes a member or lets one leave, or states a head of a member behind a
    /// revocation or a recovery (K3).
    package let endsReading: Bool
    package let checkpoint: Checkpoint?
    package let details: MemberDetails?

    /// Whether it needs confirmation if its signer's device is trusted no more (K7).
    package var changesRights: Bool { number > 0 && !roleChanges.isEmpty }

    /// The same link with another checkpoint, for its author's plans.
    func with(_ checkpoint: Checkpoint) -> VerifiedMemberLink {
        VerifiedMemberLink(
            number: number, hash: hash, accountID: accountID, deviceID: deviceID, roleChanges: roleChanges,
            accepts: accepts, confirms: confirms, heads: heads, opensEpoch: opensEpoch, keyCommitment: keyCommitment,
            splitKeyCommitment: splitKeyCommitment, endsReading: endsReading, checkpoint: checkpoint, details: details)
    }
}

/// All verified links of a member chain, with the state after each.
package struct MemberState: Equatable, Sendable {
    package private(set) var links: [VerifiedMemberLink] = []
    package private(set) var states: [LinkState] = []
    /// For each account the links that stated another head of it.
    private(set) var headChanges: [ChainID: [Int]] = [:]
    /// For each account the links after which it wrote no more.
    private(set) var roleLosses: [ChainID: [Int]] = [:]

    package init() {}

    package var count: Int { links.count }

    /// Folds the next link in. Whether it may stand there was decided by who made it.
    ///
    /// - Complexity: the number of accounts and ended logs that change; what stays the same is shared.
    package mutating func append(_ link: VerifiedMemberLink) {
        precondition(link.number == links.count, "links are folded in their order")
        let before = states.last ?? LinkState()
        var after = before
        for (account, role) in link.roleChanges {
            after.members[account] = role.map { role in
                let old = before.members[account]
                return Member(
                    role: role, hasAccepted: old?.hasAccepted ?? false, addedAt: old?.addedAt ?? link.number,
                    ownerSince: role == .owner ? old?.ownerSince ?? link.number : nil)
            }
            if before.members[account]?.writes == true, role?.writes != true {
                roleLosses[account, default: []].append(link.number)
            }
        }
        for account in link.accepts {
            guard let member = after.members[account] else { continue }
            after.members[account] = Member(
                role: member.role, hasAccepted: true, addedAt: member.addedAt, ownerSince: member.ownerSince)
        }
        for (account, head) in link.heads where after.heads[account] != head {
            after.heads[account] = head
            headChanges[account, default: []].append(link.number)
        }
        for account in after.members.keys where after.headsAtEpoch[account] == nil {
            after.headsAtEpoch[account] = after.heads[account]
        }
        foldEpoch(of: link, into: &after)
        foldCheckpoint(of: link, into: &after)
        after.time = max(before.time, link.details?.time ?? .min)
        links.append(link)
        states.append(after)
    }

    private func foldEpoch(of link: VerifiedMemberLink, into after: inout LinkState) {
        if let commitment = link.splitKeyCommitment { after.splitKeyCommitment = commitment }
        if link.number == 0 {
            after.headsAtEpoch = after.heads
            return
        }
        if link.opensEpoch {
            after.epoch += 1
            after.headsAtEpoch = after.heads.filter { after.members[$0.key] != nil }
        }
        // Without an epoch of its own no open one serves any more.
        if link.endsReading { after.oldestEpoch = link.opensEpoch ? after.epoch : after.epoch + 1 }
    }

    private func foldCheckpoint(of link: VerifiedMemberLink, into after: inout LinkState) {
        guard let checkpoint = link.checkpoint else { return }
        var accepted = checkpoint.base.map { states[Int($0)].accepted } ?? Frontier()
        for (instance, mark) in checkpoint.accepted.marks { accepted[instance] = mark }
        after.accepted = accepted
        for (instance, end) in checkpoint.ends {
            after.ended[instance, default: []].append(EndedLog(link: link.number, end: end))
        }
    }

    /// Whether a checkpoint's base is one: an earlier link whose checkpoint has a root, or none.
    func isBase(_ base: UInt32?) -> Bool {
        guard let base else { return true }
        return Int(base) < links.count && links[Int(base)].checkpoint?.root != nil
    }
}
