// Two bases of which each leaves out what the other has (Spec/history.md section 8, C9).

import CoffretBase
import CoffretCrypto
import CoffretHistorySupport
import CoffretStorage
import CoffretTrust
import Testing

@testable import CoffretHistory

@Suite("Bases of histories that leave out each other's words")
struct MachineBaseTests {
    /// Ada has `a` and a phone `p`, Bob has `b` and a phone `q`. The server withholds p's words from Bob and q's from Ada.
    /// Each writes a root, and closes the phone whose words it does not have.
    struct Camps {
        let world = MachineWorld(devices: [["a", "p"], ["b", "q"]])
        let fromP: VerifiedEntry
        let fromQ: VerifiedEntry
        /// Bob's, over q's.
        let over: VerifiedEntry
        var ada: MachineWorld.Machine
        var bob: MachineWorld.Machine

        /// - Parameters:
        ///   - closesWithRoots: a closing link is the base of its author, or the root before it is.
        ///   - bobWrites: Bob wrote over q's words, so Ada's root leaves out an open log, too.
        init(closesWithRoots: Bool, bobWrites: Bool = true) {
            fromP = world.entry(world.context("p"), 1, changes: [MachineWorld.put(1, "from p")])
            fromQ = world.entry(world.context("q"), 1, changes: [MachineWorld.put(2, "from q")])
            over = world.entry(
                world.context("b"), 1, seen: [fromQ], changes: [MachineWorld.put(2, "over q", replacing: [fromQ])])
            (ada, bob) = (world.machine("a"), world.machine("b"))
            let bobs = bobWrites ? [fromQ, over] : [fromQ]
            ada.sync(world, [fromP])
            bob.sync(world, bobs)
            root(by: "a", [fromP], of: ada)
            ada.sync(world)
            root(by: "b", bobs, of: bob)
            world.revoke("p")
            if closesWithRoots {
                root(by: "b", bobs, base: 3, of: bob, closes: 0)
            } else {
                world.link(by: "b", opens: true, heads: [0], checkpoint: checkpoint(bobs, base: 3))
            }
            world.revoke("q")
            if closesWithRoots {
                root(by: "a", [fromP], base: 2, of: ada, closes: 1)
            } else {
                world.link(by: "a", opens: true, heads: [1], checkpoint: checkpoint([fromP], base: 2))
            }
            // Each goes on from his own, as long as the server withholds the rest.
            ada.sync(world)
            bob.sync(world)
        }

        func checkpoint(_ tips: [VerifiedEntry], base: Int?, root: BlobName? = nil) -> Checkpoint {
            Checkpoint(
                base: base.map { UInt32($0) },
                accepted: Frontier(Dictionary(uniqueKeysWithValues: tips.map { ($0.instance, $0.mark) })), root: root,
                digest: Bytes32(0, 0, 0, 0), factCount: 0)
        }

        mutating func root(
            by name: String, _ tips: [VerifiedEntry], base: Int? = nil, of machine: MachineWorld.Machine,
            closes account: Int? = nil
        ) {
            var tree: [FactKey: CurrentFacts] = [:]
            for number in 1...2 where !machine.texts(number).isEmpty {
                tree[MachineWorld.key(number)] = machine.facts(under: MachineWorld.key(number))
            }
            let root = MachineWorld.rootName(tree)
            world.link(
                by: name, opens: account != nil, heads: account.map { [$0] } ?? [],
                checkpoint: checkpoint(tips, base: base, root: root))
            show(tree)
        }

        mutating func show(_ tree: [FactKey: CurrentFacts]) {
            world.trees[MachineWorld.rootName(tree)] = tree
            (ada.store.trees, bob.store.trees) = (world.trees, world.trees)
        }

        /// What a device plans for a better root.
        func better(by name: String, _ machine: MachineWorld.Machine) throws -> CheckpointPlan {
            var machine = machine
            world.link(by: name)
            machine.follow(accounts: world.accounts, chain: machine.members.chain)
            return machine.plan(for: try #require(world.chain.links.last), writesRoot: true, covers: true)
        }

        /// The facts that count if all does: what was written over q's words stays written over them.
        var all: [FactKey: CurrentFacts] {
            func facts(_ entry: VerifiedEntry, _ text: String) -> CurrentFacts {
                [entry.dot: CurrentFact(height: entry.height, content: .inPlace(Array(text.utf8)))]
            }
            return [MachineWorld.key(1): facts(fromP, "from p"), MachineWorld.key(2): facts(over, "over q")]
        }
    }

    @Test(
        "C9: who passes a root over writes one that accepts both, limits or not, and all take it",
        arguments: [false, true])
    func covers(closesWithRoots: Bool) throws {
        var camps = Camps(closesWithRoots: closesWithRoots)
        let (adas, bobs) = closesWithRoots ? (5, 4) : (2, 3)
        #expect(camps.ada.base == adas && camps.bob.base == bobs)
        #expect(camps.ada.passedOver == nil && camps.bob.passedOver == nil, "nothing is proven")
        // All comes. The one with the older base passes the other's over, and neither may count what the other has.
        camps.ada.sync(camps.world, [camps.fromQ, camps.over])
        camps.bob.sync(camps.world, [camps.fromP])
        var (writer, reader) = closesWithRoots ? (camps.bob, camps.ada) : (camps.ada, camps.bob)
        let name = closesWithRoots ? "b" : "a"
        #expect(writer.passedOver == max(adas, bobs) && reader.passedOver == nil && writer.refuted == [])
        let (isDue, isOthers) = (writer.due().betterRoot, reader.due().betterRoot)
        #expect(isDue && !isOthers)
        let plan = try camps.better(by: name, writer)
        #expect(plan.root == MachineWorld.rootName(camps.all) && plan.summary == writer.store.summary(of: camps.all))
        #expect(
            plan.accepted
                == Frontier([camps.fromP, camps.fromQ, camps.over].reduce(into: [:]) { $0[$1.instance] = $1.mark }))
        camps.show(camps.all)
        let link = camps.world.link(
            by: name,
            checkpoint: camps.checkpoint([camps.fromP, camps.fromQ, camps.over], base: writer.base, root: plan.root))
        for machine in [writer, reader] {
            var machine = machine
            machine.store.trees = camps.world.trees
            machine.sync(camps.world)
            #expect(machine.base == link && machine.baseTrust == .verified && machine.passedOver == nil)
            #expect(machine.texts(1) == ["from p"] && machine.texts(2) == ["over q"])
            let due = machine.due()
            #expect(due.isEmpty, "nobody writes another one")
        }
    }

    @Test(
        "C9: who cannot cover both gives way after a day, if closed logs alone are left out", arguments: [false, true])
    func givesWay(bobWrites: Bool) throws {
        // Bob knows that p's words exist and was not given them.
        var camps = Camps(closesWithRoots: true, bobWrites: bobWrites)
        camps.bob.store.here[camps.fromP.name] = camps.fromP.dot
        let hour: Milliseconds = 3_600_000
        for now in 0..<3 {
            camps.bob.sync(camps.world, now: Milliseconds(now) * 8 * hour)
            #expect(camps.bob.passedOver == 5 && camps.bob.base == 4)
        }
        let plan = try camps.better(by: "b", camps.bob)
        #expect(plan.root == nil, "he writes no root that would be passed over too")
        var late = camps.bob
        late.sync(camps.world, [camps.fromP], now: 24 * hour)
        #expect(late.base == 4 && late.passedOver == 5, "who can cover both does")
        camps.bob.sync(camps.world, now: 24 * hour)
        if bobWrites {
            #expect(camps.bob.base == 4 && camps.bob.passedOver == 5, "words of an open log are not given up")
        } else {
            #expect(camps.bob.base == 5 && camps.bob.baseTrust == .unverified && camps.bob.passedOver == nil)
            #expect(camps.bob.texts(1) == ["from p"] && camps.bob.texts(2) == [])
        }
    }

    @Test("L1: what was passed over is stored, and a state in which it is not above the base is none")
    func stored() throws {
        var camps = Camps(closesWithRoots: true)
        camps.bob.sync(camps.world, [camps.fromP])
        func resumed(_ change: (inout MachineState) -> Void) throws -> MachineWorld.Machine? {
            var machine = camps.bob
            var state = machine.suspend()
            change(&state)
            return try? HistoryMachine.resumed(
                from: MachineState(decoding: state.encoded), store: machine.store, account: machine.account,
                device: machine.device, accounts: machine.members.accounts, chain: machine.members.chain
            ).get()
        }
        #expect(try resumed { _ in }?.passedOver == 5)
        for link in [4, 6] as [UInt32] { #expect(try resumed { $0.passedOver = link } == nil) }
    }
}
