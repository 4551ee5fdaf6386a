// Commits from elsewhere that must not be believed: each has a named error, and nothing changes here.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Commits from elsewhere")
struct ForeignCommitTests {
    private func put(_ world: ReplicaWorld, _ index: Int, _ text: String) throws {
        try world.replicas[index].repository.commit([RepositoryFixture.put(index, text)], time: 1)
    }

    private func expectRefused(
        _ world: ReplicaWorld, _ code: StorageError.Code, _ body: () throws -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = world.replicas.map(\.head)
        let error = #expect(throws: StorageError.self, sourceLocation: sourceLocation) { try body() }
        #expect(error?.code == code, sourceLocation: sourceLocation)
        for (replica, head) in zip(world.replicas, before) {
            #expect(replica.head == head, sourceLocation: sourceLocation)
            try replica.reopen()
            #expect(replica.head == head, sourceLocation: sourceLocation)
        }
    }

    @Test("a history with a hole names the missing commit (R5)")
    func hole() throws {
        let world = try ReplicaWorld(SeededGenerator(seed: 1), count: 2)
        for text in ["a", "b", "c"] { try put(world, 0, text) }
        let replica = world.replicas[0]
        let head = try #require(replica.head)
        let middle = try replica.repository.commit(named: head).parents[0]
        let address = try replica.repository.sealedBlob(middle).address
        let blobs = try replica.export().filter { $0.address != address }
        try expectRefused(world, .historyBroken) {
            do {
                try world.replicas[1].adopt(blobs, heads: [head], signers: world.signers)
            } catch {
                #expect((error as? StorageError)?.place == "commit \(middle)")
                throw error
            }
        }
    }

    @Test("any bit flipped in any blob on the way: it is not taken, and the history has a hole (R14, R6)")
    func flips() throws {
        let world = try ReplicaWorld(SeededGenerator(seed: 2), count: 2)
        try put(world, 0, "a")
        let head = try #require(world.replicas[0].head)
        let blobs = try world.replicas[0].export()
        for (index, blob) in blobs.enumerated() {
            try withEveryFlippedBit(blob.bytes) { changed, bit in
                guard bit % 7 == 0 else { return }
                let adoption = try world.replicas[1].repository.beginAdoption()
                #expect(try adoption.offer(SealedBlob(address: blob.address, bytes: changed)) == nil)
                adoption.cancel()
            }
            // One blob's bytes under another's address.
            let other = blobs[(index + 1) % blobs.count]
            let adoption = try world.replicas[1].repository.beginAdoption()
            #expect(try adoption.offer(SealedBlob(address: other.address, bytes: blob.bytes)) == nil)
            adoption.cancel()
        }
        // Poisoned variants beside the true one do no harm (protocol 4).
        let poisoned = blobs.map { SealedBlob(address: $0.address, bytes: $0.bytes.reversed()) }
        try world.replicas[1].adopt(poisoned + blobs + poisoned, heads: [head], signers: world.signers)
        #expect(world.replicas[1].head == head)
    }

    @Test("a commit by a device that no chain knows is refused (R11)")
    func unknownSigner() throws {
        let world = try ReplicaWorld(SeededGenerator(seed: 3), count: 2)
        try put(world, 0, "a")
        let blobs = try world.replicas[0].export()
        let head = try #require(world.replicas[0].head)
        let signers = WorldSigners(authors: [world.replicas[1].author])
        try expectRefused(world, .commitUnknownSigner) {
            try world.replicas[1].adopt(blobs, heads: [head], signers: signers)
        }
    }

    @Test("a clone that goes on writing is a fork, and both commits are kept as evidence (R2)")
    func fork() throws {
        let world = try ReplicaWorld(SeededGenerator(seed: 4), count: 2)
        try put(world, 0, "a")
        try world.send(0, to: 1)
        let original = world.replicas[0]
        let clone = original.disk.syncedCopy()
        try put(world, 0, "original")
        try world.send(0, to: 1)
        let first = try #require(world.replicas[1].head)
        let repository = try VaultRepository.open(
            directory: "vault", keys: world.keys.keys(local: original.local), author: original.author,
            mode: .readWrite(lockTimeoutMilliseconds: 0),
            environment: StorageEnvironment(fileSystem: clone, random: world.random, clock: ManualClock()))
        try repository.commit([RepositoryFixture.put(0, "clone")], time: 2)
        let head = try #require(repository.headNames.first)
        let blobs = try repository.contents(from: []).names.map { try repository.sealedBlob($0) }
        for _ in 0..<2 {
            try expectRefused(world, .historyForked) {
                try world.replicas[1].adopt(blobs, heads: [head], signers: world.signers)
            }
        }
        #expect(try world.replicas[1].repository.forkEvidence() == [head])
        #expect(world.replicas[1].head == first)
        // And the original itself learns that a copy of it is at work.
        try expectRefused(world, .historyLocalRollback) {
            try world.replicas[0].adopt(blobs, heads: [head], signers: world.signers)
        }
    }

    @Test("a store put back to an older state is noticed when its own commits come back (R1)")
    func localRollback() throws {
        let world = try ReplicaWorld(SeededGenerator(seed: 5), count: 2)
        try put(world, 0, "a")
        let old = world.replicas[0].disk.syncedCopy()
        try put(world, 0, "b")
        try world.send(0, to: 1)
        let replica = world.replicas[0]
        let repository = try VaultRepository.open(
            directory: "vault", keys: world.keys.keys(local: replica.local), author: replica.author,
            mode: .readWrite(lockTimeoutMilliseconds: 0),
            environment: StorageEnvironment(fileSystem: old, random: world.random, clock: ManualClock()))
        let adoption = try repository.beginAdoption()
        for blob in try world.replicas[1].export() { try adoption.offer(blob) }
        let error = #expect(throws: StorageError.self) {
            try adoption.adopt([#require(world.replicas[1].head)], signers: world.signers, time: 1)
        }
        #expect(error?.code == .historyLocalRollback)
    }

    @Test("a commit under an older epoch than its parents' is refused (protocol 8)")
    func staleEpoch() throws {
        let world = try ReplicaWorld(SeededGenerator(seed: 6), count: 2)
        try put(world, 0, "a")
        try world.send(0, to: 1)
        try world.rotate()
        try put(world, 0, "new epoch")
        let head = try #require(world.replicas[0].head)
        let context = CommitContext(
            vaultID: world.keys.vaultID.bytes, epoch: 1, treeGeneration: 1, author: world.replicas[0].author,
            formatFloor: 1)
        let parent = try world.replicas[0].repository.commit(named: head)
        let forged = Commit(
            context: BlobName.derive(type: .commitContext, content: context.encode().span),
            root: parent.commit.root, parents: [head], sequence: parent.sequence + 1, timeMilliseconds: 1,
            changes: .list([]))
        let backend = world.replicas[0].repository.backend
        let transaction = try backend.beginTransaction()
        try transaction.writeBlob(type: .commitContext, bytes: context.encode())
        let name = try transaction.writeBlob(
            type: .commit, bytes: forged.sign(with: world.replicas[0].author, vaultID: world.keys.vaultID.bytes))
        try transaction.commit(state: backend.state, isCheckpoint: false)
        let blobs =
            try world.replicas[0].export() + [world.replicas[0].repository.sealedBlob(name)]
            + [world.replicas[0].repository.sealedBlob(forged.context)]
        try expectRefused(world, .commitStaleEpoch) {
            try world.replicas[1].adopt(blobs, heads: [name], signers: world.signers)
        }
    }

    @Test("a back-dated commit of a revoked device, laundered by an honest merge, stays in quarantine (R22)")
    func laundering() throws {
        // 0 revokes; 1 has not heard of it; 2 is the thief, who writes after the cut as if before it.
        let world = try ReplicaWorld(SeededGenerator(seed: 7), count: 3)
        try put(world, 0, "a")
        for other in 1...2 { try world.send(0, to: other) }
        try put(world, 2, "honest work, seen by all before")
        for other in 0...1 { try world.send(2, to: other) }
        let chain = [world.replicas[0].author.deviceChainHead]
        var signers = world.signers
        try world.replicas[0].repository.commitEpoch(time: 2)
        signers.chain = chain
        signers.revoked = [world.replicas[2].author.deviceID: 0]
        let cut = try #require(world.replicas[0].head)
        try put(world, 2, "laundered")
        try world.send(2, to: 1)
        try put(world, 1, "honest")
        let thief = try #require(world.replicas[2].head)
        let merged = try #require(world.replicas[1].head)
        let report = try world.replicas[0].adopt(
            world.replicas[1].export(), heads: [thief, merged], signers: signers)
        #expect(report.revoked == [thief] && report.quarantined == [merged])
        #expect(world.replicas[0].head == cut)
        #expect(try world.replicas[0].repository.text(2) == "honest work, seen by all before")
        #expect(try world.replicas[0].repository.text(1) == nil)
        // Nothing is lost: what is in quarantine is there, and is judged again when it comes again.
        #expect(try world.replicas[0].repository.commit(named: merged).name == merged)
        #expect(try world.replicas[0].repository.quarantinedHeads() == [merged])
        try put(world, 1, "more")
        let again = try world.replicas[0].adopt(
            world.replicas[1].export(), heads: [#require(world.replicas[1].head)], signers: signers)
        #expect(again.quarantined.count == 1 && again.newHead == cut)
    }
}
