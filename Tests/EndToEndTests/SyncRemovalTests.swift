// What a person removes reaches the other devices, and the server where that was asked for.

import CoffretTestSupport
import Testing

@Suite("Sync of removals", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct SyncRemovalTests {
    @Test("an item's past is forgotten here and at the server, and only where the server answers (P1 to P4)")
    func forgetting() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.keepUnlocked()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Tomatoes")
        let letter = try first.makeNote("Letter\n\nyours, as ever")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        let words = (1...120).map { "line \($0) of a letter that is long enough to be stored as a difference\n" }
            .joined()
        for round in 1...3 {
            try first.succeed("edit", letter, "--file", "-", input: "Letter\n\n\(words)round \(round)\n")
        }
        try first.succeed("edit", "Tomatoes", "--file", "-", input: "Tomatoes\nripe")
        try first.succeed("sync")
        try second.succeed("sync")
        func versions(_ runner: CoffretRunner, _ item: String) throws -> Int {
            try #require(try runner.json("history", item)["versions"] as? [Any]).count
        }
        #expect(try versions(second, letter) == 4)

        // Asked first, in numbers; and nothing without the server.
        let asked = try first.run("forget", letter)
        #expect(asked.exitCode == 83 && asked.errorText.contains("3 earlier versions"), "\(asked.errorText)")
        server.stop()
        let offline = try first.run("forget", letter, "--delete", "--yes")
        #expect(offline.exitCode != 0 && offline.text.isEmpty)
        #expect(try versions(first, letter) == 4)
        try server.start()

        let done = try first.json("forget", letter, "--yes")
        #expect(done["versionCount"] as? Int == 3 && done["isSynced"] as? Bool == true && done["record"] is String)
        #expect(try versions(first, letter) == 1 && versions(first, "Tomatoes") == 2)
        #expect(try first.succeed("show", letter).hasSuffix("round 3\n"))
        #expect(try first.succeed("forget", letter, "--yes").contains("no earlier version"))
        try first.succeed("fsck")
        // The other device has seven days; the server forgets when it has heard of it.
        try second.succeed("sync")
        #expect(try versions(second, letter) == 4)
        try first.succeed("sync")
        #expect(try !first.succeed("status").contains("dropped"))
        // A device that comes now finds what is left.
        let third = try CoffretRunner()
        try DevicePairing.pair(third, first, server, name: "Third")
        try third.succeed("sync")
        #expect(try third.succeed("show", letter).hasSuffix("round 3\n"))
        #expect(try versions(third, letter) == 1)
        try third.succeed("fsck")

        // With the item; and one that was removed before, by its id.
        #expect(try first.succeed("forget", letter, "--delete", "--yes").contains("Not reached"))
        #expect(try first.run("show", letter).exitCode == 66)
        try second.succeed("sync")
        #expect(try second.run("show", letter).exitCode == 66)
        let tomatoes = try #require(try second.json("show", "Tomatoes")["id"] as? String)
        try second.succeed("rm", "--permanently", tomatoes, "--yes")
        let removed = try second.json("forget", tomatoes, "--yes")
        #expect(removed["versionCount"] as? Int == 2)
        #expect(try second.run("forget", tomatoes, "--yes").exitCode == 66)
        try first.succeed("sync")
        for runner in [first, second] { try runner.succeed("fsck") }
    }

    @Test("a dropped history stays on the other device, and does not come back; unsync can delete the zone")
    func compaction() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.keepUnlocked()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        for round in 1...6 {
            try first.succeed("edit", "Tomatoes", "--file", "-", input: "Tomatoes\nline \(round)")
        }
        try first.succeed("sync")
        try second.succeed("sync")
        let before = try second.succeed("log").split(separator: "\n").count
        try first.succeed("compact", "--drop-history-older-than", "2100-01-01", "--yes")
        let dropped = try first.succeed("log").split(separator: "\n").count
        #expect(dropped < before, "\(dropped) of \(before)")
        try first.makeNote("Written since")
        try first.succeed("sync")
        try second.succeed("sync")
        try second.succeed("fsck")
        #expect(try second.succeed("log").split(separator: "\n").count == before + 1)
        #expect(try second.succeed("show", "Tomatoes").contains("line 6"))
        // They go on, and neither brings back or records anew what is gone.
        try second.makeNote("By the second")
        try second.succeed("sync")
        #expect(try first.succeed("sync").contains("received 1 change"))
        #expect(try second.succeed("sync").contains("up to date"))
        for runner in [first, second] { try runner.succeed("fsck") }
        #expect(try first.succeed("log").split(separator: "\n").count == dropped + 2)

        #expect(try first.run("vault", "unsync", "Personal", "--delete-from-server").exitCode == 83)
        let deleted = try first.succeed("vault", "unsync", "Personal", "--delete-from-server", "--yes")
        #expect(deleted.contains("shows nothing of it any more"), "\(deleted)")
        let lost = try second.run("sync")
        #expect(
            lost.exitCode != 0 && lost.errorText.contains("took a vault off the server"),
            "it must not go unnoticed: \(lost.errorText)")
        #expect(try second.succeed("show", "Tomatoes").contains("line 6"))
        // Begun anew by whoever deleted it.
        try first.succeed("vault", "sync", "Personal")
        try first.succeed("sync")
        // A device that never saw what was removed takes what is left.
        let third = try CoffretRunner()
        try DevicePairing.pair(third, first, server, name: "Third")
        try third.succeed("sync")
        #expect(try third.succeed("show", "Tomatoes").contains("line 6"))
        try third.succeed("fsck")
        try third.succeed("edit", "Tomatoes", "--file", "-", input: "Tomatoes\nline 7")
        try third.succeed("sync")
        #expect(try first.succeed("sync").contains("received 1 change"))
        #expect(try first.succeed("show", "Tomatoes").contains("line 7"))
    }
}
