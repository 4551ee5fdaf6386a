// Compaction that nobody asked for: all history stays, others write meanwhile, and the files stay small.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Tending a repository")
struct RepositoryTendingTests {
    private typealias Facts = RepositoryFixture

    private struct Place {
        let disk = SimulatedFileSystem()
        var fixture: StoreFixture
        let author: CommitAuthor

        init(seed: UInt64 = 1) throws {
            fixture = StoreFixture(fileSystem: disk, seed: seed)
            fixture.tuning.segmentByteCountMin = 64 << 10
            fixture.tuning.segmentByteCountMax = 64 << 10
            fixture.tuning.compactionByteCountMin = 256 << 10
            fixture.tuning.packByteCountMin = 64 << 10
            author = Facts.author(fixture.generator)
            try fixture.create().close()
        }

        func open(_ mode: BlobStore.Mode, on fileSystem: (any FileSystem)? = nil) throws -> VaultRepository {
            var fixture = fixture
            fixture.fileSystem = fileSystem ?? fixture.fileSystem
            return VaultRepository(
                backend: try fixture.open(mode), keys: fixture.keys, author: mode.isWriting ? author : nil,
                random: fixture.generator, checkpointPolicy: CheckpointPolicy(factCountMax: 40))
        }

        func store(of repository: VaultRepository) throws -> BlobStore {
            try #require(repository.backend as? BlobStore)
        }
    }

    @Test("storage H10: whatever is written, and however long, files stay few and bytes bounded; all history reads")
    func bounded() throws {
        let place = try Place()
        var heads: [BlobName] = []
        var (compactionCount, worst, live) = (0, 0, 0)
        for round in 0..<40 {
            let writer = try place.open(.readWrite(lockTimeoutMilliseconds: 0))
            for index in 0..<50 {
                let number = (round * 50 + index) * 7 % 400
                heads.append(
                    try writer.commit([Facts.put(number, "text \(round) of \(number)")], time: Int64(heads.count)).name)
            }
            writer.close()
            let report = try place.open(.readOnly).tend()
            if let compacted = report.compacted {
                compactionCount += 1
                live = compacted.after
                #expect(compacted.after < compacted.before)
            }
            let store = try place.store(of: place.open(.readOnly))
            worst = max(worst, store.fileByteCount)
            #expect(store.sealedFileCount <= 24)
        }
        #expect(compactionCount > 3)
        // Without it there would be several times what lives.
        #expect(worst < 2 * live + (1 << 20), "\(worst) of \(live)")
        let after = try place.open(.readOnly)
        let report = after.fsck(signers: SingleSignerDirectory(author: place.author))
        #expect(report.isClean, "\(report.allProblems)")
        #expect(report.commitCount == heads.count)
        for index in stride(from: 0, to: heads.count, by: 97) {
            let number = index * 7 % 400
            #expect(try after.snapshot(at: heads[index]).text(number) == "text \(index / 50) of \(number)")
        }
    }

    @Test("storage H10: what others write during a compaction stays whole, old states that come back included")
    func besideOthers() throws {
        for seed in 1..<6 as Range<UInt64> {
            let place = try Place(seed: seed)
            var written = 0
            func write(_ repository: VaultRepository, _ count: Int, _ text: (Int) -> String) throws {
                for index in 0..<count {
                    written += 1
                    try repository.commit([Facts.put(index % 120, text(index))], time: Int64(written))
                }
            }
            let writer = try place.open(.readWrite(lockTimeoutMilliseconds: 0))
            // The same facts again and again: trees of before come back, whose nodes nothing refers to in between.
            for round in 0..<6 { try write(writer, 120) { "\(round % 2) of \($0)" } }
            writer.close()
            let hooked = HookedFileSystem(place.disk, suffix: SealedRewrite.suffix)
            hooked.hook = {
                let other = try place.open(.readWrite(lockTimeoutMilliseconds: 0))
                try write(other, 120) { "0 of \($0)" }
                try write(other, 41) { "1 of \($0)" }
                other.close()
            }
            let report = try place.open(.readOnly, on: hooked).tend()
            #expect(hooked.hook == nil && report.compacted != nil)
            let after = try place.open(.readOnly)
            let check = after.fsck(signers: SingleSignerDirectory(author: place.author))
            #expect(check.isClean, "\(check.allProblems)")
            #expect(check.commitCount == written)
            #expect(try after.text(40) == "1 of 40" && after.text(41) == "0 of 41")
        }
    }

    @Test("storage H10: the power may go at any step of such a compaction")
    func powerCuts() throws {
        var operation = 1
        while true {
            var place = try Place(seed: 3)
            place.fixture.tuning.compactionByteCountMin = 32 << 10
            let writer = try place.open(.readWrite(lockTimeoutMilliseconds: 0))
            for index in 0..<260 { try writer.commit([Facts.put(index % 90, "\(index)")], time: Int64(index)) }
            writer.close()
            place.disk.setPlan(FailurePlan(at: place.disk.operationCount + operation, .powerCut))
            _ = try? place.open(.readOnly).tend()
            guard place.disk.isPoweredOff else { break }
            let restarted = place.disk.restarted(keeping: SeededGenerator(seed: UInt64(operation)))
            let after = try place.open(.readWrite(lockTimeoutMilliseconds: 0), on: restarted)
            let check = after.fsck()
            #expect(check.isClean && check.commitCount == 260, "operation \(operation): \(check.allProblems)")
            operation += 3
        }
        #expect(operation > 6 && operation < 120)
    }

    @Test("storage H10: a sync beside a commit costs the journal less than 300 bytes, however long the tail is")
    func smallStates() throws {
        let place = try Place()
        let repository = try place.open(.readWrite(lockTimeoutMilliseconds: 0))
        let store = try place.store(of: repository)
        // As a sync remembers it: a server, a place to go on, a head, and what three other devices have.
        var note = place.fixture.generator.bytes(count: 600)
        try repository.commit([Facts.put(0, "x")], time: 0)
        try repository.setSyncNote(note)
        for index in 0..<30 {
            let name = try repository.commit([Facts.put(index, "\(index)")], time: Int64(index)).name
            note.replaceSubrange(30..<38, with: UInt64(index).bigEndianBytes)
            note.replaceSubrange(40..<72, with: name.bytes)
            note[74] = UInt8(index)
            let before = store.journalEndOffset
            try repository.setSyncNote(note)
            #expect(store.journalEndOffset - before < 300, "\(store.journalEndOffset - before)")
        }
        note.insert(7, at: 75)
        try repository.setSyncNote(note)
        let again = try place.open(.readOnly)
        #expect(again.backend.state == repository.backend.state)
        #expect(try again.syncNote() == note)
        repository.close()
        #expect(try place.open(.readOnly).backend.state == repository.backend.state)
    }

    @Test("changes of a state are parsed strictly, and never applied where they do not fit")
    func stateChanges() throws {
        let generator = SeededGenerator.fromEnvironment()
        let state = RepositoryState(
            heads: [BlobName(bytes: generator.bytes(count: 32...32))!], annotation: generator.bytes(count: 50...50))
        var next = state
        next.append(head: BlobName(bytes: generator.bytes(count: 32...32))!)
        next.annotation[3] ^= 1
        next.annotation[40] ^= 1
        let change = try #require(RepositoryStateChange(from: state, to: next))
        let encoded = change.encode()
        #expect(RepositoryStateChange.parse(encoded.span) == change)
        #expect(change.applied(to: state) == next)
        #expect(change.applied(to: RepositoryState()) == nil)
        var other = next
        other.keyringGeneration = 3
        #expect(RepositoryStateChange(from: state, to: other) == nil)
        #expect(RepositoryStateChange.parse((encoded + [0]).span) == nil)
        fuzz([encoded]) { bytes in
            if let parsed = RepositoryStateChange.parse(bytes.span) { _ = parsed.applied(to: state) }
        }
    }
}

extension BlobStore.Mode {
    fileprivate var isWriting: Bool { if case .readWrite = self { true } else { false } }
}
