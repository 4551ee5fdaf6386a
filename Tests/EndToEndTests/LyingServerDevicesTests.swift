// The list of an account's devices, altered in the real server's database: who is in it is never the server's to say.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "A lying server: the list of devices",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct LyingServerDevicesTests {
    private let server: ServerRunner
    private let first, second, third: CoffretRunner

    init() throws {
        server = try ServerRunner()
        (first, second, third) = (try CoffretRunner(), try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Base")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        try second.succeed("sync")
    }

    @discardableResult
    private func query(_ statement: String) throws -> [String] {
        let result = try ProcessRunner.run(
            "/usr/bin/sqlite3", ["-cmd", ".timeout 10000", server.databasePath, statement])
        try #require(result.exitCode == 0, "\(result.errorText)")
        return result.text.split(separator: "\n").map(String.init)
    }

    /// What `coffret device ls` shows: as the server's word and without it, nothing that was not verified.
    private func expectRefused(
        _ exitCode: Int32, _ code: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let (list, notes) = (try second.run("device", "ls").text, try second.succeed("ls"))
        for _ in 0..<2 {
            let refused = try second.run("sync")
            #expect(refused.exitCode == exitCode, "\(refused.errorText)", sourceLocation: sourceLocation)
            #expect(refused.errorText.contains("[\(code)]"), "\(refused.errorText)", sourceLocation: sourceLocation)
        }
        #expect(try second.run("device", "ls").text == list, sourceLocation: sourceLocation)
        #expect(try second.succeed("ls") == notes, sourceLocation: sourceLocation)
    }

    @Test("R21: a revocation that the server leaves out again is an older list, and the device stays out")
    func omittedRevocation() throws {
        try DevicePairing.pair(third, first, server, name: "Third")
        try first.succeed("device", "revoke", "Third", "--yes")
        #expect(try second.succeed("sync", "--json").isEmpty == false)
        #expect(try second.succeed("device", "ls").contains("revoked"))
        try query(
            """
            CREATE TABLE hidden AS SELECT * FROM links WHERE kind = 1 ORDER BY seq DESC LIMIT 1;
            DELETE FROM links WHERE kind = 1 AND seq = (SELECT seq FROM hidden)
            """)
        try first.makeNote("Written meanwhile")
        try expectRefused(72, "trust.chain.rolled-back")
        #expect(try second.run("device", "ls").text.contains("revoked"))
        try query("INSERT INTO links SELECT * FROM hidden")
        #expect(try second.succeed("sync").contains("up to date"))
    }

    @Test("R20: a device that the server puts in without its signatures is refused by name, and never shown")
    func forgedDevice() throws {
        try DevicePairing.pair(third, first, server, name: "Third")
        let row = try #require(
            try query("SELECT seq || ' ' || hex(link) FROM links WHERE kind = 1 ORDER BY seq DESC LIMIT 1").first)
        let (number, link) = (row.prefix { $0 != " " }, row.drop { $0 != " " }.dropFirst())
        func store(_ link: some StringProtocol) throws {
            try query("UPDATE links SET link = x'\(link)' WHERE kind = 1 AND seq = \(number)")
        }
        // The last digit is the signature's.
        try store(link.dropLast() + (link.last == "0" ? "1" : "0"))
        try expectRefused(71, "trust.link.signature-invalid")
        // One that was good elsewhere in the chain.
        let earlier = try #require(
            try query("SELECT hex(link) FROM links WHERE kind = 1 AND seq = \(number) - 1").first)
        try store(earlier)
        try expectRefused(71, "trust.chain.gap")
        #expect(try !second.run("device", "ls").text.contains("Third"))
        try store(link)
        try second.succeed("sync")
        #expect(try second.succeed("device", "ls").contains("Third"))
    }
}
