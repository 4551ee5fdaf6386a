// The store on disk beside the one in memory: whatever is asked after whatever was done, both answer alike.

import CoffretBase
import CoffretHistory
import CoffretHistorySupport
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretLogs

@Suite("A store of histories on disk answers as one in memory")
struct StoreComparisonTests {
    /// Both stores, and what may be asked of them.
    private final class Pair {
        let world: LogWorld
        let blobs: BlobStore
        var disk: DiskHistoryStore
        var memory: MemoryHistoryStore
        var entries: [VerifiedEntry] = []
        var keys: [FactKey] = []
        private let contexts: [EntryContext]

        init(seed: UInt64) throws {
            world = try LogWorld(seed: seed, deviceCount: 3)
            blobs = try BlobStore.create(
                directory: "vault", keys: world.keys, environment: world.environment(SimulatedFileSystem()))
            disk = try DiskHistoryStore(files: LogFiles(blobs: blobs, keys: world.keys))
            memory = MemoryHistoryStore { _ in BlobName(Bytes32(0, 0, 0, 0)) }
            let head = ChainPosition(number: 1, hash: Bytes32(1, 2, 3, 4))
            contexts = (0..<3).map { [world] index in
                EntryContext(
                    vaultID: world.vaultID, accountID: world.account, deviceID: world.devices[index].id,
                    nonce: .generate(from: world.generator), firstLink: 0, deviceHead: head, memberHead: head, epoch: 1)
            }
            keys = (0..<6).flatMap { [LogWorld.title($0), LogWorld.text($0)] }
        }

        /// An entry of any log; its number may be taken already.
        func makeEntry() throws -> VerifiedEntry {
            let generator = world.generator
            let context = generator.element(of: contexts)
            let other = (contexts.first { $0.instance != context.instance } ?? context).instance
            let number = UInt64(generator.int(in: 1...12))
            let changed = Set((0..<generator.int(in: 1...3)).map { _ in generator.element(of: keys) })
            let changes = changed.sorted().map { key in
                let replaces = generator.bool() ? [] : [Dot(other, UInt64(generator.int(in: 1...12)))]
                let content: ChangeContent =
                    generator.bool() || replaces.isEmpty
                    ? .inPlace([0] + generator.bytes(count: 3...20)) : .retraction
                return Change(key: key, content: content, replaces: replaces)
            }
            let body = EntryBody(
                context: context.name, number: number, before: number == 1 ? nil : BlobName(Bytes32(9, 9, 9, number)),
                height: number + UInt64(generator.int(in: 0...5)), time: 1,
                changes: .list(changes, salt: generator.bytes(count: 16)))
            let written = body.sign(in: context, with: world.devices[0].signing)
            let transaction = try blobs.begin()
            try transaction.writeBlob(type: .entryContext, bytes: context.encode())
            let name = try transaction.writeBlob(type: .entry, bytes: written.content)
            try transaction.commit(state: blobs.state, isCheckpoint: false)
            return written.named(name)
        }

        /// What changed lies in trees on the disk, and nothing is remembered.
        func store() throws {
            try disk.flushIndexes()
            let transaction = try blobs.begin()
            let (facts, indexes) = (disk.files.facts, disk.files.indexes)
            _ = try facts.write(disk.tree, values: disk.unstored, to: transaction)
            _ = try indexes.write(disk.index.tree, to: transaction)
            _ = try indexes.write(disk.items.tree, to: transaction)
            try transaction.commit(state: blobs.state, isCheckpoint: true)
            let files = LogFiles(blobs: blobs, keys: world.keys)
            disk = DiskHistoryStore(
                files: files,
                index: LogIndex(trees: files.indexes, tree: files.indexes.stored(disk.index.tree.name)),
                items: ItemIndex(trees: files.indexes, tree: files.indexes.stored(disk.items.tree.name)),
                tree: files.facts.stored(disk.tree.name))
        }

        func act() throws {
            let generator = world.generator
            let known = entries.isEmpty ? nil : generator.element(of: entries)
            switch (generator.int(in: 0...11), known) {
            case (0...3, _):
                let entry = try makeEntry()
                entries.append(entry)
                memory.put(StoredEntry(entry))
                try disk.put(entry, byteCount: memory.entryByteCount)
            case (4, let entry?) where !memory.wasDroppedForGood(entry.name):
                memory.put(StoredEntry(entry))
                try disk.put(entry, byteCount: memory.entryByteCount)
            case (5, let entry?) where memory.entry(named: entry.name) != nil:
                memory.noteApplied(entry.name)
                try disk.noteApplied(entry.name)
            case (6, let entry?):
                memory.drop(entry.name)
                try disk.drop(entry.name)
            case (7, let entry?) where memory.entry(named: entry.name) != nil:
                memory.dropForGood(entry.name)
                try disk.dropForGood(entry.name)
            case (8, let entry?) where memory.entry(named: entry.name) != nil:
                memory.withdraw(entry.name)
                try disk.withdraw(entry.name)
            case (9, _):
                var facts: [FactKey: CurrentFacts] = [:]
                for _ in 0..<3 {
                    let bytes = generator.bytes(count: 3...900)
                    let salt = generator.bytes(count: 16)
                    let content: ChangeContent = bytes.count > 512 ? .salted(salt: salt, bytes: bytes) : .inPlace(bytes)
                    let fact = CurrentFact(height: UInt64(generator.int(in: 1...9)), content: content)
                    let dot = Dot(generator.element(of: contexts).instance, UInt64(generator.int(in: 1...9)))
                    facts[generator.element(of: keys)] = generator.int(in: 0...3) == 0 ? [:] : [dot: fact]
                }
                memory.write(facts)
                try disk.write(facts)
            case (10, _): try store()
            default: break
            }
        }

        func compare() throws {
            for entry in entries {
                let (name, dot) = (entry.name, entry.dot)
                #expect(try disk.entry(named: name)?.entry == memory.entry(named: name)?.entry)
                #expect(try disk.dot(of: name) == memory.dot(of: name))
                #expect(try disk.leftDot(of: name) == memory.leftDot(of: name))
                #expect(try disk.wasApplied(name) == memory.wasApplied(name))
                #expect(try disk.wasDroppedForGood(name) == memory.wasDroppedForGood(name))
                #expect(try Set(disk.entries(at: dot).map(\.entry)) == Set(memory.entries(at: dot).map(\.entry)))
            }
            for key in keys {
                #expect(try Set(disk.entries(touching: key)) == Set(memory.entries(touching: key)))
                let mine = try disk.facts(under: key).mapValues { $0.content.inTree }
                #expect(mine == memory.facts(under: key).mapValues { $0.content.inTree })
            }
            let instances = contexts.map(\.instance)
            #expect(
                try Set(disk.instances()) == Set(memory.instances().filter { !memory.entries(of: $0).isEmpty }))
            for instance in instances {
                #expect(try Set(disk.entries(of: instance)) == Set(memory.entries(of: instance)))
                let mine = try disk.unapplied(of: instance, above: 4)
                #expect(mine == memory.unapplied(of: instance, above: 4))
            }
        }
    }

    @Test("whatever was done", arguments: 0..<8)
    func alike(round: Int) throws {
        let seed = (SeededGenerator.replayedSeed ?? SystemRandomSource().uint64()) &+ UInt64(round)
        let pair = try Pair(seed: seed)
        for step in 0..<90 {
            try pair.act()
            if step % 6 == 5 { try pair.compare() }
        }
        try pair.store()
        try pair.compare()
        #expect(pair.entries.count > 10, "COFFRET_TEST_SEED=\(seed &- UInt64(round))")
    }
}
