// Worlds of devices that write, sync step by step, crash, drop history, join and are revoked, at a server that is cut and
// that lies. The one thing to keep true: all that happens follows from the seed.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretServer
internal import CoffretStorage
internal import CoffretSync
package import CoffretTestSupport
internal import CoffretTrust
internal import CoffretWire

/// What may happen in a world.
package struct LogWorldRules: Sendable {
    package var revokes = true
    package var drops = true
    package var lies = true
    package var clocksAreWrong = true
    package var copies = true
    package var purges = true
    /// Large entries and long values.
    package var grows = true
    /// Devices go on after their revocation, and a server shows what they write.
    package var haunts = true

    package init() {}
}

/// One world: from its seed to one state on all devices.
package final class LogWorld {
    private static let noteCount = 3
    private static let longNote = 5
    private static let deviceCountMax = 5

    private let random: SeededGenerator
    private let rules: LogWorldRules
    private let person: LogPerson
    private let tell: (String) -> Void
    private var runs: [ObjectIdentifier: LogRun] = [:]
    /// Lines by key and device that were acknowledged to the person.
    private var lines: [(key: FactKey, line: String, device: UniqueID)] = []
    private var revoked: Set<UniqueID> = []
    private var lineCount = 0
    /// Backups of stores, of a time when the server had all of them.
    private var saved: [(device: ObjectIdentifier, store: LogDevice.SavedStore)] = []
    /// Heads that the server had.
    private var heads: [LogHead] = []
    /// What revoked devices wrote, and the server shows beside its own.
    private var ghosts: [ZoneObject] = []
    /// What a server goes on to show to revoked devices.
    private var darkness: [UniqueID: LogDarkness] = [:]

    private init(_ random: SeededGenerator, _ rules: LogWorldRules, tell: @escaping (String) -> Void) throws {
        self.random = random
        self.rules = rules
        self.tell = tell
        person = try LogPerson(random, server: LogServer(random: random))
        for _ in 0..<random.int(in: 1...2) { try person.addDevice() }
        for device in person.devices { try start(device) }
    }

    /// Plays a world.
    ///
    /// - Throws: `SimulationFailure` with what is not as it should be.
    package static func run(
        _ random: SeededGenerator, rules: LogWorldRules = LogWorldRules(), tell: @escaping (String) -> Void = { _ in }
    ) throws {
        let world = try LogWorld(random, rules, tell: tell)
        for _ in 0..<random.int(in: 40...140) { try world.happen() }
        try world.settle()
        try world.check()
    }

    private var trusted: [LogDevice] { person.devices.filter { !revoked.contains($0.id) } }

    private func name(_ device: LogDevice) -> String {
        "device \(person.devices.firstIndex { $0 === device } ?? -1)"
    }

    private func start(_ device: LogDevice) throws {
        if rules.clocksAreWrong, random.int(in: 0...4) == 0 { setClock(device) }
        _ = try? device.sync()
    }

    /// To a time that is wrong by up to two years.
    private func setClock(_ device: LogDevice) {
        device.clockError = Milliseconds(random.int(in: -800...800)) * 86_400_000
    }

    // MARK: What happens

    private func happen() throws {
        let device = random.element(of: person.devices)
        switch random.int(in: 0...50) {
        case 0...9: try write(device)
        case 10...29: try step(device)
        case 30...31: try crash(device)
        case 32: person.server.clock.now += Milliseconds(random.int(in: 1...48)) * 3_600_000
        case 33 where person.devices.count < Self.deviceCountMax: try join(by: random.element(of: trusted))
        case 34 where rules.revokes && Set(trusted.map(\.id)).count > 2: try revoke()
        case 35 where rules.drops: try drop(device)
        case 36 where rules.lies: lie(device)
        case 37: try checkpoint(device)
        case 38 where rules.copies: try copy(device)
        case 39...40 where rules.copies: try putBack(device)
        case 41 where rules.purges: try purge(device)
        case 42...44: try audit(device)
        case 45 where rules.clocksAreWrong: setClock(device)
        case 46 where rules.grows: try grow(device)
        case 47...48 where rules.grows: try write(device, to: Self.longNote)
        case 49...50 where rules.haunts: try haunt()
        default: try step(device)
        }
    }

    private func write(_ device: LogDevice, to number: Int? = nil) throws {
        let mayWrite = try device.repository.ask { (machine) in machine.mayWrite }
        guard mayWrite else { return }
        lineCount += 1
        let line = "line \(lineCount)\n"
        let key = LogDevice.text(number ?? random.int(in: 1...Self.noteCount))
        let shown = try device.repository.shownText(under: key)
        var lines = String(decoding: shown?.text ?? [], as: UTF8.self).split(separator: "\n").map { "\($0)\n" }
        if key == LogDevice.text(Self.longNote), lines.isEmpty {
            // Long enough for a blob of its own, which edits are deltas of.
            lines = (0..<200).map { _ in Hex.encode(random.bytes(count: 20)) + "\n" }
        }
        lines.insert(line, at: random.int(in: 0...lines.count))
        do {
            try device.repository.commit(
                [LogChange(key: key, value: Array(lines.joined().utf8), replaces: shown?.replaces)], time: device.now)
        } catch {
            // No key for an entry at a link that it took.
            guard error.code == .readOnly else { throw error }
            return
        }
        tell("\(name(device)) writes \(line.dropLast()) to \(key)")
        self.lines.append((key, line, device.id))
    }

    /// One entry with so many changes that they lie in a tree (E6).
    private func grow(_ device: LogDevice) throws {
        guard try device.repository.ask({ (machine) in machine.mayWrite }) else { return }
        let value = Array("grown \(random.int(in: 0...1_000))\n".utf8)
        let changes = (0..<random.int(in: 500...700)).map { number in
            LogChange(key: LogDevice.text(1_000 + number), value: value)
        }
        tell("\(name(device)) writes \(changes.count) values")
        do throws(StorageError) { try device.repository.commit(changes, time: device.now) } catch {
            guard error.code == .readOnly else { throw error }
        }
    }

    /// A revoked device writes on, in the dark, and seals a push. The server shows it to one device at once, and to all in the
    /// end.
    private func haunt() throws {
        guard let ghost = person.devices.first(where: { revoked.contains($0.id) }), let dark = darkness[ghost.id]
        else { return }
        runs[ObjectIdentifier(ghost)] = nil
        try write(ghost)
        ghost.lie = { dark.hiding($0) }
        ghosts += try person.stolenPush(of: ghost)
        ghost.lie = { $0 }
        let device = random.element(of: trusted)
        runs[ObjectIdentifier(device)] = nil
        device.serverAlso = ghosts
        defer { device.serverAlso = [] }
        tell("\(name(device)) is shown \(ghosts.count) objects of \(name(ghost)): \(Result { try device.sync() })")
    }

    /// A step of the device's sync, which goes wrong now and then.
    private func step(_ device: LogDevice) throws {
        let run = runs[ObjectIdentifier(device)] ?? device.begin()
        runs[ObjectIdentifier(device)] = run
        let fault = random.int(in: 0...19)
        device.intercept = { [person] request in
            switch fault {
            case 0: return .unreachable
            case 1:
                // It happened, and the answer is lost.
                _ = try person.server.answer(request, in: person.vaultID.bytes, by: device.owner) { _ in }
                return .unreachable
            default: return nil
            }
        }
        defer { device.intercept = nil }
        do {
            guard let report = try device.step(run) else { return }
            tell(
                "\(name(device)) synced: sent \(report.sentCount), received \(report.receivedCount), links \(report.linkCount)"
            )
        } catch let error as SyncError {
            tell("\(name(device)) breaks off: \(error)")
            guard error.code != .vaultFailed else { throw error }
        }
        runs[ObjectIdentifier(device)] = nil
        if let head = try? person.head(), head.address != nil { heads.append(head) }
    }

    private func crash(_ device: LogDevice) throws {
        tell("\(name(device)) crashes")
        runs[ObjectIdentifier(device)] = nil
        try device.crash()
    }

    private func join(by other: LogDevice) throws {
        let index = person.devices.firstIndex { $0 === other } ?? 0
        let device = try person.addDevice(by: index)
        tell("\(name(device)) joins by \(name(other))")
        try start(device)
    }

    private func revoke() throws {
        let all = trusted
        let lost = random.element(of: Array(all.dropFirst()))
        guard let other = all.first(where: { $0.id != lost.id }) else { return }
        if rules.haunts, random.bool() {
            // Sealed before, and shown when it is revoked.
            runs[ObjectIdentifier(lost)] = nil
            try write(lost)
            ghosts += try person.stolenPush(of: lost)
        }
        let counts = try trusted.map { try $0.repository.ask { (machine) in machine.members.chain.count } }
        darkness[lost.id] = LogDarkness(deviceLinkCount: person.chain.links.count, linkCount: counts.max() ?? 0)
        tell("\(name(lost)) is revoked")
        try person.revoke(lost, by: other)
        revoked.insert(lost.id)
    }

    private func drop(_ device: LogDevice) throws {
        let link = try device.repository.ask { (machine) in machine.isSure ? machine.base : nil }
        guard let link else { return }
        runs[ObjectIdentifier(device)] = nil
        let own = try device.unacknowledged()
        guard let plan = try device.repository.droppingPlan(below: link, unacknowledged: own) else { return }
        tell("\(name(device)) drops \(plan.entries.count) entries below link \(link)")
        _ = try device.repository.drop(plan, unacknowledged: own)
        if random.bool() { try LogCollector.request(below: link, in: device.repository) }
        try compact(device)
    }

    private func compact(_ device: LogDevice) throws {
        guard LogCollector.requested(in: device.repository) == nil, random.bool() else { return }
        tell("\(name(device)) compacts")
        try device.repository.compact()
    }

    /// A copy of the store goes on beside it, on the same device.
    private func copy(_ device: LogDevice) throws {
        guard person.devices.count < Self.deviceCountMax, !revoked.contains(device.id) else { return }
        let copy = try person.addCopy(of: device)
        tell("\(name(device)) is copied to \(name(copy))")
    }

    /// A backup is made, or an old one is put in the place of the store, if the server has all of both.
    private func putBack(_ device: LogDevice) throws {
        guard try device.unacknowledged().isEmpty, runs[ObjectIdentifier(device)] == nil else { return }
        let old = saved.filter { $0.device == ObjectIdentifier(device) }
        if old.isEmpty || random.bool() {
            saved.append((ObjectIdentifier(device), device.save()))
        } else {
            tell("\(name(device)) is put back")
            try device.putBack(random.element(of: old).store)
        }
    }

    /// An item that nobody's lines count in is written, retracted and deleted for good.
    private func purge(_ device: LogDevice) throws {
        guard try device.repository.ask({ (machine) in machine.mayWrite && machine.isSure }) else { return }
        runs[ObjectIdentifier(device)] = nil
        let key = LogDevice.text(Self.noteCount + 1)
        do {
            try device.put(key, "purged \(random.int(in: 0...1_000))\n")
            guard random.bool() else { return }
            try device.repository.commit([LogChange(key: key, value: nil)], time: device.now)
        } catch let error as StorageError {
            guard error.code == .readOnly else { throw error }
            return
        }
        try checkpoint(device, purges: [key.entity])
        let base = try device.repository.ask { (machine) in machine.base }
        if let base, random.bool() { try LogCollector.request(below: base, in: device.repository) }
    }

    /// A device says its word, reads those of others, and has the server collect.
    private func audit(_ device: LogDevice) throws {
        runs[ObjectIdentifier(device)] = nil
        do {
            let audit = try device.audit()
            if audit.isCopy { try LogCopies.note(in: device.repository) }
            let outcome = try device.collect(audit)
            if outcome != .none { tell("\(name(device)) has the server collect: \(outcome)") }
            try compact(device)
        } catch let error as SyncError {
            guard error.code != .vaultFailed else { throw error }
        }
    }

    private func checkpoint(_ device: LogDevice, purges: [EntityID] = []) throws {
        runs[ObjectIdentifier(device)] = nil
        var options = LogSync.Options()
        options.writesCheckpoint = true
        options.purges = purges
        do {
            let report = try device.sync(options)
            tell(
                "\(name(device)) asks for a checkpoint: links \(report.linkCount), \(report.obstacle.map { "\($0)" } ?? "")"
            )
        } catch let error as SyncError {
            guard error.code != .vaultFailed else { throw error }
        }
    }

    /// For one whole sync the server shows an old head, or keeps objects back.
    private func lie(_ device: LogDevice) {
        runs[ObjectIdentifier(device)] = nil
        let old = heads.isEmpty ? nil : random.element(of: heads)
        let keeps = random.bool()
        let random = random
        device.lie = { reply in
            switch reply {
            case .head where !keeps: return old.map { .head($0) } ?? reply
            case .page(let page) where keeps:
                let objects = page.objects.filter { _ in random.int(in: 0...3) > 0 }
                return .page(LogPage(objects: objects, cursor: page.cursor, hasMore: page.hasMore))
            default: return reply
            }
        }
        let result = Result { try device.sync() }
        device.lie = { $0 }
        tell("\(name(device)) is lied to: \(result)")
    }

    // MARK: The end

    /// All is delivered: devices sync until nothing is left to say.
    private func settle() throws {
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

    private func check() throws {
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
            // However large the world: where nothing is new, a sync asks for chains and head alone.
            let quiet = try device.sync()
            guard quiet.requestCount == 2 else { throw SimulationFailure("\(name(device)) asks without end: \(quiet)") }
            guard device.repository.syncMemory.count < 4_096 else { throw SimulationFailure("a memory grows") }
            let report = device.repository.fsck()
            guard report.isClean else { throw SimulationFailure("\(name(device)): \(report)") }
        }
        for number in Array(1...Self.noteCount) + [Self.longNote] {
            let key = LogDevice.text(number)
            let texts = try all.map { try $0.shown(key) }
            guard texts.allSatisfy({ $0 == texts[0] }) else { throw SimulationFailure("other texts under \(key)") }
            var values = texts[0].map { [$0] } ?? []
            for fact in try all[0].repository.present().facts(under: key) {
                let value = try all[0].repository.present().value(of: fact)
                values.append(String(decoding: value, as: UTF8.self))
            }
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
}
