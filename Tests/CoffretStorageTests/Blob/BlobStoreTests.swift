// The store's promises as a user of the seam sees them, on real and simulated disks.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Testing

@Suite struct BlobStoreTests {
    @Test("what was committed is read back in the same process and in the next one")
    func readsBack() throws {
        let folder = try TemporaryDirectory("store")
        let fixture = StoreFixture(fileSystem: PosixFileSystem(), directory: folder.file("vault"))
        var names: [BlobName: [UInt8]] = [:]
        do {
            let store = try fixture.create()
            for index in 0..<40 {
                let content = fixture.generator.bytes(count: 0...3_000)
                names[try store.commitHead(content, isCheckpoint: index % 7 == 6)] = content
            }
            for (name, content) in names { #expect(try store.blobBytes(name, type: .commit) == content) }
            store.close()
        }
        let store = try fixture.open(.readOnly)
        for (name, content) in names { #expect(try store.blobBytes(name, type: .commit) == content) }
        #expect(store.state.entries.count == 5 && store.state.kept.count == 32)
        #expect(fixture.log.notices.isEmpty)
    }

    @Test("a blob that nobody wrote is missing, and one of another type does not open")
    func missingAndWrongType() throws {
        let fixture = StoreFixture(fileSystem: SimulatedFileSystem())
        let store = try fixture.create()
        let name = try store.commitHead([1, 2, 3])
        #expect(throws: StorageError(.blobAuthenticationFailed, place: name.description)) {
            _ = try store.blobBytes(name, type: .value)
        }
        let unknown = BlobName.derive(type: .value, content: [UInt8](repeating: 9, count: 9).span)
        #expect(throws: StorageError(.blobMissing, place: unknown.description)) {
            _ = try store.blobBytes(unknown, type: .value)
        }
        // A transaction says the same of what is not committed yet.
        let transaction = try store.begin()
        let pending = try transaction.writeBlob(type: .value, bytes: [4, 5, 6])
        #expect(throws: StorageError(.blobAuthenticationFailed, place: pending.description)) {
            _ = try transaction.blobBytes(pending, type: .valueList)
        }
        #expect(throws: StorageError(.blobMissing, place: unknown.description)) {
            _ = try transaction.blobBytes(unknown, type: .value)
        }
        transaction.cancel()
    }

    @Test("a rehearsal opens the blob that it sealed")
    func rehearsal() throws {
        #expect(BlobStore.rehearse(StoreFixture(fileSystem: PosixFileSystem()).keys))
    }

    @Test("the same content is stored once")
    func deduplicates() throws {
        let fixture = StoreFixture(fileSystem: SimulatedFileSystem())
        let store = try fixture.create()
        let content = fixture.generator.bytes(count: 5_000)
        let transaction = try store.begin()
        let first = try transaction.writeBlob(type: .value, bytes: content)
        #expect(try transaction.writeBlob(type: .value, bytes: content) == first)
        #expect(try transaction.blobBytes(first, type: .value) == content)
        #expect(try !store.containsBlob(first))
        try transaction.commit(state: store.state, isCheckpoint: false)
        #expect(try store.containsBlob(first))
        let again = try store.begin()
        #expect(try again.writeBlob(type: .value, bytes: content) == first)
        #expect(try again.blobBytes(first, type: .value) == content)
        again.cancel()
    }

    @Test("segments roll over, and everything stays readable")
    func rollsOver() throws {
        var fixture = StoreFixture(fileSystem: SimulatedFileSystem())
        fixture.tuning = StoreFixture.smallTuning
        var store = try fixture.create()
        var names: [BlobName: [UInt8]] = [:]
        for index in 0..<200 {
            let content = fixture.generator.bytes(count: 0...1_500)
            names[try store.commitHead(content, isCheckpoint: index % 50 == 49)] = content
        }
        for (name, content) in names { #expect(try store.blobBytes(name, type: .commit) == content) }
        store.close()
        store = try fixture.open()
        for (name, content) in names { #expect(try store.blobBytes(name, type: .commit) == content) }
        #expect(store.lastSequence > 200)
    }

    @Test("a large transaction goes through bulk segments and is there at once or not at all")
    func bulkTransaction() throws {
        var fixture = StoreFixture(fileSystem: SimulatedFileSystem())
        fixture.tuning = StoreFixture.smallTuning
        var store = try fixture.create()
        let transaction = try store.begin()
        var names: [BlobName: [UInt8]] = [:]
        for _ in 0..<100 {
            let content = fixture.generator.bytes(count: 500...3_000)
            let name = try transaction.writeBlob(type: .value, bytes: content)
            names[name] = content
            #expect(try transaction.blobBytes(name, type: .value) == content)
        }
        let reader = try fixture.open(.readOnly)
        var state = store.state
        state.entries = [names.keys.min()!]
        try transaction.commit(state: state, isCheckpoint: true)
        #expect(reader.state.entries.isEmpty)
        #expect(try reader.refresh())
        #expect(reader.state == state)
        for (name, content) in names {
            #expect(try store.blobBytes(name, type: .value) == content)
            #expect(try reader.blobBytes(name, type: .value) == content)
        }
        store.close()
        store = try fixture.open()
        #expect(store.state == state)
        for (name, content) in names { #expect(try store.blobBytes(name, type: .value) == content) }
    }

    @Test("a head whose transaction became large is told in full, and found by the next opening")
    func appendedHeadOfLargeTransaction() throws {
        var fixture = StoreFixture(fileSystem: SimulatedFileSystem())
        fixture.tuning = StoreFixture.smallTuning
        var store = try fixture.create()
        let first = try store.commitHead([1])
        let transaction = try store.begin()
        let head = try transaction.writeBlob(type: .commit, bytes: [2])
        for _ in 0..<20 { try transaction.writeBlob(type: .value, bytes: fixture.generator.bytes(count: 3_000)) }
        try transaction.commit(appendingHead: head)
        #expect(store.state.entries == [first, head])
        let third = try store.commitHead([3])
        let state = store.state
        #expect(state.entries == [first, head, third])
        store.close()
        store = try fixture.open()
        #expect(store.state == state)
        #expect(try store.blobBytes(head, type: .commit) == [2])
    }

    @Test("one writer at a time; the second gets a named error, readers get in")
    func oneWriter() throws {
        let folder = try TemporaryDirectory("store")
        let fixture = StoreFixture(fileSystem: PosixFileSystem(), directory: folder.file("vault"))
        let store = try fixture.create()
        do {
            _ = try fixture.open(.readWrite(lockTimeoutMilliseconds: 30))
            Issue.record("two writers")
        } catch {
            #expect(error.code == .lockBusy)
        }
        let reader = try fixture.open(.readOnly)
        let name = try store.commitHead([7])
        #expect(try reader.refresh())
        #expect(reader.state == store.state)
        #expect(try reader.blobBytes(name, type: .commit) == [7])
        #expect(try !reader.refresh())
        store.close()
        _ = try fixture.open(.readWrite(lockTimeoutMilliseconds: 0))
    }

    @Test("an ordinary commit is one write and one sync of at most 500 bytes")
    func commitCost() throws {
        let disk = SimulatedFileSystem()
        let fixture = StoreFixture(fileSystem: disk)
        let store = try fixture.create()
        try store.commitHead([UInt8](repeating: 1, count: 300))
        let before = disk.operationCount
        let end = store.journalEndOffset
        try store.commitHead([UInt8](repeating: 2, count: 300))
        #expect(disk.operationCount == before + 2)
        #expect(store.journalEndOffset - end == 320 + 20 + 37 + 38)
    }

    @Test("keys of another vault open nothing")
    func otherKeys() throws {
        let disk = SimulatedFileSystem()
        try StoreFixture(fileSystem: disk, seed: 1).create().close()
        #expect(throws: StorageError(.manifestDamaged)) {
            _ = try StoreFixture(fileSystem: disk, seed: 2).open()
        }
        #expect(throws: StorageError.self) { _ = try StoreFixture(fileSystem: disk, seed: 1).create() }
        #expect(throws: StorageError(.notFound, place: "elsewhere")) {
            _ = try StoreFixture(fileSystem: disk, directory: "elsewhere").open(.readOnly)
        }
    }

    /// Keys of a vault's first epoch, and those of both.
    private static func keysOfTwoEpochs(_ generator: SeededGenerator) -> (old: VaultKeys, new: VaultKeys) {
        let vaultID = VaultID(generator.bytes(count: 32))!
        let split = SplitKey.generate(from: generator)
        let local = LocalKey.generate(from: generator)
        let (one, two) = (VaultKey.generate(from: generator), VaultKey.generate(from: generator))
        let old = VaultKeys(vaultID: vaultID, vaultKeys: [1: one], splitKey: split, localKey: local)
        return (old, VaultKeys(vaultID: vaultID, vaultKeys: [1: one, 2: two], splitKey: split, localKey: local))
    }

    @Test("blobs of older epochs stay readable, new ones go to the newest")
    func epochs() throws {
        let disk = SimulatedFileSystem()
        let generator = SeededGenerator(seed: 5)
        let environment = StorageEnvironment(fileSystem: disk, random: generator, clock: ManualClock())
        let (old, new) = Self.keysOfTwoEpochs(generator)
        let name: BlobName
        do {
            let store = try BlobStore.create(directory: "v", keys: old, environment: environment)
            name = try store.commitHead([1])
            store.close()
        }
        let store = try BlobStore.open(
            directory: "v", keys: new, environment: environment, mode: .readWrite(lockTimeoutMilliseconds: 0))
        #expect(try store.blobBytes(name, type: .commit) == [1])
        let second = try store.commitHead([2])
        #expect(store.state.entries == [name, second])
        store.close()
        let reader = try BlobStore.open(directory: "v", keys: new, environment: environment, mode: .readOnly)
        #expect(reader.state.entries == [name, second])
        #expect(throws: StorageError.self) {
            _ = try BlobStore.open(directory: "v", keys: old, environment: environment, mode: .readOnly)
        }
    }

    @Test("a reader without the newest epoch's key says so at each look, and keeps the state that it knows")
    func epochsMeanwhile() throws {
        let disk = SimulatedFileSystem()
        let generator = SeededGenerator(seed: 6)
        let environment = StorageEnvironment(fileSystem: disk, random: generator, clock: ManualClock())
        let (old, new) = Self.keysOfTwoEpochs(generator)
        try BlobStore.create(directory: "v", keys: old, environment: environment).close()
        let reader = try BlobStore.open(directory: "v", keys: old, environment: environment, mode: .readOnly)
        let known = reader.state
        let writer = try BlobStore.open(
            directory: "v", keys: new, environment: environment, mode: .readWrite(lockTimeoutMilliseconds: 0))
        let kept = try writer.commitHead([1], isCheckpoint: true)
        for _ in 1...3 {
            #expect(throws: StorageError.self) { try reader.refresh() }
            #expect(reader.state == known)
        }
        writer.close()
        let next = try BlobStore.open(directory: "v", keys: new, environment: environment, mode: .readOnly)
        #expect(next.state.kept == kept.bytes)
    }
}
