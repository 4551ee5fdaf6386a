// What a member chain says, folded over its verified links. The one thing to keep true: the state at every link stays
// there, since entries state the link that they were written at.

package import CoffretBase
package import CoffretTrust

/// What the chain says after one link.
package struct LinkState: Equatable, Sendable {
    package internal(set) var rights = MemberRights()
    /// Logs that links ended (K6), oldest link first. An end says nothing to whom its two entries are not known.
    package internal(set) var ended: [InstanceID: [EndedLog]] = [:]
    /// What counts of each log by the newest checkpoint up to here.
    package internal(set) var accepted = Frontier()
    /// The greatest time that the chain stated up to here (G3).
    package internal(set) var time: Milliseconds = .min

    package var members: [ChainID: Member] { rights.members }
    package var heads: [ChainID: Bytes32] { rights.heads }
    package var headsAtEpoch: [ChainID: Bytes32] { rights.headsAtEpoch }
    package var epoch: UInt32 { rights.epoch }
    package var oldestEpoch: UInt32 { rights.oldestEpoch }
    package var splitKeyCommitment: Bytes32? { rights.splitKeyCommitment }
}

package struct EndedLog: Equatable, Sendable {
    package let link: Int
    package let end: LogEnd
}

/// A link that passed all of its checks, with what its sealed part says.
package struct VerifiedMemberLink: Equatable, Sendable {
    package let effect: MemberEffect
    package let checkpoint: Checkpoint?
    package let details: MemberDetails?

    package var number: Int { effect.number }
    package var hash: Bytes32 { effect.hash }
    package var accountID: ChainID { effect.accountID }
    package var deviceID: UniqueID { effect.deviceID }
    package var roleChanges: [ChainID: MemberRole?] { effect.roleChanges }
    package var accepts: Set<ChainID> { effect.accepts }
    package var confirms: Set<ChainID> { effect.confirms }
    package var heads: [ChainID: Bytes32] { effect.heads }
    package var opensEpoch: Bool { effect.opensEpoch }
    package var keyCommitment: Bytes32? { effect.keyCommitment }
    package var endsReading: Bool { effect.endsReading }

    package init(_ effect: MemberEffect, checkpoint: Checkpoint? = nil, details: MemberDetails? = nil) {
        self.effect = effect
        self.checkpoint = checkpoint
        self.details = details
    }

    /// Whether it needs confirmation if its signer's device is trusted no more (K7). Who leaves takes nobody else's right.
    package var changesRights: Bool { number > 0 && !roleChanges.isEmpty && !effect.leaves }

    /// Whether logs may be closed or ended by it (K1, K6), at what is accepted then.
    var mayShut: Bool {
        endsReading || checkpoint?.ends.isEmpty == false || roleChanges.values.contains { $0?.writes != true }
    }

    /// The same link with another checkpoint, for its author's plans.
    func with(_ checkpoint: Checkpoint) -> VerifiedMemberLink {
        VerifiedMemberLink(effect, checkpoint: checkpoint, details: details)
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
        after.rights.fold(link.effect)
        for (account, role) in link.roleChanges where before.members[account]?.writes == true && role?.writes != true {
            roleLosses[account, default: []].append(link.number)
        }
        for (account, head) in link.heads where before.heads[account] != head {
            headChanges[account, default: []].append(link.number)
        }
        foldCheckpoint(of: link, into: &after)
        after.time = max(before.time, link.details?.time ?? .min)
        links.append(link)
        states.append(after)
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

    /// How many epochs this device opened since the last link of another one.
    package func epochRow(of device: MemberDevice) -> Int {
        links.lazy.map(\.effect).epochRow(of: device.device, in: device.account)
    }

    /// Whether a checkpoint's base is one: an earlier link whose checkpoint has a root, or none.
    func isBase(_ base: UInt32?) -> Bool {
        guard let base else { return true }
        return Int(base) < links.count && links[Int(base)].checkpoint?.root != nil
    }
}
