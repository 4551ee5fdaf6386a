// Backup, restore, doctor. The one thing to keep true: a backup is read in one transaction, and nothing is restored
// over what is there.

internal import CPlatform
internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
internal import Glibc

extension ServerCommands {
    /// The tables that a backup holds, with their columns: the first `keyCount` of them are the key, by which rows are
    /// read. Challenges, sessions and half uploads are not worth keeping.
    private typealias BackedTable = (name: String, keyCount: Int, columns: [String])

    private static let tables: [BackedTable] = [
        ("accounts", 1, ["account", "used", "created", "sponsor"]),
        ("links", 3, ["kind", "chain", "seq", "link", "added"]),
        ("branches", 3, ["account", "branch", "seq", "link", "added"]),
        ("devices", 2, ["account", "device", "signing", "revoked"]), ("invitations", 1, ["hash", "expiry", "sponsor"]),
        ("zones", 1, ["number", "zone", "account", "head", "epoch", "seq"]),
        ("vaults", 1, ["number", "links", "epoch", "oldest", "word", "people", "words"]),
        ("members", 2, ["number", "account", "role", "accepted", "since"]),
        ("steps", 2, ["number", "seq", "hash", "account", "device", "payer", "sort", "time"]),
        ("objects", 2, ["number", "seq", "address", "digest", "account", "data"]),
        ("chunks", 3, ["number", "address", "digest", "account", "created", "data"]),
        ("acks", 3, ["number", "account", "device", "time", "data"]),
        ("mail", 1, ["id", "account", "device", "created", "data"]),
        ("swept", 4, ["number", "kind", "address", "digest", "account", "sweeper", "device", "size", "time"]),
        ("staging", 3, ["number", "account", "device", "time"]),
        ("deletions", 1, ["number", "account", "device", "holder", "time", "size"]),
        ("letters", 4, ["account", "sender", "purpose", "scope", "id", "created", "data"]),
        ("contacts", 2, ["account", "contact", "expiry"]), ("tokens", 2, ["account", "hash", "expiry", "uses"]),
        ("histories", 1, ["number", "epoch", "account", "data"]),
        ("keyletters", 2, ["number", "account", "epoch", "sender", "data"]),
        ("log", 1, ["seq", "entry"]), ("lognodes", 2, ["level", "seq", "hash"]),
        ("returns", 2, ["account", "device"]), ("collections", 2, ["number", "seq", "account", "data"]),
    ]
    /// Few rows at a time: one may be a mebibyte.
    private static let pageRowCount = 64

    /// Copies one consistent state into a new SQLite file, whatever the database is.
    static func backup(_ configuration: ServerConfiguration, to path: String) throws -> String {
        guard unsafe access(path, F_OK) != 0 else {
            throw ServerFailure(.dataDirectory, "\(path) exists; nothing was changed")
        }
        let source = try store(configuration)
        // Under another name until it is whole, so that nothing else is ever taken for a backup.
        let unfinished = path + ".unfinished"
        removeDatabase(unfinished)
        let count: Int
        do {
            count = try fill(unfinished, from: source.database)
        } catch {
            removeDatabase(unfinished)
            throw error
        }
        try place(unfinished, at: path)
        return "\(count) rows backed up"
    }

    /// Makes a new database of what another holds, with no log beside it: until it is whole it is nobody's.
    private static func fill(_ path: String, from source: any SQLDatabase) throws -> Int {
        let target = try SQLiteDatabase(unfinished: path)
        defer { target.close() }
        try ServerStore.initialize(target, random: SystemRandomSource())
        let count = try copy(from: source, to: target)
        let descriptor = unsafe coffret_open(path, O_RDONLY, 0)
        defer { close(descriptor) }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw ServerFailure(.storageUnavailable, "\(path) cannot be written (errno \(errno))")
        }
        return count
    }

    /// Puts a file that is whole, and on the disk, into its place for good.
    private static func place(_ unfinished: String, at path: String) throws {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let descriptor = unsafe coffret_open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY, 0)
        defer { close(descriptor) }
        guard unsafe rename(unfinished, path) == 0, fsync(descriptor) == 0 else {
            let number = errno
            removeDatabase(unfinished)
            throw ServerFailure(.dataDirectory, "\(path) cannot be made (errno \(number))")
        }
    }

    private static func removeDatabase(_ path: String) {
        for suffix in ["", "-wal", "-shm"] { _ = unsafe unlink(path + suffix) }
    }

    /// Fills an empty database from a backup. Its cursors are new, so devices read from the beginning and nothing is missed.
    static func restore(_ configuration: ServerConfiguration, from path: String) throws -> String {
        guard unsafe access(path, R_OK) == 0 else { throw ServerFailure(.dataDirectory, "\(path) cannot be read") }
        let target = try store(configuration, serving: true)
        let unusable = ServerFailure(
            .dataDirectory, "\(path) is no backup of coffret-server, or is damaged; nothing was changed")
        let source: SQLiteDatabase
        do {
            source = try SQLiteDatabase(path: path)
            _ = try source.read { session in try ServerSchema.check(session) }
        } catch {
            throw ServerFailure(error).detail == ServerSchema.otherVersion.detail ? error : unusable
        }
        defer { source.close() }
        let held = try target.database.lookUp("SELECT COUNT(*) FROM accounts", [])
        guard held.first?[0].int == 0 else {
            throw ServerFailure(.dataDirectory, "the database is not empty; nothing was changed")
        }
        do {
            guard configuration.postgres == nil else {
                return "\(try copy(from: source, to: target.database)) rows restored"
            }
            // A database of its own, in place of the empty one: no log takes what is restored a second time.
            target.database.close()
            let path = configuration.dataDirectory + "/" + databaseName
            removeDatabase(path + ".unfinished")
            let count = try fill(path + ".unfinished", from: source)
            for suffix in ["-wal", "-shm"] { _ = unsafe unlink(path + suffix) }
            try place(path + ".unfinished", at: path)
            return "\(count) rows restored"
        } catch {
            if configuration.postgres == nil {
                removeDatabase(configuration.dataDirectory + "/" + databaseName + ".unfinished")
            }
            // The database that is filled was made a moment ago.
            throw ServerFailure(error).detail.hasPrefix("sqlite.corrupt") ? unusable : error
        }
    }

    private static func copy(
        from source: any SQLDatabase, to target: any SQLDatabase
    ) throws -> Int {
        // SAFETY of the nesting: two databases, one reading, one writing.
        try source.read { from in
            try target.write { to in
                var total = 0
                // Half uploads stay behind, and count no more.
                let uploads = try from.query(
                    """
                    SELECT account, CAST(SUM(LENGTH(data) + \(ServerStore.rowByteCount)) AS BIGINT) FROM uploads
                    GROUP BY account
                    """, [])
                for table in tables {
                    let list = table.columns.joined(separator: ", ")
                    let places = table.columns.indices.map { "$\($0 + 1)" }
                    let key = table.columns.prefix(table.keyCount).joined(separator: ", ")
                    let insertion = "INSERT INTO \(table.name)(\(list)) VALUES(\(places.joined(separator: ", ")))"
                    // Each page begins after the last row's key: a place in the index, not a count of rows to skip.
                    let after = "WHERE (\(key)) > (\(places.prefix(table.keyCount).joined(separator: ", ")))"
                    var last: [SQLValue] = []
                    while true {
                        let rows = try from.query(
                            "SELECT \(list) FROM \(table.name) \(last.isEmpty ? "" : after) ORDER BY \(key) LIMIT \(pageRowCount)",
                            last)
                        for row in rows { try to.execute(insertion, row) }
                        total += rows.count
                        guard let end = rows.last, rows.count == pageRowCount else { break }
                        last = Array(end.prefix(table.keyCount))
                    }
                }
                for row in uploads {
                    try to.run("UPDATE accounts SET used = used - $1 WHERE account = $2", row[1], row[0])
                }
                // What is kept for days is kept as long after a restore.
                let age = try from.first("SELECT value FROM meta WHERE name = $1", ServerSchema.ageName)
                if let age { try to.run(ServerStore.ageStatement, ServerSchema.ageName, age[0]) }
                // The log goes on with its key: who kept a checkpoint of it sees what a restore took away.
                let key = try from.first("SELECT value FROM meta WHERE name = $1", ServerStore.keyLogKeyName)
                if let key {
                    try to.run(ServerStore.ageStatement, ServerStore.keyLogKeyName, key[0])
                } else {
                    // Whoever serves first makes one, and puts all links into the log.
                    try to.run("DELETE FROM meta WHERE name = $1", ServerStore.keyLogKeyName)
                }
                try to.goOnAfterNumbers()
                return total
            }
        }
    }

    /// What was swept is in the list of that, or nobody would ever delete it; and what is in the list is there.
    ///
    /// - Returns: how many entries were swept and are kept.
    private static func checkSwept(
        _ session: any SQLSession, _ faults: inout [String]
    ) throws -> Int64 {
        var total: Int64 = 0
        for kind in StoredKind.allCases {
            let marked = try session.first("SELECT COUNT(*) FROM \(kind.table) WHERE \(kind.mark) < 0")?[0].int ?? 0
            let listed =
                try session.first(
                    """
                    SELECT COUNT(*) FROM swept s JOIN \(kind.table) t
                    ON t.number = s.number AND t.address = s.address AND t.digest = s.digest 
                    AND LENGTH(t.data) + \(ServerStore.rowByteCount) = s.size
                    WHERE s.kind = $1 AND t.\(kind.mark) < 0
                    """, .int(kind.rawValue))?[0].int ?? 0
            let all = try session.first("SELECT COUNT(*) FROM swept WHERE kind = $1", .int(kind.rawValue))?[0].int ?? 0
            if marked != listed || listed != all {
                faults.append("of \(kind.table) \(marked) are marked as swept, and \(all) listed")
            }
            total += marked
        }
        return total
    }

    /// Checks what is stored: every chain verifies, every object has its digest, every sum is right.
    static func doctor(_ configuration: ServerConfiguration) throws -> (report: String, isGood: Bool) {
        let store = try store(configuration)
        var faults: [String] = []
        var report = ["database: good"]
        try store.database.read { session in
            let accounts = try session.query("SELECT account, used FROM accounts", [])
            for row in accounts {
                let stored = try? store.storedDeviceChain(row[0].bytes, session) { (links, id) throws(TrustError) in
                    try VerifiedDeviceChain.verify(links, accountID: id)
                }
                if stored == nil { faults.append("a device chain does not verify") }
                let used = try store.countedByteCount(of: row[0], session)
                if used != row[1].int {
                    faults.append("an account's used space is \(row[1].int), and should be \(used)")
                }
            }
            var objectCount = 0
            for table in ["objects", "chunks"] {
                var last: [SQLValue] = [.int(-1), .bytes([]), .bytes([])]
                while true {
                    let rows = try session.query(
                        """
                        SELECT number, address, digest, data FROM \(table)
                        WHERE (number, address, digest) > ($1, $2, $3) ORDER BY number, address, digest LIMIT 64
                        """, last)
                    for row in rows where BLAKE2b.hash(row[3].bytes) != row[2].bytes {
                        faults.append("an entry of \(table) has another digest")
                    }
                    objectCount += rows.count
                    guard let end = rows.last, rows.count == 64 else { break }
                    last = Array(end.prefix(3))
                }
            }
            faults += try ServerStore.keyLogFaults(session)
            let sweptCount = try checkSwept(session, &faults)
            report.append("accounts: \(accounts.count), objects: \(objectCount), swept and kept: \(sweptCount)")
        }
        if configuration.certificateFile == nil, !configuration.listen.hasPrefix("127."),
            !configuration.listen.hasPrefix("[::1]")
        {
            report.append("note: without TLS on an address that others reach; put a proxy in front")
        }
        report += faults.map { "fault: \($0)" }
        report.append(faults.isEmpty ? "nothing is wrong" : "\(faults.count) faults")
        return (report.joined(separator: "\n"), faults.isEmpty)
    }
}
