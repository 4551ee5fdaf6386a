// Vaults of several people through the server's real store: links, keys and entries of other accounts.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretSharing
import CoffretSimulation
import CoffretStorage
import CoffretSync
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Testing

@Suite("Vaults of several people in syncs")
struct MemberSyncTests {
    /// A founder and others, all of whom have accepted.
    static func circle(_ roles: MemberRole..., devices: Int = 1, seed: UInt64 = 1) throws -> LogCircle {
        let host = try LogExchangeTests.person(devices, seed: seed)
        try host.devices[0].put(LogDevice.text(1), "before\n")
        try host.devices[0].sync()
        let circle = try LogCircle(host)
        for role in roles {
            let other = try circle.addPerson()
            try host.devices[0].share(role, with: other)
        }
        for person in circle.people { for device in person.devices { try device.hurry() } }
        return circle
    }

    private func change(_ account: ChainID, _ role: MemberRole?) -> MemberChange {
        .changeRoles([MemberOperation.RoleChange(account, role)], confirming: [])
    }

    @Test("a head on links that came after the chains were read is no wrong head")
    func headOnLaterLinks() throws {
        let circle = try Self.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        try three.put(LogDevice.text(3), "by who is removed\n")
        for device in [three, one, two] { try device.hurry() }
        let run = two.begin()
        // It asks for the chains alone.
        #expect(try two.step(run) == nil)
        #expect(try one.change(change(circle.people[2].account, nil)) != nil)
        try one.put(LogDevice.text(4), "under the next key\n")
        try one.hurry()
        var report: LogReport?
        repeat { report = try two.step(run) } while report == nil
        #expect(report?.findings.isEmpty == true, "\(report?.findings ?? [])")
        #expect(try two.hurry().findings.isEmpty)
        #expect(try two.shown(LogDevice.text(4)) == "under the next key\n" && two.facts() == one.facts())
    }

    @Test("a new member reads what was written before under every key, and both go on alike")
    func together() throws {
        let host = try LogExchangeTests.person(3)
        let (one, thief) = (host.devices[0], host.devices[2])
        try one.put(LogDevice.text(1), "under the first key\n")
        try one.sync()
        try host.revoke(thief, by: one)
        try one.sync()
        try one.put(LogDevice.text(2), "under the second\n")
        try one.sync()
        let circle = try LogCircle(host)
        let guest = try circle.addPerson()
        let two = guest.devices[0]
        try one.share(.writer, with: guest)
        // A key for the history object came before the link that added.
        #expect(one.vaultKeys.keys.sorted() == [1, 2, 3] && two.vaultKeys.keys.sorted() == [1, 2, 3])
        #expect(try two.shown(LogDevice.text(1)) == "under the first key\n")
        #expect(try two.shown(LogDevice.text(2)) == "under the second\n")
        try two.put(LogDevice.text(3), "by the guest\n")
        try one.put(LogDevice.text(4), "by the host\n")
        for device in [two, one, two] { try device.sync() }
        #expect(try one.facts() == two.facts() && one.shown(LogDevice.text(3)) == "by the guest\n")
        let report = try two.sync()
        #expect(report.role == .writer && report.memberCount == 2 && !report.awaitsKey)
        // A second device of the guest gets keys from the first one, and follows the same people.
        let three = try guest.addDevice()
        try three.sync()
        #expect(try three.facts() == one.facts())
    }

    @Test("R63, R65: who was removed opens nothing later, and dates nothing back")
    func formerMember() throws {
        let circle = try Self.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        let former = circle.people[1].account
        try two.put(LogDevice.text(1), "replaced, and dated back\n")
        let stolen = try circle.people[1].stolenPush(of: two)
        #expect(!stolen.isEmpty)
        #expect(try one.change(change(former, nil)) != nil)
        try one.put(LogDevice.text(9), "after the removal\n")
        try one.sync()
        try three.hurry()
        #expect(try three.shown(LogDevice.text(9)) == "after the removal\n")
        // The server gives him all that it has, and lets all that he has pass.
        let sealed = try circle.people[0].objects()
        for object in sealed {
            let blob = SealedBlob(address: try #require(BlobAddress(bytes: object.address)), bytes: object.ciphertext)
            if let epoch = blob.epoch, epoch > 2 {
                #expect(try two.repository.exchange.openSealed(blob) { (_, _, _) in true } == nil)
            }
        }
        let keys = try circle.people[0].ask(.keys)
        guard case .keys(let given) = keys else { throw SimulationFailure("no keys") }
        #expect(given.epoch == 3 && !given.history.isEmpty)
        for key in two.vaultKeys.values {
            #expect(EpochHistory.open(given.history, in: circle.people[0].vaultID, epoch: 3, key: key) == nil)
        }
        #expect(two.vaultKeys[3] == nil)
        #expect(try LogExchangeTests.failure { try two.sync() }?.code == .chainsRefused)
        for (device, other) in [(one, three), (three, one)] {
            // Something is new, so that it asks for what there is.
            try other.put(LogDevice.text(10), "by \(other.id.hex)\n")
            try other.sync()
            device.serverAlso = stolen
            try device.sync()
            #expect(try device.shown(LogDevice.text(1)) == "before\n")
            device.serverAlso = []
        }
        try one.sync()
        #expect(try one.facts() == three.facts())
    }

    @Test("a viewer's device writes nothing; what it says by hand is refused by the server and by readers (R66)")
    func viewer() throws {
        let circle = try Self.circle(.viewer)
        let (one, two) = (circle.people[0].devices[0], circle.people[1].devices[0])
        #expect(try two.shown(LogDevice.text(1)) == "before\n")
        #expect(throws: StorageError.self) { try two.put(LogDevice.text(2), "mine\n") }
        let report = try two.sync()
        #expect(report.role == .viewer && report.sentCount == 0 && !report.isEpochStale)
        #expect(try two.change(change(circle.people[0].account, .viewer)) == nil)
        #expect(try two.change(.renewKey) == nil)
        // A link that a forged program signs.
        let head = try #require(Bytes32(circle.people[1].chain.head.linkHash))
        let members = two.repository.chains.members
        let forged = MemberOperation(
            .changeRoles([MemberOperation.RoleChange(circle.people[1].account, .owner)]), by: circle.people[1].account,
            deviceHead: head)
        let link = UnverifiedLink.sign(
            kind: .member, chainID: ChainID(circle.people[0].vaultID.bytes), sequenceNumber: UInt64(members.count),
            publicPart: forged.encoded, sealedPart: [],
            previousLinkHash: try #require(members.links.last).hash.bytes, with: two.secrets.signing)
        let refused = try circle.people[1].ask(.members(MemberPost(link: link.encoded)), by: two)
        #expect(refused == .refused(code: "trust.member.not-permitted"), "\(refused)")
        // Readers refuse it as well, whoever serves it.
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
        let told = try one.sync()
        #expect(told.waitingLinks?.code == .notPermitted, "\(String(describing: told.waitingLinks))")
        one.lie = { $0 }
    }

    @Test("who leaves ends his reading: any writer who sees it opens the next epoch (R70)")
    func leaving() throws {
        let circle = try Self.circle(.writer, .writer)
        let (one, two, three) = (circle.people[0].devices[0], circle.people[1].devices[0], circle.people[2].devices[0])
        try two.put(LogDevice.text(2), "said before leaving\n")
        var options = LogSync.Options()
        options.writesCheckpoint = true
        try two.sync(options)
        #expect(try two.change(.leave) != nil)
        try three.put(LogDevice.text(3), "waits for the next key\n")
        let report = try three.hurry()
        #expect(report.linkCount == 1 || three.vaultKeys[3] != nil)
        try three.hurry()
        try one.hurry()
        #expect(one.vaultKeys[3] != nil && two.vaultKeys[3] == nil)
        #expect(try one.facts() == three.facts() && one.shown(LogDevice.text(2)) == "said before leaving\n")
        #expect(try one.shown(LogDevice.text(3)) == "waits for the next key\n")
    }

    @Test("a letter with another key or split key brings nothing, and a member without the key writes nothing")
    func wrongKeys() throws {
        let circle = try Self.circle(.writer)
        let (one, two) = (circle.people[0].devices[0], circle.people[1].devices[0])
        let letters = try #require(circle.people[0].letters)
        let random = circle.people[0].random
        letters.forge = { VaultKeyContent(vaultKey: .generate(from: random), splitKey: $0.splitKey) }
        #expect(try one.change(.renewKey) != nil)
        let told = try two.hurry()
        #expect(told.awaitsKey && told.hasBadLetter && two.vaultKeys[3] == nil)
        // Nobody's reading ended: what he writes goes under the key that he has.
        try two.put(LogDevice.text(5), "goes on\n")
        #expect(try two.hurry().sentCount == 1)
        // The next epoch comes with a right letter.
        letters.forge = { $0 }
        #expect(try one.change(.renewKey) != nil)
        #expect(try two.hurry().awaitsKey == false)
        try two.hurry()
        #expect(two.vaultKeys.keys.sorted() == [1, 2, 3, 4])
        try one.sync()
        #expect(try one.shown(LogDevice.text(5)) == "goes on\n")
        letters.forge = { VaultKeyContent(vaultKey: $0.vaultKey, splitKey: .generate(from: random)) }
        #expect(try one.change(.renewKey) != nil)
        #expect(try two.hurry().hasBadLetter && two.vaultKeys[5] == nil)
    }

    @Test("a member without the newest key accepts and leaves all the same: an empty sealed part waits for no key")
    func withoutNewestKey() throws {
        let circle = try Self.circle(.viewer)
        let (host, guest) = (circle.people[0], circle.people[1])
        let (one, two) = (host.devices[0], guest.devices[0])
        let third = try circle.addPerson()
        let three = third.devices[0]
        let head = try #require(Bytes32(third.chain.head.linkHash))
        let adding = MemberChange.add(StatedHead(accountID: third.account, device: head), .writer, name: nil)
        #expect(try one.change(adding, introducing: third) != nil)
        for device in [two, three] { #expect(try device.hurry().awaitsKey == false) }
        let letters = try #require(host.letters)
        letters.forge = { VaultKeyContent(vaultKey: .generate(from: host.random), splitKey: $0.splitKey) }
        #expect(try one.change(.renewKey) != nil)
        #expect(try two.hurry().hasBadLetter && three.hurry().hasBadLetter)
        #expect(try two.change(.leave) != nil)
        #expect(try three.change(.accept) != nil)
        let told = try three.sync()
        #expect(told.role == .writer && !told.isInvited && told.memberCount == 2 && told.waitingLinks == nil, "\(told)")
        // The key that is due since somebody left comes with right letters.
        letters.forge = { $0 }
        for _ in 0..<2 { for device in [one, three] { try device.hurry() } }
        try three.put(LogDevice.text(7), "by a member\n")
        for device in [three, one] { try device.hurry() }
        #expect(try one.facts() == three.facts() && one.shown(LogDevice.text(7)) == "by a member\n")
    }

    @Test("R56: wrong older keys under a new one are named, and the next epoch repairs them")
    func wrongHistoryObject() throws {
        let circle = try Self.circle(.writer)
        let (host, guest) = (circle.people[0], circle.people[1])
        let (one, two) = (host.devices[0], guest.devices[0])
        let epoch = one.vaultKeys.count
        let newest = try #require(one.vaultKeys[UInt32(epoch)])
        let rights = try #require(one.chains?.rights)
        let wrong = EpochHistory.seal(
            [1: .generate(from: host.random)], in: host.vaultID, epoch: UInt32(epoch), key: newest, random: host.random)
        let given = LogSync.olderKeys(in: wrong, epoch: UInt32(epoch), key: newest, rights)
        #expect(given.keys.isEmpty && given.wrong == [1])
        // Of another vault or epoch it is no history object at all.
        let right = EpochHistory.seal(
            [1: try #require(one.vaultKeys[1])], in: host.vaultID, epoch: UInt32(epoch), key: newest,
            random: host.random)
        #expect(LogSync.olderKeys(in: right, epoch: UInt32(epoch), key: newest, rights).wrong.isEmpty)
        for index in right.indices.prefix(80) {
            var flipped = right
            flipped[index] ^= 1
            #expect(EpochHistory.open(flipped, in: host.vaultID, epoch: UInt32(epoch), key: newest) == nil)
        }
        // Served in place of the true one it brings the newest key, and no older one.
        #expect(try one.change(.renewKey) != nil)
        let third = try circle.addPerson()
        let three = third.devices[0]
        three.lie = { reply in
            guard case .keys(let keys) = reply else { return reply }
            return .keys(ZoneKeys(epoch: keys.epoch, history: wrong, letter: keys.letter, lacking: keys.lacking))
        }
        let head = try #require(Bytes32(third.chain.head.linkHash))
        #expect(
            try one.change(
                .add(StatedHead(accountID: third.account, device: head), .writer, name: nil), introducing: third) != nil
        )
        try three.hurry()
        three.lie = { $0 }
        #expect(three.vaultKeys.keys.sorted() == [1, 3])
        #expect(try three.hurry().waitingLinks?.code == .keyMissing)
        #expect(try one.change(.renewKey) != nil)
        for _ in 0..<2 { try three.hurry() }
        #expect(three.vaultKeys.keys.sorted() == [1, 2, 3, 4], "repaired")
        #expect(try three.facts() == two.facts())
    }

    @Test("a history object of who lacked a key lacks it, too: a writer who has that key opens another epoch")
    func lackingHistoryObject() throws {
        let circle = try Self.circle(.writer, .writer)
        let devices = circle.people.map { $0.devices[0] }
        let (one, three) = (devices[0], devices[2])
        for device in devices { try device.hurry() }
        let first = UInt32(one.vaultKeys.count)
        #expect(try one.change(.renewKey) != nil)
        try one.put(LogDevice.text(4), "under a key that went nowhere\n")
        try one.sync()
        // The server keeps the letter back, and shows an empty history object to everybody else.
        three.lie = { reply in
            guard case .keys(let keys) = reply else { return reply }
            return .keys(ZoneKeys(epoch: keys.epoch, history: keys.history, letter: [], lacking: keys.lacking))
        }
        devices[1].lie = { reply in
            guard case .keys(let keys) = reply else { return reply }
            return .keys(ZoneKeys(epoch: keys.epoch, history: [], letter: keys.letter, lacking: keys.lacking))
        }
        try devices[1].hurry()
        #expect(try devices[1].hurry().linkCount == 0, "what the server alone lacks costs no epoch")
        #expect(try three.change(.renewKey) != nil)
        #expect(three.vaultKeys[first + 1] == nil && three.vaultKeys[first + 2] != nil)
        for device in devices { device.lie = { $0 } }
        for round in 0..<4 {
            for device in devices { try device.hurry() }
            // An hour, so that who leaves keys out on purpose costs others few epochs.
            #expect((one.vaultKeys[first + 3] == nil) == (round == 0))
            one.person.server.clock.now += 5_400_000
        }
        for device in devices {
            #expect(device.vaultKeys.keys.sorted() == Array(1...(first + 3)), "one epoch more, and no second one")
            #expect(try device.shown(LogDevice.text(4)) == "under a key that went nowhere\n")
        }
    }

    @Test("R58: an owner's stolen device adds nobody after its revocation, until its person takes or undoes it")
    func linksOfAStolenOwnerDevice() throws {
        let circle = try Self.circle(.writer, devices: 2)
        let (host, guest) = (circle.people[0], circle.people[1])
        let (one, stolen, two) = (host.devices[0], host.devices[1], guest.devices[0])
        let friend = try circle.addPerson()
        // The server keeps the stolen device in the dark of its revocation and takes its link all the same: here it comes first.
        try stolen.sync()
        let head = try #require(Bytes32(friend.chain.head.linkHash))
        #expect(
            try stolen.change(
                .add(StatedHead(accountID: friend.account, device: head), .owner, name: nil), introducing: friend)
                != nil)
        try host.revoke(stolen, by: one)
        let told = try two.hurry()
        #expect(told.waitsForWord?.account == host.account, "\(told)")
        #expect(told.memberCount == 2)
        let own = try one.hurry()
        #expect(own.unconfirmed.count == 1 && own.memberCount == 2)
        // Its person undoes it in one link.
        let first = try #require(own.unconfirmed.first)
        let undoing = MemberChange.changeRoles(
            [MemberOperation.RoleChange(friend.account, nil)], confirming: [host.account])
        #expect(try one.change(undoing, shown: ShownLinks(undoneFrom: first)) != nil)
        try one.put(LogDevice.text(7), "goes on\n")
        try one.hurry()
        let after = try two.hurry()
        #expect(after.waitsForWord == nil && after.memberCount == 2)
        try two.hurry()
        #expect(try two.shown(LogDevice.text(7)) == "goes on\n")
    }

    @Test("R59: of two owners the earlier one outranks the other, in whatever order their links come")
    func duellingOwners() throws {
        for isFounderFirst in [true, false] {
            let circle = try Self.circle(.owner)
            let (host, guest) = (circle.people[0], circle.people[1])
            let (one, two) = (host.devices[0], guest.devices[0])
            if !isFounderFirst {
                let refused = #expect(throws: SyncError.self) { try two.change(change(host.account, nil)) }
                #expect(refused?.place == MemberError.Code.outranked.rawValue)
            }
            #expect(try one.change(change(guest.account, .viewer)) != nil)
            if isFounderFirst { #expect(try two.change(change(host.account, nil)) == nil) }
            #expect(try two.sync().role == .viewer && one.sync().role == .owner)
        }
    }
}
