// Accounts of other people at the same server. Invariant: an account's chain is verified from its id, so a server can hide
// links of it and cannot put another one in its place.

internal import CoffretBase
internal import CoffretCrypto
package import CoffretLogs
package import CoffretTrust
internal import CoffretWire

extension Account {
    /// Follows the devices of any account from its id, with the branches that recoveries replaced.
    ///
    /// - Throws: `AccountError` `.personUnknown` if the server has no such account; `.failed` with a `TrustError`, such as
    ///   `.chainIDDiffers`.
    package func follow(_ id: ChainID) throws -> FollowedAccount {
        let given = try links(of: .device, id)
        guard !given.links.isEmpty else { throw AccountError(.personUnknown, at: id.hex) }
        let branches = given.branches.map { ReplacedLinks(start: $0.start, links: $0.links) }
        return try inAccount(
            FollowedAccount(id, links: given.links, branches: branches, now: clock.now))
    }

    /// All links of a chain of another account, from link 0 on.
    package func links(
        of kind: ChainKind, _ id: ChainID
    ) throws -> (links: [UnverifiedLink], branches: [(start: Int, links: [UnverifiedLink])]) {
        var links: [UnverifiedLink] = []
        var branches: [(start: Int, links: [UnverifiedLink])] = []
        while links.count < Limits.chainLinkCountMax {
            let question = ChainUpdateRequest([
                ChainUpdateRequest.Item(
                    kind: kind.rawValue, chainID: id.bytes, linkCount: UInt64(links.count),
                    branchCount: UInt64(branches.count))
            ])
            let answer = try connection.exchange(
                "POST", "/v1/chains/updates", question.encoded(), as: ChainUpdates.self)
            guard let chain = answer.chains.first, chain.chainID == id.bytes, chain.kind == kind.rawValue else { break }
            guard let start = Int(exactly: chain.start), start <= links.count,
                !chain.links.isEmpty || !chain.branches.isEmpty
            else { throw AccountError(.answerMalformed) }
            for branch in chain.branches {
                branches.append((Int(clamping: branch.start), try decoded(branch.links)))
            }
            links = try links[..<start] + decoded(chain.links)
            guard answer.hasMore else { break }
        }
        return (links, branches)
    }

    private func decoded(_ bytes: [[UInt8]]) throws -> [UnverifiedLink] {
        try bytes.map { try inAccount(UnverifiedLink(decoding: $0)) }
    }
}
