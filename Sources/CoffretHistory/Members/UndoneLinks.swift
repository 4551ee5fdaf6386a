// What a person undoes who does not stand by links of a lost device (K8). The one thing to keep true: with a right goes all
// that was given by it, so that nobody stays whom a thief's owner let in.

package import CoffretTrust

/// The links that rest on some links of one account, and the changes that take them back.
package struct UndoneLinks: Equatable, Sendable {
    /// Ascending; the links themselves, and those by accounts that are owners by nothing else.
    package let numbers: [Int]
    /// Ascending by account: what one link has to change now. A member that was removed is added anew by hand, since he has
    /// to accept.
    package let changes: [MemberOperation.RoleChange]

    package init(numbers: [Int], changes: [MemberOperation.RoleChange]) {
        (self.numbers, self.changes) = (numbers, changes)
    }
}

extension MemberState {
    /// - Parameter numbers: ascending, of links from 1 on.
    package func undoing(_ numbers: [Int]) -> UndoneLinks {
        guard let first = numbers.first, let now = states.last?.members else {
            return UndoneLinks(numbers: [], changes: [])
        }
        let (asked, before) = (Set(numbers), states[first - 1].members)
        var (resting, undone, touched) = ([Int](), Set<ChainID>(), Set<ChainID>())
        for link in links[first...] {
            let isUndone = asked.contains(link.number) || undone.contains(link.accountID)
            if isUndone { resting.append(link.number) }
            for (account, role) in link.roleChanges {
                if isUndone {
                    touched.insert(account)
                    if role == .owner, before[account]?.role != .owner { undone.insert(account) }
                } else if account != link.accountID {
                    // An owner who is not in question gave him his right anew.
                    undone.remove(account)
                    touched.remove(account)
                }
            }
        }
        let changes = touched.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.compactMap { account in
            now[account].flatMap { member -> MemberOperation.RoleChange? in
                member.role == before[account]?.role ? nil : MemberOperation.RoleChange(account, before[account]?.role)
            }
        }
        return UndoneLinks(numbers: resting, changes: changes)
    }
}
