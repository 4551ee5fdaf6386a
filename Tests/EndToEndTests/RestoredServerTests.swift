// A server that was put back to before a pairing or a revocation, or emptied, and a device that was thrown out with work that
// it never sent. The one thing to keep true: what the programs say to do is done here, word for word, and it heals.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Servers put back", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct RestoredServerTests {
    enum Loss: CaseIterable { case pairing, revocation, everything }

    @Test(
        "faults F6: a server restored from before a pairing or a revocation, or empty, heals as its errors say",
        arguments: Loss.allCases)
    func restored(_ loss: Loss) throws {
        let server = try ServerRunner()
        defer { server.stop() }
        let (first, second, third) = (try CoffretRunner(), try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        if loss == .everything { try server.keepData(as: "before") }
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Base\n")
        try first.succeed("vault", "sync", "Personal")
        if loss == .pairing { try server.keepData(as: "before") }
        try DevicePairing.pair(second, first, server, name: "Second")
        var stay = [first, second]
        if loss == .revocation {
            try DevicePairing.pair(third, first, server, name: "Third")
            for runner in [third, first, second] { try runner.succeed("sync") }
            try server.keepData(as: "before")
            try first.succeed("device", "revoke", "Third", "--yes")
        }
        for runner in stay + stay { try runner.succeed("sync") }
        for (index, runner) in stay.enumerated() {
            try runner.makeNote("From \(index)\n")
            try runner.succeed("sync")
        }
        try server.putBack("before")

        for (index, runner) in stay.enumerated() {
            let told = try runner.run("sync")
            let isUnknown = loss == .everything || loss == .pairing && index == 1
            #expect(told.exitCode == (isUnknown ? 77 : 72), "\(loss) \(index): \(told.errorText)")
            #expect(told.errorText.contains("--server-was-restored"), "\(told.errorText)")
        }
        for runner in stay {
            let healed = try runner.run("sync", "--server-was-restored")
            #expect(healed.exitCode == 0, "\(loss): \(healed.errorText)")
        }
        for runner in stay + stay { try runner.succeed("sync") }
        #expect(try Set(stay.map { try $0.json("status")["headCode"] as? String }).count == 1)
        for runner in stay {
            let list = try runner.succeed("ls")
            for title in ["Base", "From 0", "From 1"] { #expect(list.contains(title), "\(loss): \(list)") }
            #expect(try runner.succeed("device", "ls").contains("Second"))
            try runner.succeed("fsck")
        }
        // A new one joins, and the one that was thrown out stays so.
        if loss == .revocation {
            #expect(try third.run("sync").exitCode == 77)
            #expect(try third.run("sync", "--server-was-restored").exitCode == 77)
        } else {
            try DevicePairing.pair(third, second, server, name: "Third")
            try third.succeed("sync")
            #expect(try third.succeed("ls").contains("From 1"))
            stay.append(third)
        }
        for runner in stay { try runner.succeed("sync") }
    }

    @Test("faults F12: what a revoked device never sent comes home by the way that its error names, and nothing twice")
    func unsent() throws {
        let server = try ServerRunner()
        defer { server.stop() }
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        let edited = try first.makeNote("Shared\n\nAs both had it.\n")
        try first.makeNote("Left alone\n")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        try second.succeed("sync")
        #expect(
            try second.run("export", second.workPath + "/none", "--unsent", "--yes").text.contains("Exported 0 notes"))
        try second.makeNote("Written away\n\nNever sent.\n")
        try second.succeed("edit", edited, input: "Shared\n\nEdited away.\n")
        try first.succeed("device", "revoke", "Second", "--yes")
        let told = try second.run("sync")
        #expect(told.exitCode == 77, "\(told.errorText)")
        #expect(told.errorText.contains("2 changes never sent"), "\(told.errorText)")
        #expect(told.errorText.contains("coffret export FOLDER --unsent"), "\(told.errorText)")

        let folder = second.folder.file("home/unsent")
        #expect(try second.succeed("export", folder, "--unsent", "--yes").contains("Exported 2 notes"))
        #expect(try second.run("export", folder + ".json", "--unsent", "--yes").exitCode == 64)
        try first.succeed("import", folder)
        let texts = try first.json("export", first.workPath + "/all", "--yes")
        #expect(texts["notes"] as? Int == 4, "\(texts)")
        #expect(try first.succeed("search", "Edited away").contains("Shared"))
        #expect(try first.succeed("show", "Written away").contains("Never sent."))
        #expect(try first.succeed("show", edited).contains("As both had it."))
        try first.succeed("sync")
    }
}
