// Every operation fails once, and the power goes at every one. Afterwards: what was acknowledged is
// there, a check is clean, and the store can be written (R48).

import CoffretBase
import CoffretStorage
import CoffretTestSupport
import Testing

@Suite struct CrashTests {
    private func operationCount(seed: UInt64, appends: Bool) throws -> Int {
        let disk = SimulatedFileSystem()
        let workload = CrashWorkload(disk: disk, seed: seed, appends: appends)
        try workload.run()
        let count = disk.operationCount
        try workload.verify(on: disk)
        #expect(workload.fixture.log.notices.isEmpty)
        return count
    }

    @Test(
        "R48: the power may go at any operation, and every acknowledged transaction is there",
        arguments: [false, true])
    func powerCuts(appends: Bool) throws {
        let seed = SeededGenerator.replayedSeed ?? SystemRandomSource().uint64()
        let count = try operationCount(seed: seed, appends: appends)
        for operation in 1...count {
            let disk = SimulatedFileSystem()
            disk.setPlan(FailurePlan(at: operation, .powerCut))
            let workload = CrashWorkload(disk: disk, seed: seed, appends: appends)
            try? workload.run()
            for attempt in 0..<2 {
                do {
                    try workload.copy().verify(
                        on: disk.restarted(keeping: SeededGenerator(seed: seed &+ UInt64(operation * 2 + attempt))))
                } catch {
                    Issue.record("COFFRET_TEST_SEED=\(seed) operation \(operation) of \(count): \(error)")
                    return
                }
            }
        }
    }

    @Test(
        "R48: any operation may fail, then the power may go; nothing acknowledged is lost",
        arguments: [FileSystemError.Code.inputOutput, .noSpace], [false, true])
    func failures(code: FileSystemError.Code, appends: Bool) throws {
        let seed = SeededGenerator.replayedSeed ?? SystemRandomSource().uint64()
        let count = try operationCount(seed: seed, appends: appends)
        for operation in 1...count {
            let disk = SimulatedFileSystem()
            disk.setPlan(FailurePlan(at: operation, .fail(code)))
            let workload = CrashWorkload(disk: disk, seed: seed, appends: appends)
            do {
                do {
                    try workload.run()
                } catch {
                    let expected: StorageError.Code = code == .noSpace ? .diskFull : .fileFailed
                    try require(error.code == expected, "another error: \(error)")
                }
                disk.setPlan(nil)
                try workload.verify(on: disk)
                try workload.verify(on: disk.restarted(keeping: SeededGenerator(seed: seed &+ UInt64(operation))))
            } catch {
                Issue.record("COFFRET_TEST_SEED=\(seed) operation \(operation) of \(count): \(error)")
                return
            }
        }
    }

    @Test("a full disk gives a clear error, and with room again the store goes on")
    func fullDisk() throws {
        for room in stride(from: 14_000, through: 120_000, by: 1_500) {
            let disk = SimulatedFileSystem()
            disk.setCapacity(byteCount: room)
            let workload = CrashWorkload(disk: disk, seed: 9)
            do {
                try workload.run()
            } catch {
                #expect(error.code == .diskFull, "\(error)")
            }
            if workload.acknowledged != nil {
                let reader = try workload.fixture.open(.readOnly)
                #expect(reader.state == workload.acknowledged || reader.state == workload.attempted)
            }
            disk.setCapacity(byteCount: .max)
            try workload.verify(on: disk)
        }
    }
}
