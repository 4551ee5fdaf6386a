// Own entries and the zone's head: where the next entry stands, what is written again, and which heads are refused.

import CoffretBase
import CoffretHistorySupport
import CoffretStorage
import Testing

@testable import CoffretHistory

@Suite("Own entries and heads of histories")
struct MachineOwnTests {
    private let hour: Milliseconds = 3_600_000

    @Test("E1, E2, E5: the next entry has the next number, what was not said yet, and an epoch whose key is here")
    func nextPlace() throws {
        let world = MachineWorld(devices: [["a", "b"], ["w"]])
        let (own, other, third) = (world.context("a"), world.context("b"), world.context("w"))
        let one = world.entry(own, 1, height: 4)
        let two = world.entry(other, 1, height: 9)
        let three = world.entry(third, 1, height: 2)
        var machine = world.machine("a")
        machine.sync(world, [one, two, three])
        func place(_ said: Frontier = Frontier(), of log: EntryContext? = nil, keys: Set<UInt32> = [1]) -> EntryPlace? {
            machine.nextPlace(of: (log ?? own).instance, firstLink: 0, said: said) { keys.contains($0) }
        }
        let next = try #require(place())
        #expect(next.number == 2 && next.before == one.name && next.height == 10 && next.isSeenWhole)
        #expect(next.seen == Frontier([two.instance: two.mark, three.instance: three.mark]))
        #expect(next.link == 1 && next.epoch == 1)
        #expect(place(next.seen)?.seen.isEmpty == true)
        let fresh = try #require(place(of: world.context("a", nonce: 1)))
        #expect(fresh.number == 1 && fresh.before == nil && fresh.seen.count == 3)
        // An epoch that nobody gave a key of: the entry states the newest link, under the epoch before (S5).
        world.link(by: "w", opens: true)
        machine.sync(world)
        #expect(place().map { [$0.link, Int($0.epoch)] } == [2, 1])
        #expect(place(keys: [1, 2]).map { [$0.link, Int($0.epoch)] } == [2, 2])
        // Behind a closing the old epoch serves no more: the entry states the link before.
        world.revoke("b")
        world.link(opens: true)
        machine.sync(world)
        #expect(place(keys: [1, 2, 3]).map { [$0.link, Int($0.epoch)] } == [3, 3])
        #expect(place(keys: [1, 2]).map { [$0.link, Int($0.epoch)] } == [2, 2])
        #expect(place(keys: []) == nil)
        // A log never goes back: its newest entry stated link 3.
        let stated = world.entry(world.context("a"), 2, after: one, height: 11)
        machine.store.put(StoredEntry(stated))
        machine.write(stated)
        #expect(place(keys: [1, 2]) == nil && place(keys: [3])?.number == 3)
    }

    @Test("E2: more than 4,096 logs are told by several entries")
    func manySeen() throws {
        let world = MachineWorld(devices: [["a", "b"]])
        let own = world.context("a")
        var machine = world.machine("a")
        let others = (0..<4_100).map { number in
            var nonce = [UInt8](repeating: 1, count: 16)
            (nonce[0], nonce[1]) = (UInt8(number >> 8), UInt8(number & 255))
            let base = world.context("b")
            return world.entry(
                EntryContext(
                    vaultID: base.vaultID, accountID: base.accountID, deviceID: base.deviceID,
                    nonce: UniqueID(bytes: nonce)!, firstLink: base.firstLink, deviceHead: base.deviceHead,
                    memberHead: base.memberHead, epoch: base.epoch), 1)
        }
        machine.sync(world, others)
        let first = try #require(machine.nextPlace(of: own.instance, firstLink: 0, said: Frontier()) { _ in true })
        #expect(!first.isSeenWhole && first.seen.count == 4_096)
        let rest = try #require(machine.nextPlace(of: own.instance, firstLink: 0, said: first.seen) { _ in true })
        #expect(rest.isSeenWhole && rest.seen.count == 4)
    }

    @Test("I1: an instance that is closed, ended, forked or not all applied is left")
    func instances() throws {
        let world = MachineWorld(devices: [["a", "b"]])
        let log = world.context("a")
        let one = world.entry(log, 1)
        let (left, right) = (world.entry(log, 2, after: one), world.entry(log, 2, after: one))
        let gap = world.entry(log, 3, after: left)
        func goesOn(_ entries: [VerifiedEntry], _ links: Int? = nil) -> Bool {
            var machine = world.machine("b")
            machine.sync(world, links: links, known: links.map { _ in [2] }, entries)
            return machine.mayGoOn(log.instance)
        }
        #expect(goesOn([one]) && goesOn([one, left]) && goesOn([]))
        #expect(!goesOn([one, gap]) && !goesOn([one, left, right]))
        world.revoke("a")
        world.link(by: "b", opens: true)
        #expect(!goesOn([one]) && goesOn([one], 1))
    }

    @Test("I4: what nobody has and what lost is written again, and replaces what it replaced by the new dots")
    func writtenAgain() throws {
        let world = MachineWorld(devices: [["a", "b"]])
        let log = world.context("a")
        let one = world.entry(log, 1, changes: [MachineWorld.put(1, "one")])
        let lost = world.entry(log, 2, after: one, changes: [MachineWorld.put(1, "lost", replacing: [one])])
        let more = world.entry(log, 3, after: lost, changes: [MachineWorld.put(1, "more", replacing: [lost, one])])
        let other = world.entry(log, 2, after: one, changes: [MachineWorld.put(2, "other")])
        let end = LogEnd(lastCommonNumber: 1, first: lost.name, second: other.name)
        world.link(
            by: "b",
            checkpoint: Checkpoint(
                base: nil, accepted: Frontier([log.instance: other.mark]), root: nil, digest: Bytes32(0, 0, 0, 0),
                factCount: 0, ends: [log.instance: end]))
        var machine = world.machine("a")
        machine.sync(world, [one, lost, more, other])
        let wrote: Set<BlobName> = [one.name, lost.name, more.name]
        let remembered = Frontier([log.instance: lost.mark])
        let again = machine.entriesToWriteAgain(of: log.instance, remembered: remembered) { wrote.contains($0.name) }
        #expect(again == [lost, more])
        #expect(machine.entriesToWriteAgain(of: log.instance, remembered: remembered) { _ in false } == [])
        var rewriting = Rewriting()
        let new = world.context("a", nonce: 1).instance
        let first = rewriting.rewrite(lost.body.changes.list, of: lost.dot, as: Dot(new, 1))
        let second = rewriting.rewrite(more.body.changes.list, of: more.dot, as: Dot(new, 2))
        #expect(first[0].replaces == [one.dot] && first[0].content == lost.body.changes.list[0].content)
        #expect(second[0].replaces == [Dot(new, 1), one.dot], "own dots come first")
    }

    @Test(
        "F3: a head that names what did not come is left for an hour, then replaced with the numbers that were missing")
    func replacement() throws {
        let world = MachineWorld(devices: [["a", "b", "c"]])
        let one = world.entry(world.context("b"), 1)
        let two = world.entry(world.context("b"), 2, after: one)
        let closed = world.entry(world.context("c"), 1)
        var machine = world.machine("a")
        machine.sync(world, [one, closed])
        let good = Frontier([one.instance: one.mark])
        let bad = Frontier([one.instance: two.mark])
        var said = [good, bad].map { machine.replacement(of: $0, now: 0) }
        #expect(said == [.replace, .leave])
        // Another bad head does not begin the hour anew; a good one ends it.
        let worse = Frontier([one.instance: EntryMark(number: 9, name: two.name)])
        said = [machine.replacement(of: worse, now: hour - 1), machine.replacement(of: worse, now: hour)]
        #expect(said == [.leave, .replaceNaming([one.instance: 9])])
        said = [machine.replacement(of: good, now: hour), machine.replacement(of: bad, now: 2 * hour)]
        #expect(said == [.replace, .leave])
        // A closed log makes nobody wait, and one that came waits for no hour.
        world.revoke("c")
        world.link(
            opens: true,
            checkpoint: Checkpoint(
                base: nil, accepted: Frontier([closed.instance: closed.mark]), root: nil,
                digest: Bytes32(0, 0, 0, 0), factCount: 0))
        machine.sync(world, [two])
        let above = Frontier([
            closed.instance: EntryMark(number: 7, name: BlobName(Bytes32(9, 9, 9, 9))), one.instance: two.mark,
        ])
        said = [machine.replacement(of: above, now: 9 * hour)]
        #expect(said == [.replace])
    }

    @Test("F4, F5: a head has to cover what is remembered; what the server still gives tells who is named")
    func refused() throws {
        let world = MachineWorld(devices: [["a", "b", "c"]])
        let one = world.entry(world.context("b"), 1)
        let two = world.entry(world.context("b"), 2, after: one)
        let three = world.entry(world.context("c"), 1)
        var machine = world.machine("a")
        machine.sync(world, [one, two, three])
        let remembered = machine.frontier
        let behind = Frontier([one.instance: one.mark, three.instance: three.mark])
        var lacking = machine.notCovered(by: remembered, remembered: remembered)
        #expect(lacking.isEmpty)
        lacking = machine.notCovered(by: behind, remembered: remembered)
        #expect(lacking == Frontier([one.instance: two.mark]))
        func judge(_ head: Frontier, given: Bool, expected: BlobName? = nil, last: BlobName? = nil) -> RefusedHead {
            machine.judge(
                head, lacking: lacking, remembered: remembered, isGiven: { _ in given }, expected: expected, last: last)
        }
        #expect(judge(behind, given: false) == .rolledBack)
        let new = world.entry(world.context("a"), 1)
        var other = behind
        other[new.instance] = new.mark
        #expect(judge(other, given: false) == .forked)
        #expect(judge(other, given: true) == .refused(isPusherAlone: false))
        #expect(judge(other, given: true, expected: one.name, last: one.name) == .refused(isPusherAlone: true))
        #expect(judge(other, given: true, expected: one.name, last: two.name) == .refused(isPusherAlone: false))
        // A revoked device's entries may go; so may those that the base covers.
        world.revoke("b")
        machine.sync(world)
        lacking = machine.notCovered(by: behind, remembered: remembered)
        #expect(lacking.isEmpty)
    }
}
