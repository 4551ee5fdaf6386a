// Histories that begin at a compaction: who has nothing of what was removed takes the rest, and nothing less.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Histories that begin at a compaction")
struct BeginningTests {
    private let world: ReplicaWorld

    /// Two replicas have written and merged; the first has removed what is older than 50.
    init() throws {
        world = try ReplicaWorld(SeededGenerator(seed: 11), count: 3)
        for round in 0..<12 {
            let time = Milliseconds(round * 10)
            try put(0, round, "first \(round)", time)
            if round % 3 == 0 {
                try put(1, round + 20, "second \(round)", time)
                try world.send(0, to: 1)
                try world.send(1, to: 0)
            }
        }
        let long = String(repeating: "many words of one long value ", count: 400)
        try put(0, 3, long, 41)
    }

    private func put(_ replica: Int, _ key: Int, _ text: String, _ time: Milliseconds) throws {
        try world.replicas[replica].repository.commit([RepositoryFixture.put(key, text)], time: time)
    }

    @discardableResult
    private func compact(_ replica: Int, olderThan time: Milliseconds = 50) throws -> BlobName {
        let report = try world.replicas[replica].repository.compact(
            dropHistoryOlderThan: time, timeMilliseconds: 200)
        #expect(report.removedCommitCount > 3)
        return try #require(report.compactionCommit)
    }

    private func expectSame(_ left: Int, _ right: Int, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let (one, other) = (world.replicas[left].repository, world.replicas[right].repository)
        #expect(one.headNames == other.headNames, sourceLocation: sourceLocation)
        let difference = try SnapshotDifference(old: one.present, new: other.present)
        var walk = difference
        #expect(try walk.next() == nil, sourceLocation: sourceLocation)
        for replica in [left, right] {
            try world.replicas[replica].reopen()
            let check = world.replicas[replica].repository.fsck(signers: world.signers)
            #expect(check.isClean, "\(check.problems)", sourceLocation: sourceLocation)
        }
    }

    @Test("a new device takes what is left, reads it, and both go on; the past says that it was removed")
    func newDevice() throws {
        let compaction = try compact(0)
        try put(0, 30, "after", 210)
        let removed = try #require(
            try world.replicas[0].repository.commit(named: compaction).commit.compaction?.removedParents.first)
        try world.send(0, to: 2)
        try expectSame(0, 2)
        let error = #expect(throws: StorageError.self) {
            try world.replicas[2].repository.snapshot(at: removed)
        }
        #expect(error == StorageError(.historyCompacted, place: "commit \(compaction)"))
        try put(2, 31, "by the new one", 220)
        try world.send(2, to: 0)
        try expectSame(0, 2)
        try put(0, 3, "once more", 230)
        try world.send(0, to: 2)
        try expectSame(0, 2)
        // And removes more of it.
        try compactAgain()
    }

    private func compactAgain() throws {
        let report = try world.replicas[2].repository.compact(dropHistoryOlderThan: 215, timeMilliseconds: 300)
        #expect(report.compactionCommit != nil)
        try world.send(2, to: 0)
        #expect(world.replicas[0].head == world.replicas[2].head)
    }

    @Test("a device that was away while its base was removed goes forward, and keeps what it wrote meanwhile")
    func away() throws {
        let third = world.replicas[2]
        try world.send(0, to: 2)
        try put(2, 40, "written away", 60)
        for round in 0..<4 { try put(0, 50 + round, "since \(round)", Milliseconds(120 + round)) }
        try compact(0, olderThan: 122)
        // Nothing of what was removed is delivered, as after a sweep.
        let head = try #require(world.replicas[0].head)
        let report = try third.adopt(try world.replicas[0].export(), heads: [head], signers: world.signers)
        #expect(report.mergeCount == 1 && report.removals.count == 1)
        // It removes the same; its own commit loses a parent by that, and it says so.
        let followed = try third.repository.compact(dropHistoryOlderThan: nil, timeMilliseconds: 230)
        #expect(followed.removedCommitCount > 3 && followed.compactionCommit != nil)
        #expect(try third.repository.recordedRemovals().isEmpty)
        try world.send(2, to: 0)
        try expectSame(0, 2)
        #expect(try third.text(RepositoryFixture.key(40)) == ["written away"])
        #expect(try third.text(RepositoryFixture.key(53)) == ["since 3"])
    }

    @Test(
        "what is missing of the tree is asked for by name; without it, and without a record that counts, nothing is taken (R5)"
    )
    func incomplete() throws {
        let compaction = try compact(0)
        let source = world.replicas[0]
        let head = try #require(source.head)
        let names = try source.repository.contents(from: []).names
        let beginning = try #require(try source.repository.historyBeginnings().first)
        let root = beginning.commit.root
        let blobs = try names.filter { $0 != root }.map { try source.repository.sealedBlob($0) }
        let third = world.replicas[2]
        do {
            let adoption = try third.repository.beginAdoption()
            defer { adoption.cancel() }
            for blob in blobs { try adoption.offer(blob) }
            #expect(try adoption.missing(for: [head]) == [root])
            try adoption.offer(try source.repository.sealedBlob(root))
            #expect(try adoption.missing(for: [head]) == [])
        }
        #expect(throws: StorageError.self) { try third.adopt(blobs, heads: [head], signers: world.signers) }
        #expect(third.head == nil)

        // Without the commit that says so the same is a hole.
        let before = try #require(try source.repository.commit(named: compaction).parents.first)
        let all = try source.export()
        let hole = #expect(throws: StorageError.self) {
            try third.adopt(all, heads: [before], signers: world.signers)
        }
        #expect(hole?.code == .historyBroken)
        #expect(third.head == nil)
        // By a device that nobody trusts it says nothing.
        let stranger = WorldSigners(authors: [world.replicas[1].author])
        #expect(throws: StorageError.self) { try third.adopt(all, heads: [head], signers: stranger) }
        try third.adopt(all, heads: [head], signers: world.signers)
        try expectSame(0, 2)
    }

    /// What the first replica would send if its compaction had made another record, signed by it.
    private func forged(
        _ change: (inout CompactionRecord) throws -> Void
    ) throws -> (blobs: [SealedBlob], head: BlobName) {
        let source = world.replicas[0]
        let compaction = try source.repository.compact(dropHistoryOlderThan: 50, timeMilliseconds: 200).compactionCommit
        var commit = try source.repository.commit(named: #require(compaction)).commit
        var record = try #require(commit.compaction)
        try change(&record)
        commit.compaction = record
        let content = commit.sign(with: source.author, vaultID: source.keys.vaultID.bytes)
        let state = source.repository.backend.state
        let name = try source.repository.transact { (transaction) throws(StorageError) in
            let name = try transaction.writeBlob(type: .commit, bytes: content)
            try transaction.commit(state: state, isCheckpoint: false)
            return name
        }
        let names = try source.repository.contents(from: [], to: name).names
        return (try names.map { try source.repository.sealedBlob($0) }, name)
    }

    @Test(
        "a record that says of a beginning that it has seen more or less than it has is refused, by who can tell (R5)",
        arguments: ["more than was removed", "not itself", "one less", "nothing"])
    func lyingRecord(_ lie: String) throws {
        try world.send(0, to: 1)
        let (blobs, head) = try forged { record in
            let beginnings = try #require(record.beginnings)
            record.beginnings = beginnings.mapValues { versions in
                let (instance, sequence) = versions.sorted[0]
                switch lie {
                case "more than was removed": return versions.with(sequence + 100, of: instance)
                case "one less": return versions.with(sequence - 1, of: instance)
                default: return VersionVector()
                }
            }
            if lie == "nothing" { record.beginnings = [:] }
        }
        // Who has nothing knows the bounds alone; a lie within them concerns who had the history.
        let newcomer = world.replicas[2]
        if lie != "one less" {
            let error = #expect(throws: StorageError.self) {
                try newcomer.adopt(blobs, heads: [head], signers: world.signers)
            }
            #expect(error?.code == (lie == "nothing" ? .historyBroken : .commitMalformed))
            #expect(newcomer.head == nil)
        }
        if lie != "nothing" {
            let before = world.replicas[1].head
            let error = #expect(throws: StorageError.self) {
                try world.replicas[1].adopt(blobs, heads: [head], signers: world.signers)
            }
            #expect(error?.code == .commitMalformed)
            #expect(world.replicas[1].head == before)
        }
    }

    @Test("a record from before beginnings were stated is taken by the bound")
    func oldRecord() throws {
        let (blobs, head) = try forged { $0.beginnings = nil }
        let newcomer = world.replicas[2]
        try newcomer.adopt(blobs, heads: [head], signers: world.signers)
        try put(2, 70, "goes on", 300)
        try newcomer.reopen()
        #expect(newcomer.repository.fsck(signers: world.signers).isClean)
        #expect(try newcomer.text(RepositoryFixture.key(70)) == ["goes on"])
    }

    @Test("a tree that comes without need is not taken for stored, nor is a root that was staged without its tree")
    func needlessTree() throws {
        try world.send(0, to: 2)
        let third = world.replicas[2]
        try compact(0)
        let head = try #require(world.replicas[0].head)
        let known = try #require(third.head)
        // All of the tree comes, though the third has the history.
        try third.adopt(try world.replicas[0].export(knowing: [known]), heads: [head], signers: world.signers)
        try third.reopen()
        #expect(third.repository.fsck(signers: world.signers).isClean)
        #expect(try third.text(RepositoryFixture.key(11)) == ["first 11"])
        // Only the root comes, and is staged.
        try put(0, 60, "more", 240)
        let next = try #require(world.replicas[0].head)
        let source = world.replicas[0].repository
        let root = try #require(try source.historyBeginnings().first?.commit.root)
        let adoption = try third.repository.beginAdoption()
        try adoption.offer(try source.sealedBlob(root))
        #expect(try !adoption.stage { _ in [1] })
        try world.replicas[2].adopt(
            try world.replicas[0].export(knowing: [head]), heads: [next], signers: world.signers)
        try third.reopen()
        #expect(third.repository.fsck(signers: world.signers).isClean)
        let beginning = try #require(try source.historyBeginnings().first)
        _ = try third.repository.snapshot(at: beginning.name).root()
    }

    @Test("where the whole old history is still delivered it is taken as before, or left out: the state is the same")
    func oldServer() throws {
        let old = try world.replicas[0].export()
        try compact(0)
        let head = try #require(world.replicas[0].head)
        try world.replicas[2].adopt(
            old + (try world.replicas[0].export()), heads: [head], signers: world.signers)
        try expectSame(0, 2)
    }
}
