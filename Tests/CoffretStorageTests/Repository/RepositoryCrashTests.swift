// Repositories on a disk that fails or loses power at every operation in turn. The one thing to keep true:
// after each, fsck is clean and every acknowledged commit is there, and at most the one under way too.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Repository and a failing disk", .serialized)
struct RepositoryCrashTests {
    typealias Fixture = RepositoryFixture

    /// What the workload knows to be durable, and what may or may not be.
    private struct Progress {
        var isCreated = false
        var acknowledged: [Int: String] = [:]
        var underWay: [Int: String]?
        var commitCount = 0
    }

    private let generator = SeededGenerator(seed: 11)
    private let fixture = RepositoryFixture(seed: 12)

    private func store(_ fileSystem: SimulatedFileSystem) -> StoreFixture {
        var store = StoreFixture(fileSystem: fileSystem)
        store.tuning = StoreFixture.smallTuning
        return store
    }

    private func open(_ fileSystem: SimulatedFileSystem) throws(StorageError) -> VaultRepository {
        let store = store(fileSystem)
        return try VaultRepository.open(
            directory: store.directory, keys: fixture.keys, author: fixture.author,
            mode: .readWrite(lockTimeoutMilliseconds: 0), environment: store.environment,
            checkpointPolicy: CheckpointPolicy(factCountMax: 5))
    }

    private func run(on fileSystem: SimulatedFileSystem, _ progress: inout Progress) throws(StorageError) {
        let store = store(fileSystem)
        let repository = try VaultRepository.create(
            directory: store.directory, keys: fixture.keys, author: fixture.author,
            environment: store.environment, checkpointPolicy: CheckpointPolicy(factCountMax: 5))
        progress.isCreated = true
        try commit(repository, [1: "a", 2: String(repeating: "long ", count: 200)], &progress)
        try commit(repository, [1: "b"], &progress)
        try commit(repository, [3: String(repeating: "very long ", count: 2_500)], &progress)
        // Checkpoint, then a transaction large enough for files of its own.
        try commit(repository, [4: "d", 2: "short"], &progress)
        var many: [Int: String] = [:]
        for number in 10..<560 { many[number] = "fact \(number)" }
        try commit(repository, many, &progress)
        try commit(repository, [1: "c"], &progress)
        try stage(repository, &progress)
        _ = try repository.compact(dropHistoryOlderThan: 3_000, timeMilliseconds: 9_000)
        progress.commitCount = 0
        try commit(repository, [5: "after"], &progress)
        try repository.checkpoint()
        try commit(repository, [5: "at last"], &progress)
    }

    private func commit(
        _ repository: VaultRepository, _ changes: [Int: String], _ progress: inout Progress
    ) throws(StorageError) {
        let next = progress.acknowledged.merging(changes) { _, new in new }
        progress.underWay = next
        progress.commitCount += 1
        try repository.commit(
            changes.map { Fixture.put($0.key, $0.value) }, time: Int64(progress.commitCount) * 1_000)
        progress.acknowledged = next
        progress.underWay = nil
    }

    /// Commits of which a reader sees all or none.
    private func stage(_ repository: VaultRepository, _ progress: inout Progress) throws(StorageError) {
        var many: [Int: String] = [:]
        for number in 20..<50 { many[number] = "staged \(number)" }
        let steps = [[6: "staged"], [6: "staged twice", 7: String(repeating: "long ", count: 300)], many, [6: "last"]]
        progress.underWay = steps.reduce(progress.acknowledged) { $0.merging($1) { _, new in new } }
        let before = repository.headNames
        let staged = try repository.beginStaging()
        defer { staged.cancel() }
        for step in steps {
            progress.commitCount += 1
            try staged.repository.commit(
                step.map { Fixture.put($0.key, $0.value) }, time: Int64(progress.commitCount) * 1_000)
        }
        #expect(repository.headNames == before)
        try staged.commit()
        progress.acknowledged = progress.underWay ?? [:]
        progress.underWay = nil
    }

    private func check(_ fileSystem: SimulatedFileSystem, _ progress: Progress, _ what: String) throws {
        let repository: VaultRepository
        do throws(StorageError) {
            repository = try open(fileSystem)
        } catch {
            // Before `create` returned there may be nothing yet.
            #expect(!progress.isCreated && progress.acknowledged.isEmpty, "\(what): cannot be opened: \(error)")
            return
        }
        #expect(repository.fsck().allProblems == [], "\(what)")
        let found = try content(repository)
        #expect(found == progress.acknowledged || found == progress.underWay, "\(what): acknowledged facts differ")
        // And it goes on.
        try repository.commit([Fixture.put(900, what)], time: 99_000)
        #expect(try repository.text(900) == what)
        repository.close()
        #expect(try open(fileSystem).text(900) == what)
    }

    private func content(_ repository: VaultRepository) throws -> [Int: String] {
        var model: [Int: String] = [:]
        let present = try repository.present
        for number in Array(0..<10) + Array(10..<560) {
            if let text = try present.text(number) { model[number] = text }
        }
        return model
    }

    private func operationCount() throws -> Int {
        let fileSystem = SimulatedFileSystem()
        var progress = Progress()
        try run(on: fileSystem, &progress)
        try check(fileSystem, progress, "without failure")
        let counted = SimulatedFileSystem()
        try run(on: counted, &progress)
        return counted.operationCount
    }

    @Test("power cut at every operation: nothing acknowledged is lost (R48)")
    func powerCuts() throws {
        let count = try operationCount()
        #expect(count > 40)
        for number in 1...count {
            let fileSystem = SimulatedFileSystem()
            fileSystem.setPlan(FailurePlan(at: number, .powerCut))
            var progress = Progress()
            _ = try? run(on: fileSystem, &progress)
            try check(fileSystem.restarted(keeping: generator), progress, "power cut at operation \(number)")
        }
    }

    @Test("every operation failed, the disk full at every operation: nothing acknowledged is lost (R48)")
    func failures() throws {
        let count = try operationCount()
        var thrownCount = 0
        for number in 1...count {
            let fileSystem = SimulatedFileSystem()
            let code: FileSystemError.Code = number % 2 == 0 ? .noSpace : .inputOutput
            fileSystem.setPlan(FailurePlan(at: number, .fail(code)))
            var progress = Progress()
            var thrown: StorageError?
            do throws(StorageError) { try run(on: fileSystem, &progress) } catch { thrown = error }
            fileSystem.setPlan(nil)
            if let thrown {
                thrownCount += 1
                #expect([.diskFull, .fileFailed].contains(thrown.code), "operation \(number): \(thrown)")
            }
            try check(fileSystem, progress, "failure of operation \(number)")
        }
        // What may fail unseen is tidying up: hints, and files that nothing refers to.
        #expect(thrownCount > count / 2)
    }
}
