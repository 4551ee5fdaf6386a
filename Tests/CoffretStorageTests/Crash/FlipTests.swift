// Every byte of a small store altered in turn (R14): a named error, or derived data made again aloud;
// never a crash, never other content, and never "not there".

import CoffretBase
import CoffretStorage
import CoffretTestSupport
import Testing

@Suite struct FlipTests {
    private struct Sample {
        let disk: SimulatedFileSystem
        let fixture: StoreFixture
        let state: RepositoryState
        let contents: [BlobName: [UInt8]]
    }

    /// A store with packs, a sealed segment and an active one, in about 20 KB.
    private func makeSample() throws -> Sample {
        let disk = SimulatedFileSystem()
        var fixture = StoreFixture(fileSystem: disk, seed: 4)
        fixture.tuning.segmentByteCountMin = 5_500
        fixture.tuning.segmentByteCountMax = 5_500
        fixture.tuning.bulkByteCountMin = 3_000
        let store = try fixture.create()
        var contents: [BlobName: [UInt8]] = [:]
        func commit(_ count: Int, isCheckpoint: Bool = false) throws {
            let bytes = fixture.generator.bytes(count: count)
            contents[try store.commitHead(bytes, isCheckpoint: isCheckpoint)] = bytes
        }
        for _ in 0..<3 { try commit(100) }
        try store.compact(state: store.state) { keep in for name in contents.keys { _ = keep(name) } }
        let transaction = try store.begin()
        for _ in 0..<4 {
            let bytes = fixture.generator.bytes(count: 900)
            contents[try transaction.writeBlob(type: .commit, bytes: bytes)] = bytes
        }
        try transaction.commit(state: store.state, isCheckpoint: false)
        for index in 0..<4 { try commit(60, isCheckpoint: index == 1) }
        let state = store.state
        store.close()
        return Sample(disk: disk, fixture: fixture, state: state, contents: contents)
    }

    /// What may be thrown at opening or reading; above all not that a blob is missing.
    private let expectedCodes: Set<StorageError.Code> = [
        .blobAuthenticationFailed, .journalDamagedTail, .journalDamagedSegment, .manifestDamaged, .packDamaged,
        .formatUnsupported,
    ]

    private func look(_ sample: Sample, _ path: String, _ offset: Int) throws -> Bool {
        let place = "\(path) offset \(offset)"
        let store: BlobStore
        do throws(StorageError) {
            store = try sample.fixture.open(.readOnly)
        } catch {
            try require(expectedCodes.contains(error.code), "\(place): \(error)")
            return true
        }
        try require(store.state == sample.state, "\(place): another state")
        var isNoticed = false
        for (name, content) in sample.contents {
            do throws(StorageError) {
                let isSame = try store.blobBytes(name, type: .commit) == content
                #expect(isSame, "\(place): other content")
            } catch {
                try require(expectedCodes.contains(error.code), "\(place): \(error)")
                isNoticed = true
            }
        }
        return isNoticed || !store.check().isClean
    }

    @Test("R14: each altered byte is a named error or told by the check, and content is never another")
    func everyByte() throws {
        let sample = try makeSample()
        #expect(try !look(sample, "", 0))
        let kinds = Set(sample.disk.allFiles().keys.map { $0.split(separator: "/")[1] })
        #expect(kinds == ["manifest", "lock", "journal", "blobs"])
        for (path, bytes) in sample.disk.allFiles().sorted(by: { $0.key < $1.key }) {
            for (offset, byte) in bytes.enumerated() {
                // Long runs of zeros are room: a few samples of them will do.
                let isInRoom =
                    byte == 0 && bytes[max(0, offset - 40)..<min(bytes.count, offset + 40)].allSatisfy { $0 == 0 }
                if isInRoom, offset % 211 != 0 { continue }
                try sample.disk.corrupt(path) { $0[offset] ^= 1 << UInt8(offset % 8) }
                #expect(try look(sample, path, offset), "\(path) offset \(offset) went unnoticed")
                try sample.disk.corrupt(path) { $0[offset] ^= 1 << UInt8(offset % 8) }
            }
        }
        #expect(try !look(sample, "", 0))
    }

    @Test("a damaged tail is an error that counts what is lost, and opens only when told to")
    func damagedTail() throws {
        let sample = try makeSample()
        let active = try #require(sample.disk.allFiles().keys.filter { $0.contains("journal") }.max())
        let store = try sample.fixture.open(.readOnly)
        let end = store.journalEndOffset
        try sample.disk.corrupt(active) { $0[end - 60] ^= 1 }
        do throws(StorageError) {
            _ = try sample.fixture.open(.readOnly)
            Issue.record("a damaged tail went unnoticed")
        } catch {
            #expect(error.code == .journalDamagedTail)
            #expect(error.place?.hasSuffix("1 transactions lost") == true)
        }
        let repaired = try sample.fixture.open(damagedTail: .accept)
        #expect(repaired.state.entries.count == sample.state.entries.count - 1)
        #expect(sample.fixture.log.notices.contains { $0.kind == .damageAccepted })
        repaired.close()
        #expect(try sample.fixture.open(.readOnly).check().isClean)
    }

    @Test("blocks of an older segment, recycled behind the end, do not count")
    func recycledBlocks() throws {
        let disk = SimulatedFileSystem()
        let fixture = StoreFixture(fileSystem: disk, seed: 6)
        let store = try fixture.create()
        for _ in 0..<3 { try store.commitHead(fixture.generator.bytes(count: 100)) }
        let end = store.journalEndOffset
        let first = try #require(disk.allFiles()["vault/journal/0000000000000001"])
        // The same history in another store under the same keys: same sequences, another salt.
        var other = fixture
        other.fileSystem = SimulatedFileSystem()
        let otherStore = try other.create()
        for _ in 0..<6 { try otherStore.commitHead(fixture.generator.bytes(count: 100)) }
        let foreign = try #require(
            (other.fileSystem as? SimulatedFileSystem)?.allFiles()["vault/journal/0000000000000001"])
        #expect(foreign.count == first.count)
        let state = store.state
        store.close()
        try disk.corrupt("vault/journal/0000000000000001") { $0.replaceSubrange(end..., with: foreign[end...]) }
        #expect(try fixture.open(.readOnly).state == state)
        let writer = try fixture.open()
        #expect(writer.state == state)
        #expect(fixture.log.notices.map(\.kind) == [.unfinishedAppend])
        try writer.commitHead([1])
        #expect(writer.check().isClean)
    }

    @Test("a damaged index is made again from the records, aloud")
    func indexRebuilt() throws {
        let sample = try makeSample()
        let pack = try #require(sample.disk.allFiles().keys.first { $0.contains("/blobs/") })
        try sample.disk.corrupt(pack) { $0[$0.count - 100] ^= 1 }
        let store = try sample.fixture.open(.readOnly)
        for (name, content) in sample.contents { #expect(try store.blobBytes(name, type: .commit) == content) }
        #expect(sample.fixture.log.notices.map(\.kind) == [.indexRebuilt])
    }
}
