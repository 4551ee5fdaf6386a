// Databases of the version before: they are brought up to this one with all that is in them, once, whoever comes first.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

@Suite("Server upgrades")
struct ServerUpgradeTests {
    /// Tables that the version before had in another form, and what they held of a database whose vaults have one account.
    private static let formerTables: [(name: String, columns: String, content: String)] = [
        (
            "vaults",
            """
            number BIGINT NOT NULL PRIMARY KEY, links BIGINT NOT NULL, epoch BIGINT NOT NULL, oldest BIGINT NOT NULL,
            word BYTES NOT NULL
            """, "number, links, epoch, oldest, word"
        ),
        (
            "members",
            """
            number BIGINT NOT NULL, account BYTES NOT NULL, role BIGINT NOT NULL, accepted BIGINT NOT NULL,
            PRIMARY KEY(number, account)
            """, "number, account, role, accepted"
        ),
        (
            "steps",
            """
            number BIGINT NOT NULL, seq BIGINT NOT NULL, hash BYTES NOT NULL, account BYTES NOT NULL,
            device BYTES NOT NULL, plain BIGINT NOT NULL, time BIGINT NOT NULL, PRIMARY KEY(number, seq)
            """, "number, seq, hash, account, device, sort, time"
        ),
        (
            "acks", "number BIGINT NOT NULL, device BYTES NOT NULL, data BYTES NOT NULL, PRIMARY KEY(number, device)",
            "number, device, data"
        ),
        (
            "swept",
            """
            number BIGINT NOT NULL, kind BIGINT NOT NULL, address BYTES NOT NULL, digest BYTES NOT NULL,
            account BYTES NOT NULL, device BYTES NOT NULL, size BIGINT NOT NULL, time BIGINT NOT NULL,
            PRIMARY KEY(number, kind, address, digest)
            """, "number, kind, address, digest, account, device, size, time"
        ),
        (
            "staging",
            "number BIGINT NOT NULL, device BYTES NOT NULL, time BIGINT NOT NULL, PRIMARY KEY(number, device)",
            "number, device, time"
        ),
        (
            "placed",
            """
            number BIGINT NOT NULL, device BYTES NOT NULL, address BYTES NOT NULL, PRIMARY KEY(number, device, address)
            """, "number, device, address"
        ),
        (
            "deletions",
            """
            number BIGINT NOT NULL PRIMARY KEY, account BYTES NOT NULL, device BYTES NOT NULL, time BIGINT NOT NULL,
            size BIGINT NOT NULL
            """, "number, account, device, time, size"
        ),
        ("invitations", "hash BYTES NOT NULL PRIMARY KEY, expiry BIGINT NOT NULL", "hash, expiry"),
        (
            "accounts", "account BYTES NOT NULL PRIMARY KEY, used BIGINT NOT NULL, created BIGINT NOT NULL",
            "account, used, created"
        ),
    ]
    private static let newTables = [
        "histories", "keyletters", "letters", "contacts", "tokens", "log", "lognodes",
    ]
    private static let formerIndexes = [
        "members_by_account ON members(account)", "steps_by_hash ON steps(number, hash)",
        "swept_of_account ON swept(account, device)", "swept_by_time ON swept(time)",
    ]
    private static let indexes = [
        "members_by_account", "steps_by_hash", "steps_by_payer", "steps_by_account", "accounts_of_sponsor",
        "acks_of_account", "swept_of_sweeper", "swept_by_time",
    ]

    /// Makes of a database what the version before had.
    private static func age(_ database: any SQLDatabase) throws {
        try database.write { session in
            try session.script(
                """
                CREATE TABLE heard(number BIGINT NOT NULL, account BYTES NOT NULL, device BYTES NOT NULL,
                    time BIGINT NOT NULL, PRIMARY KEY(number, account, device));
                INSERT INTO heard SELECT number, account, device, time FROM acks
                """.replacingOccurrences(of: "BYTES", with: session.bytesType))
            for table in newTables { try session.script("DROP TABLE \(table)") }
            for index in indexes { try session.script("DROP INDEX \(index)") }
            for table in formerTables {
                let columns = table.columns.replacingOccurrences(of: "BYTES", with: session.bytesType)
                try session.script("ALTER TABLE \(table.name) RENAME TO later_\(table.name)")
                try session.script("CREATE TABLE \(table.name)(\(columns))")
                try session.script("INSERT INTO \(table.name) SELECT \(table.content) FROM later_\(table.name)")
                try session.script("DROP TABLE later_\(table.name)")
            }
            for index in formerIndexes { try session.script("CREATE INDEX \(index)") }
            // All links come into the log when its key is made.
            _ = try session.execute("DELETE FROM meta WHERE name = $1", [.bytes(Array("log-key".utf8))])
            // The name and the value are those of the row "version".
            _ = try session.execute(
                "UPDATE meta SET value = $1 WHERE name = $2", [.bytes([4]), .bytes(Array("version".utf8))])
        }
    }

    private static func open(_ database: any SQLDatabase) throws -> ServerStore {
        try ServerStore(database: database, random: SystemRandomSource(), clock: SystemWallClock())
    }

    /// Fills a database, ages it, opens it several times at once, and goes on in both kinds of zones.
    private static func check(_ database: any SQLDatabase) throws {
        let world = try StoreWorld(database)
        let account = try world.account()
        let zone = try world.zone(account)
        let object = ZoneObject.random()
        try world.push([object], on: nil, in: zone, by: account.owner)
        let logs = try world.logVault(account)
        try world.store.acknowledge([1, 2], in: logs.id, by: account.owner)
        let used = try world.store.usage(of: account.owner)
        try age(database)
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            #expect(throws: Never.self) { _ = try open(database) }
        }
        let store = try open(database)
        #expect(try store.head(zone, for: account.owner).address == object.address)
        #expect(try world.pull(zone, account).0 == [object])
        let next = ZoneObject.random()
        try world.push([next], on: object.address, in: zone, by: account.owner)
        let vault = try world.logVault(account)
        #expect(try world.logHead(vault).address == nil)
        let entry = Acknowledgements.Entry(accountID: account.id, deviceID: account.device.id, bytes: [1, 2])
        #expect(try store.acknowledgements(in: logs.id, for: account.owner) == Acknowledgements([entry]))
        try world.post(logs.link(), to: logs)
        #expect(try store.memberships(of: account.owner).entries.map(\.zone) == [logs.id, vault.id])
        let now = try store.usage(of: account.owner).usedByteCount
        #expect(now > used.usedByteCount)
        #expect(try store.countedByteCount(of: account.id, in: database) == Int64(now))
    }

    @Test("on SQLite")
    func sqlite() throws {
        let folder = try TemporaryDirectory("server-upgrade")
        let database = try SQLiteDatabase(path: folder.file("d"))
        try Self.check(database)
        database.close()
    }

    @Test("on PostgreSQL", .enabled(if: PostgresCluster.isAvailable, "needs PostgreSQL's programs"))
    func postgres() throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        let database = try PostgresDatabase(connection: cluster.database())
        try Self.check(database)
        database.close()
    }

    @Test("a server serves from a database of the version before, and a backup of that version is restored")
    func process() throws {
        let folder = try ServerProcessTests.folder()
        let path = folder.file("data") + "/server.sqlite"
        var server = try ServerProcessTests.open(folder)
        let client = try ServerProcessTests.client(server)
        let zone = try ServerProcessTests.zone(client)
        let object = ZoneObject.random()
        #expect(try client.push(zone, from: nil, to: object.address, [object]).status == 200)
        #expect(server.stop() == 0)
        let backup = folder.file("backup")
        #expect(try ServerProcess.run("backup", "--data", folder.file("data"), backup).exitCode == 0)
        for file in [path, backup] {
            let database = try SQLiteDatabase(path: file)
            try Self.age(database)
            database.close()
        }
        server = try ServerProcessTests.open(folder)
        let again = ServerClient(port: server.port, account: client.account)
        #expect(try again.login().status == 200)
        let frames = try ServerClient.frames(try again.send("GET", "/v1/zones/\(zone)/changes").body)
        #expect(ServerClient.objects(frames) == [object])
        #expect(server.stop() == 0)
        #expect(try ServerProcess.run("doctor", "--data", folder.file("data")).exitCode == 0)
        let second = folder.file("second")
        #expect(try ServerProcess.run("init", "--data", second).exitCode == 0)
        let restored = try ServerProcess.run("restore", "--data", second, backup)
        #expect(restored.exitCode == 0, "\(restored.errorText)")
        // The backup stays one of its version: it is somebody's only one.
        let kept = try SQLiteDatabase(path: backup)
        let version = try kept.lookUp("SELECT value FROM meta WHERE name = $1", [.bytes(Array("version".utf8))])
        #expect(version == [[.bytes([4])]])
        kept.close()
        #expect(try ServerProcess.run("doctor", "--data", second).exitCode == 0)
    }
}

extension ServerStore {
    /// What an account uses, counted.
    fileprivate func countedByteCount(of account: [UInt8], in database: any SQLDatabase) throws -> Int64 {
        try database.read { session in try countedByteCount(of: .bytes(account), session) }
    }
}
