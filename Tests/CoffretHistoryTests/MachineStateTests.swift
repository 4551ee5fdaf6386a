// What is stored of a machine, and what a damaged state is worth. That it goes on as if it had never stopped, replays of
// the model show.

import CoffretBase
import CoffretHistorySupport
import CoffretStorage
import Testing

@testable import CoffretHistory

@Suite("Stored states of histories")
struct MachineStateTests {
    /// A device in the middle of things: a closed log, one that waits, an early replacement, an end without evidence.
    private func machine() -> (world: MachineWorld, machine: MachineWorld.Machine) {
        let world = MachineWorld(devices: [["a", "b", "c"]])
        let (own, other, third) = (world.context("a"), world.context("b"), world.context("c"))
        let one = world.entry(own, 1, changes: [MachineWorld.put(1, "one")])
        let closed = world.entry(other, 1, changes: [MachineWorld.put(2, "b")])
        let lost = world.entry(other, 2, after: closed, changes: [MachineWorld.put(2, "lost")])
        let early = world.entry(third, 1, changes: [MachineWorld.put(2, nil, replacing: [lost])])
        let unseen = world.entry(own, 2, after: one)
        let waiting = world.entry(third, 2, after: early, seen: [unseen])
        world.revoke("b")
        let none = BlobName(Bytes32(1, 1, 1, 1))
        let end = LogEnd(lastCommonNumber: 0, first: one.name, second: none)
        world.link(
            opens: true,
            checkpoint: Checkpoint(
                base: nil, accepted: Frontier([other.instance: closed.mark]), root: nil, digest: Bytes32(0, 0, 0, 0),
                factCount: 0, ends: [own.instance: end]))
        var machine = world.machine("a")
        machine.sync(world, [one, closed, early, waiting], now: 1_000)
        return (world, machine)
    }

    private func resumed(
        _ state: MachineState, _ world: MachineWorld, _ store: MemoryHistoryStore
    ) throws -> MachineWorld.Machine {
        try HistoryMachine.resumed(
            from: state, store: store, account: world.account(0), device: world.device("a"),
            accounts: world.accounts, chain: world.chain
        ).get()
    }

    @Test("a machine goes on from its stored state as if it had not stopped")
    func goesOn() throws {
        var (world, machine) = machine()
        let state = machine.suspend()
        #expect(machine.replacedEarly.count == 1 && machine.lackedEnds.count == 1 && !machine.pending.isEmpty)
        let read = try MachineState(decoding: state.encoded)
        #expect(read == state)
        var back = try resumed(read, world, machine.store)
        let again = back.suspend()
        #expect(again == state, "what was read is stored again byte for byte")
        for text in [1, 2] { #expect(back.texts(text) == machine.texts(text)) }
        machine.sync(world, now: 30_000)
        back.sync(world, now: 30_000)
        let (one, other) = (machine.suspend(), back.suspend())
        #expect(one == other)
    }

    @Test("the stored state does not grow with the history")
    func size() throws {
        let world = MachineWorld(devices: [["a"]])
        let log = world.context("a")
        var machine = world.machine("a")
        var last: VerifiedEntry?
        var sizes: [Int] = []
        for number in 1...400 {
            let entry = world.entry(log, EntryNumber(number), after: last, changes: [MachineWorld.put(number, "x")])
            last = entry
            machine.sync(world, [entry])
            if number % 200 == 0 { sizes.append(machine.suspend().encoded.count) }
        }
        #expect(sizes[0] == sizes[1] || sizes[1] - sizes[0] <= 2, "\(sizes)")
    }

    @Test("a state with a changed bit is refused, or says something else; none ends the program")
    func damaged() throws {
        var (world, machine) = machine()
        let state = machine.suspend()
        let bytes = state.encoded
        var refused = 0
        for place in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << bit
                do throws(HistoryError) {
                    let read = try MachineState(decoding: changed)
                    #expect(read != state)
                    do {
                        var back = try resumed(read, world, machine.store)
                        back.sync(world, now: 2_000)
                    } catch { refused += 1 }
                } catch {
                    #expect(error.code == .stateMalformed)
                    refused += 1
                }
            }
        }
        #expect(refused > bytes.count, "\(refused) of \(8 * bytes.count)")
    }

    @Test("a state that does not fit the links or the entries that are here is refused, each field by itself")
    func doesNotFit() throws {
        var (world, machine) = machine()
        let state = machine.suspend()
        func code(_ change: (inout MachineState) -> Void, _ store: MemoryHistoryStore? = nil) -> String {
            var changed = state
            change(&changed)
            do {
                _ = try resumed(changed, world, store ?? machine.store)
                return ""
            } catch let error as HistoryError {
                return error.description
            } catch { return "\(error)" }
        }
        #expect(code { _ in } == "")
        #expect(code { $0.takenCount = 9 } == "storage.state.malformed at links taken")
        // A link without a root is no base.
        #expect(code { $0.base = 1 } == "storage.state.malformed at base")
        #expect(code { $0.base = 7 } == "storage.state.malformed at base")
        #expect(code { $0.refuted = [7] } == "storage.state.malformed at refuted")
        #expect(code { $0.believed = [7] } == "storage.state.malformed at believed")
        #expect(code { $0.purged = [7] } == "storage.state.malformed at purges")
        #expect(
            code { $0.lackedEnds[0] = EndPlace(link: 0, instance: $0.lackedEnds[0].instance) }.hasSuffix("at ends"))
        // A store that never had these entries.
        let empty = MemoryHistoryStore(rootName: MachineWorld.rootName)
        #expect(code({ _ in }, empty).hasPrefix("storage.state.malformed at frontier of"))
        // Two logs with each other's marks, and with each other's devices.
        #expect(
            code {
                let (one, two) = ($0.logs[0], $0.logs[1])
                $0.logs[0].applied = two.applied
                $0.logs[1].applied = one.applied
            }.hasPrefix("storage.state.malformed at frontier of"))
        #expect(
            code {
                let (one, two) = ($0.logs[0], $0.logs[1])
                $0.logs[0].owner = two.owner
                $0.logs[1].owner = one.owner
            }.hasPrefix("storage.state.malformed at owner of"))
    }
}
