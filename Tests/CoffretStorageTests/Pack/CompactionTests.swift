// Compaction: what lives stays, what is dead goes, readers go on.

import CoffretBase
import CoffretStorage
import CoffretTestSupport
import Testing

@Suite struct CompactionTests {
    @Test("compaction keeps what lives, drops the rest, and fsck is clean", arguments: [20, 120, 700])
    func compacts(count: Int) throws {
        let disk = SimulatedFileSystem()
        var fixture = StoreFixture(fileSystem: disk, seed: UInt64(count))
        fixture.tuning = StoreFixture.smallTuning
        fixture.tuning.packByteCountMin = 1 << 10
        var store = try fixture.create()
        var live: [BlobName: [UInt8]] = [:]
        var dead: [BlobName] = []
        for index in 0..<count {
            let content = fixture.generator.bytes(count: 0...900)
            let name = try store.commitHead(content + index.bigEndianBytes, isCheckpoint: index % 30 == 29)
            if fixture.generator.bool() { live[name] = content + index.bigEndianBytes } else { dead.append(name) }
        }
        #expect(store.check().isClean)
        let reader = try fixture.open(.readOnly)
        let state = store.state
        let result = try store.compact(state: state) { keep in
            for name in live.keys { #expect(keep(name)) }
            if let name = live.keys.first { #expect(!keep(name)) }
        }
        #expect(result.blobCount == live.count)
        #expect(result.packCount == (count == 20 ? 1 : count == 120 ? 16 : 256) || result.packCount <= live.count)
        for round in 0..<2 {
            if round == 1 {
                store.close()
                store = try fixture.open()
            }
            #expect(store.state == state)
            for (name, content) in live { #expect(try store.blobBytes(name, type: .commit) == content) }
            for name in dead { #expect(try !store.containsBlob(name)) }
            let report = store.check()
            #expect(report.isClean, "\(report.problems) \(report.repairable)")
        }
        // A reader of before finds its files gone and goes on with the new ones.
        for (name, content) in live { #expect(try reader.blobBytes(name, type: .commit) == content) }
        let name = try store.commitHead([4, 2])
        #expect(try store.blobBytes(name, type: .commit) == [4, 2])
        #expect(fixture.log.notices.isEmpty)
    }

    @Test(
        "storage H9, R113: the power goes right after a compaction, and the packs are there",
        arguments: 0..<8 as Range<UInt64>)
    func powerCutBehindCompaction(seed: UInt64) throws {
        let disk = SimulatedFileSystem()
        var fixture = StoreFixture(fileSystem: disk, seed: seed)
        fixture.tuning = StoreFixture.smallTuning
        fixture.tuning.packByteCountMin = 1 << 10
        let store = try fixture.create()
        var live: [BlobName: [UInt8]] = [:]
        for _ in 0..<60 {
            let content = fixture.generator.bytes(count: 400)
            live[try store.commitHead(content)] = content
        }
        let result = try store.compact(state: store.state) { keep in for name in live.keys { _ = keep(name) } }
        #expect(result.packCount > 4)
        disk.cutPower()
        fixture.fileSystem = disk.restarted(keeping: SeededGenerator(seed: seed))
        let after = try fixture.open()
        for (name, content) in live { #expect(try after.blobBytes(name, type: .commit) == content) }
        #expect(after.check().isClean)
    }

    @Test("a compaction that meets a damaged blob names it and changes nothing")
    func refusesDamage() throws {
        let disk = SimulatedFileSystem()
        let fixture = StoreFixture(fileSystem: disk)
        let store = try fixture.create()
        let name = try store.commitHead([UInt8](repeating: 1, count: 100))
        try disk.corrupt("vault/journal/0000000000000001") { $0[store.journalEndOffset - 100] ^= 1 }
        #expect(throws: StorageError(.blobAuthenticationFailed, place: name.description)) {
            try store.compact(state: store.state) { keep in _ = keep(name) }
        }
        #expect(try disk.list("vault/blobs").isEmpty)
        #expect(store.isWritable)
    }
}
