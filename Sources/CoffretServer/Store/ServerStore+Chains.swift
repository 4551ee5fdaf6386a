// Chains of devices and of members. The one thing to keep true: a link is stored behind exactly the link that it was
// verified against, and verifying it holds nobody up.

internal import CoffretBase
internal import CoffretCrypto
package import CoffretTrust
package import CoffretWire

/// What an append came to.
package enum AppendOutcome: Equatable, Sendable {
    case appended(ChainHead)
    /// The chain ends elsewhere.
    case conflict(ChainHead)
    /// The link does not verify.
    case untrusted(TrustError)
}

extension ServerStore {
    static let linkByteCountMaxPerAnswer: Int64 = 1 << 20
    /// How often an append begins anew because others were quicker.
    private static let appendTryCountMax = 4

    /// What a link comes to before it is stored.
    private enum Judgement {
        case answered(AppendOutcome)
        case good(UnverifiedLink, FollowedDeviceChain, after: StoredDeviceChain)
    }

    /// The links of a chain from a sequence number on, as many as one answer holds.
    package func links(
        _ kind: ChainKind, _ id: [UInt8], from start: Int64, for owner: SessionOwner
    ) throws -> ChainLinks {
        try database.read { session in
            if kind == .member { _ = try zone(id, of: owner, session) }
            let key: [SQLValue] = [.int(Int64(kind.rawValue)), .bytes(id), .int(start)]
            // Lengths first: what is read is bounded by bytes, and not by links.
            let sizes = try session.query(
                "SELECT seq, LENGTH(link) FROM links WHERE kind = $1 AND chain = $2 AND seq >= $3 ORDER BY seq LIMIT $4",
                key + [.int(Int64(ServerLimits.linkCountMaxPerRequest))])
            guard !sizes.isEmpty || start > 0 else { throw ServerFailure(.chainUnknown) }
            guard let end = Self.end(of: sizes, within: Self.linkByteCountMaxPerAnswer) else { return ChainLinks([]) }
            let rows = try session.query(
                "SELECT link FROM links WHERE kind = $1 AND chain = $2 AND seq >= $3 AND seq <= $4 ORDER BY seq",
                key + [sizes[end][0]])
            return ChainLinks(rows.map { $0[0].bytes })
        }
    }

    /// The place of the last row that an answer holds, of rows whose last column is a length; nil for none.
    static func end(of rows: [[SQLValue]], within byteCountMax: Int64) -> Int? {
        var byteCount: Int64 = 0
        for (index, row) in rows.enumerated() {
            byteCount += row[row.count - 1].int
            if index > 0, byteCount > byteCountMax { return index - 1 }
        }
        return rows.isEmpty ? nil : rows.count - 1
    }

    /// Adds the next link of a chain, or a recovery that replaces the links from its place on. A device that is
    /// no longer trusted then loses its sessions in the same transaction (R28).
    package func append(
        _ bytes: [UInt8], to kind: ChainKind, _ id: [UInt8], by owner: SessionOwner
    ) throws -> AppendOutcome {
        guard kind == .member || id == owner.accountID else { throw ServerFailure(.forbidden) }
        if kind == .member { return try appendMember(bytes, id, by: owner) }
        for _ in 1...Self.appendTryCountMax {
            // Before the transaction: whoever writes meanwhile does not wait for signatures.
            switch try judge(bytes, for: owner.accountID) {
            case .answered(let outcome): return outcome
            case .good(let link, let followed, let stored):
                if let next = try store(link, bytes, followed, after: stored) {
                    chains.keep(next)
                    return .appended(next.chain.wireHead)
                }
            }
        }
        throw ServerFailure(.storageConflict)
    }

    private func judge(_ bytes: [UInt8], for account: [UInt8]) throws -> Judgement {
        let stored = try deviceChain(of: account)
        let links = stored.chain.links
        do throws(TrustError) {
            let link = try UnverifiedLink(decoding: bytes)
            let number = link.sequenceNumber
            // A device whose answer was lost asks again.
            if number < UInt64(links.count), links[Int(number)].link == link {
                return .answered(.appended(stored.chain.wireHead))
            }
            guard number <= UInt64(links.count) else { return .answered(.conflict(stored.chain.wireHead)) }
            let followed = try stored.chain.following([link], watch: stored.watch(now: now), now: now)
            return .good(link, followed, after: stored)
        } catch {
            let isElsewhere = error.code == .chainForked || error.code == .chainBroken
            return .answered(isElsewhere ? .conflict(stored.chain.wireHead) : .untrusted(error))
        }
    }

    /// Stores a link that was verified.
    ///
    /// - Returns: nil if the chain is another one by now.
    private func store(
        _ link: UnverifiedLink, _ bytes: [UInt8], _ followed: FollowedDeviceChain, after stored: StoredDeviceChain
    ) throws -> StoredDeviceChain? {
        let account = followed.chain.accountID.bytes
        let now = now
        let isEnding =
            followed.chain.trustedCount < stored.chain.trustedCount || !followed.replacedLinks.isEmpty
        let countMax = ServerLimits.chainLinkCountMax * (isEnding ? 2 : 1)
        guard followed.chain.links.count <= countMax else { throw ServerFailure(.quotaExceeded) }
        // Whoever remembers a session looks again only where one may have ended.
        defer { if isEnding { sessionChanges.note() } }
        let isStored = try database.write { session in
            // What a device took away comes back with the link that revokes it.
            try lockZones(of: account, session)
            _ = try session.first(
                "SELECT used FROM accounts WHERE account = $1" + session.lockClause, .bytes(account))
            guard try newestLink(of: account, session) == stored.newest else { return false }
            let place = SQLValue.int(Int64(link.sequenceNumber))
            let replaced = try session.first(
                "SELECT CAST(COALESCE(SUM(LENGTH(link) + \(Self.rowByteCount)), 0) AS BIGINT) FROM links WHERE kind = 1 AND chain = $1 AND seq >= $2",
                .bytes(account), place)
            try session.run("DELETE FROM links WHERE kind = 1 AND chain = $1 AND seq >= $2", .bytes(account), place)
            try store(bytes, .device, account, at: Int64(link.sequenceNumber), now: now, session)
            // A device is revoked however full the account is.
            try charge(
                account, Int64(bytes.count) + Self.rowByteCount - (replaced?[0].int ?? 0), session,
                isEnding ? .always : .small)
            try setDevices(of: followed.chain, before: stored.chain, session)
            let event = ServerEvent.chain(
                kind: ChainKind.device.rawValue, id: account, sequenceNumber: link.sequenceNumber)
            try session.notify(.event(accountID: account, bytes: event.encoded()))
            return true
        }
        let kept = stored.times.prefix(Int(link.sequenceNumber))
        return isStored ? StoredDeviceChain(chain: followed.chain, times: kept + [now]) : nil
    }

    /// Version 1 has no link behind the first, which a zone is made of: what verifies is there already.
    private func appendMember(
        _ bytes: [UInt8], _ id: [UInt8], by owner: SessionOwner
    ) throws -> AppendOutcome {
        let founder = try deviceChain(of: owner.accountID).chain
        let rows = try database.read { session in
            _ = try zone(id, of: owner, session)
            return try session.query(
                "SELECT link FROM links WHERE kind = 3 AND chain = $1 ORDER BY seq", [.bytes(id)])
        }
        do throws(TrustError) {
            var links: [UnverifiedLink] = []
            for row in rows { links.append(try UnverifiedLink(decoding: row[0].bytes)) }
            let chain = try VerifiedMemberChain.verify(links, founder: founder, vaultID: VaultID(id))
            let link = try UnverifiedLink(decoding: bytes)
            if link.sequenceNumber < UInt64(links.count), links[Int(link.sequenceNumber)] == link {
                return .appended(chain.wireHead)
            }
            guard link.sequenceNumber == UInt64(links.count) else { return .conflict(chain.wireHead) }
            _ = try VerifiedMemberChain.verify(links + [link], founder: founder, vaultID: VaultID(id))
            throw TrustError(.linkUnsupported, at: link.sequenceNumber)
        } catch {
            return .untrusted(error)
        }
    }

    // MARK: Parts

    func store(
        _ bytes: [UInt8], _ kind: ChainKind, _ id: [UInt8], at number: Int64, now: Int64, _ session: any SQLSession
    ) throws {
        try session.run(
            "INSERT INTO links(kind, chain, seq, link, added) VALUES($1, $2, $3, $4, $5)", .int(Int64(kind.rawValue)),
            .bytes(id), .int(number), .bytes(bytes), .int(now))
    }

    private func newestLink(of account: [UInt8], _ session: any SQLSession) throws -> [UInt8]? {
        try session.first(
            "SELECT link FROM links WHERE kind = 1 AND chain = $1 ORDER BY seq DESC LIMIT 1", .bytes(account))?[0].bytes
    }

    /// An account's device chain, in no transaction of the caller's.
    ///
    /// - Complexity: one look-up if it was used a moment ago, else one hash per link.
    func deviceChain(of account: [UInt8]) throws -> StoredDeviceChain {
        let newest = try database.lookUp(
            "SELECT link FROM links WHERE kind = 1 AND chain = $1 ORDER BY seq DESC LIMIT 1", [.bytes(account)]
        ).first
        guard let newest else { throw ServerFailure(.chainUnknown) }
        if let known = chains.chain(of: account, newest: newest[0].bytes) { return known }
        let stored = try database.read { session in
            try storedDeviceChain(account, session, verify: VerifiedDeviceChain.resume)
        }
        chains.keep(stored)
        return stored
    }

    /// Reads a chain.
    ///
    /// - Parameter verify: whether signatures are checked again: each was, before its link was stored.
    func storedDeviceChain(
        _ account: [UInt8], _ session: any SQLSession,
        verify: ([UnverifiedLink], ChainID) throws(TrustError) -> VerifiedDeviceChain
    ) throws -> StoredDeviceChain {
        let rows = try session.query(
            "SELECT link, added FROM links WHERE kind = 1 AND chain = $1 ORDER BY seq", [.bytes(account)])
        guard !rows.isEmpty, let id = ChainID(account) else { throw ServerFailure(.chainUnknown) }
        do throws(TrustError) {
            var links: [UnverifiedLink] = []
            for row in rows { links.append(try UnverifiedLink(decoding: row[0].bytes)) }
            return StoredDeviceChain(chain: try verify(links, id), times: rows.map { $0[1].int })
        } catch {
            throw ServerFailure(.storageUnavailable, "a stored chain does not verify: \(error.code.rawValue)")
        }
    }

    /// Writes who may log in, where that changed, and ends the sessions of those who may not any more.
    func setDevices(
        of chain: VerifiedDeviceChain, before: VerifiedDeviceChain?, _ session: any SQLSession
    ) throws {
        let account = chain.accountID.bytes
        for device in before?.devices ?? [] where chain.device(device.id)?.isTrusted != device.isTrusted {
            try session.run(
                "DELETE FROM devices WHERE account = $1 AND device = $2", .bytes(account), .bytes(device.id.bytes))
        }
        for device in chain.devices where before?.device(device.id)?.isTrusted != device.isTrusted {
            try session.run(
                "INSERT INTO devices(account, device, signing, revoked) VALUES($1, $2, $3, $4)", .bytes(account),
                .bytes(device.id.bytes), .bytes(device.keys.signing.bytes), .int(device.isTrusted ? 0 : 1))
        }
        for device in before?.devices ?? [] where device.isTrusted && chain.device(device.id)?.isTrusted != true {
            let id = device.id.bytes
            try session.run("DELETE FROM sessions WHERE account = $1 AND device = $2", .bytes(account), .bytes(id))
            try session.notify(.sessionsEnded(accountID: account, deviceID: id))
            try undo(by: id, of: account, session)
        }
    }
}

extension VerifiedDeviceChain {
    fileprivate var trustedCount: Int { devices.count(where: \.isTrusted) }
    var wireHead: ChainHead { ChainHead(sequenceNumber: head.sequenceNumber, linkHash: head.linkHash) }
}

extension VerifiedMemberChain {
    var wireHead: ChainHead { ChainHead(sequenceNumber: head.sequenceNumber, linkHash: head.linkHash) }
}
