// What somebody can do, and see, who has the real server's database.

import CoffretTestSupport
import Foundation

import Testing

@Suite(
    "A lying server: its database",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct LyingServerStoredTests {
    private func query(_ server: ServerRunner, _ statement: String) throws -> [String] {
        let result = try ProcessRunner.run(
            "/usr/bin/sqlite3", ["-cmd", ".timeout 10000", server.databasePath, statement])
        try #require(result.exitCode == 0, "\(result.errorText)")
        return result.text.split(separator: "\n").map(String.init)
    }

    @Test(
        "R7: a paired device that knows a head and is shown nothing, or an older head, takes neither for a first sync")
    func toldHead() throws {
        let server = try ServerRunner()
        let first = try CoffretRunner()
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Base")
        try first.succeed("vault", "sync", "Personal")
        let old = try #require(try query(server, "SELECT hex(head) FROM zones").first)
        let word = try #require(try query(server, "SELECT hex(word) FROM vaults").first)
        let last = try #require(try query(server, "SELECT MAX(seq) FROM objects").first)
        try first.makeNote("Newest")
        try first.succeed("sync")
        let truth = try #require(try query(server, "SELECT hex(head) FROM zones").first)
        let lastWord = try #require(try query(server, "SELECT hex(word) FROM vaults").first)
        #expect(old.count == 64 && truth != old)

        let second = try CoffretRunner()
        try DevicePairing.pair(second, first, server, name: "Second")
        func expectRefused(sourceLocation: SourceLocation = #_sourceLocation) throws {
            for _ in 0..<2 {
                let refused = try second.run("sync")
                #expect(refused.exitCode == 72, "\(refused.errorText)", sourceLocation: sourceLocation)
                #expect(
                    refused.errorText.contains("sync.head.rolled-back"), "\(refused.errorText)",
                    sourceLocation: sourceLocation)
                #expect(try !second.succeed("ls").contains("Newest"), sourceLocation: sourceLocation)
            }
        }
        // Nothing at all: a zone as it was made.
        _ = try query(
            server,
            """
            CREATE TABLE hidden AS SELECT * FROM objects; DELETE FROM objects;
            UPDATE zones SET head = x''; UPDATE vaults SET word = x''
            """)
        try expectRefused()
        // The state that was true once.
        _ = try query(
            server,
            """
            INSERT INTO objects SELECT * FROM hidden WHERE seq <= \(last);
            UPDATE zones SET head = x'\(old)'; UPDATE vaults SET word = x'\(word)'
            """)
        try expectRefused()
        // The truth is taken as if nothing had been.
        _ = try query(
            server,
            """
            INSERT INTO objects SELECT * FROM hidden WHERE seq > \(last);
            UPDATE zones SET head = x'\(truth)'; UPDATE vaults SET word = x'\(lastWord)'
            """)
        #expect(try second.succeed("sync").contains("received"))
        #expect(try second.succeed("ls").contains("Newest"))
        try first.succeed("sync")
    }

    @Test(
        "R8: an error, rubbish or nothing for the other device's word is counted, and an error the third time"
    )
    func failedAudits() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Base")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        for runner in [second, first, second, first] { try runner.succeed("sync") }
        _ = try query(server, "CREATE TABLE words AS SELECT * FROM acks")
        let isCounted = "sync.audit.failed"
        let lies = [
            ("ALTER TABLE acks RENAME TO away", "ALTER TABLE away RENAME TO acks"),
            ("UPDATE acks SET data = zeroblob(LENGTH(data))", "DELETE FROM acks; INSERT INTO acks SELECT * FROM words"),
            ("DELETE FROM acks", "DELETE FROM acks; INSERT INTO acks SELECT * FROM words"),
        ]
        for (lie, truth) in lies {
            // After an error one command tries three times.
            let silentCount = lie.hasPrefix("ALTER") ? 0 : 2
            for count in 1...4 {
                _ = try query(server, count == 1 ? lie : "SELECT 1")
                // A sync of all vaults passes over a quiet one for an hour.
                let told = try first.run("sync", "--vault", "Personal")
                #expect(
                    told.errorText.contains(isCounted) == (count > silentCount), "\(lie) \(count): \(told.errorText)")
                #expect((told.exitCode != 0) == (count > silentCount), "\(lie) \(count): \(told.errorText)")
            }
            _ = try query(server, truth)
            // It is counted from the beginning.
            let well = try first.run("sync", "--vault", "Personal")
            #expect(well.exitCode == 0 && well.errorText.isEmpty, "\(lie): \(well.errorText)")
        }
    }

    /// Four bytes of epoch and sixteen of the tag around what is padded.
    private static let sealByteCount = 20

    /// Whether a length is one that the padding gives: all bits but the leading ones are zero.
    private func isPadded(_ byteCount: Int) -> Bool {
        let exponent = byteCount.bitWidth - 1 - byteCount.leadingZeroBitCount
        let kept = exponent.bitWidth - exponent.leadingZeroBitCount
        return byteCount % (1 << (exponent - kept)) == 0
    }

    @Test("R43: what the server stores has the padding's sizes, and two collections of equal count look alike")
    func sizes() throws {
        /// Eight notes whose lengths lie in one class, and differ between the collections.
        func stored(_ texts: [String]) throws -> [String] {
            let server = try ServerRunner()
            let runner = try CoffretRunner()
            try runner.makeStore()
            try runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
            for text in texts { try runner.succeed("new", input: text) }
            try runner.succeed("vault", "sync", "Personal")
            for line in try query(server, "SELECT DISTINCT LENGTH(data) FROM objects") {
                let byteCount = try #require(Int(line)) - Self.sealByteCount
                #expect(isPadded(byteCount), "\(byteCount)")
            }
            #expect(try query(server, "SELECT DISTINCT LENGTH(data) FROM acks").count == 1)
            return try query(server, "SELECT LENGTH(data), COUNT(*) FROM objects GROUP BY 1 ORDER BY 1")
        }
        func texts(_ byteCount: Int, _ word: String) -> [String] {
            (0..<8).map { number in
                let text = "# Note \(number)\n" + String(repeating: word, count: 100)
                return String(text.prefix(byteCount + number))
            }
        }
        // A tree parts where a keyed hash says, so one collection in some sixty has a node more, whatever it says.
        let areAlike = try (1...3).contains { _ in
            let plain = try stored(texts(688, "tomatoes and beans "))
            #expect(plain.count > 1)
            return try stored(texts(703, "a secret of a firm ")) == plain
        }
        #expect(areAlike)
    }
}
