// Many segments: few of them open, few of them left, and nobody waits for it.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite struct TendingTests {
    /// A store with many segments, and what lies in it.
    private struct Sample {
        let disk: SimulatedFileSystem
        var fixture: StoreFixture
        var contents: [BlobName: [UInt8]] = [:]
        var state = RepositoryState()

        init(segmentCount: Int, seed: UInt64 = 1) throws {
            disk = SimulatedFileSystem()
            fixture = StoreFixture(fileSystem: disk, seed: seed)
            fixture.tuning = StoreFixture.smallTuning
            fixture.tuning.segmentByteCountMin = 8 << 10
            fixture.tuning.segmentByteCountMax = 8 << 10
            fixture.tuning.openFileCountMax = 4
            fixture.tuning.mergeByteCountMax = 256 << 10
            let store = try fixture.create()
            while store.sealedFileCount < segmentCount { try commit(to: store) }
            state = store.state
            store.close()
        }

        mutating func commit(to store: BlobStore, isCheckpoint: Bool = false) throws {
            let content = fixture.generator.bytes(count: 900)
            contents[try store.commitHead(content, isCheckpoint: isCheckpoint)] = content
            state = store.state
        }

        func verify(_ fileSystem: any FileSystem) throws {
            var fixture = fixture
            fixture.fileSystem = fileSystem
            let store = try fixture.open()
            try require(store.state == state, "another state")
            for (name, content) in contents {
                try require(try store.blobBytes(name, type: .commit) == content, "other content")
            }
            let report = store.check()
            try require(report.isClean, "\(report.problems) \(report.repairable)")
            store.close()
        }
    }

    @Test("storage H10, R114: many segments are read with few open files, and merged in small runs")
    func merges() throws {
        var sample = try Sample(segmentCount: 60)
        let reader = try sample.fixture.open(.readOnly)
        for name in sample.contents.keys { _ = try reader.blobBytes(name, type: .commit) }
        #expect(reader.openFileCount <= 4)
        var runCount = 0
        while let merge = try sample.fixture.open(.readOnly).mergeDueSegments(lockTimeoutMilliseconds: 0) {
            runCount += 1
            #expect(merge.readByteCount <= sample.fixture.tuning.mergeByteCountMax)
            #expect(merge.writtenByteCount <= merge.readByteCount)
            #expect(runCount < 60)
        }
        let after = try sample.fixture.open(.readOnly)
        #expect(runCount > 10)
        #expect(after.sealedFileCount <= 9, "\(after.sealedFileCount)")
        try sample.verify(sample.disk)
        // A reader of before finds files gone and goes on with the new ones.
        for (name, content) in sample.contents { #expect(try reader.blobBytes(name, type: .commit) == content) }
        let writer = try sample.fixture.open()
        try sample.commit(to: writer)
        writer.close()
        try sample.verify(sample.disk)
    }

    @Test("storage H10: the power may go at any step of a merge; nothing is lost and nothing is left over")
    func powerCuts() throws {
        var operation = 1
        while true {
            let sample = try Sample(segmentCount: 6, seed: UInt64(operation))
            sample.disk.setPlan(FailurePlan(at: sample.disk.operationCount + operation, .powerCut))
            _ = try? sample.fixture.open(.readOnly).mergeDueSegments(lockTimeoutMilliseconds: 0)
            guard sample.disk.isPoweredOff else { break }
            for seed in 0..<2 as Range<UInt64> {
                try sample.verify(sample.disk.restarted(keeping: SeededGenerator(seed: seed)))
            }
            operation += 1
        }
        #expect(operation > 10 && operation < 200)
    }

    @Test(
        "storage H10: a failing disk in a merge leaves everything as it was",
        arguments: [FileSystemError.Code.noSpace, .inputOutput])
    func failures(code: FileSystemError.Code) throws {
        var operation = 1
        while true {
            let sample = try Sample(segmentCount: 6, seed: UInt64(operation))
            let number = sample.disk.operationCount + operation
            sample.disk.setPlan(FailurePlan(at: number, .fail(code)))
            _ = try? sample.fixture.open(.readOnly).mergeDueSegments(lockTimeoutMilliseconds: 0)
            let isOver = sample.disk.operationCount < number
            sample.disk.setPlan(nil)
            try sample.verify(sample.disk)
            if isOver { break }
            operation += 1
        }
        #expect(operation > 10 && operation < 200)
    }

    @Test("storage H10: a merge waits for no writer and takes nothing from one; a second one does nothing")
    func besideOthers() throws {
        var sample = try Sample(segmentCount: 6)
        let hooked = HookedFileSystem(sample.disk, suffix: SealedRewrite.suffix)
        var fixture = sample.fixture
        fixture.fileSystem = hooked
        let merger = try fixture.open(.readOnly)
        var writer: BlobStore?
        hooked.hook = {
            // In the middle of the merge: the file that it writes is no leftover, and commits go on.
            let store = try sample.fixture.open()
            #expect(sample.disk.allFiles().keys.contains { $0.hasSuffix(SealedRewrite.suffix) })
            #expect(store.check().isClean)
            try sample.commit(to: store)
            #expect(try sample.fixture.open(.readOnly).mergeDueSegments(lockTimeoutMilliseconds: 0) == nil)
            writer = store
        }
        #expect(throws: StorageError.self) { try merger.mergeDueSegments(lockTimeoutMilliseconds: 0) }
        writer?.close()
        #expect(!sample.disk.allFiles().keys.contains { $0.hasSuffix(SealedRewrite.suffix) })
        try sample.verify(sample.disk)
        hooked.hook = {
            let store = try sample.fixture.open()
            for index in 0..<30 { try sample.commit(to: store, isCheckpoint: index == 20) }
            store.close()
        }
        #expect(try fixture.open(.readOnly).mergeDueSegments(lockTimeoutMilliseconds: 0) != nil)
        try sample.verify(sample.disk)
        hooked.hook = {
            // What it merges is compacted meanwhile: then it was for nothing.
            let store = try sample.fixture.open()
            let names = Array(sample.contents.keys)
            try store.compact(state: store.state) { keep in for name in names { _ = keep(name) } }
            store.close()
        }
        #expect(try fixture.open(.readOnly).mergeDueSegments(lockTimeoutMilliseconds: 0) == nil)
        try sample.verify(sample.disk)
    }
}

/// Runs something once, right after a file with a suffix was made.
final class HookedFileSystem: FileSystem, @unchecked Sendable {
    // SAFETY: used by one test on one thread.
    private let below: any FileSystem
    private let suffix: String
    var hook: (() throws -> Void)?

    init(_ below: any FileSystem, suffix: String) {
        self.below = below
        self.suffix = suffix
    }

    func open(_ path: String, _ opening: FileOpening, mode: UInt32) throws(FileSystemError) -> any OpenFile {
        let file = try below.open(path, opening, mode: mode)
        if path.hasSuffix(suffix), let hook {
            self.hook = nil
            do { try hook() } catch { Issue.record(error) }
        }
        return file
    }

    func makeDirectory(_ path: String, mode: UInt32) throws(FileSystemError) {
        try below.makeDirectory(path, mode: mode)
    }
    func list(_ path: String) throws(FileSystemError) -> [DirectoryEntry] { try below.list(path) }
    func status(_ path: String) throws(FileSystemError) -> FileStatus? { try below.status(path) }
    func rename(_ path: String, to newPath: String) throws(FileSystemError) { try below.rename(path, to: newPath) }
    func remove(_ path: String) throws(FileSystemError) { try below.remove(path) }
    func removeDirectory(_ path: String) throws(FileSystemError) { try below.removeDirectory(path) }
    func synchronizeDirectory(_ path: String) throws(FileSystemError) { try below.synchronizeDirectory(path) }
}
