// What commits have seen, where a compaction removed what says it. The one thing to keep true: what is only known as a bound
// accuses nobody.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Versions below a compaction")
struct CompactedVersionTests {
    private let world: ReplicaWorld

    init() throws { world = try ReplicaWorld(SeededGenerator(seed: 12), count: 4) }

    private func put(_ replica: Int, _ key: Int, _ time: Milliseconds) throws {
        try world.replicas[replica].repository.commit([RepositoryFixture.put(key, "text \(key)")], time: time)
    }

    private func compact(_ replica: Int, olderThan time: Milliseconds, at now: Milliseconds) throws {
        let report = try world.replicas[replica].repository.compact(
            dropHistoryOlderThan: time, timeMilliseconds: now)
        #expect(report.compactionCommit != nil)
    }

    private func expectWhole(_ replicas: Int..., sourceLocation: SourceLocation = #_sourceLocation) throws {
        for replica in replicas {
            try world.replicas[replica].reopen()
            let check = world.replicas[replica].repository.fsck(signers: world.signers)
            #expect(check.isClean, "replica \(replica): \(check.problems)", sourceLocation: sourceLocation)
        }
        #expect(Set(replicas.map { world.replicas[$0].head }).count == 1, sourceLocation: sourceLocation)
    }

    @Test("a record of two lines says more than either has seen: what was stated on one of them before is no error")
    func twoLines() throws {
        for (key, time) in [(1, 0), (2, 10), (3, 60)] { try put(1, key, Milliseconds(time)) }
        try compact(1, olderThan: 5, at: 61)
        for (key, time) in [(11, 0), (12, 10), (13, 62), (14, 70)] { try put(0, key, Milliseconds(time)) }
        try world.send(0, to: 1)
        try compact(1, olderThan: 50, at: 100)
        try expectWhole(1)
        try put(1, 4, 110)
        try world.send(1, to: 0)
        try world.send(1, to: 2)
        try expectWhole(0, 1, 2)
        try put(2, 21, 120)
        for replica in [0, 1] { try world.send(2, to: replica) }
        try expectWhole(0, 1, 2)
    }

    @Test("a commit that names one before it that was removed is whole")
    func removedPrevious() throws {
        for (key, time) in [(11, 0), (12, 10)] { try put(0, key, Milliseconds(time)) }
        try put(1, 1, 60)
        try world.send(0, to: 1)
        try world.send(1, to: 0)
        try put(0, 13, 70)
        try compact(0, olderThan: 50, at: 100)
        try expectWhole(0)
        try world.send(0, to: 1)
        try world.send(0, to: 2)
        try expectWhole(0, 1, 2)
    }

    @Test(
        "a record that a later compaction removes is not forgotten: whoever is new finds what was seen within the bound"
    )
    func removedRecord() throws {
        try put(3, 31, 0)
        try world.send(3, to: 0)
        try put(0, 11, 10)
        try put(0, 12, 60)
        try compact(0, olderThan: 50, at: 100)
        try put(0, 13, 200)
        try put(0, 14, 300)
        try compact(0, olderThan: 250, at: 400)
        try expectWhole(0)
        try world.send(0, to: 2)
        try expectWhole(0, 2)
        try put(2, 21, 500)
        try world.send(2, to: 0)
        try expectWhole(0, 2)
    }
}
