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
    /// The link does not verify: the code that says why.
    case untrusted(String)
}

extension ServerStore {
    static let linkByteCountMaxPerAnswer: Int64 = 1 << 20
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

    /// What is new of several chains: links behind the ones that are known, and branches that recoveries replaced. Chains that
    /// are not there, or not for this account, are left out.
    package func updates(_ request: ChainUpdateRequest, for owner: SessionOwner) throws -> ChainUpdates {
        try database.read { session in
            var chains: [ChainUpdates.Chain] = []
            var room = Self.linkByteCountMaxPerAnswer
            for item in request.items {
                guard let kind = ChainKind(rawValue: item.kind) else {
                    throw ServerFailure(.malformed, "a chain's kind")
                }
                if kind == .member {
                    guard try isMember(owner, of: item.chainID, session) else { continue }
                }
                guard room > 0 else { return ChainUpdates(chains, hasMore: true) }
                let (chain, hasMore) = try updates(kind, item, &room, session)
                if let chain { chains.append(chain) }
                if hasMore { return ChainUpdates(chains, hasMore: true) }
            }
            return ChainUpdates(chains, hasMore: false)
        }
    }

    private func updates(
        _ kind: ChainKind, _ item: ChainUpdateRequest.Item, _ room: inout Int64, _ session: any SQLSession
    ) throws -> (chain: ChainUpdates.Chain?, hasMore: Bool) {
        var start = Int64(clamping: item.linkCount)
        var branches: [ChainUpdates.Branch] = []
        // Recoveries replace links of devices alone.
        let sizes =
            try kind != .device
            ? []
            : session.query(
                """
                SELECT branch, MIN(seq), CAST(SUM(LENGTH(link)) AS BIGINT) FROM branches WHERE account = $1 AND branch >= $2
                GROUP BY branch ORDER BY branch
                """, [.bytes(item.chainID), .int(Int64(clamping: item.branchCount))])
        for row in sizes {
            // A branch is given whole, so the first may be longer than an answer is else.
            guard branches.isEmpty || room > 0 else { break }
            let links = try session.query(
                "SELECT link FROM branches WHERE account = $1 AND branch = $2 ORDER BY seq",
                [.bytes(item.chainID), row[0]])
            branches.append(ChainUpdates.Branch(start: UInt64(row[1].int), links: links.map { $0[0].bytes }))
            start = min(start, row[1].int)
            room -= row[2].int
        }
        let key: [SQLValue] = [.int(Int64(kind.rawValue)), .bytes(item.chainID), .int(start)]
        // Lengths first: what is read is bounded by bytes, and not by links.
        let lengths = try session.query(
            "SELECT seq, LENGTH(link) FROM links WHERE kind = $1 AND chain = $2 AND seq >= $3 ORDER BY seq LIMIT $4",
            key + [.int(Int64(ServerLimits.linkCountMaxPerRequest))])
        var links: [[UInt8]] = []
        var isWhole = branches.count == sizes.count && lengths.count < ServerLimits.linkCountMaxPerRequest
        if let end = Self.end(of: lengths, within: max(room, 0)) {
            let rows = try session.query(
                "SELECT link FROM links WHERE kind = $1 AND chain = $2 AND seq >= $3 AND seq <= $4 ORDER BY seq",
                key + [lengths[end][0]])
            links = rows.map { $0[0].bytes }
            room -= lengths[...end].reduce(0) { $0 + $1[1].int }
            isWhole = isWhole && end == lengths.count - 1
        }
        guard !branches.isEmpty || !links.isEmpty else { return (nil, false) }
        let chain = ChainUpdates.Chain(
            kind: kind.rawValue, chainID: item.chainID, branches: branches, start: UInt64(start), links: links)
        return (chain, !isWhole)
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

    /// Adds the next link of a chain, or a recovery that replaces the links from its place on.
    package func append(
        _ bytes: [UInt8], to kind: ChainKind, _ id: [UInt8], by owner: SessionOwner
    ) throws -> AppendOutcome {
        let item = LinkPost.Item(kind: kind.rawValue, chainID: id, link: bytes)
        switch try take([item], by: owner) {
        case .taken(let heads): return .appended(heads[0])
        case .conflict(_, let head): return .conflict(head)
        case .untrusted(let code): return .untrusted(code)
        case .moved, .tooMany: throw ServerFailure(.rateExceeded)
        }
    }

    // MARK: Parts

    func store(
        _ bytes: [UInt8], _ kind: ChainKind, _ id: [UInt8], at number: Int64, now: Int64, _ session: any SQLSession
    ) throws {
        try session.run(
            "INSERT INTO links(kind, chain, seq, link, added) VALUES($1, $2, $3, $4, $5)", .int(Int64(kind.rawValue)),
            .bytes(id), .int(number), .bytes(bytes), .int(now))
        try Self.log(bytes, kind: Int64(kind.rawValue), id, session)
    }

    func newestLink(of account: [UInt8], _ session: any SQLSession) throws -> [UInt8]? {
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
        let replaced = try session.query(
            "SELECT branch, seq, link FROM branches WHERE account = $1 ORDER BY branch DESC, seq", [.bytes(account)])
        do throws(TrustError) {
            var links: [UnverifiedLink] = []
            for row in rows { links.append(try UnverifiedLink(decoding: row[0].bytes)) }
            let chain = try verify(links, id)
            // A branch is what it kept of the chain that came behind it, and its own links: so the newest comes first.
            var branches: [VerifiedDeviceChain] = []
            var rest = replaced[...]
            while let first = rest.first {
                var line = Array((branches.last ?? chain).links.prefix(Int(first[1].int)).map(\.link))
                let own = rest.prefix { $0[0] == first[0] }
                for row in own { line.append(try UnverifiedLink(decoding: row[2].bytes)) }
                branches.append(try verify(line, id))
                rest = rest.dropFirst(own.count)
            }
            return StoredDeviceChain(chain: chain, times: rows.map { $0[1].int }, branches: branches.reversed())
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
    var wireHead: ChainHead { ChainHead(sequenceNumber: head.sequenceNumber, linkHash: head.linkHash) }
}

extension VerifiedMemberRights {
    var wireHead: ChainHead {
        ChainHead(sequenceNumber: UInt64(count - 1), linkHash: links[count - 1].hash.bytes)
    }
}
