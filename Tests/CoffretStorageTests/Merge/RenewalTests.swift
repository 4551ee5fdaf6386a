// An old copy of a store that was put back, and worked on before anybody noticed.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Work on an old copy of a store")
struct RenewalTests {
    /// Replica 0 was copied, and went on and sent something; 1 has that; 2 was away since the beginning.
    private struct Scene {
        let world: ReplicaWorld
        let old: Replica
        let sent: BlobName

        init(seed: UInt64) throws {
            world = try ReplicaWorld(SeededGenerator(seed: seed), count: 3)
            try world.replicas[0].put(0, "base")
            for other in [1, 2] { try world.send(0, to: other) }
            sent = try #require(world.replicas[0].head)
            old = try Replica(copying: world.replicas[0])
            try world.replicas[0].put(1, "by the newer copy")
            try world.replicas[0].put(1, "by the newer copy, changed")
            try world.send(0, to: 1)
        }

        func send(_ from: Replica, to: Replica) throws {
            let head = try #require(from.head)
            try to.adopt(from.export(knowing: to.head.map { [$0] } ?? []), heads: [head], signers: world.signers)
        }
    }

    @Test(
        "R2: what was written on it cannot be sent under numbers that are taken; written again, nothing of it is lost")
    func again() throws {
        let scene = try Scene(seed: 1)
        let (newer, second, third) = (scene.world.replicas[0], scene.world.replicas[1], scene.world.replicas[2])
        try scene.old.put(2, "on the old copy", time: 11)
        try third.put(3, "by another")
        try scene.send(third, to: scene.old)
        try scene.old.put(2, "on the old copy, changed", time: 12)
        try scene.old.put(4, String(repeating: "long ", count: 2_000), time: 13)
        var refusal: StorageError.Code?
        do { try scene.send(scene.old, to: second) } catch let error as StorageError { refusal = error.code }
        #expect(refusal == .historyForked)

        let renewed = try Replica(copying: scene.old, isRenewed: true)
        #expect(try renewed.repository.beginAdoption(rule: LineRule()).writeAgain(after: scene.sent) == 3)
        #expect(renewed.repository.fsck(signers: scene.world.signers).allProblems.isEmpty)
        var times: [Milliseconds] = []
        var cursor = try renewed.repository.log()
        while let commit = try cursor.next() {
            if commit.instance == renewed.author.instanceID, !commit.flags.contains(.merge) {
                times.append(commit.commit.timeMilliseconds)
            }
        }
        #expect(times.sorted() == [11, 12, 13], "each at its time, so the earlier text is in the history")

        try scene.send(renewed, to: second)
        for other in [renewed, newer, third] { try scene.send(second, to: other) }
        for replica in [renewed, newer, second, third] {
            #expect(replica.head == second.head)
            let repository = replica.repository
            #expect(try repository.text(0) == "base")
            #expect(try repository.text(1) == "by the newer copy, changed")
            #expect(try repository.text(2) == "on the old copy, changed")
            #expect(try repository.text(3) == "by another")
            #expect(try repository.text(4)?.count == 10_000)
            #expect(repository.fsck(signers: scene.world.signers).allProblems.isEmpty)
        }
    }

    @Test("what had been sent without the copy knowing it, and was written again, stands once")
    func twice() throws {
        let scene = try Scene(seed: 2)
        // The newer copy of the disk holds what it sent, but not that it sent it.
        let renewed = try Replica(copying: scene.world.replicas[0], isRenewed: true)
        #expect(try renewed.repository.beginAdoption(rule: LineRule()).writeAgain(after: scene.sent) == 2)
        try scene.send(scene.world.replicas[1], to: renewed)
        let key = RepositoryFixture.key(1)
        #expect(Set(try renewed.text(key)) == ["by the newer copy, changed"], "equal values are no conflict")
        #expect(try renewed.repository.text(1) == "by the newer copy, changed")
        // Nothing is left to write again after what everybody has.
        let head = try #require(renewed.head)
        #expect(try renewed.repository.beginAdoption(rule: LineRule()).writeAgain(after: head) == 0)
        #expect(renewed.head == head)
    }

    @Test("an epoch that was opened on it is not opened twice: nothing changes, and that is said")
    func epoch() throws {
        let scene = try Scene(seed: 3)
        try scene.old.put(2, "on the old copy")
        try scene.old.repository.commitEpoch(time: 2)
        let renewed = try Replica(copying: scene.old, isRenewed: true)
        let head = try #require(renewed.head)
        #expect(throws: StorageError(.unusable, place: "commit \(head)")) {
            _ = try renewed.repository.beginAdoption(rule: LineRule()).writeAgain(after: scene.sent)
        }
        #expect(renewed.head == head)
        try renewed.put(5, "it goes on")
    }

    @Test(
        "history that was dropped on it, with what others have, is not dropped twice: nothing changes, and that is said"
    )
    func dropped() throws {
        let scene = try Scene(seed: 4)
        try scene.old.put(2, "on the old copy", time: 11)
        _ = try scene.old.repository.compact(dropHistoryOlderThan: 11, timeMilliseconds: 12)
        let renewed = try Replica(copying: scene.old, isRenewed: true)
        let head = try #require(renewed.head)
        #expect(throws: StorageError(.unusable, place: "commit \(scene.sent)")) {
            _ = try renewed.repository.beginAdoption(rule: LineRule()).writeAgain(after: scene.sent)
        }
        #expect(renewed.head == head)
        #expect(try renewed.repository.text(2) == "on the old copy")
    }
}

extension Replica {
    fileprivate func put(_ index: Int, _ text: String, time: Milliseconds = 1) throws {
        try repository.commit([RepositoryFixture.put(index, text)], time: time)
    }
}
