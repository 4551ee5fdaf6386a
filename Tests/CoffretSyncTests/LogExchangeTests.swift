// Devices exchange entries through the server's real store: what arrives, what it costs, and what a lying server gains.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretServer
import CoffretSimulation
import CoffretStorage
import CoffretSync
import CoffretTestSupport
import CoffretWire
import Testing

@Suite("Sync of logs")
struct LogExchangeTests {
    /// A person with so many devices, each of which has synced.
    static func person(_ count: Int = 2, seed: UInt64 = 1) throws -> LogPerson {
        let random = SeededGenerator(seed: seed)
        let person = try LogPerson(random, server: LogServer(random: random))
        for _ in 1..<max(count, 1) { try person.addDevice() }
        for device in person.devices { try device.sync() }
        return person
    }

    @Test("what one device writes the other shows, and a sync without news asks two questions")
    func exchange() throws {
        let person = try Self.person()
        let (one, two) = (person.devices[0], person.devices[1])
        for number in 1...20 { try one.put(LogDevice.text(number), "note \(number)\n") }
        #expect(try one.sync().sentCount == 20)
        let report = try two.sync()
        #expect(report.receivedCount == 20 && report.refusedCount == 0 && report.isPresentHere)
        #expect(try two.shown(LogDevice.text(7)) == "note 7\n")
        #expect(try one.facts() == two.facts())
        for device in person.devices {
            let quiet = try device.sync()
            #expect(quiet.requestCount == 2 && quiet.sentCount == 0 && quiet.receivedCount == 0)
        }
        // What came outlives the process, without a further question.
        try two.reopen()
        #expect(try two.shown(LogDevice.text(20)) == "note 20\n")
        #expect(try two.sync().requestCount == 2)
    }

    @Test("a push reads as much behind a log of 3,000 entries as behind one of 300")
    func pushReads() throws {
        let person = try Self.person(1)
        let device = person.devices[0]
        var reads: [Int] = []
        for number in 1...3_000 {
            try device.put(LogDevice.text(number % 50), "\(number)\n")
            guard number == 300 || number == 3_000 else { continue }
            try device.sync()
            try device.put(LogDevice.text(7), "one more\n")
            try device.reopen()
            let before = device.repository.readCount
            #expect(try device.sync().sentCount == 1)
            reads.append(device.repository.readCount - before)
        }
        #expect(reads[1] <= reads[0] + 8, "\(reads)")
    }

    @Test("a device takes more entries at once than one state names, and the next process reads few of them again")
    func manyEntries() throws {
        let person = try Self.person(1)
        let device = person.devices[0]
        device.repository.policy = .longLived
        for number in 1...34_000 { try device.put(LogDevice.text(number % 50), "\(number)\n") }
        try device.sync()
        let other = try person.addDevice()
        other.repository.policy = .shortLived
        #expect(try other.sync().receivedCount == 34_000)
        #expect(try other.shown(LogDevice.text(0)) == "34000\n")
        try other.reopen()
        #expect(try other.facts() == device.facts() && other.repository.readCount < 8_192)
    }

    @Test("edits at the same time merge on both devices, and the one that loses the race pushes behind the other")
    func race() throws {
        let person = try Self.person()
        let (one, two) = (person.devices[0], person.devices[1])
        let key = LogDevice.text(1)
        try one.put(key, "a\nb\nc\n")
        try one.sync()
        try two.sync()
        try one.put(key, "a\nb\nc\nfrom one\n")
        try two.put(key, "from two\na\nb\nc\n")
        // While one is about to push, two syncs.
        var isOpen = true
        one.intercept = { request in
            if case .push = request, isOpen {
                isOpen = false
                try two.sync()
            }
            return nil
        }
        let report = try one.sync()
        one.intercept = nil
        #expect(!isOpen && report.sentCount == 1 && report.receivedCount == 1)
        try two.sync()
        for device in person.devices { #expect(try device.shown(key) == "from two\na\nb\nc\nfrom one\n") }
        #expect(try one.facts() == two.facts())
    }

    @Test("a long list and a large entry come in several parts and pages, whatever breaks between them")
    func parts() throws {
        let person = try Self.person()
        let (one, two) = (person.devices[0], person.devices[1])
        let changes = (1...2_000).map { LogChange(key: LogDevice.text($0), value: person.random.bytes(count: 700)) }
        try one.repository.commit(changes, time: 1)
        for number in 3_000..<3_200 { try one.put(LogDevice.text(number), "\(number)") }
        var options = LogSync.Options()
        options.partByteCountMax = 10_000
        // Every third push is cut before it is heard, and every third is not answered.
        var count = 0
        one.intercept = { request in
            guard case .push = request else { return nil }
            count += 1
            if count % 3 == 2 { return .unreachable }
            if count % 3 == 0 {
                _ = try person.server.answer(request, in: person.vaultID.bytes, by: one.owner) { _ in }
                return .unreachable
            }
            return nil
        }
        for _ in 0..<60 where try Self.failure({ try one.sync(options) }) != nil {}
        one.intercept = nil
        let rest = try one.sync().sentCount
        #expect(rest == 0 && count > 5, "\(rest) \(count)")
        // The other is cut after each page.
        for cut in 1...20 {
            var pages = 0
            two.lie = { reply in
                guard case .page = reply else { return reply }
                pages += 1
                return pages > cut ? .unreachable : reply
            }
            _ = try Self.failure { try two.sync() }
        }
        two.lie = { $0 }
        try two.sync()
        #expect(try one.facts() == two.facts() && one.facts().count == 2_200)
    }

    @Test("an edit of a 9 KiB note sends its delta and a frontier, and the base of the delta once")
    func bytes() throws {
        let person = try Self.person()
        let (one, two) = (person.devices[0], person.devices[1])
        let words = (0..<1_500).map { _ in "w\(person.random.int(in: 0...4_000))" }
        var lines = stride(from: 0, to: 1_500, by: 10).map { words[$0..<$0 + 10].joined(separator: " ") }
        func text() -> String { lines.joined(separator: "\n") + "\n" }
        try one.put(LogDevice.text(1), text())
        try one.sync()
        try two.sync()
        var total = 0
        for number in 0..<40 {
            lines[person.random.int(in: 0...lines.count - 1)] += " edit \(number)"
            try one.put(LogDevice.text(1), text())
            total += try one.sync().sentByteCount
        }
        try two.sync()
        #expect(try two.shown(LogDevice.text(1)) == text())
        // With frontier; Docs/benchmarks.md has the figure of a whole run.
        #expect(total / 40 <= 1_200, "\(total / 40) bytes")
    }

    @Test("a long note and its edits come to a new device in one page")
    func deltasInOnePage() throws {
        let person = try Self.person()
        let (one, two) = (person.devices[0], person.devices[1])
        var lines = (0..<300).map { _ in Hex.encode(person.random.bytes(count: 20)) + "\n" }
        for number in 0..<3 {
            lines[number] = "edit \(number)\n"
            try one.put(LogDevice.text(1), lines.joined())
        }
        try one.sync()
        #expect(try two.sync().receivedCount == 3)
        #expect(try two.shown(LogDevice.text(1)) == lines.joined())
        try two.put(LogDevice.text(1), "new\n" + lines.joined())
        try two.sync()
        try one.sync()
        #expect(try one.shown(LogDevice.text(1)) == "new\n" + lines.joined())
    }

    static func failure<Result>(_ body: () throws -> Result) throws -> SyncError? {
        do {
            _ = try body()
            return nil
        } catch let error as SyncError { return error }
    }

    @Test("a server that takes back what it gave ends the sync, until a person says that it was put back (R1, R2)")
    func rollback() throws {
        let person = try Self.person()
        let (one, two) = (person.devices[0], person.devices[1])
        try one.put(LogDevice.text(1), "first\n")
        try one.sync()
        try two.sync()
        let old = try #require(try person.head())
        try two.put(LogDevice.text(2), "second\n")
        try two.sync()
        try one.sync()
        let facts = try one.facts()
        // No head at all.
        one.lie = { reply in
            guard case .head(let head) = reply else { return reply }
            return .head(LogHead(address: nil, cursor: head.cursor, epoch: 0, word: nil))
        }
        one.intercept = { request in if case .fetch = request { .end } else { nil } }
        #expect(try Self.failure { try one.sync() }?.code == .headRolledBack)
        // An older head, and nothing of what came behind it.
        one.lie = { reply in
            if case .head = reply { .head(old) } else { reply }
        }
        #expect(try Self.failure { try one.sync() }?.code == .headRolledBack)
        #expect(try one.facts() == facts)
        // The same head, with the entries there: a head that somebody set wrongly, which the next one replaces.
        one.intercept = nil
        #expect(try one.sync().refusedHead != nil)
        #expect(try one.facts() == facts)
    }

    @Test("a server that shows another history is told so in every sync and process, until it was put back (R2)")
    func fork() throws {
        let person = try Self.person()
        let (one, two) = (person.devices[0], person.devices[1])
        for device in [one, two] { try device.sync() }
        let cursor = try #require(try person.head()).cursor
        // The server says that it took this, and shows a world without it.
        try one.put(LogDevice.text(1), "in one world\n")
        one.intercept = { request in if case .push = request { .pushed(PushReceipt(cursor: cursor)) } else { nil } }
        try one.sync()
        one.intercept = nil
        try two.put(LogDevice.text(2), "in the other\n")
        try two.sync()
        #expect(try Self.failure { try one.sync() }?.code == .headForked)
        // What came counts, and belongs to what is remembered from then on.
        #expect(try one.shown(LogDevice.text(2)) == "in the other\n")
        #expect(try Self.failure { try one.sync() }?.code == .headForked)
        try one.reopen()
        #expect(try Self.failure { try one.sync() }?.code == .headForked)
        var options = LogSync.Options()
        options.acceptsRestoredServer = true
        try one.sync(options)
        try one.sync()
        try two.sync()
        #expect(try two.facts() == one.facts())
    }

    @Test("a sync that was cut before it judged a head takes no other history for an older one (R2)")
    func cutFork() throws {
        let person = try Self.person()
        let (one, two) = (person.devices[0], person.devices[1])
        for device in [one, two] { try device.sync() }
        let cursor = try #require(try person.head()).cursor
        try one.put(LogDevice.text(1), "in one world\n")
        one.intercept = { request in if case .push = request { .pushed(PushReceipt(cursor: cursor)) } else { nil } }
        try one.sync()
        one.intercept = nil
        try two.put(LogDevice.text(2), "in the other\n")
        try two.sync()
        // The page is durable, and the power fails.
        let run = one.begin()
        while try one.shown(LogDevice.text(2)) == nil { #expect(try one.step(run) == nil) }
        try one.crash()
        #expect(try one.shown(LogDevice.text(2)) == "in the other\n")
        #expect(try Self.failure { try one.sync() }?.code == .headForked)
    }

    @Test("what was applied of a device stays when it turns out to be revoked, also where the power fails then (K4)")
    func appliedBeforeRevocation() throws {
        let person = try Self.person(3)
        let (one, two, thief) = (person.devices[0], person.devices[1], person.devices[2])
        for device in person.devices + person.devices { try device.sync() }
        try thief.put(LogDevice.text(5), "before it was lost\n")
        try thief.sync()
        // The entry is here, and no state that has it was stored.
        var run = one.begin()
        while try one.shown(LogDevice.text(5)) == nil { #expect(try one.step(run) == nil) }
        try one.crash()
        #expect(try one.shown(LogDevice.text(5)) != nil)
        // This device hears of the revocation, which no link states yet, and the power fails again.
        try person.revoke(thief, by: two)
        run = one.begin()
        let before = one.repository.chains.accounts
        while one.repository.chains.accounts == before {
            #expect(try one.step(run) == nil)
        }
        try one.crash()
        #expect(try one.shown(LogDevice.text(5)) == "before it was lost\n")
        #expect(one.repository.fsck().isClean)
        // What comes of it from then on waits, and counts for nobody.
        try two.sync()
        try one.sync()
        #expect(try one.facts() == two.facts())
    }
}
