// What a server deletes when its time is over, and the disk's space that comes back by it: the real server on both
// databases. The one thing to keep true: what was stored is put back in time, and the server's clock is everybody's.

import CoffretBase
import CoffretServer
import CoffretTestSupport
import CoffretWire
import Foundation
import Testing

/// A database that a server process serves from, and that a test looks into.
private enum Place {
    case sqlite(TemporaryDirectory)
    case postgres(connection: String)

    var options: [String] {
        switch self {
        case .sqlite(let folder): ["--data", folder.file("data")]
        case .postgres(let connection): ["--postgres", connection]
        }
    }

    func serve() throws -> ServerProcess {
        try ServerProcess(options + ["--registration", "open", "--requests-per-second-per-address", "100000"])
    }

    /// Opens the database beside the server, or without it.
    func database<Result>(_ body: (any SQLDatabase) throws -> Result) throws -> Result {
        let database: any SQLDatabase
        switch self {
        case .sqlite(let folder): database = try SQLiteDatabase(path: folder.file("data/server.sqlite"))
        case .postgres(let connection): database = try PostgresDatabase(connection: connection)
        }
        defer { database.close() }
        return try body(database)
    }

    func count(_ table: String) throws -> Int64 {
        try database { try $0.lookUp("SELECT COUNT(*) FROM \(table)", []).first?[0].int ?? 0 }
    }

    /// What lies on the disk while no server runs.
    func byteCount() throws -> Int64 {
        switch self {
        case .sqlite(let folder):
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.file("data"))
            return try files.reduce(0) { sum, name in
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("data/" + name))
                return sum + (attributes[.size] as? Int64 ?? 0)
            }
        case .postgres:
            return try database { database in
                // Autovacuum does that, once a minute.
                for table in ["objects", "chunks"] { _ = try database.lookUp("VACUUM \(table)", []) }
                let size = "pg_total_relation_size('objects') + pg_total_relation_size('chunks')"
                return try database.lookUp("SELECT CAST(\(size) AS BIGINT)", []).first?[0].int ?? 0
            }
        }
    }
}

@Suite("What a server deletes")
struct ServerCleaningTests {
    /// Puts what was swept back in time, for one address or for all others.
    private func age(_ place: Place, days: Int64, _ address: [UInt8], others: Bool = false) throws {
        _ = try place.database { database in
            try database.write { session in
                try session.execute(
                    "UPDATE swept SET time = time - $1 WHERE address \(others ? "<>" : "=") $2",
                    [.int(days * 86_400_000), .bytes(address)])
            }
        }
    }

    @Test("what was swept is deleted after 30 days and its space comes back; what came back before stays (R14, R28)")
    func sqlite() throws {
        let folder = try TemporaryDirectory("server")
        try sweptGoes(Place.sqlite(folder))
    }

    @Test("the same on PostgreSQL", .enabled(if: PostgresCluster.isAvailable, "needs PostgreSQL's programs"))
    func postgres() throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        try sweptGoes(Place.postgres(connection: cluster.database()))
    }

    private func sweptGoes(_ place: Place) throws {
        let made = try ProcessRunner.run(ServerProcess.executable, ["init"] + place.options, timeoutSeconds: 60)
        try #require(made.exitCode == 0, "\(made.errorText)")
        var server = try place.serve()
        let client = try ServerProcessTests.client(server)
        let zone = try ServerProcessTests.zone(client)
        let second = TestDevice()
        let thief = try client.adding(second)
        for device in [client, thief] { try device.acknowledge(zone) }

        let kept = (0..<3).map { _ in ZoneObject.random(byteCount: 500_000) }
        let old = (0..<50).map { _ in ZoneObject.random(byteCount: 500_000) }
        let head = ZoneObject.random()
        // Before the head: what is put down without one is in the way of others.
        let chunks = (0..<2).map { _ in SystemRandomSource().bytes(count: 32) }
        let chunk = [UInt8](repeating: 7, count: 1_000_000)
        for address in chunks {
            #expect(try client.send("PUT", "/v1/zones/\(zone)/chunks/\(Hex.encode(address))", chunk).status == 201)
        }
        #expect(try client.push(zone, from: nil, to: nil, kept + old.prefix(25)).status == 200)
        #expect(try client.push(zone, from: nil, to: head.address, old.suffix(25) + [head]).status == 200)
        func sweep(_ objects: [ZoneObject], _ chunks: [[UInt8]], _ client: ServerClient) throws -> SweepReceipt {
            let answer = try client.send(
                "POST", "/v1/zones/\(zone)/sweep",
                ServerSweepTests.sweep(
                    objects.map(\.address), chunks: chunks, in: zone, by: client.device))
            return try SweepReceipt(decoding: answer.body)
        }
        #expect(try sweep(old, [chunks[0]], client) == SweepReceipt(count: 51, byteCount: 26_000_000))
        #expect(try sweep(Array(kept.prefix(2)), [chunks[1]], thief) == SweepReceipt(count: 3, byteCount: 2_000_000))
        // Three ways back: a push, the time that is not over, and the end of the device that did it.
        #expect(try client.push(zone, from: head.address, to: head.address, [old[0]]).status == 200)
        let revocation = client.account.revoking(second)
        #expect(try client.append(revocation).status == 200)
        // The third waits for the server to clean, which it does when it begins.
        #expect(try place.count("swept") == 53)
        #expect(server.stop() == 0)
        let sizeBefore = try place.byteCount()
        #expect(sizeBefore > 27_000_000)

        func fetched() throws -> Set<[UInt8]> {
            let client = ServerClient(port: server.port, account: client.account)
            #expect(try client.login().status == 200)
            // Beside what lies there the links count, and each row.
            let used = try ServerSweepTests.used(client) - (4 * 500_000 + 1_000_000 + 100 + 6 * 256)
            #expect((500..<8_000).contains(used))
            let all = kept + old + [head]
            let answer = try client.send(
                "POST", "/v1/zones/\(zone)/fetch", ZoneFetch(addresses: all.map(\.address)).encoded())
            let objects = ServerClient.objects(try ServerClient.frames(answer.body))
            #expect(objects.allSatisfy(all.contains))
            for (address, status) in zip(chunks, [404, 200]) {
                let answer = try client.send("GET", "/v1/zones/\(zone)/chunks/\(Hex.encode(address))")
                #expect(answer.status == status && (status == 404 || answer.body == chunk))
            }
            return Set(objects.map(\.address))
        }
        try age(place, days: 31, old[1].address, others: true)
        try age(place, days: 29, old[1].address)
        server = try place.serve()
        try Waiting.until("what is over has gone") { try place.count("swept") == 1 }
        #expect(try fetched() == Set((kept + old.prefix(2) + [head]).map(\.address)))
        #expect(try place.count("objects") == 6 && place.count("chunks") == 1)
        #expect(server.stop() == 0)
        let sizeAfter = try place.byteCount()
        #expect(sizeAfter < sizeBefore / 2, "\(sizeBefore) to \(sizeAfter) bytes")

        try age(place, days: 2, old[1].address)
        server = try place.serve()
        try Waiting.until("the last has gone") { try place.count("swept") == 0 }
        #expect(try fetched() == Set((kept + old.prefix(1) + [head]).map(\.address)))
        #expect(server.stop() == 0)
        let doctor = try ProcessRunner.run(ServerProcess.executable, ["doctor"] + place.options, timeoutSeconds: 60)
        #expect(doctor.exitCode == 0 && doctor.text.contains("swept and kept: 0"), "\(doctor.text)")
    }
}

@Suite("A server's full disk")
struct ServerFullDiskTests {
    private static let launcher =
        ["/usr/bin/unshare"] + (geteuid() == 0 ? ["-m"] : ["-Urm"]) + ["/bin/sh", "-c"]

    private static let canMount: Bool = {
        let words = launcher + ["mount -t tmpfs tmpfs /mnt"]
        return (try? ProcessRunner.run(words[0], Array(words.dropFirst()), timeoutSeconds: 20).exitCode) == 0
    }()

    @Test(
        "it refuses what does not fit by name; devices log in, read, sweep and delete, and by that there is room (R47)",
        .enabled(if: canMount, "no permission to mount a small disk"))
    func full() throws {
        // A disk that only the server sees.
        let script = """
            set -e; mount -t tmpfs -o size=64m tmpfs /mnt; "$0" init --data /mnt/data; exec "$0" "$@"
            """
        let server = try ServerProcess(
            ["--data", "/mnt/data", "--registration", "open", "--requests-per-second-per-address", "100000"],
            launcher: Self.launcher + [script])
        let client = try ServerProcessTests.client(server)
        let zone = try ServerProcessTests.zone(client)
        var stored: [ZoneObject] = []
        var refused: ClientResponse?
        while refused == nil, stored.count < 100 {
            let object = ZoneObject.random(byteCount: 1_000_000)
            let answer = try client.push(
                zone, from: stored.last?.address, to: object.address, [object])
            if answer.status == 200 { stored.append(object) } else { refused = answer }
        }
        #expect(refused?.status == 507 && refused?.code == "server.storage.full", "\(stored.count)")
        #expect(stored.count > 20)
        let chunk = "/v1/zones/\(zone)/chunks/\(Hex.encode(SystemRandomSource().bytes(count: 32)))"
        #expect(try client.send("PUT", chunk, [UInt8](repeating: 1, count: 1_000_000)).code == "server.storage.full")

        #expect(try client.login().status == 200)
        #expect(try ServerSweepTests.changes(client, zone) == stored)
        try client.adding(TestDevice()).acknowledge(zone)
        let ack = "/v1/zones/\(zone)/acks/\(Hex.encode(client.device.id.bytes))"
        #expect(try client.send("PUT", ack, [1]).status == 204)
        let swept = try client.send(
            "POST", "/v1/zones/\(zone)/sweep",
            ServerSweepTests.sweep(
                stored.dropLast().map(\.address), in: zone, by: client.device))
        #expect(try SweepReceipt(decoding: swept.body).count == UInt64(stored.count - 1))
        let other = try ServerProcessTests.zone(client)
        // What is taken away is kept for 30 days, and the disk is as full as before.
        #expect(try client.deleteZone(zone).status == 204)
        let next = ZoneObject.random(byteCount: 1_000_000)
        #expect(try client.push(other, from: nil, to: next.address, [next]).code == "server.storage.full")
        #expect(server.stop() == 0)
    }
}
