// What counts of a circle. The one thing to keep true: no link by a device that its account trusts no more gives anybody a
// share, a request or a release, unless a later word of that account or of the founder stands by it.

internal import CoffretBase
package import CoffretCrypto

/// A circle, by the links that count for the device chains known here.
package struct CircleView: Equatable, Sendable {
    package let circleID: VaultID
    /// The person whose account it brings back.
    package let founder: ChainID
    package let terms: CircleTerms
    /// All accounts of the circle, the founder among them.
    package let members: [ChainID: Member]
    package let state: CircleState
    /// Whether the shares still give a device that the founder's account trusts.
    package let isPaperTrusted: Bool

    package var arming: CircleArming? { state.arming }
    package var requests: [CircleRequest] { state.requests }

    /// Whether an account is a contact that has accepted.
    package func isContact(_ account: ChainID) -> Bool {
        members[account].map { $0.role == .contact && $0.hasAccepted } ?? false
    }
}

extension VerifiedMemberRights {
    /// The circle as it counts; nil: the chain is of a vault.
    ///
    /// A link that lacks confirmation says nothing, and the links behind it count by themselves.
    /// - Parameter accounts: of all members, as far as their chains are known here.
    /// - Complexity: linear in the links.
    package func circle(known accounts: [ChainID: AccountDevices]) -> CircleView? {
        guard var state = foundation.purpose?.terms.map(CircleState.init) else { return nil }
        let counting = countingLinks(accounts)
        var rights = MemberRights()
        for link in links where counting[link.number] {
            guard let operation = link.circle else {
                rights.fold(link)
                continue
            }
            guard state.refusal(of: operation, by: link.accountID, members: rights.members) == nil else { continue }
            state.fold(operation, by: link.accountID, link: link.number)
        }
        let paper = state.arming?.paper
        return CircleView(
            circleID: vaultID, founder: foundation.accountID, terms: state.terms, members: rights.members, state: state,
            isPaperTrusted: paper.map { accounts[foundation.accountID]?.isTrusted($0) ?? false } ?? false)
    }

    private func countingLinks(_ accounts: [ChainID: AccountDevices]) -> [Bool] {
        var counting = [Bool](repeating: true, count: links.count)
        // Accounts for which a later link speaks that may do so and counts.
        var confirmed: Set<ChainID> = []
        for link in links.reversed() {
            let isTrusted = accounts[link.accountID]?.isTrusted(link.deviceID) ?? false
            let stands = isTrusted || confirmed.contains(link.accountID)
            if link.needsConfirmationInCircle { counting[link.number] = stands }
            guard stands else { continue }
            confirmed.formUnion(
                link.confirms.filter { $0 == link.accountID || link.accountID == foundation.accountID })
        }
        return counting
    }
}

extension MemberEffect {
    /// A prohibition harms nobody, and a link that states heads gives nothing.
    fileprivate var needsConfirmationInCircle: Bool {
        switch circle {
        case .forbid: false
        case .request, .release, .arm: true
        case nil: number > 0 && (!roleChanges.isEmpty || !accepts.isEmpty)
        }
    }
}
