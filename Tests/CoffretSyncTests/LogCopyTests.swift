// Copies of a store that wrote several logs, or whose syncs broke off. The one thing to keep true: no own word that the
// server lacks is lost, and none of another copy is written again.

import CoffretBase
import CoffretHistory
import CoffretLogs
import CoffretSimulation
import CoffretStorage
import CoffretSync
import CoffretTestSupport
import CoffretWire
import Testing

@Suite("Copies of stores of logs")
struct LogCopyTests {
    /// Two devices and a copy of the second one's store, which has the same log and nothing of its own.
    private static func copied() throws -> (person: LogPerson, copy: LogDevice) {
        let person = try LogExchangeTests.person()
        try person.devices[1].put(LogDevice.text(1), "shared\n")
        for device in [person.devices[1], person.devices[0]] { try device.sync() }
        return (person, try LogDevice(copying: person.devices[1]))
    }

    private static func expectOneState(_ person: LogPerson, _ copy: LogDevice, _ lines: [Int: String]) throws {
        for device in person.devices.prefix(2) { try device.sync() }
        for device in [person.devices[0], person.devices[1], copy] {
            #expect(try device.facts() == copy.facts())
            for (number, line) in lines { #expect(try device.shown(LogDevice.text(number)) == line) }
        }
    }

    @Test("a log that a copy left is watched as long as the server lacks entries of it (I2, I4)")
    func formerLog() throws {
        let (person, copy) = try Self.copied()
        let two = person.devices[1]
        let shared = try copy.repository.ownLog()?.instance
        // A link of the account that the vault of this copy has not heard of: the entry that states it waits, and the next
        // one begins another log (I1).
        try person.addDevice()
        try copy.reopen()
        try copy.put(LogDevice.text(2), "of the copy\n")
        try copy.reopen()
        try copy.put(LogDevice.text(3), "behind it\n")
        #expect(try copy.repository.ownLog()?.instance != shared)
        try two.put(LogDevice.text(4), "of the first\n")
        try two.sync()
        let found = try copy.sync()
        #expect(found.isCopy && found.writtenAgainCount == 2 && found.sentCount == 2)
        let quiet = try copy.sync()
        #expect(!quiet.isCopy && quiet.sentCount == 0)
        try Self.expectOneState(person, copy, [2: "of the copy\n", 3: "behind it\n", 4: "of the first\n"])
    }

    @Test("what another copy wrote is known to be at the server, also when the sync that brought it broke off")
    func brokenOff() throws {
        let (person, copy) = try Self.copied()
        let two = person.devices[1]
        try two.put(LogDevice.text(2), "of the first\n")
        try two.sync()
        try copy.put(LogDevice.text(3), "of the copy\n")
        #expect(try copy.sync().isCopy)
        // The other copy goes on; this one is cut behind the page.
        try two.put(LogDevice.text(2), "of the first\nagain\n")
        try two.sync()
        let run = copy.begin()
        for _ in 0..<3 { #expect(try copy.step(run) == nil) }
        #expect(try copy.shown(LogDevice.text(2)) == "of the first\nagain\n")
        #expect(try copy.unacknowledged().isEmpty)
        try copy.crash()
        let report = try copy.sync()
        #expect(report.sentCount == 0 && report.writtenAgainCount == 0)
        try Self.expectOneState(person, copy, [2: "of the first\nagain\n", 3: "of the copy\n"])
    }

    /// What the first copy wrote was acknowledged, accepted by a link, and dropped: nothing of it is kept but the facts in a tree.
    @Test("entries that were dropped, or went with a deletion for good, are written again when their branch loses (I4)")
    func droppedBranch() throws {
        let person = try LogExchangeTests.person()
        let third = try person.addDevice()
        let (one, two) = (person.devices[0], person.devices[1])
        let (clear, sealed) = (LogDevice.text(5), FactKey(entity: LogDevice.text(6).entity, attribute: "sealed"))
        try two.put(LogDevice.text(1), "shared\n")
        try two.put(clear, "in clear\n")
        for device in [two, one, third] { try device.sync() }
        let copy = try LogDevice(copying: two)
        try two.put(LogDevice.text(2), "of the first\n")
        // The tip goes for good with the text, and a value of its own is in it.
        try two.repository.commit(
            [LogChange(key: sealed, value: Array("sealed".utf8)), LogChange(key: clear, value: nil)], time: two.now)
        var options = LogSync.Options()
        (options.writesCheckpoint, options.purges) = (true, [clear.entity])
        let link = try #require(try two.sync(options).purgeLink)
        let plan = try #require(try two.repository.droppingPlan(below: link, unacknowledged: two.unacknowledged()))
        #expect(try two.repository.drop(plan, unacknowledged: two.unacknowledged()) == nil)
        try two.compact()
        // The copy sees nothing of it, and goes on in the same log.
        try copy.put(LogDevice.text(3), "of the copy\n")
        copy.lie = { reply in
            guard case .page(let page) = reply else { return reply }
            return .page(LogPage(objects: [], cursor: page.cursor, hasMore: page.hasMore))
        }
        _ = try LogExchangeTests.failure { try copy.sync() }
        options.purges = []
        _ = try LogExchangeTests.failure { try copy.sync(options) }
        copy.lie = { $0 }
        let all = [copy, two, one, third]
        for _ in 0..<8 {
            for device in all { try device.sync() }
            person.server.clock.now += 9 * 3_600_000
        }
        for device in all {
            #expect(try device.facts() == one.facts())
            #expect(try device.shown(LogDevice.text(1)) == "shared\n")
            #expect(try device.shown(LogDevice.text(2)) == "of the first\n")
            #expect(try device.shown(LogDevice.text(3)) == "of the copy\n")
            #expect(try device.repository.present().facts(under: sealed).count == 1)
            #expect(try device.shown(clear) == nil)
        }
    }

    @Test(
        "a merge with a log that forked is no conflict behind the link that ends it: root and deletion for good come later (T6, K6)",
        arguments: [false, true])
    func mergeWithEndedLog(isPurging: Bool) throws {
        let (person, copy) = try Self.copied()
        let (one, two) = (person.devices[0], person.devices[1])
        let (text, clear) = (LogDevice.text(1), LogDevice.text(5))
        for value in [Array("in clear\n".utf8), nil] {
            try one.repository.commit([LogChange(key: clear, value: value)], time: one.now)
        }
        try one.put(text, "of one\nshared\n")
        try two.put(text, "shared\nof the first\n")
        for device in [two, one] { try device.sync() }
        let merged = Array("of one\nshared\nof the first\n".utf8)
        #expect(try one.repository.shownText(under: text)?.text == merged)
        // The copy went on in the same log, and what it wrote comes with the next page.
        let key = LogDevice.text(3)
        let change = LogChange(key: key, value: Array("of the copy\n".utf8))
        let other = try copy.repository.commit([change], time: copy.now)
        let sealed = try copy.repository.exchange.sealedBlob(#require(other).name)
        one.serverAlso = [ZoneObject(address: sealed.address.bytes, ciphertext: sealed.bytes)]
        try two.put(LogDevice.text(4), "news\n")
        try two.sync()
        var options = LogSync.Options()
        (options.writesCheckpoint, options.purges) = (true, isPurging ? [clear.entity] : [])
        for hasRoot in [false, true] {
            let report = try one.sync(options)
            #expect(report.linkCount == 1 && (report.purgeLink != nil) == (hasRoot && isPurging))
            let checkpoint = one.repository.chains.members.links.last?.checkpoint
            #expect((checkpoint?.root != nil) == hasRoot && (checkpoint?.ends.count == 1) == !hasRoot)
            #expect(checkpoint?.purges == (hasRoot ? options.purges : []))
            let shown = try one.repository.shownText(under: text)
            #expect(shown?.text == merged && shown?.hiddenCount == 0 && shown?.isMerged == !hasRoot)
        }
        for _ in 0..<2 { for device in [copy, two, one] { try device.sync() } }
        for device in [one, two, copy] {
            let shown = try device.repository.shownText(under: text)
            #expect(shown?.text == merged && shown?.hiddenCount == 0)
            #expect(try device.shown(key) == "of the copy\n")
        }
    }
}
