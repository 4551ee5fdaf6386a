// Tables of the version before, made to those of this one. The one thing to keep true: nothing of what is kept is lost, and
// every row counts on the space of the account that it counted on before.

/// What each table of the version before becomes.
enum SchemaConversion {
    private static let indexes = ["members_by_account", "steps_by_hash", "swept_of_account", "swept_by_time"]
    private static let replaced = [
        "vaults", "members", "steps", "acks", "swept", "staging", "placed", "deletions", "invitations", "accounts",
    ]

    /// A zone's account, also of one that was deleted.
    private static let holder = "COALESCE(d.account, z.account)"
    private static let zones = "zones z LEFT JOIN before_deletions d ON d.number = z.number"

    /// Every vault had one account: the one that founded it. `$1` is an empty string.
    private static let copies = [
        "INSERT INTO accounts(account, used, created, sponsor) SELECT account, used, created, $1 FROM before_accounts",
        "INSERT INTO invitations(hash, expiry, sponsor) SELECT hash, expiry, $1 FROM before_invitations",
        """
        INSERT INTO vaults(number, links, epoch, oldest, word, people)
        SELECT number, links, epoch, oldest, word, links FROM before_vaults WHERE LENGTH(word) >= LENGTH($1)
        """,
        """
        INSERT INTO members(number, account, role, accepted, since)
        SELECT number, account, role, accepted, 0 FROM before_members WHERE LENGTH(account) > LENGTH($1)
        """,
        """
        INSERT INTO members(number, account, role, accepted, since)
        SELECT z.number, \(holder), 1, 1, 0 FROM \(zones) WHERE LENGTH(\(holder)) > LENGTH($1)
        AND NOT EXISTS (SELECT 1 FROM members m WHERE m.number = z.number)
        """,
        """
        INSERT INTO steps(number, seq, hash, account, device, payer, sort, time)
        SELECT s.number, s.seq, s.hash, s.account, s.device, \(holder), s.plain, s.time
        FROM \(zones) JOIN before_steps s ON s.number = z.number WHERE LENGTH(\(holder)) > LENGTH($1)
        """,
        """
        INSERT INTO acks(number, account, device, time, data)
        SELECT a.number, \(holder), a.device, COALESCE(h.time, 0), a.data
        FROM \(zones) JOIN before_acks a ON a.number = z.number
        LEFT JOIN heard h ON h.number = a.number AND h.device = a.device WHERE LENGTH(\(holder)) > LENGTH($1)
        """,
        """
        INSERT INTO swept(number, kind, address, digest, account, sweeper, device, size, time)
        SELECT number, kind, address, digest, account, account, device, size, time FROM before_swept
        WHERE LENGTH(account) > LENGTH($1)
        """,
        """
        INSERT INTO staging(number, account, device, time)
        SELECT s.number, z.account, s.device, s.time FROM before_staging s JOIN zones z ON z.number = s.number
        WHERE LENGTH(z.account) > LENGTH($1)
        """,
        """
        INSERT INTO placed(number, account, device, address)
        SELECT p.number, z.account, p.device, p.address FROM before_placed p JOIN zones z ON z.number = p.number
        WHERE LENGTH(z.account) > LENGTH($1)
        """,
        """
        INSERT INTO deletions(number, account, device, holder, time, size)
        SELECT number, account, device, account, time, size FROM before_deletions WHERE LENGTH(device) >= LENGTH($1)
        """,
    ]

    /// - Parameter tables: makes the tables of this version that the one before had in another form, or not at all.
    static func convert(_ session: any SQLSession, tables: String) throws {
        for index in indexes { try session.script("DROP INDEX \(index)") }
        for table in replaced { try session.script("ALTER TABLE \(table) RENAME TO before_\(table)") }
        try session.script(tables)
        for copy in copies { try session.run(copy, .bytes([])) }
        for table in replaced.map({ "before_" + $0 }) + ["heard"] { try session.script("DROP TABLE \(table)") }
    }
}
