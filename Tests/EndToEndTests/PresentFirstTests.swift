// A device that joins a vault with a long history: it lists before that has come, and says what is on its way.

import CoffretTestSupport
import Foundation
import Testing

@Suite("The present first", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct PresentFirstTests {
    private static let editCount = 12
    private static let textByteCount = 440_000

    /// Words that do not compress and are in no other version.
    private func text(_ version: Int, _ random: SeededGenerator) -> String {
        let line = random.bytes(count: Self.textByteCount / 2...Self.textByteCount / 2)
        return "Plan\nversion \(version)\n" + line.map { String($0, radix: 16) }.joined()
    }

    private func version(_ runner: CoffretRunner) throws -> String {
        try #require(try runner.json("status")["version"] as? String)
    }

    private func isPending(_ runner: CoffretRunner) throws -> Bool {
        let sync = try #require(try runner.json("status")["sync"] as? [String: Any])
        return try #require(sync["isHistoryPending"] as? Bool)
    }

    /// The first has a note that was edited so often that what it was is much more than what it is.
    private func first(_ server: ServerRunner) throws -> (runner: CoffretRunner, id: String) {
        let random = SeededGenerator(seed: 5)
        let first = try CoffretRunner()
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        let id = try first.makeNote(text(0, random))
        try first.makeNote("Tomatoes\nsow in March")
        for version in 1...Self.editCount { try first.succeed("edit", id, input: text(version, random)) }
        try first.succeed("vault", "sync", "Personal")
        return (first, id)
    }

    @Test(
        "the newcomer lists and writes when a fifth of the history has come; what is older says so; then all of it is there"
    )
    func newcomer() throws {
        let server = try ServerRunner()
        let (first, id) = try first(server)
        let tunnel = try LoopbackTunnel(to: server.port)
        let second = try CoffretRunner()
        try DevicePairing.pair(
            second, first, url: "https://localhost:\(tunnel.port)", fingerprint: server.fingerprint, name: "Second")
        let before = try version(first)
        // The present has 0.44 MB, the history 5.3.
        tunnel.cut(after: 1_000_000, .down)
        let cut = try second.run("sync", "--patience", "1s")
        #expect(tunnel.didCut && [69, 74, 90].contains(cut.exitCode), "\(cut.errorText)")
        #expect(cut.errorText.contains("may be used now; its older history follows"), "\(cut.errorText)")
        #expect(try version(second) == before)
        #expect(try second.succeed("ls").contains("Tomatoes"))
        #expect(try second.succeed("show", id).contains("version \(Self.editCount)\n"))
        #expect(try second.succeed("search", "March").contains("Tomatoes"))
        try second.makeNote("Written before the history came")
        #expect(try isPending(second))
        #expect(try second.succeed("sync", "--status").contains("older history has not arrived yet"))
        // The past is told as far as it is here.
        for arguments in [["log"], ["history", id], ["fsck"]] {
            #expect(try second.run(arguments, input: []).exitCode == 0, "\(arguments)")
        }
        try second.succeed("export", "\(second.workPath)/notes", "--yes")
        // Others go on meanwhile.
        try first.succeed("edit", "Tomatoes", input: "Tomatoes\nsow in April\n")
        try first.succeed("sync")

        tunnel.mend()
        try second.succeed("sync")
        #expect(try !isPending(second))
        try first.succeed("sync")
        #expect(try version(first) == version(second))
        for runner in [first, second] {
            #expect(try runner.succeed("ls").contains("Written before the history came"))
            #expect(try runner.succeed("show", "Tomatoes").contains("April"))
            let past = try runner.succeed("history", id)
            #expect(past.split(separator: "\n").count > Self.editCount, "\(past)")
            #expect(try !runner.succeed("fsck").contains("not arrived"))
            #expect(try runner.succeed("diff", id).contains("-version \(Self.editCount - 1)\n"))
            try runner.succeed("export", "\(runner.workPath)/all.json", "--format", "json", "--yes")
        }
        #expect(try first.succeed("log", "--limit", "100") == second.succeed("log", "--limit", "100"))
    }
}
