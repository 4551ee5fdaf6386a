// A repository against a model. The one thing to keep true: after each step the repository, one opened
// afresh, and every earlier snapshot say what the model says.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Repository")
struct RepositoryTests {
    typealias Fixture = RepositoryFixture

    @Test("what was committed is read back, at once and after opening again")
    func commitAndRead() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        #expect(try repository.text(1) == nil)
        #expect(repository.headNames.isEmpty)
        let first = try repository.commit([Fixture.put(1, "garden"), Fixture.put(2, "kitchen")], time: 1_000)
        #expect(try repository.text(1) == "garden")
        let second = try repository.commit([Fixture.put(1, "orchard")], time: 2_000)
        #expect(second.parents == [first.name])
        #expect(second.sequence == 2)
        let again = fixture.open()
        #expect(try again.text(1) == "orchard")
        #expect(try again.text(2) == "kitchen")
        #expect(again.headNames == [second.name])
        #expect(try again.present.rootName() == second.commit.root)
        #expect(try again.snapshot(at: first.name).text(1) == "garden")
    }

    @Test("a retracted key is gone, and still there in the state before")
    func retraction() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        let first = try repository.commit([Fixture.put(1, "garden")], time: 1)
        try repository.commit([FactChange(key: Fixture.key(1), value: nil)], time: 2)
        #expect(try repository.text(1) == nil)
        #expect(try fixture.open().text(1) == nil)
        #expect(try repository.snapshot(at: first.name).text(1) == "garden")
    }

    @Test("a commit that fails leaves everything as it was")
    func failedCommit() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        let first = try repository.commit([Fixture.put(1, "garden")], time: 1)
        fixture.backend.failure = StorageError(.diskFull)
        #expect(throws: StorageError(.diskFull)) { try repository.commit([Fixture.put(1, "lost")], time: 2) }
        #expect(try repository.text(1) == "garden")
        #expect(repository.headNames == [first.name])
        let second = try repository.commit([Fixture.put(1, "orchard")], time: 3)
        #expect(second.sequence == 2)
        #expect(try fixture.open().text(1) == "orchard")
    }

    @Test("staged commits are seen together or not at all, and history shows each")
    func staging() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        let first = try repository.commit([Fixture.put(1, "garden")], time: 1)
        let given = try repository.beginStaging()
        try given.repository.commit([Fixture.put(1, "lost")], time: 2)
        #expect(try given.repository.text(1) == "lost")
        given.cancel()
        #expect(try repository.text(1) == "garden")
        let staged = try repository.beginStaging()
        let second = try staged.repository.commit([Fixture.put(1, "orchard")], time: 3)
        let third = try staged.repository.commit([Fixture.put(2, "kitchen")], time: 4)
        #expect(try repository.text(1) == "garden" && fixture.open().headNames == [first.name])
        try staged.commit()
        for reader in [repository, fixture.open()] {
            #expect(try reader.text(1) == "orchard" && reader.text(2) == "kitchen")
            #expect(reader.headNames == [third.name])
            #expect(try reader.commit(named: third.name).parents == [second.name])
            #expect(try reader.snapshot(at: second.name).text(2) == nil)
        }
        #expect(try repository.commit([Fixture.put(1, "meadow")], time: 5).sequence == 4)
        // One that failed would come along half.
        let broken = try repository.beginStaging()
        #expect(throws: StorageError.self) {
            let bulk = try broken.repository.beginBulk()
            try bulk.add(Fixture.put(3, "half"))
            bulk.cancel()
            try broken.commit()
        }
        broken.cancel()
        #expect(try repository.text(3) == nil && repository.text(1) == "meadow")
        // Nothing staged, nothing written.
        let heads = repository.headNames
        try repository.beginStaging().commit()
        #expect(repository.headNames == heads)
    }

    @Test("without an author nothing is written")
    func readOnly() throws {
        let fixture = Fixture()
        let repository = VaultRepository(
            backend: fixture.backend, keys: fixture.keys, author: nil, random: fixture.random)
        #expect(!repository.isWritable)
        #expect(throws: StorageError(.readOnly)) { try repository.commit([Fixture.put(1, "x")], time: 1) }
    }

    @Test("values of every size are read back: in place, in the commit, in a blob, in pieces")
    func valueSizes() throws {
        let fixture = Fixture()
        let repository = fixture.open(policy: CheckpointPolicy(factCountMax: 4))
        var expected: [Int: [UInt8]] = [:]
        for (number, size) in [0, 1, 512, 513, 4096, 4097, 16_384, 16_385, 70_000, 300_000].enumerated() {
            let value = fixture.random.bytes(count: size...size)
            expected[number] = value
            try repository.commit([FactChange(key: Fixture.key(number), value: value)], time: 1)
        }
        for opened in [repository, fixture.open()] {
            let present = try opened.present
            for (number, value) in expected {
                let fact = try #require(try present.fact(Fixture.key(number)))
                #expect(try present.value(of: fact) == value)
                #expect(fact.content.byteCount == value.count)
            }
        }
    }

    @Test("a value above 16 MiB is refused and changes nothing")
    func valueTooLarge() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        let value = [UInt8](repeating: 1, count: FactLimits.valueByteCountMax + 1)
        #expect(throws: StorageError(.factValueTooLarge, place: "16777217 bytes")) {
            try repository.commit([FactChange(key: Fixture.key(1), value: value)], time: 1)
        }
        #expect(repository.headNames.isEmpty)
        try repository.commit([Fixture.put(1, "short")], time: 1)
        #expect(try repository.text(1) == "short")
    }

    @Test("one letter changed in a note of 64 KiB costs less than 24 KiB")
    func smallEditOfLongValue() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        var value = fixture.random.bytes(count: 65_536...65_536)
        try repository.commit([FactChange(key: Fixture.key(1), value: value)], time: 1)
        let before = fixture.backend.writtenByteCount
        value[30_000] ^= 1
        value.insert(7, at: 30_001)
        try repository.commit([FactChange(key: Fixture.key(1), value: value)], time: 2)
        #expect(fixture.backend.writtenByteCount - before < 24 << 10)
        let fact = try #require(try repository.present.fact(Fixture.key(1)))
        #expect(try repository.present.value(of: fact) == value)
    }

    @Test("equal long values of different items share no blob (R44)")
    func noSharingAcrossItems() throws {
        let fixture = Fixture()
        let repository = fixture.open(policy: CheckpointPolicy(factCountMax: 1))
        for size in [600, 5_000, 60_000] {
            let value = fixture.random.bytes(count: size...size)
            let sizeBefore = fixture.backend.writtenByteCount
            try repository.commit([FactChange(key: Fixture.key(size), value: value)], time: 1)
            let first = fixture.backend.writtenByteCount - sizeBefore
            try repository.commit([FactChange(key: Fixture.key(size + 1), value: value)], time: 1)
            #expect(fixture.backend.writtenByteCount - sizeBefore - first > size)
        }
    }

    @Test("random commits: present, reopened and every past state equal a model", arguments: [4, 64, 100_000])
    func model(factCountMax: Int) {
        forAll(count: 6) { generator in
            let fixture = Fixture(seed: generator.next())
            let policy = CheckpointPolicy(factCountMax: factCountMax)
            var repository = fixture.open(policy: policy)
            var model: [Int: String] = [:]
            var past: [(name: BlobName, model: [Int: String], root: BlobName)] = []
            for round in 0..<40 {
                var changes: [FactChange] = []
                for _ in 0..<generator.int(in: 1...generator.element(of: [1, 3, 20])) {
                    let number = generator.int(in: 0...60)
                    if generator.int(in: 0...4) == 0 {
                        changes.append(FactChange(key: Fixture.key(number), value: nil))
                        model[number] = nil
                    } else {
                        let text = String(repeating: "\(round) ", count: generator.element(of: [1, 2, 300, 3_000]))
                        changes.append(Fixture.put(number, text))
                        model[number] = text
                    }
                }
                let summary = try repository.commit(changes, time: Int64(round))
                past.append((summary.name, model, summary.commit.root))
                if generator.int(in: 0...3) == 0 { repository = fixture.open(policy: policy) }
                if generator.int(in: 0...9) == 0 { try repository.checkpoint() }
                try check(try repository.present, model)
                let entry = generator.element(of: past)
                let old = try repository.snapshot(at: entry.name)
                try check(old, entry.model)
                try require(try old.rootName() == entry.root)
                try checkDifference(repository, old, entry.model, try repository.present, model)
            }
            try check(try fixture.open().present, model)
            let names = try allNames(repository)
            try require(names == past.map(\.name).reversed(), "the log is not the commits, newest first")
        }
    }

    private func check(_ snapshot: Snapshot, _ model: [Int: String]) throws {
        for number in 0...60 { try require(try snapshot.text(number) == model[number], "fact \(number)") }
        var count = 0
        var last: FactKey?
        try snapshot.forEachFact { (fact) throws(StorageError) in
            count += 1
            if let last { precondition(last < fact.key) }
            last = fact.key
        }
        try require(count == model.count)
    }

    private func checkDifference(
        _ repository: VaultRepository, _ old: Snapshot, _ before: [Int: String], _ new: Snapshot,
        _ after: [Int: String]
    ) throws {
        var changed: Set<FactKey> = []
        try repository.diff(from: old, to: new) { (difference) throws(StorageError) in
            changed.insert(difference.key)
        }
        for number in 0...60 where before[number] != after[number] {
            try require(changed.contains(Fixture.key(number)), "difference of \(number) is missing")
        }
    }

    private func allNames(_ repository: VaultRepository) throws -> [BlobName] {
        var names: [BlobName] = []
        var cursor = try repository.log()
        while let summary = try cursor.next() { names.append(summary.name) }
        return names
    }

    @Test("a large first commit stores its changes and the tree as the same blobs")
    func bulkFirstCommit() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        let changes = (0..<2_000).map { Fixture.put($0, "text \($0)") }
        let summary = try repository.commit(changes, time: 1)
        #expect(summary.flags == [.bulk, .checkpoint])
        #expect(summary.commit.changes == .tree(summary.commit.root))
        let again = fixture.open()
        #expect(try again.text(1_234) == "text 1234")
        #expect(try again.present.factCount() == 2_000)
        #expect(try again.changes(of: summary).facts.count == 2_000)
        let prefix = Fixture.key(77).entity.bytes
        #expect(try again.changes(of: summary, withPrefix: prefix).facts.map(\.key) == [Fixture.key(77)])
    }

    @Test("a large later commit holds new facts and retractions in a tree of its own")
    func bulkLaterCommit() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        let first = try repository.commit([Fixture.put(0, "old"), Fixture.put(1, "kept")], time: 1)
        var changes = (10..<1_500).map { Fixture.put($0, String(repeating: "\($0)", count: 300)) }
        changes.append(FactChange(key: Fixture.key(0), value: nil))
        let bulk = try repository.commit(changes, time: 2)
        #expect(bulk.flags == [.bulk, .checkpoint])
        try repository.commit([Fixture.put(1, "after")], time: 3)
        let again = fixture.open()
        #expect(try again.text(0) == nil)
        #expect(try again.text(1_000) == String(repeating: "1000", count: 300))
        #expect(try again.snapshot(at: first.name).text(0) == "old")
        #expect(try again.snapshot(at: bulk.name).text(1) == "kept")
        #expect(try again.changes(of: bulk).facts.count { $0.isRetraction } == 1)
    }

    @Test("two vaults with the same facts have one state hash, whatever their histories (U19)")
    func stateHash() throws {
        let one = Fixture(seed: 1)
        let other = Fixture(seed: 2)
        let long = String(repeating: "long ", count: 10_000)
        let first = one.open()
        try first.commit([Fixture.put(1, "a"), Fixture.put(2, long)], time: 1)
        let second = other.open(policy: CheckpointPolicy(factCountMax: 1))
        try second.commit([Fixture.put(2, "draft"), Fixture.put(3, "gone")], time: 5)
        try second.commit([Fixture.put(2, long), FactChange(key: Fixture.key(3), value: nil)], time: 6)
        #expect(try first.present.stateHash() != second.present.stateHash())
        try second.commit([Fixture.put(1, "a")], time: 7)
        #expect(try first.present.stateHash() == second.present.stateHash())
        #expect(try first.present.rootName() != second.present.rootName())
    }

    @Test("a commit's cost does not grow with the vault: nodes read by one commit at 100 and 20,000 facts")
    func costOfACommit() throws {
        var reads: [Int] = []
        for count in [100, 20_000] {
            let fixture = Fixture()
            try fixture.open().commit((0..<count).map { Fixture.put($0, "text \($0)") }, time: 1)
            try fixture.open().checkpoint()
            let repository = fixture.open(policy: CheckpointPolicy(factCountMax: 100_000))
            for round in 0..<20 { try repository.commit([Fixture.put(round * 5, "new")], time: 2) }
            reads.append(repository.nodeReadCount)
        }
        #expect(reads[1] <= 20 * 4 + 10)
        #expect(fixtureTransactionsPerCommit() == 1)
    }

    private func fixtureTransactionsPerCommit() -> Int {
        let fixture = Fixture()
        let repository = fixture.open()
        _ = try? repository.commit([Fixture.put(1, "a")], time: 1)
        let before = fixture.backend.transactionCount
        _ = try? repository.commit([Fixture.put(1, "b")], time: 1)
        return fixture.backend.transactionCount - before
    }

    @Test("an ordinary commit is at most 320 bytes of padded plaintext")
    func commitByteCount() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        try repository.commit([Fixture.put(1, "a")], time: 1_700_000_000_000)
        let before = fixture.backend.writtenByteCount
        try repository.commit(
            [Fixture.put(1, "a value of twenty-five b.", "modified")], time: 1_700_000_000_001)
        #expect(fixture.backend.writtenByteCount - before <= 320 - 6)
    }

    @Test("the keyring generation is kept beside the facts")
    func keyringGeneration() throws {
        let fixture = Fixture()
        let repository = fixture.open()
        try repository.commit([Fixture.put(1, "a")], time: 1)
        try repository.recordKeyringGeneration(7)
        #expect(fixture.open().recordedKeyringGeneration == 7)
        #expect(try fixture.open().text(1) == "a")
    }
}
