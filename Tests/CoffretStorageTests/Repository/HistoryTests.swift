// What history keeps, loses on purpose, and notices. The one thing to keep true: a missing commit is an
// error that names it, unless a commit says that it was removed.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("History")
struct HistoryTests {
    typealias Fixture = RepositoryFixture

    /// Commits 1...count, one a second, each changing one of ten facts.
    private func commits(_ repository: VaultRepository, count: Int, from first: Int = 1) throws -> [CommitSummary] {
        try (first..<first + count).map { number in
            let text = number % 7 == 0 ? String(repeating: "long \(number) ", count: 400) : "text \(number)"
            return try repository.commit([Fixture.put(number % 10, text)], time: Int64(number) * 1_000)
        }
    }

    @Test("compaction without a time keeps every state and drops trees that nothing needs")
    func compactGarbage() throws {
        let fixture = Fixture()
        let repository = fixture.open(policy: CheckpointPolicy(factCountMax: 3))
        let all = try commits(repository, count: 60)
        let hash = try repository.present.stateHash()
        let blobCount = fixture.backend.blobs.blobs.count
        let report = try repository.compact(dropHistoryOlderThan: nil, timeMilliseconds: 61_000)
        #expect(report.removedCommitCount == 0)
        #expect(report.keptCommitCount == 60)
        #expect(report.compactionCommit == nil)
        #expect(fixture.backend.blobs.blobs.count < blobCount)
        let again = fixture.open()
        #expect(try again.present.stateHash() == hash)
        for (number, summary) in all.enumerated() where number % 5 == 0 {
            #expect(try again.snapshot(at: summary.name).rootName() == summary.commit.root)
        }
        let check = again.fsck()
        #expect(check.allProblems == [])
        #expect(check.unreachableBlobCount == 0)
    }

    @Test("compaction with a time keeps the present and newer states, and fsck says what was removed")
    func compactHistory() throws {
        let fixture = Fixture()
        let repository = fixture.open(policy: CheckpointPolicy(factCountMax: 8))
        let all = try commits(repository, count: 50)
        let hash = try repository.present.stateHash()
        let report = try repository.compact(dropHistoryOlderThan: 31_000, timeMilliseconds: 60_000)
        #expect(report.removedCommitCount == 30)
        let compaction = try #require(report.compactionCommit)
        let again = fixture.open()
        #expect(again.headNames == [compaction])
        #expect(try again.present.stateHash() == hash)
        for summary in all[30...] {
            #expect(try again.snapshot(at: summary.name).rootName() == summary.commit.root)
        }
        let removed = StorageError(.historyCompacted, place: "commit \(compaction)")
        #expect(throws: removed) { try again.snapshot(at: all[29].name) }
        #expect(throws: StorageError.self) { try again.snapshot(at: all[3].name) }
        let check = again.fsck()
        #expect(check.allProblems == [])
        #expect(check.commitCount == 21)
        #expect(check.removals == [.init(commit: compaction, removedCommitCount: 30)])
        let record = try #require(try again.commit(named: compaction).commit.compaction)
        #expect(record.removedParents == [all[29].name])
        #expect(record.removedVersions[fixture.author.instanceID] == 30)
    }

    @Test("history goes on after a compaction, and a second one removes more")
    func compactTwice() throws {
        let fixture = Fixture()
        let repository = fixture.open(policy: CheckpointPolicy(factCountMax: 8))
        _ = try commits(repository, count: 20)
        _ = try repository.compact(dropHistoryOlderThan: 11_000, timeMilliseconds: 21_000)
        let later = try commits(repository, count: 20, from: 22)
        let report = try repository.compact(dropHistoryOlderThan: 30_000, timeMilliseconds: 50_000)
        #expect(report.removedCommitCount == 19)
        let again = fixture.open()
        #expect(try again.snapshot(at: later[8].name).rootName() == later[8].commit.root)
        #expect(throws: StorageError.self) { try again.snapshot(at: later[7].name) }
        #expect(again.fsck().allProblems == [])
        let third = try repository.compact(dropHistoryOlderThan: .max, timeMilliseconds: 60_000)
        #expect(third.keptCommitCount == 2)
        #expect(try repository.present.stateHash() == again.present.stateHash())
        #expect(fixture.open().fsck().allProblems == [])
    }

    @Test("a commit that is missing is named, by reading and by fsck (R5)")
    func missingCommit() throws {
        let fixture = Fixture()
        let repository = fixture.open(policy: CheckpointPolicy(factCountMax: 1_000))
        let all = try commits(repository, count: 12)
        try repository.checkpoint()
        fixture.backend.blobs.blobs[all[5].name] = nil
        let again = fixture.open()
        let broken = StorageError(.historyBroken, place: "commit \(all[5].name)")
        #expect(throws: broken) { try again.snapshot(at: all[7].name) }
        #expect(again.fsck().problems.contains(broken))
        #expect(try again.text(2) == "text 12")
    }

    @Test("a tree that does not belong to its commit is found by fsck")
    func wrongRoot() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        _ = try commits(repository, count: 3)
        // A signed commit that states another root than its changes make.
        let head = try repository.commit(named: repository.headNames[0])
        var lie = head.commit
        lie.parents = [head.name]
        lie.sequence += 1
        lie.changes = .list([CommitChange(key: Fixture.key(1), content: .inline([1]))])
        let name = try fixture.backend.blobs.writeBlob(
            type: .commit, bytes: lie.sign(with: fixture.author, vaultID: fixture.keys.vaultID.bytes))
        fixture.backend.state.heads = [name]
        fixture.backend.state.tailCommits.append(name)
        let again = fixture.open()
        let mismatch = StorageError(.treeRootMismatch, place: "commit \(name)")
        #expect(again.fsck().problems.contains(mismatch))
        #expect(throws: StorageError(.treeRootMismatch, place: name.description)) {
            try again.commit([Fixture.put(5, "x")], time: 9)
        }
    }

    @Test("two commits with one number are a fork")
    func forkedSequence() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        let all = try commits(repository, count: 3)
        var twin = all[2].commit
        twin.parents = [all[2].name]
        let name = try fixture.backend.blobs.writeBlob(
            type: .commit, bytes: twin.sign(with: fixture.author, vaultID: fixture.keys.vaultID.bytes))
        fixture.backend.state.heads = [name]
        fixture.backend.state.tailCommits.append(name)
        #expect(fixture.open().fsck().problems.contains(StorageError(.historyForked, place: "commit \(name)")))
    }

    @Test("a restored copy writes under a new instance, after the commits of the old one")
    func newInstance() throws {
        let fixture = Fixture()
        _ = try commits(fixture.open(), count: 3)
        let other = RepositoryFixture.author(fixture.random)
        let repository = fixture.open(author: other)
        let first = try repository.commit([Fixture.put(1, "other")], time: 10_000)
        #expect(first.sequence == 1)
        #expect(first.commit.previousOfInstance == nil)
        #expect(first.commit.versionVector == nil)
        let back = try fixture.open().commit([Fixture.put(1, "back")], time: 11_000)
        #expect(back.sequence == 4)
        let previous = try #require(back.commit.previousOfInstance)
        #expect(try fixture.open().commit(named: previous).sequence == 3)
        let signers = TwoSigners(one: fixture.author, other: other)
        #expect(fixture.open().fsck(signers: signers).allProblems == [])
        #expect(fixture.open().fsck().problems.map(\.code) == [.commitUnknownSigner])
    }

    struct TwoSigners: CommitSignerDirectory {
        let one: CommitAuthor
        let other: CommitAuthor

        func verifyingKey(for context: CommitContext) -> VerifyingKey? {
            SingleSignerDirectory(author: one).verifyingKey(for: context)
                ?? SingleSignerDirectory(author: other).verifyingKey(for: context)
        }
    }

    @Test("the state at a moment is that of the newest commit before it")
    func atMoment() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        let all = try commits(repository, count: 5)
        #expect(try repository.commit(atOrBefore: 3_500)?.name == all[2].name)
        #expect(try repository.commit(atOrBefore: 3_000)?.name == all[2].name)
        #expect(try repository.commit(atOrBefore: 999) == nil)
        #expect(try repository.commit(atOrBefore: 99_000)?.name == all[4].name)
    }
}
