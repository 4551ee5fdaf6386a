// Snapshots while the repository goes on. The one thing to keep true: a snapshot never changes.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Snapshots")
struct SnapshotTests {
    typealias Fixture = RepositoryFixture

    @Test("snapshots stay as they were through commits, checkpoints and large commits")
    func stable() throws {
        let fixture = Fixture()
        let repository = fixture.open(policy: CheckpointPolicy(factCountMax: 7))
        var taken: [(snapshot: Snapshot, text: String)] = []
        for number in 1...40 {
            let text = String(repeating: "\(number) ", count: number % 3 == 0 ? 400 : 3)
            try repository.commit([Fixture.put(1, text), Fixture.put(number + 10, "x")], time: Int64(number))
            if number == 20 { try repository.commit((100..<900).map { Fixture.put($0, "bulk") }, time: 20) }
            taken.append((try repository.present, text))
        }
        for (index, entry) in taken.enumerated() {
            #expect(try entry.snapshot.text(1) == entry.text)
            #expect(try entry.snapshot.text(11 + index) == "x")
            #expect(try entry.snapshot.text(12 + index) == nil)
        }
    }

    @Test("a reader beside the writer sees complete commits after it looks again")
    func readerBesideWriter() throws {
        let directory = SimulatedFileSystem()
        let store = StoreFixture(fileSystem: directory)
        let fixture = Fixture(seed: 3)
        let writer = try VaultRepository.create(
            directory: store.directory, keys: fixture.keys, author: fixture.author, environment: store.environment)
        try writer.commit([Fixture.put(1, "first")], time: 1)
        let reader = try VaultRepository.open(
            directory: store.directory, keys: fixture.keys, author: nil, mode: .readOnly,
            environment: store.environment)
        let before = try reader.present
        #expect(try before.text(1) == "first")
        try writer.commit([Fixture.put(1, "second")], time: 2)
        try writer.checkpoint()
        #expect(try reader.text(1) == "first")
        #expect(try reader.refresh())
        #expect(try reader.text(1) == "second")
        #expect(try before.text(1) == "first")
        #expect(try !reader.refresh())
    }

    @Test(
        "a reader that looks again reads what is new, and knows the state from before; after more than that it reads all"
    )
    func readsWhatIsNew() throws {
        let store = StoreFixture(fileSystem: SimulatedFileSystem())
        let fixture = Fixture(seed: 4)
        let writer = try VaultRepository.create(
            directory: store.directory, keys: fixture.keys, author: fixture.author, environment: store.environment)
        for number in 0..<60 { try writer.commit([Fixture.put(number, "old")], time: 1) }
        let reader = try VaultRepository.open(
            directory: store.directory, keys: fixture.keys, author: nil, mode: .readOnly,
            environment: store.environment)
        let history = reader.history
        #expect(try reader.text(1) == "old" && history.commitReadCount == 60)
        let old = try #require(reader.headNames.first)
        for round in 1...3 {
            let (head, count) = (try #require(reader.headNames.first), history.commitReadCount)
            try writer.commit([Fixture.put(1, "new \(round)"), Fixture.put(100 + round, "x")], time: 2)
            #expect(try reader.refresh())
            #expect(try reader.text(1) == "new \(round)" && reader.text(100 + round) == "x")
            let past = try reader.snapshot(at: head)
            #expect(try past.text(1) == (round == 1 ? "old" : "new \(round - 1)") && past.text(100 + round) == nil)
            #expect(try reader.versions(of: #require(reader.headNames.first)) == writer.tail().versionVector)
            #expect(history.commitReadCount == count + 1, "round \(round)")
            #expect(try reader.present.root().name == writer.present.root().name)
        }
        // What syncs notes something: no commit is read for that.
        let count = history.commitReadCount
        try writer.setSyncNote([1, 2, 3])
        #expect(try reader.refresh())
        #expect(try reader.text(1) == "new 3" && history.commitReadCount == count)
        #expect(try reader.syncNote() == [1, 2, 3])
        // An older state is read as ever, and so is what a stored tree came into.
        #expect(try reader.snapshot(at: old).text(1) == "old")
        try writer.checkpoint()
        try writer.commit([Fixture.put(1, "last")], time: 3)
        #expect(try reader.refresh())
        #expect(try reader.text(1) == "last")
        #expect(try reader.present.root().name == writer.present.root().name)
        #expect(try reader.versions(of: #require(reader.headNames.first)) == writer.tail().versionVector)
    }
}
