// Text that was typed and is no change yet. Invariant: once a draft was said to be kept, its text or a later one is found, whatever
// is killed.

import CoffretApp
import CoffretBase
import CoffretClient
import CoffretTerminal
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc
import Testing

@Suite("Drafts", .serialized, .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct DraftTests {
    private static let name = "00112233445566778899aabbccddeeff"
    /// The checks play a short form; this variable asks for a longer one.
    private static let roundCount =
        ProcessInfo.processInfo.environment["COFFRET_DRAFT_KILLS"].flatMap { Int($0) } ?? 12

    private static func keep(
        _ item: String, _ text: String, base: String, as name: String = DraftTests.name
    ) -> DraftKeep {
        var draft = DraftKeep()
        (draft.draft, draft.item, draft.text, draft.baseText) = (name, item, text, base)
        return draft
    }

    /// Where the drafts of the store lie.
    private static func files(_ world: OperationWorld) throws -> [String] {
        let state = world.agent.runner.folder.file("home/.local/state/coffret")
        let found = FileManager.default.enumerator(atPath: state)?.compactMap { $0 as? String } ?? []
        return found.filter { $0.contains("/drafts/") && $0.split(separator: "/").last?.count == 32 }
            .filter { $0.split(separator: "/").count == 4 }.map { state + "/" + $0 }
    }

    private static func text(_ world: OperationWorld, _ item: String) throws -> String {
        var read = FieldRead()
        read.item = item
        return try world.session(isJSON: false).perform(read).text ?? ""
    }

    @Test("R135: a draft is sealed on disk, waits while its session lives, and is a change once that has ended")
    func abandoned() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        try #require(try world.agent.unlock().exitCode == 0)
        var session: SessionClient? = try world.session(isJSON: true)
        let base = try Self.text(world, "tomatoes")
        #expect(try #require(session).perform(Self.keep("tomatoes", base + "canary-typed\n", base: base)).isKept)
        let file = try #require(try Self.files(world).first)
        let sealed = try Data(contentsOf: URL(fileURLWithPath: file))
        #expect(sealed.range(of: Data("canary-typed".utf8)) == nil && sealed.range(of: Data("Tomatoes".utf8)) == nil)
        // What a process leaves that is killed while it writes a first version.
        let unfinished = String(file.dropLast(32)) + String(repeating: "7", count: 32) + ".new"
        try Data("the beginning".utf8).write(to: URL(fileURLWithPath: unfinished))
        // Somebody is typing there: nobody else takes it.
        #expect(try world.agent.succeed("show", "tomatoes").contains("canary-typed") == false)
        #expect(try Self.text(world, "tomatoes") == base)
        session = nil
        try Waiting.until("the draft is a change") { try Self.text(world, "tomatoes") == base + "canary-typed\n" }
        #expect(try Self.files(world) == [])
        #expect(!FileManager.default.fileExists(atPath: unfinished))
    }

    @Test("R135: a session that settles another one's draft in one vault keeps its own in the other")
    func ownStay() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        try #require(try world.agent.unlock().exitCode == 0)
        let base = try Self.text(world, "tomatoes")
        let session = try world.session(isJSON: false)
        var own = Self.keep("tomatoes", base + "canary-own\n", base: base)
        own.vault = "Personal"
        #expect(try session.perform(own).isKept)
        let agent = try #require(world.agent.processID)
        let before = try ProcessFiles.family(of: agent)
        var other: SessionClient? = try world.session(isJSON: false)
        var left = Self.keep("beans", "# Beans\n\nSoak them long.\n", base: "# Beans\n\nSoak them.\n")
        left.vault = "Work"
        #expect(try #require(other).perform(left).isKept)
        other = nil
        try Waiting.until("the other session is gone") {
            try ProcessFiles.family(of: agent).allSatisfy(before.contains)
        }
        // The session has not looked at this vault before.
        var read = FieldRead()
        (read.item, read.vault) = ("beans", "Work")
        #expect(try session.perform(read).text == "# Beans\n\nSoak them long.\n")
        #expect(try Self.files(world).count == 1)
        #expect(try !world.agent.succeed("show", "tomatoes").contains("canary-own"))
    }

    @Test("R135: a change that names its draft takes it away, and so does a text that was taken back")
    func saved() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        try #require(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: false)
        let base = try Self.text(world, "tomatoes")
        #expect(try session.perform(Self.keep("tomatoes", base + "x", base: base)).isKept)
        var edit = ItemEdit()
        (edit.item, edit.text, edit.baseText, edit.draft) = ("tomatoes", base + "xy", base, Self.name)
        #expect(try session.perform(edit).isChanged)
        #expect(try Self.files(world) == [])
        _ = try session.perform(Self.keep("tomatoes", base + "xyz", base: base + "xy"))
        #expect(try Self.files(world).count == 1)
        _ = try session.perform(Self.keep("tomatoes", base + "xy", base: base + "xy"))
        #expect(try Self.files(world) == [])
        for wrong in ["", "../../escape", Self.name.uppercased(), String(Self.name.dropLast())] {
            #expect(throws: OperationFailure.self) {
                try session.perform(Self.keep("tomatoes", "x", base: base, as: wrong))
            }
        }
    }

    @Test("R135: a draft is merged with what others wrote; where they wrote the same lines it is a note of its own")
    func merged() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        try #require(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: false)
        let id = try world.agent.runner.makeNote("# Plan\n\none\ntwo\nthree\n")
        let base = try Self.text(world, id)
        let other = "ffeeddccbbaa99887766554433221100"
        _ = try session.perform(Self.keep(id, base.replacing("one", with: "one here"), base: base))
        _ = try session.perform(Self.keep(id, base.replacing("three", with: "three here"), base: base, as: other))
        var edit = ItemEdit()
        (edit.item, edit.text, edit.baseText) = (id, base.replacing("three", with: "three there"), base)
        _ = try session.perform(edit)
        let settled = try session.perform(DraftSettle())
        #expect(settled.items.count == 2 && settled.waitingCount == 0)
        #expect(try Self.text(world, id) == "# Plan\n\none here\ntwo\nthree there\n")
        let beside = try #require(settled.items.first { $0.isBeside })
        #expect(try Self.text(world, beside.item) == "# Plan\n\none\ntwo\nthree here\n")
        // One of an item that is gone is a note again.
        _ = try session.perform(Self.keep(id, "# Plan\n\nagain\n", base: base))
        var remove = ItemRemove()
        remove.items = [id]
        _ = try session.perform(remove)
        let last = try #require(try session.perform(DraftSettle()).items.first)
        #expect(last.isBeside && last.item != id)
        #expect(try Self.text(world, last.item) == "# Plan\n\nagain\n")
    }

    @Test("R135: a locked note has no draft; an altered draft, and one under another name, opens for nobody")
    func sealing() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        try #require(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: false)
        let base = try Self.text(world, "tomatoes")
        _ = try session.perform(Self.keep("tomatoes", base + "typed\n", base: base))
        let file = try #require(try Self.files(world).first)
        let other = String(file.dropLast(32)) + String(repeating: "7", count: 32)
        try FileManager.default.copyItem(atPath: file, toPath: other)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: file))
        let settled = try session.perform(DraftSettle())
        #expect(settled.items.isEmpty && settled.waitingCount == 2)
        #expect(try Self.text(world, "tomatoes") == base)

        let note = try world.agent.runner.makeNote("# Quiet\n\nwords\n")
        var (lock, unlock, effort) = (NoteLock(), NoteUnlock(), LockEffortMessage())
        (effort.memoryKibibytes, effort.passCount) = (65_536, 3)
        (lock.notes, lock.isNew, lock.effort, unlock.note) = ([note], true, effort, note)
        let first = try OwnedDescriptor.open(world.agent.runner.passphraseFile, O_RDONLY)
        _ = try session.perform(lock, descriptors: [first.number])
        let second = try OwnedDescriptor.open(world.agent.runner.passphraseFile, O_RDONLY)
        _ = try session.perform(unlock, descriptors: [second.number])
        #expect(
            try !session.perform(Self.keep(note, "# Quiet\n\nwords of others\n", base: "# Quiet\n\nwords\n")).isKept)
    }

    @Test("R135: typing goes on while sessions and agents are killed, and nothing that was kept is lost")
    func kills() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        let note = try world.agent.runner.makeNote("# Typed\n\n")
        for round in 0..<Self.roundCount {
            try #require(try world.agent.unlock().exitCode == 0)
            let session = try world.session(isJSON: round.isMultiple(of: 2))
            var base = try Self.text(world, note)
            let agent = try #require(world.agent.processID)
            // All of its children are sessions; those of others have ended.
            let family = try ProcessFiles.family(of: agent)
            let victims = round.isMultiple(of: 3) ? family : family.filter { $0 != agent }
            let killer = Thread {
                usleep(UInt32.random(in: 0..<40_000))
                for victim in victims { kill(victim, SIGKILL) }
            }
            killer.start()
            var (kept, sent) = (base, base)
            do {
                for key in 1... {
                    sent += "round \(round) key \(key)\n"
                    if key % 5 == 0 {
                        var edit = ItemEdit()
                        (edit.item, edit.text, edit.baseText, edit.draft) = (note, sent, base, Self.name)
                        _ = try session.perform(edit)
                        base = sent
                    } else {
                        _ = try session.perform(Self.keep(note, sent, base: base))
                    }
                    kept = sent
                }
            } catch let failure as OperationFailure {
                Issue.record("refused in round \(round): \(failure.code) \(failure.message)")
            } catch {
                // The session was killed.
            }
            try Waiting.until("they are gone") { victims.allSatisfy { kill($0, 0) != 0 || Self.isZombie($0) } }
            try #require(try world.agent.unlock().exitCode == 0)
            var found = ""
            try Waiting.until("the drafts are settled in round \(round)") {
                found = try Self.text(world, note)
                return try Self.files(world).isEmpty
            }
            #expect(found == kept || found == sent, "round \(round): \(found.suffix(80)) for \(kept.suffix(80))")
            // And nothing became a second note.
            #expect(try world.agent.succeed("ls").components(separatedBy: "Typed").count == 2)
        }
    }

    private static func isZombie(_ process: Int32) -> Bool {
        (try? ProcessFiles.lines("/proc/\(process)/stat").first?.contains(") Z ")) != false
    }
}
