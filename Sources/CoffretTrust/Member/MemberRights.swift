// Who may do what in a vault, as its links say. The one thing to keep true: nothing of it rests on what is sealed, so a
// server that holds no key comes to the same answer as every device.

package import CoffretBase

/// An account of a vault, at some link.
package struct Member: Equatable, Sendable {
    package let role: MemberRole
    package let hasAccepted: Bool
    /// The link that added the account; an acceptance names its hash.
    package let addedAt: Int
    /// The link from which on the account is an owner without interruption; nil: it is none.
    package let ownerSince: Int?

    package var writes: Bool { role.writes && hasAccepted }
    /// Whether it may do what owners may.
    package var owns: Bool { role == .owner && hasAccepted }
}

/// What a verified link does to rights, heads and epochs.
///
/// Only `VerifiedMemberRights` makes one of bytes; the initialiser is for the tests of rules, which replay worlds without
/// signatures.
package struct MemberEffect: Equatable, Sendable {
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
    /// What it does in a circle.
    package let circle: CircleOperation?

    package init(
        number: Int, hash: Bytes32, accountID: ChainID, deviceID: UniqueID, roleChanges: [ChainID: MemberRole?],
        accepts: Set<ChainID>, confirms: Set<ChainID>, heads: [ChainID: Bytes32], opensEpoch: Bool,
        keyCommitment: Bytes32?, splitKeyCommitment: Bytes32?, endsReading: Bool,
        circle: CircleOperation? = nil
    ) {
        self.number = number
        self.hash = hash
        self.accountID = accountID
        self.deviceID = deviceID
        self.roleChanges = roleChanges
        self.accepts = accepts
        self.confirms = confirms
        self.heads = heads
        self.opensEpoch = opensEpoch
        self.keyCommitment = keyCommitment
        self.splitKeyCommitment = splitKeyCommitment
        self.endsReading = endsReading
        self.circle = circle
    }
}

extension MemberEffect {
    /// Whether its account leaves by it, or declines. Who takes himself out as an owner does opens an epoch.
    package var leaves: Bool { !opensEpoch && roleChanges[accountID] == .some(nil) }

    /// Whether who reads no sealed part has to take it for a plain checkpoint (C3).
    package var looksPlain: Bool {
        number > 0 && roleChanges.isEmpty && accepts.isEmpty && confirms.isEmpty && !opensEpoch && !endsReading
            && circle == nil
    }
}

/// What the chain says of rights after one link.
package struct MemberRights: Equatable, Sendable {
    package private(set) var members: [ChainID: Member] = [:]
    /// The newest link of each account's device chain that the chain stated, by hash.
    package private(set) var heads: [ChainID: Bytes32] = [:]
    /// The heads that the newest epoch link knew of (K3).
    package private(set) var headsAtEpoch: [ChainID: Bytes32] = [:]
    package private(set) var epoch: UInt32 = 1
    /// The oldest epoch that an entry stating this link may have (S5): the first one that was opened by the newest link
    /// that ended somebody's reading, or behind it.
    package private(set) var oldestEpoch: UInt32 = 1
    package private(set) var splitKeyCommitment: Bytes32?

    package init() {}

    /// Whether an entry or a push that states this link may have the epoch (S5).
    package func isOpen(_ epoch: UInt32) -> Bool { oldestEpoch <= epoch && epoch <= self.epoch }

    /// - Complexity: the number of accounts that change.
    package mutating func fold(_ effect: MemberEffect) {
        for (account, role) in effect.roleChanges {
            let old = members[account]
            members[account] = role.map { role in
                Member(
                    role: role, hasAccepted: old?.hasAccepted ?? false, addedAt: old?.addedAt ?? effect.number,
                    ownerSince: role == .owner ? old?.ownerSince ?? effect.number : nil)
            }
        }
        for account in effect.accepts {
            guard let member = members[account] else { continue }
            members[account] = Member(
                role: member.role, hasAccepted: true, addedAt: member.addedAt, ownerSince: member.ownerSince)
        }
        for (account, head) in effect.heads { heads[account] = head }
        for account in members.keys where headsAtEpoch[account] == nil { headsAtEpoch[account] = heads[account] }
        if let commitment = effect.splitKeyCommitment { splitKeyCommitment = commitment }
        if effect.number == 0 {
            headsAtEpoch = heads
            return
        }
        if effect.opensEpoch {
            epoch += 1
            headsAtEpoch = heads.filter { members[$0.key] != nil }
        }
        // Without an epoch of its own no open one serves any more.
        if effect.endsReading { oldestEpoch = effect.opensEpoch ? epoch : epoch + 1 }
    }
}
