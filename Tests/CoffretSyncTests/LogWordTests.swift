// What devices say of each other, what a server forgets, and copies of a store: each by what the server could gain.

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

@Suite("Words of devices in syncs of logs")
struct LogWordTests {
    private static let hour: Milliseconds = 3_600_000

    private static func settled(_ count: Int = 2) throws -> LogPerson {
        let person = try LogExchangeTests.person(count)
        for device in person.devices + person.devices { try device.sync() }
        return person
    }

    private static func checkpoint(_ purges: [EntityID] = []) -> LogSync.Options {
        var options = LogSync.Options()
        options.writesCheckpoint = true
        options.purges = purges
        return options
    }

    private func peer(_ device: LogDevice, _ audit: LogAudit) -> LogAudit.Peer? {
        audit.peers.first { $0.device == device.id }
    }

    @Test("a device sees who is up to date, behind and ahead; what stays away for a day was withheld (R4)")
    func withheld() throws {
        let person = try Self.settled()
        let (one, two) = (person.devices[0], person.devices[1])
        try one.put(LogDevice.text(1), "a\n")
        try one.sync()
        try one.audit()
        try two.sync()
        #expect(try peer(one, two.audit())?.standing == .upToDate)
        #expect(try peer(two, one.audit())?.standing == .upToDate)
        try one.put(LogDevice.text(1), "b\n")
        // With something to push a device says nothing.
        let before = try person.acknowledgements()
        #expect(try peer(two, one.audit())?.standing == .behind && person.acknowledgements() == before)
        try one.sync()
        try one.audit()
        // The server shows the other one a day of old lists, and the words of today.
        var audit = try two.audit()
        #expect(peer(one, audit)?.standing == .ahead && peer(one, audit)?.isWithheld == false)
        for step in 1...6 {
            person.server.clock.now += 5 * Self.hour
            audit = try two.audit()
            #expect(peer(one, audit)?.isWithheld == (step >= 5), "\(step)")
        }
        // An older word takes nothing back.
        let words = try person.acknowledgements()
        two.lie = { reply in
            guard case .acknowledgements(let list) = reply else { return reply }
            return .acknowledgements(list.map { entry in before.first { $0.deviceID == entry.deviceID } ?? entry })
        }
        audit = try two.audit()
        #expect(audit.olderWords.map(\.device) == [one.id] && peer(one, audit)?.isWithheld == true)
        // None at all.
        two.lie = { reply in
            guard case .acknowledgements(let list) = reply else { return reply }
            return .acknowledgements(list.filter { $0.deviceID != one.id })
        }
        #expect(try two.audit().silentDevices.map(\.device) == [one.id])
        // One that was changed, or is another device's.
        two.lie = { reply in
            guard case .acknowledgements(let list) = reply else { return reply }
            return .acknowledgements(
                list.map { Acknowledgements.Entry(accountID: $0.accountID, deviceID: one.id, bytes: $0.bytes) }.suffix(
                    1))
        }
        #expect(words.count == 2)
        if words.last?.deviceID != one.id { #expect(try two.audit().peers.isEmpty) }
        two.lie = { $0 }
        try two.sync()
        audit = try two.audit()
        #expect(peer(one, audit)?.standing == .upToDate && peer(one, audit)?.isWithheld == false)
        // A revoked device has no say.
        try person.revoke(two, by: one)
        try one.sync()
        #expect(try one.audit().peers.isEmpty)
    }

    @Test("an old copy that only read finds out by its own word, and says nothing (I2)")
    func oldWord() throws {
        let person = try Self.settled()
        let (one, two) = (person.devices[0], person.devices[1])
        try two.put(LogDevice.text(2), "two\n")
        try two.sync()
        try two.audit()
        let saved = two.save()
        for round in 0..<3 {
            try one.put(LogDevice.text(1), "\(round)\n")
            try one.sync()
            try two.sync()
            try two.audit()
        }
        let words = try person.acknowledgements()
        try two.putBack(saved)
        #expect(try two.audit().isCopy)
        #expect(try person.acknowledgements() == words)
        try LogCopies.note(in: two.repository)
        let old = try two.repository.ownLog()?.instance
        let report = try two.sync()
        #expect(report.isCopy && report.writtenAgainCount == 0)
        try two.put(LogDevice.text(3), "goes on\n")
        #expect(try two.repository.ownLog()?.instance != old)
        try two.sync()
        let audit = try two.audit()
        #expect(!audit.isCopy)
        try one.sync()
        #expect(try peer(two, one.audit())?.standing == .upToDate)
        #expect(try one.facts() == two.facts())
    }

    @Test("a copy of a store leaves the log and writes again what only it had; no line is lost (I2, I4)")
    func copies() throws {
        let person = try Self.settled()
        let (one, two) = (person.devices[0], person.devices[1])
        try two.put(LogDevice.text(1), "shared\n")
        try two.sync()
        let copy = try LogDevice(copying: two)
        // Both write; the copy first in its own log without a sync.
        try two.put(LogDevice.text(2), "of the first\n")
        try copy.put(LogDevice.text(3), "of the copy\n")
        try copy.put(LogDevice.text(3), "of the copy\nagain\n")
        try two.sync()
        let found = try copy.sync()
        #expect(found.isCopy && found.writtenAgainCount == 2 && found.sentCount == 2)
        let quiet = try copy.sync()
        #expect(!quiet.isCopy && quiet.sentCount == 0 && quiet.receivedCount == 0)
        let first = try two.sync()
        #expect(!first.isCopy && first.receivedCount == 2)
        try one.sync()
        for device in [one, two, copy] {
            #expect(try device.shown(LogDevice.text(2)) == "of the first\n")
            #expect(try device.shown(LogDevice.text(3)) == "of the copy\nagain\n")
            #expect(try device.repository.ask { (machine) in machine.forked.isEmpty })
            #expect(device.repository.fsck().isClean)
        }
        #expect(try one.facts() == copy.facts() && two.facts() == copy.facts())
        // Both go on, each in its own log.
        #expect(try two.repository.ownLog()?.instance != copy.repository.ownLog()?.instance)
    }

    @Test("two copies that both pushed: the fork is ended, and what its end takes is written again (K6, I4)")
    func pushedCopies() throws {
        let person = try Self.settled(3)
        let (one, two, three) = (person.devices[0], person.devices[1], person.devices[2])
        try two.put(LogDevice.text(1), "shared\n")
        try two.sync()
        let copy = try LogDevice(copying: two)
        try two.put(LogDevice.text(2), "of the first\n")
        try copy.put(LogDevice.text(3), "of the copy\n")
        try two.sync()
        // The copy is shown nothing new before it pushes, and moves no head over the one that it knows.
        let old = try #require(try person.head())
        var isOpen = true
        copy.lie = { reply in
            if case .page(let page) = reply, isOpen {
                return .page(LogPage(objects: [], cursor: page.cursor, hasMore: page.hasMore))
            }
            return reply
        }
        _ = old
        _ = try LogExchangeTests.failure { try copy.sync() }
        isOpen = false
        for _ in 0..<6 {
            for device in [copy, two, one, three] {
                _ = try LogExchangeTests.failure { try device.sync() }
            }
            person.server.clock.now += 9 * Self.hour
        }
        for device in [one, two, three, copy] {
            #expect(try device.shown(LogDevice.text(2)) == "of the first\n")
            #expect(try device.shown(LogDevice.text(3)) == "of the copy\n")
            #expect(try device.facts() == one.facts())
            #expect(try device.repository.setAsideEntries().isEmpty, "written again")
        }
    }

    @Test("a new device was told what is there: a server that shows less is found out at once (R7)")
    func told() throws {
        let person = try Self.settled()
        let one = person.devices[0]
        try one.put(LogDevice.text(1), "first\n")
        try one.sync()
        let old = try #require(try person.head())
        let objects = try person.objects()
        try one.put(LogDevice.text(2), "second\n")
        #expect(try PairingWord.encoded(of: one.repository) == nil)
        try one.sync()
        let told = try #require(try PairingWord.encoded(of: one.repository))
        let three = try person.addDevice()
        #expect(try !PairingWord.keep([1, 2], in: three.repository))
        #expect(try PairingWord.keep(told, in: three.repository))
        // Of an epoch that nobody made: the device keeps asking for it, and misses what it was told all the same.
        let unknown = ZoneObject(
            address: [UInt8](repeating: 7, count: 32),
            ciphertext: UInt32(99).bigEndianBytes + [UInt8](repeating: 1, count: 400))
        three.lie = { reply in
            switch reply {
            case .head: .head(old)
            case .page(let page):
                .page(
                    LogPage(
                        objects: page.objects.filter { objects.contains($0) } + [unknown], cursor: page.cursor,
                        hasMore: page.hasMore))
            default: reply
            }
        }
        #expect(try LogExchangeTests.failure { try three.sync() }?.code == .headRolledBack)
        // It outlives the process.
        try three.reopen()
        #expect(try LogExchangeTests.failure { try three.sync() }?.code == .headRolledBack)
        three.lie = { $0 }
        _ = try LogExchangeTests.failure { try three.sync() }
        var options = LogSync.Options()
        options.readsPast = true
        try three.sync(options)
        #expect(try three.shown(LogDevice.text(1)) == "first\n")
    }

    @Test("the server forgets what lies below a checkpoint that another device has; nobody misses it (G5)")
    func collection() throws {
        let person = try Self.settled()
        let (one, two) = (person.devices[0], person.devices[1])
        let long = String(repeating: "a long line of a note that is in a blob of its own\n", count: 200)
        for number in 0..<30 {
            try one.put(LogDevice.text(1), "\(number) \(person.random.bytes(count: 3_000))" + long)
        }
        try one.put(LogDevice.text(2), "kept\n")
        try one.sync()
        try two.sync()
        #expect(try one.sync(Self.checkpoint()).linkCount == 1)
        let link = try #require(try one.repository.ask { (machine) in machine.base })
        let own = try one.unacknowledged()
        let plan = try #require(try one.repository.droppingPlan(below: link, unacknowledged: own))
        #expect(try one.repository.drop(plan, unacknowledged: own) == nil)
        try LogCollector.request(below: link, in: one.repository)
        // Nobody else has the checkpoint.
        #expect(try one.collect(one.audit()) == .waitsForOthers)
        #expect(LogCollector.requested(in: one.repository) == link)
        try two.sync()
        try two.audit()
        let before = try person.objects().count
        // In parts; the line breaks behind the third, and the next one begins anew with what is left.
        var partCount = 0
        one.intercept = { request in
            guard case .sweep = request else { return nil }
            partCount += 1
            return partCount > 3 ? .unreachable : nil
        }
        #expect(try LogExchangeTests.failure { try one.collect(one.audit(), partCountMax: 8) }?.code == .unreachable)
        one.intercept = nil
        #expect(LogCollector.requested(in: one.repository) == link)
        #expect(try person.objects().count == before - 24)
        guard case .collected(let count, let byteCount) = try one.collect(one.audit(), partCountMax: 8) else {
            Issue.record("not collected")
            return
        }
        #expect(count >= 58 - 24 && byteCount > 50_000, "\(count) \(byteCount)")
        #expect(try person.objects().count == before - 24 - Int(count))
        #expect(LogCollector.requested(in: one.repository) == nil)
        try one.repository.compact()
        // Who knows it, who is new, and who was away all come to the same.
        try two.put(LogDevice.text(2), "kept and edited\n")
        try two.sync()
        try one.sync()
        let three = try person.addDevice()
        for device in [three, one, two, three] { try device.sync() }
        for device in person.devices {
            #expect(try device.facts() == one.facts())
            #expect(try device.shown(LogDevice.text(2)) == "kept and edited\n")
            #expect(try device.shown(LogDevice.text(1))?.hasSuffix(long) == true)
            #expect(device.repository.fsck().isClean)
        }
        #expect(try one.collect(one.audit()) == .none)
    }

    @Test("an item that is deleted for good goes here, at the server, and at the others after a week (P1 to P4)")
    func purge() throws {
        let person = try Self.settled()
        let (one, two) = (person.devices[0], person.devices[1])
        let secret = LogDevice.text(7)
        try one.put(secret, "never mind\n")
        try two.sync()
        try one.sync()
        try two.sync()
        try two.put(secret, "never mind, edited\n")
        try two.sync()
        try one.sync()
        try one.repository.commit([LogChange(key: secret, value: nil)], time: one.now)
        let report = try one.sync(Self.checkpoint([secret.entity]))
        #expect(report.linkCount == 1 && report.obstacle == nil)
        #expect(try one.repository.history(of: secret.entity).isEmpty)
        let found = try two.sync()
        #expect(found.waitingPurges.count == 1)
        #expect(try !two.repository.history(of: secret.entity).isEmpty)
        for _ in 0..<24 {
            person.server.clock.now += 8 * Self.hour
            try two.sync()
        }
        #expect(try two.repository.history(of: secret.entity).isEmpty)
        #expect(try two.sync().waitingPurges.isEmpty)
        try two.audit()
        let link = try #require(try one.repository.ask { (machine) in machine.base })
        try LogCollector.request(below: link, in: one.repository)
        guard case .collected(let count, _) = try one.collect(one.audit()) else {
            Issue.record("not collected")
            return
        }
        #expect(count > 0)
        for device in [one, two] {
            try device.repository.compact()
            #expect(device.repository.fsck().isClean)
        }
        let three = try person.addDevice()
        for device in [three, one, two] {
            try device.sync()
            #expect(try device.facts() == one.facts() && device.shown(secret) == nil)
            #expect(try device.repository.history(of: secret.entity).isEmpty)
        }
    }

    @Test("what a device states of a vault in another one is held against that vault until it has come (E9)")
    func statements() throws {
        let person = try Self.settled()
        let (one, two) = (person.devices[0], person.devices[1])
        let key = HeadsKey.generate(from: person.random)
        let elsewhere = try #require(VaultID(person.random.bytes(count: 32)))
        try one.put(LogDevice.text(1), "first\n")
        #expect(try LogStatements.witnessed(in: one.repository)?.newest.number != 1 || !one.unacknowledged().isEmpty)
        try one.sync()
        let seen = try #require(try LogStatements.witnessed(in: one.repository))
        #expect(try one.repository.ask { (machine) in machine.frontier.covers(seen.newest) })
        // Of another vault, in an entry here.
        let other = WitnessedHead(
            vaultID: elsewhere, frontier: seen.frontier, newest: seen.newest, newestName: seen.newestName,
            memberLink: 0)
        let sealed = try #require(try LogStatements.seal([other, seen], key: key, in: one.repository))
        try one.repository.commit([LogChange(key: LogDevice.text(2), value: [1])], time: one.now, statement: sealed)
        try one.sync()
        var options = LogSync.Options()
        options.headsKey = key
        // Before it has what was said.
        let late = WitnessReport(device: one.id, head: seen)
        #expect(try LogStatements.hand(late, to: two.repository, now: two.now))
        #expect(try two.audit().stated.map(\.isWithheld) == [false])
        for _ in 0..<4 {
            person.server.clock.now += 8 * Self.hour
            _ = try two.audit()
        }
        #expect(try two.audit().stated.map(\.isWithheld) == [true])
        try two.sync(options)
        #expect(try two.audit().stated.isEmpty)
        #expect(LogStatements.unchecked(in: two.repository) == [WitnessReport(device: one.id, head: other)])
        try two.reopen()
        try LogStatements.forget(LogStatements.unchecked(in: two.repository), in: two.repository)
        #expect(LogStatements.unchecked(in: two.repository).isEmpty)
        // Known now; another name under the number is a fork; and who is nobody has no say.
        #expect(try !LogStatements.hand(late, to: two.repository, now: two.now))
        let forged = WitnessedHead(
            vaultID: seen.vaultID, frontier: seen.frontier, newest: seen.newest, newestName: seen.frontier,
            memberLink: 0)
        let nobody = WitnessReport(device: UniqueID.generate(from: person.random), head: forged)
        #expect(try !LogStatements.hand(nobody, to: two.repository, now: two.now))
        #expect(try LogStatements.hand(WitnessReport(device: one.id, head: forged), to: two.repository, now: two.now))
        #expect(try two.audit().stated.map(\.isContradicted) == [true])
    }
}
