// Devices that write apart and meet in any order. The one thing to keep true: whoever has seen the same
// commits has the same tree.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Merging facts")
struct FactMergeTests {
    /// A device with its own copy of the facts.
    private struct Replica {
        let instance: UniqueID
        var root: TreeNode
        var versions = VersionVector()
        /// What it must hold, by the definition over whole states instead of differences.
        var model: [FactKey: [Fact]] = [:]
    }

    private let store = NodeStore(reader: MemoryBlobs())
    private var editor: TreeEditor { TreeEditor(store: store, splitHash: TreeSupport.splitHash()) }

    private func replicas(_ count: Int) throws -> [Replica] {
        try (1...count).map { Replica(instance: TreeSupport.instance(UInt8($0)), root: try TreeSupport.build([:])) }
    }

    /// A commit: some keys get a value or are retracted; each supersedes what the device sees.
    private func write(_ replica: inout Replica, _ generator: SeededGenerator) throws {
        let dot = Dot(instance: replica.instance, sequence: replica.versions[replica.instance] + 1)
        var changes: [FactKey: Replacement] = [:]
        for _ in 0..<generator.int(in: 1...6) {
            let key = TreeSupport.key(generator, entityCount: 8)
            let fact = Fact(key: key, content: .inline(generator.bytes(count: 0...20)), dot: dot)
            changes[key] = Replacement(key: key, facts: generator.int(in: 0...3) == 0 ? [] : [fact])
        }
        for change in changes.values { replica.model[change.key] = change.facts.isEmpty ? nil : change.facts }
        replica.root = try editor.apply(changes.values.sorted { $0.key < $1.key }, to: replica.root)
        replica.versions.advance(dot)
    }

    private func merged(_ left: Replica, _ right: Replica) throws -> Replica {
        var difference = TreeDifference(old: left.root, new: right.root, store: store)
        var replacements: [Replacement] = []
        while let entry = try difference.next() {
            let facts = FactMerge.merge(
                FactMerge.Side(facts: entry.oldFacts, versions: left.versions),
                FactMerge.Side(facts: entry.newFacts, versions: right.versions))
            if facts != entry.oldFacts { replacements.append(Replacement(key: entry.key, facts: facts)) }
        }
        var result = left
        result.root = try editor.apply(replacements, to: left.root)
        result.versions.merge(right.versions)
        for key in Set(left.model.keys).union(right.model.keys) {
            let facts = FactMerge.merge(
                FactMerge.Side(facts: left.model[key] ?? [], versions: left.versions),
                FactMerge.Side(facts: right.model[key] ?? [], versions: right.versions))
            result.model[key] = facts.isEmpty ? nil : facts
        }
        try require(try TreeSupport.build(result.model).name == result.root.name, "differences miss a key")
        return result
    }

    @Test("merging is the same both ways, changes nothing the second time, and order does not matter")
    func algebra() {
        forAll(count: 60) { generator in
            var devices = try replicas(3)
            for _ in 0..<generator.int(in: 3...12) {
                let one = generator.int(in: 0...2)
                if generator.int(in: 0...3) == 0 {
                    devices[one] = try merged(devices[one], devices[generator.int(in: 0...2)])
                } else {
                    try write(&devices[one], generator)
                }
            }
            let (a, b, c) = (devices[0], devices[1], devices[2])
            let ab = try merged(a, b)
            let ba = try merged(b, a)
            try require(ab.root.name == ba.root.name, "the merge depends on the side")
            try require(ab.versions == ba.versions)
            try require(try merged(ab, b).root.name == ab.root.name, "merging again changes something")
            let left = try merged(ab, c)
            let right = try merged(a, try merged(b, c))
            try require(left.root.name == right.root.name, "the merge depends on the order")
        }
    }

    @Test("a later write supersedes what it has seen, and only that")
    func supersedes() throws {
        let key = RepositoryFixture.key(1)
        let one = TreeSupport.instance(1)
        let two = TreeSupport.instance(2)
        func fact(_ text: String, _ instance: UniqueID, _ sequence: UInt64) -> Fact {
            Fact(key: key, content: .inline(Array(text.utf8)), dot: Dot(instance: instance, sequence: sequence))
        }
        let old = fact("old", one, 1)
        let mine = fact("mine", one, 2)
        let yours = fact("yours", two, 1)
        let ahead = FactMerge.Side(facts: [mine], versions: VersionVector([one: 2]))
        let behind = FactMerge.Side(facts: [old], versions: VersionVector([one: 1]))
        #expect(FactMerge.merge(ahead, behind) == [mine])
        let apart = FactMerge.Side(facts: [yours], versions: VersionVector([one: 1, two: 1]))
        #expect(FactMerge.merge(ahead, apart) == [mine, yours])
        #expect([mine, yours].winner == mine)
        let removed = FactMerge.Side(facts: [], versions: VersionVector([one: 1, two: 1]))
        #expect(FactMerge.merge(behind, removed) == [])
        #expect(FactMerge.merge(ahead, removed) == [mine])
    }
}
