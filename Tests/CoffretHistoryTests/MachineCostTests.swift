// What a history costs: reads for each entry do not grow with it.

import CoffretBase
import CoffretHistorySupport
import CoffretStorage
import Testing

@testable import CoffretHistory

@Suite("Cost of histories")
struct MachineCostTests {
    /// Two authors write in turn, every eleventh entry without having seen the other's newest; a third device takes all.
    private func reads(of count: Int, inBatchesOf batch: Int) -> (reads: [Int], machine: MachineWorld.Machine) {
        let world = MachineWorld(devices: [["a", "b", "c"]])
        let contexts = [world.context("a"), world.context("b")]
        var newest: [VerifiedEntry?] = [nil, nil]
        var said: [VerifiedEntry?] = [nil, nil]
        var entries: [VerifiedEntry] = []
        for number in 0..<count {
            let author = number % 2
            let other = number % 11 == 0 ? nil : newest[1 - author]
            let seen = other.map { said[author]?.name == $0.name ? [] : [$0] } ?? []
            let own = newest[author]
            let entry = world.entry(
                contexts[author], (own?.number ?? 0) + 1, after: own, height: EntryNumber(number + 1), seen: seen,
                changes: [MachineWorld.put(number % 10_000, "\(number)")])
            if let other { said[author] = other }
            newest[author] = entry
            entries.append(entry)
        }
        var machine = world.machine("c")
        var reads: [Int] = []
        for start in stride(from: 0, to: count, by: batch) {
            let before = machine.store.counter.reads + machine.store.counter.facts
            // The server gives a batch in any order.
            machine.sync(world, entries[start..<min(start + batch, count)].reversed())
            reads.append(machine.store.counter.reads + machine.store.counter.facts - before)
            machine.flush()
        }
        return (reads, machine)
    }

    @Test("100,000 entries by two authors: each batch costs as many reads as the first")
    func flat() throws {
        let (reads, machine) = reads(of: 100_000, inBatchesOf: 1_000)
        let (first, last) = (try #require(reads.first), try #require(reads.last))
        #expect(machine.frontier.marks.values.map(\.number).reduce(0, +) == 100_000)
        #expect(machine.pending.isEmpty && machine.waiting.isEmpty && machine.changedKeyCount == 0)
        #expect(last * 10 <= first * 13, "\(first) reads for the first 1,000, \(last) for the last")
        #expect(last <= 12 * 1_000)
    }

    @Test("a closing takes back what lies above its limit by reading what that log and its keys have, and no other log")
    func closing() throws {
        let world = MachineWorld(devices: [["a", "thief"]])
        let (own, other) = (world.context("a"), world.context("thief"))
        var machine = world.machine("a")
        var last: VerifiedEntry?
        var entries: [VerifiedEntry] = []
        for number in 1...5_000 {
            let entry = world.entry(own, EntryNumber(number), after: last, changes: [MachineWorld.put(number, "x")])
            entries.append(entry)
            last = entry
        }
        let kept = world.entry(other, 1, changes: [MachineWorld.put(1, "kept")])
        let wipe = world.entry(
            other, 2, after: kept, changes: [MachineWorld.put(2, "wiped", replacing: [entries[1]])])
        machine.sync(world, entries + [kept, wipe])
        #expect(machine.texts(2) == ["wiped"])
        world.revoke("thief")
        world.link(
            opens: true,
            checkpoint: Checkpoint(
                base: nil, accepted: Frontier([other.instance: kept.mark, own.instance: last!.mark]), root: nil,
                digest: Bytes32(0, 0, 0, 0), factCount: 0))
        let before = machine.store.counter.reads
        machine.sync(world)
        #expect(machine.texts(2) == ["x"] && machine.texts(1) == ["kept", "x"])
        #expect(machine.frontier.number(of: other.instance) == 1)
        #expect(machine.store.counter.reads - before < 40)
    }
}
