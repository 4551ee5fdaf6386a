// A writer and readers at the same time, on a real disk: readers see whole transactions only, in order,
// whatever the writer does to the files meanwhile.

import CoffretBase
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

/// A flag that one thread sets and another reads.
private final class Flag: @unchecked Sendable {
    // SAFETY: `value` is touched under `lock` only.
    private let lock = NSLock()
    private var value = false

    var isSet: Bool { lock.withLock { value } }
    func set() { lock.withLock { value = true } }
}

@Suite struct ConcurrentReaderTests {
    @Test("readers follow a writer that commits, rolls over and compacts")
    func readersFollow() async throws {
        let folder = try TemporaryDirectory("concurrent")
        var fixture = StoreFixture(fileSystem: PosixFileSystem(), directory: folder.file("vault"))
        fixture.tuning = StoreFixture.smallTuning
        try fixture.create().close()
        let isDone = Flag()
        let sharedFixture = fixture
        let writer = Task.detached { () throws -> Int in
            defer { isDone.set() }
            let store = try sharedFixture.open()
            for index in 0..<150 {
                try store.commitHead(
                    index.bigEndianBytes + [UInt8](repeating: 7, count: index * 10), isCheckpoint: index % 40 == 39)
                if index % 50 == 49 {
                    let state = store.state
                    try store.compact(state: state) { keep in
                        for name in state.entries + [BlobName(bytes: state.kept)].compactMap(\.self) { _ = keep(name) }
                    }
                }
            }
            store.close()
            return store.state.entries.count
        }
        let reader = Task.detached { () throws -> Int in
            let store = try sharedFixture.open(.readOnly)
            var last = -1
            var roundCount = 0
            while true {
                let isLastRound = isDone.isSet
                _ = try store.refresh()
                if let head = store.state.entries.last ?? BlobName(bytes: store.state.kept) {
                    do {
                        let bytes = try store.blobBytes(head, type: .commit)
                        let index = Int(bigEndianBytes: bytes[..<8]) ?? -1
                        #expect(index >= last)
                        #expect(bytes.dropFirst(8).allSatisfy { $0 == 7 } && bytes.count == 8 + index * 10)
                        last = index
                    } catch let error as StorageError {
                        // A compaction may have dropped what was the head when this reader looked.
                        #expect(error.code == .blobMissing)
                        #expect(try store.refresh())
                    }
                }
                roundCount += 1
                if isLastRound { break }
            }
            #expect(last == 149)
            return roundCount
        }
        #expect(try await writer.value == 30)
        #expect(try await reader.value > 0)
        #expect(fixture.log.notices.isEmpty)
    }

    @Test("a process that only reads changes nothing on the disk")
    func readersChangeNothing() throws {
        let disk = SimulatedFileSystem()
        let fixture = StoreFixture(fileSystem: disk)
        let store = try fixture.create()
        let name = try store.commitHead([1, 2, 3])
        store.close()
        let count = disk.operationCount
        let reader = try fixture.open(.readOnly)
        _ = try reader.blobBytes(name, type: .commit)
        _ = try reader.refresh()
        #expect(reader.check().isClean)
        do throws(StorageError) {
            _ = try reader.begin()
            Issue.record("a reader wrote")
        } catch {
            #expect(error.code == .readOnly)
        }
        #expect(disk.operationCount == count)
    }
}
