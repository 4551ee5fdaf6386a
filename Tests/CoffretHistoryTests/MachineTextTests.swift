// What machines show of texts and say of states: merges before a checkpoint, digests, and words that rest on what does not
// count.

import CoffretBase
import CoffretHistorySupport
import CoffretStorage
import Testing

@testable import CoffretHistory

@Suite("Texts and states of histories")
struct MachineTextTests {
    private func read(_ key: FactKey, _ content: ChangeContent) throws(HistoryError) -> [UInt8] {
        if case .inPlace(let bytes) = content { return bytes }
        throw HistoryError(.valueMalformed, place: "\(key)")
    }

    private func checkpoint(
        _ tips: [VerifiedEntry], _ summary: StateSummary = StateSummary(), base: Int? = nil, root: BlobName? = nil
    ) -> Checkpoint {
        Checkpoint(
            base: base.map { UInt32($0) },
            accepted: Frontier(Dictionary(uniqueKeysWithValues: tips.map { ($0.instance, $0.mark) })), root: root,
            digest: summary.digest.bytes32, factCount: summary.factCount)
    }

    @Test("T6: an author writes what is merged before a root, and no other conflict; behind it nothing is lost")
    func merged() throws {
        let world = MachineWorld(devices: [["a", "b"]])
        let (own, other) = (world.context("a"), world.context("b"))
        let first = world.entry(
            own, 1, changes: [MachineWorld.put(1, "x\n"), MachineWorld.put(2, "x\n"), MachineWorld.put(3, "x\n")])
        let left = world.entry(
            own, 2, after: first,
            changes: [
                MachineWorld.put(1, "a\nx\n", replacing: [first]), MachineWorld.put(2, "left\n", replacing: [first]),
                MachineWorld.put(3, "same\n", replacing: [first]),
            ])
        let right = world.entry(
            other, 1, seen: [first],
            changes: [
                MachineWorld.put(1, "x\nb\n", replacing: [first]), MachineWorld.put(2, "right\n", replacing: [first]),
                MachineWorld.put(3, "same\n", replacing: [first]),
            ])
        var machine = world.machine("a")
        machine.sync(world, [first, left, right])
        let shown = try #require(machine.textVersions(under: MachineWorld.key(1))).show(read)
        #expect(shown.text == Array("a\nx\nb\n".utf8) && shown.hiddenCount == 0 && shown.isMerged)
        let conflict = try #require(machine.textVersions(under: MachineWorld.key(2))).show(read)
        #expect(conflict.hiddenCount == 1 && !conflict.isMerged)
        func merged(_ machine: MachineWorld.Machine) throws -> [(key: FactKey, shown: ShownText)] {
            try machine.contestedTexts { _ in true }.map { ($0.key, try $0.show(read)) }.filter { $0.1.isMerged }
        }
        let texts = try merged(machine)
        #expect(texts.map(\.key) == [MachineWorld.key(1)])
        #expect(machine.contestedTexts { $0 == MachineWorld.key(3) }.map(\.key) == [MachineWorld.key(3)])
        // A checkpoint without that entry makes a conflict of the merge (T2); with it nothing changes.
        for writes in [false, true] {
            var machine = machine
            var tip = left
            if writes {
                tip = world.entry(
                    own, 3, after: left, seen: [right],
                    changes: [
                        Change(
                            key: texts[0].key, content: .inPlace(try #require(texts[0].shown.text)),
                            replaces: texts[0].shown.replaces)
                    ])
                machine.store.put(StoredEntry(tip))
                machine.write(tip)
                #expect(try merged(machine).isEmpty)
            }
            let facts = [1, 2, 3].map { (MachineWorld.key($0), machine.facts(under: MachineWorld.key($0))) }
            let root = MachineWorld.rootName(Dictionary(uniqueKeysWithValues: facts))
            machine.store.trees[root] = Dictionary(uniqueKeysWithValues: facts)
            let next = MachineWorld(devices: [["a", "b"]])
            next.link(checkpoint: checkpoint([tip, right], root: root))
            machine.takeOwn(accounts: next.accounts, chain: next.chain, isRoot: true)
            #expect(machine.base == 1)
            let shown = try #require(machine.textVersions(under: MachineWorld.key(1))).show(read)
            #expect(shown.hiddenCount == (writes ? 0 : 1))
            if writes { #expect(shown.text == texts[0].shown.text) }
            #expect(machine.textVersions(under: MachineWorld.key(4)) == nil)
        }
    }

    @Test("S9: a plan has digest and count of what it accepts, also where key 2 has no room for all")
    func plans() throws {
        let world = MachineWorld(devices: [["a", "b"]])
        let one = world.entry(world.context("a"), 1, changes: [MachineWorld.put(1, "one"), MachineWorld.put(2, "two")])
        let two = world.entry(
            world.context("b"), 1, seen: [one], changes: [MachineWorld.put(1, "more", replacing: [one])])
        let three = world.entry(world.context("a"), 2, after: one, changes: [MachineWorld.put(3, "three")])
        var machine = world.machine("a")
        machine.sync(world, [one, two, three])
        func summary(_ keys: [Int], of machine: MachineWorld.Machine) -> StateSummary {
            let facts = keys.map { (MachineWorld.key($0), machine.facts(under: MachineWorld.key($0))) }
            return machine.store.summary(of: Dictionary(uniqueKeysWithValues: facts))
        }
        #expect(machine.summary == summary([1, 2, 3], of: machine) && machine.summary.factCount == 3)
        world.link()
        let preview = try #require(world.chain.links.last)
        let whole = machine.plan(for: preview, writesRoot: true)
        #expect(whole.isWhole && whole.summary == machine.summary)
        // Of two logs one has room; "b" has seen the other, so the plan takes "a" alone.
        let part = machine.plan(for: preview, writesRoot: true, room: 1)
        var alone = world.machine("a")
        alone.sync(world, links: 1, [one, three])
        #expect(!part.isWhole && part.accepted.marks.count == 1 && part.root != nil)
        #expect(part.summary == alone.summary && part.summary.factCount == 3 && part.summary != whole.summary)
        // Whoever states another digest at the same place is told.
        #expect(machine.differs(from: alone.summary.digest, at: machine.frontier, base: nil))
        #expect(!machine.differs(from: machine.summary.digest, at: machine.frontier, base: nil))
        #expect(!machine.differs(from: alone.summary.digest, at: alone.frontier, base: nil))
    }

    @Test("S9: a digest that does not fit a true root is told, and stops nothing", arguments: [false, true])
    func misstated(isRight: Bool) throws {
        let world = MachineWorld(devices: [["a", "b"]])
        let one = world.entry(world.context("a"), 1, changes: [MachineWorld.put(1, "one")])
        var author = world.machine("a")
        author.sync(world, [one])
        let tree = [MachineWorld.key(1): author.facts(under: MachineWorld.key(1))]
        let root = MachineWorld.rootName(tree)
        world.trees[root] = tree
        world.link(checkpoint: checkpoint([one], isRight ? author.summary : StateSummary(), root: root))
        var reader = world.machine("b")
        reader.sync(world, [one])
        #expect(reader.base == 1 && reader.baseTrust == .verified && reader.refuted == [])
        #expect(reader.misstated == (isRight ? [] : [1]))
        #expect(reader.summary == author.summary)
    }

    @Test(
        "S10, section 6: words above a limit are listed for a person, with what was made on them, and go after 30 days")
    func rescue() throws {
        let world = MachineWorld(devices: [["a", "thief", "c"]])
        let (own, bad, dark) = (world.context("a"), world.context("thief"), world.context("c"))
        let text = world.entry(own, 1, changes: [MachineWorld.put(1, "text"), MachineWorld.put(2, "other")])
        let kept = world.entry(bad, 1, seen: [text], changes: [MachineWorld.put(3, "kept")])
        let wipe = world.entry(bad, 2, after: kept, changes: [MachineWorld.put(1, "wiped", replacing: [text])])
        let more = world.entry(bad, 3, after: wipe, changes: [MachineWorld.put(4, "more")])
        // An honest device that was in the dark goes on writing on what the thief left.
        let edited = world.entry(
            dark, 1, seen: [wipe],
            changes: [MachineWorld.put(1, "edited", replacing: [wipe]), MachineWorld.put(2, "2", replacing: [text])])
        world.revoke("thief")
        let link = world.link(opens: true, checkpoint: checkpoint([text, kept]))
        var machine = world.machine("a")
        machine.sync(world, [text, kept, wipe, more, edited])
        #expect(machine.texts(1) == ["edited", "text"] && machine.texts(4) == [])
        var aside = machine.setAside()
        #expect(aside == [bad.instance: [wipe, more]])
        let found = machine.restsOnExcluded()
        #expect(found == [RestsOnExcluded(key: MachineWorld.key(1), current: [edited.dot], before: text.dot)])
        let day: Milliseconds = 86_400_000
        for now in 0..<90 { machine.dropSetAside(kept: [more.name], now: Milliseconds(now) * day) }
        aside = machine.setAside()
        #expect(aside == [bad.instance: [wipe, more]], "89 looks of eight hours are less than 30 days")
        machine.dropSetAside(kept: [more.name], now: 90 * day)
        aside = machine.setAside()
        #expect(aside == [bad.instance: [more]])
        #expect(machine.texts(1) == ["edited", "text"] && machine.frontier.number(of: bad.instance) == 1)
        let limit = machine.limit(of: bad.instance)
        #expect(limit?.link == link)
    }

    @Test("E6: an entry with its changes in a tree counts like one that has them in place")
    func changesInTree() throws {
        let world = MachineWorld(devices: [["a"]])
        let log = world.context("a")
        let old = world.entry(log, 1, changes: [MachineWorld.put(1, "old"), MachineWorld.put(2, "gone")])
        let dot = Dot(log.instance, 2)
        let changes =
            [
                MachineWorld.put(1, "new", replacing: [old]), MachineWorld.put(2, nil, replacing: [old]),
            ] + (3..<600).map { MachineWorld.put($0, "\($0)") }
        #expect(ChangeTree.isNeeded(for: changes, own: log.instance))
        #expect(!ChangeTree.isNeeded(for: Array(changes[..<512]), own: log.instance))
        let long = (0..<500).map { MachineWorld.put($0, String(repeating: "x", count: 500)) }
        #expect(!ChangeTree.isNeeded(for: Array(long[..<450]), own: log.instance))
        #expect(ChangeTree.isNeeded(for: long, own: log.instance), "500 changes of 540 bytes are above 256 KiB")
        let facts = ChangeTree.facts(of: changes, by: dot, height: 2) { content in
            if case .inPlace(let bytes) = content { .inline(bytes) } else { .retraction }
        }
        #expect(facts.count == changes.count + 1 && facts == facts.sorted())
        let back = try ChangeTree.changes(of: facts, by: dot, height: 2, place: "")
        #expect(back == changes)
        // A value with another dot or height, two values, and one fact twice are no changes.
        let value = try #require(facts.last)
        for wrong in [
            Fact(key: value.key, content: value.content, dot: Dot(log.instance, 3), height: 2),
            Fact(key: value.key, content: value.content, dot: dot, height: 3),
        ] {
            #expect(throws: HistoryError(.entryMalformed, place: "")) {
                try ChangeTree.changes(of: Array(facts.dropLast()) + [wrong], by: dot, height: 2, place: "")
            }
        }
        #expect(throws: HistoryError(.entryMalformed, place: "")) {
            try ChangeTree.changes(of: facts + [value], by: dot, height: 2, place: "")
        }
        let twice = Fact(key: value.key, content: .retraction, dot: dot)
        #expect(throws: HistoryError(.entryMalformed, place: "")) {
            try ChangeTree.changes(of: Array(facts.dropLast()) + [twice, value], by: dot, height: 2, place: "")
        }
        let root = BlobName(Bytes32(7, 7, 7, 7))
        let bulk = world.entry(log, 2, after: old, changes: [], tree: root)
        var (plain, machine) = (world.machine("a"), world.machine("a"))
        machine.store.changeTrees[root] = back
        machine.sync(world, [old, bulk])
        plain.sync(world, [old, world.entry(log, 2, after: old, changes: changes)])
        for key in 1..<600 { #expect(machine.texts(key) == plain.texts(key)) }
        #expect(machine.summary == plain.summary && machine.summary.factCount == 598)
    }
}
