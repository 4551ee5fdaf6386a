// A server that lies about the members of a vault, and members who lie with it: nothing of it stops anybody, and who may have done
// it is named.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretSimulation
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Testing

@testable import CoffretSync

@Suite("A lying server: members")
struct LyingServerMembersTests {
    private static let hour: Milliseconds = 3_600_000

    /// Keeps back all links of the vault from a number on.
    private static func hiding(from count: Int) -> (LogReply) -> LogReply {
        { reply in
            guard case .chains(let updates) = reply else { return reply }
            let chains = updates.chains.map { chain in
                guard chain.kind == ChainKind.member.rawValue else { return chain }
                return ChainUpdates.Chain(
                    kind: chain.kind, chainID: chain.chainID, branches: [], start: chain.start,
                    links: Array(chain.links.prefix(max(0, count - Int(chain.start)))))
            }
            return .chains(ChainUpdates(chains, hasMore: updates.hasMore))
        }
    }

    private func change(_ person: LogPerson, _ role: MemberRole?) -> MemberChange {
        .changeRoles([MemberOperation.RoleChange(person.account, role)], confirming: [])
    }

    @Test(
        "R61, R62: who is kept in the dark of a link is told by the first entry, word or object of somebody who has it")
    func withheldLink() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, three) = (circle.people[0].devices[0], circle.people[2].devices[0])
        _ = try three.audit()
        let count = three.repository.chains.members.count
        // A link without an epoch: what states it can be read.
        #expect(try one.change(change(circle.people[1], .viewer)) != nil)
        try one.put(LogDevice.text(5), "behind the link\n")
        try one.hurry()
        let told = SyncFinding(.membersWithheld, by: one.repository.author.device, mayBeServer: true)
        three.lie = Self.hiding(from: count)
        #expect(try three.sync().findings.contains(told), "the chains were asked for again, behind the head")
        #expect(try three.sync().findings.contains(told))
        #expect(try three.shown(LogDevice.text(5)) == nil && three.shown(LogDevice.text(1)) == "before\n")
        three.lie = { $0 }
        #expect(try !three.sync().findings.contains(told))
        #expect(try three.shown(LogDevice.text(5)) == "behind the link\n")
        // A word alone: nothing is written.
        let known = three.repository.chains.members.count
        #expect(try one.change(change(circle.people[1], .writer)) != nil)
        _ = try one.audit()
        three.lie = Self.hiding(from: known)
        _ = try three.audit()
        _ = try three.sync()
        #expect(try three.sync().findings.map(\.kind).contains(.membersWithheld))
        three.lie = { $0 }
        #expect(try !three.sync().findings.map(\.kind).contains(.membersWithheld))
    }

    @Test(
        "R62: a removal that one member is not told of shows by what is sealed under the new key, or by fourteen silent days"
    )
    func withheldRemoval() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        for device in [one, two, three, one] { _ = try device.audit() }
        _ = try three.audit()
        let count = three.repository.chains.members.count
        #expect(try one.change(change(circle.people[1], nil)) != nil)
        three.lie = Self.hiding(from: count)
        // What he writes goes nowhere: the server, if it keeps to its own rules, refuses the old key.
        try three.put(LogDevice.text(6), "in the dark\n")
        #expect(try LogExchangeTests.failure { try three.sync() }?.code == .epochStale)
        // The server shows him nothing of anybody: after fourteen days he is told.
        let words = try circle.people[0].acknowledgements()
        three.intercept = { request in if case .push = request { .refused(code: "server.internal") } else { nil } }
        three.lie = { reply in
            if case .acknowledgements = reply { return .acknowledgements(words) }
            return Self.hiding(from: count)(reply)
        }
        for _ in 0..<43 {
            circle.people[0].server.clock.now += 8 * Self.hour
            #expect(
                try three.audit().isStale
                    == (circle.people[0].server.clock.now - 1_800_000_000_000 >= 14 * 24 * Self.hour))
        }
        // The first object under the new key.
        try one.put(LogDevice.text(7), "under the new key\n")
        try one.hurry()
        (three.lie, three.intercept) = (
            Self.hiding(from: count),
            { request in
                if case .push = request { .refused(code: "server.internal") } else { nil }
            }
        )
        for _ in 0..<2 { _ = try? three.sync() }
        #expect(
            LogMemory(of: three.repository).withheld.findings == [
                SyncFinding(.membersWithheld, by: nil, mayBeServer: true)
            ])
        (three.lie, three.intercept) = ({ $0 }, nil)
        try three.hurry()
        try one.hurry()
        #expect(
            try one.shown(LogDevice.text(6)) == "in the dark\n"
                && three.shown(LogDevice.text(7)) == "under the new key\n")
        #expect(two.vaultKeys[3] == nil && three.vaultKeys[3] != nil)
    }

    @Test("R61: of two lists the first entry across says so, and the two links with one number are never made one")
    func twoMemberLists() throws {
        let circle = try MemberSyncTests.circle(.owner, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        try two.sync()
        let other = try HostileDevice(two).link(checkpoint: nil)
        #expect(try one.change(change(circle.people[1], .writer)) != nil)
        try one.put(LogDevice.text(5), "in one world\n")
        try one.hurry()
        let number = Int(other.sequenceNumber)
        three.lie = { reply in
            guard case .chains(let updates) = reply else { return reply }
            let chains = updates.chains.map { chain in
                guard chain.kind == ChainKind.member.rawValue, Int(chain.start) + chain.links.count > number else {
                    return chain
                }
                let kept = chain.links.prefix(max(0, number - Int(chain.start)))
                return ChainUpdates.Chain(
                    kind: chain.kind, chainID: chain.chainID, branches: [], start: chain.start,
                    links: kept + [other.encoded])
            }
            return .chains(ChainUpdates(chains, hasMore: updates.hasMore))
        }
        let told = try three.sync().findings
        #expect(
            told.contains(SyncFinding(.chainForked, by: one.repository.author.device, mayBeServer: true)), "\(told)")
        #expect(try three.shown(LogDevice.text(5)) == nil && three.shown(LogDevice.text(1)) == "before\n")
        let before = try three.facts()
        three.lie = { $0 }
        let failure = try LogExchangeTests.failure { try three.sync() }
        #expect(
            failure?.code == .chainsRefused && failure?.place?.contains("trust.chain.forked") == true,
            "\(String(describing: failure))")
        #expect(try three.facts() == before)
    }

    @Test("R71: links, entries, heads, letters and older keys of one vault say nothing in another")
    func crossVaultReplay() throws {
        let here = try MemberSyncTests.circle(.writer, .writer)
        let there = try MemberSyncTests.circle(.writer, seed: 7)
        let (one, two) = (here.people[0].devices[0], here.people[1].devices[0])
        let foreign = there.people[0]
        let facts = try one.facts()
        // Objects as they lie there, heads among them.
        one.serverAlso = try foreign.objects()
        try two.put(LogDevice.text(2), "news\n")
        try two.hurry()
        let report = try one.sync()
        #expect(report.refusedCount >= one.serverAlso.count && report.findings.isEmpty)
        #expect(try one.facts().count == facts.count + 1)
        // A member of both seals an entry of the other vault again, with the keys of this one.
        let hostile = HostileDevice(two)
        let entry = try hostile.entry(
            hostile.context(in: foreign.vaultID), put: "of another vault\n", at: LogDevice.text(3))
        try hostile.push(entry.objects)
        one.serverAlso = []
        #expect(try one.sync().refusedCount == 1)
        #expect(try one.shown(LogDevice.text(3)) == nil)
        #expect(try hostile.refusal(of: entry, on: one) == .entryMalformed)
        // A link of the other vault.
        let link = foreign.devices[0].repository.chains.members.count - 1
        let encoded = try #require(foreign.devices[0].chains?.links[link].encoded)
        let honest = one.lie
        one.lie = { reply in
            guard case .chains(let updates) = reply else { return reply }
            let chains = updates.chains.map { chain in
                guard chain.kind == ChainKind.member.rawValue else { return chain }
                return ChainUpdates.Chain(
                    kind: chain.kind, chainID: chain.chainID, branches: [], start: chain.start,
                    links: chain.links + [encoded])
            }
            return .chains(ChainUpdates(chains, hasMore: false))
        }
        let failure = try LogExchangeTests.failure { try one.sync() }
        #expect(failure?.code == .chainsRefused || failure?.code == .answerMalformed, "\(String(describing: failure))")
        one.lie = honest
        // A letter, and an object of older keys.
        #expect(try one.change(.renewKey) != nil)
        guard case .keys(let others) = try there.people[1].ask(.keys) else { throw SimulationFailure("no keys") }
        two.lie = { reply in
            guard case .keys(let keys) = reply else { return reply }
            return .keys(
                ZoneKeys(epoch: keys.epoch, history: others.history, letter: others.letter, lacking: keys.lacking))
        }
        let told = try two.hurry()
        #expect(told.awaitsKey && two.vaultKeys[3] == nil)
        two.lie = { $0 }
        try two.hurry()
        #expect(two.vaultKeys[3] != nil)
        let rights = try #require(one.chains?.rights)
        let newest = try #require(one.vaultKeys[3])
        let older = EpochHistory.seal(
            one.vaultKeys.filter { $0.key < 3 }, in: foreign.vaultID, epoch: 3, key: newest,
            random: here.people[0].random)
        #expect(LogSync.olderKeys(in: older, epoch: 3, key: newest, rights).wrong == [1, 2])
        for device in [one, two] { try device.hurry() }
        #expect(try one.facts() == two.facts())
    }

    @Test("R72: who claims another's log before it begins gets nothing, and its owner begins it as ever")
    func foreignInstance() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        let hostile = HostileDevice(two)
        // Of the founder's device, under two's key; and a log of his own of before he was there.
        let claimed = try hostile.entry(
            hostile.context(
                account: circle.people[0].account, device: one.id,
                headed: ChainPosition(circle.people[0].chain.head)), put: "claimed\n", at: LogDevice.text(5))
        let newest = try #require(two.repository.chains.members.links.last)
        let early = try hostile.entry(
            hostile.context(firstLink: UInt32(newest.number) + 1), put: "early\n", at: LogDevice.text(6))
        try hostile.push(claimed.objects + early.objects)
        for device in [one, three] {
            #expect(try device.sync().refusedCount == 2)
            #expect(try device.shown(LogDevice.text(5)) == nil && device.shown(LogDevice.text(6)) == nil)
        }
        #expect(try hostile.refusal(of: early, on: one) == .entryInstanceForeign)
        #expect(try hostile.refusal(of: claimed, on: one) == .entryMalformed)
        try one.put(LogDevice.text(5), "the founder's\n")
        try one.hurry()
        try three.hurry()
        #expect(try three.shown(LogDevice.text(5)) == "the founder's\n")
    }

    @Test("R73: a word stands under its author's dot: in a list and in a tree, and it goes with him")
    func borrowedDots() throws {
        let circle = try MemberSyncTests.circle(.writer)
        let (one, two) = (circle.people[0].devices[0], circle.people[1].devices[0])
        let mine = try #require(try one.facts().first)
        let hostile = HostileDevice(two)
        // A tree of changes with a value under the founder's dot.
        let fake = Fact(key: mine.key, content: .inline([0] + Array("not his\n".utf8)), dot: mine.dot, height: 50)
        #expect(throws: HistoryError.self) {
            try ChangeTree.changes(
                of: [fake], by: Dot(hostile.context().instance, 1), height: 50, place: "entry")
        }
        // What replaces it is the writer's own, whatever it says.
        let entry = try hostile.entry(
            hostile.context(), replacing: [mine.dot], put: "not his\n", at: mine.key)
        try hostile.push(entry.objects)
        try one.hurry()
        let shown = try #require(try one.facts().first { $0.key == mine.key })
        #expect(shown.dot.instance != mine.dot.instance)
        let owner = try one.repository.ask { (machine) in machine.owners[shown.dot.instance]?.author }
        #expect(owner == two.repository.author.device)
    }

    @Test(
        "R74: a head that nobody can read, or that has less than the one before, is refused with its pusher and replaced"
    )
    func unverifiableHead() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        let hostile = HostileDevice(two)
        let facts = try one.facts()
        let garbage = try hostile.seal([(Array("no head".utf8), .frontier)]).objects
        try hostile.push(garbage, to: garbage[0].address)
        let told = try one.sync()
        #expect(told.findings == [SyncFinding(.headRefused, by: two.repository.author.device, mayBeServer: true)])
        #expect(try one.facts() == facts && one.head()?.address != garbage[0].address)
        #expect(try three.sync().findings.isEmpty)
        circle.people[0].server.clock.now += 2 * Self.hour
        let less = try hostile.head(hostile.context(), Frontier())
        try hostile.push(less.objects, to: less.address)
        let again = try one.sync()
        #expect(
            again.findings == [SyncFinding(.headRefused, by: two.repository.author.device, mayBeServer: false)],
            "\(again.findings)")
        #expect(try one.facts() == facts && one.head()?.address != less.address)
        try one.put(LogDevice.text(4), "goes on\n")
        try one.hurry()
        try three.hurry()
        #expect(try three.shown(LogDevice.text(4)) == "goes on\n" && one.facts() == three.facts())
    }

    @Test(
        "R91: heads, checkpoints and entries that name what does not exist make nobody wait, and their author is named")
    func missingParents() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        let hostile = HostileDevice(two)
        let author = two.repository.author.device
        let nothing = try #require(BlobName(bytes: circle.people[0].random.bytes(count: 32)))
        let context = try hostile.context()
        var marks = try two.repository.ask { (machine) in machine.frontier }
        marks[context.instance] = EntryMark(number: 99, name: nothing)
        // A head.
        let head = try hostile.head(context, marks)
        try hostile.push(head.objects, to: head.address)
        #expect(try one.sync().findings.isEmpty && one.head()?.address == head.address)
        try one.put(LogDevice.text(2), "meanwhile\n")
        #expect(try one.sync().sentCount == 1)
        circle.people[0].server.clock.now += 2 * Self.hour
        let told = try one.sync()
        #expect(
            told.missing.values.contains(99) && told.findings.map(\.kind).contains(.entryMissing), "\(told.findings)")
        #expect(try one.head()?.address != head.address)
        // An entry that states a link which nobody made.
        let made = ChainPosition(number: 900, hash: Bytes32(1, 2, 3, 4))
        let entry = try hostile.entry(hostile.context(firstLink: 1, at: made), put: "nowhere\n", at: LogDevice.text(5))
        try hostile.push(entry.objects)
        _ = try one.sync()
        #expect(try one.sync().findings.contains(SyncFinding(.membersWithheld, by: author, mayBeServer: true)))
        // A checkpoint.
        try two.sync()
        let checkpoint = Checkpoint(
            base: nil, accepted: marks, root: nothing, digest: Bytes32(0, 0, 0, 0), factCount: 0)
        guard case .links = try hostile.post(hostile.link(checkpoint: checkpoint)) else {
            throw SimulationFailure("refused")
        }
        for _ in 0..<4 {
            try one.hurry()
            circle.people[0].server.clock.now += 8 * Self.hour
        }
        #expect(try one.sync().findings.contains(SyncFinding(.checkpointUnproven, by: author, mayBeServer: true)))
        // The others go on; once he is out, nothing is said of him.
        try one.put(LogDevice.text(6), "goes on\n")
        for device in [one, three] { try device.hurry() }
        #expect(try one.facts() == three.facts())
        #expect(try one.change(change(circle.people[1], nil)) != nil)
        #expect(try !one.hurry().findings.map(\.kind).contains(.membersWithheld))
    }
}

extension LogDevice {
    fileprivate func head() throws -> LogHead? { try person.head() }
}
