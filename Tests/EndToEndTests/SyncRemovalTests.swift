// What a person removes reaches the other devices, and the server where that was asked for.

import CoffretTestSupport
import Testing

@Suite("Sync of removals", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct SyncRemovalTests {
    @Test("a dropped history stays on the other device, and does not come back; unsync can delete the zone")
    func compaction() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
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
