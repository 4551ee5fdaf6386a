// Follows a vault's member chain and the device chains of all accounts that it names. The one thing to keep true: what a
// server gives is believed as far as it verifies, and what it gave before it has to give again.

package import CoffretBase
package import CoffretCrypto
package import CoffretHistory
package import CoffretLogs
package import CoffretTrust
package import CoffretWire

/// A state machine: it gives requests and takes answers, and does no I/O.
///
/// Order: `begin`; while there is a `request`, `take` its answer; `finish`. A follower that is encoded and read again asks on
/// from what it had verified. Spec: Spec/history.md section 10, step 1.
package struct MemberFollower: Sendable {
    /// All that came and was verified.
    package private(set) var chains: FollowedChains
    private var asked = AskedChains()
    /// Accounts that were asked for since `begin`.
    private var looked: Set<ChainID> = []

    /// Goes on from what is known here.
    package init(_ chains: FollowedChains) { self.chains = chains }

    /// - Parameter own: the own account as it is known here, if it is: a server cannot go back behind it.
    package init(vaultID: VaultID, own: FollowedAccount? = nil) {
        self.init(FollowedChains(vaultID: vaultID, own: own))
    }

    package var vaultID: VaultID { chains.vaultID }
    package var accounts: [ChainID: FollowedAccount] { chains.accounts }
    package var members: VerifiedMembers? { chains.members }
    /// For `HistoryMachine.follow`.
    package var devices: [ChainID: AccountDevices] { chains.devices }
    /// Links that came and were not taken in, behind the verified ones.
    package var waitingLinkCount: Int { chains.waitingLinkCount }

    // MARK: Asking

    /// Begins to ask anew, for all chains that are known.
    package mutating func begin() {
        looked = Set(accounts.keys)
        let devices = accounts.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }.map { id, account in
            AskedChain(.device, id.bytes, known: account.chain.links.count, branches: account.branches.count)
        }
        asked = AskedChains([AskedChain(.member, vaultID.bytes, known: chains.links.count)] + devices)
    }

    /// The next question, for `POST /v1/chains/updates`; nil: all is here.
    package var request: ChainUpdateRequest? { asked.request }

    /// Takes the answer to `request`.
    ///
    /// - Parameter now: by this device's clock.
    /// - Throws: `FollowFailure`; nothing is changed then, and `begin` asks anew.
    package mutating func take(_ answer: ChainUpdates, now: Milliseconds) throws(FollowFailure) {
        var next = self
        try next.takeIn(answer, now: now)
        self = next
    }

    private mutating func takeIn(_ answer: ChainUpdates, now: Milliseconds) throws(FollowFailure) {
        let whole: [AskedChain]
        do throws(AskedChains.Unfitting) { whole = try asked.take(answer) } catch { throw .answerMalformed }
        guard !answer.hasMore else { return }
        for chain in whole where chain.knownCount > 0 && chain.links.isEmpty {
            throw .rolledBack(chain: chain.id)
        }
        for chain in whole where chain.kind == ChainKind.device.rawValue { try takeDevices(chain, now: now) }
        for chain in whole where chain.kind == ChainKind.member.rawValue { try takeLinks(chain) }
        guard asked.request == nil else { return }
        let named = try chains.namedAccounts().subtracting(looked)
        looked.formUnion(named)
        asked.add(named.sortedByBytes.map { AskedChain(.device, $0.bytes, branches: 0) })
    }

    private mutating func takeDevices(_ chain: AskedChain, now: Milliseconds) throws(FollowFailure) {
        guard let id = ChainID(chain.id), !chain.links.isEmpty else { return }
        let links: [UnverifiedLink]
        var branches: [ReplacedLinks] = []
        do throws(TrustError) {
            links = try chain.decoded(chain.links)
            for branch in chain.branches {
                branches.append(ReplacedLinks(start: Int(branch.start), links: try chain.decoded(branch.links)))
            }
        } catch {
            throw .devices(account: id, error)
        }
        try chains.take(devices: links, branches: branches, of: id, now: now)
    }

    private mutating func takeLinks(_ chain: AskedChain) throws(FollowFailure) {
        let served: [UnverifiedLink]
        do throws(TrustError) { served = try chain.decoded(chain.links) } catch {
            throw .members(MemberError(.linkMalformed, at: UInt64(chain.start)))
        }
        try chains.take(links: served, from: chain.start)
    }

    // MARK: Own links and verifying

    /// As `FollowedChains.takeOwn(deviceLink:of:now:)`.
    package mutating func takeOwn(deviceLink link: UnverifiedLink, of account: ChainID, now: Milliseconds)
        throws(FollowFailure)
    {
        try chains.takeOwn(deviceLink: link, of: account, now: now)
    }

    /// An account that a link of this device is about to name.
    package mutating func introduce(_ account: FollowedAccount) {
        if chains.accounts[account.chain.accountID] == nil { chains.set(account) }
    }

    /// As `FollowedChains.takeOwn(link:keys:)`, for a link that the server took.
    package mutating func takeOwn(link: UnverifiedLink, keys: any MemberKeys) throws(FollowFailure) {
        try chains.takeOwn(link: link, keys: keys)
    }

    /// As `FollowedChains.finish`, when there is no further `request`.
    package mutating func finish(keys: any MemberKeys) throws(FollowFailure) -> MemberError? {
        try chains.finish(keys: keys)
    }
}

extension AskedChain {
    fileprivate init(_ kind: ChainKind, _ id: [UInt8], known: Int = 0, branches: Int? = nil) {
        self.init(kind: kind.rawValue, id: id, known: known, branches: branches)
    }

    fileprivate func decoded(_ bytes: [[UInt8]]) throws(TrustError) -> [UnverifiedLink] {
        var links: [UnverifiedLink] = []
        for link in bytes { links.append(try UnverifiedLink(decoding: link)) }
        return links
    }
}

// MARK: - The record

extension MemberFollower {
    /// As `FollowedChains.encoded`.
    package var encoded: [UInt8] { chains.encoded }

    /// Reads what `encoded` wrote.
    ///
    /// - Returns: nil for anything else; the chains are then followed from their beginning.
    package init?(decoding bytes: [UInt8]) {
        guard let chains = FollowedChains(decoding: bytes) else { return nil }
        self.init(chains)
    }
}
