// Where a revocation takes effect, and what becomes of work that was done before anybody heard of it.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Revocations in a vault")
struct RevocationTests {
    /// 0 revokes, 1 has not heard of it, 2 is the thief, 3 is honest and was away.
    private struct Scene {
        let world: ReplicaWorld
        /// Of who has heard of the revocation.
        let knowing: WorldSigners
        let cut: BlobName

        /// - Parameter lineCount: how long the history is that all have; the fifth has nothing.
        init(seed: UInt64, lineCount: Int = 1) throws {
            world = try ReplicaWorld(SeededGenerator(seed: seed), count: 5)
            for line in 0..<lineCount { try world.replicas[0].put(line, line == 0 ? "base" : "line \(line)") }
            for other in 1...3 { try world.send(0, to: other) }
            try world.replicas[0].repository.commitEpoch(time: 2)
            cut = try #require(world.replicas[0].head)
            var signers = world.signers
            signers.chain = [world.replicas[0].author.deviceChainHead]
            signers.revoked = [world.replicas[2].author.deviceID: 0]
            knowing = signers
        }

        /// `to` takes the head of `from`, knowing of the revocation.
        @discardableResult
        func send(_ from: Int, to: Int, required: [BlobName] = []) throws -> AdoptionReport {
            let head = try #require(world.replicas[from].head)
            let adoption = try world.replicas[to].repository.beginAdoption(rule: LineRule())
            for blob in try world.replicas[from].export() { try adoption.offer(blob) }
            return try adoption.adopt([head], signers: knowing, time: 9, required: required)
        }
    }

    @Test("R22: what was written on top of a revoked device's work is written again without it, and nothing is lost")
    func again() throws {
        let scene = try Scene(seed: 1)
        let replicas = scene.world.replicas
        try replicas[2].put(2, "by the thief")
        try replicas[1].put(1, "before the thief's came")
        try scene.world.send(2, to: 1)
        try replicas[1].put(3, "after")
        try replicas[1].put(3, "after, changed")
        try replicas[1].put(4, String(repeating: "long ", count: 2_000))
        let aside = try #require(replicas[1].head)
        let report = try scene.send(0, to: 1, required: [aside])
        #expect(report.setAsideCount >= 4)
        #expect(try replicas[1].repository.text(1) == "before the thief's came")
        #expect(try replicas[1].repository.text(3) == "after, changed")
        #expect(try replicas[1].repository.text(4)?.count == 10_000)
        #expect(try replicas[1].repository.text(2) == nil)
        #expect(try replicas[1].repository.isSetAside(aside))
        let left = try replicas[1].repository.setAsideCommits()
        #expect(left.map(\.summary.deviceID) == [replicas[2].author.deviceID])
        #expect(replicas[1].repository.fsck(signers: scene.knowing).allProblems.isEmpty)

        // Others take it, whether they saw the commits that were left behind or not.
        try scene.world.send(2, to: 3)
        try scene.send(0, to: 3)
        for other in [0, 3] { try scene.send(1, to: other) }
        for other in [0, 3] {
            #expect(replicas[other].head == replicas[1].head)
            #expect(try replicas[other].repository.text(3) == "after, changed")
        }
        // It goes on, and what was set aside stays readable through a compaction.
        try replicas[1].put(1, "later")
        try scene.send(1, to: 0)
        _ = try replicas[1].repository.compact(dropHistoryOlderThan: nil, timeMilliseconds: 11)
        #expect(try replicas[1].repository.setAsideCommits().count == 1)
        try replicas[1].repository.dropSetAside()
        #expect(try replicas[1].repository.setAsideCommits().isEmpty)
    }

    @Test("R22: a device that merged the commits of one who did not know goes back to what counts as well")
    func secondHand() throws {
        let scene = try Scene(seed: 2)
        let replicas = scene.world.replicas
        try replicas[2].put(2, "by the thief")
        try scene.world.send(2, to: 1)
        try replicas[1].put(1, "on top of it")
        try scene.world.send(1, to: 3)
        try replicas[3].put(3, "third")
        // 1 hears of it first, then 3, which has 1's abandoned commits in its own history.
        try scene.send(0, to: 1)
        try scene.send(1, to: 3)
        try scene.send(3, to: 1)
        try scene.send(3, to: 0)
        for index in [0, 1, 3] {
            let repository = replicas[index].repository
            #expect(replicas[index].head == replicas[3].head)
            #expect(try repository.text(1) == "on top of it" && repository.text(3) == "third")
            #expect(try repository.text(2) == nil)
        }
        // The abandoned history, shown again, changes nothing.
        let head = replicas[0].head
        let report = try scene.send(2, to: 0)
        #expect(report.revoked.count == 1 && replicas[0].head == head)
    }

    @Test(
        "R22: what is written again supersedes what the first writing had seen, and nothing that others wrote meanwhile"
    )
    func beside() throws {
        let scene = try Scene(seed: 7)
        let replicas = scene.world.replicas
        try replicas[2].put(2, "by the thief")
        try scene.world.send(2, to: 1)
        try replicas[1].put(3, "by one on top of it")
        // Before anybody hears of it 1 merges what 3 wrote beside that.
        try replicas[3].put(3, "by the third")
        try scene.world.send(3, to: 1)
        try scene.send(0, to: 1)
        #expect(try replicas[1].text(RepositoryFixture.key(2)) == [])
        let lines = try replicas[1].text(RepositoryFixture.key(3)).flatMap { $0.split(separator: "\n") }
        #expect(Set(lines) == ["by one on top of it", "by the third"])
    }

    @Test("honest work that only a revoked device's merge leads to is taken (R22)")
    func below() throws {
        let scene = try Scene(seed: 8)
        let replicas = scene.world.replicas
        try replicas[1].put(1, "honest")
        try replicas[2].put(2, "by the thief")
        try scene.world.send(1, to: 2)
        // All that 3 ever gets is the thief's merge.
        try scene.send(0, to: 3)
        let report = try scene.send(2, to: 3)
        #expect(report.revoked.count == 1)
        #expect(try replicas[3].repository.text(1) == "honest")
        #expect(try replicas[3].repository.text(2) == nil)
    }

    @Test("without a cut nobody knows what counts: a revoked device's head is refused, and nothing changes")
    func noCut() throws {
        let scene = try Scene(seed: 3)
        let replicas = scene.world.replicas
        try replicas[2].put(2, "by the thief")
        let before = replicas[3].head
        let error = #expect(throws: StorageError.self) { try scene.send(2, to: 3) }
        #expect(error?.code == .commitRevokedSigner)
        #expect(replicas[3].head == before)
        #expect(try !replicas[3].repository.hasCut(at: 0, account: scene.world.keys.accountID, signers: scene.knowing))
        #expect(try replicas[0].repository.hasCut(at: 0, account: scene.world.keys.accountID, signers: scene.knowing))
        try scene.send(0, to: 3)
        let report = try scene.send(2, to: 3)
        #expect(report.revoked.count == 1)
        #expect(try replicas[3].repository.text(2) == nil)
    }

    @Test("history that went by a revoked device's record stays gone where it went, by a record that counts (R22)")
    func record() throws {
        let scene = try Scene(seed: 5, lineCount: 20)
        let replicas = scene.world.replicas
        // The thief drops history, and 1 follows before anybody hears of the revocation.
        _ = try #require(
            try replicas[2].repository.compact(
                dropHistoryOlderThan: .max, timeMilliseconds: 5
            ).compactionCommit)
        try scene.world.send(2, to: 1)
        #expect(
            try replicas[1].repository.compact(dropHistoryOlderThan: nil, timeMilliseconds: 6).removedCommitCount > 10)
        let gone = try #require(try replicas[1].repository.historyBeginnings().first?.parents.first)
        try replicas[1].put(1, "after")

        let report = try scene.send(0, to: 1)
        #expect(report.setAsideCount == 2)
        #expect(try replicas[1].repository.text(1) == "after" && replicas[1].repository.text(7) == "line 7")
        let error = #expect(throws: StorageError.self) { try replicas[1].repository.snapshot(at: gone) }
        #expect(error?.code == .historyCompacted)
        try replicas[1].reopen()
        let check = replicas[1].repository.fsck(signers: scene.knowing)
        #expect(check.isClean, "\(check.problems)")

        // One that has nothing begins there too, and one that kept all follows it.
        try scene.send(1, to: 4)
        try replicas[4].put(2, "by the new one")
        try replicas[3].put(3, "by one who was away")
        try scene.send(4, to: 3)
        #expect(
            try replicas[3].repository.compact(dropHistoryOlderThan: nil, timeMilliseconds: 10).removedCommitCount > 10)
        for other in [0, 1, 4] { try scene.send(3, to: other) }
        for other in [0, 1, 3, 4] {
            let repository = replicas[other].repository
            #expect(replicas[other].head == replicas[3].head)
            #expect(try repository.text(1) == "after" && repository.text(7) == "line 7")
            #expect(try repository.text(2) == "by the new one" && repository.text(3) == "by one who was away")
        }
    }

    @Test("a revoked device's record that nobody followed yet removes nothing (R22)")
    func recordNotFollowed() throws {
        let scene = try Scene(seed: 6, lineCount: 20)
        let replicas = scene.world.replicas
        _ = try replicas[2].repository.compact(dropHistoryOlderThan: .max, timeMilliseconds: 5)
        try scene.world.send(2, to: 1)
        let count = try replicas[1].repository.logCount()
        try scene.send(0, to: 1)
        #expect(try replicas[1].repository.recordedRemovals().isEmpty)
        let compaction = try replicas[1].repository.compact(dropHistoryOlderThan: nil, timeMilliseconds: 6)
        #expect(compaction.removedCommitCount == 0)
        let annotation = try RepositoryAnnotation.decode(replicas[1].repository.backend.state.annotation)
        #expect(annotation.removedVersions == VersionVector())
        // The record is set aside, and the cut has come.
        #expect(try replicas[1].repository.logCount() == count)
        #expect(replicas[1].head == replicas[0].head)
    }

    @Test("what counted before the revocation goes on to count, and a head that lost it is a fork")
    func counting() throws {
        let world = try ReplicaWorld(SeededGenerator(seed: 4), count: 3)
        try world.replicas[2].put(2, "honest, long ago")
        for other in 0...1 { try world.send(2, to: other) }
        try world.replicas[0].repository.commitEpoch(time: 2)
        var signers = world.signers
        signers.chain = [world.replicas[0].author.deviceChainHead]
        signers.revoked = [world.replicas[2].author.deviceID: 0]
        try world.replicas[1].adopt(
            world.replicas[0].export(), heads: [#require(world.replicas[0].head)], signers: signers)
        #expect(try world.replicas[1].repository.text(2) == "honest, long ago")
        #expect(world.replicas[1].head == world.replicas[0].head)
        // Another line that never saw what was seen here is none that a revocation excuses.
        let other = try ReplicaWorld(SeededGenerator(seed: 4), count: 1)
        try other.replicas[0].put(1, "elsewhere")
        let seen = try #require(world.replicas[1].head)
        try world.replicas[1].put(1, "own")
        try world.replicas[2].put(0, "late")
        let adoption = try world.replicas[1].repository.beginAdoption()
        for blob in try world.replicas[2].export() { try adoption.offer(blob) }
        let report = try adoption.adopt(
            [#require(world.replicas[2].head)], signers: signers, time: 3, required: [seen])
        #expect(report.revoked.count == 1)
    }
}

extension Replica {
    fileprivate func put(_ index: Int, _ text: String) throws {
        try repository.commit([RepositoryFixture.put(index, text)], time: 1)
    }
}

extension VaultRepository {
    fileprivate func logCount() throws -> Int {
        var count = 0
        var cursor = try log()
        while try cursor.next() != nil { count += 1 }
        return count
    }
}
