// The tree does not remember how it came about. The one thing to keep true: each edited tree is
// compared with one built afresh from the same facts.

import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Tree editing")
struct TreeEditorTests {
    /// Rounds of random batches against a model; checks root, height, content and difference.
    private func run(_ generator: SeededGenerator, rounds: Int, batchMax: Int, entityCount: Int) throws {
        let blobs = MemoryBlobs()
        let store = NodeStore(reader: blobs)
        let editor = TreeEditor(store: store, splitHash: TreeSupport.splitHash())
        var model: [FactKey: [Fact]] = [:]
        var root = try TreeSupport.build(model)
        for round in 0..<rounds {
            let batch = TreeSupport.batch(
                generator, count: generator.int(in: 1...batchMax), entityCount: entityCount)
            let before = model
            for change in batch { model[change.key] = change.facts.isEmpty ? nil : change.facts }
            let old = root
            root = try editor.apply(batch, to: root)
            let fresh = try TreeSupport.build(model)
            try require(root.name == fresh.name, "round \(round): another root than a fresh build")
            try require(root.level == fresh.level, "round \(round): another height")
            try require(root.factCount == UInt64(model.values.reduce(0) { $0 + $1.count }))
            if generator.bool() {
                var writer = TreeWriter()
                try writer.write(root, to: blobs)
                writer.markStored(in: store)
            }
            try check(root, holds: model, store: store)
            try checkDifference(old, root, before, model, store: store)
        }
    }

    private func check(_ root: TreeNode, holds model: [FactKey: [Fact]], store: NodeStore) throws {
        var cursor = try FactCursor(root: root, store: store)
        for key in model.keys.sorted() {
            for fact in model[key] ?? [] { try require(try cursor.next() == fact) }
        }
        try require(try cursor.next() == nil)
    }

    private func checkDifference(
        _ old: TreeNode, _ new: TreeNode, _ before: [FactKey: [Fact]], _ after: [FactKey: [Fact]],
        store: NodeStore
    ) throws {
        let keys = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
        var difference = TreeDifference(old: old, new: new, store: store)
        for key in keys.sorted() {
            let found = try difference.next()
            let expected = FactDifference(key: key, oldFacts: before[key] ?? [], newFacts: after[key] ?? [])
            try require(found == expected, "\(String(describing: found)) is not \(expected)")
        }
        try require(try difference.next() == nil)
    }

    @Test("the same facts give the same root whatever the order of edits: small trees")
    func smallTrees() {
        forAll(count: 40) { generator in
            try run(generator, rounds: 12, batchMax: 30, entityCount: 12)
        }
    }

    @Test("the same facts give the same root whatever the order of edits: 60 rounds on a large tree")
    func largeTree() {
        forAll(count: 1) { generator in
            try run(generator, rounds: 60, batchMax: 500, entityCount: 700)
        }
    }

    @Test("a tree emptied and filled again in one batch is the tree built afresh")
    func emptyAndFill() {
        forAll(count: 20) { generator in
            let store = NodeStore(reader: MemoryBlobs())
            let editor = TreeEditor(store: store, splitHash: TreeSupport.splitHash())
            let first = TreeSupport.batch(generator, count: 600, entityCount: 300)
            let empty = try TreeSupport.build([:])
            let full = try editor.apply(first, to: empty)
            let removal = first.map { Replacement(key: $0.key, facts: []) }
            let emptied = try editor.apply(removal, to: full)
            try require(emptied.name == empty.name, "an emptied tree is not the empty tree")
            let again = try editor.apply(first, to: emptied)
            try require(again.name == full.name)
        }
    }

    @Test("writing what is there already changes nothing and makes no node")
    func unchangedBatch() throws {
        let generator = SeededGenerator(seed: 1)
        let store = NodeStore(reader: MemoryBlobs())
        let editor = TreeEditor(store: store, splitHash: TreeSupport.splitHash())
        let batch = TreeSupport.batch(generator, count: 500, entityCount: 200)
        let root = try editor.apply(batch, to: try TreeSupport.build([:]))
        #expect(try editor.apply(batch, to: root) === root)
    }

    @Test("another split key cuts the same facts elsewhere")
    func splitKeyMatters() throws {
        let generator = SeededGenerator(seed: 2)
        var model: [FactKey: [Fact]] = [:]
        for change in TreeSupport.batch(generator, count: 2_000, entityCount: 800) {
            model[change.key] = change.facts
        }
        let one = try TreeSupport.build(model, splitHash: TreeSupport.splitHash(1))
        let other = try TreeSupport.build(model, splitHash: TreeSupport.splitHash(2))
        #expect(one.name != other.name)
        #expect(one.factCount == other.factCount)
    }

    @Test("an edit reads and makes about a node per level, and a difference of one reads twice that")
    func costOfOneEdit() throws {
        let generator = SeededGenerator(seed: 3)
        let blobs = MemoryBlobs()
        var model: [FactKey: [Fact]] = [:]
        for change in TreeSupport.batch(generator, count: 20_000, entityCount: 8_000) where !change.facts.isEmpty {
            model[change.key] = change.facts
        }
        let built = try TreeSupport.build(model, writer: blobs)
        let keys = model.keys.sorted()
        let editCount = 60
        var reads = 0
        var made = 0
        var differenceReads = 0
        for _ in 0..<editCount {
            let store = NodeStore(reader: blobs)
            let root = try store.node(of: TreeRoot(name: built.name))
            let editor = TreeEditor(store: store, splitHash: TreeSupport.splitHash())
            let key = generator.element(of: keys)
            let changed = try editor.apply([Replacement(key: key, facts: [])], to: root)
            reads += store.nodeReadCount
            var writer = TreeWriter()
            try writer.write(changed, to: blobs)
            made += writer.nodeCount
            writer.markStored(in: store)
            let cold = NodeStore(reader: blobs)
            var difference = try TreeDifference(
                old: cold.node(of: TreeRoot(name: root.name)), new: cold.node(of: TreeRoot(name: changed.name)),
                store: cold)
            #expect(try difference.next()?.key == key)
            #expect(try difference.next() == nil)
            differenceReads += cold.nodeReadCount
        }
        let levelCount = Double(built.level + 1)
        #expect(Double(reads) / Double(editCount) <= levelCount + 1.5)
        #expect(Double(made) / Double(editCount) <= levelCount + 1)
        #expect(Double(differenceReads) / Double(editCount) <= 2 * levelCount + 2)
    }
}
