// The end of a world: all is delivered, and devices are compared. The one thing to keep true: each claim is about what the
// product shows, and of each a planted fault is found.

internal import CoffretBase
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTestSupport

extension LogWorld {
    private static let readCountMax = 60

    /// All is delivered: devices sync until nothing is left to say.
    func settle() throws {
        runs = [:]
        for device in person.devices { (device.intercept, device.serverAlso) = (nil, ghosts) }
        var quietCount = 0
        for round in 0..<40 {
            var isQuiet = true
            for device in trusted {
                let report: LogReport
                do { report = try device.sync() } catch {
                    throw SimulationFailure("\(name(device)) in round \(round): \(error)")
                }
                if report.sentCount + report.receivedCount + report.linkCount > 0 || report.isEpochStale
                    || report.isCopy
                {
                    isQuiet = false
                }
                tell("\(name(device)) in round \(round): \(report)")
                // A store that was put back and only read since then finds out by its own word.
                if try device.audit().isCopy {
                    try LogCopies.note(in: device.repository)
                    isQuiet = false
                }
            }
            quietCount = isQuiet ? quietCount + 1 : 0
            // A day of waits, of which each sync counts eight hours (N1), and the next step behind it.
            if quietCount > 6 { return }
            person.server.clock.now += 9 * 3_600_000
        }
        for device in trusted { tell("\(name(device)): \(try device.summary())") }
        throw SimulationFailure("devices go on without end")
    }

    func check() throws {
        let all = trusted
        let facts = try all[0].facts()
        for device in all.dropFirst() where try device.facts() != facts {
            for device in all {
                tell("\(name(device)): \(try device.summary())")
                for fact in try device.facts() { tell("\(fact.key) \(fact.dot) \(fact.height)") }
            }
            throw SimulationFailure("\(name(all[0])) and \(name(device)) have other facts")
        }
        // Twice, so that each has read the last words.
        for device in all + all {
            let audit = try device.audit()
            let peer = audit.peers.first { $0.standing == .ahead || $0.standing == .differs }
            guard peer == nil, !audit.isCopy else {
                throw SimulationFailure("\(name(device)) hears what is not so: \(audit)")
            }
        }
        for device in all {
            // However large the world: where nothing is new, a sync asks for chains and head alone. A copy that left its log
            // may have stated in a link what it did not push; that is asked for until a newer link states more.
            let unheard = try device.repository.ask { (machine) throws(StorageError) in
                try machine.missingNames(head: nil, behind: machine.unappliedNames())
            }
            let quiet = try device.sync()
            guard quiet.requestCount == 2 || !unheard.isEmpty else {
                tell("\(name(device)): \(try device.summary())")
                throw SimulationFailure("\(name(device)) asks without end: \(quiet)")
            }
            guard device.repository.syncMemory.count < 4_096 else { throw SimulationFailure("a memory grows") }
            let report = device.repository.fsck()
            guard report.isClean else { throw SimulationFailure("\(name(device)): \(report)") }
        }
        for key in Set(lines.map(\.key)) {
            let texts = try all.map { LogDevice.isText(key) ? try $0.shown(key) : nil }
            guard texts.allSatisfy({ $0 == texts[0] }) else { throw SimulationFailure("other texts under \(key)") }
            let values = try values(under: key, on: all[0])
            for line in lines where line.key == key && !revoked.contains(line.device) {
                guard values.contains(where: { $0.contains(line.line) }) else {
                    for device in all { tell("\(name(device)): \(try device.summary())") }
                    for version in try all[0].repository.history(of: key.entity) { tell("version \(version)") }
                    tell("shown \(values)")
                    throw SimulationFailure("\(line.line.dropLast()) under \(key) is lost")
                }
            }
        }
    }

    /// What is shown under a key, and all that stands there.
    func values(under key: FactKey, on device: LogDevice) throws -> [String] {
        var values = LogDevice.isText(key) ? try device.shown(key).map { [$0] } ?? [] : []
        let present = try device.repository.present()
        for fact in try present.facts(under: key) {
            values.append(String(decoding: try present.value(of: fact), as: UTF8.self))
        }
        return values
    }

    /// However large the world: one entry costs the device that takes it so many reads.
    func checkReads() throws {
        let (one, two) = (trusted[0], trusted[trusted.count - 1])
        guard one !== two else { return }
        let (key, line) = (LogDevice.text(900), "a line of its own\n")
        try one.put(key, line)
        try one.sync()
        let before = two.repository.readCount
        let received = try two.sync().receivedCount
        let count = (two.repository.readCount - before) / max(received, 1)
        tell("one entry costs \(count) reads")
        guard try two.shown(key) == line else { throw SimulationFailure("a line does not come") }
        guard count <= Self.readCountMax else { throw SimulationFailure("one entry costs \(count) reads") }
    }
}
