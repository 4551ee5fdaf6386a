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
    /// Links and branches of one chain in one question and its answers, in bytes.
    private static let byteCountMax = 8 << 20

    /// A chain that is asked for.
    fileprivate struct Asked: Sendable {
        let kind: ChainKind
        let id: [UInt8]
        /// The newest link that is known is asked for again, so that a chain that was put back is noticed.
        let knownCount: Int
        let knownBranchCount: Int
        var start: Int
        var links: [[UInt8]] = []
        var branches: [ChainUpdates.Branch] = []
        var byteCount = 0
        /// Nothing of it came in the last answer, so nothing more is to come.
        var isComplete = false

        var end: Int { start + links.count }
        var item: ChainUpdateRequest.Item {
            ChainUpdateRequest.Item(
                kind: kind.rawValue, chainID: id, linkCount: UInt64(end),
                branchCount: UInt64(knownBranchCount + branches.count))
        }
    }

    /// All that came and was verified.
    package private(set) var chains: FollowedChains
    private var asked: [Asked] = []
    private var waiting: [Asked] = []
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
        waiting = accounts.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }.map { id, account in
            ask(.device, id.bytes, known: account.chain.links.count, branches: account.branches.count)
        }
        waiting.insert(ask(.member, vaultID.bytes, known: chains.links.count, branches: 0), at: 0)
        askNext()
    }

    private func ask(_ kind: ChainKind, _ id: [UInt8], known: Int, branches: Int) -> Asked {
        Asked(kind: kind, id: id, knownCount: known, knownBranchCount: branches, start: max(known - 1, 0))
    }

    private mutating func askNext() {
        asked = Array(waiting.prefix(ServerLimits.chainCountMaxPerRequest))
        waiting.removeFirst(asked.count)
    }

    /// The next question, for `POST /v1/chains/updates`; nil: all is here.
    package var request: ChainUpdateRequest? {
        asked.isEmpty ? nil : ChainUpdateRequest(asked.filter { !$0.isComplete }.map(\.item))
    }

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
        var rest = asked.indices.filter { !asked[$0].isComplete }[...]
        for chain in answer.chains {
            // In the order of the question, each once.
            while let index = rest.first, asked[index].id != chain.chainID || asked[index].kind.rawValue != chain.kind {
                asked[index].isComplete = true
                rest = rest.dropFirst()
            }
            guard let index = rest.popFirst() else { throw .answerMalformed }
            try asked[index].take(chain, byteCountMax: Self.byteCountMax)
        }
        if answer.hasMore {
            // An answer without anything would be asked for without end.
            guard !answer.chains.isEmpty else { throw .answerMalformed }
            return
        }
        let whole = asked
        asked = []
        for chain in whole where chain.knownCount > 0 && chain.links.isEmpty {
            throw .rolledBack(chain: chain.id)
        }
        for chain in whole where chain.kind == .device { try takeDevices(chain, now: now) }
        for chain in whole where chain.kind == .member { try takeLinks(chain) }
        if waiting.isEmpty {
            let named = try chains.namedAccounts().subtracting(looked)
            looked.formUnion(named)
            waiting = named.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
                .map { ask(.device, $0.bytes, known: 0, branches: 0) }
        }
        askNext()
    }

    private mutating func takeDevices(_ chain: Asked, now: Milliseconds) throws(FollowFailure) {
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

    private mutating func takeLinks(_ chain: Asked) throws(FollowFailure) {
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

extension MemberFollower.Asked {
    /// Takes what came of the chain.
    fileprivate mutating func take(
        _ chain: ChainUpdates.Chain, byteCountMax: Int
    ) throws(FollowFailure) {
        guard let first = Int(exactly: chain.start), first <= end, !chain.links.isEmpty || !chain.branches.isEmpty,
            kind == .device || chain.branches.isEmpty && first == end
        else { throw .answerMalformed }
        // What was replaced goes; only a new branch says that something was.
        guard first == end || !chain.branches.isEmpty else { throw .answerMalformed }
        if first < start {
            start = first
            links = []
        } else {
            links.removeLast(end - first)
        }
        links += chain.links
        branches += chain.branches
        // Also what has no bytes counts, so that an answer of nothing is not asked for without end.
        for list in [chain.links] + chain.branches.map(\.links) { byteCount += list.reduce(64) { $0 + $1.count + 64 } }
        guard byteCount <= byteCountMax, branches.allSatisfy({ $0.start <= UInt64(Int32.max) }) else {
            throw .answerMalformed
        }
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
