// Zones that go, and what comes back. The one thing to keep true: whatever one device can take away is kept for 30 days,
// and is back with the link that revokes the device.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
package import CoffretWire

extension ServerStore {
    /// So many rows come back, or are deleted of a zone, in one transaction.
    private static let returnedCountMax = 256

    // MARK: Zones

    /// Takes a zone away from everybody. It is kept for 30 days, and counts on no space.
    ///
    /// - Throws: `.forbidden` for a signature that is not the session's device's; `.quotaExceeded` if more would be kept
    ///   than the account may use.
    package func deleteZone(
        _ deletion: ZoneDeletion, _ id: [UInt8], by owner: SessionOwner
    ) throws {
        let now = age.now
        try database.write { session in
            let zone = try zone(id, of: owner, session, locking: true, to: .own)
            let proof = ZoneProof.deletion(accountID: owner.accountID)
            guard let key = try signingKey(of: owner, session),
                (try? proof.verify(deletion.signature, zone: id, by: key)) != nil
            else { throw ServerFailure(.forbidden, "the deletion's signature") }
            let number = SQLValue.int(zone.number)
            // Half uploads are worth nothing to anybody.
            let uploads = try session.query(
                "SELECT DISTINCT number, address, account FROM uploads WHERE number = $1", [number])
            for upload in uploads { try dropUpload(upload, session) }
            let counted = try countedByteCounts(of: zone.number, id, session)
            let size = counted.reduce(0) { $0 + $1.byteCount }
            let deleted = try session.first(
                "SELECT COUNT(*) FROM deletions WHERE account = $1", .bytes(owner.accountID))
            guard try keptByteCount(of: owner.accountID, session) + size <= quota.byteCount,
                (deleted?[0].int ?? 0) < quota.zoneCount
            else { throw ServerFailure(.quotaExceeded) }
            for (account, byteCount) in counted { try charge(account, -byteCount, session) }
            try session.run(
                "INSERT INTO deletions(number, account, device, holder, time, size) VALUES($1, $2, $3, $4, $5, $6)",
                number, .bytes(owner.accountID), .bytes(owner.deviceID), .bytes(zone.holder), .int(now), .int(size))
            // Nobody's: whoever asks for a zone asks for one of his account.
            try session.run("UPDATE zones SET account = $1 WHERE number = $2", .bytes([]), number)
        }
    }

    /// Brings a zone back that this device deleted; makes nothing.
    ///
    /// - Returns: false if there is none.
    func bringBack(_ id: [UInt8], for owner: SessionOwner) throws -> Bool {
        try database.write { session in
            let zone = try session.first(
                "SELECT number FROM zones WHERE zone = $1 AND LENGTH(account) = 0" + session.lockClause, .bytes(id))
            guard let zone,
                let row = try session.first(
                    "DELETE FROM deletions WHERE number = $1 AND account = $2 AND device = $3 RETURNING holder",
                    zone[0],
                    .bytes(owner.accountID), .bytes(owner.deviceID))
            else { return false }
            let count = try session.first("SELECT COUNT(*) FROM zones WHERE account = $1", row[0])
            guard (count?[0].int ?? 0) < quota.zoneCount else { throw ServerFailure(.quotaExceeded) }
            try bringBack(zone[0].int, id, holder: row[0], session, .none)
            return true
        }
    }

    private func bringBack(
        _ zone: Int64, _ id: [UInt8], holder: SQLValue, _ session: any SQLSession, _ allowance: Allowance
    ) throws {
        for (account, byteCount) in try countedByteCounts(of: zone, id, session) {
            try charge(account, byteCount, session, allowance)
        }
        try session.run("UPDATE zones SET account = $1 WHERE number = $2", holder, .int(zone))
    }

    /// What is kept of sweeps and of deleted zones.
    func keptByteCount(of account: [UInt8], _ session: any SQLSession) throws -> Int64 {
        let row = try session.first(
            """
            SELECT CAST(
                (SELECT COALESCE(SUM(size), 0) FROM swept WHERE sweeper = $1)
                + (SELECT COALESCE(SUM(size), 0) FROM deletions WHERE account = $1) AS BIGINT)
            """, .bytes(account))
        return row?[0].int ?? 0
    }

    /// The key of a session's device; nil if it is not trusted any more.
    func signingKey(of owner: SessionOwner, _ session: any SQLSession) throws -> VerifyingKey? {
        let device = try session.first(
            "SELECT signing FROM devices WHERE account = $1 AND device = $2 AND revoked = 0", .bytes(owner.accountID),
            .bytes(owner.deviceID))
        return device.flatMap { try? VerifyingKey($0[0].bytes) }
    }

    // MARK: Revocations

    /// Undoes what a device took away: it was revoked, and may have done that as somebody else's. Zones are back with this;
    /// what was swept is put back by and by, and is served meanwhile. Nothing here can fail for want of room.
    func undo(by device: [UInt8], of account: [UInt8], _ session: any SQLSession) throws {
        let key: [SQLValue] = [.bytes(account), .bytes(device)]
        let deleted = try session.query(
            """
            SELECT z.number, z.zone, d.holder FROM deletions d JOIN zones z ON z.number = d.number
            WHERE d.account = $1 AND d.device = $2 ORDER BY z.number
            """, key)
        for row in deleted { try bringBack(row[0].int, row[1].bytes, holder: row[2], session, .always) }
        try session.execute("DELETE FROM deletions WHERE account = $1 AND device = $2", key)
        try session.execute("INSERT INTO returns(account, device) VALUES($1, $2) ON CONFLICT DO NOTHING", key)
    }

    /// Puts some of what a revoked device swept back.
    ///
    /// - Returns: whether there may be more.
    func putBack() throws -> Bool {
        let due = try database.lookUp(
            """
            SELECT r.account, r.device, s.number FROM returns r JOIN swept s ON s.sweeper = r.account AND s.device = r.device
            WHERE NOT EXISTS (SELECT 1 FROM deletions d WHERE d.number = s.number) LIMIT 1
            """, []
        ).first
        guard let due else {
            // A zone that was deleted may come back yet, with what was swept of it.
            try database.write { session in
                try session.run(
                    """
                    DELETE FROM returns WHERE NOT EXISTS (SELECT 1 FROM swept
                        WHERE swept.sweeper = returns.account AND swept.device = returns.device)
                    """)
            }
            return false
        }
        try database.write { session in
            guard let zone = try session.first("SELECT seq FROM zones WHERE number = $1" + session.lockClause, due[2])
            else { return }
            let rows = try session.query(
                """
                SELECT kind, address, digest, size, account FROM swept WHERE number = $1 AND sweeper = $2 AND device = $3
                ORDER BY kind, address, digest LIMIT \(Self.returnedCountMax)
                """, [due[2], due[0], due[1]])
            var seq = zone[0].int
            var byteCounts: [[UInt8]: Int64] = [:]
            for row in rows {
                let kind = StoredKind(rawValue: row[0].int) ?? .object
                // At the end, so that whoever reads on from a cursor meets them.
                if kind == .object { seq += 1 }
                try session.run(
                    """
                    UPDATE \(kind.table) SET \(kind.mark) = $1
                    WHERE number = $2 AND address = $3 AND digest = $4 AND \(kind.mark) < 0
                    """, .int(kind == .object ? seq : now), due[2], row[1], row[2])
                try forgetSweep(of: kind, row[1].bytes, row[2].bytes, in: due[2].int, session)
                byteCounts[row[4].bytes, default: 0] += row[3].int
            }
            // The space was theirs before: it comes back whatever else came meanwhile.
            for (account, byteCount) in byteCounts.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                try charge(account, byteCount, session, .always)
            }
            try session.run("UPDATE zones SET seq = $1 WHERE number = $2", .int(seq), due[2])
        }
        return true
    }

    // MARK: Ends

    /// Deletes some of what lies in a zone that was deleted 30 days ago.
    ///
    /// - Returns: whether there may be more.
    func deleteEnded() throws -> Bool {
        let end = SQLValue.int(age.now - Self.sweptMilliseconds)
        guard let number = try database.lookUp("SELECT number FROM deletions WHERE time < $1 LIMIT 1", [end]).first?[0]
        else { return false }
        try database.write { session in
            guard
                let zone = try session.first(
                    "SELECT zone FROM zones WHERE number = $1 AND LENGTH(account) = 0" + session.lockClause, number)
            else { return }
            // From here on it can not come back, half of it gone.
            try session.run(
                "UPDATE deletions SET account = $1, device = $2, size = 0 WHERE number = $3", .bytes([]), .bytes([]),
                number)
            for (table, key) in [("objects", "seq"), ("chunks", "digest")] {
                let count = try session.run(
                    """
                    DELETE FROM \(table) WHERE number = $1 AND \(key) IN
                        (SELECT \(key) FROM \(table) WHERE number = $2 LIMIT \(Self.returnedCountMax))
                    """, number, number)
                if count > 0 { return }
            }
            for table in [
                "acks", "swept", "staging", "placed", "deletions", "vaults", "members", "steps", "collections",
                "histories",
                "keyletters",
            ] {
                try session.run("DELETE FROM \(table) WHERE number = $1", number)
            }
            try session.run("DELETE FROM links WHERE kind = 3 AND chain = $1", zone[0])
            try session.run("DELETE FROM zones WHERE number = $1", number)
        }
        return true
    }

    // MARK: What nobody relies on yet

    /// Takes back a chunk that this device put down and that no head of its names: kept like what was swept. Nothing happens
    /// to any other.
    package func withdrawChunk(address: [UInt8], in id: [UInt8], by owner: SessionOwner) throws {
        let now = age.now
        try database.write { session in
            let zone = try zone(id, of: owner, session, locking: true, to: .write)
            try dropUpload([.int(zone.number), .bytes(address), .bytes(owner.accountID)], session)
            let own = try session.run(
                "DELETE FROM placed WHERE number = $1 AND account = $2 AND device = $3 AND address = $4",
                .int(zone.number),
                .bytes(owner.accountID), .bytes(owner.deviceID), .bytes(address))
            guard own > 0 else { return }
            let rows = try sweep(.chunk, address, zone.number, owner, now, onlyOwn: true, session)
            for row in rows { try charge(row[1].bytes, -row[2].int, session) }
            guard try keptByteCount(of: owner.accountID, session) <= quota.byteCount else {
                throw ServerFailure(.quotaExceeded)
            }
        }
    }

    /// Notes that a device put a chunk down, until it moves the head.
    func notePlaced(
        _ address: [UInt8], in zone: Int64, by owner: SessionOwner, _ session: any SQLSession
    ) throws {
        try session.run(
            "INSERT INTO placed(number, account, device, address) VALUES($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            .int(zone), .bytes(owner.accountID), .bytes(owner.deviceID), .bytes(address))
    }
}
