// A person's devices over a long while: real stores, real processes, a real server that dies now and then. The one
// thing to keep true: what a command acknowledged is somewhere in every store in the end, and nowhere twice.

import CoffretBase
import CoffretCrypto
import CoffretKeys
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Glibc
import Testing

@testable import CoffretCore

@Suite("Several devices", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct SeveralDevicesTests {
    /// One device, with a clock and a network of its own.
    private final class Device {
        let name: String
        let runner: CoffretRunner
        /// How far its clock is off, in libfaketime's words.
        let clock: String?
        var isAway = false
        /// Words that were acknowledged here and not sent yet.
        var unsent: Set<String> = []

        init(_ name: String, clock: String? = nil) throws {
            self.name = name
            self.clock = clock
            runner = try CoffretRunner()
        }

        private var environment: [String: String?] {
            var changes: [String: String?] = [:]
            if let clock {
                changes["LD_PRELOAD"] = Faketime.library
                changes["FAKETIME"] = clock
            }
            // Nobody listens at the discard port.
            if isAway { changes["https_proxy"] = "http://127.0.0.1:9" }
            return changes
        }

        func run(_ arguments: String..., input: String = "") throws -> ProcessResult {
            try runner.run(arguments, input: Array(input.utf8), environment: environment)
        }

        @discardableResult
        func succeed(_ arguments: String..., input: String = "") throws -> String {
            let result = try runner.run(arguments, input: Array(input.utf8), environment: environment)
            guard result.exitCode == 0, !result.isSignalled else {
                throw CoffretRunner.Failed(text: "\(name): \(arguments) gave \(result.exitCode): \(result.errorText)")
            }
            return result.text
        }

        func json(_ arguments: String...) throws -> [String: Any] {
            let result = try runner.run(arguments + ["--json"], input: [], environment: environment)
            guard result.exitCode == 0 else {
                throw CoffretRunner.Failed(text: "\(name): \(arguments) gave \(result.exitCode): \(result.errorText)")
            }
            let line = result.text.split(separator: "\n").last ?? ""
            guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
                throw CoffretRunner.Failed(text: "\(name): \(arguments) printed \(result.text)")
            }
            return object
        }

        func ids() throws -> [String] {
            try (json("ls", "--limit", "1000")["items"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
        }
    }

    @Test(
        "five devices, clocks years apart, partitions, a server that is killed, a revocation: one state, nothing lost or twice",
        .enabled(if: Faketime.isAvailable, Faketime.missing),
        arguments: [SeededGenerator.replayedSeed ?? 20_261_122])
    func life(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let server = try ServerRunner()
        var isUp = true
        let devices = [
            try Device("First"), try Device("Ahead", clock: "+1100d"), try Device("Behind", clock: "-900d"),
            try Device("Fourth"), try Device("Lost", clock: "+400d"),
        ]
        let first = devices[0]
        try first.runner.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.succeed("new", input: "Base\nbase0\n")
        try first.succeed("vault", "sync", "Personal")
        for device in devices.dropFirst() {
            try DevicePairing.pair(device.runner, first.runner, server, name: device.name)
            try device.succeed("sync")
        }

        var expected: Set<String> = ["base0"]
        var noteCount = 1
        var present = devices
        /// A sync that the network lets through takes along what was written; one that it does not changes nothing.
        func sync(_ device: Device) throws {
            let result = try device.run("sync", "--patience", "1s")
            if isUp && !device.isAway {
                #expect(result.exitCode == 0, "seed \(seed), \(device.name): \(result.errorText)")
                device.unsent = []
            } else {
                #expect(result.exitCode == 90, "seed \(seed), \(device.name): \(result.exitCode) \(result.errorText)")
            }
        }
        for step in 1...48 {
            let device = present[Int.random(in: 0..<present.count, using: &random)]
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2:
                try device.succeed("new", input: "Note \(step)\n\nword\(step)x\n")
                noteCount += 1
                expected.insert("word\(step)x")
                device.unsent.insert("word\(step)x")
            case 3...5:
                let ids = try device.ids()
                let id = ids[Int.random(in: 0..<ids.count, using: &random)]
                let text = try device.succeed("show", id)
                try device.succeed("edit", id, input: text + "\nword\(step)x\n")
                expected.insert("word\(step)x")
                device.unsent.insert("word\(step)x")
            case 6, 7: try sync(device)
            case 8: device.isAway.toggle()
            default:
                if isUp { server.stop(SIGKILL) } else { try server.start() }
                isUp.toggle()
            }
            guard step == 32 else { continue }
            // What the lost device has sent counts; what it has not stays with whoever found it.
            if !isUp { try server.start() }
            isUp = true
            first.isAway = false
            let lost = devices[4]
            try first.succeed("device", "revoke", "Lost", "--yes")
            present.removeLast()
            expected.subtract(lost.unsent)
            lost.isAway = false
            #expect(try lost.run("sync").exitCode == 77, "seed \(seed): a revoked device is refused")
        }

        if !isUp { try server.start() }
        isUp = true
        for device in present { device.isAway = false }
        // Devices that only sync fall silent.
        var versions: Set<String> = []
        for _ in 0..<(present.count + 2) {
            for device in present { try sync(device) }
            versions = try Set(present.map { try #require(try $0.json("status")["version"] as? String) })
            if versions.count == 1 { break }
        }
        #expect(versions.count == 1, "seed \(seed): they come to one state")
        #expect(try Set(present.map { try $0.json("status")["headCode"] as? String }).count == 1)
        for device in present {
            try device.succeed("fsck")
            try device.succeed("export", "--format", "json", "--yes", device.runner.folder.file("all.json"))
            let all = try String(contentsOfFile: device.runner.folder.file("all.json"), encoding: .utf8)
            let lost = expected.filter { !all.contains($0) }.sorted()
            #expect(lost.isEmpty, "seed \(seed): \(device.name) has lost these")
            let ids = try device.ids()
            #expect(Set(ids).count == ids.count && ids.count <= noteCount, "seed \(seed)")
        }
        // What a person leaves with is all of it, conflicts included, and comes back as the same state.
        let file = first.runner.folder.file("all.json")
        let elsewhere = try CoffretRunner()
        try elsewhere.makeStore()
        try elsewhere.succeed("vault", "new", "Back")
        let back = try elsewhere.json("import", "--vault", "Back", file)
        let stated = try String(contentsOfFile: file, encoding: .utf8)
        let hash = try #require(back["stateHash"] as? String)
        #expect(stated.contains("\"stateHash\":\"\(hash)\""), "seed \(seed)")
        // Alike everywhere, so one device tells for all: each word stands once in what is shown.
        let ids = try first.ids()
        let shown = try ids.map { try first.succeed("show", $0) }
        for word in expected {
            let count = shown.reduce(0) { $0 + $1.split(whereSeparator: \.isWhitespace).count { $0 == word } }
            #expect(count <= 1, "seed \(seed): \(word) stands \(count) times")
        }
    }

    @Test(
        "an old copy of a store that is put back is noticed, and goes on beside the newer one with nothing lost (R1, R2)"
    )
    func oldCopy() throws {
        let server = try ServerRunner()
        defer { server.stop() }
        let (first, second) = (try Device("First"), try Device("Second"))
        try first.runner.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.succeed("new", input: "Base\n")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second.runner, first.runner, server, name: "Second")
        try second.succeed("sync")
        try first.runner.keepStore()
        try first.succeed("new", input: "Newer\n")
        try first.succeed("sync")
        try first.runner.putStoreBack()

        let noticed = try first.run("sync")
        #expect(
            noticed.exitCode == 0 && noticed.errorText.contains("sync.store.rolled-back"), "\(noticed.errorText)")
        let once = try first.run("sync")
        #expect(once.exitCode == 0 && !once.errorText.contains("sync.store.rolled-back"), "\(once.errorText)")
        try first.succeed("new", input: "After it\n")
        for device in [first, second] { try device.succeed("sync") }
        for device in [first, second] {
            let list = try device.succeed("ls")
            for title in ["Base", "Newer", "After it"] { #expect(list.contains(title), "\(device.name): \(list)") }
            try device.succeed("fsck")
        }
        #expect(try Set([first, second].map { try $0.json("status")["headCode"] as? String }).count == 1)

        // Changes that were made on an old copy stand under numbers that the newer copy has used (R2).
        try first.runner.keepStore()
        try first.succeed("new", input: "Sent by the newer copy\n")
        try first.succeed("sync")
        try first.runner.putStoreBack()
        try first.succeed("new", input: "Written on the old copy\n")
        // They are written again, so nothing of either copy is lost, and nobody takes it for a fork.
        let again = try first.run("sync")
        #expect(again.exitCode == 0 && again.errorText.contains("1 change made on it alone"), "\(again.errorText)")
        try first.succeed("sync")
        try second.succeed("sync")
        for device in [first, second] {
            let list = try device.succeed("ls")
            for title in ["Sent by the newer copy", "Written on the old copy"] {
                #expect(list.contains(title), "\(device.name): \(list)")
            }
            try device.succeed("fsck")
        }
        #expect(try Set([first, second].map { try $0.json("status")["headCode"] as? String }).count == 1)
    }

    // MARK: Locked notes

    private static let diary = "# Diary\n\nThe xylophone is under the stairs.\n"

    /// Two devices that have a note locked with "one".
    private func pairWithLockedNote() throws -> (server: ServerRunner, first: Device, second: Device, note: String) {
        let server = try ServerRunner()
        let (first, second) = (try Device("First"), try Device("Second"))
        try first.runner.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        let note = try first.runner.makeNote(Self.diary)
        try first.succeed("new", input: "Another note\n")
        let locked = try withLines(
            first, "one\n", "note", "lock", note, "--effort", "light", "--note-passphrase-fd", "3")
        #expect(locked.exitCode == 0, "\(locked.errorText)")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second.runner, first.runner, server, name: "Second")
        try second.succeed("sync")
        return (server, first, second, note)
    }

    /// Runs with lines on descriptor 3.
    private func withLines(
        _ device: Device, _ lines: String, _ arguments: String..., input: String = ""
    ) throws -> ProcessResult {
        let path = device.runner.folder.file("home/lines")
        try Data(lines.utf8).write(to: URL(fileURLWithPath: path))
        return try ProcessRunner.run(
            "/bin/sh", ["-c", "exec \"$0\" \"$@\" 3< \"$LINES\"", CoffretRunner.executable] + arguments,
            input: Array(input.utf8), environment: device.runner.environment(["LINES": path]),
            directory: device.runner.workPath, timeoutSeconds: 120)
    }

    @Test("a locked note edited here, its passphrase changed there, both offline: the edit, under the new passphrase")
    func lockedNote() throws {
        let (server, first, second, note) = try pairWithLockedNote()
        defer { server.stop() }
        let edited = Self.diary + "And the marimba, too.\n"
        let edit = try withLines(first, "one\n", "edit", note, "--note-passphrase-fd", "3", input: edited)
        #expect(edit.exitCode == 0, "\(edit.errorText)")
        let relocked = try withLines(
            second, "one\ntwo\n", "note", "relock", "--all", "--effort", "light", "--note-passphrase-fd", "3",
            "--new-note-passphrase-fd", "3")
        #expect(relocked.exitCode == 0, "\(relocked.errorText)")
        for device in [first, second, first, second] { try device.succeed("sync") }
        let versions = try Set([first, second].map { try #require(try $0.json("status")["version"] as? String) })
        #expect(versions.count == 1)
        for device in [first, second] {
            #expect(try device.run("show", note).exitCode == 89, "it is locked")
            let shown = try withLines(device, "two\n", "show", note, "--note-passphrase-fd", "3")
            #expect(shown.text == edited, "\(device.name): \(shown.errorText)")
            let old = try withLines(device, "one\n", "show", note, "--note-passphrase-fd", "3")
            #expect(old.exitCode == 67 && old.text == "", "\(device.name): \(old.errorText)")
            #expect(try device.succeed("search", "marimba") == "")
            try device.succeed("fsck")
        }
    }

    @Test(
        "a device that does not know a newer scheme keeps a note of it to the byte, and goes on with everything else (R18)"
    )
    func newerScheme() throws {
        let (server, first, second, note) = try pairWithLockedNote()
        defer { server.stop() }
        // What a later release would write: a record of scheme 9, and the note's text under it.
        let identity = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: 9)
            encoder.encode(text: "of a later release")
        }
        let idBytes = BLAKE2b.hash(
            Array("coffret/locked/record/1".utf8), identity, byteCount: UniqueID.byteCount)
        let recordID = try #require(UniqueID(bytes: idBytes))
        let record = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: 1)
            encoder.encode(bytes: identity)
            encoder.encode(bytes: [1, 2, 3])
            encoder.encodeArrayHeader(count: 0)
        }
        let entity = EntityID(
            kind: ItemKind.note.rawValue, uuid: try #require(UniqueID(bytes: try Hex.decode(note))))
        let sealed = SealedValue(
            record: recordID, encryptionID: UniqueID.generate(from: SystemRandomSource()),
            tag: [UInt8](repeating: 7, count: SealedValue.tagByteCount), ancestors: [], resealCount: 0,
            body: Array("sealed as nobody here can".utf8)
        ).encode()
        let recordKey = FactKey(entity: PasswordRecord.entity(recordID), attribute: RecordAttribute.record)
        let textKey = FactKey(entity: entity, attribute: LockedPart.text.attribute)
        try inVault(of: first, isWritable: true) { vault in
            try vault.batch { batch in
                batch.write([LogChange(key: recordKey, value: record), LogChange(key: textKey, value: sealed)])
            }
        }
        for device in [first, second] { try device.succeed("sync") }

        #expect(try second.succeed("ls").contains("Diary"))
        let shown = try withLines(second, "one\n", "show", note, "--note-passphrase-fd", "3")
        #expect(shown.exitCode != 0 && shown.text == "", "\(shown.text)")
        #expect(shown.errorText.contains("core.record.unsupported"), "\(shown.errorText)")
        for arguments in [["edit", note], ["note", "unlock", note, "--for-good"], ["note", "relock", "--all"]] {
            let refused = try second.runner.run(
                arguments + ["--note-passphrase-fd", "0"], input: Array("one\ntwo\n".utf8))
            #expect(refused.exitCode != 0, "\(arguments)")
        }
        // What it does know of the note, and everything else, it still changes; both devices come to one state.
        try second.succeed("tag", "add", note, "kept")
        try second.succeed("new", input: "Written beside it\n")
        for device in [second, first] { try device.succeed("sync") }
        let versions = try Set([first, second].map { try #require(try $0.json("status")["version"] as? String) })
        #expect(versions.count == 1)
        for device in [first, second] {
            try inVault(of: device, isWritable: false) { vault in
                let kept = (record: try value(recordKey, vault), text: try value(textKey, vault))
                #expect(kept.record == record && kept.text == sealed, "\(device.name)")
            }
            try device.succeed("fsck")
        }
    }

    /// Opens a device's vault in this process.
    private func inVault(of device: Device, isWritable: Bool, _ body: (Vault) throws -> Void) throws {
        let environment = StoreEnvironment(
            stateDirectory: device.runner.folder.file("home/.local/state/coffret"), fileSystem: PosixFileSystem(),
            random: SystemRandomSource(), clock: SystemWallClock())
        var typed = Array(CoffretRunner.passphrase.utf8)
        let store = try Store.open(
            at: device.runner.storePath, with: .passphrase(Passphrase(typed: &typed)), environment: environment)
        let vault = try store.openVault("Personal", isWritable: isWritable)
        defer { vault.close() }
        try body(vault)
    }

    /// The one value under a key.
    private func value(_ key: FactKey, _ vault: Vault) throws -> [UInt8]? {
        let facts = try vault.presentReader().facts(of: key.entity).filter { $0.key == key }
        #expect(facts.count == 1)
        return try facts.first.map { try vault.presentReader().value(of: $0) }
    }
}
