// What follows from a zone's member chain: whose push counts, whose word set the head, what may be collected. The one thing to keep true: all of it
// follows from the member chain that this server verified, and a bad push harms nobody but its author.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
package import CoffretWire

extension ServerStore {
    /// Links that look like plain checkpoints, of one device in one vault: so many in so many milliseconds (C3).
    static let plainRates: [(count: Int, milliseconds: Int64)] = [(4, 3_600_000), (26, 24 * 3_600_000)]
    static let dayMilliseconds: Int64 = 86_400_000
    /// Epochs that an account opens in a vault, and accounts that it adds to vaults.
    static let epochRate: (count: Int, milliseconds: Int64) = (20, dayMilliseconds)
    static let additionRate: (count: Int, milliseconds: Int64) = (60, dayMilliseconds)
    /// A checkpoint of this age is named by a collection whoever acknowledged it (G5).
    static let checkpointMilliseconds: Int64 = 30 * 86_400_000

    // MARK: State

    func logHead(of zone: ZoneRow) -> LogHead {
        let read = try? withCBORDecoder(zone.word) { (decoder) throws(CBORError) in try PushWord(from: &decoder) }
        return LogHead(
            address: zone.head.isEmpty ? nil : zone.head, cursor: cursor(zone.seq), epoch: UInt32(zone.epoch),
            people: UInt64(zone.people), word: read)
    }

    // MARK: Pushes

    /// Checks that a push is the word of a device that may write, under an epoch that the newest link leaves open (S5).
    func checkWord(
        for push: ZonePush, _ digests: [[UInt8]], _ zone: ZoneRow, _ id: [UInt8], by owner: SessionOwner,
        _ session: any SQLSession
    ) throws -> PushWord {
        var hasher = PushedObjectsHasher()
        for (object, digest) in zip(push.objects, digests) { hasher.add(address: object.address, digest: digest) }
        let hash = hasher.finish()
        let proof = ZoneProof.push(
            expectedHead: push.expectedHead, newHead: push.newHead, epoch: push.epoch, hash: hash)
        guard let key = try signingKey(of: owner, session), let device = UniqueID(bytes: owner.deviceID),
            (try? proof.verify(push.signature, zone: id, by: key)) != nil
        else { throw ServerFailure(.forbidden, "the push's signature") }
        guard zone.allows(.write) else { throw ServerFailure(.forbidden, "no writer") }
        guard Int64(push.epoch) >= zone.oldestEpoch else { throw ServerFailure(.epochStale) }
        guard Int64(push.epoch) <= zone.vaultEpoch else { throw ServerFailure(.epochUnknown) }
        return PushWord(
            accountID: owner.accountID, deviceID: device, expectedHead: push.expectedHead, objectsHash: hash,
            signature: push.signature)
    }

    /// Keeps the word that sets the head.
    func keep(_ word: PushWord, in zone: Int64, _ session: any SQLSession) throws {
        try session.run(
            "UPDATE vaults SET word = $1 WHERE number = $2", .bytes(CBOREncoder.encode { word.encode(to: &$0) }),
            .int(zone))
    }

    // MARK: Links

    /// Writes what the newest link says, for pushes to look up.
    func setRights(of chain: VerifiedMemberRights, in zone: Int64, _ session: any SQLSession) throws {
        let rights = chain.rights
        // A circle has no epoch, so nothing is stored in its zone.
        let epochs: (Int64, Int64) =
            chain.foundation.purpose?.terms == nil ? (Int64(rights.epoch), Int64(rights.oldestEpoch)) : (0, 0)
        try session.run(
            """
            INSERT INTO vaults(number, links, epoch, oldest, word, people, words) VALUES($1, $2, $3, $4, $5, 1, 0)
            ON CONFLICT(number) DO UPDATE SET links = excluded.links, epoch = excluded.epoch, oldest = excluded.oldest,
                people = vaults.people + 1
            """, .int(zone), .int(Int64(chain.count)), .int(epochs.0), .int(epochs.1), .bytes([]))
        try session.run("DELETE FROM members WHERE number = $1", .int(zone))
        for (account, member) in rights.members {
            try session.run(
                "INSERT INTO members(number, account, role, accepted, since) VALUES($1, $2, $3, $4, $5)", .int(zone),
                .bytes(account.bytes), .int(Int64(member.role.rawValue)), .int(member.hasAccepted ? 1 : 0),
                .int(Int64(member.addedAt)))
        }
    }

    /// C3, as far as a server can see: it reads no checkpoint, and a refutation looks like a plain one. And so many epochs
    /// of an account in a vault, and additions of it in all.
    ///
    /// - Throws: `LinksRefusal`.
    func checkRate(of effects: [MemberEffect], in zone: Int64, _ session: any SQLSession) throws {
        let time = age.now
        for some in Dictionary(grouping: effects, by: { [$0.accountID.bytes, $0.deviceID.bytes] }).values {
            guard let author = some.first else { continue }
            let (account, device) = (SQLValue.bytes(author.accountID.bytes), SQLValue.bytes(author.deviceID.bytes))
            let number = SQLValue.int(zone)
            for (sort, rate, condition, values) in [
                (MemberEffect.plainSort, Self.plainRates[0], "number = $4 AND device = $5", [number, device]),
                (MemberEffect.plainSort, Self.plainRates[1], "number = $4 AND device = $5", [number, device]),
                (MemberEffect.epochSort, Self.epochRate, "number = $4", [number]),
                (MemberEffect.additionSort, Self.additionRate, "seq > 0", []),
            ] {
                let count = some.count { $0.sort == sort }
                guard count > 0 else { continue }
                let times = try session.query(
                    """
                    SELECT time FROM steps WHERE account = $1 AND sort = $2 AND time > $3 AND \(condition) ORDER BY time
                    """, [account, .int(sort), .int(time - rate.milliseconds)] + values
                ).map { $0[0].int }
                guard let wait = Self.wait(for: count, after: times, at: time, rate: rate) else { continue }
                throw LinksRefusal(outcome: .tooMany(retryAfterSeconds: wait))
            }
        }
    }

    /// - Parameter times: of those that count against the rate, ascending.
    /// - Returns: seconds after which there is room for so many more; nil: now.
    static func wait(
        for count: Int, after times: [Int64], at time: Int64, rate: (count: Int, milliseconds: Int64)
    ) -> Int? {
        let surplus = times.count + count - rate.count
        guard surplus > 0 else { return nil }
        let free = times.isEmpty ? time : times[min(surplus, times.count) - 1]
        return Int((max(1, free + rate.milliseconds - time) + 999) / 1_000)
    }

    // MARK: Collections

    /// G5: a collection is an owner's, and names a member link that is 30 days old here or behind which another account, in a
    /// vault of one another device, has acknowledged. What was acknowledged is sealed, and its device's business.
    func checkCheckpoint(
        _ hash: [UInt8], _ zone: ZoneRow, by owner: SessionOwner, _ session: any SQLSession
    ) throws {
        let link = try session.first(
            "SELECT time FROM steps WHERE number = $1 AND hash = $2", .int(zone.number), .bytes(hash))
        guard let time = link?[0].int else { throw ServerFailure(.malformed, "no member link") }
        guard time > age.now - Self.checkpointMilliseconds else { return }
        let accounts = try session.first(
            "SELECT COUNT(*) FROM members WHERE number = $1 AND accepted = 1", .int(zone.number))
        let isAlone = (accounts?[0].int ?? 0) < 2
        let heard = try session.first(
            """
            SELECT h.device FROM acks h JOIN members m ON m.number = h.number AND m.account = h.account AND m.accepted = 1
            JOIN devices d ON d.account = h.account AND d.device = h.device AND d.revoked = 0
            WHERE h.number = $1 AND h.time >= $2 AND \(isAlone ? "h.device <> $3" : "h.account <> $3") LIMIT 1
            """, .int(zone.number), .int(time), .bytes(isAlone ? owner.deviceID : owner.accountID))
        guard heard != nil else { throw ServerFailure(.checkpointYoung) }
    }

    /// Keeps what was signed, so that who misses something learns that it was collected, and by whom.
    func keep(
        _ sweep: ZoneSweep, in zone: ZoneRow, by owner: SessionOwner, _ session: any SQLSession
    ) throws {
        guard let device = UniqueID(bytes: owner.deviceID) else { throw ServerFailure(.forbidden) }
        let statement = CollectionRecords.Statement(
            accountID: owner.accountID, deviceID: device, linkHash: sweep.linkHash, objects: sweep.objects,
            chunks: sweep.chunks, signature: sweep.signature)
        let bytes = CBOREncoder.encode { statement.encode(to: &$0) }
        let last = try session.first(
            "SELECT COALESCE(MAX(seq), 0) FROM collections WHERE number = $1", .int(zone.number))
        try session.run(
            "INSERT INTO collections(number, seq, account, data) VALUES($1, $2, $3, $4)", .int(zone.number),
            .int((last?[0].int ?? 0) + 1), .bytes(owner.accountID), .bytes(bytes))
        try charge(owner.accountID, Int64(bytes.count) + Self.rowByteCount, session, .small)
    }

    /// What was collected in a zone, as it was signed, the oldest first; at most 1 MiB, or one statement.
    ///
    /// - Parameter after: where the page before ended; empty for the beginning.
    package func collectionRecords(
        after: [UInt8], in id: [UInt8], for owner: SessionOwner
    ) throws -> CollectionRecords {
        try database.read { session in
            let zone = try zone(id, of: owner, session)
            let start = after.isEmpty ? 0 : position(after, upTo: .max)
            let sizes = try session.query(
                "SELECT seq, LENGTH(data) FROM collections WHERE number = $1 AND seq > $2 ORDER BY seq LIMIT $3",
                [.int(zone.number), .int(start), .int(Int64(ServerLimits.collectionCountMaxPerAnswer))])
            guard let end = Self.end(of: sizes, within: Self.linkByteCountMaxPerAnswer) else {
                return CollectionRecords(next: [], statements: [])
            }
            let rows = try session.query(
                "SELECT data FROM collections WHERE number = $1 AND seq > $2 AND seq <= $3 ORDER BY seq",
                [.int(zone.number), .int(start), sizes[end][0]])
            let isLast = end == sizes.count - 1 && sizes.count < ServerLimits.collectionCountMaxPerAnswer
            return CollectionRecords(
                next: isLast ? [] : cursor(sizes[end][0].int),
                statements: try rows.map { row in
                    try withCBORDecoder(row[0].bytes) { (decoder) throws(CBORError) in
                        try CollectionRecords.Statement(from: &decoder)
                    }
                })
        }
    }
}
