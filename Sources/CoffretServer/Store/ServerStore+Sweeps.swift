// Sweeps: what a device says that no kept commit needs. The one thing to keep true: what was swept is served to who asks
// for its address until its time is over, and comes back when the device that swept it is revoked.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
package import CoffretWire

/// What lies in a zone under addresses.
package enum StoredKind: Int64, Sendable, CaseIterable {
    case object = 0
    case chunk = 1

    var table: String { self == .object ? "objects" : "chunks" }
    /// The column that is above 0 for what counts, and below for what was swept: lists and streams, which begin at 0, need
    /// not look anywhere else.
    var mark: String { self == .object ? "seq" : "created" }
}

extension ServerStore {
    /// What was swept is kept so long.
    static let sweptMilliseconds: Int64 = 30 * 86_400_000
    /// What was put down without a head is waited for so long.
    static let stagingMilliseconds: Int64 = 86_400_000
    /// A note that something is put down is written anew after so long.
    private static let stagingNoteMilliseconds: Int64 = 3_600_000

    /// The addresses under which something lies that counts: objects in the order in which they were stored, chunks by
    /// address.
    ///
    /// - Parameter after: where the page before ended; empty for the beginning.
    package func storedAddresses(
        _ kind: StoredKind, after: [UInt8], in id: [UInt8], for owner: SessionOwner,
        countMax: Int = ServerLimits.addressCountMax
    ) throws -> AddressPage {
        let limit = Int64(countMax)
        return try database.read { session in
            let zone = try zone(id, of: owner, session)
            let rows: [[SQLValue]]
            if kind == .object {
                rows = try session.query(
                    "SELECT address, seq FROM objects WHERE number = $1 AND seq > $2 ORDER BY seq LIMIT $3",
                    [.int(zone.number), .int(position(after, upTo: zone.seq)), .int(limit)])
            } else {
                rows = try session.query(
                    """
                    SELECT DISTINCT address FROM chunks WHERE number = $1 AND address > $2 AND created > 0
                    ORDER BY address LIMIT $3
                    """, [.int(zone.number), .bytes(after), .int(limit)])
            }
            var next: [UInt8] = []
            if rows.count == Int(limit), let last = rows.last {
                next = kind == .object ? cursor(last[1].int) : last[0].bytes
            }
            return AddressPage(next: next, addresses: rows.map { $0[0].bytes })
        }
    }

    /// Takes objects and chunks out of a zone.
    ///
    /// - Throws: `.forbidden` for a signature that is not the session's device's, and for an account that is no owner;
    ///   `.malformed` for the head's own address and for a hash of no link; `.checkpointYoung`; `.pushPending` while another device puts something down without a head, `.quotaExceeded` if more would be kept of
    ///   what was swept than the account may use.
    package func sweep(
        _ request: ZoneSweep, of id: [UInt8], by owner: SessionOwner
    ) throws -> SweepReceipt {
        let now = now
        return try database.write { session in
            let zone = try zone(id, of: owner, session, locking: true, to: .own)
            let proof = SweepProof(
                zoneID: id, linkHash: request.linkHash, objects: request.objects, chunks: request.chunks)
            guard let key = try signingKey(of: owner, session),
                (try? proof.verify(request.signature, by: key)) != nil
            else { throw ServerFailure(.forbidden, "the sweep's signature") }
            try checkCheckpoint(request.linkHash, zone, by: owner, session)
            // All that the server itself knows to be needed.
            guard !request.objects.contains(zone.head) else { throw ServerFailure(.malformed, "the head") }
            let others = try session.first(
                "SELECT COUNT(*) FROM staging WHERE number = $1 AND (account <> $2 OR device <> $3) AND time > $4",
                .int(zone.number), .bytes(owner.accountID), .bytes(owner.deviceID),
                .int(now - Self.stagingMilliseconds))
            guard others?[0].int == 0 else { throw ServerFailure(.pushPending) }
            var byteCounts: [[UInt8]: Int64] = [:]
            var count: UInt64 = 0
            for (kind, addresses) in [(StoredKind.object, request.objects), (.chunk, request.chunks)] {
                for address in addresses {
                    for row in try sweep(kind, address, zone.number, owner, age.now, session) {
                        byteCounts[row[1].bytes, default: 0] += row[2].int
                        count += 1
                    }
                }
            }
            if count > 0 { try keep(request, in: zone, by: owner, session) }
            for (account, byteCount) in byteCounts.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                try charge(account, -byteCount, session)
            }
            // So that nobody keeps more by sweeping than by paying for it, and nothing goes before its time.
            guard try keptByteCount(of: owner.accountID, session) <= quota.byteCount else {
                throw ServerFailure(.quotaExceeded)
            }
            let byteCount = byteCounts.values.reduce(0, +) - Int64(count) * Self.rowByteCount
            return SweepReceipt(count: count, byteCount: UInt64(max(0, byteCount)))
        }
    }

    /// - Returns: digest, account and counted length of each variant that was taken out.
    func sweep(
        _ kind: StoredKind, _ address: [UInt8], _ zone: Int64, _ owner: SessionOwner, _ now: Int64,
        onlyOwn: Bool = false, _ session: any SQLSession
    ) throws -> [[SQLValue]] {
        // The sign keeps both databases from going through the whole zone by this column, instead of by the address.
        let place = "WHERE number = $1 AND address = $2 AND +\(kind.mark) > 0" + (onlyOwn ? " AND account = $3" : "")
        let key: [SQLValue] = [.int(zone), .bytes(address)] + (onlyOwn ? [.bytes(owner.accountID)] : [])
        let rows = try session.query(
            "SELECT digest, account, LENGTH(data) + \(Self.rowByteCount) FROM \(kind.table) \(place)", key)
        for row in rows {
            try session.run(
                """
                INSERT INTO swept(number, kind, address, digest, account, sweeper, device, size, time)
                VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9)
                """, .int(zone), .int(kind.rawValue), .bytes(address), row[0], row[1], .bytes(owner.accountID),
                .bytes(owner.deviceID), row[2], .int(now))
        }
        guard !rows.isEmpty else { return [] }
        try session.execute("UPDATE \(kind.table) SET \(kind.mark) = -\(kind.mark) \(place)", key)
        return rows
    }

    // MARK: Coming back

    /// Whether something of a zone was swept and is kept; elsewhere nothing can come back.
    func hasSwept(_ zone: Int64, _ session: any SQLSession) throws -> Bool {
        try session.first("SELECT kind FROM swept WHERE number = $1 LIMIT 1", .int(zone)) != nil
    }

    /// Notes that what was put down counts, and was swept no more.
    func forgetSweep(
        of kind: StoredKind, _ address: [UInt8], _ digest: [UInt8], in zone: Int64, _ session: any SQLSession
    ) throws {
        try session.run(
            "DELETE FROM swept WHERE number = $1 AND kind = $2 AND address = $3 AND digest = $4", .int(zone),
            .int(kind.rawValue), .bytes(address), .bytes(digest))
    }

    /// Takes the locks of an account's zones, which always come before the account's own.
    func lockZones(of account: [UInt8], _ session: any SQLSession) throws {
        guard !session.lockClause.isEmpty else { return }
        _ = try session.query(
            """
            SELECT number FROM zones WHERE number IN (SELECT number FROM members WHERE account = $1) ORDER BY number
            """ + session.lockClause, [.bytes(account)])
    }

    // MARK: What is under way

    /// Notes that a device puts something down that no head names yet. The zone is locked.
    func noteStaging(
        in zone: Int64, by owner: SessionOwner, _ session: any SQLSession
    ) throws {
        try session.run(
            """
            INSERT INTO staging(number, account, device, time) VALUES($1, $2, $3, $4)
            ON CONFLICT(number, account, device) DO UPDATE SET time = excluded.time WHERE staging.time < $5
            """, .int(zone), .bytes(owner.accountID), .bytes(owner.deviceID), .int(now),
            .int(now - Self.stagingNoteMilliseconds))
    }

    /// The same before a device is told what is there already, since it relies on that.
    func noteStaging(in id: [UInt8], by owner: SessionOwner) throws {
        let number = try zone(id, of: owner, to: .write).number
        let fresh = try database.lookUp(
            "SELECT time FROM staging WHERE number = $1 AND account = $2 AND device = $3 AND time >= $4",
            [
                .int(number), .bytes(owner.accountID), .bytes(owner.deviceID),
                .int(now - Self.stagingNoteMilliseconds),
            ])
        guard fresh.isEmpty else { return }
        try database.write { session in
            try noteStaging(in: zone(id, of: owner, session, locking: true, to: .write).number, by: owner, session)
        }
    }

    /// A device moved the head: what it had put down is named by it.
    func endStaging(in zone: Int64, by owner: SessionOwner, _ session: any SQLSession) throws {
        for table in ["placed", "staging"] {
            try session.run(
                "DELETE FROM \(table) WHERE number = $1 AND account = $2 AND device = $3", .int(zone),
                .bytes(owner.accountID), .bytes(owner.deviceID))
        }
    }
}
