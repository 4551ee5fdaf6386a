// The count of failed attempts on disk: written before the secret is looked at, and not to be fooled by its file.

import CoffretBase
import CoffretKeys
import CoffretTestSupport
import Foundation
import Synchronization
import Testing

@Suite("Attempt ledger")
struct AttemptLedgerTests {
    private final class World: Sendable {
        let folder: TemporaryDirectory
        let records: FileRecords
        let clock = Mutex<UInt64>(1_000_000_000)
        let bootID: [UInt8]

        init(bootID: [UInt8] = [1]) throws {
            folder = try TemporaryDirectory("attempts")
            self.bootID = bootID
            records = FileRecords(
                folder: folder.file("agent"), fileSystem: PosixFileSystem(), random: SystemRandomSource())
        }

        func counting(
            _ homes: [any ProtectedRecords]? = nil, bootID: [UInt8]? = nil, goesOnWithoutSpace: Bool = false
        ) -> AttemptCounting {
            AttemptCounting(
                homes: homes ?? [records], goesOnWithoutSpace: goesOnWithoutSpace, bootID: bootID ?? self.bootID
            ) { BootInstant(nanoseconds: self.clock.withLock { $0 }) }
        }

        func ledger(_ store: UInt8 = 1) -> AttemptLedger { counting().ledger(ofStore: AttemptLedgerTests.id(store)) }

        func path(_ store: UInt8) -> String {
            folder.file("agent/\(AttemptLedgerTests.id(store).hex).attempts")
        }

        func pass(seconds: UInt64) { clock.withLock { $0 += seconds * 1_000_000_000 } }
    }

    private static func id(_ byte: UInt8) -> UniqueID {
        UniqueID(bytes: [UInt8](repeating: byte, count: UniqueID.byteCount))!
    }

    private func fail(_ ledger: AttemptLedger) {
        #expect(throws: KeyError(.unlockFailed)) {
            try ledger.attempt { () throws(KeyError) in throw KeyError(.unlockFailed) }
        }
    }

    private func pause(_ seconds: UInt32) -> KeyError { KeyError(.attemptsPausing, waitSeconds: seconds) }

    @Test("R30: while a secret is judged its attempt is counted already, for whoever looks")
    func countedBefore() throws {
        let world = try World()
        try world.ledger().attempt { () throws(KeyError) in
            #expect(world.ledger().record.failedCount == 1)
        }
        #expect(world.ledger().record.failedCount == 0, "a right secret takes it back")
    }

    @Test("three wrong ones, then a pause that grows, then a right one clears it")
    func pauses() throws {
        let world = try World()
        for _ in 0..<3 { fail(world.ledger()) }
        var expected: UInt32 = 5
        for _ in 0..<4 {
            var isLookedAt = false
            #expect(throws: pause(expected)) {
                try world.ledger().attempt { () throws(KeyError) in isLookedAt = true }
            }
            #expect(!isLookedAt)
            world.pass(seconds: UInt64(expected))
            fail(world.ledger())
            expected *= 2
        }
        world.pass(seconds: 3600)
        try world.ledger().attempt { () throws(KeyError) in }
        fail(world.ledger())
        fail(world.ledger())
        #expect(world.ledger().record.failedCount == 2)
    }

    @Test("an error that says nothing of the secret does not count")
    func otherErrors() throws {
        let world = try World()
        for _ in 0..<5 {
            #expect(throws: KeyError(.keyringAltered)) {
                try world.ledger().attempt { () throws(KeyError) in throw KeyError(.keyringAltered) }
            }
        }
        #expect(world.ledger().record == .none)
    }

    @Test("each store has a count of its own")
    func stores() throws {
        let world = try World()
        for _ in 0..<3 { fail(world.ledger(1)) }
        try world.ledger(2).attempt { () throws(KeyError) in }
    }

    @Test("R30: after a restart of the machine the pause begins anew, and ends")
    func restart() throws {
        let world = try World()
        for _ in 0..<3 { fail(world.ledger()) }
        let rebooted = world.counting(bootID: [2]).ledger(ofStore: Self.id(1))
        #expect(throws: pause(5)) {
            try rebooted.attempt { () throws(KeyError) in }
        }
        world.pass(seconds: 4)
        #expect(throws: pause(1)) { try rebooted.checkPause() }
        world.pass(seconds: 1)
        try rebooted.attempt { () throws(KeyError) in }
        #expect(rebooted.record.failedCount == 0)
    }

    @Test("R30: a record that was altered, or is another store's, counts as three wrong attempts")
    func altered() throws {
        for change in 0..<3 {
            let world = try World()
            fail(world.ledger())
            try world.ledger(2).attempt { () throws(KeyError) in }
            let path = world.path(1)
            var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            switch change {
            case 0: bytes[1] ^= 1
            case 1: bytes = []
            default:
                bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: world.path(2))))
            }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            #expect(throws: pause(5)) {
                try world.ledger().attempt { () throws(KeyError) in }
            }
        }
    }

    @Test("what cannot be counted is not tried")
    func unwritable() throws {
        let world = try World()
        try "in the way".write(toFile: world.folder.file("agent"), atomically: true, encoding: .utf8)
        var isLookedAt = false
        #expect(throws: KeyError(.attemptsUncounted)) {
            try world.ledger().attempt { () throws(KeyError) in isLookedAt = true }
        }
        #expect(!isLookedAt)
    }

    @Test("attempts at the same time follow one another: none goes uncounted")
    func atTheSameTime() async throws {
        let world = try World()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    _ = try? world.ledger().attempt { () throws(KeyError) in throw KeyError(.unlockFailed) }
                }
            }
        }
        #expect(world.ledger().record.failedCount == 3, "three were tried, five refused")
    }

    @Test("R30: two homes: wrong ones count in both, and each that says to wait is obeyed")
    func twoHomes() throws {
        let world = try World()
        let better = FileRecords(
            folder: world.folder.file("better"), fileSystem: PosixFileSystem(), random: SystemRandomSource())
        let agent = world.counting([better, world.records]).ledger(ofStore: Self.id(1))
        fail(agent)
        fail(world.ledger())
        fail(agent)
        #expect(throws: pause(5)) { try agent.checkPause() }
        #expect(throws: pause(5), "what the agent counted counts without it") { try world.ledger().checkPause() }
        try FileManager.default.removeItem(atPath: world.folder.file("agent"))
        #expect(world.counting([better]).ledger(ofStore: Self.id(1)).record.failedCount == 2)
        fail(agent)
        #expect(throws: pause(5), "the files were taken away, and the better home still knows") {
            try agent.checkPause()
        }
        try world.ledger().checkPause()
    }

    @Test("the passphrases of notes are counted one by one, and apart from the store's")
    func notes() throws {
        let world = try World()
        let counting = world.counting()
        let note = counting.ledger(ofStore: Self.id(1), noteRecord: Self.id(7))
        for _ in 0..<3 { fail(note) }
        #expect(throws: pause(5)) { try note.checkPause() }
        try world.ledger().checkPause()
        try counting.ledger(ofStore: Self.id(1), noteRecord: Self.id(8)).attempt { () throws(KeyError) in }
        #expect(throws: pause(5), "who knows another passphrase does not set this one back") { try note.checkPause() }
    }

    @Test("a full disk stops nobody who may go on without the count; the agent stops")
    func noSpace() throws {
        let world = try World()
        let full = world.counting([Full()], goesOnWithoutSpace: true).ledger(ofStore: Self.id(1))
        for _ in 0..<5 { fail(full) }
        #expect(try full.attempt { () throws(KeyError) in 1 } == 1)
        var isLookedAt = false
        #expect(throws: KeyError(.attemptsUncounted)) {
            try world.counting([Full()]).ledger(ofStore: Self.id(1)).attempt { () throws(KeyError) in isLookedAt = true
            }
        }
        #expect(!isLookedAt)
    }

    /// Keeps nothing, as a disk without space.
    private struct Full: ProtectedRecords {
        func read(_ name: String) -> ProtectedRecord { .missing }
        func write(_ name: String, _ bytes: [UInt8]) throws { throw FileSystemError(.noSpace, place: name) }
        func exclusively<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
            throw FileSystemError(.noSpace, place: name)
        }
    }
}
