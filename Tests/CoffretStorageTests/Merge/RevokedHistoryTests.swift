// Revocations where history was removed. The one thing to keep true: what was removed takes nobody's work with it, and lets
// nothing in that the cut takes out.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Revocations where history was removed")
struct RevokedHistoryTests {
    /// 0 revokes, 1 and 3 are honest, 2 is the thief.
    private let world: ReplicaWorld
    /// Of who has heard of the revocation.
    private let knowing: WorldSigners

    init() throws {
        world = try ReplicaWorld(SeededGenerator(seed: 23), count: 4)
        var signers = world.signers
        signers.chain = [world.replicas[0].author.deviceChainHead]
        signers.revoked = [world.replicas[2].author.deviceID: 0]
        knowing = signers
    }

    private func put(_ replica: Int, _ key: Int, _ text: String, _ time: Milliseconds) throws {
        try world.replicas[replica].repository.commit([RepositoryFixture.put(key, text)], time: time)
    }

    /// `to` takes the head of `from`, knowing of the revocation.
    @discardableResult
    private func send(
        _ from: Int, to: Int, and blobs: [SealedBlob] = [], requiredDots: [Dot] = []
    ) throws -> AdoptionReport {
        let head = try #require(world.replicas[from].head)
        let adoption = try world.replicas[to].repository.beginAdoption(rule: LineRule())
        for blob in try world.replicas[from].export() + blobs { try adoption.offer(blob) }
        return try adoption.adopt([head], signers: knowing, time: 9, requiredDots: requiredDots)
    }

    private func compact(_ replica: Int, olderThan time: Milliseconds) throws -> CommitSummary {
        let repository = world.replicas[replica].repository
        let report = try repository.compact(dropHistoryOlderThan: time, timeMilliseconds: 200)
        return try repository.commit(named: #require(report.compactionCommit))
    }

    private func expectClean(_ replicas: [Int], sourceLocation: SourceLocation = #_sourceLocation) {
        for replica in replicas {
            let problems = world.replicas[replica].repository.fsck(signers: knowing).allProblems
            #expect(problems.isEmpty, "\(problems)", sourceLocation: sourceLocation)
        }
    }

    @Test("R22: a revoked device's head whose history begins by its own record is set aside, and stops nobody")
    func ownRecord() throws {
        try put(0, 0, "base", 1)
        try world.replicas[0].repository.commitEpoch(time: 2)
        try put(2, 1, "old", 10)
        try put(2, 1, "new", 90)
        _ = try compact(2, olderThan: 50)
        let head = world.replicas[0].head
        let report = try send(2, to: 0)
        #expect(report.revoked.count == 1 && world.replicas[0].head == head)
        #expect(try world.replicas[0].repository.text(1) == nil)
        try put(0, 2, "goes on", 91)
        expectClean([0])
    }

    @Test(
        "R22: what an honest device wrote and only a revoked one's record begins is neither taken nor refused, until it is whole"
    )
    func honestBelow() throws {
        try put(0, 0, "base", 1)
        try world.replicas[0].repository.commitEpoch(time: 2)
        try put(1, 1, "old", 10)
        let old = try world.replicas[1].export()
        try put(1, 1, "new", 90)
        try world.send(1, to: 2)
        _ = try compact(2, olderThan: 50)
        let head = world.replicas[0].head
        #expect(try send(2, to: 0).revoked.count == 1)
        #expect(world.replicas[0].head == head)
        #expect(try world.replicas[0].repository.text(1) == nil)
        // The record says that the first commit is gone. It is not: then the honest commits count, and the record does not.
        let report = try send(2, to: 0, and: old)
        #expect(report.revoked.count == 1 && report.removals.isEmpty)
        #expect(try world.replicas[0].repository.text(1) == "new")
        try send(1, to: 0)
        try send(0, to: 1)
        #expect(world.replicas[1].head == world.replicas[0].head)
        expectClean([0, 1])
    }

    @Test("R5: a missing parent that only a record elsewhere lists is missing still")
    func withheld() throws {
        try put(0, 0, "base", 1)
        try world.replicas[0].repository.commitEpoch(time: 2)
        try put(1, 1, "old", 10)
        let old = try #require(world.replicas[1].head)
        try put(1, 1, "new", 90)
        let blobs = try world.replicas[1].export()
        let withheld = try world.replicas[1].repository.addresses(of: old)
        let adoption = try world.replicas[0].repository.beginAdoption(rule: LineRule())
        for blob in blobs where !withheld.contains(blob.address) { try adoption.offer(blob) }
        let head = try #require(world.replicas[1].head)
        #expect(throws: StorageError(.historyBroken, place: "commit \(old)")) {
            try adoption.adopt([head], signers: knowing, time: 9)
        }
    }

    @Test(
        "R22: who built on a revoked device's work and dropped all of that writes its own again, as where it was kept")
    func removedBelow() throws {
        try put(0, 0, "base", 1)
        try world.send(0, to: 1)
        try world.replicas[0].repository.commitEpoch(time: 2)
        try put(2, 1, "by the thief", 10)
        try world.send(2, to: 1)
        try put(1, 2, "on top", 20)
        try world.send(1, to: 3)
        let sent = try #require(world.replicas[1].head)
        let seen = try #require(try world.replicas[1].repository.dot(ofCommit: sent))
        try put(1, 3, "later", 90)
        let record = try compact(1, olderThan: 50)
        #expect(record.commit.compaction?.authors?[world.replicas[2].author.instanceID] != nil)
        // What it sent before is gone here, and behind the cut as well.
        let report = try send(0, to: 1, requiredDots: [seen])
        #expect(report.setAsideCount >= 2)
        try send(0, to: 3)
        for _ in 0..<2 {
            for (from, to) in [(1, 0), (0, 3), (3, 1)] { try send(from, to: to) }
        }
        for index in [0, 1, 3] {
            let repository = world.replicas[index].repository
            #expect(world.replicas[index].head == world.replicas[0].head)
            #expect(try repository.text(0) == "base" && repository.text(1) == nil)
            #expect(try repository.text(2) == "on top" && repository.text(3) == "later")
        }
        expectClean([0, 1, 3])
    }

    @Test("what was deleted on top of a removed commit that counts stays deleted when it is written again")
    func deletion() throws {
        try put(0, 0, "base", 1)
        try world.send(0, to: 1)
        try world.replicas[0].repository.commitEpoch(time: 2)
        try put(2, 1, "by the thief", 10)
        try world.send(2, to: 1)
        try world.replicas[1].repository.commit(
            [FactChange(key: RepositoryFixture.put(0, "").key, value: nil)], time: 90)
        _ = try compact(1, olderThan: 50)
        try send(0, to: 1)
        #expect(try world.replicas[1].repository.text(0) == nil)
        #expect(try world.replicas[1].repository.text(1) == nil)
        expectClean([1])
    }

    @Test(
        "R22: a record by which a cut goes takes its place, unless another revocation waits for its cut",
        arguments: [true, false])
    func removedCut(_ areCutsKnown: Bool) throws {
        try put(0, 0, "base", 1)
        try world.send(0, to: 3)
        try put(2, 1, "by the thief", 10)
        try world.send(2, to: 3)
        try put(3, 2, "on top", 20)
        let repository = world.replicas[0].repository
        try repository.commitEpoch(time: 30)
        try put(0, 3, "after the cut", 90)
        repository.areCutsKnown = { _ in areCutsKnown }
        let record = try compact(0, olderThan: 50)
        #expect(record.flags.contains(.epoch) == areCutsKnown)
        #expect(try repository.hasCut(at: 0, account: world.keys.accountID, signers: knowing) == areCutsKnown)
        try send(0, to: 3)
        #expect(try world.replicas[3].repository.text(1) == (areCutsKnown ? nil : "by the thief"))
        #expect(try world.replicas[3].repository.text(2) == "on top")
        expectClean([0, 3])
    }
}
