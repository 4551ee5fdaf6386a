// A device on paper: every device takes its sheet, and with the sheet and the server alone everything comes back.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Paper devices", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct PaperDeviceTests {
    private func recover(
        _ runner: CoffretRunner, _ server: ServerRunner, _ sheet: String, _ options: String...
    ) throws -> ProcessResult {
        let path = runner.workPath + "/sheet"
        _ = FileManager.default.createFile(
            atPath: path, contents: Data(sheet.utf8), attributes: [.posixPermissions: 0o600])
        return try runner.run(
            [
                "device", "recover", server.url, "--fingerprint", server.fingerprint, "--sheet", path, "--effort",
                "light",
            ] + options, input: [], environment: [:])
    }

    @Test(
        "a bare machine with the sheet has everything again, and with --revoke-others the old devices have nothing new")
    func comingBack() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        #expect(try first.run("recovery", "add", "--paper", "--print-only").exitCode == 66, "no server yet")
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("From the first")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        let made = try first.json("recovery", "add", "--paper", "--name", "Safe", "--print-only")
        let sheet = try #require(made["sheet"] as? String)
        #expect(sheet.split(separator: "-").count == 28)
        #expect(try first.succeed("recovery", "ls").contains("Safe"))
        #expect(try first.run("recovery", "revoke", "Safe", "--yes").exitCode == 64, "it is a device")

        // At the other device the sheet opens nothing before a person said so there, who is told of it until then (R99).
        #expect(try !second.succeed("recovery", "ls").contains("Safe"))
        func opens(_ runner: CoffretRunner) throws -> Int32 {
            try runner.run(
                ["recovery", "test", "--passphrase-fd", "0"], input: Array((sheet + "\n").utf8), environment: [:]
            ).exitCode
        }
        for command in ["sync", "sync", "status"] {
            let told = try second.run(command)
            #expect(told.exitCode == 0, "\(told.errorText)")
            #expect(told.errorText.contains("warning: the paper device \"Safe\" was added by"), "\(told.errorText)")
            #expect(told.errorText.contains("coffret recovery accept"), "\(told.errorText)")
        }
        #expect(try second.succeed("recovery", "ls").contains("does not open this store"))
        #expect(try opens(second) != 0)
        let asked = try second.run("recovery", "accept", "Safe")
        #expect(asked.exitCode == 83 && asked.errorText.contains("will open this store"), "\(asked.errorText)")
        #expect(try second.run("recovery", "accept", "Other", "--yes").exitCode == 66)
        try second.succeed("recovery", "accept", "Safe", "--yes")
        #expect(try opens(second) == 0)
        #expect(try second.run("sync").errorText.isEmpty)
        try second.makeNote("From the second")
        try second.succeed("sync")

        let bare = try CoffretRunner()
        let absent = try bare.run("device", "recover", server.url, "--sheet", "/nowhere/sheet")
        #expect(
            absent.exitCode == 66 && absent.errorText.contains("the sheet cannot be read from /nowhere/sheet"),
            "\(absent.errorText)")
        let mistyped = String(sheet.dropLast(3) + (sheet.hasSuffix("000") ? "111" : "000"))
        #expect(try recover(bare, server, mistyped).exitCode != 0)
        #expect(!FileManager.default.fileExists(atPath: bare.storePath + "/store.keyring"))
        let back = try recover(bare, server, sheet, "--name", "Bare")
        #expect(back.exitCode == 0, "\(back.errorText)")
        let list = try bare.succeed("ls")
        #expect(list.contains("From the first") && list.contains("From the second"), "\(list)")
        #expect(try bare.succeed("recovery", "ls").contains("Safe"))
        try bare.makeNote("From the bare one")
        try bare.succeed("sync")
        try first.succeed("sync")
        #expect(try first.succeed("show", "From the bare one").contains("bare"))
        #expect(try first.succeed("device", "ls").contains("Bare"))

        let last = try CoffretRunner()
        let alone = try recover(last, server, sheet, "--name", "Last", "--revoke-others")
        #expect(alone.exitCode == 0, "\(alone.errorText)")
        #expect(alone.text.contains("Thrown out: 3 devices."), "\(alone.text)")
        for runner in [first, second, bare] {
            #expect(try runner.run("sync").exitCode == 77)
            let status = try runner.succeed("status")
            #expect(status.contains("the server does not let this device in"), "\(status)")
        }
        try last.makeNote("Under a key of its own")
        try last.succeed("sync")
        try last.succeed("fsck")
        #expect(try last.succeed("ls").contains("From the bare one"))

        // Keys that came later reach the sheet as well.
        let again = try CoffretRunner()
        // Copied from the paper as it stands there.
        let groups = sheet.split(separator: "-")
        let rows = stride(from: 0, to: groups.count, by: 4).map { groups[$0..<$0 + 4].joined(separator: "  ") }
        #expect(try recover(again, server, rows.joined(separator: "\n") + "\n").exitCode == 0)
        #expect(try again.succeed("ls").contains("Under a key of its own"))
        #expect(try again.run("device", "recover", server.url).exitCode == 82, "a store is there")
    }

    private func second(of first: CoffretRunner, _ server: ServerRunner) throws -> CoffretRunner {
        let second = try CoffretRunner()
        try DevicePairing.pair(second, first, server, name: "Second")
        return second
    }

    @Test("a sheet throws out the devices, and says which paper devices it may not")
    func olderPaper() throws {
        let server = try ServerRunner()
        let first = try CoffretRunner()
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        _ = try first.json("recovery", "add", "--paper", "--name", "Older", "--print-only")
        let made = try first.json("recovery", "add", "--paper", "--name", "Newer", "--print-only")
        let sheet = try #require(made["sheet"] as? String)
        let last = try CoffretRunner()
        let alone = try recover(last, server, sheet, "--name", "Last", "--revoke-others")
        #expect(alone.exitCode == 0, "\(alone.errorText)")
        #expect(
            alone.errorText.contains("1 paper device that this sheet may not revoke stays"), "\(alone.errorText)")
        let list = try last.succeed("device", "ls")
        #expect(list.contains("Older") && list.contains("Newer"), "\(list)")
        #expect(try first.run("sync").exitCode == 77)
        #expect(try first.run("sync").errorText.contains("the server does not let this device in"))
    }

    @Test("a paper device falls seven days after another device said so, and counts until then")
    func revocation() throws {
        let server = try ServerRunner()
        let first = try CoffretRunner()
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        let made = try first.json("recovery", "add", "--paper", "--name", "Safe", "--print-only")
        let sheet = try #require(made["sheet"] as? String)
        #expect(try first.succeed("device", "revoke", "Safe", "--yes").contains("seven days"))
        let early = try first.run("device", "revoke", "Safe", "--yes")
        #expect(early.exitCode == 75, "\(early.errorText)")
        #expect(early.errorText.contains("its seven days are not over   [cli.device.paper-too-early]"))
        #expect(early.errorText.contains("run this again on this device from "), "\(early.errorText)")
        #expect(!early.errorText.contains("recover"), "nobody but this person did anything: \(early.errorText)")
        #expect(try first.succeed("device", "ls").contains("paper, can be revoked "))
        // Before anything is told, the question says what will be.
        let asked = try second(of: first, server).run("device", "revoke", "Safe")
        #expect(asked.exitCode == 83)
        #expect(asked.errorText.contains("For seven days its sheet still counts"), "\(asked.errorText)")
        #expect(try first.succeed("recovery", "ls").contains("Safe"))
        // It still counts.
        let bare = try CoffretRunner()
        #expect(try recover(bare, server, sheet).exitCode == 0)
        // A key of a store, or of nobody, is no sheet.
        let other = try first.json("recovery", "add", "--print-only")
        let key = try #require(other["key"] as? String)
        #expect(try recover(CoffretRunner(), server, key + sheet.dropFirst(69)).exitCode != 0)
    }

    @Test(
        "R24: while a store is unlocked no program without its passphrase puts a way to recover it in",
        .enabled(if: AgentRunner.isAvailable, "needs coffret-agent beside coffret"))
    func silentEnrolmentWithLyingServer() throws {
        let server = try ServerRunner()
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        let runner = agent.runner
        try runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        #expect(try agent.unlock().exitCode == 0)
        try agent.succeed("ls")
        let keyring = { try Data(contentsOf: URL(fileURLWithPath: runner.storePath + "/store.keyring")) }
        let before = try keyring()
        let devices = try agent.succeed("device", "ls")
        let wrong = runner.folder.file("home/wrong")
        _ = FileManager.default.createFile(
            atPath: wrong, contents: Data("not it\n".utf8), attributes: [.posixPermissions: 0o600])
        let ways = [["recovery", "add"], ["recovery", "add", "--paper"]].map { $0 + ["--print-only"] }
        for (file, exitCode) in [(String?.none, Int32(86)), (wrong, 67)] {
            for way in ways {
                let result = try runner.run(
                    way, input: [], environment: agent.environment(["COFFRET_PASSPHRASE_FILE": file]))
                #expect(result.exitCode == exitCode && result.text == "", "\(way): \(result.text) \(result.errorText)")
            }
        }
        #expect(try keyring() == before)
        #expect(try agent.succeed("device", "ls") == devices)
        // With the passphrase each goes well.
        for way in ways {
            let result = try runner.run(
                way, input: [], environment: agent.environment(["COFFRET_PASSPHRASE_FILE": runner.passphraseFile]))
            #expect(result.exitCode == 0, "\(way): \(result.errorText)")
        }
        #expect(try keyring() != before)
    }
}
