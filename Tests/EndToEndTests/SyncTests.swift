// Two stores and the real server: what each writes arrives at the other, and both end at one state.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Sync", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct SyncTests {
    private func version(_ runner: CoffretRunner) throws -> String {
        try #require(try runner.json("status")["version"] as? String)
    }

    @Test("two devices edit apart, both sync, both have both texts and one state")
    func convergence() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        #expect(try first.run("sync").exitCode == 66, "no server yet")
        #expect(try first.run("vault", "sync", "Personal").exitCode == 66, "no server yet")
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        #expect(try first.succeed("sync").contains("No vault is synced yet"))
        #expect(try first.run("vault", "unsync", "Personal").exitCode == 66)
        #expect(try first.run("sync", "--vault", "Personal").exitCode == 66, "it is on this device only")
        try first.makeNote("Tomatoes\nsow in March")
        // One vault before the second device joins, one after: keys come with the welcome, and through the mailbox.
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        try second.succeed("sync")
        #expect(try second.succeed("show", "Tomatoes").contains("sow in March"))
        #expect(try version(second) == version(first))

        try first.makeNote("Written by the first")
        try second.makeNote("Written by the second")
        #expect(try first.succeed("sync").contains("sent 1 change"))
        let merged = try second.succeed("sync")
        #expect(merged.contains("received 1 change"), "\(merged)")
        #expect(try first.succeed("sync").contains("received"))
        for runner in [first, second] {
            let list = try runner.succeed("ls")
            for title in ["Tomatoes", "Written by the first", "Written by the second"] {
                #expect(list.contains(title), "\(list)")
            }
            #expect(try runner.succeed("search", "second").contains("Written by the second"))
            try runner.succeed("fsck")
        }
        #expect(try version(first) == version(second))
        let codes = try [first, second].map { try $0.json("status")["headCode"] as? String }
        #expect(codes[0] == codes[1] && codes[0]?.count == 19, "\(codes)")
        #expect(try first.succeed("sync").contains("up to date"))

        try first.succeed("vault", "new", "Garden")
        try first.makeNote("Beans", "--vault", "Garden")
        try first.succeed("vault", "sync", "Garden")
        let both = try second.succeed("sync")
        #expect(both.contains("\"Garden\"    new here; received"), "\(both)")
        #expect(both.contains("\"Personal\"  up to date"), "\(both)")
        #expect(try second.succeed("show", "Beans", "--vault", "Garden").contains("Beans"))
        try second.succeed("vault", "unsync", "Garden")
        #expect(try !second.succeed("sync").contains("Garden"))
        #expect(try second.succeed("ls", "--vault", "Garden").contains("Beans"), "it stays here")
    }

    @Test("faults F13: wherever the connection breaks within a sync, it is told as that, and the next one goes on")
    func broken() throws {
        let server = try ServerRunner()
        let tunnel = try LoopbackTunnel(to: server.port)
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed(
            "server", "join", "https://localhost:\(tunnel.port)", "--fingerprint", server.fingerprint)
        try first.makeNote("Base")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        var cutCount = 0
        // Within the handshake, the login, what is sent and what is answered.
        for (index, byteCount) in [1, 600, 1_800, 3_000, 5_000, 20_000, 100_000].enumerated() {
            for direction in [LoopbackTunnel.Direction.up, .down] {
                try (direction == .up ? first : second).makeNote(
                    "Note \(index)\n" + String((0..<60_000).map { _ in "abcdefghijklmnop".randomElement()! }))
                if direction == .down { try second.succeed("sync") }
                tunnel.cut(after: byteCount, direction)
                let result = try first.run("sync", "--patience", "1s")
                if tunnel.didCut {
                    cutCount += 1
                    #expect(result.exitCode == 90, "\(byteCount) \(direction): \(result.exitCode) \(result.errorText)")
                    let words = ["the connection to the server broke off", "the server cannot be reached"]
                    #expect(words.contains { result.errorText.contains($0) }, "\(result.errorText)")
                } else {
                    #expect(result.exitCode == 0, "\(byteCount) \(direction): \(result.errorText)")
                }
                tunnel.mend()
                try first.succeed("sync")
            }
        }
        #expect(cutCount >= 10, "\(cutCount)")
        try second.succeed("sync")
        #expect(try version(first) == version(second))
        for runner in [first, second] { try runner.succeed("fsck") }
    }

    @Test(
        "what two devices changed in the same place is told of by the sync that finds it and by show, and settled once")
    func conflict() throws {
        let server = try ServerRunner()
        defer { server.stop() }
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        let id = try first.makeNote("Plan\nOne\nTwo\n")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        try second.succeed("sync")
        try first.succeed("edit", id, input: "Plan\nOne\nTwo of the first\n")
        try second.succeed("edit", id, input: "Plan\nOne\nTwo of the second\n")
        try first.succeed("sync")
        for runner in [second, first] {
            let synced = try runner.run("sync")
            #expect(synced.exitCode == 0 && synced.errorText.contains("coffret conflicts ls"), "\(synced.errorText)")
            let shown = try runner.run("show", id)
            #expect(
                shown.text.hasPrefix("Plan\nOne\nTwo of the ") && shown.errorText.contains("coffret conflicts show"))
            #expect(try runner.succeed("conflicts", "ls").contains("Plan"))
            let values = try runner.succeed("conflicts", "show", id)
            #expect(values.contains(/1  text by .+, .+, against what is shown now:/), "\(values)")
            #expect(values.contains("-Two of the ") && values.contains("+Two of the "), "\(values)")
        }
        #expect(try !first.run("sync").errorText.contains("conflicts"), "it is said once")
        let missing = try first.run("conflicts", "resolve", id, "--take", "9")
        #expect(missing.exitCode == 64, "\(missing.errorText)")
        #expect(missing.errorText.contains("error: \"Plan\" has 1 other value to take, and none with the number 9"))
        try first.succeed("conflicts", "resolve", id, "--both")
        for runner in [first, second] {
            #expect(try !runner.run("sync").errorText.contains("conflicts"))
            let shown = try runner.run("show", id)
            #expect(shown.text.contains("Two of the first") && shown.text.contains("Two of the second"))
            #expect(shown.errorText == "")
        }
        let settled = try first.run("conflicts", "resolve", id, "--take", "1")
        #expect(
            settled.exitCode == 64 && settled.errorText.contains("\"Plan\" has no conflicts"), "\(settled.errorText)")
    }
}
