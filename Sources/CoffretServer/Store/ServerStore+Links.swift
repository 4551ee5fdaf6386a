// Links of several chains at once. The one thing to keep true: all are stored or none, each behind exactly the link that it
// was verified against, and verifying them holds nobody up.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
package import CoffretWire

/// What a post of links came to.
package enum LinksOutcome: Equatable, Sendable {
    /// Where each link stands, in the order of the request.
    case taken([ChainHead])
    /// A link of the request does not go behind the newest of its chain.
    case conflict(index: Int, ChainHead)
    /// A link was made on another head of the zone.
    case moved(index: Int, LogHead)
    /// A link does not verify: the code that says why.
    case untrusted(String)
    /// A device writes plain checkpoints too often (C3).
    case tooMany(retryAfterSeconds: Int)
}

/// Links that were verified against what is stored.
struct LinkBatch {
    struct DeviceStep {
        let link: UnverifiedLink
        let bytes: [UInt8]
        let before: VerifiedDeviceChain
        let followed: FollowedDeviceChain

        /// Whether a device loses its power.
        var isEnding: Bool {
            followed.chain.trustedCount < before.trustedCount || !followed.replacedLinks.isEmpty
        }
    }

    struct MemberStep {
        let index: Int
        let bytes: [UInt8]
        let effect: MemberEffect
        let expectedHead: [UInt8]?
    }

    struct Vault {
        /// The stored chain's newest link, or link 0 of a vault whose zone is made with this.
        let newest: [UInt8]
        let isNew: Bool
        var chain: VerifiedMemberRights
        var steps: [MemberStep] = []
    }

    struct IdentityStep {
        let bytes: [UInt8]
        let number: UInt64
    }

    let stored: StoredDeviceChain
    var device: StoredDeviceChain
    var deviceSteps: [DeviceStep] = []
    /// The account's identity chain, once a link of it was looked at.
    var identity: StoredIdentity?
    var identitySteps: [IdentityStep] = []
    var vaults: [[UInt8]: Vault] = [:]
    var heads: [ChainHead] = []
    /// Device chains that member links state, as they are with the links before.
    var accounts: [ChainID: AccountDevices] = [:]

    init(_ stored: StoredDeviceChain) {
        self.stored = stored
        device = stored
    }
}

/// Takes the transaction back.
struct LinksRefusal: Error {
    /// nil: the chains are others by now.
    let outcome: LinksOutcome?
}

extension ServerStore {
    /// How often an append begins anew because others were quicker.
    private static let appendTryCountMax = 4

    /// Adds links to the account's device chain and to the member chains of its vaults, in their order, all or none. A device
    /// that is no longer trusted then loses its sessions in the same transaction (R28).
    ///
    /// - Throws: `.forbidden` for another account's device chain, `.zoneUnknown`, `.quotaExceeded`.
    package func take(_ items: [LinkPost.Item], by owner: SessionOwner) throws -> LinksOutcome {
        try take(items, by: owner, with: nil)
    }

    /// - Parameter cargo: what goes along with the one link.
    func take(_ items: [LinkPost.Item], by owner: SessionOwner, with cargo: LinkCargo?) throws -> LinksOutcome {
        for _ in 1...Self.appendTryCountMax {
            // Before the transaction: whoever writes meanwhile does not wait for signatures.
            var batch = LinkBatch(try deviceChain(of: owner.accountID))
            if let refusal = try judge(items, &batch, by: owner) { return refusal }
            do {
                try write(batch, by: owner, with: cargo)
            } catch let refusal as LinksRefusal {
                guard let outcome = refusal.outcome else { continue }
                return outcome
            } catch let failure as ServerFailure where failure.code == .storageConflict {
                continue
            }
            if !batch.deviceSteps.isEmpty { chains.keep(batch.device) }
            for vault in batch.vaults.values { memberChains.keep(vault.chain) }
            return .taken(batch.heads)
        }
        throw ServerFailure(.storageConflict)
    }

    // MARK: Verifying

    /// - Returns: the refusal; nil if all verify.
    private func judge(
        _ items: [LinkPost.Item], _ batch: inout LinkBatch, by owner: SessionOwner
    ) throws -> LinksOutcome? {
        let acceptances = Set(items.compactMap(\.acceptance))
        for (index, item) in items.enumerated() {
            guard let kind = ChainKind(rawValue: item.kind), kind == .member || item.expectedHead == nil else {
                throw ServerFailure(.malformed, "the kind of a chain")
            }
            guard kind == .member || item.chainID == owner.accountID else { throw ServerFailure(.forbidden) }
            let refusal: LinksOutcome?
            do {
                let link = try UnverifiedLink(decoding: item.link)
                guard link.kind == kind else { throw TrustError(.linkMalformed, at: link.sequenceNumber) }
                switch kind {
                case .device: refusal = try judge(link, item, index, &batch)
                case .identity: refusal = try judge(identity: link, item, index, &batch)
                case .member:
                    try checkAddition(link, item, acceptances, by: owner)
                    refusal = try judge(link, item, index, &batch, by: owner)
                }
            } catch let error as TrustError {
                refusal = .untrusted(error.code.rawValue)
            } catch let error as MemberError {
                refusal = .untrusted(error.code.rawValue)
            }
            if let refusal { return refusal }
        }
        // A vault that is put back by one of its people, and not made by somebody else.
        let poster = batch.device.chain.accountID
        let isForeign = batch.vaults.values.contains { $0.isNew && $0.chain.rights.members[poster] == nil }
        return isForeign ? .untrusted(TrustError.Code.founderDiffers.rawValue) : nil
    }

    /// Nobody is added without his leave: he lets the one who posts the link write to him, posts it himself, or accepts in
    /// the same request, so that a vault can be put back. Links that are there are not looked at.
    private func checkAddition(
        _ link: UnverifiedLink, _ item: LinkPost.Item, _ acceptances: Set<LinkPost.Item.Acceptance>,
        by owner: SessionOwner
    ) throws {
        guard link.sequenceNumber > 0, case .add(let head, _) = try MemberOperation(decoding: link).kind,
            head.accountID.bytes != owner.accountID,
            !acceptances.contains(.init(chainID: item.chainID, accountID: head.accountID.bytes))
        else { return }
        let known = try database.lookUp(
            "SELECT link FROM links WHERE kind = 3 AND chain = $1 AND seq = $2",
            [.bytes(item.chainID), .int(Int64(clamping: link.sequenceNumber))])
        guard known.first?[0].bytes != item.link else { return }
        try checkAddition(of: head.accountID.bytes, by: owner.accountID)
    }

    private func judge(
        _ link: UnverifiedLink, _ item: LinkPost.Item, _ index: Int, _ batch: inout LinkBatch
    ) throws -> LinksOutcome? {
        let (chain, number) = (batch.device.chain, link.sequenceNumber)
        // A device whose answer was lost asks again.
        if number < UInt64(chain.links.count), chain.links[Int(number)].link == link {
            batch.heads.append(ChainHead(sequenceNumber: number, linkHash: chain.links[Int(number)].hash))
            return nil
        }
        guard number <= UInt64(chain.links.count) else { return .conflict(index: index, chain.wireHead) }
        let now = now
        let followed: FollowedDeviceChain
        do throws(TrustError) {
            followed = try chain.following([link], watch: batch.device.watch(now: now), now: now)
        } catch {
            let isElsewhere = error.code == .chainForked || error.code == .chainBroken
            return isElsewhere ? .conflict(index: index, chain.wireHead) : .untrusted(error.code.rawValue)
        }
        let step = LinkBatch.DeviceStep(link: link, bytes: item.link, before: chain, followed: followed)
        let countMax = ServerLimits.chainLinkCountMax * (step.isEnding ? 2 : 1)
        let branchCount = batch.device.branches.count + (followed.replacedLinks.isEmpty ? 0 : 1)
        guard followed.chain.links.count <= countMax, branchCount <= ServerLimits.branchCountMax else {
            throw ServerFailure(.quotaExceeded)
        }
        batch.deviceSteps.append(step)
        batch.heads.append(followed.chain.wireHead)
        batch.accounts[chain.accountID] = nil
        batch.device = StoredDeviceChain(
            chain: followed.chain, times: batch.device.times.prefix(Int(number)) + [now],
            branches: batch.device.branches + (followed.replacedLinks.isEmpty ? [] : [chain]))
        return nil
    }

    private func judge(
        _ link: UnverifiedLink, _ item: LinkPost.Item, _ index: Int, _ batch: inout LinkBatch, by owner: SessionOwner
    ) throws -> LinksOutcome? {
        let number = link.sequenceNumber
        var vault: LinkBatch.Vault
        if let known = batch.vaults[item.chainID] {
            vault = known
            batch.vaults[item.chainID] = nil
        } else {
            guard let loaded = try loadVault(item.chainID, foundedBy: number == 0 ? link : nil, &batch, by: owner)
            else {
                throw ServerFailure(.zoneUnknown)
            }
            vault = loaded
        }
        defer { batch.vaults[item.chainID] = vault }
        if number < UInt64(vault.chain.count) {
            let known = vault.chain.links[Int(number)].hash
            guard Bytes32(link.hash(inChain: number == 0 ? nil : ChainID(item.chainID))) == known else {
                return .conflict(index: index, vault.chain.wireHead)
            }
            batch.heads.append(ChainHead(sequenceNumber: number, linkHash: known.bytes))
            return nil
        }
        let accounts = try accounts(statedBy: [link], &batch)
        let step: VerifiedMemberRights.Step
        do throws(MemberError) {
            step = try vault.chain.check(link, accounts: accounts)
        } catch {
            let isElsewhere = error.code == .forked || error.code == .linkBroken
            return isElsewhere ? .conflict(index: index, vault.chain.wireHead) : .untrusted(error.code.rawValue)
        }
        let countMax = ServerLimits.chainLinkCountMax * (step.effect.endsReading ? 2 : 1)
        guard vault.chain.count < countMax else { throw ServerFailure(.quotaExceeded) }
        vault.chain.take(step)
        vault.steps.append(
            LinkBatch.MemberStep(
                index: index, bytes: item.link, effect: step.effect, expectedHead: item.expectedHead))
        batch.heads.append(vault.chain.wireHead)
        return nil
    }

    /// The vault of a zone of the account, or one that a link founds.
    ///
    /// - Returns: nil if there is none.
    private func loadVault(
        _ id: [UInt8], foundedBy link: UnverifiedLink?, _ batch: inout LinkBatch, by owner: SessionOwner
    ) throws -> LinkBatch.Vault? {
        if try findsZone(id, of: owner) {
            let rows = try database.lookUp(
                "SELECT link FROM links WHERE kind = 3 AND chain = $1 ORDER BY seq DESC LIMIT 1", [.bytes(id)])
            guard let newest = rows.first?[0].bytes else { return nil }
            let chain = try memberChain(of: id, newest: newest, &batch)
            return LinkBatch.Vault(newest: newest, isNew: false, chain: chain)
        }
        guard let link else { return nil }
        let founder = try VaultFoundation(decoding: link).accountID
        let chain = try Self.founded(by: link, try devices(of: founder, batch.device), vaultID: VaultID(id))
        return LinkBatch.Vault(newest: link.encoded, isNew: true, chain: chain)
    }

    /// The devices of a founder, who need not be the one that posts, nor a member any more.
    private func devices(of founder: ChainID, _ own: StoredDeviceChain) throws -> StoredDeviceChain {
        guard founder != own.chain.accountID else { return own }
        do { return try deviceChain(of: founder.bytes) } catch let failure as ServerFailure
            where failure.code == .chainUnknown
        { throw TrustError(.founderDiffers, at: 0) }
    }

    /// The link that founded a vault, verified with the line of its founder's devices that it names.
    private static func founded(
        by link: UnverifiedLink, _ founder: StoredDeviceChain, vaultID: VaultID?
    ) throws(TrustError) -> VerifiedMemberRights {
        let devices = AccountDevices(founder.chain, replaced: founder.branches)
        for branch in founder.branches {
            let found = try? VerifiedMemberRights(
                founding: link, founder: devices, chain: branch, vaultID: vaultID, allowsCircle: true)
            if let found { return found }
        }
        return try VerifiedMemberRights(
            founding: link, founder: devices, chain: founder.chain, vaultID: vaultID, allowsCircle: true)
    }

    /// - Complexity: one look-up if it was used a moment ago, else one signature for each link.
    private func memberChain(
        of id: [UInt8], newest: [UInt8], _ batch: inout LinkBatch
    ) throws -> VerifiedMemberRights {
        let link = try UnverifiedLink(decoding: newest)
        if let hash = Bytes32(link.hash(inChain: link.sequenceNumber == 0 ? nil : ChainID(id))),
            let known = memberChains.chain(of: id, newest: hash)
        {
            return known
        }
        let rows = try database.lookUp(
            "SELECT link FROM links WHERE kind = 3 AND chain = $1 ORDER BY seq", [.bytes(id)])
        do {
            let links = try rows.map { try UnverifiedLink(decoding: $0[0].bytes) }
            let founder = try VaultFoundation(decoding: links[0]).accountID
            let devices = try devices(of: founder, batch.stored)
            var chain = try Self.founded(by: links[0], devices, vaultID: VaultID(id))
            let accounts = try accounts(statedBy: links.dropFirst(), &batch)
            for link in links.dropFirst() { try chain.append(link, accounts: accounts) }
            return chain
        } catch let failure as ServerFailure {
            throw failure
        } catch {
            throw ServerFailure(.storageUnavailable, "a stored member chain does not verify")
        }
    }

    /// The device chains of all accounts that links name; one that has no account here is left out.
    private func accounts(
        statedBy links: some Sequence<UnverifiedLink>, _ batch: inout LinkBatch
    ) throws -> [ChainID: AccountDevices] {
        for link in links {
            for id in try MemberOperation(decoding: link).statedAccounts where batch.accounts[id] == nil {
                guard id != batch.device.chain.accountID else {
                    batch.accounts[id] = AccountDevices(batch.device.chain, replaced: batch.device.branches)
                    continue
                }
                do {
                    let stored = try deviceChain(of: id.bytes)
                    batch.accounts[id] = AccountDevices(stored.chain, replaced: stored.branches)
                } catch let failure as ServerFailure where failure.code == .chainUnknown {}
            }
        }
        return batch.accounts
    }

    // MARK: Storing

    /// - Throws: `LinksRefusal`, with nothing stored.
    private func write(_ batch: LinkBatch, by owner: SessionOwner, with cargo: LinkCargo?) throws {
        let now = now
        let isEnding = batch.deviceSteps.contains(where: \.isEnding)
        // Whoever remembers a session looks again only where one may have ended.
        defer { if isEnding { sessionChanges.note() } }
        try database.write { session in
            // What a device took away comes back with the link that revokes it.
            try lockZones(of: owner.accountID, session)
            _ = try session.first(
                "SELECT used FROM accounts WHERE account = $1" + session.lockClause, .bytes(owner.accountID))
            if !batch.deviceSteps.isEmpty {
                guard try newestLink(of: owner.accountID, session) == batch.stored.newest else {
                    throw LinksRefusal(outcome: nil)
                }
            }
            for (offset, step) in batch.deviceSteps.enumerated() {
                try store(step, of: owner.accountID, branch: batch.branchNumber(at: offset), now: now, session)
            }
            try store(batch, identityOf: owner.accountID, now: now, session)
            for (id, vault) in batch.vaults.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                try store(vault, id, now: now, by: owner, with: cargo, session)
            }
        }
    }

    private func store(
        _ step: LinkBatch.DeviceStep, of account: [UInt8], branch: Int, now: Int64, _ session: any SQLSession
    ) throws {
        let number = Int64(step.link.sequenceNumber)
        if !step.followed.replacedLinks.isEmpty {
            // What was replaced stays: it is evidence for what was signed while it held.
            try session.run(
                """
                INSERT INTO branches(account, branch, seq, link, added)
                SELECT chain, CAST($1 AS BIGINT), seq, link, added FROM links WHERE kind = 1 AND chain = $2 AND seq >= $3
                """, .int(Int64(branch)), .bytes(account), .int(number))
            try session.run(
                "DELETE FROM links WHERE kind = 1 AND chain = $1 AND seq >= $2", .bytes(account), .int(number))
        }
        try store(step.bytes, .device, account, at: number, now: now, session)
        // A device is revoked however full the account is.
        try charge(
            account, Int64(step.bytes.count) + Self.rowByteCount, session, step.isEnding ? .always : .small)
        try setDevices(of: step.followed.chain, before: step.before, session)
        try noteNews(of: account, session)
        let event = ServerEvent.chain(
            kind: ChainKind.device.rawValue, id: account, sequenceNumber: step.link.sequenceNumber)
        try tellFellows(of: account, event, session)
    }
}

extension LinkBatch {
    /// The number of the branch that the step at a place makes, if it makes one.
    func branchNumber(at offset: Int) -> Int {
        stored.branches.count + deviceSteps[..<offset].count { !$0.followed.replacedLinks.isEmpty }
    }
}

extension LinkPost.Item {
    /// An account that accepts a vault.
    struct Acceptance: Hashable {
        let chainID: [UInt8]
        let accountID: [UInt8]
    }

    /// What a link says of that, if it is one.
    var acceptance: Acceptance? {
        guard kind == ChainKind.member.rawValue, let link = try? UnverifiedLink(decoding: self.link),
            link.sequenceNumber > 0, let operation = try? MemberOperation(decoding: link),
            case .accept = operation.kind
        else { return nil }
        return Acceptance(chainID: chainID, accountID: operation.accountID.bytes)
    }
}

extension VerifiedDeviceChain {
    fileprivate var trustedCount: Int { devices.count(where: \.isTrusted) }
}
