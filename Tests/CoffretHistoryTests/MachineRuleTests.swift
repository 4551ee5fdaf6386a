// Rules of histories one by one, where a world shows them rarely (Spec/history.md sections 4, 6 and 8).

import CoffretBase
import CoffretCrypto
import CoffretHistorySupport
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretHistory

@Suite("Rules of histories")
struct MachineRuleTests {
    private func checkpoint(
        _ tips: [VerifiedEntry], base: Int? = nil, root: BlobName? = nil, ends: [InstanceID: LogEnd] = [:],
        refutes: [Int] = []
    ) -> Checkpoint {
        Checkpoint(
            base: base.map { UInt32($0) },
            accepted: Frontier(Dictionary(uniqueKeysWithValues: tips.map { ($0.instance, $0.mark) })), root: root,
            digest: Bytes32(0, 0, 0, 0), factCount: 0, ends: ends, refutes: refutes.map { UInt32($0) })
    }

    @Test("S2 to S6: which code ends a log, and what waits")
    func staticChecks() throws {
        let world = MachineWorld(devices: [["a", "b"], ["w"], ["v"]])
        world.revoke("b")
        world.link(opens: true)
        world.link(removing: [2], opens: true)
        let view = MemberView(accounts: world.accounts, chain: world.chain, takenCount: world.chain.count)
        func code(_ context: EntryContext, behind before: EntryContext? = nil, heights: (Height, Height) = (1, 2))
            -> String
        {
            let old = before.map { world.entry($0, 1, height: heights.0) }
            let entry = world.entry(context, old == nil ? 1 : 2, after: old, height: heights.1)
            do throws(HistoryError) {
                try view.check(entry, behind: old)
                return ""
            } catch {
                return error.code.rawValue
            }
        }
        let newest = world.chain.count - 1
        #expect(code(world.context("a")) == "")
        #expect(code(world.context("a", firstLink: newest, link: 1)) == "storage.entry.instance-foreign")
        #expect(code(world.context("v")) == "storage.entry.not-a-writer")
        #expect(code(world.context("v", link: 2)) == "")
        // At the link where the account was not there yet.
        #expect(code(world.context("w", link: 0)) == "storage.entry.not-a-writer")
        // A device that is revoked, at the head that it states, and at one that the chain left behind.
        #expect(code(world.context("b")) == "storage.entry.not-a-writer")
        #expect(code(world.context("b", head: 1)) == "storage.entry.not-a-writer")
        #expect(code(world.context("b", link: 2, head: 1)) == "")
        // Epochs: behind a closing only the one that it opened, and none that is not open yet.
        #expect(code(world.context("a", epoch: 1)) == "storage.entry.epoch-differs")
        #expect(code(world.context("a", epoch: 4)) == "storage.entry.epoch-differs")
        #expect(code(world.context("a", link: 2, epoch: 2)) == "storage.entry.epoch-differs")
        // S4: nothing goes back within a log.
        let (old, new) = (world.context("a", link: 2), world.context("a"))
        #expect(code(new, behind: old) == "")
        #expect(code(old, behind: new) == "storage.entry.malformed")
        #expect(code(new, behind: old, heights: (2, 2)) == "storage.entry.malformed")
        // Step 3: a link that is not here, or another one.
        let short = MemberView(accounts: world.accounts, chain: world.chain, takenCount: 2)
        #expect(throws: HistoryError.self) { try short.check(world.entry(new, 1), behind: nil) }
        let other = MachineWorld(devices: [["a", "b"], ["w"], ["v"]])
        other.link(by: "w")
        #expect(code(world.context("a", link: 2)) == "")
        let unknown = MemberView(accounts: world.known([1, 1, 1]), chain: world.chain, takenCount: world.chain.count)
        do throws(HistoryError) {
            try unknown.check(world.entry(new, 1), behind: nil)
            Issue.record("a head that is not here does not wait")
        } catch {
            #expect(error.code == .membersWithheld)
        }
    }

    @Test("S1, S7: entries come in any order and one by one, and the state is the same", arguments: 0..<20)
    func anyOrder(seed: UInt64) throws {
        var random = SystemLikeGenerator(seed)
        let world = MachineWorld(devices: [["a", "b", "c"]])
        let contexts = ["a", "b", "c"].map { world.context($0) }
        var newest: [VerifiedEntry?] = [nil, nil, nil]
        var all: [VerifiedEntry] = []
        for _ in 0..<60 {
            let author = Int.random(in: 0..<3, using: &random)
            let others = (0..<3).filter { $0 != author && Bool.random(using: &random) }.compactMap { newest[$0] }
            let known = ([newest[author]] + others.map { $0 }).compactMap { $0 }
            let replaced = known.filter { _ in Bool.random(using: &random) }
            let key = Int.random(in: 0..<3, using: &random)
            let text = Int.random(in: 0..<5, using: &random) == 0 ? nil : "\(all.count)"
            let change = MachineWorld.put(
                key, text, replacing: replaced.filter { $0.body.changes.list[0].key == MachineWorld.key(key) })
            let entry = world.entry(
                contexts[author], (newest[author]?.number ?? 0) + 1, after: newest[author], seen: others,
                changes: [change])
            newest[author] = entry
            all.append(entry)
        }
        var first = world.machine("a")
        first.sync(world, all)
        #expect(first.frontier.marks.values.map(\.number).reduce(0, +) == 60)
        for _ in 0..<3 {
            var other = world.machine("b")
            other.sync(world)
            for entry in all.shuffled(using: &random) {
                other.sync(world, [entry])
                if Bool.random(using: &random) { other.flush() }
            }
            #expect(other.frontier == first.frontier)
            for key in 0..<3 {
                #expect(other.facts(under: MachineWorld.key(key)) == first.facts(under: MachineWorld.key(key)))
            }
            other.rebuild()
            for key in 0..<3 {
                #expect(other.facts(under: MachineWorld.key(key)) == first.facts(under: MachineWorld.key(key)))
            }
        }
    }

    @Test("S7: a log that saw what a closed log wrote above its limit does not wait for it")
    func closedLogsHoldNobody() throws {
        let world = MachineWorld(devices: [["a", "thief"]])
        let stolen = world.context("thief")
        let lost = world.entry(stolen, 1)
        let mine = world.entry(world.context("a"), 1, seen: [lost], changes: [MachineWorld.put(1, "mine")])
        var machine = world.machine("a")
        machine.sync(world, [mine])
        #expect(machine.texts(1) == [])
        world.revoke("thief")
        world.link(opens: true, checkpoint: checkpoint([]))
        machine.sync(world)
        // The log is closed, which can be told only of an instance whose context is here.
        #expect(machine.texts(1) == [])
        machine.sync(world, [lost])
        #expect(machine.texts(1) == ["mine"] && machine.frontier.number(of: lost.instance) == 0)
    }

    @Test("K4: from the revocation on nothing new of the device counts, what was applied stays, also after a restart")
    func revokedWithoutLink() throws {
        let world = MachineWorld(devices: [["a", "thief"]])
        let log = world.context("thief", head: 1)
        let one = world.entry(log, 1, changes: [MachineWorld.put(1, "one")])
        let two = world.entry(log, 2, after: one, changes: [MachineWorld.put(1, "two", replacing: [one])])
        var machine = world.machine("a")
        machine.sync(world, [one])
        world.revoke("thief")
        machine.sync(world, [two])
        #expect(machine.texts(1) == ["one"] && machine.members.accountsDue == [world.account(0)])
        machine.rebuild()
        #expect(machine.texts(1) == ["one"])
        var fresh = world.machine("a")
        fresh.sync(world, [one, two])
        #expect(fresh.texts(1) == [])
    }

    @Test("K6: a fork freezes the log; the link that ends it decides the branch, and replacements behind it fall")
    func fork() throws {
        let world = MachineWorld(devices: [["a", "b"]])
        let log = world.context("b")
        let root = world.entry(log, 1, changes: [MachineWorld.put(1, "root")])
        let left = world.entry(log, 2, after: root, changes: [MachineWorld.put(1, "left", replacing: [root])])
        let right = world.entry(log, 2, after: root, changes: [MachineWorld.put(2, "right")])
        let more = world.entry(log, 3, after: left, changes: [MachineWorld.put(3, "more")])
        let mine = world.entry(
            world.context("a"), 1, seen: [left], changes: [MachineWorld.put(1, "mine", replacing: [left])])
        var machine = world.machine("a")
        machine.sync(world, [root, left, mine])
        #expect(machine.texts(1) == ["mine"])
        machine.sync(world, [right, more])
        #expect(machine.forked == [log.instance] && machine.frontier[log.instance] == left.mark)
        #expect(machine.texts(1) == ["mine"] && machine.texts(3) == [])
        #expect(machine.due().ends == [log.instance])
        let end = LogEnd(lastCommonNumber: 1, first: left.name, second: right.name)
        world.link(checkpoint: checkpoint([right, mine], ends: [log.instance: end]))
        machine.sync(world)
        // The replacement meant "left", or "right": nobody can tell, so it has no effect; "left" itself is gone.
        #expect(machine.frontier[log.instance] == right.mark && machine.texts(1) == ["mine", "root"])
        #expect(machine.texts(2) == ["right"] && machine.due().ends == [])
        var rebuilt = machine
        rebuilt.rebuild()
        #expect(rebuilt.texts(1) == machine.texts(1) && rebuilt.frontier == machine.frontier)
    }

    @Test(
        "K6: a replacement that came before what it replaced loses its effect with the end, in whatever order they come"
    )
    func earlyReplacements() throws {
        let world = MachineWorld(devices: [["a", "b"]])
        let log = world.context("b")
        let (left, right) = (world.entry(log, 1), world.entry(log, 1))
        let next = world.entry(log, 2, after: left, changes: [MachineWorld.put(1, "next")])
        let mine = world.entry(world.context("a"), 1, changes: [MachineWorld.put(1, "mine", replacing: [next])])
        let end = LogEnd(lastCommonNumber: 0, first: left.name, second: right.name)
        world.link(checkpoint: checkpoint([next, mine], ends: [log.instance: end]))
        for first in [[mine], [mine, left, right], [mine, left, right, next], [left, next, mine]] {
            var machine = world.machine("a")
            machine.sync(world, links: 1, first)
            machine.sync(world, [left, right])
            machine.sync(world, [next, mine])
            #expect(machine.texts(1) == ["mine", "next"] && machine.replacedEarly.isEmpty, "\(first.count) first")
            var rebuilt = machine
            rebuilt.rebuild()
            #expect(rebuilt.texts(1) == machine.texts(1) && rebuilt.summary == machine.summary)
        }
    }

    @Test("K6a: a root waits a day for an end's entries, and what was judged without them is judged again")
    func missingEvidence() throws {
        let world = MachineWorld(devices: [["a", "b", "c"]])
        let log = world.context("b")
        let root = world.entry(log, 1, changes: [MachineWorld.put(1, "root")])
        let left = world.entry(log, 2, after: root, changes: [MachineWorld.put(1, "left", replacing: [root])])
        let right = world.entry(log, 2, after: root, changes: [MachineWorld.put(1, "right", replacing: [root])])
        let mine = world.entry(
            world.context("a"), 1, seen: [left], changes: [MachineWorld.put(1, "mine", replacing: [left])])
        // The author of the end has both, and builds a root on it.
        var author = world.machine("c")
        author.sync(world, [root, left, mine])
        author.sync(world, [right])
        let end = LogEnd(lastCommonNumber: 1, first: left.name, second: right.name)
        var (due, mayWriteRoot) = (author.due(), author.mayWriteRoot())
        #expect(due.ends == [log.instance] && mayWriteRoot)
        let link = world.link(by: "c", checkpoint: checkpoint([left, mine], ends: [log.instance: end]))
        author.sync(world)
        #expect(author.texts(1) == ["left", "mine"])
        let tree = [MachineWorld.key(1): author.facts(under: MachineWorld.key(1))]
        world.trees[MachineWorld.rootName(tree)] = tree
        let next = world.link(
            by: "c", checkpoint: checkpoint([left, mine], root: MachineWorld.rootName(tree)))
        author.store.trees = world.trees
        author.sync(world)
        // A reader who was not given one of the two: he asks for it, writes no root and refutes none.
        var reader = world.machine("a")
        let hour: Milliseconds = 3_600_000
        for now in 0..<3 {
            reader.sync(world, [root, left, mine], now: Milliseconds(now) * 8 * hour)
            (due, mayWriteRoot) = (reader.due(), reader.mayWriteRoot())
            #expect(reader.missingEvidence() == [right.name] && !mayWriteRoot && reader.refuted == [])
            #expect(reader.base == nil && !due.betterRoot)
        }
        var dark = reader
        dark.sync(world, now: 24 * hour)
        mayWriteRoot = dark.mayWriteRoot()
        #expect(mayWriteRoot && dark.refuted == [next], "after a day the end says nothing")
        // Both ways he ends where the author is.
        for late in [reader, dark] {
            var late = late
            late.sync(world, [right], now: 25 * hour)
            let limit = late.limit(of: log.instance)
            #expect(late.missingEvidence() == [] && late.base == next && late.refuted == [])
            #expect(limit?.link == link && limit?.number == 2)
            #expect(late.texts(1) == author.texts(1) && late.frontier == author.frontier)
        }
        // An end that names one entry twice, or one of another log, is not waited for.
        for second in [left, mine] {
            let other = MachineWorld(devices: [["a", "b", "c"]])
            let end = LogEnd(lastCommonNumber: 1, first: left.name, second: second.name)
            other.link(by: "c", checkpoint: checkpoint([mine], ends: [log.instance: end]))
            var machine = world.machine("a")
            machine.sync(other, [root, left, mine])
            mayWriteRoot = machine.mayWriteRoot()
            #expect(machine.missingEvidence() == [] && mayWriteRoot)
        }
    }

    @Test("C9: a root that accepts more of a closed log than the link that closed it is refuted by every reader")
    func raisedLimit() throws {
        let world = MachineWorld(devices: [["a", "b"], ["w"]])
        let one = world.entry(world.context("b"), 1, changes: [MachineWorld.put(1, "one")])
        let two = world.entry(world.context("b"), 2, after: one, changes: [MachineWorld.put(2, "dated back")])
        world.revoke("b")
        world.link(opens: true, checkpoint: checkpoint([one]))
        var author = world.machine("a")
        author.sync(world, links: 2, known: [2, 1], [one, two])
        let facts = [1, 2].map { (MachineWorld.key($0), author.facts(under: MachineWorld.key($0))) }
        let tree = Dictionary(uniqueKeysWithValues: facts)
        let root = MachineWorld.rootName(tree)
        world.trees[root] = tree
        let raising = world.link(by: "w", checkpoint: checkpoint([two], root: root))
        var reader = world.machine("a")
        reader.sync(world, [one, two])
        #expect(reader.computedRoot(at: Frontier([two.instance: two.mark]), from: nil) == root, "the tree is right")
        #expect(reader.refuted == [raising] && reader.base == nil && reader.texts(2) == [])
        let due = reader.due()
        #expect(due.betterRoot)
    }

    @Test("section 6: of a closed log without its tip nothing counts until the gap closes")
    func gap() throws {
        let world = MachineWorld(devices: [["a", "b"]])
        let log = world.context("b")
        var entries: [VerifiedEntry] = []
        for number in 1...4 {
            entries.append(
                world.entry(
                    log, EntryNumber(number), after: entries.last, changes: [MachineWorld.put(number, "\(number)")]))
        }
        var machine = world.machine("a")
        machine.sync(world, Array(entries[..<2]))
        #expect(machine.frontier.number(of: log.instance) == 2)
        world.revoke("b")
        world.link(opens: true, checkpoint: checkpoint([entries[3]]))
        machine.sync(world)
        #expect(machine.frontier.number(of: log.instance) == 0 && machine.texts(1) == [])
        machine.sync(world, [entries[3]])
        #expect(machine.frontier.number(of: log.instance) == 0)
        machine.sync(world, [entries[2]])
        #expect(machine.frontier.number(of: log.instance) == 4 && machine.texts(4) == ["4"])
    }

    @Test("E7: an entry that this program cannot read ends its log here until a newer one reads it")
    func unsupported() throws {
        let world = MachineWorld(devices: [["a", "b"]])
        let one = world.entry(world.context("b"), 1, changes: [MachineWorld.put(1, "new")])
        let two = world.entry(world.context("b"), 2, after: one, changes: [MachineWorld.put(2, "old")])
        var machine = world.machine("a")
        machine.store.unsupported = [one.name]
        machine.sync(world, [one, two])
        #expect(machine.texts(1) == [] && machine.texts(2) == [])
        let obstacle = machine.obstacle(to: LinkPurpose(), hasUnreadable: true, now: 0)
        #expect(obstacle == .programTooOld)
        machine.store.unsupported = []
        machine.programChanged()
        machine.sync(world)
        #expect(machine.texts(1) == ["new"] && machine.texts(2) == ["old"])
    }

    @Test("N1: a clock that jumps ends no wait and lengthens none by more than eight hours")
    func waits() {
        let hour: Milliseconds = 3_600_000
        var waits = Waits()
        func passed(_ now: Milliseconds) -> Bool { waits.passed(24 * hour, for: .base(link: 1), now: now) }
        #expect(!passed(0) && !passed(100_000 * hour) && !passed(-500_000 * hour) && !passed(-499_999 * hour))
        #expect(waits.waits[.base(link: 1)]?.passed == 9 * hour)
        #expect(!passed(.max) && waits.waits[.base(link: 1)]?.passed == 17 * hour)
        #expect(!passed(.min) && waits.waits[.base(link: 1)]?.passed == 17 * hour)
        #expect(passed(.min + 7 * hour))
        waits.end(.base(link: 1))
        #expect(!passed(0))
    }

    @Test("C2: a plain checkpoint has what proven ones accept; one that closes waits for nothing")
    func plainCheckpoints() throws {
        let world = MachineWorld(devices: [["a", "b", "c"]])
        let one = world.entry(world.context("b"), 1, changes: [MachineWorld.put(1, "one")])
        let two = world.entry(world.context("b"), 2, after: one)
        let three = world.entry(world.context("b"), 3, after: two)
        var machine = world.machine("a")
        machine.sync(world, [one])
        world.link(by: "b", checkpoint: checkpoint([three], root: BlobName(Bytes32(1, 1, 1, 1))))
        machine.sync(world, [three])
        #expect(machine.frontier.number(of: one.instance) == 1)
        let link = world.chain.count - 1
        let purposes = [LinkPurpose(), LinkPurpose(changesRoles: true), LinkPurpose(opensEpoch: true)]
        let obstacles = purposes.map { machine.obstacle(to: $0, hasUnreadable: false, now: 0) }
        #expect(obstacles == [.lacks(link: link), nil, nil])
        world.revoke("c")
        machine.sync(world)
        let (closing, due) = (machine.obstacle(to: LinkPurpose(), hasUnreadable: false, now: 0), machine.due())
        #expect(closing == nil && due.closings == [world.account(0)])
    }

    @Test("C4, C6: a false root is refuted and its author's link says so; a true one becomes the base")
    func roots() throws {
        let world = MachineWorld(devices: [["a", "b"]])
        let entry = world.entry(world.context("b"), 1, changes: [MachineWorld.put(1, "one")])
        let fact = [entry.dot: CurrentFact(height: 1, content: .inPlace(Array("one".utf8)))]
        let good = MachineWorld.rootName([MachineWorld.key(1): fact])
        let bad = MachineWorld.rootName([:])
        world.trees = [good: [MachineWorld.key(1): fact], bad: [:]]
        world.link(by: "b", checkpoint: checkpoint([entry], root: bad))
        let wrong = world.chain.count - 1
        var machine = world.machine("a")
        machine.sync(world, [entry])
        #expect(machine.refuted == [wrong] && machine.base == nil && machine.due().betterRoot)
        world.link(by: "b", checkpoint: checkpoint([entry], root: good))
        machine.sync(world)
        #expect(machine.base == wrong + 1 && machine.baseTrust == .verified && !machine.due().betterRoot)
        // Without the tip it says nothing (C4), also where the name is one that is here under another number.
        var away = world.machine("a")
        away.sync(world)
        #expect(away.base == nil && !away.isProven(wrong + 1))
        let moved = EntryMark(number: 7, name: entry.name)
        world.link(
            by: "b",
            checkpoint: Checkpoint(
                base: nil, accepted: Frontier([entry.instance: moved]), root: bad, digest: Bytes32(0, 0, 0, 0),
                factCount: 0))
        machine.sync(world)
        #expect(!machine.isProven(wrong + 2) && machine.base == wrong + 1)
    }

    @Test("C7: who lacks entries takes the tree after a day, believes it after thirty, or verifies it by its past")
    func takenTrees() throws {
        let hour: Milliseconds = 3_600_000
        let world = MachineWorld(devices: [["a", "b"]])
        let one = world.entry(world.context("b"), 1, changes: [MachineWorld.put(1, "one")])
        let two = world.entry(
            world.context("b"), 2, after: one, changes: [MachineWorld.put(1, "two", replacing: [one])])
        let tree = [MachineWorld.key(1): [two.dot: CurrentFact(height: 2, content: .inPlace(Array("two".utf8)))]]
        let root = MachineWorld.rootName(tree)
        world.trees = [root: tree]
        let own = world.entry(world.context("a"), 1, changes: [MachineWorld.put(2, "own")])
        var machine = world.machine("a")
        machine.sync(world, [own])
        let link = world.link(by: "b", checkpoint: checkpoint([two], root: root))
        // The own entry is above that base; the first entry does not come.
        for step in 0...3 {
            machine.sync(world, [two], now: Milliseconds(step) * 9 * hour)
            #expect(machine.base == (step < 3 ? nil : link))
        }
        #expect(machine.baseTrust == .unverified && machine.texts(1) == ["two"] && machine.texts(2) == ["own"])
        #expect(!machine.isSure && machine.droppable(unacknowledged: []) == [])
        var patient = machine
        for step in 0...91 { patient.sync(world, now: Milliseconds(28 + step * 8) * hour) }
        #expect(patient.baseTrust == .believed && patient.isSure)
        // What lies below the base comes in the background, and is kept until it has verified it.
        machine.sync(world, [one])
        #expect(machine.baseTrust == .verified && machine.base == link)
        #expect(machine.droppable(unacknowledged: []) == [one.name])
        #expect(machine.droppable(unacknowledged: [one.name]) == [])
    }
}

/// A generator of the standard library's kind, from a seed.
struct SystemLikeGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    mutating func next() -> UInt64 {
        state = state &+ 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
