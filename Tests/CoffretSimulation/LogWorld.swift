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
    /// Files of attachments.
    package var attaches = true
    /// Notes that get locked, whose text in clear goes for good.
    package var locks = true
    /// Another person's store at the same server.
    package var meets = true
    /// The account comes back by its sheet.
    package var usesPaper = true
    /// What is done wrongly, so that the world has to fail.
    package var fault: LogWorldFault?

    package init() {}
}

/// Faults that are planted, to see that they are found.
package enum LogWorldFault: CaseIterable, Sendable {
    /// A disk loses what was synced.
    case diskForgets
    /// Chunks of files are acknowledged, and are nowhere.
    case losesChunks
    /// Nothing is deleted for good.
    case keepsClearText
    /// The server answers whoever asks.
    case servesStrangers
}

/// One world: from its seed to one state on all devices.
package final class LogWorld {
    static let noteCount = 3
    static let longNote = 5
    static let deviceCountMax = 5

    let random: SeededGenerator
    let rules: LogWorldRules
    let person: LogPerson
    let tell: (String) -> Void
    var runs: [ObjectIdentifier: LogRun] = [:]
    /// Lines by key and device that were acknowledged to the person.
    var lines: [(key: FactKey, line: String, device: UniqueID)] = []
    var revoked: Set<UniqueID> = []
    var lineCount = 0
    /// Backups of stores, of a time when the server had all of them.
    var saved: [(device: ObjectIdentifier, store: LogDevice.SavedStore)] = []
    /// Heads that the server had.
    var heads: [LogHead] = []
    /// What revoked devices wrote, and the server shows beside its own.
    var ghosts: [ZoneObject] = []
    /// What a server goes on to show to revoked devices.
    var darkness: [UniqueID: LogDarkness] = [:]
    /// Files by id, and who attached them.
    var attached: [UniqueID: (bytes: [UInt8], device: UniqueID)] = [:]
    var locked: [LockedNote] = []
    var goneCount = 0
    var stranger: LogPerson?
    var strangerLines: [String] = []
    /// The newest requests of this person's devices.
    var heard: [LogRequest] = []

    private init(_ random: SeededGenerator, _ rules: LogWorldRules, tell: @escaping (String) -> Void) throws {
        self.random = random
        self.rules = rules
        self.tell = tell
        let server = try LogServer(random: random)
        server.losesChunks = rules.fault == .losesChunks
        person = try LogPerson(random, server: server)
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
        try world.checkFiles()
        try world.checkStranger()
        try world.checkReads()
        try world.checkLocked()
    }

    var trusted: [LogDevice] { person.devices.filter { !revoked.contains($0.id) } }

    func name(_ device: LogDevice) -> String {
        "device \(person.devices.firstIndex { $0 === device } ?? -1)"
    }

    func start(_ device: LogDevice) throws {
        if rules.clocksAreWrong, random.int(in: 0...4) == 0 { setClock(device) }
        _ = try? device.sync()
    }

    /// To a time that is wrong by up to two years.
    func setClock(_ device: LogDevice) {
        device.clockError = Milliseconds(random.int(in: -800...800)) * 86_400_000
    }

    // MARK: What happens

    func happen() throws {
        let device = random.element(of: person.devices)
        switch random.int(in: 0...58) {
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
        case 51...52 where rules.attaches: try attach(device)
        case 53...54 where rules.locks: try lock(random.element(of: trusted))
        case 55...56 where rules.meets: try meet()
        case 57 where rules.usesPaper: try usePaper()
        default: try step(device)
        }
    }

    func write(_ device: LogDevice, to number: Int? = nil) throws {
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
    func grow(_ device: LogDevice) throws {
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
    func haunt() throws {
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
    func step(_ device: LogDevice) throws {
        let run = runs[ObjectIdentifier(device)] ?? device.begin()
        runs[ObjectIdentifier(device)] = run
        let fault = random.int(in: 0...19)
        cutChunks(of: device, fault)
        device.intercept = { [person, self] request in
            heard = heard.suffix(7) + [request]
            switch fault {
            case 0: return .unreachable
            case 1:
                // It happened, and the answer is lost.
                _ = try person.server.answer(request, in: person.vaultID.bytes, by: device.owner) { _ in }
                return .unreachable
            default: return nil
            }
        }
        defer { (device.intercept, device.chunksPass) = (nil, { true }) }
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

    func crash(_ device: LogDevice) throws {
        tell("\(name(device)) crashes")
        runs[ObjectIdentifier(device)] = nil
        guard rules.fault == .diskForgets else { return try device.crash() }
        let before = device.disk.syncedCopy()
        try write(device)
        try device.crash(before)
    }

    func join(by other: LogDevice) throws {
        let index = person.devices.firstIndex { $0 === other } ?? 0
        let device = try person.addDevice(by: index)
        tell("\(name(device)) joins by \(name(other))")
        try start(device)
    }

    func revoke() throws {
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
}
