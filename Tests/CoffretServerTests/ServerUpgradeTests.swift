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
    private static let newTables = ["branches", "vaults", "members", "steps", "collections", "heard"]

    /// Makes of a database what the version before had: its tables were the same, without these.
    private static func age(_ database: any SQLDatabase) throws {
        try database.write { session in
            for table in newTables { try session.script("DROP TABLE \(table)") }
            // The name and the value are those of the row "version".
            _ = try session.execute(
                "UPDATE meta SET value = $1 WHERE name = $2", [.bytes([3]), .bytes(Array("version".utf8))])
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
        #expect(try store.countedByteCount(of: account.id, in: database) > 0)
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
        #expect(version == [[.bytes([3])]])
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
