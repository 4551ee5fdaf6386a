// Accounts of other people at the same server. Invariant: an account's chain is verified from its id, so a server can hide
// links of it and cannot put another one in its place.

internal import CoffretBase
internal import CoffretCrypto
package import CoffretLogs
package import CoffretTrust
internal import CoffretWire

extension Account {
    /// Follows the devices of any account from its id, with the branches that recoveries replaced, and its identity.
    ///
    /// - Parameter known: what was verified of its identity before: the server does not go back behind that.
    /// - Returns: no identity for an account that has none.
    /// - Throws: `AccountError` `.personUnknown` if the server has no such account; `.failed` with a `TrustError`, such as
    ///   `.chainIDDiffers`.
    package func follow(
        _ id: ChainID, known: VerifiedIdentityChain? = nil
    ) throws -> (account: FollowedAccount, identity: VerifiedIdentityChain?) {
        let given = try connection.chains([
            AskedChain(kind: ChainKind.device.rawValue, id: id.bytes, branches: 0), .identity(of: id, known: known),
        ])
        guard !given[0].links.isEmpty else { throw AccountError(.personUnknown, at: id.hex) }
        var branches: [ReplacedLinks] = []
        for branch in given[0].branches {
            branches.append(
                ReplacedLinks(start: Int(branch.start), links: try ServerConnection.decoded(branch.links)))
        }
        let links = try ServerConnection.decoded(given[0].links)
        let account = try inAccount(FollowedAccount(id, links: links, branches: branches, now: clock.now))
        return (account, try identity(given[1], of: account, known: known))
    }

    /// The identity chains of accounts whose devices were followed, asked for together: one request for all members of a vault. An
    /// account that has none is left out.
    ///
    /// - Parameter known: what was verified of them before: the server does not go back behind that.
    /// - Throws: `.failed` with a `TrustError`, at the account.
    package func identities(
        of people: [FollowedAccount], known: [ChainID: VerifiedIdentityChain] = [:]
    ) throws -> [ChainID: VerifiedIdentityChain] {
        let given = try connection.chains(
            people.map { .identity(of: $0.chain.accountID, known: known[$0.chain.accountID]) })
        var chains: [ChainID: VerifiedIdentityChain] = [:]
        for (person, given) in zip(people, given) {
            let id = person.chain.accountID
            chains[id] = try identity(given, of: person, known: known[id])
        }
        return chains
    }

    private func identity(
        _ given: AskedChain, of person: FollowedAccount, known: VerifiedIdentityChain?
    ) throws -> VerifiedIdentityChain? {
        do {
            let links = try given.links.map { try UnverifiedLink(decoding: $0) }
            guard let known else {
                return links.isEmpty ? nil : try VerifiedIdentityChain.verify(links, devices: person.devices)
            }
            return try known.following(links, devices: person.devices)
        } catch {
            throw AccountError(.failed, at: person.chain.accountID.hex, cause: error)
        }
    }
}

extension AskedChain {
    fileprivate static func identity(of account: ChainID, known: VerifiedIdentityChain?) -> AskedChain {
        AskedChain(kind: ChainKind.identity.rawValue, id: account.bytes, known: known?.links.count ?? 0)
    }
}

extension ServerConnection {
    /// The links of chains behind the known ones, as the server has them, in the order of the question.
    func chains(_ wanted: [AskedChain]) throws -> [AskedChain] {
        var (asked, given) = (AskedChains(wanted), [AskedChain]())
        while let request = asked.request {
            let answer = try exchange("POST", "/v1/chains/updates", request.encoded(), as: ChainUpdates.self)
            do throws(AskedChains.Unfitting) { given += try asked.take(answer) } catch {
                throw AccountError(.answerMalformed)
            }
        }
        return given
    }

    /// The links of an account's identity chain from the newest known one on; none for an account without one.
    func identityLinks(of account: ChainID, known: VerifiedIdentityChain?) throws -> [UnverifiedLink] {
        try Self.decoded(chains([.identity(of: account, known: known)])[0].links)
    }

    fileprivate static func decoded(_ bytes: [[UInt8]]) throws -> [UnverifiedLink] {
        try bytes.map { try inAccount(UnverifiedLink(decoding: $0)) }
    }
}
