// What a device has verified of a vault's member chain and of the device chains of all accounts that it names. The one thing
// to keep true: what was verified stays, and a record that is read again says no more than what was kept.

package import CoffretBase
package import CoffretCrypto
package import CoffretHistory
package import CoffretTrust

/// Why chains are not followed; nothing of what came was taken.
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

/// The chains of one vault as this device follows them.
package struct FollowedChains: Sendable {
    package let vaultID: VaultID
    /// All accounts that the links name, as far as they came.
    package private(set) var accounts: [ChainID: FollowedAccount] = [:]
    /// Verified links; nil: link 0 did not come yet.
    package private(set) var members: VerifiedMembers?
    /// All links that came, verified or waiting for a chain or a key.
    package private(set) var links: [UnverifiedLink] = []
    /// So many of them were verified before they were put into the record.
    private var knownCount = 0

    /// - Parameter own: the own account as it is known here, if it is: a server cannot go back behind it.
    package init(vaultID: VaultID, own: FollowedAccount? = nil) {
        self.vaultID = vaultID
        if let own { accounts[own.chain.accountID] = own }
    }

    /// For `HistoryMachine.follow`.
    package var devices: [ChainID: AccountDevices] { accounts.mapValues(\.devices) }
    /// Links that the last answer showed and that are none of the chain.
    private var refusedLinkCount = 0
    /// Links that came and were not taken in, behind the verified ones.
    package var waitingLinkCount: Int { links.count - (members?.state.count ?? 0) + refusedLinkCount }

    /// For a repository; no members before link 0 is verified.
    package var vaultChains: VaultChains {
        VaultChains(accounts: devices, members: members?.state ?? MemberState())
    }

    // MARK: What comes

    /// Takes links of an account's devices, from some place of its chain to its end, and new branches.
    ///
    /// - Throws: `.devices`; nothing is changed then.
    package mutating func take(
        devices links: [UnverifiedLink], branches: [ReplacedLinks], of id: ChainID, now: Milliseconds
    ) throws(FollowFailure) {
        do throws(TrustError) {
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

    /// Puts what is known elsewhere of the own account in the place of what is known here.
    package mutating func set(_ own: FollowedAccount) { accounts[own.chain.accountID] = own }

    /// Takes links of the member chain from `start` to its newest; `finish` verifies them.
    ///
    /// - Throws: `.answerMalformed`, `.members(.forked)`.
    package mutating func take(links served: [UnverifiedLink], from start: Int) throws(FollowFailure) {
        refusedLinkCount = 0
        for (offset, link) in served.enumerated() {
            let number = start + offset
            guard link.kind == .member, link.sequenceNumber == UInt64(number), number <= links.count else {
                throw .answerMalformed
            }
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
    package func namedAccounts() throws(FollowFailure) -> Set<ChainID> {
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
        guard accounts[account] != nil else { throw .devices(account: account, TrustError(.chainEmpty)) }
        try take(devices: [link], branches: [], of: account, now: now)
    }

    /// Takes a link of the vault that this device wrote and that is in the chain from now on.
    package mutating func takeOwn(link: UnverifiedLink, keys: any MemberKeys) throws(FollowFailure) {
        guard link.sequenceNumber == UInt64(links.count) else { throw .answerMalformed }
        links.append(link)
        if let failure = try finish(keys: keys) { throw .members(failure) }
    }

    // MARK: Verifying

    /// Verifies what came.
    ///
    /// - Parameter keys: open sealed parts. With a key that came later it is called again.
    /// - Returns: why the chain ends for now before its newest link; nil: all of it holds. One that `waits` is looked at again,
    ///   and any other stays there for good.
    /// - Throws: `.foundation`, `.members(.forked)`.
    @discardableResult
    package mutating func finish(keys: any MemberKeys) throws(FollowFailure) -> MemberError? {
        if members == nil {
            guard let first = links.first else { return MemberError(.chainMissing, at: 0) }
            members = try founded(by: first)
            guard members != nil else { return MemberError(.chainMissing, at: 0) }
        }
        guard var verified = members else { return nil }
        let failure = verified.follow(
            Array(links[verified.state.count...]), accounts: devices, keys: keys, knownCount: knownCount)
        if let failure, failure.code == .forked { throw .members(failure) }
        members = verified
        if let failure, !failure.waits {
            // A link that does not hold is shown by a server that lies; the true one may come.
            refusedLinkCount += links.count - verified.state.count
            links.removeLast(links.count - verified.state.count)
            // What comes in their place was not verified.
            knownCount = min(knownCount, links.count)
        }
        return failure
    }

    /// Rights and commitments by all links that came, also behind one whose sealed part does not open yet: none of it rests on
    /// what is sealed.
    ///
    /// - Returns: nil before link 0 is verified.
    package var rights: VerifiedMemberRights? {
        guard var rights = members?.rights else { return nil }
        let devices = devices
        for link in links[rights.count...] {
            let isKnown = link.sequenceNumber < UInt64(knownCount)
            guard let step = try? rights.check(link, accounts: devices, isKnown: isKnown) else { break }
            rights.take(step)
        }
        return rights
    }

    /// - Returns: nil if its founder's chain is not here.
    private func founded(by link: UnverifiedLink) throws(FollowFailure) -> VerifiedMembers? {
        do throws(TrustError) {
            let foundation = try VaultFoundation(decoding: link)
            guard let founder = accounts[foundation.accountID] else { return nil }
            let devices = founder.devices
            return try VerifiedMembers(
                founding: link, founder: devices, chain: founder.line(with: foundation), vaultID: vaultID,
                isKnown: knownCount > 0)
        } catch {
            throw .foundation(error)
        }
    }

    /// Rights by all links that came of a circle, which has no key.
    ///
    /// - Returns: nil before link 0 and its founder's chain are here.
    /// - Throws: what is wrong with the first link that does not hold.
    package func circleRights() throws(FollowFailure) -> VerifiedMemberRights? {
        guard let first = links.first else { return nil }
        var rights: VerifiedMemberRights
        do throws(TrustError) {
            let foundation = try VaultFoundation(decoding: first)
            guard let founder = accounts[foundation.accountID] else { return nil }
            rights = try VerifiedMemberRights(
                founding: first, founder: founder.devices, chain: founder.line(with: foundation), vaultID: vaultID,
                allowsCircle: true)
        } catch {
            throw .foundation(error)
        }
        let devices = devices
        do throws(MemberError) {
            for link in links.dropFirst() { try rights.append(link, accounts: devices) }
        } catch {
            throw .members(error)
        }
        return rights
    }
}

extension FollowedAccount {
    /// The line of devices that a founding link names: the head that it states may lie on a branch.
    fileprivate func line(with foundation: VaultFoundation) -> VerifiedDeviceChain {
        branches.first { $0.links.contains { $0.hash == foundation.deviceChainHead } } ?? chain
    }
}

// MARK: - The record

extension FollowedChains {
    private static let version: UInt64 = 1

    /// The record that the next process goes on from, sealed by who keeps it:
    /// `[1, vault id, [* link], [* account], ? verified links]`.
    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 5)
            encoder.encode(unsigned: Self.version)
            encoder.encode(bytes: vaultID.bytes)
            encoder.encode(links: links)
            encoder.encodeArrayHeader(count: accounts.count)
            for (_, account) in accounts.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
                account.encode(to: &encoder)
            }
            encoder.encode(unsigned: UInt64(max(members?.state.count ?? 0, min(knownCount, links.count))))
        }
    }

    /// Reads what `encoded` wrote. Links that were verified are not verified again: `finish` checks their places and hashes, and
    /// what they may do.
    ///
    /// - Returns: nil for anything else; the chains are then followed from their beginning.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) -> FollowedChains? in
            let count = try decoder.readArrayHeader()
            guard 4...5 ~= count, try decoder.readUnsigned() == Self.version,
                let id = VaultID(try decoder.readBytes(count: 32))
            else { return nil }
            var chains = FollowedChains(vaultID: id)
            chains.links = try decoder.readLinks()
            for _ in 0..<(try decoder.readArrayHeader()) {
                let account = try FollowedAccount(from: &decoder)
                chains.accounts[account.chain.accountID] = account
            }
            guard count == 5 else { return chains }
            let start = decoder.byteOffset
            chains.knownCount = try decoder.readUnsigned(as: Int.self)
            guard chains.knownCount <= chains.links.count else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            return chains
        }
        guard let read else { return nil }
        self = read
    }
}
