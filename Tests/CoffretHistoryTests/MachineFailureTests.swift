// Stores that fail in the middle of a sync, and how much of a store a new process reads.

import CoffretBase
import CoffretHistorySupport
import CoffretStorage
import CoffretTrust
import Testing

@testable import CoffretHistory

@Suite("Failures and openings of histories")
struct MachineFailureTests {
    /// Two logs, a revocation with a root, a fork with its end, and an entry that comes before what it replaces.
    private func world() -> (world: MachineWorld, entries: [VerifiedEntry]) {
        let world = MachineWorld(devices: [["a", "b", "c"]])
        let (own, other, third) = (world.context("a"), world.context("b"), world.context("c"))
        let one = world.entry(own, 1, changes: [MachineWorld.put(1, "one")])
        let kept = world.entry(other, 1, seen: [one], changes: [MachineWorld.put(2, "kept")])
        let wipe = world.entry(other, 2, after: kept, changes: [MachineWorld.put(1, "wiped", replacing: [one])])
        let left = world.entry(third, 1, seen: [one], changes: [MachineWorld.put(3, "left")])
        let right = world.entry(third, 1, seen: [one], changes: [MachineWorld.put(3, "right")])
        let two = world.entry(own, 2, after: one, changes: [MachineWorld.put(3, "own", replacing: [left])])
        world.revoke("b")
        let end = LogEnd(lastCommonNumber: 0, first: left.name, second: right.name)
        world.link(
            opens: true,
            checkpoint: Checkpoint(
                base: nil,
                accepted: Frontier([
                    own.instance: two.mark, other.instance: kept.mark, third.instance: left.mark,
                ]),
                root: nil, digest: Bytes32(0, 0, 0, 0), factCount: 0, ends: [third.instance: end]))
        return (world, [one, kept, wipe, left, right, two])
    }

    /// Two syncs: the second one brings the link and what it speaks of.
    private func sync(
        _ machine: inout HistoryMachine<FailingHistoryStore>, _ world: MachineWorld, _ entries: [VerifiedEntry]
    ) throws {
        machine.follow(
            accounts: world.known([3]), chain: shortened(world.chain, to: max(1, machine.members.takenCount)))
        for entry in entries.prefix(4) { machine.store.inner.put(StoredEntry(entry)) }
        try machine.receive(entries.prefix(4).map(\.name))
        try machine.settle(now: 0) { _ in false }
        machine.follow(accounts: world.accounts, chain: world.chain)
        for entry in entries.suffix(2) { machine.store.inner.put(StoredEntry(entry)) }
        try machine.receive(entries.suffix(2).map(\.name))
        try machine.settle(now: 0) { _ in false }
        try machine.flush()
    }

    private func facts(_ machine: HistoryMachine<FailingHistoryStore>) -> [CurrentFacts] {
        (1...3).map { machine.store.inner.facts(under: MachineWorld.key($0)) }
    }

    @Test("a store that fails at any question fails the sync, and the next process ends where no failure would have")
    func failures() throws {
        let (world, entries) = world()
        let failing = Failing()
        let store = FailingHistoryStore(inner: world.machine("a").store, failing: failing)
        var fresh = HistoryMachine(store: store, account: world.account(0), device: world.device("a"))
        fresh.follow(accounts: world.known([3]), chain: shortened(world.chain, to: 1))
        let state = try fresh.suspend()
        var whole = fresh
        failing.asked = 0
        try sync(&whole, world, entries)
        let count = failing.asked
        let expected = try whole.suspend()
        let shown = facts(whole)
        #expect(count > 60 && shown.map(\.count) == [1, 1, 2])
        for place in 1...count {
            var machine = fresh
            (failing.asked, failing.failsAt) = (0, place)
            var failed = false
            do { try sync(&machine, world, entries) } catch { failed = error is StoreFailed }
            // The order of questions may differ from run to run by a few.
            #expect(failed || failing.asked < place && place > count / 2, "question \(place) of \(count)")
            failing.failsAt = nil
            // Entries are durable before they are applied; the tree and the state are those of before.
            var store = fresh.store
            for entry in entries { store.inner.put(StoredEntry(entry)) }
            var next = try HistoryMachine.resumed(
                from: state, store: store, account: world.account(0), device: world.device("a"),
                accounts: world.accounts, chain: world.chain
            ).get()
            try next.receive(entries.map(\.name))
            try sync(&next, world, entries)
            let ended = try next.suspend()
            #expect(
                facts(next) == shown && ended.summary == expected.summary && ended.logs == expected.logs, "\(place)")
        }
    }

    private func shortened(_ chain: MemberState, to count: Int) -> MemberState {
        var state = MemberState()
        for link in chain.links.prefix(count) { state.append(link) }
        return state
    }

    @Test("a new process reads a few entries of each log, however long the logs are")
    func opening() throws {
        var reads: [Int] = []
        for count in [100, 1_000, 10_000] {
            let world = MachineWorld(devices: [["a", "b"]])
            let logs = [world.context("a"), world.context("b")]
            var machine = world.machine("a")
            var last: [VerifiedEntry?] = [nil, nil]
            var entries: [VerifiedEntry] = []
            for number in 0..<count {
                let author = number % 2
                let entry = world.entry(
                    logs[author], EntryNumber(number / 2 + 1), after: last[author],
                    changes: [MachineWorld.put(number, "\(number)")])
                last[author] = entry
                entries.append(entry)
            }
            machine.sync(world, entries)
            let state = try MachineState(decoding: machine.suspend().encoded)
            let before = machine.store.counter.reads + machine.store.counter.facts
            var back = try HistoryMachine.resumed(
                from: state, store: machine.store, account: world.account(0), device: world.device("a"),
                accounts: world.accounts, chain: world.chain
            ).get()
            let next = world.entry(
                logs[0], EntryNumber(count / 2 + 1), after: last[0], changes: [MachineWorld.put(0, "next")])
            back.store.put(StoredEntry(next))
            back.write(next)
            reads.append(machine.store.counter.reads + machine.store.counter.facts - before)
            #expect(back.texts(0) == ["0", "next"] && back.frontier.number(of: next.instance) == next.number)
        }
        #expect(Set(reads).count == 1 && reads[0] < 10, "\(reads)")
    }
}
