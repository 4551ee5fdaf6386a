// What strangers, and members who take all they get, leave to the others: at the real server, in counts and answers. The
// long forms, with times and memory, are `Scripts/load-server attacks`.

import CoffretBase
import CoffretNet
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

@Suite("Server and strangers")
struct ServerStrangerTests {
    private static let openssl = "/usr/bin/openssl"

    @Test(
        "storage H1, H2, H3, M1, M3, M13 (R104, R105, R106): beside each attack one is served, and memory stays in its limits",
        .enabled(if: ServerPeerTests.isThere(ServerPeerTests.python), "needs .build/venv"))
    func attacks() throws {
        let result = try ServerPeerTests.peer("attack_server.py", "--short", timeoutSeconds: 300)
        #expect(result.exitCode == 0 && result.text.hasSuffix("attacks: good\n"), "\(result.text) \(result.errorText)")
    }

    /// A stranger behind a proxy.
    private func challenge(_ server: ServerProcess, from address: String) throws -> ClientResponse {
        let stranger = ServerClient(port: server.port, account: try TestAccount())
        let request = LoginChallengeRequest(
            accountID: stranger.account.id, deviceID: stranger.device.id,
            clientNonce: SystemRandomSource().bytes(count: 32))
        return try stranger.send(
            "POST", "/v1/login/challenge", request.encoded(), fields: [("X-Forwarded-For", address)])
    }

    @Test("storage H4 (R106): behind a proxy a network has one limit, and what is no address is refused")
    func networks() throws {
        let folder = try ServerProcessTests.folder()
        let server = try ServerProcess(
            ["--data", folder.file("data"), "--registration", "open", "--trust-forwarded-for", "yes"], in: folder)
        func admitted(_ address: (Int) -> String) throws -> Int {
            try (0..<160).filter { try challenge(server, from: address($0)).status == 200 }.count
        }
        // At once a hundred, and ten more in each second that this takes.
        #expect(try admitted { "2001:db8:0:1::\(String($0 + 1, radix: 16))" } < 155, "of one /64")
        #expect(try admitted { "client, 2001:db8:0:2::1, [2001:db8:0:3::\($0)]:4000" } < 155, "with brackets and port")
        #expect(try admitted { "2001:db8:0:\(String($0 + 100, radix: 16))::1" } == 160, "of many")
        for wrong in ["nonsense", "", "10.0.0.1, ", "10.0.0", "[::1", "1.2.3.4:99999", "10.0.0.1, unknown"] {
            #expect(try challenge(server, from: wrong).code == "server.request.malformed", "\(wrong)")
        }
        #expect(try challenge(server, from: "10.0.0.1:80").status == 200)
        #expect(try challenge(server, from: "::ffff:10.0.0.2").status == 200)
    }

    @Test(
        "storage H3 (R106): strangers that begin bodies and send nothing take no memory from members, nor from logins")
    func bodies() throws {
        let folder = try ServerProcessTests.folder()
        let server = try ServerProcess(
            [
                "--data", folder.file("data"), "--registration", "open", "--trust-forwarded-for", "yes",
                "--body-memory", "134217728",
            ], in: folder)
        let member = ServerClient(port: server.port, account: try TestAccount())
        #expect(try member.register().status == 201 && member.login().status == 200)
        let zone = try ServerProcessTests.zone(member)
        // A chunk that is stated and does not come, for accounts; a link, for strangers: each from as many as it took.
        var held: [ClientSocket] = []
        for number in 0..<300 {
            let socket = try ClientSocket(port: server.port)
            try socket.write(
                Array(
                    """
                    POST /v1/accounts HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.\(number % 20).1\r
                    Content-Length: 164000\r\n\r\n
                    """.utf8) + [UInt8](repeating: 0, count: 100))
            held.append(socket)
        }
        for _ in 0..<8 {
            #expect(try member.send("GET", "/v1/zones/\(zone)/changes").status == 200)
            #expect(try member.login().status == 200)
            let other = ServerClient(port: server.port, account: try TestAccount())
            #expect(try other.register().status == 201)
        }
        #expect(held.allSatisfy { !$0.hasNews }, "none of them was answered, or counted for what it did not send")
    }

    @Test("storage M13 (R106): of a device 64 connections listen, the newest")
    func listeners() throws {
        let server = try ServerProcessTests.open(try ServerProcessTests.folder())
        let client = try ServerProcessTests.client(server)
        let zone = try ServerProcessTests.zone(client)
        let sockets = try (0..<70).map { _ in try ClientWebSocket.events(port: server.port, token: client.token) }
        let object = ZoneObject.random()
        #expect(try client.push(zone, from: nil, to: object.address, [object]).status == 200)
        var ended = 0
        for socket in sockets {
            if case .closed(code: 1013, _) = try socket.next() { ended += 1 }
        }
        #expect(ended == 6)
    }

    @Test("storage M13 (R106): of an account 1,024 connections listen, the newest, and others' go on")
    func listenersOfAnAccount() throws {
        let server = try ServerProcessTests.open(try ServerProcessTests.folder(), "--connections-per-address", "3000")
        let client = try ServerProcessTests.client(server)
        let zone = try ServerProcessTests.zone(client)
        let other = try ServerProcessTests.client(server)
        let otherZone = try ServerProcessTests.zone(other)
        let beside = try ClientWebSocket.events(port: server.port, token: other.token)
        var devices = [client]
        while devices.count < 17 { devices.append(try client.adding(TestDevice())) }
        // 61 for each device: below what a device may have, and 13 above what the account may.
        let sockets = try devices.flatMap { device in
            try (0..<61).map { _ in try ClientWebSocket.events(port: server.port, token: device.token) }
        }
        let object = ZoneObject.random()
        #expect(try client.push(zone, from: nil, to: object.address, [object]).status == 200)
        let isEnded = try sockets.map { socket in
            if case .closed(code: 1013, _) = try socket.next() { true } else { false }
        }
        // The oldest go: those that opened in the same millisecond are equally old.
        #expect(isEnded.count { $0 } == 13 && !isEnded.dropFirst(61).contains(true))
        #expect(try other.push(otherZone, from: nil, to: object.address, [object]).status == 200)
        if case .closed = try beside.next() { Issue.record("another account's listener was ended") }
    }

    @Test("storage L7: where others reach the server, metrics are served at their own address only")
    func metrics() throws {
        let folder = try ServerProcessTests.folder()
        for (more, isThere) in [([], true), (["--trust-forwarded-for", "yes"], false)] as [([String], Bool)] {
            let server = try ServerProcess(["--data", folder.file("data")] + more)
            let client = ServerClient(port: server.port, account: try TestAccount())
            #expect(try client.send("GET", "/metrics").status == (isThere ? 200 : 404))
            #expect(try client.send("GET", "/health").status == 200)
            #expect(server.stop() == 0)
        }
    }

    @Test("what was refused is counted in the log and the metrics, and nothing says of whom")
    func refusals() throws {
        let folder = try ServerProcessTests.folder()
        let server = try ServerProcess([
            "--data", folder.file("data"), "--requests-per-second-per-address", "1", "--connections-per-address", "4",
        ])
        var open: [ClientSocket] = []
        for _ in 0..<12 { open.append(try ClientSocket(port: server.port)) }
        // A connection above the limit is closed without an answer.
        #expect(try open[11].read() == [])
        open = []
        var answer: ClientResponse?
        try Waiting.until("the places are free again") {
            answer = try? ServerClient(port: server.port, account: try TestAccount()).send("GET", "/metrics")
            return answer?.status == 200
        }
        let metrics = String(decoding: try #require(answer).body, as: UTF8.self)
        let line = try #require(
            metrics.split(separator: "\n").first { $0.hasPrefix("coffret_connections_refused_total ") })
        // Loops that accept at the same moment may each see the last place.
        let refusedCountMin = 6
        #expect(try #require(Int(line.split(separator: " ")[1])) >= refusedCountMin)
        #expect(metrics.contains("\ncoffret_connections_ended_total "))
        let client = ServerClient(port: server.port, account: try TestAccount())
        try Waiting.until("a refusal", everyMilliseconds: 0) { try client.send("GET", "/health").status == 429 }
        #expect(server.stop() == 0)
        let log = try server.log()
        // Each line has what came since the one before.
        let lines = log.split(separator: "\n").filter { $0.contains("\"event\":\"refused\"") }
        let told = try #require(lines.last, "\(log)")
        let fields = try #require(try JSONSerialization.jsonObject(with: Data(told.utf8)) as? [String: Any])
        var counts = [0, 0, 0, 0, 0]
        for line in lines {
            let said = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            for (index, name) in ["rate", "busy", "space", "connections", "slow"].enumerated() {
                counts[index] += Int(said?[name] as? String ?? "") ?? -1_000
            }
        }
        #expect(counts[0] >= 1 && counts[1...2] == [0, 0] && counts[3] >= refusedCountMin && counts[4] >= 0, "\(told)")
        #expect(Set(fields.keys) == ["time", "level", "event", "rate", "busy", "space", "connections", "slow"])
        #expect(!told.contains("127.0.0.1"))
    }

    @Test("a process that may have few descriptors takes fewer connections, and says how many")
    func descriptors() throws {
        let folder = try ServerProcessTests.folder()
        for (launcher, count) in [(["/usr/bin/prlimit", "--nofile=1000:1000"], "488"), ([], "3000")] {
            let server = try ServerProcess(
                ["--data", folder.file("data"), "--connections", "3000"], launcher: launcher)
            #expect(server.connectionCountMax == count)
            #expect(server.stop() == 0)
        }
    }

    private func certificate(_ name: String, in folder: TemporaryDirectory) throws {
        let result = try ProcessRunner.run(
            Self.openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                folder.file(name + ".key"), "-out", folder.file(name + ".cert"), "-days", "2", "-subj", "/CN=\(name)",
            ], timeoutSeconds: 60)
        try #require(result.exitCode == 0)
    }

    @Test(
        "storage M2, L9 (R107): TLS 1.2 and 1.3 and no older; SIGHUP reads the certificate anew, and connections go on",
        .enabled(if: ServerPeerTests.isThere(openssl), "needs openssl"))
    func tls() throws {
        let folder = try ServerProcessTests.folder()
        for name in ["one", "two", "tls"] { try certificate(name, in: folder) }
        func use(_ name: String) throws {
            for kind in ["cert", "key"] {
                try Data(contentsOf: URL(fileURLWithPath: folder.file("\(name).\(kind)")))
                    .write(to: URL(fileURLWithPath: folder.file("tls.\(kind)")))
            }
        }
        try use("one")
        let server = try ServerProcess(
            [
                "--data", folder.file("data"), "--tls-certificate", folder.file("tls.cert"), "--tls-key",
                folder.file("tls.key"),
            ], in: folder)
        func connect(_ more: String...) throws -> ProcessResult {
            try ProcessRunner.run(
                Self.openssl, ["s_client", "-connect", "127.0.0.1:\(server.port)"] + more,
                input: Array("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8), timeoutSeconds: 30)
        }
        for version in ["-tls1_2", "-tls1_3"] {
            let result = try connect(version, "-ign_eof")
            #expect(result.exitCode == 0 && result.text.contains("200 OK"), "\(version): \(result.errorText)")
        }
        for version in ["-tls1", "-tls1_1"] {
            let result = try connect(version, "-cipher", "ALL:@SECLEVEL=0")
            #expect(result.exitCode != 0 && result.text.contains("Cipher is (NONE)"), "\(version): \(result.text)")
        }
        let held = try SpawnedProcess(
            Self.openssl, ["s_client", "-quiet", "-connect", "127.0.0.1:\(server.port)"], input: .pipe, output: .pipe,
            error: .null)
        try use("two")
        kill(server.processID, SIGHUP)
        try Waiting.until("the new certificate") { try connect("-ign_eof").text.contains("CN = two") }
        held.write(Array("GET /health HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        var answer = ""
        while !answer.contains("ok\n") {
            let bytes = held.readOutput()
            guard !bytes.isEmpty else { break }
            answer += String(decoding: bytes, as: UTF8.self)
        }
        #expect(answer.contains("200 OK"), "a connection from before goes on")
        // One that cannot be used changes nothing.
        try Data("nothing".utf8).write(to: URL(fileURLWithPath: folder.file("tls.key")))
        kill(server.processID, SIGHUP)
        usleep(300_000)
        #expect(try connect("-ign_eof").text.contains("CN = two"))
        held.kill()
        #expect(server.stop() == 0)
    }

    @Test("storage M8: a backup, and what is restored from it, is written once, with no log beside it")
    func backups() throws {
        let folder = try ServerProcessTests.folder()
        let server = try ServerProcessTests.open(folder)
        let client = try ServerProcessTests.client(server)
        let zone = try ServerProcessTests.zone(client)
        let objects = (0..<20).map { _ in ZoneObject.random(byteCount: 500_000) }
        #expect(try client.push(zone, from: nil, to: objects[0].address, objects).status == 200)
        let half = try client.send(
            "PUT", "/v1/zones/\(zone)/chunks/\(Hex.encode(objects[0].address))", [UInt8](repeating: 1, count: 70_000),
            fields: [("Content-Range", "bytes 0-69999/100000")])
        #expect(half.status == 202)
        let backup = folder.file("backup")
        #expect(try ServerProcess.run("backup", "--data", folder.file("data"), backup).exitCode == 0)
        func usesLog(_ path: String) throws -> Bool {
            // Bytes 18 and 19 of the file: 1 for a rollback journal or none, 2 for a write-ahead log.
            let head = try FileHandle(forReadingFrom: URL(fileURLWithPath: path)).read(upToCount: 20) ?? Data()
            return head[18] != 1 || head[19] != 1
        }
        #expect(try !usesLog(backup))
        let second = folder.file("second")
        #expect(try ServerProcess.run("init", "--data", second).exitCode == 0)
        #expect(try ServerProcess.run("restore", "--data", second, backup).exitCode == 0)
        #expect(try !usesLog(second + "/server.sqlite"))
        let names = try FileManager.default.contentsOfDirectory(atPath: second).sorted()
        #expect(names == ["lock", "server.sqlite"])
        // The half upload stayed behind and counts no more.
        let doctor = try ServerProcess.run("doctor", "--data", second)
        #expect(doctor.exitCode == 0, "\(doctor.text)")
        #expect(try ServerProcess.run("restore", "--data", second, backup).exitCode != 0, "it is not empty now")
    }

    @Test(
        "storage M7 (R108): transactions that collide are tried again, and both are done",
        .enabled(if: PostgresCluster.isAvailable, "needs PostgreSQL's programs"))
    func collisions() throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        let database = try PostgresDatabase(connection: cluster.database())
        try database.write { session in
            try session.script("CREATE TABLE t(id BIGINT PRIMARY KEY, n BIGINT); INSERT INTO t VALUES(1, 0), (2, 0)")
        }
        let both = DispatchSemaphore(value: 0), ready = DispatchSemaphore(value: 0)
        let done = WinCounter()
        DispatchQueue.concurrentPerform(iterations: 2) { number in
            let tries = WinCounter()
            let outcome = try? database.write { session in
                tries.add()
                try session.script("UPDATE t SET n = n + 1 WHERE id = \(1 + number)")
                if tries.count == 1 {
                    // Until the other has its first row, too.
                    let (mine, other) = number == 0 ? (both, ready) : (ready, both)
                    mine.signal()
                    _ = other.wait(timeout: .now() + 10)
                }
                try session.script("UPDATE t SET n = n + 1 WHERE id = \(2 - number)")
                return true
            }
            if outcome == true { done.add() }
        }
        #expect(done.count == 2)
        let rows = try database.lookUp("SELECT n FROM t ORDER BY id", [])
        #expect(rows == [[.int(2)], [.int(2)]])
        // Zones of several accounts at one moment have numbers of their own.
        let world = try StoreWorld(PostgresDatabase(connection: cluster.database()))
        let accounts = try (0..<8).map { _ in try world.account() }
        let requests = try accounts.map { (owner: $0.owner, vault: try $0.vault()) }
        let (store, made) = (world.store, WinCounter())
        DispatchQueue.concurrentPerform(iterations: requests.count) { number in
            let (owner, vault) = requests[number]
            if case .taken? = try? store.take([vault.item], by: owner) { made.add() }
        }
        #expect(made.count == 8)
        database.close()
        world.store.database.close()
    }
}
