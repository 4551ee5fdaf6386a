// The link that closes a device, in one request with the device link that revokes it: all of it is taken, or nothing.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretSimulation
import CoffretStorage
import CoffretSync
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Testing

@Suite("Closing links in one request with device links")
struct ClosingLinkTests {
    private let person: LogPerson
    private var one: LogDevice { person.devices[0] }
    private var two: LogDevice { person.devices[1] }
    private var thief: LogDevice { person.devices[2] }

    init() throws {
        person = try LogExchangeTests.person(3)
        try person.devices[0].put(LogDevice.text(0), "first\n")
        for device in person.devices + person.devices { try device.sync() }
    }

    private func head() throws -> [UInt8] { try #require(try person.head()?.address) }

    @Test("the server takes both: nobody else has anything to write, and what was sent before counts (K2)")
    func together() throws {
        try thief.put(LogDevice.text(5), "in time\n")
        try thief.sync()
        try one.sync()
        let late = LogDevice.text(6)
        try thief.put(late, "too late\n")
        let stolen = try person.stolenPush(of: thief)
        let post = try one.revocation(of: thief, on: head())
        #expect(post.items.count == 2)
        guard case .links = try person.send(post, by: one) else {
            Issue.record("refused")
            return
        }
        // Other devices find the vault closed; they take what was stolen for nothing.
        two.serverAlso = stolen
        #expect(try two.sync().linkCount == 0)
        #expect(two.repository.keys.currentEpoch == 2)
        try two.put(LogDevice.text(7), "under the new key\n")
        try two.sync()
        // The author, whose power failed before the answer, goes on with what the server took.
        try one.crash()
        one.serverAlso = stolen
        #expect(try one.sync().linkCount == 0)
        #expect(one.repository.keys.currentEpoch == 2)
        for device in [one, two] {
            #expect(try device.shown(LogDevice.text(5)) == "in time\n" && device.shown(late) == nil)
            #expect(try device.shown(LogDevice.text(7)) == "under the new key\n")
            #expect(try device.repository.ask { (machine) in machine.members.takenCount } == 2)
            #expect(device.repository.fsck().isClean)
        }
        #expect(try one.facts() == two.facts())
    }

    @Test("a zone that has moved on, or a chain that has, refuses both: nobody is revoked, and nothing is closed")
    func refused() throws {
        let post = try one.revocation(of: thief, on: head())
        try two.put(LogDevice.text(1), "meanwhile\n")
        try two.sync()
        guard case .moved = try person.send(post, by: one) else {
            Issue.record("taken")
            return
        }
        #expect(person.isTrusted(thief))
        try thief.put(LogDevice.text(2), "still trusted\n")
        #expect(try thief.sync().sentCount == 1)
        // Made anew on what is there now.
        try one.sync()
        let again = try one.revocation(of: thief, on: head())
        try person.addDevice()
        guard case .conflict = try person.send(again, by: one) else {
            Issue.record("taken")
            return
        }
        #expect(person.isTrusted(thief))
        for device in person.devices + person.devices { try device.sync() }
        guard case .links = try person.send(one.revocation(of: thief, on: head()), by: one) else {
            Issue.record("refused")
            return
        }
        for device in [one, two, person.devices[3]] {
            #expect(try device.sync().linkCount == 0)
            #expect(try device.shown(LogDevice.text(2)) == "still trusted\n")
            #expect(try device.facts() == one.facts())
        }
    }

    @Test("what the author had not seen stays behind the limit, and is offered to a person")
    func unseen() throws {
        try thief.put(LogDevice.text(3), "unseen\n")
        try thief.sync()
        try two.sync()
        // On any head, as after two refusals: the author has less than the zone.
        guard case .links = try person.send(one.revocation(of: thief, on: nil), by: one) else {
            Issue.record("refused")
            return
        }
        for device in [one, two, one] { try device.sync() }
        for device in [one, two] {
            #expect(try device.shown(LogDevice.text(3)) == nil)
            #expect(try device.repository.setAsideEntries().count == 1)
        }
        #expect(try one.facts() == two.facts())
    }
}
