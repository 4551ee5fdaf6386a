// Stores that are not what this machine remembers: put back, copied, or remembered no more. The one thing to keep true: the
// person at that device hears of it, in words that say which of these it is, and nobody else is blamed.

import CoffretTestSupport
import Foundation
import Testing

/// A store, kept and put back as a backup of the disk would.
extension CoffretRunner {
    private var statePath: String { folder.file("home/.local/state/coffret") }

    /// The folder of what is remembered of the store outside it.
    var memoryPath: String {
        get throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: statePath).filter { $0.count == 32 }
            return "\(statePath)/\(try #require(names.first))"
        }
    }

    var markerPath: String { get throws { try memoryPath + "/marker" } }

    /// Keeps the store and what is remembered of it.
    func keepStore() throws {
        for (name, path) in [("kept", storePath), ("kept-memory", try memoryPath)] {
            try? FileManager.default.removeItem(atPath: folder.file(name))
            try FileManager.default.copyItem(atPath: path, toPath: folder.file(name))
        }
    }

    /// - Parameter withMemory: as a backup of the whole disk does; else the store alone.
    func putStoreBack(withMemory: Bool = true) throws {
        for (name, path) in [("kept", storePath)] + (withMemory ? [("kept-memory", try memoryPath)] : []) {
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.copyItem(atPath: folder.file(name), toPath: path)
        }
    }
}

@Suite("Old copies of a store")
struct OldCopyTests {
    @Test(
        "faults F2: an old copy of one device is told to that device; the others neither fail nor blame the server (R117)",
        .enabled(if: ServerRunner.isAvailable), arguments: [false, true])
    func otherDevices(writes: Bool) throws {
        let server = try ServerRunner()
        defer { server.stop() }
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Base\n")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        for runner in [second, first] { try runner.succeed("sync") }
        try first.keepStore()
        for number in 0..<4 {
            try (writes ? first : second).succeed("new", input: "Note \(number)\n")
            for runner in [second, first, second] { try runner.succeed("sync") }
        }
        try first.putStoreBack()

        func checkSecond() throws {
            let result = try second.run("sync")
            #expect(result.exitCode == 0 && !result.errorText.contains("older word"), "\(result.errorText)")
        }
        // It is told once, and the copy goes on in a log of its own (I2).
        for round in 0..<2 {
            let told = try first.run("sync", "--json")
            #expect(told.exitCode == 0, "\(told.text) \(told.errorText)")
            #expect(told.errorText.contains("sync.store.rolled-back") == (round == 0), "\(told.errorText)")
            try checkSecond()
        }
        try first.succeed("device", "renew")
        for _ in 0..<2 {
            try first.succeed("sync")
            try checkSecond()
        }
        // From the other side as well: what either says now counts.
        try first.succeed("new", input: "After it\n")
        for runner in [first, second, first] { try runner.succeed("sync") }
        let codes = try [first, second].map { try #require(try $0.json("status")["headCode"] as? String) }
        #expect(Set(codes).count == 1)
        for runner in [first, second] { #expect(try runner.succeed("ls").contains("After it")) }
    }

    /// Every way in says it, in words of its own and as JSON; nothing is written until the person has said that it is so.
    private func checkRefused(_ runner: CoffretRunner, _ arguments: [String], code: String, words: String) throws {
        let refused = try runner.run(arguments, input: Array("Text\n".utf8))
        #expect(refused.exitCode == 72 && refused.text.isEmpty, "\(arguments): \(refused.errorText)")
        #expect(refused.errorText.contains(words), "\(refused.errorText)")
        #expect(refused.errorText.contains("coffret device renew"), "\(refused.errorText)")
        let json = try runner.run(arguments + ["--json"], input: Array("Text\n".utf8))
        #expect(json.exitCode == 72 && json.errorText.contains("\"code\":\"\(code)\""), "\(json.errorText)")
    }

    @Test("keys 4: a marker that was altered, or is another instance's, stops every command until device renew (R97)")
    func altered() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let note = try runner.makeNote("Base\n")
        let marker = try Data(contentsOf: URL(fileURLWithPath: runner.markerPath))
        let keyring = { try Data(contentsOf: URL(fileURLWithPath: runner.storePath + "/store.keyring")) }
        let words = "not the store that this machine remembers"
        try Data((0..<marker.count).map { UInt8(truncatingIfNeeded: $0 * 7) }).write(
            to: URL(fileURLWithPath: runner.markerPath))
        let before = try keyring()
        for arguments in [["ls"], ["show", note], ["new"], ["status"], ["vault", "new", "Work"]] {
            try checkRefused(runner, arguments, code: "keys.marker.differs", words: words)
        }
        #expect(try keyring() == before)
        #expect(try runner.run("device", "renew", environment: ["COFFRET_PASSPHRASE_FILE": nil]).exitCode != 0)
        try runner.succeed("device", "renew")
        #expect(try runner.run("show", note).errorText.isEmpty)
        try runner.makeNote("After it\n")

        // The marker of before names the instance of before.
        try runner.keepStore()
        try runner.succeed("device", "renew")
        try FileManager.default.removeItem(atPath: runner.storePath)
        try FileManager.default.copyItem(atPath: runner.folder.file("kept"), toPath: runner.storePath)
        try checkRefused(runner, ["ls"], code: "core.store.rolled-back", words: "older than this device")
        try runner.putStoreBack(withMemory: true)
        try runner.succeed("ls")
    }

    @Test("keys 4: a copied store, or one whose marker is gone, is read with a warning and not written to (R97)")
    func missing() throws {
        let (runner, other) = (try CoffretRunner(), try CoffretRunner())
        try runner.makeStore()
        let note = try runner.makeNote("Base\n")
        // On another machine, as a copied folder.
        try FileManager.default.createDirectory(
            atPath: URL(fileURLWithPath: other.storePath).deletingLastPathComponent().path,
            withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: runner.storePath, toPath: other.storePath)
        // Here, where nothing but the marker is gone.
        try FileManager.default.removeItem(atPath: runner.markerPath)
        let words = "this machine remembers nothing of this store"
        for machine in [runner, other] {
            for arguments in [["ls"], ["show", note], ["status"], ["show", note, "--json"]] {
                let read = try machine.run(arguments, input: [])
                #expect(
                    read.exitCode == 0 && read.text.contains("Base") || arguments == ["status"], "\(read.errorText)")
                #expect(read.errorText.contains(words) && read.errorText.contains("keys.marker.missing"))
            }
            #expect(try machine.json("status")["remembered"] as? Bool == false)
            for arguments in [["new"], ["edit", note], ["rm", note], ["vault", "new", "Work"]] {
                try checkRefused(machine, arguments, code: "keys.marker.missing", words: words)
            }
            #expect(try machine.run("status").errorText.contains(words), "no command settles it by itself")
            let renewed = try machine.run("device", "renew")
            #expect(renewed.exitCode == 0 && renewed.errorText.isEmpty, "\(renewed.errorText)")
            try machine.makeNote("After it\n")
            #expect(try machine.run("ls").errorText.isEmpty)
            #expect(try machine.json("status")["remembered"] as? Bool == true)
        }
    }

    @Test("keys 4: an agent says both, at unlocking and with each command (R97)")
    func agent() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        let note = try agent.runner.makeNote("Base\n")
        let marker = try Data(contentsOf: URL(fileURLWithPath: agent.runner.markerPath))
        try FileManager.default.removeItem(atPath: agent.runner.markerPath)
        let words = "this machine remembers nothing of this store"
        let unlocked = try agent.unlock()
        #expect(unlocked.exitCode == 0 && unlocked.errorText.contains(words), "\(unlocked.errorText)")
        let shown = try agent.run("show", note)
        #expect(shown.exitCode == 0 && shown.errorText.contains(words), "\(shown.errorText)")
        let refused = try agent.run("new", "--json", input: "Text\n")
        #expect(refused.exitCode == 72 && refused.errorText.contains("keys.marker.missing"), "\(refused.errorText)")

        var altered = marker
        altered[altered.count - 1] ^= 1
        try altered.write(to: URL(fileURLWithPath: agent.runner.markerPath))
        let stopped = try agent.run("show", note)
        #expect(stopped.exitCode == 72 && stopped.text.isEmpty, "\(stopped.errorText)")
        try agent.succeed("lock")
        let again = try agent.unlock()
        #expect(again.exitCode == 72, "\(again.errorText)")
        #expect(again.errorText.contains("not the store that this machine remembers"), "\(again.errorText)")
        try marker.write(to: URL(fileURLWithPath: agent.runner.markerPath))
        #expect(try agent.unlock().exitCode == 0)
        #expect(try agent.run("show", note).errorText.isEmpty)
    }

    @Test("faults F7: an older whole store put back under its marker is said, and nothing is written to it (R98)")
    func olderStore() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let note = try runner.makeNote("Base\n")
        try runner.keepStore()
        for number in 0..<3 { try runner.succeed("edit", note, input: "Edit \(number)\n") }
        #expect(try runner.run("show", note).errorText.isEmpty)
        try runner.putStoreBack(withMemory: false)
        for arguments in [["show", note], ["status"], ["ls", "--json"]] {
            let read = try runner.run(arguments, input: [])
            #expect(read.exitCode == 0)
            #expect(read.errorText.contains("older than this machine remembers"), "\(arguments): \(read.errorText)")
        }
        #expect(try runner.json("status")["olderCopy"] as? Bool == true)
        for arguments in [["edit", note], ["new"]] {
            try checkRefused(
                runner, arguments, code: "core.vault.rolled-back", words: "older than this machine remembers")
        }
        try runner.succeed("device", "renew")
        try runner.succeed("edit", note, input: "After it\n")
        #expect(try runner.run("show", note).errorText.isEmpty)
        #expect(try runner.json("status")["olderCopy"] as? Bool == false)

        // What was renewed is remembered in its turn; a memory that tells nothing is no accusation.
        try runner.keepStore()
        try runner.succeed("edit", note, input: "Newest\n")
        let memory = try runner.memoryPath
        let names = try FileManager.default.contentsOfDirectory(atPath: memory).filter { $0.count == 32 }
        #expect(names.count == 1)
        try runner.putStoreBack(withMemory: false)
        #expect(try runner.run("edit", note, input: "Lost\n").exitCode == 72)
        for name in names { try Data([1, 2, 3]).write(to: URL(fileURLWithPath: "\(memory)/\(name)")) }
        #expect(try runner.run("edit", note, input: "Goes on\n").exitCode == 0)
    }
}
