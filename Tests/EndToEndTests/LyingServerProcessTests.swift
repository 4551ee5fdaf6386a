// Real stores and the real server, whose data goes back in time. What a person put back on purpose goes on.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "A lying server: its data goes back",
    .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct LyingServerProcessTests {
    private func version(_ runner: CoffretRunner) throws -> String {
        try #require(try runner.json("status")["version"] as? String)
    }

    private func expect(
        _ runner: CoffretRunner, _ exitCode: Int32, _ code: String, seen: String, isKept: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try version(runner)
        for _ in 0..<2 {
            let refused = try runner.run("sync", "--json")
            #expect(refused.exitCode == exitCode, "\(refused.errorText)", sourceLocation: sourceLocation)
            #expect((refused.text + refused.errorText).contains(code), sourceLocation: sourceLocation)
            // The newest entry of both states is named: of what was seen here, and of what is shown.
            #expect(refused.errorText.contains("\"seen\":\"\(seen)\""), "\(refused.errorText)")
            #expect(refused.errorText.contains("\"shown\":\""), "\(refused.errorText)")
        }
        #expect(try version(runner) == before || !isKept, sourceLocation: sourceLocation)
    }

    /// The newest change, as coffret log names it.
    private func newest(_ runner: CoffretRunner) throws -> String {
        let log = try runner.succeed("log", "--json", "--limit", "1")
        let entries = try JSONSerialization.jsonObject(with: Data(log.utf8)) as? [[String: Any]]
        return try #require(entries?.first?["version"] as? String, "\(log)")
    }

    @Test("R1, R2: an older state is refused until a person says that it was put back; another history always")
    func back() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Base")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        #expect(try second.json("status")["serverVersion"] as? String == version(first), "R7: told at pairing")
        for runner in [second, first] { try runner.succeed("sync") }
        try server.keepData(as: "before")

        try first.makeNote("Seen by both")
        for runner in [first, second, first] { try runner.succeed("sync") }
        let status = try first.succeed("status")
        #expect(status.contains("nothing waits to be sent"), "\(status)")
        #expect(status.contains("Second has all that is here"), "\(status)")
        try server.putBack("before")
        let seen = try newest(first)
        try expect(first, 72, "sync.head.rolled-back", seen: seen)
        try expect(second, 72, "sync.head.rolled-back", seen: seen)
        try first.succeed("sync", "--server-was-restored")
        try second.succeed("sync", "--server-was-restored")
        try first.succeed("sync")
        #expect(try version(first) == version(second))

        // Each is shown a world in which the other did nothing.
        try server.keepData(as: "fork")
        try first.makeNote("In one world")
        #expect(try first.succeed("status").contains("1 change waits"))
        try first.succeed("sync")
        let own = try newest(first)
        try server.putBack("fork")
        try second.makeNote("In the other")
        try second.succeed("sync")
        // The entries of the other world count, as any that come; the server is told off all the same.
        try expect(first, 72, "sync.head.forked", seen: own, isKept: false)
        #expect(try first.succeed("ls").contains("In one world"))
    }
}
