// Links within syncs: checkpoints, new devices, revocations, epochs; and what attackers gain who prepared for them.

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

@Suite("Links in syncs of logs")
struct LogLinkTests {
    private static func checkpoint() -> LogSync.Options {
        var options = LogSync.Options()
        options.writesCheckpoint = true
        return options
    }

    private func base(_ device: LogDevice) throws -> (link: Int?, trust: BaseTrust) {
        try device.repository.ask { (machine) in (machine.base, machine.baseTrust) }
    }

    @Test("a new device takes the newest tree, reads, writes and pushes at once; the past comes behind")
    func newDevice() throws {
        let person = try LogExchangeTests.person()
        let (one, two) = (person.devices[0], person.devices[1])
        for number in 1...300 { try one.put(LogDevice.text(number), "old \(number)\n") }
        try one.repository.commit(
            (400..<1_000).map { LogChange(key: LogDevice.text($0), value: person.random.bytes(count: 900)) }, time: 1)
        try one.sync()
        #expect(try one.sync(Self.checkpoint()).linkCount == 1)
        #expect(try base(one).trust == .verified)
        try two.sync()
        #expect(try base(two).link == base(one).link && base(two).trust == .verified)
        try two.put(LogDevice.text(1), "new\n")
        try two.sync()
        let three = try person.addDevice()
        var options = LogSync.Options()
        options.readsPast = false
        // Cut again and again, it goes on where it was.
        var cut = 0
        three.lie = { reply in
            guard case .page = reply else { return reply }
            cut += 1
            return cut % 3 == 2 ? .unreachable : reply
        }
        for _ in 0..<20 where try LogExchangeTests.failure({ try three.sync(options) }) != nil {}
        three.lie = { $0 }
        let report = try three.sync(options)
        #expect(report.isPresentHere && report.hasPast)
        #expect(try base(three).trust == .unverified)
        #expect(try three.facts() == two.facts())
        #expect(try three.shown(LogDevice.text(1)) == "new\n")
        try three.put(LogDevice.text(2), "of three\n")
        #expect(try three.sync(options).sentCount == 1)
        try one.sync()
        #expect(try one.shown(LogDevice.text(2)) == "of three\n")
        // The past verifies what was taken.
        let past = try three.sync()
        #expect(!past.hasPast && past.receivedCount >= 300)
        #expect(try base(three).trust == .verified)
        #expect(try three.repository.history(of: LogDevice.text(1).entity).count == 2)
        #expect(try three.sync().receivedCount == 0)
        #expect(try three.facts() == one.facts())
    }

    @Test("a revocation opens an epoch; what the device planted, pushes and dates back counts for nobody (R22, R27)")
    func revocationLyingServer() throws {
        let person = try LogExchangeTests.person(3)
        let (one, two, thief) = (person.devices[0], person.devices[1], person.devices[2])
        let key = LogDevice.text(1)
        try one.put(key, "mine\n")
        for device in person.devices + [one] { try device.sync() }
        // Planted epochs: the next one, and the last that there is.
        let evil = VaultKey.generate(from: person.random)
        for device in [one, two] { device.offered += [(2, evil), (.max, evil)] }
        try one.sync()
        try two.sync()
        #expect(Array(one.vaultKeys.keys) == [1])
        // Dated back: it states the chain of before.
        try thief.put(key, "wiped\n")
        let stolen = try person.stolenPush(of: thief)
        #expect(!stolen.isEmpty)
        try person.revoke(thief, by: one)
        let report = try one.sync()
        #expect(report.linkCount == 1 && report.sentCount == 0 && !report.isEpochStale)
        #expect(one.vaultKeys.keys.sorted() == [1, 2])
        try one.put(LogDevice.text(2), "under the new key\n")
        #expect(try one.sync().sentCount == 1)
        try two.sync()
        #expect(two.vaultKeys.keys.sorted() == [1, 2])
        #expect(try two.shown(LogDevice.text(2)) == "under the new key\n")
        // The thief has neither key nor say: a server that helps him is refused by readers.
        #expect(Array(thief.vaultKeys.keys) == [1])
        for device in [one, two] {
            device.serverAlso = stolen
            try device.sync()
            #expect(try device.shown(key) == "mine\n")
            #expect(try device.facts() == one.facts())
            device.serverAlso = []
        }
        let sealed = try #require(person.objects().last)
        let blob = SealedBlob(address: try #require(BlobAddress(bytes: sealed.address)), bytes: sealed.ciphertext)
        #expect(try thief.repository.exchange.openSealed(blob) { (_, _, _) in true } == nil)
        #expect(blob.epoch == 2)
    }

    @Test("a revocation whose author dies half-way is finished by any other device (K2, K5)")
    func halfMade() throws {
        let person = try LogExchangeTests.person(3)
        let (one, two, thief) = (person.devices[0], person.devices[1], person.devices[2])
        try person.revoke(thief, by: one)
        // The author is cut before the link, with a key that nobody has.
        one.intercept = { request in if case .links = request { .unreachable } else { nil } }
        #expect(try LogExchangeTests.failure { try one.sync() }?.code == .unreachable)
        one.intercept = nil
        try two.put(LogDevice.text(1), "waits for the new key\n")
        let report = try two.sync()
        #expect(report.linkCount == 1 && report.sentCount == 1 && two.vaultKeys.keys.sorted() == [1, 2])
        // Its author follows, and lets go of the key that lost.
        #expect(try one.sync().linkCount == 0)
        #expect(one.vaultKeys[2] != nil && one.offered.isEmpty)
        #expect(try one.shown(LogDevice.text(1)) == "waits for the new key\n")
        // The answer to a link is lost: the link stands, and its key is taken from where it was kept.
        let four = try person.addDevice()
        try four.sync()
        try person.revoke(four, by: one)
        one.intercept = { request in
            guard case .links = request else { return nil }
            _ = try person.server.answer(request, in: person.vaultID.bytes, by: one.owner) { _ in }
            return .unreachable
        }
        #expect(try LogExchangeTests.failure { try one.sync() }?.code == .unreachable)
        one.intercept = nil
        #expect(try one.sync().linkCount == 0 && one.vaultKeys.keys.sorted() == [1, 2, 3])
        try two.sync()
        #expect(two.vaultKeys.keys.sorted() == [1, 2, 3])
    }

    @Test("two devices that write a closing link at once come to one epoch")
    func racingLinks() throws {
        let person = try LogExchangeTests.person(3)
        let (one, two, thief) = (person.devices[0], person.devices[1], person.devices[2])
        try one.put(LogDevice.text(1), "a\n")
        try person.revoke(thief, by: one)
        var isOpen = true
        one.intercept = { request in
            if case .links = request, isOpen {
                isOpen = false
                try two.sync()
            }
            return nil
        }
        try one.sync()
        one.intercept = nil
        try two.sync()
        #expect(!isOpen && one.vaultKeys.keys.sorted() == [1, 2] && two.vaultKeys.keys.sorted() == [1, 2])
        #expect(try one.facts() == two.facts() && two.shown(LogDevice.text(1)) == "a\n")
    }
}
