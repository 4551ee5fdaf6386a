// The count of failed attempts on disk: written before the secret is looked at, and not to be fooled by its file.

import CoffretAgent
import CoffretBase
import CoffretTestSupport
import CoffretWire
import Foundation
import Synchronization
import Testing

@Suite("Attempt ledger")
struct AttemptLedgerTests {
    private struct Wrong: Error {}
    private struct Broken: Error {}

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

        func ledger(_ store: String = "store") -> AttemptLedger {
            AttemptLedger(records: records, store: store, bootID: bootID) {
                BootInstant(nanoseconds: self.clock.withLock { $0 })
            }
        }

        func pass(seconds: UInt64) { clock.withLock { $0 += seconds * 1_000_000_000 } }
    }

    private func fail(_ ledger: AttemptLedger) {
        #expect(throws: Wrong.self) { try ledger.attempt(isWrong: { $0 is Wrong }) { throw Wrong() } }
    }

    @Test("R30: while a secret is judged its attempt is counted already, for whoever looks")
    func countedBefore() throws {
        let world = try World()
        try world.ledger().attempt(isWrong: { _ in true }) {
            #expect(world.ledger().record.failedCount == 1)
        }
        #expect(world.ledger().record.failedCount == 0, "a right secret takes it back")
    }

    @Test("three wrong ones, then a pause that grows, then a right one clears it")
    func pauses() throws {
        let world = try World()
        for _ in 0..<3 { fail(world.ledger()) }
        var expected: UInt64 = 5
        for _ in 0..<4 {
            var isLookedAt = false
            #expect(throws: AttemptRefusal(.attemptsPausing, remaining: .seconds(Int64(expected)))) {
                try world.ledger().attempt(isWrong: { _ in true }) { isLookedAt = true }
            }
            #expect(!isLookedAt)
            world.pass(seconds: expected)
            fail(world.ledger())
            expected *= 2
        }
        world.pass(seconds: 3600)
        try world.ledger().attempt(isWrong: { _ in true }) {}
        fail(world.ledger())
        fail(world.ledger())
        #expect(world.ledger().record.failedCount == 2)
    }

    @Test("an error that says nothing of the secret does not count")
    func otherErrors() throws {
        let world = try World()
        for _ in 0..<5 {
            #expect(throws: Broken.self) {
                try world.ledger().attempt(isWrong: { $0 is Wrong }) { throw Broken() }
            }
        }
        #expect(world.ledger().record == .none)
    }

    @Test("each store has a count of its own")
    func stores() throws {
        let world = try World()
        for _ in 0..<3 { fail(world.ledger("one")) }
        try world.ledger("other").attempt(isWrong: { _ in true }) {}
    }

    @Test("R30: after a restart of the machine the pause begins anew, and ends")
    func restart() throws {
        let world = try World()
        for _ in 0..<3 { fail(world.ledger()) }
        let rebooted = AttemptLedger(records: world.records, store: "store", bootID: [2]) {
            BootInstant(nanoseconds: world.clock.withLock { $0 })
        }
        #expect(throws: AttemptRefusal(.attemptsPausing, remaining: .seconds(5))) {
            try rebooted.attempt(isWrong: { _ in true }) {}
        }
        world.pass(seconds: 4)
        #expect(throws: AttemptRefusal(.attemptsPausing, remaining: .seconds(1))) { try rebooted.checkPause() }
        world.pass(seconds: 1)
        try rebooted.attempt(isWrong: { _ in true }) {}
        #expect(rebooted.record.failedCount == 0)
    }

    @Test("R30: a record that was altered, or is another store's, counts as three wrong attempts")
    func altered() throws {
        for change in 0..<3 {
            let world = try World()
            fail(world.ledger())
            try world.ledger("other").attempt(isWrong: { _ in true }) {}
            let path = world.folder.file("agent/store.attempts")
            var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            switch change {
            case 0: bytes[1] ^= 1
            case 1: bytes = []
            default:
                bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: world.folder.file("agent/other.attempts"))))
            }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            #expect(throws: AttemptRefusal(.attemptsPausing, remaining: .seconds(5))) {
                try world.ledger().attempt(isWrong: { _ in true }) {}
            }
        }
    }

    @Test("what cannot be counted is not tried")
    func unwritable() throws {
        let world = try World()
        try "in the way".write(toFile: world.folder.file("agent"), atomically: true, encoding: .utf8)
        var isLookedAt = false
        #expect(throws: AttemptRefusal(.recordsUnwritable)) {
            try world.ledger().attempt(isWrong: { _ in true }) { isLookedAt = true }
        }
        #expect(!isLookedAt)
    }

    @Test("attempts at the same time follow one another: none goes uncounted")
    func atTheSameTime() async throws {
        let world = try World()
        let (records, bootID) = (world.records, world.bootID)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let ledger = AttemptLedger(records: records, store: "store", bootID: bootID) {
                        BootInstant(nanoseconds: 1_000_000_000)
                    }
                    _ = try? ledger.attempt(isWrong: { _ in true }) { throw Wrong() }
                }
            }
        }
        #expect(world.ledger().record.failedCount == 3, "three were tried, five refused")
    }
}
