// What goes and what stays, when links are written, and how much is taken: rules that ask clocks and counts.

import CoffretBase
import CoffretHistorySupport
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretHistory

@Suite("Keeping and writing of histories")
struct MachineKeepingTests {
    private let hour: Milliseconds = 3_600_000
    private let day: Milliseconds = 86_400_000

    /// A log of two devices with a root at each of the given times, and a device that took all of it at once.
    private func vault(
        times: [Milliseconds], accounts: [[String]] = [["a", "b"]]
    ) throws -> (world: MachineWorld, machine: MachineWorld.Machine, entries: [VerifiedEntry]) {
        let world = MachineWorld(devices: accounts)
        let log = world.context("a")
        var (machine, entries) = (world.machine("a"), [VerifiedEntry]())
        for (index, time) in times.enumerated() {
            entries.append(
                world.entry(
                    log, EntryNumber(index + 1), after: entries.last, changes: [MachineWorld.put(index, "\(index)")]))
            machine.store.put(StoredEntry(entries[index]))
            if index == 0 { machine.sync(world, []) }
            machine.write(entries[index])
            let facts = (0...index).map { (MachineWorld.key($0), machine.facts(under: MachineWorld.key($0))) }
            let tree = Dictionary(uniqueKeysWithValues: facts)
            let root = MachineWorld.rootName(tree)
            (world.trees[root], machine.store.trees[root]) = (tree, tree)
            world.link(
                checkpoint: Checkpoint(
                    base: machine.base.map { UInt32($0) }, accepted: machine.frontier, root: root,
                    digest: machine.summary.digest.bytes32, factCount: machine.summary.factCount),
                time: time)
            machine.takeOwn(accounts: world.accounts, chain: world.chain, isRoot: true)
        }
        return (world, machine, entries)
    }

    @Test("G3: a checkpoint is as old as its stated time says, and never older than this device knows it")
    func age() throws {
        var (_, machine, _) = try vault(times: [0, 10 * day, 20 * day])
        // First seen now: whatever the clock says, nothing is old.
        var found = (0...4).map { machine.checkpoint(olderThan: day, isSetting: false, now: (1_000 + $0) * day) }
        #expect(found == [nil, nil, nil, 3, 3])
        // A setting is never below 30 days, though a person may go below; a clock that goes back keeps more.
        found = [
            machine.checkpoint(olderThan: day, isSetting: true, now: 1_005 * day),
            machine.checkpoint(olderThan: 12 * hour, isSetting: false, now: 10 * day + hour),
            machine.checkpoint(olderThan: 12 * hour, isSetting: false, now: -day),
        ]
        #expect(found == [nil, 1, nil])
    }

    @Test("K6: what shows an end is kept below a base, too, so that all judge replacements behind the fork alike")
    func evidenceBelowBase() throws {
        let world = MachineWorld(devices: [["a", "b", "c"]])
        let log = world.context("b")
        let root = world.entry(log, 1, changes: [MachineWorld.put(1, "root")])
        let left = world.entry(log, 2, after: root, changes: [MachineWorld.put(1, "left", replacing: [root])])
        let right = world.entry(log, 2, after: root, changes: [MachineWorld.put(1, "right", replacing: [root])])
        let over = world.entry(
            world.context("c"), 1, seen: [right], changes: [MachineWorld.put(1, "over right", replacing: [right])])
        var reader = world.machine("a")
        reader.sync(world, [root, left])
        let tree = [MachineWorld.key(1): reader.facts(under: MachineWorld.key(1))]
        reader.store.trees[MachineWorld.rootName(tree)] = tree
        func checkpoint(_ tips: [VerifiedEntry], root: BlobName? = nil, base: Int? = nil, ends: LogEnd? = nil)
            -> Checkpoint
        {
            Checkpoint(
                base: base.map { UInt32($0) },
                accepted: Frontier(Dictionary(uniqueKeysWithValues: tips.map { ($0.instance, $0.mark) })), root: root,
                digest: Bytes32(0, 0, 0, 0), factCount: 0, ends: ends.map { [log.instance: $0] } ?? [:])
        }
        let base = world.link(by: "c", checkpoint: checkpoint([left], root: MachineWorld.rootName(tree)))
        reader.sync(world)
        #expect(reader.base == base)
        // The base covers the number, so the other entry is not kept, and what replaced it seems to replace this one.
        reader.sync(world, [right, over])
        #expect(reader.store.entry(named: right.name) == nil && reader.texts(1) == ["over right"])
        world.link(
            by: "c",
            checkpoint: checkpoint(
                [left, over], base: base, ends: LogEnd(lastCommonNumber: 1, first: left.name, second: right.name)))
        reader.store.here[right.name] = nil
        reader.sync(world)
        #expect(reader.missingEvidence() == [right.name] && reader.missingNames(head: nil, behind: []) == [right.name])
        reader.sync(world, [right])
        #expect(reader.store.entry(named: right.name) != nil && reader.missingEvidence() == [])
        #expect(reader.texts(1) == ["left", "over right"])
    }

    @Test("G1, G2, G4, G7: no more goes than was agreed to; tips stay; questions about the rest say so")
    func dropping() throws {
        var (world, machine, entries) = try vault(times: [0, day, 2 * day])
        let plan = try #require(machine.droppingPlan(below: 2, unacknowledged: []))
        #expect(plan.entries == [entries[0].name, entries[1].name], "the tip of link 2 is behind the newest base")
        let kept = try #require(machine.droppingPlan(below: 2, unacknowledged: [entries[0].name]))
        #expect(kept.entries == [entries[1].name])
        var refused = machine.drop(kept, unacknowledged: [])
        #expect(refused == .grown(by: 1))
        #expect(machine.droppingPlan(below: 9, unacknowledged: []) == nil)
        #expect(machine.store.kept.count == 3)
        #expect(machine.compaction(of: entries[0].dot) == nil)
        refused = machine.drop(plan, unacknowledged: [])
        #expect(refused == nil)
        #expect(Set(machine.store.kept.keys) == [entries[2].name])
        let compacted = HistoryError(.historyCompacted, place: "link 2")
        #expect(machine.compaction(of: entries[0].dot) == compacted && machine.compaction(of: entries[2].dot) == nil)
        // What was dropped is known behind a restart, and what is unverified drops nothing.
        let state = machine.suspend()
        let back = try HistoryMachine.resumed(
            from: state, store: machine.store, account: world.account(0), device: world.device("a"),
            accounts: world.accounts, chain: world.chain
        ).get()
        #expect(back.compaction(of: entries[0].dot) == compacted)
        var unsure = world.machine("b")
        unsure.sync(world, [entries[2]], collected: [3])
        #expect(unsure.baseTrust == .unverified)
        #expect(unsure.droppingPlan(below: 3, unacknowledged: []) == nil)
        refused = unsure.drop(plan, unacknowledged: [])
        #expect(refused == .notSure)
    }

    @Test(
        "G5: an owner collects what he applied below a checkpoint that another one acknowledged, or that is 30 days old"
    )
    func collecting() throws {
        var (world, machine, entries) = try vault(times: [0, day], accounts: [["a", "b"], ["w"]])
        let link = world.chain.count - 1
        func names(
            _ machine: MachineWorld.Machine, _ by: [CoffretHistory.MemberDevice], below link: Int, now: Milliseconds
        ) -> Int? {
            var machine = machine
            return machine.collectable(below: link, acknowledgedBy: Set(by), unacknowledged: [], now: now)?.count
        }
        let own = CoffretHistory.MemberDevice(account: world.account(0), device: world.device("b"))
        let other = CoffretHistory.MemberDevice(account: world.account(1), device: world.device("w"))
        #expect(names(machine, [], below: link, now: 2 * day) == nil)
        #expect(names(machine, [own], below: link, now: 2 * day) == nil, "of two accounts the other one has to have it")
        #expect(names(machine, [own, other], below: link, now: 2 * day) == 1)
        for look in 0...91 { _ = machine.checkpoint(olderThan: 0, isSetting: true, now: Milliseconds(2 + look) * day) }
        #expect(names(machine, [], below: link, now: 100 * day) == 1)
        var writer = world.machine("w")
        writer.sync(world, entries)
        #expect(writer.base == link && names(writer, [own], below: link, now: 2 * day) == nil)
        let (alone, single, _) = try vault(times: [0, day])
        let second = CoffretHistory.MemberDevice(account: alone.account(0), device: alone.device("b"))
        let first = CoffretHistory.MemberDevice(account: alone.account(0), device: alone.device("a"))
        #expect(names(single, [first], below: 2, now: 2 * day) == nil)
        #expect(names(single, [second], below: 2, now: 2 * day) == 1)
    }

    @Test("P1, C3: only an owner with a sure base deletes for good; a plain checkpoint is written once an hour")
    func obstacles() throws {
        let now = 10 * day
        let (world, machine, entries) = try vault(times: [0, now - hour / 2], accounts: [["a", "b"], ["w"]])
        let purge = LinkPurpose(purges: [MachineWorld.key(0).entity])
        func obstacle(_ machine: MachineWorld.Machine, _ purpose: LinkPurpose, _ now: Milliseconds) -> LinkObstacle? {
            var machine = machine
            return machine.obstacle(to: purpose, hasUnreadable: false, now: now)
        }
        #expect(obstacle(machine, purge, now) == nil)
        #expect(obstacle(machine, LinkPurpose(), now) == .tooSoon)
        #expect(obstacle(machine, LinkPurpose(refutes: true), now) == nil)
        #expect(obstacle(machine, LinkPurpose(opensEpoch: true), now) == nil)
        #expect(obstacle(machine, LinkPurpose(), now + hour / 2) == nil)
        // A link that is dated into the future holds nobody back.
        #expect(obstacle(machine, LinkPurpose(), now - hour) == nil)
        var writer = world.machine("w")
        writer.sync(world, entries)
        #expect(obstacle(writer, purge, now) == .mayNotPurge && obstacle(writer, LinkPurpose(), now) == nil)
        var fresh = world.machine("b")
        fresh.sync(world, [entries[1]], collected: [world.chain.count - 1])
        #expect(fresh.baseTrust == .unverified && obstacle(fresh, purge, now) == .mayNotPurge)
    }

    @Test("C5: a checkpoint of which a tip is missing is named after a day, and no more when the tip comes")
    func unproven() throws {
        let (world, _, entries) = try vault(times: [0])
        var reader = world.machine("b")
        for now in 0..<3 {
            reader.sync(world, now: Milliseconds(now) * 8 * hour)
            #expect(reader.unprovenLinks == [] && reader.missingNames(head: nil, behind: []) == [entries[0].name])
        }
        reader.sync(world, now: day)
        #expect(reader.unprovenLinks == [1] && reader.base == nil)
        reader.sync(world, entries, now: day)
        #expect(reader.unprovenLinks == [] && reader.base == 1)
    }

    @Test("section 8: when a root is due, and how long each device waits before it writes what is due")
    func schedule() throws {
        let world = MachineWorld(devices: [["a", "b"], ["w"]])
        let log = world.context("a")
        var machine = world.machine("a")
        var entries: [VerifiedEntry] = []
        world.link(time: 0)
        for number in 1...256 { entries.append(world.entry(log, EntryNumber(number), after: entries.last)) }
        machine.sync(world, Array(entries.dropLast()))
        #expect(machine.entryCountBehindBase == 255)
        #expect(!machine.isRootDue(now: 400 * day, byteCount: 0) && machine.isRootDue(now: 0, byteCount: 64 << 20))
        machine.sync(world, [entries[255]])
        #expect(machine.isRootDue(now: 0, byteCount: 0), "a vault without any root")
        let (other, machine0, old) = try vault(times: [0])
        var rooted = machine0
        var last = old[0]
        for number in 2...257 {
            last = other.entry(old[0].context, EntryNumber(number), after: last)
            rooted.store.put(StoredEntry(last))
            rooted.write(last)
        }
        #expect(rooted.entryCountBehindBase == 256)
        #expect(
            !rooted.isRootDue(now: 30 * day - 1, byteCount: (64 << 20) - 1)
                && rooted.isRootDue(now: 30 * day, byteCount: 0))
        let random = SeededGenerator(seed: 3)
        let closing = DueLinks(closings: [world.account(0)], ends: [], betterRoot: false, unconfirmed: [])
        let end = DueLinks(closings: [], ends: [log.instance], betterRoot: false, unconfirmed: [])
        #expect(machine.delay(before: closing, random) == 0)
        var delays: Set<Milliseconds> = []
        for _ in 0..<200 {
            delays.insert(machine.delay(before: end, random))
            #expect(0...hour ~= MachineWorld.Machine.delayBeforeRoot(random))
        }
        #expect(delays.count > 150 && delays.allSatisfy { 0...60_000 ~= $0 } && delays.contains { $0 > 30_000 })
        let foreign = world.machine("w")
        #expect((0..<50).contains { _ in foreign.delay(before: closing, random) > 0 })
    }

    @Test(
        "section 10: of one device 65,536 entries or 64 MiB wait for their past, in however many logs; others have room"
    )
    func unappliedAllowance() throws {
        let world = MachineWorld(devices: [["a", "b", "c"]])
        let logs = (0..<3).map { world.context("b", nonce: UInt8($0)) }
        // Nothing can be applied: the first entries are missing.
        var entries: [VerifiedEntry] = []
        let firsts = logs.map { world.entry($0, 1) }
        for index in 0..<64 {
            let before = index < 3 ? firsts[index] : entries[index - 3]
            entries.append(world.entry(logs[index % 3], before.number + 1, after: before))
        }
        var machine = world.machine("a")
        machine.store.entryByteCount = 1 << 20
        machine.sync(world, entries)
        var room = machine.unappliedAllowance()
        let more = world.entry(world.context("b", nonce: 9), 2, after: firsts[0])
        let foreign = world.entry(world.context("c"), 1)
        let answers = [
            room.admits(more, byteCount: 1), room.admits(foreign, byteCount: 64 << 20),
            room.admits(foreign, byteCount: 1),
        ]
        #expect(answers == [false, true, false])
        machine.store.entryByteCount = 100
        room = machine.unappliedAllowance()
        var count = 64
        while room.admits(more, byteCount: 1), count <= 1 << 20 { count += 1 }
        #expect(count == 65_536)
        // Their past comes: they are applied, and there is room again.
        machine.sync(world, firsts)
        room = machine.unappliedAllowance()
        let hasRoom = room.admits(more, byteCount: 64 << 20)
        #expect(machine.pending.isEmpty && hasRoom)
        #expect(machine.missingNames(head: nil, behind: [more.name]) == [])
        machine.store.put(StoredEntry(more))
        let nowhere = world.entry(world.context("c"), 3, after: world.entry(world.context("c"), 2), seen: [foreign])
        machine.store.put(StoredEntry(nowhere))
        let asked = machine.missingNames(head: Frontier([foreign.instance: foreign.mark]), behind: [nowhere.name])
        #expect(asked == [foreign.name, try #require(nowhere.body.before)])
    }

    @Test("section 8, Keys: at most 4 keys of epochs to come are kept, 30 days, and none of epochs that are here")
    func keysAside() throws {
        var aside = KeysAside()
        func name(_ number: UInt64) -> BlobName { BlobName(Bytes32(number, 0, 0, 0)) }
        var kept = [aside.keep(name(1), ofEpoch: 3, newest: 3, now: 0)]
        for number in 1...5 {
            kept.append(aside.keep(name(UInt64(number)), ofEpoch: 3 + UInt32(number), newest: 3, now: 0))
        }
        // It is kept already.
        kept.append(aside.keep(name(2), ofEpoch: 5, newest: 3, now: 0))
        #expect(kept == [false, true, true, true, true, false, true])
        let taken = aside.take(upTo: 5)
        #expect(taken.map(\.epoch) == [4, 5] && taken.map(\.object) == [name(1), name(2)] && aside.kept.count == 2)
        for now in 1..<90 { aside.forgetOld(now: Milliseconds(now) * 100 * day) }
        #expect(aside.kept.count == 2)
        aside.forgetOld(now: 9_000 * day)
        #expect(aside.kept.isEmpty)
    }
}
