// Identity chains of accounts. The one thing to keep true: a link is stored behind exactly the link that it was verified
// against, with the account's devices as they are with what comes before it in the same request.

internal import CoffretBase
internal import CoffretTrust
internal import CoffretWire

/// An account's identity chain as it is stored, and with the links of a request.
struct StoredIdentity {
    /// The number of links that are stored.
    let storedCount: Int
    /// nil before there is a link.
    var chain: VerifiedIdentityChain?
}

extension ServerStore {
    /// Links of an account's identity chain in a day.
    static let identityRate = 8
    private static let identityLinkCountMax = 100_000

    /// Judges the next link of the account's identity chain.
    ///
    /// - Returns: the refusal; nil if it verifies, or is there already.
    func judge(
        identity link: UnverifiedLink, _ item: LinkPost.Item, _ index: Int, _ batch: inout LinkBatch
    ) throws -> LinksOutcome? {
        let devices = AccountDevices(batch.device.chain, replaced: batch.device.branches)
        var stored = try batch.identity ?? storedIdentity(devices)
        defer { batch.identity = stored }
        let (number, count) = (link.sequenceNumber, stored.chain?.links.count ?? 0)
        if let known = stored.chain?.links, number < UInt64(count), known[Int(number)].link == link {
            batch.heads.append(ChainHead(sequenceNumber: number, linkHash: known[Int(number)].hash))
            return nil
        }
        guard number == UInt64(count) else {
            guard let chain = stored.chain else { return .untrusted(TrustError.Code.chainGap.rawValue) }
            return .conflict(index: index, chain.wireHead)
        }
        let chain: VerifiedIdentityChain
        do throws(TrustError) {
            chain =
                if let known = stored.chain { try known.following([link], devices: devices) } else {
                    try VerifiedIdentityChain.verify([link], devices: devices)
                }
        } catch {
            guard let known = stored.chain, error.code == .chainForked || error.code == .chainBroken else {
                return .untrusted(error.code.rawValue)
            }
            return .conflict(index: index, known.wireHead)
        }
        guard count < Self.identityLinkCountMax else { throw ServerFailure(.quotaExceeded) }
        stored.chain = chain
        batch.identitySteps.append(LinkBatch.IdentityStep(bytes: item.link, number: number))
        batch.heads.append(chain.wireHead)
        return nil
    }

    /// - Complexity: one hash for each link.
    private func storedIdentity(_ devices: AccountDevices) throws -> StoredIdentity {
        let rows = try database.lookUp(
            "SELECT link FROM links WHERE kind = 2 AND chain = $1 ORDER BY seq", [.bytes(devices.accountID.bytes)])
        guard !rows.isEmpty else { return StoredIdentity(storedCount: 0, chain: nil) }
        do throws(TrustError) {
            var links: [UnverifiedLink] = []
            for row in rows { links.append(try UnverifiedLink(decoding: row[0].bytes)) }
            return StoredIdentity(
                storedCount: rows.count, chain: try VerifiedIdentityChain.resume(links, devices: devices))
        } catch {
            throw ServerFailure(.storageUnavailable, "a stored identity chain does not verify")
        }
    }

    /// Stores a request's links of the account's identity chain. The account is locked.
    ///
    /// - Throws: `LinksRefusal`, with nothing stored.
    func store(
        _ batch: LinkBatch, identityOf account: [UInt8], now: Int64, _ session: any SQLSession
    ) throws {
        guard let identity = batch.identity, let last = batch.identitySteps.last else { return }
        let key = SQLValue.bytes(account)
        let count = try session.first("SELECT COUNT(*) FROM links WHERE kind = 2 AND chain = $1", key)
        guard count?[0].int == Int64(identity.storedCount) else { throw LinksRefusal(outcome: nil) }
        let times = try session.query(
            "SELECT added FROM links WHERE kind = 2 AND chain = $1 AND added > $2 ORDER BY added",
            [key, .int(now - Self.dayMilliseconds)]
        ).map { $0[0].int }
        if let wait = Self.wait(
            for: batch.identitySteps.count, after: times, at: now, rate: (Self.identityRate, Self.dayMilliseconds))
        {
            throw LinksRefusal(outcome: .tooMany(retryAfterSeconds: wait))
        }
        for step in batch.identitySteps {
            try store(step.bytes, .identity, account, at: Int64(step.number), now: now, session)
            try charge(account, Int64(step.bytes.count) + Self.rowByteCount, session, .small)
        }
        try noteNews(of: account, session)
        let event = ServerEvent.chain(kind: ChainKind.identity.rawValue, id: account, sequenceNumber: last.number)
        try tellFellows(of: account, event, session)
    }
}

extension VerifiedIdentityChain {
    fileprivate var wireHead: ChainHead { ChainHead(sequenceNumber: head.sequenceNumber, linkHash: head.linkHash) }
}
