// What a person wants of a vault's members. The one thing to keep true: one wish is one link, so that nothing of it is seen
// before all of it.

package import CoffretTrust

/// A change of a vault's members, for the next sync to write.
package enum MemberChange: Equatable, Sendable {
    /// Somebody who may read from then on, and what this device's person calls him, for the other members.
    case add(StatedHead, MemberRole, name: String?)
    /// The own account says yes to having been added.
    case accept
    /// The own account goes, or says no.
    case leave
    /// New roles; without one an account is removed. Accounts of which links are confirmed in the same link (K8).
    case changeRoles([MemberOperation.RoleChange], confirming: [ChainID])
    /// Links of these accounts that a device signed which is not trusted any more (K8).
    case confirm([ChainID])
    /// A new epoch that no rule asks for: its history object has the keys of before.
    case renewKey

    /// Whether somebody reads no more from then on.
    package var endsReading: Bool {
        if case .changeRoles(let changes, _) = self { changes.contains { $0.role == nil } } else { false }
    }

    /// Whether somebody writes no more from then on, so that the link says up to where his words count.
    package var closes: Bool {
        if case .changeRoles(let changes, _) = self { changes.contains { $0.role?.writes != true } } else { false }
    }

    var opensEpoch: Bool { endsReading || self == .renewKey }

    package var confirms: [ChainID] {
        switch self {
        case .changeRoles(_, let accounts), .confirm(let accounts): accounts.sortedByBytes
        case .add, .accept, .leave, .renewKey: []
        }
    }

    /// Whether it is a link of its own, which has no room for closings and epochs.
    package var standsAlone: Bool {
        switch self {
        case .add, .accept, .leave: true
        case .changeRoles, .confirm, .renewKey: false
        }
    }
}

extension Sequence<ChainID> {
    package var sortedByBytes: [ChainID] { sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) } }
}
