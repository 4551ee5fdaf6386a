// Attachments in and out: every size class, every altered byte, every cut, every failing operation.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Testing

@Suite struct AttachmentTests {
    private let chunk = AttachmentFormat.chunkByteCount

    private func makeStore(
        _ disk: SimulatedFileSystem, seed: UInt64 = 3
    ) throws -> (AttachmentStore, SeededGenerator) {
        let fixture = StoreFixture(fileSystem: disk, seed: seed)
        return (try fixture.create().attachments, fixture.generator)
    }

    /// Bytes that repeat a random block of prime length: quick to make, and no two chunks are alike.
    private func content(_ generator: SeededGenerator, _ byteCount: Int) -> [UInt8] {
        let block = generator.bytes(count: 1_021)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount + block.count)
        while bytes.count < byteCount { bytes.append(contentsOf: block) }
        return Array(bytes.prefix(byteCount))
    }

    private func write(_ bytes: [UInt8], to store: AttachmentStore) throws(StorageError) -> AttachmentReference {
        let writer = try store.makeWriter()
        try writer.write(bytes)
        return try writer.finish()
    }

    private func read(_ reference: AttachmentReference, from store: AttachmentStore) throws(StorageError) -> [UInt8] {
        var bytes: [UInt8] = []
        try unsafe store.makeReader(reference).read { (content) throws(StorageError) in
            unsafe bytes.append(contentsOf: content)
        }
        return bytes
    }

    private func expect(_ code: StorageError.Code, _ body: () throws(StorageError) -> Void) {
        do throws(StorageError) {
            try body()
            Issue.record("\(code) was expected")
        } catch {
            #expect(error.code == code)
        }
    }

    @Test("what goes in comes out, at every size around the limits of chunks")
    func roundTrip() throws {
        let disk = SimulatedFileSystem()
        let (store, generator) = try makeStore(disk)
        for byteCount in [0, 1, 255, 256, 257, 5_000, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 * chunk + 77] {
            let bytes = content(generator, byteCount)
            let reference = try write(bytes, to: store)
            #expect(reference.byteCount == UInt64(byteCount))
            #expect(reference.plaintextHash == BLAKE2b.hash(bytes))
            var encoded = reference.encode()
            let parsed = try AttachmentReference.parse(encoded)
            encoded.zero()
            #expect(try read(parsed, from: store) == bytes)
            try store.makeReader(parsed).extract(toFile: "out")
            #expect(try disk.readFile("out", byteCountMax: .max) == bytes)
        }
        #expect(try disk.list("").map(\.name).sorted() == ["out", "vault"])
    }

    @Test("the source may come in pieces of any size")
    func pieces() throws {
        let (store, generator) = try makeStore(SimulatedFileSystem())
        let bytes = content(generator, 2 * chunk + 3)
        let writer = try store.makeWriter()
        var offset = 0
        while offset < bytes.count {
            let end = min(bytes.count, offset + generator.int(in: 1...400_000))
            try writer.write(Array(bytes[offset..<end]))
            offset = end
        }
        #expect(try unsafe writer.append { (_) in 0 } == 0)
        #expect(try read(writer.finish(), from: store) == bytes)
    }

    @Test("sizes are padded: the file tells chunks and a size class, not the size")
    func padding() throws {
        let disk = SimulatedFileSystem()
        let (store, generator) = try makeStore(disk)
        var byteCounts: Set<Int> = []
        for byteCount in 60_000..<60_050 {
            _ = try write(content(generator, byteCount), to: store)
            byteCounts = Set(try store.storedFiles().map(\.byteCount))
        }
        #expect(byteCounts.count <= 2)
    }

    @Test("the same file twice gives other names, keys and bytes (R44)")
    func noDeduplication() throws {
        let disk = SimulatedFileSystem()
        let (store, generator) = try makeStore(disk)
        let bytes = content(generator, 4_000)
        let (one, two) = (try write(bytes, to: store), try write(bytes, to: store))
        #expect(one.fileID != two.fileID)
        #expect(!one.fileKey.isEqual(to: two.fileKey))
        #expect(one.digest != two.digest)
        #expect(try store.storedFiles().count == 2)
    }

    @Test("R14: each altered byte of the file is an error, and no unauthentic byte goes out")
    func flips() throws {
        let disk = SimulatedFileSystem()
        let (store, generator) = try makeStore(disk)
        let bytes = content(generator, 700)
        let reference = try write(bytes, to: store)
        let path = try #require(disk.allFiles().keys.first { $0.contains("/files/") })
        let byteCount = try #require(disk.allFiles()[path]?.count)
        for offset in 0..<byteCount {
            try disk.corrupt(path) { $0[offset] ^= 1 << UInt8(offset % 8) }
            var passedOn: [UInt8] = []
            expect(.attachmentAuthenticationFailed) { () throws(StorageError) in
                try unsafe store.makeReader(reference).read { (content) throws(StorageError) in
                    unsafe passedOn.append(contentsOf: content)
                }
            }
            #expect(passedOn.isEmpty)
            try disk.corrupt(path) { $0[offset] ^= 1 << UInt8(offset % 8) }
        }
        #expect(try read(reference, from: store) == bytes)
    }

    @Test("R10: cut, prolonged, chunks exchanged, the last one doubled: an error, and no file appears")
    func cutByLyingServer() throws {
        let disk = SimulatedFileSystem()
        let (store, generator) = try makeStore(disk)
        let reference = try write(content(generator, 3 * chunk), to: store)
        let path = try #require(disk.allFiles().keys.first { $0.contains("/files/") })
        let original = try #require(disk.allFiles()[path])
        let sealed = chunk + 16
        let head = Array(original.prefix(16))
        let (first, second) = (Array(original[16..<16 + sealed]), Array(original[16 + sealed..<16 + 2 * sealed]))
        let last = Array(original.suffix(sealed))
        let changes: [[UInt8]] = [
            Array(original.dropLast()), original + [0], head, [], head + first + second, original + last,
            head + second + first + last, head + first + second + first,
        ]
        for (index, change) in changes.enumerated() {
            try disk.corrupt(path) { $0 = change }
            do throws(StorageError) {
                try store.makeReader(reference).extract(toFile: "out")
                Issue.record("change \(index) went unnoticed")
            } catch {
                #expect([.attachmentTruncated, .attachmentAuthenticationFailed].contains(error.code))
            }
            #expect(try disk.list("").map(\.name) == ["vault"])
        }
    }

    @Test("R9: a file in the place of another, or with another's reference, does not open")
    func swapped() throws {
        let disk = SimulatedFileSystem()
        let (store, generator) = try makeStore(disk)
        let (one, two) = (
            try write(content(generator, 900), to: store), try write(content(generator, 900), to: store)
        )
        let mixed = AttachmentReference(
            fileID: one.fileID, fileKey: two.fileKey, chunkCount: 1, byteCount: 900,
            plaintextHash: one.plaintextHash, digest: one.digest)
        expect(.attachmentAuthenticationFailed) { () throws(StorageError) in _ = try read(mixed, from: store) }
        let paths = disk.allFiles().keys.filter { $0.contains("/files/") }
        let other = try #require(disk.allFiles()[paths[1]])
        try disk.corrupt(paths[0]) { $0 = other }
        var failureCount = 0
        for reference in [one, two] {
            do throws(StorageError) { _ = try read(reference, from: store) } catch {
                #expect(error.code == .attachmentAuthenticationFailed)
                failureCount += 1
            }
        }
        #expect(failureCount == 1)
        try disk.remove(paths[0])
        try disk.remove(paths[1])
        expect(.attachmentMissing) { () throws(StorageError) in try store.makeReader(one).verify() }
    }

    @Test("R48: any operation may fail or lose power; a reference given out stays good, nothing else stays")
    func failures() throws {
        func run(_ disk: SimulatedFileSystem) throws(StorageError) -> (AttachmentStore, AttachmentReference?, [UInt8]) {
            let fixture = StoreFixture(fileSystem: disk, seed: 8)
            let store = AttachmentStore(directory: "vault", keys: fixture.keys, environment: fixture.environment)
            let bytes = content(fixture.generator, chunk + 10)
            let writer = try store.makeWriter()
            try writer.write(bytes)
            return (store, try writer.finish(), bytes)
        }
        let healthy = SimulatedFileSystem()
        _ = try run(healthy)
        for operation in 1...healthy.operationCount {
            for kind in [FailurePlan.Kind.fail(.inputOutput), .fail(.noSpace), .powerCut] {
                let disk = SimulatedFileSystem()
                disk.setPlan(FailurePlan(at: operation, kind))
                do throws(StorageError) {
                    _ = try run(disk)
                    // Only clearing up may fail unseen.
                } catch {
                    #expect(error.code == .fileFailed || error.code == .diskFull)
                    disk.setPlan(nil)
                    if !disk.isPoweredOff { #expect(disk.allFiles().isEmpty, "operation \(operation)") }
                }
            }
        }
        let (store, reference, bytes) = try run(healthy)
        let after = healthy.restarted(keeping: SeededGenerator(seed: 1))
        let fixture = StoreFixture(fileSystem: after, seed: 8)
        let again = AttachmentStore(directory: "vault", keys: fixture.keys, environment: fixture.environment)
        #expect(try read(try #require(reference), from: again) == bytes)
        withExtendedLifetime(store) {}
    }

    @Test("clearing away keeps what is named and removes the rest")
    func clearing() throws {
        let disk = SimulatedFileSystem()
        let (store, generator) = try makeStore(disk)
        let kept = try write(content(generator, 100), to: store)
        _ = try write(content(generator, 200), to: store)
        _ = try disk.open("vault/files/0123.part", .createNew)
        #expect(try store.removeAll(except: [kept.fileID]).count == 1)
        try store.makeReader(kept).verify()
        #expect(try store.storedFiles().count == 1)
        #expect(disk.allFiles().keys.filter { $0.contains("files/") && !$0.hasSuffix("lock") }.count == 1)
    }

    @Test("storage M11: what others are about to name is spared, and what they left a day ago is not")
    func sparing() throws {
        let fixture = StoreFixture(fileSystem: SimulatedFileSystem(), seed: 5)
        try fixture.create().close()
        // All files of the simulated disk are of 1970.
        func store(at time: Milliseconds) -> AttachmentStore {
            let environment = StorageEnvironment(
                fileSystem: fixture.fileSystem, random: fixture.generator, clock: ManualClock(start: time))
            return AttachmentStore(directory: "vault", keys: fixture.keys, environment: environment)
        }
        let (sweeper, writer) = (store(at: 80_000_000), store(at: 0))
        var protection: AttachmentProtection? = try writer.protectUnnamed()
        let stored = try write([1, 2, 3], to: writer)
        let unfinished = try writer.makeWriter()
        try unfinished.write([4])
        #expect(try sweeper.removeAll(except: []).count == 0)
        #expect(try sweeper.contains(stored))
        #expect(try unfinished.finish().byteCount == 1)
        #expect(try store(at: 90_000_000).removeAll(except: [stored.fileID]).count == 1)
        #expect(protection != nil)
        protection = nil
        #expect(try sweeper.removeAll(except: []).count == 1)
        #expect(try !sweeper.contains(stored))
    }

    @Test("storage M12: a received file that does not verify as a whole never has its name, whenever the power goes")
    func nameAfterVerification() throws {
        var operation = 0
        while true {
            let (store, generator) = try makeStore(SimulatedFileSystem())
            let encoded = try write(content(generator, 300), to: store).encode()
            // Every chunk opens, and the hash of the whole is another one.
            var altered = encoded
            altered[encoded.count - 40] ^= 1
            let reference = try AttachmentReference.parse(altered)
            let disk = SimulatedFileSystem()
            let (other, _) = try makeStore(disk)
            let receiver = try other.makeReceiver(reference)
            while let next = receiver.next {
                #expect(try receiver.take(store.sealedChunk(next, of: AttachmentReference.parse(encoded))))
            }
            let before = disk.operationCount
            if operation > 0 { disk.setPlan(FailurePlan(at: before + operation, .powerCut)) }
            #expect(throws: StorageError.self) { try receiver.finish() }
            for seed in 0..<6 as Range<UInt64> {
                let after = disk.isPoweredOff ? disk.restarted(keeping: SeededGenerator(seed: seed)) : disk
                let fixture = StoreFixture(fileSystem: after, seed: 3)
                let again = AttachmentStore(directory: "vault", keys: fixture.keys, environment: fixture.environment)
                #expect(try !again.contains(reference), "operation \(operation)")
            }
            guard operation == 0 || disk.isPoweredOff else { break }
            operation += 1
            #expect(operation < 30)
        }
    }

    @Test("a reference is parsed strictly")
    func strictReference() throws {
        let (store, generator) = try makeStore(SimulatedFileSystem())
        let encoded = try write(content(generator, 100), to: store).encode()
        expect(.attachmentAuthenticationFailed) { () throws(StorageError) in
            _ = try AttachmentReference.parse(encoded + [0])
        }
        var newer = encoded
        newer[1] = 2
        expect(.formatUnsupported) { () throws(StorageError) in _ = try AttachmentReference.parse(newer) }
        fuzz([encoded]) { bytes in _ = try? AttachmentReference.parse(bytes) }
    }

    @Test("chunks travel sealed, an interrupted transfer goes on, and altered chunks are not kept (R9, R10)")
    func transfer() throws {
        let (store, generator) = try makeStore(SimulatedFileSystem())
        // The same vault on another device: the same keys, another disk.
        let (other, _) = try makeStore(SimulatedFileSystem())
        for byteCount in [0, 300, 2 * chunk + 5] {
            let bytes = content(generator, byteCount)
            let reference = try write(bytes, to: store)
            #expect(try !other.contains(reference))
            let chunks = store.chunks(of: reference)
            #expect(chunks == other.chunks(of: reference))
            #expect(Set(chunks.map { $0.addresses[0] }).count == chunks.count)
            var receiver = try other.makeReceiver(reference)
            while let next = receiver.next {
                let sealed = try store.sealedChunk(next, of: reference)
                for index in [0, sealed.count / 2, sealed.count - 1] {
                    var altered = sealed
                    altered[index] ^= 1
                    #expect(try !receiver.take(altered))
                }
                #expect(try !receiver.take(Array(sealed.dropLast())))
                expect(.attachmentTruncated) { () throws(StorageError) in try receiver.finish() }
                #expect(try receiver.take(sealed))
                receiver = try other.makeReceiver(reference)
            }
            try receiver.finish()
            #expect(try read(reference, from: other) == bytes)
            #expect(try other.contains(reference))
        }
    }
}
