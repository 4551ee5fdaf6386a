// Every operation of the disk fails once, and the power goes at every one: what was acknowledged is there, or the entry
// under way as well, and never half of one (R48).

import CoffretBase
import CoffretHistory
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretLogs

/// What a vault lives through, and what of it was acknowledged.
private final class LogWorkload {
    let world: LogWorld
    let disk: SimulatedFileSystem
    /// Texts under keys after the last call that returned, and as the call under way would have them.
    private(set) var acknowledged: [FactKey: String]?
    private(set) var attempted: [FactKey: String]?
    private(set) var entryCount = 0

    init(disk: SimulatedFileSystem, seed: UInt64) throws {
        self.disk = disk
        world = try LogWorld(seed: seed)
        world.tuning.segmentByteCountMin = 12 << 10
        world.tuning.segmentByteCountMax = 24 << 10
        world.tuning.bulkByteCountMin = 16 << 10
        world.tuning.bulkSegmentByteCountMax = 32 << 10
        world.tuning.packByteCountMin = 8 << 10
        world.policy = LocalCheckpointPolicy(changeCountMax: 6, byteCountMax: 1 << 20)
    }

    func run() throws {
        attempted = [:]
        var repository = try world.create(on: disk)
        acknowledged = [:]
        for number in 0..<14 { try commit(repository, [number % 5], byteCount: 50 + 90 * number) }
        repository.close()
        repository = try world.open(on: disk)
        try commit(repository, Array(0..<530), byteCount: 30)
        for number in 0..<3 { try commit(repository, [number], byteCount: 5_000) }
        try repository.remember([1, 2, 3])
        try repository.compact()
        try commit(repository, [3], byteCount: 20)
        repository.close()
    }

    private func commit(_ repository: LogRepository, _ items: [Int], byteCount: Int) throws {
        var next = acknowledged ?? [:]
        for item in items { next[LogWorld.text(item)] = text(byteCount) }
        let changed = Set(items.map { LogWorld.text($0) })
        attempted = next
        try repository.commit(
            next.filter { changed.contains($0.key) }.map { LogWorld.put($0.key, $0.value) }, time: 1)
        acknowledged = next
        entryCount += 1
    }

    private func text(_ byteCount: Int) -> String {
        String(decoding: world.generator.bytes(count: byteCount).map { 97 + $0 % 26 }, as: UTF8.self)
    }

    /// Opens the store on `disk` as the next process would.
    func verify(on disk: any FileSystem) throws {
        let reader: LogRepository
        do {
            reader = try world.open(on: disk, mode: .readOnly)
        } catch let error as StorageError {
            try require(error.code == .notFound && acknowledged == nil, "opening: \(error)")
            return
        }
        try verify(reader)
        let writer = try world.open(on: disk)
        try verify(writer)
        let report = writer.fsck()
        try require(report.isClean && report.blobs.isClean, "fsck: \(report.problems) \(report.repairable)")
        try writer.commit([LogWorld.put(LogWorld.text(1), "on it goes")], time: 2)
        try require(try reader.refresh(), "nothing new")
        try require(try reader.texts(LogWorld.text(1)) == ["on it goes"], "the reader is behind")
        writer.close()
    }

    private func verify(_ repository: LogRepository) throws {
        var found: [FactKey: String] = [:]
        let present = try repository.present()
        try present.forEachFact { (fact) throws(StorageError) in
            found[fact.key] = String(decoding: try present.value(of: fact), as: UTF8.self)
        }
        try require(found == acknowledged || found == attempted, "a state that nobody wrote, or an older one")
    }
}

private struct Unexpected: Error {
    let what: String
}

private func require(_ isTrue: Bool, _ what: String) throws {
    if !isTrue { throw Unexpected(what: what) }
}

@Suite("Repositories of logs and failing disks")
struct LogCrashTests {
    private func operationCount(seed: UInt64) throws -> Int {
        let workload = try LogWorkload(disk: SimulatedFileSystem(), seed: seed)
        try workload.run()
        let count = workload.disk.operationCount
        try workload.verify(on: workload.disk)
        return count
    }

    @Test("R48: the power may go at any operation, and every acknowledged entry is there, whole")
    func powerCuts() throws {
        let seed = SeededGenerator.replayedSeed ?? SystemRandomSource().uint64()
        let count = try operationCount(seed: seed)
        for operation in 1...count {
            let disk = SimulatedFileSystem()
            let workload = try LogWorkload(disk: disk, seed: seed)
            disk.setPlan(FailurePlan(at: operation, .powerCut))
            try? workload.run()
            do {
                try workload.verify(on: disk.restarted(keeping: SeededGenerator(seed: seed &+ UInt64(operation))))
            } catch {
                Issue.record("COFFRET_TEST_SEED=\(seed) operation \(operation) of \(count): \(error)")
                return
            }
        }
    }

    @Test("R48: any operation may fail, then the power may go; nothing acknowledged is lost")
    func failures() throws {
        let seed = SeededGenerator.replayedSeed ?? SystemRandomSource().uint64()
        let count = try operationCount(seed: seed)
        for operation in 1...count {
            let disk = SimulatedFileSystem()
            let workload = try LogWorkload(disk: disk, seed: seed)
            disk.setPlan(FailurePlan(at: operation, .fail(operation % 2 == 0 ? .noSpace : .inputOutput)))
            do {
                do {
                    try workload.run()
                } catch let error as StorageError {
                    // After a large entry a failed checkpoint is told by the next call.
                    try require(
                        [.diskFull, .fileFailed, .unusable].contains(error.code), "another error: \(error)")
                }
                disk.setPlan(nil)
                try workload.verify(on: disk.restarted(keeping: SeededGenerator(seed: seed &+ UInt64(operation))))
            } catch {
                Issue.record("COFFRET_TEST_SEED=\(seed) operation \(operation) of \(count): \(error)")
                return
            }
        }
    }
}
