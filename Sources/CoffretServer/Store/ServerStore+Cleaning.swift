// What goes when its time is over. The one thing to keep true: it goes a little at a time, so that others get their turn
// and an end is not waited for, and what counted on somebody's space counts no more.

internal import CoffretBase

extension ServerStore {
    /// So many rows are deleted in one transaction, and so many of their bytes behind which no further one is begun.
    private static let deletedCountMax = 256
    private static let deletedByteCountMax: Int64 = 16 << 20
    private static let uploadMilliseconds: Int64 = 86_400_000
    private static let mailMilliseconds: Int64 = 90 * 86_400_000

    /// Removes what has expired: challenges, sessions, half uploads after a day, what was swept or deleted after 30 days, mail after 90; what a revoked device swept is put back.
    /// The newest mail for a device stays: a device on paper fetches it when all others are lost, whenever that is.
    ///
    /// - Parameter mayGoOn: asked again and again; false leaves the rest for the next time.
    package func clean(while mayGoOn: () -> Bool = { true }) throws {
        try noteAge()
        let now = now
        try database.write { session in
            try session.run("DELETE FROM challenges WHERE expiry < $1", .int(now))
            try session.run("DELETE FROM sessions WHERE expiry < $1", .int(now))
            for table in ["invitations", "contacts", "tokens"] {
                try session.run("DELETE FROM \(table) WHERE expiry < $1", .int(now))
            }
            try session.run("DELETE FROM staging WHERE time < $1", .int(now - Self.stagingMilliseconds))
            try session.run(
                """
                DELETE FROM placed WHERE NOT EXISTS (SELECT 1 FROM staging s
                    WHERE s.number = placed.number AND s.account = placed.account AND s.device = placed.device)
                """)
        }
        while mayGoOn(), try deleteMail() {}
        while mayGoOn(), try deleteOldLetters() {}
        while mayGoOn(), try dropUpload() {}
        while mayGoOn(), try putBack() {}
        while mayGoOn(), try deleteSwept() {}
        while mayGoOn(), try deleteEnded() {}
        while mayGoOn(), try database.giveBackSpace() {}
    }

    /// Deletes mail that nobody took in time.
    ///
    /// - Returns: whether there may be more.
    private func deleteMail() throws -> Bool {
        let end = SQLValue.int(age.now - Self.mailMilliseconds)
        return try database.write { session in
            let rows = try session.query(
                """
                DELETE FROM mail WHERE id IN (SELECT id FROM mail WHERE created < $1 AND (device = $2 OR
                    EXISTS (SELECT 1 FROM mail AS later WHERE later.account = mail.account
                        AND later.device = mail.device AND later.created > mail.created)) LIMIT \(Self.deletedCountMax))
                RETURNING account, LENGTH(data)
                """, [end, .bytes([])])
            var byteCounts: [[UInt8]: Int64] = [:]
            for row in rows { byteCounts[row[0].bytes, default: 0] += row[1].int + Self.rowByteCount }
            for (account, byteCount) in byteCounts.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                try charge(account, -byteCount, session)
            }
            return rows.count == Self.deletedCountMax
        }
    }

    /// Forgets an upload of which no part came for a day.
    ///
    /// - Returns: whether there may be more.
    private func dropUpload() throws -> Bool {
        let end = SQLValue.int(age.now - Self.uploadMilliseconds)
        let resting = try database.lookUp(
            """
            SELECT number, address, account FROM uploads GROUP BY number, address, account HAVING MAX(updated) < $1
            LIMIT 1
            """, [end]
        ).first
        guard let key = resting else { return false }
        try database.write { session in
            try lockZone(key[0], session)
            let fresh = try session.query(
                "SELECT start FROM uploads WHERE number = $1 AND address = $2 AND account = $3 AND updated >= $4",
                key + [end])
            if fresh.isEmpty { try dropUpload(key, session) }
        }
        return true
    }

    /// Deletes what was swept and whose time is over.
    ///
    /// - Returns: whether there may be more.
    private func deleteSwept() throws -> Bool {
        let end = SQLValue.int(age.now - Self.sweptMilliseconds)
        // What is on its way back stays, however long that takes.
        let kept = "NOT EXISTS (SELECT 1 FROM returns r WHERE r.account = swept.sweeper AND r.device = swept.device)"
        guard
            let zone = try database.lookUp("SELECT number FROM swept WHERE time < $1 AND \(kept) LIMIT 1", [end]).first
        else { return false }
        try database.write { session in
            try lockZone(zone[0], session)
            // The sign: by the time, and not through all that was swept of the zone.
            let rows = try session.query(
                """
                SELECT kind, address, digest, size FROM swept WHERE +number = $1 AND time < $2 AND \(kept)
                LIMIT \(Self.deletedCountMax)
                """, [zone[0], end])
            var byteCount: Int64 = 0
            for row in rows where byteCount < Self.deletedByteCountMax {
                byteCount += row[3].int
                let kind = StoredKind(rawValue: row[0].int) ?? .object
                try session.run(
                    "DELETE FROM \(kind.table) WHERE number = $1 AND address = $2 AND digest = $3 AND \(kind.mark) < 0",
                    zone[0], row[1], row[2])
                try forgetSweep(of: kind, row[1].bytes, row[2].bytes, in: zone[0].int, session)
            }
        }
        return true
    }

    /// The zone's lock first, as everybody does; one that is gone has nothing any more.
    private func lockZone(_ number: SQLValue, _ session: any SQLSession) throws {
        _ = try session.first("SELECT seq FROM zones WHERE number = $1" + session.lockClause, number)
    }
}
