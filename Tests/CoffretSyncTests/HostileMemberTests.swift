// Members whose programs keep to no rule, against the real store of a server and honest devices: the vault goes on, nobody's
// words are lost, and nobody signs what he did not write.

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

@Suite("Hostile members")
struct HostileMemberTests {
    @Test("R171: a member's device takes the id of another one's: no log, no word and no room of that one is his")
    func sameDeviceID() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, three) = (circle.people[0].devices[0], circle.people[2].devices[0])
        let guest = circle.people[1]
        let twin = try guest.addDevice(id: one.id)
        try twin.sync()
        try one.put(LogDevice.text(2), "by the host\n")
        for device in [one, three, twin] { try device.hurry() }
        for number in 1...3 {
            try twin.put(LogDevice.text(20 + number), "by the twin \(number)\n")
            try twin.sync()
            let report = try one.hurry()
            #expect(!report.isCopy && report.writtenAgainCount == 0)
        }
        // Words: a counter that leaves no room for another one.
        let hostile = HostileDevice(twin)
        _ = try one.audit()
        for counter: UInt64 in [7, .max] {
            let word = try hostile.acknowledgement([:], counter: counter)
            #expect(try guest.ask(.acknowledge(word), by: twin) == .acknowledged)
            try one.put(LogDevice.text(3), "after word \(counter)\n")
            try one.hurry()
            let audit = try one.audit()
            #expect(!audit.isCopy)
            _ = try three.hurry()
            // The third hears the host, whatever the twin says.
            #expect(try three.audit().peers.contains { $0.account == circle.people[0].account })
        }
        for device in [twin, three, one] { try device.hurry() }
        #expect(try one.facts() == three.facts() && one.shown(LogDevice.text(23)) == "by the twin 3\n")
        // Who wrote what stays his: removed, he takes his words along up to the limit, and the host's stay.
        try twin.put(LogDevice.text(9), "never sent\n")
        let stolen = try guest.stolenPush(of: twin)
        let removal = MemberChange.changeRoles([MemberOperation.RoleChange(guest.account, nil)], confirming: [])
        #expect(try one.change(removal) != nil)
        for device in [one, three] {
            device.serverAlso = stolen
            try device.put(LogDevice.text(device === one ? 10 : 11), "news\n")
            try device.hurry()
            #expect(try device.shown(LogDevice.text(9)) == nil)
            device.serverAlso = []
        }
        for device in [one, three, one] { try device.hurry() }
        #expect(try one.facts() == three.facts() && one.repository.fsck().isClean)
    }

    @Test("R172: an entry of the greatest height that there is: everybody goes on writing, and what he writes is shown")
    func greatestHeight() throws {
        let circle = try MemberSyncTests.circle(.writer)
        let (one, two) = (circle.people[0].devices[0], circle.people[1].devices[0])
        let hostile = HostileDevice(two)
        let key = LogDevice.text(5)
        try one.put(key, "a\n")
        try one.hurry()
        let high = try hostile.entry(
            hostile.context(), height: HistoryLimits.numberMax, put: "on top\n", at: key)
        try hostile.push(high.objects)
        try one.hurry()
        for number in 1...3 {
            try one.put(key, "after it \(number)\n")
            try one.hurry()
            try two.hurry()
            #expect(try two.shown(key) == "after it \(number)\n" && one.facts() == two.facts())
        }
        try one.hurry()
        #expect(try one.facts() == two.facts())
    }

    @Test(
        "R172: by a device's own key the greatest height, in another log of it and in the one that it goes on with: it writes on"
    )
    func greatestHeightByOwnKey() throws {
        let circle = try MemberSyncTests.circle(.writer)
        let (one, two) = (circle.people[0].devices[0], circle.people[1].devices[0])
        let key = LogDevice.text(5)
        try one.put(key, "a\n")
        try one.hurry()
        // A thief has the key of two's device, and a copy of its store.
        let thief = HostileDevice(two)
        let beside = try thief.entry(
            thief.context(), height: HistoryLimits.numberMax, put: "on top\n", at: key)
        try thief.push(beside.objects)
        for device in [two, one] { try device.hurry() }
        try two.put(key, "after it\n")
        for device in [two, one] { try device.hurry() }
        #expect(try one.shown(key) == "after it\n" && one.facts() == two.facts())
        let (instance, tip) = try #require(try two.repository.ownLog())
        let name = try #require(tip).name
        let stored = try two.repository.ask { (machine) throws(StorageError) in try machine.store.entry(named: name) }
        let newest = try #require(stored).entry
        let own = HostileDevice.Written(
            name: newest.name, number: newest.number, objects: [], content: [], context: newest.context)
        let behind = try thief.entry(
            newest.context, newest.number + 1, after: own, height: HistoryLimits.numberMax, put: "on top\n", at: key)
        try thief.push(behind.objects)
        for device in [two, one] { try device.hurry() }
        for number in 1...3 {
            try two.put(key, "still here \(number)\n")
            for device in [two, one] { try device.hurry() }
            #expect(try one.shown(key) == "still here \(number)\n" && one.facts() == two.facts())
        }
        #expect(try two.repository.ownLog()?.instance != instance)
    }

    @Test("R61: false claims of one account's devices push out no other account's, and each account has room for four")
    func claimsOfOneAccount() throws {
        let circle = try MemberSyncTests.circle(.writer)
        let (one, two) = (circle.people[0].devices[0], circle.people[1].devices[0])
        let (honest, hostile) = (HostileDevice(one), HostileDevice(two))
        let newest = try #require(one.repository.chains.members.links.last)
        let unknown = ChainPosition(number: UInt64(newest.number) + 5, hash: newest.hash)
        var claims = WithheldLinks()
        for _ in 0..<20 {
            claims.note(try hostile.context(device: .generate(from: hostile.random), firstLink: 1, at: unknown))
        }
        #expect(claims.stated.count == WithheldLinks.accountCountMax)
        let told = try honest.context(firstLink: 1, at: unknown)
        claims.note(told)
        #expect(claims.stated[told.author] != nil)
        let bytes = CBOREncoder.encode { claims.encode(to: &$0) }
        let read = try withCBORDecoder(bytes) { (decoder) throws(CBORError) in try WithheldLinks(from: &decoder) }
        #expect(read == claims)
    }

    @Test(
        "R66: what a viewer forges is refused by the server and by every reader: entry, head, checkpoint, key, collection"
    )
    func viewerForges() throws {
        let circle = try MemberSyncTests.circle(.viewer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        let (viewer, hostile) = (circle.people[1], HostileDevice(two))
        let entry = try hostile.entry(hostile.context(), put: "mine\n", at: LogDevice.text(5))
        #expect(try hostile.refusal(of: entry, on: one) == .entryNotAWriter)
        let head = try hostile.head(hostile.context(), Frontier([entry.context.instance: entry.mark]))
        // The server takes neither of them from him.
        for (objects, new) in [(entry.objects, nil), (entry.objects + head.objects, head.address)] {
            let reply = try hostile.push(objects, to: new)
            guard case .refused = reply else { throw SimulationFailure("taken: \(reply)") }
        }
        let accepted = try two.repository.ask { (machine) in machine.frontier }
        let root = try #require(
            try two.repository.ask { (machine) throws(StorageError) in try machine.store.root(of: nil, with: [:]) })
        let checkpoint = Checkpoint(
            base: nil, accepted: accepted, root: root, digest: Bytes32(0, 0, 0, 0), factCount: 0)
        let stored = try circle.people[0].objects()
        let sweep = ZoneSweep(
            linkHash: try #require(one.repository.chains.members.links.last).hash.bytes, objects: [stored[0].address],
            chunks: [], signature: [UInt8](repeating: 0, count: 64))
        guard case .refused = try viewer.ask(.sweep(sweep), by: two) else { throw SimulationFailure("collected") }
        #expect(try circle.people[0].objects().count == stored.count)
        // A statement he may make; what it says of history nobody reads.
        let base = try one.repository.ask { (machine) in machine.base }
        _ = try hostile.post(hostile.link(checkpoint: checkpoint))
        let facts = try one.facts()
        for device in [one, three] { try device.hurry() }
        #expect(try one.repository.ask { (machine) in machine.base } == base && one.facts() == facts)
        #expect(try three.facts() == facts)
        try two.hurry()
        let epoch = two.repository.keys.currentEpoch + 1
        let commitment = EpochKeys.deriveCommitment(
            to: .generate(from: hostile.random), scope: viewer.vaultID.bytes, epoch: epoch)
        let opening = EpochOpening(
            epoch: epoch,
            keyCommitment: try #require(Bytes32(commitment)),
            splitKeyCommitment: try #require(Bytes32(hostile.random.bytes(count: 32))),
            historyHash: try #require(Bytes32(hostile.random.bytes(count: 32))), checkpointEpoch: epoch - 1)
        let link = try hostile.link(opening: opening)
        #expect(try hostile.post(link) == .refused(code: "trust.member.not-permitted"))
        one.lie = { reply in
            guard case .chains(let updates) = reply else { return reply }
            let chains = updates.chains.map { chain in
                guard chain.kind == ChainKind.member.rawValue else { return chain }
                return ChainUpdates.Chain(
                    kind: chain.kind, chainID: chain.chainID, branches: [], start: chain.start,
                    links: chain.links + [link.encoded])
            }
            return .chains(ChainUpdates(chains, hasMore: false))
        }
        #expect(try one.sync().waitingLinks?.code == .notPermitted)
        one.lie = { $0 }
        try one.put(LogDevice.text(6), "goes on\n")
        for device in [one, three] { try device.hurry() }
        #expect(try three.shown(LogDevice.text(6)) == "goes on\n" && three.shown(LogDevice.text(5)) == nil)
    }

    @Test("R173: who writes what no program can read yet is removed all the same, and the others go on")
    func unreadable() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        let hostile = HostileDevice(two)
        let newer = try hostile.entry(
            hostile.context(floor: EntryContext.formatVersion + 1), put: "newer\n", at: LogDevice.text(5))
        try hostile.push(newer.objects)
        for device in [one, three] { try device.hurry() }
        let removal = MemberChange.changeRoles(
            [MemberOperation.RoleChange(circle.people[1].account, nil)], confirming: [])
        #expect(try one.change(removal) != nil)
        try one.put(LogDevice.text(6), "goes on\n")
        try one.hurry()
        try three.hurry()
        #expect(try three.shown(LogDevice.text(6)) == "goes on\n")
    }

    @Test(
        "R174: a member's false word, and rubbish in its place, are findings that name him; removed, he says nothing more"
    )
    func falseWords() throws {
        let circle = try MemberSyncTests.circle(.writer, .writer)
        let (host, guest) = (circle.people[0], circle.people[1])
        let (one, two, three) = (host.devices[0], guest.devices[0], circle.people[2].devices[0])
        for device in [three, two, one] { _ = try device.audit() }
        let hostile = HostileDevice(two)
        let context = try hostile.context()
        // Many devices that all say they have more: the words of others are heard as before.
        let word = try hostile.acknowledgement([context.instance: 9], counter: 1 << 40, context: context)
        #expect(try guest.ask(.acknowledge(word), by: two) == .acknowledged)
        for step in 0..<5 {
            let audit = try one.audit()
            let finding = SyncFinding(.entryWithheld, by: two.repository.author.device, mayBeServer: true)
            #expect(audit.findings(besides: host.account) == (step < 3 ? [] : [finding]), "\(step)")
            #expect(audit.peers.contains { $0.account == circle.people[2].account })
            host.server.clock.now += 8 * 3_600_000
        }
        #expect(
            try guest.ask(.acknowledge([0, 0, 0, 2] + [UInt8](repeating: 7, count: 2_100)), by: two) == .acknowledged)
        let silent = try one.audit()
        #expect(silent.silentDevices == [two.repository.author.device])
        #expect(silent.findings(besides: host.account).map(\.kind) == [.auditFailed])
        // A counter above all others takes no part.
        let last = try hostile.acknowledgement([:], counter: .max, context: context)
        #expect(try guest.ask(.acknowledge(last), by: two) == .acknowledged)
        #expect(try one.audit().silentDevices == [two.repository.author.device])
        // The server goes on to show a word of one who is out.
        let shown = try host.acknowledgements()
        let removal = MemberChange.changeRoles([MemberOperation.RoleChange(guest.account, nil)], confirming: [])
        #expect(try one.change(removal) != nil)
        try three.hurry()
        three.lie = { reply in if case .acknowledgements = reply { .acknowledgements(shown) } else { reply } }
        let audit = try three.audit()
        #expect(audit.findings(besides: circle.people[2].account).allSatisfy { $0.device?.account != guest.account })
        #expect(!audit.peers.contains { $0.account == guest.account })
    }
}
