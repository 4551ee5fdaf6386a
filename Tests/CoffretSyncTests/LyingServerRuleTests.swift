// A server that lies about words and entries: what nobody may write counts nowhere, and silence is told apart from news.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretSimulation
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Testing

@testable import CoffretLogs
@testable import CoffretSync

@Suite("A lying server: rules")
struct LyingServerRuleTests {
    private let random = SeededGenerator(seed: 12)

    private static func settled(_ count: Int) throws -> LogPerson {
        let person = try LogExchangeTests.person(count)
        for device in person.devices + person.devices { try device.sync() }
        return person
    }

    @Test(
        "R8: errors, rubbish or silence where the others' words should be: an audit that failed, and no news of anybody"
    )
    func failedAudit() throws {
        let person = try Self.settled(2)
        defer { withExtendedLifetime(person) {} }
        let (one, two) = (person.devices[0], person.devices[1])
        try one.audit()
        #expect(try two.audit().peers.map(\.device) == [one.id])
        for rubbish in [LogReply.unreachable, .refused(code: "server.internal"), .end, .acknowledged] {
            two.lie = { reply in if case .acknowledgements = reply { rubbish } else { reply } }
            #expect(throws: SyncError.self) { try two.audit() }
        }
        two.lie = { $0 }
        #expect(try two.audit().peers.map(\.device) == [one.id])
    }

    /// An entry of a log of its own, with its context, as objects of the zone.
    private func entry(
        _ text: String, in key: FactKey, by id: UniqueID, _ signing: SigningKey, sealedBy device: LogDevice,
        floor: UInt64 = EntryContext.formatVersion, form: UInt8 = 0
    ) throws -> [ZoneObject] {
        let own = try #require(try device.repository.ownContext())
        let context = EntryContext(
            vaultID: own.vaultID, accountID: own.accountID, deviceID: id, nonce: .generate(from: random),
            firstLink: UInt32(own.memberHead.number), deviceHead: own.deviceHead, memberHead: own.memberHead,
            epoch: own.epoch,
            formatFloor: floor)
        var body = EntryBody(
            context: context.name, number: 1, before: nil, height: 50, time: device.now, seen: Frontier())
        body.changes = EntryChanges.list(
            [Change(key: key, content: .inPlace([form] + Array(text.utf8)), replaces: [])],
            salt: random.bytes(count: HistoryLimits.saltByteCount))
        let contents = [
            (context.encode(), BlobType.entryContext), (body.sign(in: context, with: signing).content, .entry),
        ]
        return try contents.map { content, type in
            let blob = try device.repository.blobs.seal(content, type: type)
            return ZoneObject(address: blob.sealed.address.bytes, ciphertext: blob.sealed.bytes)
        }
    }

    @Test("R11: entries of somebody who was told the keys, and whom no chain knows, count nowhere")
    func strangers() throws {
        let person = try Self.settled(2)
        defer { withExtendedLifetime(person) {} }
        let (one, two) = (person.devices[0], person.devices[1])
        let (known, foreign) = (LogDevice.text(8), LogDevice.text(9))
        one.serverAlso =
            try entry("known\n", in: known, by: two.id, two.secrets.signing, sealedBy: two)
            // A new id, and a known id under another key.
            + entry("stranger\n", in: foreign, by: .generate(from: random), .generate(from: random), sealedBy: two)
            + entry("mask\n", in: foreign, by: two.id, .generate(from: random), sealedBy: two)
        // Only what is new is listed.
        try two.put(LogDevice.text(1), "news\n")
        try two.sync()
        try one.sync()
        #expect(try one.shown(known) == "known\n", "what a device of the account signed is taken the same way")
        #expect(try one.shown(foreign) == nil)
    }

    @Test("R22: a revoked device's values that are none keep nobody from those that can be rescued")
    func rescue() throws {
        let person = try Self.settled(3)
        defer { withExtendedLifetime(person) {} }
        let (one, two, thief) = (person.devices[0], person.devices[1], person.devices[2])
        let (good, bad) = (LogDevice.text(8), LogDevice.text(9))
        one.serverAlso =
            try entry("good\n", in: good, by: thief.id, thief.secrets.signing, sealedBy: two)
            + entry("none", in: bad, by: thief.id, thief.secrets.signing, sealedBy: two, form: 1)
        try two.put(LogDevice.text(1), "news\n")
        try two.sync()
        try one.sync()
        #expect(try one.shown(good) == "good\n")
        // The other one writes the closing link, and has nothing of it.
        try person.revoke(thief, by: two)
        try two.sync()
        one.serverAlso = []
        try one.sync()
        #expect(try one.shown(good) == nil)
        #expect(try one.repository.setAsideEntries().count == 2)
        let changes = try one.repository.setAsideChanges()
        #expect(changes.map(\.key) == [good] && changes.first?.change.value == Array("good\n".utf8))
        #expect(try two.repository.setAsideEntries().isEmpty)
        // A person has 30 days, by the syncs that this device made.
        for _ in 0..<80 {
            person.server.clock.now += 8 * 3_600_000
            try one.sync()
        }
        #expect(try one.repository.setAsideEntries().count == 2)
        for _ in 0..<20 {
            person.server.clock.now += 8 * 3_600_000
            try one.sync()
        }
        #expect(try one.repository.setAsideEntries().isEmpty)
        #expect(one.repository.fsck().isClean)
        try one.reopen()
        #expect(try one.facts() == two.facts())
    }

    @Test(
        "R12, R18: an entry behind which an older program must not write is refused as a newer format, and others go on"
    )
    func newerFormat() throws {
        let person = try Self.settled(2)
        defer { withExtendedLifetime(person) {} }
        let (one, two) = (person.devices[0], person.devices[1])
        let key = LogDevice.text(9)
        let newer = EntryContext.formatVersion + 1
        one.serverAlso = try entry("newer\n", in: key, by: two.id, two.secrets.signing, sealedBy: two, floor: newer)
        try two.put(LogDevice.text(1), "as before\n")
        try two.sync()
        #expect(!LogMemory(of: one.repository).hasUnreadable)
        try one.sync()
        #expect(try one.shown(key) == nil)
        #expect(try one.shown(LogDevice.text(1)) == "as before\n")
        // It is told apart from rubbish, and the server is asked for it again by a program that knows it.
        let memory = LogMemory(of: one.repository)
        #expect(memory.hasUnreadable && memory.left != nil)
    }

    @Test("storage M5, R112: objects without end and without a mark are no list before memory is short")
    func noMark() throws {
        var pages = HTTPZoneTransport.PageReader(isList: true, byteCountMax: 1 << 20)
        var taken = 0
        let bytes = [UInt8](repeating: 7, count: 64 << 10)
        func isTaken() throws -> Bool {
            let object = ZoneObject(address: random.bytes(count: 32), ciphertext: bytes)
            let frame = ChangeFrame.object(object, uploader: random.bytes(count: 32)).framed()
            return try pages.take(frame) { _ in Issue.record("a page of a list") }
        }
        while taken < 100, try isTaken() { taken += 1 }
        #expect(taken == 15)
        #expect(!pages.isComplete)
    }
}
