// What a link deletes for good, on devices that hear of it: seven days of use, a word of the person, and files (P3, G6).

import CoffretBase
import CoffretHistory
import CoffretLogs
import CoffretSimulation
import CoffretStorage
import CoffretSync
import CoffretTestSupport
import CoffretWire
import Testing

@Suite("Purges by other devices")
struct LogPurgeTests {
    private static let hour: Milliseconds = 3_600_000
    private let note = LogDevice.text(7)
    private let file = LogDevice.file(7)

    /// Devices that all have a note and its file; the first one deletes both for good.
    private func purged(_ count: Int) throws -> LogPerson {
        let person = try LogExchangeTests.person(count)
        for device in person.devices + person.devices { try device.sync() }
        let one = person.devices[0]
        try one.put(note, "never mind\n")
        _ = try one.attach(person.random.bytes(count: 5_000), as: file)
        try one.sync()
        for device in person.devices {
            try device.sync()
            _ = try device.contents(of: #require(device.repository.present().facts(under: file).first))
        }
        try one.repository.commit(
            [LogChange(key: note, value: nil), LogChange(key: file, value: nil)], time: one.now)
        var options = LogSync.Options()
        (options.writesCheckpoint, options.purges) = (true, [note.entity, file.entity])
        let report = try one.sync(options)
        #expect(report.linkCount == 1 && report.waitingPurges.isEmpty)
        return person
    }

    private func hasHistory(_ device: LogDevice) throws -> Bool {
        let counts = try [note, file].map { try device.repository.history(of: $0.entity).count }
        #expect(counts[0] == counts[1])
        return counts[0] > 0
    }

    /// Whether a file lies here, after what nothing names was removed.
    private func hasFile(_ device: LogDevice) throws -> Bool {
        try device.compact()
        return device.disk.allFiles().keys.contains { $0.hasPrefix("vault/files/") && !$0.hasSuffix("/lock") }
    }

    @Test(
        "it goes after seven days of use, whatever the clock says, and the files that only it named go with it (P3, G6, N1)"
    )
    func sevenDays() throws {
        let person = try purged(2)
        let (one, two) = (person.devices[0], person.devices[1])
        #expect(try !hasHistory(one) && !hasFile(one), "at once where it was asked for")
        #expect(try two.sync().waitingPurges == [#require(one.repository.ask { (machine) in machine.base })])
        // A clock that jumps by a month counts eight hours; so these are six days and sixteen hours.
        for hours in [24 * 30] + [Milliseconds](repeating: 8, count: 19) {
            person.server.clock.now += hours * Self.hour
            #expect(try two.sync().waitingPurges.count == 1)
        }
        #expect(try two.repository.waitingPurges(now: two.now).map(\.remaining) == [8 * Self.hour])
        #expect(try hasHistory(two) && hasFile(two), "an entry that is kept names it")
        try two.reopen()
        person.server.clock.now += 8 * Self.hour
        let report = try two.sync()
        #expect(report.hasPurged && report.waitingPurges.isEmpty)
        #expect(try !hasHistory(two) && !hasFile(two))
        #expect(two.repository.fsck().isClean)
    }

    @Test("who says no keeps all of it; who says yes has it go at once; who does neither waits on (P3)")
    func words() throws {
        let person = try purged(4)
        let (refusing, agreeing, waiting) = (person.devices[1], person.devices[2], person.devices[3])
        for device in person.devices { try device.sync() }
        let link = try #require(try refusing.repository.waitingPurges(now: refusing.now).first?.link.number)
        try refusing.repository.refusePurge(of: link)
        try agreeing.repository.agreeToPurge(of: link, now: agreeing.now)
        // Durable, and gone by at the next sync.
        for device in [refusing, agreeing] { try device.reopen() }
        #expect(try refusing.sync().waitingPurges.isEmpty && agreeing.sync().hasPurged)
        #expect(try waiting.sync().waitingPurges == [link])
        #expect(try !hasHistory(agreeing) && !hasFile(agreeing))
        for _ in 0..<30 {
            person.server.clock.now += 8 * Self.hour
            for device in person.devices { try device.sync() }
        }
        #expect(try hasHistory(refusing) && hasFile(refusing))
        #expect(try !hasHistory(waiting) && !hasFile(waiting))
        for device in person.devices {
            #expect(try device.facts() == person.devices[0].facts() && device.repository.fsck().isClean)
        }
    }

    @Test("a purge by a device that is revoked within the seven days does nothing elsewhere (P3)")
    func revoked() throws {
        let person = try purged(3)
        let two = person.devices[1]
        for device in person.devices { try device.sync() }
        try person.revoke(person.devices[0], by: two)
        for _ in 0..<30 {
            person.server.clock.now += 8 * Self.hour
            for device in person.devices.dropFirst() { try device.sync() }
        }
        for device in person.devices.dropFirst() { #expect(try hasHistory(device) && hasFile(device)) }
    }

    @Test("the tree of a purge stays while it waits, whatever is compacted behind a newer base (G2a)")
    func treeOfWaitingPurge() throws {
        let person = try purged(3)
        let (one, waiting, refusing) = (person.devices[0], person.devices[1], person.devices[2])
        for device in person.devices { try device.sync() }
        let link = try #require(try waiting.repository.waitingPurges(now: waiting.now).first?.link.number)
        let root = try #require(one.repository.chains.members.links[link].checkpoint?.root)
        try refusing.repository.refusePurge(of: link)
        // Its nodes are in no newer tree.
        for number in 20..<60 { try one.put(LogDevice.text(number), "\(number)\n") }
        var options = LogSync.Options()
        options.writesCheckpoint = true
        #expect(try one.sync(options).linkCount == 1)
        for device in [waiting, refusing] {
            try device.sync()
            #expect(try device.repository.ask { (machine) in machine.base } == link + 1)
            try device.compact()
            #expect(try device.repository.missingNames(ofTree: root).isEmpty == (device === waiting))
        }
        for _ in 0..<22 {
            person.server.clock.now += 8 * Self.hour
            for device in [waiting, refusing] { try device.sync() }
        }
        // The purge is done here, and its tree is what an own word would be written again from (I4a).
        #expect(try !hasHistory(waiting) && hasHistory(refusing))
        for device in [waiting, refusing] {
            try device.compact()
            #expect(try device.repository.missingNames(ofTree: root).isEmpty == (device === waiting))
            #expect(device.repository.fsck().isClean)
        }
    }

    @Test("what was deleted for good goes also where a link above names its entry as a tip, below the base (P3)")
    func tipOfLaterLink() throws {
        let person = try LogExchangeTests.person(4)
        let (one, late, lost, waiting) = (person.devices[0], person.devices[1], person.devices[2], person.devices[3])
        try one.put(note, "in clear\n")
        for device in person.devices { try device.sync() }
        let entry = try #require(try one.repository.ownLog()).instance
        let clear = try #require(try one.repository.ask { (machine) in machine.frontier[entry]?.name })
        let before = Set(try person.objects().map(\.address))
        try one.repository.commit([LogChange(key: note, value: nil)], time: one.now)
        try one.put(LogDevice.text(8), "behind it\n")
        var options = LogSync.Options()
        (options.writesCheckpoint, options.purges) = (true, [note.entity])
        #expect(try one.sync(options).linkCount == 1)
        let head = try #require(try person.head()?.address)
        try waiting.sync()
        #expect(try waiting.repository.ask { (machine) in machine.base } != nil)
        // From another device, which closes a log, the server keeps the entries back.
        late.lie = { reply in
            guard case .page(let page) = reply else { return reply }
            let objects = page.objects.filter { before.contains($0.address) || $0.address == head }
            return .page(LogPage(objects: objects, cursor: page.cursor, hasMore: page.hasMore))
        }
        try person.revoke(lost, by: late)
        _ = try late.hurry()
        late.lie = { $0 }
        let states = late.repository.chains.members.states
        #expect(states.last?.accepted[entry]?.name == clear)
        let others = [one, late, waiting]
        for _ in 0..<30 {
            person.server.clock.now += 9 * Self.hour
            for device in others { try device.sync() }
        }
        for device in others {
            try device.repository.compact()
            #expect(throws: StorageError.self) { try device.repository.exchange.sealedBlob(clear) }
            #expect(try device.facts() == one.facts() && device.repository.fsck().isClean)
        }
    }
}
