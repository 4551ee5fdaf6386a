// The server's log of keys, altered in the real server's database, as real devices read it (R85).

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "A lying server: the log of keys",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct LyingServerLogTests {
    private let server: ServerRunner
    private let first, second: CoffretRunner

    init() throws {
        server = try ServerRunner()
        (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Base")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        for runner in [second, first] { try runner.succeed("sync") }
    }

    private func query(_ statement: String) throws {
        let result = try ProcessRunner.run(
            "/usr/bin/sqlite3", ["-cmd", ".timeout 10000", server.databasePath, statement])
        try #require(result.exitCode == 0, "\(result.errorText)")
    }

    private func expect(
        _ code: String, _ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for _ in 0..<2 {
            let refused = try second.run(arguments, input: [])
            #expect(refused.exitCode == 84, "\(refused.errorText)", sourceLocation: sourceLocation)
            #expect(refused.errorText.contains("[\(code)]"), "\(refused.errorText)", sourceLocation: sourceLocation)
        }
    }

    @Test(
        "devices of one server see one log, and an altered, a shorter and a forked one is named with both notes (R85)")
    func views() throws {
        let logs = try [first, second].map { runner in
            try runner.succeed("server", "log", "--check")
            return try runner.json("server", "log")
        }
        #expect(logs[0]["size"] as? Int == logs[1]["size"] as? Int)
        #expect((logs[0]["size"] as? Int ?? 0) >= 4, "two devices, a vault and its links")
        for field in ["root", "origin", "key"] {
            #expect(logs[0][field] as? String == logs[1][field] as? String)
            #expect(logs[0][field] is String)
        }
        try query("CREATE TABLE kept AS SELECT * FROM log; DELETE FROM log WHERE seq = (SELECT MAX(seq) FROM log)")
        try expect("log.rolled-back", "server", "log", "--check")
        try query("INSERT INTO log SELECT * FROM kept WHERE seq NOT IN (SELECT seq FROM log)")
        try second.succeed("server", "log", "--check")
        // Another history of the same length, signed by the log's own key.
        try query("UPDATE log SET entry = CAST(substr(entry, 1, 73) || x'00' AS BLOB) WHERE seq = 0")
        try expect("log.forked", "server", "log", "--check")
        let json = try second.run("server", "log", "--check", "--json")
        let path = try #require(json.text.firstMatch(of: /"evidence":"([^"]+)"/)).1
        let evidence = try String(contentsOfFile: String(path), encoding: .utf8)
        #expect(evidence.contains(try #require(logs[0]["key"] as? String)))
        #expect(evidence.split(separator: "\n").filter { $0.hasSuffix("/coffret-log/1") }.count == 2)
        // Nothing of this concerns the notes.
        #expect(try second.succeed("sync").contains("up to date"))
        try query("DELETE FROM log; INSERT INTO log SELECT * FROM kept")
        try second.succeed("server", "log", "--check")
    }

    @Test("several processes of one device read the log at once (R85)")
    func atOnce() throws {
        for (old, new) in [("Second", "Third"), ("Third", "Fourth"), ("Fourth", "Fifth")] {
            // Each makes an entry of the log, so that all of them write what they read.
            try first.succeed("device", "rename", old, new)
            let readers = try (0..<4).map { _ in
                try SpawnedProcess(
                    CoffretRunner.executable, ["server", "log", "--check"], environment: second.environment(),
                    directory: second.workPath, error: .inherited)
            }
            for reader in readers { #expect(reader.wait().code == 0) }
            let json = try second.json("server", "log")
            try first.succeed("server", "log", "--check")
            #expect(try first.json("server", "log")["root"] as? String == json["root"] as? String)
        }
    }

    @Test("two people whom a server shows two logs find it by what they write to each other (R85)")
    func twoLogs() throws {
        let bob = try CoffretRunner()
        try bob.makeStore()
        try bob.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try bob.succeed("share", "requests")
        let accounts = try [first, bob].map { try #require(try $0.json("server", "status")["account"] as? String) }
        try bob.succeed("contact", "add", accounts[0], "--name", "Alice")
        try first.succeed("vault", "new", "Home")
        try first.makeNote("Ours", "--vault", "Home")
        try first.succeed("share", "add", "Home", accounts[1], "--role", "writer", "--yes")
        try bob.succeed("share", "accept", "Home")
        for person in [first, bob, first] { try person.succeed("sync") }
        try bob.succeed("server", "log", "--check")
        // A link that concerns Bob in nothing, and that his log has otherwise.
        try first.succeed("vault", "new", "Own")
        try first.succeed("vault", "sync", "Own")
        try first.succeed("server", "log", "--check")
        try query(
            """
            CREATE TABLE kept AS SELECT * FROM log;
            UPDATE log SET entry = CAST(substr(entry, 1, 73) || x'00' AS BLOB) WHERE seq = (SELECT MAX(seq) FROM log)
            """)
        try first.makeNote("Stated", "--vault", "Home")
        try first.succeed("sync")
        for _ in 0..<2 {
            let refused = try bob.run(["sync"], input: [])
            #expect(refused.exitCode == 84 && refused.errorText.contains("[log.forked]"), "\(refused.errorText)")
        }
        let json = try bob.run("server", "log", "--check", "--json")
        let path = try #require(json.text.firstMatch(of: /"evidence":"([^"]+)"/)).1
        let evidence = try String(contentsOfFile: String(path), encoding: .utf8)
        #expect(evidence.split(separator: "\n").filter { $0.hasSuffix("/coffret-log/1") }.count == 2)
        // What was written came all the same.
        #expect(try bob.succeed("ls", "--vault", "Home").contains("Stated"))
        try query("DELETE FROM log; INSERT INTO log SELECT * FROM kept")
        try bob.succeed("sync")
    }

    @Test("a log that is followed is told as it grows, until it is not in order")
    func followed() throws {
        func size() throws -> Int { try second.json("server", "log")["size"] as? Int ?? 0 }
        try second.succeed("server", "log", "--check")
        let before = try size()
        let (ended, box) = (DispatchSemaphore(value: 0), ResultBox())
        let thread = Thread { [second] in
            box.set(try? second.run("server", "log", "--follow"))
            ended.signal()
        }
        thread.start()
        try first.succeed("device", "rename", "Second", "Other")
        // The other process may change the keyring meanwhile.
        try Waiting.until("the log was read again") { (try? size()) ?? 0 > before }
        try query("UPDATE log SET entry = CAST(substr(entry, 1, 73) || x'00' AS BLOB) WHERE seq = 0")
        #expect(ended.wait(timeout: .now() + 120) == .success)
        let result = try #require(box.value)
        #expect(result.exitCode == 84 && result.errorText.contains("[log.forked]"), "\(result.errorText)")
        #expect(result.text.contains("\(before + 1) entries, root "), "\(result.text)")
        #expect(result.text.contains("Evidence: "), "\(result.text)")
    }

    @Test("a link that the server logs and hides is found (R85)")
    func hidden() throws {
        try second.succeed("server", "log", "--check")
        try first.succeed("device", "rename", "Second", "Other")
        try query(
            """
            CREATE TABLE hidden AS SELECT * FROM links WHERE kind = 1 ORDER BY seq DESC LIMIT 1;
            DELETE FROM links WHERE kind = 1 AND seq = (SELECT seq FROM hidden)
            """)
        // It may have come behind the last look at the chain.
        try second.succeed("server", "log", "--check")
        try expect("log.link.withheld", "sync")
        try query("INSERT INTO links SELECT * FROM hidden")
        try second.succeed("sync")
    }
}

private final class ResultBox: @unchecked Sendable {
    // SAFETY: guarded by the lock.
    private let lock = NSLock()
    private var result: ProcessResult?

    func set(_ result: ProcessResult?) { lock.withLock { self.result = result } }
    var value: ProcessResult? { lock.withLock { result } }
}
