// Follows a vault's member chain and the device chains of all accounts that it names. The one thing to keep true: what a
// server gives is believed as far as it verifies, and what it gave before it has to give again.

package import CoffretBase
package import CoffretCrypto
package import CoffretHistory
package import CoffretTrust
package import CoffretWire

/// Why chains are not followed; nothing of the answer was taken.
package enum FollowFailure: Error, Equatable, Sendable {
    /// An answer that no server gives (`sync.answer.malformed`).
    case answerMalformed
    /// The server does not give the newest link any more that it gave before, of this chain (`trust.chain.rolled-back`).
    case rolledBack(chain: [UInt8])
    /// A device chain does not verify, or differs from the one that was there.
    case devices(account: ChainID, TrustError)
    /// Link 0 of the vault does not verify.
    case foundation(TrustError)
    /// The member chain differs from the one here (K9), or its links cannot be read.
    case members(MemberError)
}

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

    package let vaultID: VaultID
    /// All accounts that the links name, as far as the server has them.
    package private(set) var accounts: [ChainID: FollowedAccount] = [:]
    /// Verified links; nil: link 0 did not come yet.
    package private(set) var members: VerifiedMembers?
    /// All links that came, verified or waiting for a chain or a key.
    private var links: [UnverifiedLink] = []
    private var asked: [Asked] = []
    private var waiting: [Asked] = []
    /// Accounts that were asked for since `begin`.
    private var looked: Set<ChainID> = []

    /// - Parameter own: the own account as it is known here, if it is: a server cannot go back behind it.
    package init(vaultID: VaultID, own: FollowedAccount? = nil) {
        self.vaultID = vaultID
        if let own { accounts[own.chain.accountID] = own }
    }

    /// For `HistoryMachine.follow`.
    package var devices: [ChainID: AccountDevices] { accounts.mapValues(\.devices) }
    /// Links that came and were not taken in, behind the verified ones.
    package var waitingLinkCount: Int { links.count - (members?.state.count ?? 0) }

    // MARK: Asking

    /// Begins to ask anew, for all chains that are known.
    package mutating func begin() {
        looked = Set(accounts.keys)
        waiting = accounts.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }.map { id, account in
            ask(.device, id.bytes, known: account.chain.links.count, branches: account.branches.count)
        }
        waiting.insert(ask(.member, vaultID.bytes, known: links.count, branches: 0), at: 0)
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
            let named = try named().subtracting(looked)
            looked.formUnion(named)
            waiting = named.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
                .map { ask(.device, $0.bytes, known: 0, branches: 0) }
        }
        askNext()
    }

    private mutating func takeDevices(_ chain: Asked, now: Milliseconds) throws(FollowFailure) {
        guard let id = ChainID(chain.id), !chain.links.isEmpty else { return }
        do throws(TrustError) {
            let links = try chain.decoded(chain.links)
            var branches: [ReplacedLinks] = []
            for branch in chain.branches {
                branches.append(ReplacedLinks(start: Int(branch.start), links: try chain.decoded(branch.links)))
            }
            if var account = accounts[id] {
                try account.follow(links, branches: branches, now: now)
                accounts[id] = account
            } else {
                accounts[id] = try FollowedAccount(id, links: links, branches: branches, now: now)
            }
        } catch {
            throw .devices(account: id, error)
        }
    }

    private mutating func takeLinks(_ chain: Asked) throws(FollowFailure) {
        let served: [UnverifiedLink]
        do throws(TrustError) { served = try chain.decoded(chain.links) } catch {
            throw .members(MemberError(.linkMalformed, at: UInt64(chain.start)))
        }
        for (offset, link) in served.enumerated() {
            let number = chain.start + offset
            guard link.kind == .member, link.sequenceNumber == UInt64(number) else { throw .answerMalformed }
            guard number < links.count else {
                links.append(link)
                continue
            }
            // The signature may differ; what is signed may not.
            guard hash(of: link) == hash(of: links[number]) else {
                throw .members(MemberError(.forked, at: UInt64(number)))
            }
        }
    }

    private func hash(of link: UnverifiedLink) -> [UInt8] {
        link.hash(inChain: link.sequenceNumber == 0 ? nil : ChainID(vaultID.bytes))
    }

    /// Accounts of which a link states a head.
    private func named() throws(FollowFailure) -> Set<ChainID> {
        var named: Set<ChainID> = []
        for link in links {
            if link.sequenceNumber == 0 {
                do throws(TrustError) { named.insert(try VaultFoundation(decoding: link).accountID) } catch {
                    throw .foundation(error)
                }
            } else if let operation = try? MemberOperation(decoding: link) {
                named.formUnion(operation.statedAccounts)
            }
        }
        return named
    }

    // MARK: Own links

    /// Takes a link that this device wrote for its own chain, before or after a server has it.
    ///
    /// - Throws: `FollowFailure`; nothing is changed then.
    package mutating func takeOwn(deviceLink link: UnverifiedLink, of account: ChainID, now: Milliseconds)
        throws(FollowFailure)
    {
        guard var own = accounts[account] else { throw .devices(account: account, TrustError(.chainEmpty)) }
        do throws(TrustError) { try own.follow([link], branches: [], now: now) } catch {
            throw .devices(account: account, error)
        }
        accounts[account] = own
    }

    /// Takes a link of the vault that this device wrote and the server took.
    package mutating func takeOwn(link: UnverifiedLink, keys: any MemberKeys) throws(FollowFailure) {
        guard link.sequenceNumber == UInt64(links.count) else { throw .answerMalformed }
        links.append(link)
        if let failure = try finish(keys: keys) { throw .members(failure) }
    }

    // MARK: Verifying

    /// Verifies what came, when there is no further `request`.
    ///
    /// - Parameter keys: open sealed parts. With a key that came later it is called again.
    /// - Returns: why the chain ends for now before its newest link; nil: all of it holds. One that `waits` is looked at again,
    ///   and any other stays there for good.
    /// - Throws: `.foundation`, `.members(.forked)`.
    package mutating func finish(keys: any MemberKeys) throws(FollowFailure) -> MemberError? {
        if members == nil {
            guard let first = links.first else { return MemberError(.chainMissing, at: 0) }
            members = try founded(by: first)
            guard members != nil else { return MemberError(.chainMissing, at: 0) }
        }
        guard var verified = members else { return nil }
        let failure = verified.follow(Array(links[verified.state.count...]), accounts: devices, keys: keys)
        if let failure, failure.code == .forked { throw .members(failure) }
        members = verified
        return failure
    }

    /// - Returns: nil if its founder's chain is not here.
    private func founded(by link: UnverifiedLink) throws(FollowFailure) -> VerifiedMembers? {
        do throws(TrustError) {
            let foundation = try VaultFoundation(decoding: link)
            guard let founder = accounts[foundation.accountID] else { return nil }
            let devices = founder.devices
            // The head that it states may lie on a branch.
            let line = founder.branches.first { $0.links.contains { $0.hash == foundation.deviceChainHead } }
            return try VerifiedMembers(
                founding: link, founder: devices, chain: line ?? founder.chain, vaultID: vaultID)
        } catch {
            throw .foundation(error)
        }
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
    private static let version: UInt64 = 1

    /// The record that the next process goes on from, sealed by who keeps it: `[1, vault id, [* link], [* account]]`.
    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: Self.version)
            encoder.encode(bytes: vaultID.bytes)
            encoder.encode(links: links)
            encoder.encodeArrayHeader(count: accounts.count)
            for (_, account) in accounts.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
                account.encode(to: &encoder)
            }
        }
    }

    /// Reads what `encoded` wrote. Links of devices are not verified again; those of members are, by `finish`.
    ///
    /// - Returns: nil for anything else; the chains are then followed from their beginning.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) -> MemberFollower? in
            try decoder.readArrayHeader(count: 4)
            guard try decoder.readUnsigned() == Self.version, let id = VaultID(try decoder.readBytes(count: 32)) else {
                return nil
            }
            var follower = MemberFollower(vaultID: id)
            follower.links = try decoder.readLinks()
            for _ in 0..<(try decoder.readArrayHeader()) {
                let account = try FollowedAccount(from: &decoder)
                follower.accounts[account.chain.accountID] = account
            }
            return follower
        }
        guard let read else { return nil }
        self = read
    }
}
