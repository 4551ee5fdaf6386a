// Histories of items, states of before, dropping, checks.

import CoffretBase
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretHistory
@testable import CoffretLogs

@Suite("Histories on disk")
struct LogHistoryTests {
    @Test("an item's versions are read by the index, and nothing of the other entries is")
    func history() throws {
        let world = try LogWorld()
        let repository = try world.create()
        for number in 0..<600 {
            let key = LogWorld.title(number % 20 == 0 ? 1_000 : number)
            try repository.commit([LogWorld.put(key, "\(number)")], time: Milliseconds(number))
        }
        repository.close()
        let reader = try world.open(mode: .readOnly)
        _ = try reader.history(of: LogWorld.item(5_000))
        let before = reader.files.entryReadCount
        let versions = try reader.history(of: LogWorld.item(1_000))
        #expect(versions.map(\.time) == stride(from: 580, through: 0, by: -20).map { Milliseconds($0) })
        #expect(versions.allSatisfy { $0.counts && $0.deviceID == world.devices[0].id })
        #expect(versions.allSatisfy { $0.accountID == world.account })
        #expect(reader.files.entryReadCount - before <= versions.count)
        let newest = try #require(versions.first?.changes.first)
        let replaced = try reader.replaced(by: newest)
        #expect(replaced.map(\.dot) == newest.replaces)
        #expect(try reader.value(of: replaced[0].content, under: newest.key) == Array("560".utf8))
    }

    @Test("the state at a time is what stood then, for every time")
    func moments() throws {
        let world = try LogWorld(deviceCount: 2)
        let (one, other) = (try world.create(0), try world.create(1))
        var states: [(time: Milliseconds, facts: [Fact])] = []
        for round in 0..<12 {
            let repository = round % 3 == 2 ? other : one
            let changes = (0..<4).map { _ -> LogChange in
                let isGone = world.generator.int(in: 0...3) == 0
                return LogWorld.put(LogWorld.title(world.generator.int(in: 0...6)), isGone ? nil : "\(round)")
            }
            try repository.commit(changes, time: Milliseconds(100 * round))
            try world.send(from: one, to: other)
            try world.send(from: other, to: one)
            states.append((Milliseconds(100 * round), try one.allFacts()))
        }
        for (time, facts) in states {
            let moment = try one.moment(at: time + 50)
            var found: [Fact] = []
            try moment.forEachFact { found.append($0) }
            #expect(found == facts)
            #expect(moment.summary == (try summary(of: facts, one)))
        }
        var none: [Fact] = []
        try one.moment(at: -1).forEachFact { none.append($0) }
        #expect(none.isEmpty)
        // What an author had seen is there before what he wrote, whatever his clock said.
        try other.commit([LogWorld.put(LogWorld.title(50), "first")], time: 5_000)
        try world.send(from: other, to: one)
        try one.commit([LogWorld.put(LogWorld.title(51), "second")], time: 4_000)
        #expect(try one.moment(at: 4_500).facts(under: LogWorld.title(51)).isEmpty)
    }

    private func summary(of facts: [Fact], _ repository: LogRepository) throws -> StateSummary {
        var digest = StateDigest()
        for fact in facts { digest.add(repository.files.digestTerm(of: fact)) }
        return StateSummary(digest: digest, factCount: UInt64(facts.count))
    }

    /// A checkpoint with a root over all that is applied.
    private func checkpoint(_ world: LogWorld, _ repository: LogRepository, time: Milliseconds = 1) throws -> Int {
        let plan = try repository.plan(for: world.preview())
        let present = try repository.present()
        #expect(plan.root == present.rootName && plan.summary == present.summary && plan.isWhole)
        let root = try #require(plan.root)
        for name in try repository.blobNames(ofTree: root) { #expect(try repository.exchange.containsBlob(name)) }
        let link = world.link(
            checkpoint: Checkpoint(
                base: plan.base, accepted: plan.accepted, root: root, digest: plan.summary.digest.bytes32,
                factCount: plan.summary.factCount), time: time)
        try repository.takeOwn(world.chains, isRoot: true)
        return link
    }

    @Test("history below a checkpoint goes, its bytes go with the compaction, and the state stays")
    func dropping() throws {
        let world = try LogWorld()
        let repository = try world.create()
        for number in 0..<40 {
            let text = String(decoding: world.generator.bytes(count: 900).map { 97 + $0 % 26 }, as: UTF8.self)
            try repository.commit([LogWorld.put(LogWorld.text(number % 4), text)], time: Milliseconds(number))
        }
        let link = try checkpoint(world, repository)
        try repository.commit([LogWorld.put(LogWorld.text(1), "after")], time: 100)
        let facts = try repository.allFacts()
        #expect(try repository.history(of: LogWorld.item(1)).count == 11)
        let before = try repository.compact().byteCountAfter
        let plan = try #require(try repository.droppingPlan(below: link, unacknowledged: []))
        #expect(plan.entries.count == 39, "the tip stays")
        #expect(try repository.drop(plan, unacknowledged: []) == nil)
        #expect(try repository.allFacts() == facts)
        let after = try repository.compact()
        #expect(after.byteCountAfter < before - 20_000)
        for repository in [repository, nil] {
            repository?.close()
            let next = try world.open()
            #expect(try next.allFacts() == facts)
            #expect(try next.history(of: LogWorld.item(1)).count == 1)
            for key in [LogWorld.text(0), LogWorld.text(1)] { #expect(try next.texts(key).count == 1) }
            #expect(throws: StorageError(.historyCompacted, place: "link \(link)")) { try next.moment(at: 10) }
            #expect(try next.moment(at: 99).facts(under: LogWorld.text(1)).count == 1)
            let names = plan.entries
            for name in names {
                let known = try next.ask { (machine) throws(StorageError) in
                    (
                        dot: try machine.store.dot(of: name), wasApplied: try machine.store.wasApplied(name),
                        entry: try machine.store.entry(named: name)
                    )
                }
                #expect(known.dot != nil && known.wasApplied && known.entry == nil)
            }
            let report = next.fsck()
            #expect(report.isClean, "\(report.problems) \(report.repairable)")
            next.close()
        }
    }

    @Test("what was deleted for good is not taken again")
    func deletedForGood() throws {
        let world = try LogWorld()
        let repository = try world.create()
        let entry = try #require(try repository.commit([LogWorld.put(LogWorld.title(1), "x")], time: 1))
        try repository.commit([LogWorld.put(LogWorld.title(1), nil)], time: 2)
        try repository.step { (machine) throws(StorageError) in try machine.store.dropForGood(entry.name) }
        try repository.checkpoint()
        try repository.compact()
        repository.close()
        let next = try world.open()
        #expect(try next.ask { (machine) throws(StorageError) in try machine.store.wasDroppedForGood(entry.name) })
        #expect(try next.ask { (machine) throws(StorageError) in try machine.takes(entry, tips: []) } == false)
        #expect(try next.exchange.containsBlob(entry.name) == false)
    }

    @Test("a check of a whole store is clean, and counts")
    func clean() throws {
        let world = try LogWorld(deviceCount: 2)
        let (one, other) = (try world.create(0), try world.create(1))
        try one.commit((0..<700).map { LogWorld.put(LogWorld.text($0), "some words \($0)") }, time: 1)
        try world.send(from: one, to: other)
        for number in 0..<20 {
            try other.commit([LogWorld.put(LogWorld.text(number), "others' words \(number)")], time: 2)
            try one.commit([LogWorld.put(LogWorld.text(number), "own words \(number)")], time: 2)
        }
        try world.send(from: other, to: one)
        for repository in [one, other] {
            let report = repository.fsck()
            #expect(report.isClean, "\(report.problems) \(report.repairable)")
            #expect(report.signatureCount == report.entryCount && report.entryCount >= 21)
        }
        #expect(one.fsck().factCount == 720)
    }

    @Test("indexes that are damaged are made anew by the next program, and nothing else is lost")
    func damagedIndex() throws {
        let world = try LogWorld()
        let repository = try world.create()
        for number in 0..<30 { try repository.commit([LogWorld.put(LogWorld.title(number), "\(number)")], time: 1) }
        try repository.checkpoint()
        try repository.commit([LogWorld.put(LogWorld.title(3), "late")], time: 2)
        let facts = try repository.allFacts()
        let kept = try KeptState(decoding: repository.blobs.state.kept)
        for root in [kept.index, kept.items, kept.facts] {
            // A state that names trees which are not there.
            var broken = kept
            if root == kept.index { broken.index = kept.own.map { BlobName($0.lost) } ?? root }
            if root == kept.items { broken.items = kept.own.map { BlobName($0.lost) } ?? root }
            if root == kept.facts { broken.facts = kept.own.map { BlobName($0.lost) } ?? root }
            var state = repository.blobs.state
            state.kept = broken.encoded
            try repository.transact { (transaction) throws(StorageError) in
                try transaction.commit(state: state, isCheckpoint: false)
            }
            let reader = try world.open(mode: .readOnly)
            #expect(try reader.allFacts() == facts)
            #expect(try reader.history(of: LogWorld.item(3)).count == 2)
            #expect(world.notices.contains { $0.kind == .indexRebuilt })
        }
        // No state at all.
        var state = repository.blobs.state
        state.kept = [1, 2, 3]
        try repository.transact { (transaction) throws(StorageError) in
            try transaction.commit(state: state, isCheckpoint: false)
        }
        repository.close()
        let next = try world.open()
        #expect(try next.allFacts() == facts)
        try next.repair()
        let report = next.fsck()
        #expect(report.isClean, "\(report.problems) \(report.repairable)")
        let entry = try #require(try next.commit([LogWorld.put(LogWorld.title(3), "later")], time: 3))
        #expect(entry.height == 32)
        next.close()
        #expect(try world.open().texts(LogWorld.title(3)) == ["later"])
    }

    @Test("a check tells of each kind of damage, and repair of what can be made again")
    func findings() throws {
        let world = try LogWorld()
        let repository = try world.create()
        var entries: [VerifiedEntry] = []
        for number in 0..<10 {
            let entry = try repository.commit([LogWorld.put(LogWorld.title(number % 3), "\(number)")], time: 1)
            entries.append(try #require(entry))
        }
        #expect(repository.fsck().isClean)
        // An entry that no index names.
        try repository.step { (machine) throws(StorageError) in
            var other = LogIndex(
                trees: repository.files.indexes, tree: try repository.files.indexes.empty())
            for entry in entries where entry != entries[5] {
                if let record = try machine.store.index.record(of: entry.name, at: entry.dot) { try other.put(record) }
            }
            machine.store.index = other
        }
        #expect(
            repository.fsck().repairable.first
                == .storage(StorageError(.indexDamaged, place: entries[5].name.description)))
        try repository.repair()
        #expect(repository.fsck().isClean)
        // A record that says something else of its entry.
        try repository.step { (machine) throws(StorageError) in
            try machine.store.index.put(
                LogIndex.Record(
                    name: entries[4].name, dot: entries[4].dot, height: 99, byteCount: 7, isBare: false,
                    wasApplied: true))
        }
        let other = StorageError(.indexDamaged, place: entries[4].name.description)
        #expect(repository.fsck().repairable.contains(.storage(other)))
        // A record of an entry that is not here.
        try repository.step { (machine) throws(StorageError) in
            try machine.store.index.put(
                LogIndex.Record(
                    name: BlobName(Bytes32(1, 2, 3, 4)), dot: Dot(entries[4].instance, 50), height: 99, byteCount: 7,
                    isBare: false, wasApplied: true))
        }
        #expect(repository.fsck().problems.contains { $0.description.hasPrefix("storage.blob.missing") })
        // A record of an item too much.
        try repository.step { (machine) throws(StorageError) in
            try machine.store.items.put(entries[0].rank, for: [LogWorld.item(77)])
        }
        #expect(repository.fsck().repairable.contains { $0.description.contains(LogWorld.item(77).description) })
        try repository.repair()
        #expect(repository.fsck().isClean)
        // A fact that no entry wrote.
        try repository.step { (machine) throws(StorageError) in
            try machine.flush()
            let fact = CurrentFact(height: 1, content: .inPlace([0, 65]))
            try machine.store.write([LogWorld.title(9): [Dot(entries[0].instance, 1): fact]])
        }
        try repository.checkpoint()
        #expect(repository.fsck().repairable == [.history(HistoryError(.stateDiffers, place: "vault"))])
        repository.close()
        let next = try world.open()
        #expect(next.fsck().repairable == [.history(HistoryError(.stateDiffers, place: "vault"))])
        try next.repair()
        let report = next.fsck()
        #expect(report.isClean, "\(report.problems) \(report.repairable)")
        #expect(try next.texts(LogWorld.title(9)) == [])
        // A blob whose bytes changed on the disk.
        next.close()
        for path in try world.devices[0].disk.list("vault/journal").map(\.name) {
            let file = try world.devices[0].disk.open("vault/journal/" + path, .readWrite)
            let byteCount = try file.byteCount()
            for offset in stride(from: 4_200, to: min(byteCount, 9_000), by: 10) {
                let byte = try file.read(byteCount: 1, at: offset)
                if byte != [0] { try file.write([byte[0] ^ 1], at: offset) }
            }
        }
        let damaged = try? world.open(mode: .readOnly)
        #expect(damaged.map { !$0.fsck().isClean } ?? true)
    }
}

extension OwnLog {
    /// A name of nothing.
    fileprivate var lost: Bytes32 { Bytes32(firstLinkNumber, 3, 5, 7) }
    private var firstLinkNumber: UInt64 { UInt64(firstLink) }
}
