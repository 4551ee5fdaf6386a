// What people write reaches no server. The one thing to keep true: every place is searched that a server's operator
// or somebody on the way can look into, and the search is shown to find what a careless client leaves there.

import CoffretTestSupport
import Foundation
import Testing

/// A server without TLS whose messages and traffic are kept.
private final class WatchedServer {
    let folder: TemporaryDirectory
    let proxy: LoopbackTunnel
    let port: UInt16
    private let process: SpawnedProcess
    private let storage: [String]
    private let log: Log

    private final class Log: @unchecked Sendable {
        // SAFETY: behind the lock.
        private let lock = NSLock()
        private var collected: [UInt8] = []
        func append(_ bytes: [UInt8]) { lock.withLock { collected += bytes } }
        var bytes: [UInt8] { lock.withLock { collected } }
    }

    /// - Parameter postgres: a connection string; SQLite without.
    init(postgres: String?) throws {
        folder = try TemporaryDirectory("canary")
        storage = postgres.map { ["--postgres", $0] } ?? ["--data", folder.file("data")]
        let made = try ProcessRunner.run(ServerRunner.executable, ["init"] + storage)
        try #require(made.exitCode == 0, "\(made.errorText)")
        let process = try SpawnedProcess(
            ServerRunner.executable,
            ["serve", "--listen", "127.0.0.1:0", "--registration", "open", "--log", "requests"] + storage, error: .pipe)
        self.process = process
        let log = Log()
        self.log = log
        var port: UInt16?
        while port == nil {
            let bytes = process.readError()
            try #require(!bytes.isEmpty, "the server ended: \(log.bytes)")
            log.append(bytes)
            port = String(decoding: log.bytes, as: UTF8.self).firstMatch(of: /port\W+(\d+)/).flatMap { UInt16($0.1) }
        }
        self.port = try #require(port)
        proxy = try LoopbackTunnel(to: self.port, records: true)
        let thread = Thread {
            while true {
                let bytes = process.readError()
                if bytes.isEmpty { return }
                log.append(bytes)
            }
        }
        thread.stackSize = 1 << 18
        thread.start()
    }

    var url: String { "http://127.0.0.1:\(proxy.port)" }
    var messages: [UInt8] { log.bytes }

    func metrics() throws -> [UInt8] {
        let result = try ProcessRunner.run("/usr/bin/curl", ["-sf", "http://127.0.0.1:\(port)/metrics"])
        try #require(result.exitCode == 0)
        return result.standardOutput
    }

    /// A new backup as a file, and all values in it, since a value in a file may be in pieces.
    func backup(_ name: String) throws -> (file: [UInt8], values: [UInt8]) {
        let path = folder.file(name)
        let made = try ProcessRunner.run(ServerRunner.executable, ["backup", path] + storage)
        try #require(made.exitCode == 0, "\(made.errorText)")
        let values = try ProcessRunner.python(
            """
            import sqlite3, sys
            base = sqlite3.connect(sys.argv[1])
            for (table,) in base.execute("select name from sqlite_master where type = 'table'").fetchall():
                for row in base.execute(f"select * from {table}"):
                    for value in row:
                        sys.stdout.buffer.write((value if isinstance(value, bytes) else str(value).encode()) + b"\\n")
            """, [path])
        try #require(values.exitCode == 0, "\(values.errorText)")
        return ([UInt8](FileManager.default.contents(atPath: path) ?? Data()), values.standardOutput)
    }

    /// The thread that reads its messages holds the process, so nobody else ends it where a test fails.
    deinit { process.kill(SIGTERM) }
}

@Suite("Canary", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct CanaryTests {
    static let python = SharedData.packageRoot.appendingPathComponent(".build/venv/bin/python").path
    static let hasPeer = [python, "/usr/bin/curl"].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(
        "R49: what two devices write is nowhere in a server's SQLite, log, backup, metrics and traffic",
        .enabled(if: hasPeer, "needs curl, and cryptography in .build/venv"))
    func sqliteLyingServer() throws {
        let server = try WatchedServer(postgres: nil)
        try run(server) { canary in try canary.finds(below: server.folder.file("data")) }
    }

    @Test(
        "R49: and nowhere in a server's PostgreSQL, its write-ahead log and its dump",
        .enabled(if: hasPeer && PostgresCluster.isAvailable, "needs curl, cryptography in .build/venv, and PostgreSQL"))
    func postgres() throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        let connection = try cluster.database()
        let server = try WatchedServer(postgres: connection)
        try run(server) { canary in
            // What is only in memory yet goes to the files.
            try cluster.run("psql", "-q", "-d", connection, "-c", "CHECKPOINT")
            let dump = try cluster.run("pg_dump", "-d", connection)
            return try canary.finds(below: cluster.folder.file("data"))
                + canary.finds(in: dump.standardOutput).map { "dump: \($0)" }
        }
    }

    private func run(_ server: WatchedServer, stored: (Canary) throws -> [String]) throws {
        let canary = Canary()
        try live(canary.word, server)
        #expect(try stored(canary) == [])
        #expect(canary.finds(in: server.proxy.bytes) == [])
        #expect(canary.finds(in: server.messages) == [])
        #expect(canary.finds(in: try server.metrics()) == [])
        let backup = try server.backup("first")
        #expect(canary.finds(in: backup.file) == [] && canary.finds(in: backup.values) == [])

        // The control: a careless client's word is found in each place that takes a device's bytes.
        let control = Canary()
        let planted = try ProcessRunner.run(
            Self.python,
            [SharedData.packageRoot.path + "/Tests/Interop/plant.py", "\(server.proxy.port)", control.word])
        #expect(planted.text == "object\nchunk\nacknowledgement\nmail\n", "\(planted.errorText)")
        #expect(try !stored(control).isEmpty)
        #expect(!control.finds(in: server.proxy.bytes).isEmpty)
        let second = try server.backup("second")
        #expect(!control.finds(in: second.file).isEmpty)
        let values = String(decoding: second.values, as: UTF8.self)
        for place in ["object", "chunk", "acknowledgement", "mail"] {
            #expect(values.contains("\(place) \(control.word)"), "\(place)")
        }
        // Messages and metrics never hold a client's bytes, careless or not; that they were kept is seen by the routes.
        let messages = String(decoding: server.messages, as: UTF8.self)
        let metrics = String(decoding: try server.metrics(), as: UTF8.self)
        for route in ["login", "zones.push", "zones.changes", "relay.join", "chains.append", "mail.post"] {
            #expect(messages.contains("\"route\":\"\(route)\""), "\(route)")
            #expect(metrics.contains("route=\"\(route)\""), "\(route)")
        }
        #expect(control.finds(in: Array((messages + metrics).utf8)) == [])
    }

    /// Two devices and everything that people write: names, texts, secrets, passphrases, files, conflicts, a lost device.
    private func live(_ word: String, _ server: WatchedServer) throws {
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        for runner in [first, second] { try runner.setPassphrase("a staple of \(word) and batteries") }
        try first.succeed("init", "--effort", "light", "--name", "Vault \(word)")
        try first.succeed("server", "join", server.url)
        let id = try first.makeNote("# Title \(word)\n\nText \(word), again \(word).\n", "--tag", "tag/\(word)")
        try first.succeed(
            "new", "--type", "login", "Login \(word)", "--set", "username=\(word)", "--secret", "password",
            input: "secret \(word)\n")
        let file = first.folder.file("work/\(word).txt")
        try Data(String(repeating: "attached \(word)\n", count: 20_000).utf8).write(to: URL(fileURLWithPath: file))
        try first.succeed("attach", "add", id, file)
        let locked = try first.makeNote("Diary\n\nlocked \(word)\n")
        let lines = first.folder.file("home/lines")
        try Data("note \(word)\n".utf8).write(to: URL(fileURLWithPath: lines))
        let lock = try ProcessRunner.run(
            "/bin/sh",
            [
                "-c", "exec \"$0\" \"$@\" 3< \"$LINES\"", CoffretRunner.executable, "note", "lock", locked, "--effort",
                "light", "--hint", "hint \(word)", "--note-passphrase-fd", "3",
            ], environment: first.environment(["LINES": lines]), directory: first.workPath)
        try #require(lock.exitCode == 0, "\(lock.errorText)")
        try first.succeed("vault", "sync", "Vault \(word)")
        try DevicePairing.pair(
            second, first, url: server.url, fingerprint: String(repeating: "0", count: 64), name: "Phone \(word)")
        try second.succeed("sync")
        #expect(try second.succeed("show", id).contains("Text \(word)"), "it was synced")
        #expect(try first.succeed("device", "ls").contains("Phone \(word)"))
        // Both write in the same place, so that there is a conflict, and a vault's key goes through the mailbox.
        try first.succeed("edit", id, input: "# Title \(word)\n\nfirst \(word)\n")
        try second.succeed("edit", id, input: "# Title \(word)\n\nsecond \(word)\n")
        try first.succeed("vault", "new", "Second \(word)")
        try first.makeNote("beans \(word)", "--vault", "Second \(word)")
        try first.succeed("vault", "sync", "Second \(word)")
        for runner in [first, second, first] { try runner.succeed("sync") }
        #expect(try second.succeed("ls", "--vault", "Second \(word)").contains(word))
        try first.succeed("device", "revoke", "Phone \(word)", "--yes")
        try first.makeNote("after the loss \(word)", "--vault", "Vault \(word)")
        try first.succeed("sync")
    }
}
