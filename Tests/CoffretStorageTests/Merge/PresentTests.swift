// The present that is here before its history: usable at once, built on by nobody else before all of it was verified.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("The present before its history")
struct PresentTests {
    private let world: ReplicaWorld
    private let policy: PresentPolicy

    /// The first replica has a history with merges; the third is new.
    init() throws {
        world = try ReplicaWorld(SeededGenerator(seed: 23), count: 3)
        var policy = PresentPolicy()
        policy.historyByteCountMin = 0
        policy.historyFactor = 0
        self.policy = policy
        for round in 0..<16 {
            try put(0, round % 4, "first \(round) " + String(repeating: "a", count: 800), Milliseconds(round * 10))
            if round % 5 == 0 {
                try put(1, 20 + round % 2, "second \(round)", Milliseconds(round * 10 + 1))
                try world.send(0, to: 1)
                try world.send(1, to: 0)
            }
        }
        try put(0, 30, String(repeating: "many words of one long value ", count: 400), 200)
    }

    private func put(_ replica: Int, _ key: Int, _ text: String, _ time: Milliseconds) throws {
        try world.replicas[replica].repository.commit([RepositoryFixture.put(key, text)], time: time)
    }

    private var old: Replica { world.replicas[0] }
    private var new: Replica { world.replicas[2] }

    private func contents() throws -> PresentContents {
        let head = try #require(old.head)
        return try #require(try old.repository.presentContents(of: head, policy))
    }

    private func commitBlobs(_ head: BlobName) throws -> [SealedBlob] {
        let context = try old.repository.commit(named: head).commit.context
        return try [context, head].map { try old.repository.sealedBlob($0) }
    }

    /// The new replica begins with the present of the first, from its tree alone.
    @discardableResult
    private func begin(_ told: PresentMark? = nil) throws -> PresentContents {
        let contents = try contents()
        try new.repository.remember(present: told ?? contents.mark, note: [7])
        #expect(try new.repository.presentStanding == .told)
        let adoption = try new.repository.beginAdoption(rule: LineRule())
        #expect(try adoption.missingOfPresent() == [contents.mark.head])
        for blob in try commitBlobs(contents.mark.head) { try adoption.offer(blob) }
        // Level by level, by name.
        var rounds = 0
        while case let missing = try adoption.missingOfPresent(), !missing.isEmpty, rounds < 20 {
            for name in missing { try adoption.offer(try old.repository.sealedBlob(name)) }
            rounds += 1
        }
        #expect(rounds > 1)
        #expect(try adoption.beginWithPresent(signers: world.signers, note: [8]) == contents.mark.head)
        return contents
    }

    @discardableResult
    private func complete(_ blobs: [SealedBlob]) throws -> HistoryArrival {
        let adoption = try new.repository.beginAdoption(rule: LineRule())
        for blob in blobs { try adoption.offer(blob) }
        #expect(try adoption.missingOfHistory().isEmpty)
        return try adoption.completeHistory(signers: world.signers) { due, _ in [due ? 1 : 9] }
    }

    private func expectPending(
        sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) {
        let error = #expect(throws: StorageError.self, sourceLocation: sourceLocation) { try body() }
        #expect(error?.code == .historyPending, sourceLocation: sourceLocation)
    }

    private func expectSame(sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(old.head == new.head, sourceLocation: sourceLocation)
        #expect(
            try old.repository.present.rootName() == new.repository.present.rootName(), sourceLocation: sourceLocation)
        for replica in [old, new] {
            try replica.reopen()
            let check = replica.repository.fsck(signers: world.signers)
            #expect(check.isClean && !check.isHistoryPending, "\(check.problems)", sourceLocation: sourceLocation)
        }
    }

    @Test(
        "it is read and changed at once; nothing older is shown, packed or sent; then all of it comes, and both go on")
    func life() throws {
        let contents = try begin()
        let whole = try old.export().reduce(0) { $0 + $1.bytes.count }
        #expect(contents.byteCount * 2 < whole, "\(contents.byteCount) of \(whole)")
        let repository = new.repository
        #expect(try repository.presentStanding == .ahead && repository.syncNote() == [8])
        #expect(try repository.present.rootName() == old.repository.present.rootName())
        #expect(try new.text(RepositoryFixture.key(2)) == old.text(RepositoryFixture.key(2)))
        try put(2, 2, "by the new one", 300)
        try put(2, 40, "more by the new one", 301)
        // What is older says that it is not here, even where it lies here unverified.
        let staging = try repository.beginAdoption(rule: LineRule())
        for blob in try old.export() { try staging.offer(blob) }
        try staging.stage { _ in [5] }
        try new.reopen()
        var cursor = try new.repository.log()
        var seen: [BlobName] = []
        expectPending { while let commit = try cursor.next() { seen.append(commit.name) } }
        #expect(seen.count == 3 && seen.last == contents.mark.head)
        let parent = try #require(try new.repository.commit(named: contents.mark.head).parents.first)
        expectPending { _ = try new.repository.commit(named: parent) }
        expectPending { _ = try new.repository.snapshot(at: parent) }
        expectPending { _ = try new.repository.commit(atOrBefore: 5) }
        expectPending { _ = try new.repository.commitIfKept(parent) }
        expectPending { _ = try new.repository.compact(dropHistoryOlderThan: nil, timeMilliseconds: 400) }
        expectPending { _ = try new.repository.contents(from: []) }
        expectPending { _ = try new.repository.presentContents(of: contents.mark.head, policy) }
        expectPending { try new.adopt([], heads: [contents.mark.head], signers: world.signers) }
        #expect(try new.repository.contents(from: [contents.mark.head]).commitCount == 2)
        let check = new.repository.fsck(signers: world.signers)
        #expect(check.isClean && check.isHistoryPending && check.commitCount == 3, "\(check.problems)")

        let arrival = try complete([])
        #expect(arrival.newCommitCount > 15 && !arrival.areRemovalsDue)
        #expect(try new.repository.presentStanding == .whole && new.repository.syncNote() == [9])
        #expect(try new.text(RepositoryFixture.key(2)) == ["by the new one"])
        _ = try new.repository.snapshot(at: parent)
        try put(0, 41, "by the old one", 310)
        try world.send(0, to: 2)
        try world.send(2, to: 0)
        try expectSame()
        #expect(try old.text(RepositoryFixture.key(40)) == ["more by the new one"])
    }

    @Test("a disk that fails at any moment of either step leaves the store before it or after it", arguments: 1...6)
    func failures(_ operation: Int) throws {
        let contents = try contents()
        var device = new
        try device.repository.remember(present: contents.mark, note: [7])
        // The power goes after each: what was not synced is not there.
        func attempt(_ body: (Replica) throws -> Void) throws {
            device.disk.setPlan(FailurePlan(at: device.disk.operationCount + operation, .fail(.inputOutput)))
            do { try body(device) } catch let error as StorageError {
                #expect([.fileFailed, .unusable].contains(error.code), "\(error)")
            }
            device.disk.setPlan(nil)
            device = try Replica(copying: device)
        }
        let tree = try contents.names.map { try old.repository.sealedBlob($0) } + commitBlobs(contents.mark.head)
        func take(_ device: Replica) throws {
            let adoption = try device.repository.beginAdoption(rule: LineRule())
            for blob in tree { try adoption.offer(blob) }
            _ = try adoption.beginWithPresent(signers: world.signers, note: [8])
        }
        try attempt(take)
        if try device.repository.presentStanding == .told { try take(device) }
        #expect(try device.repository.presentStanding == .ahead)
        try device.repository.commit([RepositoryFixture.put(50, "kept")], time: 300)
        let history = try old.export()
        func complete(_ device: Replica) throws {
            let adoption = try device.repository.beginAdoption(rule: LineRule())
            for blob in history { try adoption.offer(blob) }
            _ = try adoption.completeHistory(signers: world.signers) { _, _ in [9] }
        }
        try attempt(complete)
        if try device.repository.presentStanding == .ahead { try complete(device) }
        #expect(try device.repository.presentStanding == .whole)
        try old.adopt(
            device.export(knowing: [contents.mark.head]), heads: [try #require(device.head)], signers: world.signers)
        #expect(old.head == device.head)
        #expect(try old.text(RepositoryFixture.key(50)) == ["kept"])
        #expect(device.repository.fsck(signers: world.signers).isClean)
    }

    @Test("a version vector that says too much or too little is found out when the history is here; all stays readable")
    func lies() throws {
        let mark = try contents().mark
        let other = world.replicas[1].author.instanceID
        let (more, less) = (mark.versions[other] + 1, mark.versions[other] - 1)
        var foundLater: [UInt64] = []
        for sequence in [more, less] {
            let fresh = try ReplicaWorldCopy(new)
            let told = PresentMark(head: mark.head, versions: mark.versions.with(sequence, of: other))
            try fresh.replica.repository.remember(present: told, note: [7])
            let adoption = try fresh.replica.repository.beginAdoption(rule: LineRule())
            let names = try contents().names
            for blob in try names.map({ try old.repository.sealedBlob($0) }) + commitBlobs(mark.head) {
                try adoption.offer(blob)
            }
            do throws(StorageError) {
                _ = try adoption.beginWithPresent(signers: world.signers, note: [8])
            } catch {
                // A fact of the tree, or the commit itself, tells already.
                #expect(error.code == .commitMalformed)
                #expect(try fresh.replica.repository.presentStanding == .told)
                continue
            }
            let completion = try fresh.replica.repository.beginAdoption(rule: LineRule())
            for blob in try old.export() { try completion.offer(blob) }
            let error = #expect(throws: StorageError.self) {
                try completion.completeHistory(signers: world.signers) { _, _ in [] }
            }
            #expect(error == StorageError(.commitMalformed, place: "commit \(mark.head)"))
            #expect(try fresh.replica.repository.presentStanding == .ahead)
            #expect(try fresh.replica.text(RepositoryFixture.key(2)) == old.text(RepositoryFixture.key(2)))
            foundLater.append(sequence)
        }
        #expect(foundLater.contains(more), "nothing in the tree tells that more was seen")
    }

    @Test("a stranger's signature, an incomplete tree and a vault that was written in are no beginning")
    func refusals() throws {
        let contents = try contents()
        try new.repository.remember(present: contents.mark, note: [7])
        let blobs = try contents.names.map { try old.repository.sealedBlob($0) } + commitBlobs(contents.mark.head)
        let strangers = WorldSigners(authors: [new.author])
        let first = try new.repository.beginAdoption(rule: LineRule())
        for blob in blobs { try first.offer(blob) }
        let error = #expect(throws: StorageError.self) { try first.beginWithPresent(signers: strangers, note: []) }
        #expect(error?.code == .commitUnknownSigner)
        // The tree's first leaf did not come.
        let second = try new.repository.beginAdoption(rule: LineRule())
        for blob in blobs.dropFirst() { try second.offer(blob) }
        #expect(try second.missingOfPresent() == [contents.names[0]])
        let missing = #expect(throws: StorageError.self) {
            try second.beginWithPresent(signers: world.signers, note: [])
        }
        #expect(missing?.code == .blobMissing)
        #expect(try new.repository.presentStanding == .told && new.head == nil)
        try put(2, 1, "before the first sync", 300)
        #expect(try new.repository.presentStanding == .whole)
        let third = try new.repository.beginAdoption(rule: LineRule())
        for blob in blobs { try third.offer(blob) }
        #expect(throws: StorageError(.unusable)) { try third.beginWithPresent(signers: world.signers, note: []) }
        // The whole history serves as before.
        try world.send(0, to: 2)
        try world.send(2, to: 0)
        try expectSame()
    }

    @Test(
        "without what leads to it, or with a commit that does not verify, the mark stays and so does what was written")
    func withheld() throws {
        let mark = try begin().mark
        try put(2, 60, "waits", 300)
        let blobs = try old.export()
        let some = try new.repository.beginAdoption(rule: LineRule())
        for blob in blobs.dropFirst(6) { try some.offer(blob) }
        #expect(try !some.missingOfHistory().isEmpty)
        let error = #expect(throws: StorageError.self) {
            try some.completeHistory(signers: world.signers) { _, _ in [] }
        }
        #expect(error?.code == .historyBroken)
        let unsigned = try new.repository.beginAdoption(rule: LineRule())
        for blob in blobs { try unsigned.offer(blob) }
        let strangers = WorldSigners(authors: [new.author, old.author])
        let refused = #expect(throws: StorageError.self) {
            try unsigned.completeHistory(signers: strangers) { _, _ in [] }
        }
        #expect(refused?.code == .commitUnknownSigner)
        #expect(try new.repository.pendingPresent() == mark)
        #expect(try new.text(RepositoryFixture.key(60)) == ["waits"])
        try complete(blobs)
        try world.send(2, to: 0)
        try expectSame()
    }

    @Test("a history that was dropped before begins where its record says, and what came of the rest goes once more")
    func compacted() throws {
        let all = try old.export()
        let report = try old.repository.compact(dropHistoryOlderThan: 80, timeMilliseconds: 210)
        #expect(report.removedCommitCount > 3)
        try put(0, 3, "after it", 220)
        try begin()
        let arrival = try complete(all + old.export())
        #expect(arrival.areRemovalsDue)
        let followed = try new.repository.compact(dropHistoryOlderThan: nil, timeMilliseconds: 230)
        #expect(followed.compactionCommit == nil)
        try expectSame()
    }

    @Test("small histories, and such as are hardly larger than the present, are not worth it")
    func policyOfSizes() throws {
        let head = try #require(old.head)
        #expect(try old.repository.presentContents(of: head) == nil)
        var wanting = policy
        wanting.historyFactor = 50
        #expect(try old.repository.presentContents(of: head, wanting) == nil)
        wanting = policy
        wanting.presentByteCountMax = 1_000
        #expect(try old.repository.presentContents(of: head, wanting) == nil)
        // Of a commit that is not the head the tree is stored as well.
        try put(0, 5, "one more", 320)
        let contents = try #require(try old.repository.presentContents(of: head, policy))
        #expect(contents.mark.head == head)
        #expect(
            try old.repository.presentContents(of: #require(BlobName(bytes: [UInt8](repeating: 1, count: 32))), policy)
                == nil)
    }

    @Test("what is told has one form, and so has the state that remembers it")
    func forms() throws {
        let mark = try contents().mark
        #expect(PresentMark.decode(mark.encode()) == mark)
        #expect(PresentMark.decode(mark.encode() + [0]) == nil)
        #expect(PresentMark.decode([]) == nil)
        var annotation = RepositoryAnnotation()
        let plain = annotation.encode()
        annotation.present = mark
        for isPartial in [false, true] {
            annotation.isHistoryPartial = isPartial
            #expect(try RepositoryAnnotation.decode(annotation.encode()) == annotation)
        }
        // Where nothing was told it is as it was before.
        #expect(plain[0] == 0x89 && plain[1] == 3)
    }
}

/// A replica of its own on a copy of another's disk.
private struct ReplicaWorldCopy {
    let replica: Replica

    init(_ other: Replica) throws { replica = try Replica(copying: other) }
}
