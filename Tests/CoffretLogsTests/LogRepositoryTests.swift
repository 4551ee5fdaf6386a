// Entries on disk: written, read back, compared between devices.

import CoffretBase
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretHistory
@testable import CoffretLogs

@Suite("Repositories of logs")
struct LogRepositoryTests {
    @Test("what was written is there after opening, before a local checkpoint and behind it")
    func goesOn() throws {
        let often = LocalCheckpointPolicy(changeCountMax: 3, byteCountMax: 1 << 20)
        for policy in [LocalCheckpointPolicy.shortLived, often] {
            let world = try LogWorld()
            world.policy = policy
            let first = try world.create()
            for number in 0..<10 {
                try first.commit([LogWorld.put(LogWorld.title(number % 4), "\(number)")], time: Milliseconds(number))
            }
            let facts = try first.allFacts()
            let summary = try first.present().summary
            #expect(facts.count == 4 && summary.factCount == 4)
            first.close()
            let second = try world.open()
            #expect(try second.allFacts() == facts)
            #expect(try second.present().summary == summary)
            #expect(try second.texts(LogWorld.title(1)) == ["9"])
            // The log goes on where it was.
            let entry = try #require(try second.commit([LogWorld.put(LogWorld.title(1), nil)], time: 11))
            #expect(entry.number == 11 && entry.height == 11)
            #expect(try second.texts(LogWorld.title(1)) == [])
            #expect(world.notices.isEmpty)
        }
    }

    @Test("a retraction of nothing writes nothing, and the last of several changes of a key counts")
    func changesOfAKey() throws {
        let world = try LogWorld()
        let repository = try world.create()
        #expect(try repository.commit([LogWorld.put(LogWorld.title(1), nil)], time: 1) == nil)
        #expect(repository.journalPosition == 2, "the log began, and no entry was written")
        let entry = try #require(
            try repository.commit(
                [
                    LogWorld.put(LogWorld.title(1), "a"), LogWorld.put(LogWorld.title(2), "x"),
                    LogWorld.put(LogWorld.title(2), nil), LogWorld.put(LogWorld.title(1), "b"),
                ], time: 2))
        #expect(entry.body.changes.list.count == 1)
        #expect(try repository.texts(LogWorld.title(1)) == ["b"])
    }

    @Test(
        "values of every size are read back, in entries, in trees, and by the next program", arguments: [true, false])
    func values(isText: Bool) throws {
        let world = try LogWorld()
        let repository = try world.create()
        let sizes = [0, 1, 256, 257, 511, 512, 513, 4_095, 4_096, 4_097, 16_383, 16_384, 20_000, 300_000]
        var values: [FactKey: [UInt8]] = [:]
        for (number, size) in sizes.enumerated() {
            let key = isText ? LogWorld.text(number) : LogWorld.title(number)
            values[key] = world.generator.bytes(count: size)
            try repository.commit([LogChange(key: key, value: values[key])], time: 1)
        }
        func check(_ repository: LogRepository) throws {
            let present = try repository.present()
            for (key, value) in values {
                let fact = try #require(try present.facts(under: key).first)
                #expect(try present.value(of: fact) == value)
            }
        }
        try check(repository)
        repository.close()
        try check(try world.open(mode: .readOnly))
        let next = try world.open()
        try next.checkpoint()
        try check(next)
        next.close()
        try check(try world.open())
    }

    @Test("many changes go into a tree; in an empty vault that is the vault's tree")
    func bulk() throws {
        let world = try LogWorld()
        let repository = try world.create()
        let changes = (0..<2_000).map { LogWorld.put(LogWorld.title($0), "title \($0)") }
        let entry = try #require(try repository.commit(changes, time: 1))
        guard case .tree(let root, _) = entry.body.changes else {
            Issue.record("a tree of changes was expected")
            return
        }
        #expect(try repository.present().rootName == root)
        let second = (1_000..<2_600).map { LogWorld.put(LogWorld.title($0), $0 % 2 == 0 ? nil : "again \($0)") }
        try repository.commit(second, time: 2)
        let facts = try repository.allFacts()
        #expect(facts.count == 1_000 + 800)
        // Each was stored as the state, and nothing of it waits.
        let kept = try KeptState(decoding: repository.blobs.state.kept)
        #expect(kept.machine.logs.allSatisfy { !$0.isPending } && kept.machine.appliedMarks.count == 1)
        repository.close()
        let next = try world.open(mode: .readOnly)
        #expect(try next.allFacts() == facts)
        #expect(try next.texts(LogWorld.title(1_001)) == ["again 1001"])
    }

    @Test("two devices that write at the same time come to one state, and the journal keeps the memory with the batch")
    func twoDevices() throws {
        let world = try LogWorld(deviceCount: 2)
        world.policy = LocalCheckpointPolicy(changeCountMax: 7, byteCountMax: 1 << 20)
        let (one, other) = (try world.create(0), try world.create(1))
        for round in 0..<6 {
            for (device, repository) in [one, other].enumerated() {
                for change in 0..<3 {
                    let key = LogWorld.title(world.generator.int(in: 0...5))
                    let value = "\(round) \(device) \(change)"
                    try repository.commit([LogWorld.put(key, value)], time: Milliseconds(round))
                }
            }
            try world.send(from: one, to: other, memory: [UInt8(round)])
            try world.send(from: other, to: one)
            #expect(other.syncMemory == [UInt8(round)])
            #expect(try one.allFacts() == other.allFacts())
            #expect(try one.present().rootName == other.present().rootName)
            #expect(try one.present().summary == other.present().summary)
        }
        let (facts, root) = (try one.allFacts(), try one.present().rootName)
        #expect(Set(facts.map(\.dot.instance)).count == 2)
        one.close()
        other.close()
        for device in 0..<2 {
            let again = try world.open(device)
            #expect(try again.allFacts() == facts)
            #expect(try again.present().rootName == root)
        }
        #expect(try world.open(1, mode: .readOnly).syncMemory == [5])
    }

    @Test("a reader sees what another process wrote")
    func refreshes() throws {
        let world = try LogWorld()
        let writer = try world.create()
        let reader = try world.open(mode: .readOnly)
        #expect(try reader.allFacts().isEmpty)
        for number in 0..<300 {
            try writer.commit([LogWorld.put(LogWorld.title(number), "x")], time: 1)
            guard number % 70 == 0 else { continue }
            #expect(try reader.refresh())
            #expect(try reader.allFacts().count == number + 1)
        }
        #expect(throws: StorageError(.readOnly, place: "vault")) {
            try reader.commit([LogWorld.put(LogWorld.title(1), "y")], time: 1)
        }
    }
}
