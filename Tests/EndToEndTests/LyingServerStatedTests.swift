// Real stores with two vaults, and a server that lies about one of them.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "A lying server: one vault of two",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct LyingServerOneVaultTests {
    private func query(_ server: ServerRunner, _ statement: String) throws -> [String] {
        let result = try ProcessRunner.run(
            "/usr/bin/sqlite3", ["-cmd", ".timeout 10000", server.databasePath, statement])
        try #require(result.exitCode == 0, "\(result.errorText)")
        return result.text.split(separator: "\n").map(String.init)
    }

    private func make(_ runner: CoffretRunner, _ title: String, in vault: String) throws {
        try runner.succeed("new", "--vault", vault, input: "\(title)\ntext of it")
    }

    @Test("R4: a vault that is frozen for one device, words and all, is told of by a change in the other vault")
    func frozen() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.succeed("vault", "new", "Work")
        for vault in ["Personal", "Work"] {
            try make(first, "Base", in: vault)
            try first.succeed("vault", "sync", vault)
        }
        try DevicePairing.pair(second, first, server, name: "Second")
        for runner in [second, first, second] { try runner.succeed("sync") }

        // What the server shows of the first vault from now on.
        let personal = try #require(try query(server, "SELECT hex(zone) FROM zones ORDER BY number").first)
        let zone = "(SELECT number FROM zones WHERE zone = x'\(personal)')"
        let head = try #require(try query(server, "SELECT hex(head) FROM zones WHERE zone = x'\(personal)'").first)
        let last = try #require(try query(server, "SELECT MAX(seq) FROM objects WHERE number = \(zone)").first)
        _ = try query(server, "CREATE TABLE words AS SELECT * FROM acks WHERE number = \(zone)")
        try make(first, "Hidden", in: "Personal")
        try first.succeed("sync", "--vault", "Personal")
        let truth = try #require(try query(server, "SELECT hex(head) FROM zones WHERE zone = x'\(personal)'").first)
        _ = try query(
            server,
            """
            CREATE TABLE hidden AS SELECT * FROM objects WHERE number = \(zone) AND seq > \(last);
            DELETE FROM objects WHERE number = \(zone) AND seq > \(last);
            UPDATE zones SET head = x'\(head)' WHERE zone = x'\(personal)';
            CREATE TABLE newwords AS SELECT * FROM acks WHERE number = \(zone);
            DELETE FROM acks WHERE number = \(zone); INSERT INTO acks SELECT * FROM words
            """)
        let unaware = try second.run("sync")
        #expect(unaware.exitCode == 0 && !unaware.errorText.contains("not delivered"), "\(unaware.errorText)")
        try make(first, "Honest", in: "Work")
        try first.succeed("sync", "--vault", "Work")

        // The first vault has its turn before the second one says what is missing in it.
        let told = try second.run("sync")
        #expect(told.exitCode == 0, "\(told.errorText)")
        #expect(told.errorText.contains("\"Personal\": "), "\(told.errorText)")
        #expect(told.errorText.contains("has changes that the server has not delivered yet"), "\(told.errorText)")
        #expect(try second.succeed("sync", "--status").contains("not delivered"))
        #expect(try second.succeed("ls", "--vault", "Work").contains("Honest"))

        // The truth is taken, and nothing is left of it.
        _ = try query(
            server,
            """
            INSERT INTO objects SELECT * FROM hidden; UPDATE zones SET head = x'\(truth)' WHERE zone = x'\(personal)';
            DELETE FROM acks WHERE number = \(zone); INSERT INTO acks SELECT * FROM newwords
            """)
        let well = try second.run("sync")
        #expect(well.exitCode == 0 && !well.errorText.contains("delivered"), "\(well.errorText)")
        #expect(try second.succeed("ls", "--vault", "Personal").contains("Hidden"))
        #expect(try !second.succeed("sync", "--status").contains("not delivered"))
        for runner in [first, second] {
            for vault in ["Personal", "Work"] { try runner.succeed("fsck", "--vault", vault) }
        }

        // A vault that one device does not sync any more is nobody's concern.
        try first.succeed("vault", "unsync", "Work")
        try make(first, "Of one vault", in: "Personal")
        try first.succeed("sync")
        #expect(try second.succeed("sync", "--vault", "Personal").contains("received"))
    }
}
