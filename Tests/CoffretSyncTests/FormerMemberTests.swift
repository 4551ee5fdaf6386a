// Members who left, and lost a device after that: those who stay go on, and take nothing that a thief signed (K7, K8, K8a).

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

@Suite("Members who left")
struct FormerMemberTests {
    private func add(_ person: LogPerson, _ role: MemberRole) throws -> MemberChange {
        .add(
            StatedHead(accountID: person.account, device: try #require(Bytes32(person.chain.head.linkHash))), role,
            name: nil)
    }

    private func leave(_ device: LogDevice) throws {
        let link = try device.change(.leave)
        #expect(link != nil)
    }

    /// Adds a device and takes another one out; in between something happens.
    private func lose(_ device: LogDevice, of person: LogPerson, after body: () throws -> Void) throws {
        let spare = try person.addDevice()
        try body()
        try person.revoke(device, by: spare)
        try person.renewIdentity()
    }

    @Test("K7: an owner leaves, and loses the device later by which it left: nobody waits for its word")
    func leavingNeedsNoWord() throws {
        let circle = try MemberSyncTests.circle(.owner, .writer)
        let (one, owner, three) = (circle.people[0].devices[0], circle.people[1], circle.people[2].devices[0])
        for device in [one, owner.devices[0], three] { try device.hurry() }
        try lose(owner.devices[0], of: owner) { try leave(owner.devices[0]) }
        // Neither has heard of the leaving before it hears of the revocation.
        for device in [three, one] {
            let report = try device.hurry()
            #expect(report.waitsForWord == nil && report.memberCount == 2, "\(report)")
        }
        try three.put(LogDevice.text(3), "we two\n")
        for device in [three, one] { try device.hurry() }
        #expect(try one.shown(LogDevice.text(3)) == "we two\n")
        #expect(owner.devices[0].vaultKeys[one.repository.keys.currentEpoch] == nil)
    }

    @Test("K8: a word for own links states heads of those who are members now, where the newest links were not taken")
    func wordBehindChangedMembers() throws {
        let circle = try MemberSyncTests.circle(.writer, devices: 2)
        let (host, guest) = (circle.people[0], circle.people[1])
        let (one, stolen, two) = (host.devices[0], host.devices[1], guest.devices[0])
        let friend = try circle.addPerson()
        for device in [one, two, stolen] { try device.hurry() }
        #expect(try stolen.change(add(friend, .writer), introducing: friend) != nil)
        // Behind the link that will wait, a member leaves, and a device of his is revoked.
        try lose(two, of: guest) { try leave(two) }
        try host.revoke(stolen, by: one)
        try host.renewIdentity()
        let own = try one.hurry()
        #expect(own.unconfirmed.count == 1 && own.memberCount == 2)
        let undone = one.repository.chains.members.undoing(own.unconfirmed)
        #expect(undone.changes.map(\.accountID) == [friend.account])
        let wish = MemberChange.changeRoles(undone.changes, confirming: [host.account])
        #expect(try one.change(wish, shown: ShownLinks(undoneFrom: own.unconfirmed.first)) != nil)
        let after = try one.hurry()
        #expect(after.memberCount == 1 && after.unconfirmed.isEmpty && !after.isEpochStale)
        try one.put(LogDevice.text(3), "alone\n")
        #expect(try one.hurry().sentCount > 0)
        for device in [two, stolen, friend.devices[0]] {
            #expect(device.vaultKeys[one.repository.keys.currentEpoch] == nil)
        }
    }

    @Test("K8a: the founder left and lost the device that made the vault: each newcomer's person decides for himself")
    func founderIsGone() throws {
        let circle = try MemberSyncTests.circle(.owner, .writer)
        let (host, owner, writer) = (circle.people[0], circle.people[1], circle.people[2])
        let (one, two, three) = (host.devices[0], owner.devices[0], writer.devices[0])
        try one.put(LogDevice.text(1), "of the founder\n")
        for device in [one, two, three] { try device.hurry() }
        try lose(one, of: host) { try leave(one) }
        try two.put(LogDevice.text(3), "goes on\n")
        for device in [two, three, two] { #expect(try device.hurry().waitsForWord == nil) }
        let newcomer = try owner.addDevice()
        let told = try newcomer.hurry()
        #expect(told.waitsForWord?.account == host.account && told.waitsForWord?.speaker == .nobody, "\(told)")
        #expect(try newcomer.shown(LogDevice.text(3)) == nil)
        let unspoken = try newcomer.repository.ask { (machine) in machine.members.unspokenLinks }
        #expect(!unspoken.isEmpty)
        // Nothing is taken that was not shown.
        try newcomer.repository.takeUnspoken([])
        #expect(try newcomer.hurry().waitsForWord != nil)
        try newcomer.repository.takeUnspoken(Set(unspoken))
        try newcomer.crash()
        // For what the founder did behind another owner's coming, that owner can speak for all.
        #expect(try newcomer.hurry().waitsForWord?.speaker == .earlierOwner)
        let spoken = try two.repository.ask { (machine) in
            machine.members.unconfirmedLinks(spokenForBy: owner.account, and: [host.account])
        }
        #expect(spoken.count == 1)
        #expect(try two.change(.confirm([host.account]), shown: ShownLinks(undoneFrom: nil)) != nil)
        for _ in 0..<2 { #expect(try newcomer.hurry().waitsForWord == nil) }
        try two.hurry()
        #expect(try newcomer.facts() == two.facts() && newcomer.shown(LogDevice.text(3)) == "goes on\n")
        try newcomer.put(LogDevice.text(4), "from the new device\n")
        for device in [newcomer, three] { try device.hurry() }
        #expect(try three.shown(LogDevice.text(4)) == "from the new device\n")
        #expect(newcomer.repository.fsck().isClean)
    }

    @Test("K8a: a person is not shown links of a founder who is gone that were taken before the one that waits")
    func takenBefore() throws {
        let circle = try MemberSyncTests.circle(.writer)
        let host = circle.people[0]
        let (one, two) = (host.devices[0], circle.people[1].devices[0])
        for device in [one, two] { try device.hurry() }
        try lose(one, of: host) {
            let heir = MemberOperation.RoleChange(two.person.account, .owner)
            #expect(try one.change(.changeRoles([heir], confirming: [])) != nil)
            try leave(one)
        }
        let told = try two.hurry()
        #expect(told.waitsForWord?.speaker == .nobody, "\(told)")
        let (unspoken, lacking) = try two.repository.ask { (machine) in
            let view = machine.members
            return (view.unspokenLinks, view.chain.links.indices.filter(view.lacksConfirmation))
        }
        // The link that let the guest in lacks confirmation, too, and was taken when nobody doubted it.
        #expect(unspoken == [told.waitsForWord?.link] && lacking.count == 2)
        try two.repository.takeUnspoken(Set(unspoken))
        let after = try two.hurry()
        #expect(after.waitsForWord == nil && after.role == .owner && after.memberCount == 1, "\(after)")
        try two.put(LogDevice.text(3), "alone\n")
        #expect(try two.hurry().sentCount > 0 && one.vaultKeys[two.repository.keys.currentEpoch] == nil)
    }

    @Test("R7: what was told is asked for once no link waits, and then a base that nobody shows is missed")
    func toldWhileLinksWait() throws {
        let circle = try MemberSyncTests.circle(.writer, devices: 2)
        let (host, two) = (circle.people[0], circle.people[1].devices[0])
        let one = host.devices[0]
        let heir = try circle.addPerson()
        for device in [one, two] { try device.hurry() }
        try lose(one, of: host) {
            let link = try one.change(add(heir, .writer), introducing: heir)
            #expect(link != nil)
        }
        #expect(try two.hurry().waitsForWord != nil)
        let count = try two.repository.ask { (machine) in (machine.members.takenCount, machine.members.chain.count) }
        #expect(count.0 < count.1)
        let word = AppliedWord(base: UInt32(count.1 + 9), numbers: [:], digest: StateDigest())
        let bytes = CBOREncoder.encode { $0.encode(word: word) }
        #expect(try PairingWord.keep(bytes, in: two.repository))
        #expect(try LogExchangeTests.failure { try two.sync() } == nil)
        #expect(LogMemory(of: two.repository).told == word)
        let spare = try #require(host.devices.last)
        #expect(try spare.change(.confirm([host.account]), shown: ShownLinks(undoneFrom: nil)) != nil)
        #expect(try LogExchangeTests.failure { try two.hurry() }?.code == .headRolledBack)
    }

    @Test("K8: a member who is no owner any more speaks for no other account, and decides for his own device")
    func ownerNoMore() throws {
        let circle = try MemberSyncTests.circle(.owner)
        let (host, other) = (circle.people[0], circle.people[1])
        let (one, two) = (host.devices[0], other.devices[0])
        let heir = try circle.addPerson()
        for device in [one, two] { try device.hurry() }
        try lose(one, of: host) {
            #expect(try one.change(add(heir, .owner), introducing: heir) != nil)
            let lowered = MemberOperation.RoleChange(other.account, .viewer)
            #expect(try one.change(.changeRoles([lowered], confirming: [])) != nil)
            #expect(try heir.devices[0].change(.accept) != nil)
            try leave(one)
        }
        #expect(try two.hurry().waitsForWord?.speaker == .nobody)
        let (spoken, unspoken) = try two.repository.ask { (machine) in
            let view = machine.members
            return (view.unconfirmedLinks(spokenForBy: other.account, and: [host.account]), view.unspokenLinks)
        }
        #expect(spoken.isEmpty && unspoken.count == 2, "\(spoken) \(unspoken)")
        try two.repository.takeUnspoken(Set(unspoken))
        let after = try two.hurry()
        #expect(after.waitsForWord == nil && after.role == .viewer && after.memberCount == 2, "\(after)")
    }

    @Test("K8a: what somebody can still confirm for all is not taken on one device alone")
    func somebodyCanSpeak() throws {
        let circle = try MemberSyncTests.circle(.owner, .writer, devices: 2)
        let (host, owner, writer) = (circle.people[0], circle.people[1], circle.people[2])
        let (one, stolen) = (host.devices[0], host.devices[1])
        let (two, three) = (owner.devices[0], writer.devices[0])
        let friend = try circle.addPerson()
        for device in [one, stolen, two, three] { try device.hurry() }
        // The thief makes the account leave, too: that is no word for what he did before, and whoever was an owner then knows.
        #expect(try stolen.change(add(friend, .owner), introducing: friend) != nil)
        #expect(try stolen.change(.leave) != nil)
        try host.revoke(stolen, by: one)
        try host.renewIdentity()
        func isRefused() throws -> Bool {
            let told = try three.hurry()
            let link = try #require(told.waitsForWord?.link)
            try three.repository.takeUnspoken([link])
            return try told.waitsForWord?.speaker == .earlierOwner && three.hurry().waitsForWord?.link == link
        }
        #expect(try isRefused())
        let link = try #require(try two.hurry().waitsForWord?.link)
        let undone = two.repository.chains.members.undoing([link])
        let wish = MemberChange.changeRoles(undone.changes, confirming: [host.account])
        #expect(try two.change(wish, shown: ShownLinks(undoneFrom: link)) != nil)
        let after = try three.hurry()
        #expect(after.waitsForWord == nil && after.memberCount == 2)
    }
}
