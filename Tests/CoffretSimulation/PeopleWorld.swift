// Worlds of people who share vaults: they write, add, accept, change roles, leave, lose devices and rights, with clocks that are
// wrong, at a server that is honest or lies. The one thing to keep true: all that happens follows from the seed.

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

/// Faults that are planted, to see that they are found.
package enum PeopleWorldFault: CaseIterable, Sendable {
    /// A removed member is given the next key.
    case tellsFormerMembers
    /// Someone's entries are kept back to the end.
    case losesEntries
    /// A person's consent is noted where nobody gave it.
    case inventsRoles
}

/// A line that was acknowledged to a person.
struct PeopleLine {
    let key: FactKey
    let text: String
    let dot: Dot
    let account: ChainID
    let device: UniqueID
    /// Its device and its account kept their rights.
    var isDue: Bool
    /// It was written after a link that closed its log.
    let isLate: Bool
}

/// A vault of a world of people.
final class PeopleRoom {
    let circle: LogCircle
    /// What people changed, by the number of the link: a role, or nil for nobody any more.
    var changes: [Int: [ChainID: MemberRole?]] = [:]
    var acceptances: [Int: ChainID] = [:]
    var lines: [PeopleLine] = []
    /// What devices without a right wrote, and a server shows all the same.
    var ghosts: [ZoneObject] = []
    /// What a server shows to who lost a right, by device.
    var darkness: [UniqueID: PeopleDarkness] = [:]
    /// Links and heads as they were.
    var past: [PeopleDarkness] = []
    var heads: [LogHead] = []

    init(_ circle: LogCircle) { self.circle = circle }

    var people: [LogPerson] { circle.people }
    var devices: [LogDevice] { people.flatMap(\.devices) }

    /// The rights by all links that any device knows.
    func rights() -> VerifiedMemberRights? { devices.compactMap(\.rights).max { $0.links.count < $1.links.count } }

    func members() -> [ChainID: Member] { rights()?.rights.members ?? [:] }

    /// Trusted devices of those whose right fits.
    func devices(_ fits: (Member) -> Bool) -> [LogDevice] {
        let members = members()
        return people.filter { members[$0.account].map(fits) ?? false }.flatMap { person in
            person.devices.filter { person.isTrusted($0) }
        }
    }

    /// The links that exist now.
    func now() -> PeopleDarkness {
        var counts: [[UInt8]: Int] = [:]
        for person in people { counts[person.account.bytes] = person.chain.links.count }
        counts[circle.people[0].vaultID.bytes] = rights()?.links.count ?? 0
        return PeopleDarkness(counts: counts)
    }
}

/// A server that hides what came behind these links.
struct PeopleDarkness {
    let counts: [[UInt8]: Int]

    func hiding(_ reply: LogReply) -> LogReply {
        guard case .chains(let updates) = reply else { return reply }
        let chains = updates.chains.map { chain in
            let shown = max(0, (counts[chain.chainID] ?? Int.max / 2) - Int(chain.start))
            return ChainUpdates.Chain(
                kind: chain.kind, chainID: chain.chainID, branches: chain.branches, start: chain.start,
                links: Array(chain.links.prefix(shown)))
        }
        return .chains(ChainUpdates(chains, hasMore: updates.hasMore))
    }
}

/// One world: from its seed to one state on all devices of each vault.
package final class PeopleWorld {
    static let noteCount = 3

    let random: SeededGenerator
    let server: LogServer
    let isHostile: Bool
    let fault: PeopleWorldFault?
    let tell: (String) -> Void
    var rooms: [PeopleRoom] = []
    var runs: [ObjectIdentifier: LogRun] = [:]
    /// Devices whose sync under way began without a right.
    var outsiders: Set<ObjectIdentifier> = []
    var lineCount = 0

    private init(
        _ random: SeededGenerator, fault: PeopleWorldFault?, tell: @escaping (String) -> Void
    ) throws {
        (self.random, self.fault, self.tell) = (random, fault, tell)
        isHostile = random.bool()
        server = try LogServer(random: random)
        let first = try LogPerson(random, server: server)
        let circle = try LogCircle(first)
        for _ in 0..<random.int(in: 1...4) { _ = try circle.addPerson() }
        rooms = [PeopleRoom(circle)]
        for _ in 0..<random.int(in: 0...2) {
            let founder = random.element(of: circle.people)
            let other = try LogCircle(LogPerson(founding: founder))
            for person in circle.people where person !== founder { try other.addPerson(as: person) }
            rooms.append(PeopleRoom(other))
        }
        for person in circle.people where random.bool() { try addDevice(person) }
        for room in rooms {
            for device in room.people[0].devices { try device.sync() }
            // Most worlds begin with people who share.
            for other in room.people.dropFirst() where random.int(in: 0...3) > 0 {
                try add(other, by: room.people[0].devices[0], in: room)
                if random.int(in: 0...3) > 0 { try accept(other.devices[0], in: room) }
            }
        }
        tell(
            "\(circle.people.count) people, \(rooms.count) vaults, \(isHostile ? "a server that lies" : "an honest server")"
        )
    }

    /// Plays a world.
    ///
    /// - Throws: `SimulationFailure` with what is not as it should be.
    package static func run(
        _ random: SeededGenerator, fault: PeopleWorldFault? = nil, tell: @escaping (String) -> Void = { _ in }
    ) throws {
        let world = try PeopleWorld(random, fault: fault, tell: tell)
        for _ in 0..<random.int(in: 40...120) { try world.happen() }
        try world.settle()
        for room in world.rooms { try world.check(room) }
    }

    func name(_ device: LogDevice) -> String {
        for (number, room) in rooms.enumerated() {
            for (index, person) in room.people.enumerated() {
                guard let place = person.devices.firstIndex(where: { $0 === device }) else { continue }
                return "vault \(number) \(name(person.account)) \(index).\(place)"
            }
        }
        return "a device"
    }

    func name(_ account: ChainID) -> String {
        let index = rooms.first?.people.firstIndex { $0.account == account }
        return index.map { String("ABCDE".dropFirst($0).prefix(1)) } ?? "?"
    }

    // MARK: What happens

    private func happen() throws {
        let room = random.element(of: rooms)
        switch random.int(in: 0...51) {
        case 0...11: try write(random.element(of: room.devices), in: room)
        case 28...29: try crash(random.element(of: room.devices))
        case 30: try pass(Milliseconds(random.int(in: 1...48)) * 3_600_000)
        case 31...33: try addSomebody(in: room)
        case 34...36: try acceptSomewhere(in: room)
        case 37...38: try changeRole(in: room, isRemoved: false)
        case 39: try changeRole(in: room, isRemoved: true)
        case 40: try leave(room)
        case 41: try addDevice(random.element(of: rooms[0].people))
        case 42...43: try revoke(random.element(of: rooms[0].people))
        case 44: random.element(of: room.devices).clockError = Milliseconds(random.int(in: -400...400)) * 86_400_000
        case 45: try checkpoint(in: room)
        case 46: try speak(in: room)
        case 47...48 where isHostile: try withhold(in: room)
        case 49...50 where isHostile: try haunt(room)
        case 51 where isHostile: try forge(in: room)
        default: try step(in: room)
        }
    }

    /// Time passes, and identities are looked after.
    func pass(_ time: Milliseconds) throws {
        server.clock.now += time
        for person in rooms[0].people { try person.renewIdentity() }
    }

    func write(_ device: LogDevice, in room: PeopleRoom) throws {
        guard try device.repository.ask({ (machine) in machine.mayWrite }) else { return }
        let key = LogDevice.text(random.int(in: 1...Self.noteCount))
        let shown = try device.repository.shownText(under: key)
        var lines = String(decoding: shown?.text ?? [], as: UTF8.self).split(separator: "\n").map { "\($0)\n" }
        lineCount += 1
        let line = "line \(lineCount)\n"
        lines.insert(line, at: random.int(in: 0...lines.count))
        do {
            let entry = try device.repository.commit(
                [LogChange(key: key, value: Array(lines.joined().utf8), replaces: shown?.replaces)], time: device.now)
            guard let entry else { return }
            let (isDue, isLate) = try standing(of: device, entry, in: room)
            room.lines.append(
                PeopleLine(
                    key: key, text: line, dot: entry.dot, account: device.person.account, device: device.id,
                    isDue: isDue, isLate: isLate))
            tell(
                "\(name(device)) writes \(line.dropLast()) to \(key)\(isLate ? ", too late" : isDue ? "" : ", in vain")"
            )
        } catch let error as StorageError {
            // No key for an entry at a link that it took, or no right.
            guard error.code == .readOnly || error.code == .roleViewer else { throw error }
        }
    }

    /// Whether an entry that is written now has to stay, and whether it must not count.
    private func standing(
        of device: LogDevice, _ entry: VerifiedEntry, in room: PeopleRoom
    ) throws -> (isDue: Bool, isLate: Bool) {
        let owner = InstanceOwner(entry.context)
        for other in room.devices {
            if try other.repository.ask({ (machine) in machine.members.closingLink(of: owner) != nil }) {
                return (false, true)
            }
        }
        let writes = room.members()[device.person.account]?.writes == true
        return (writes && device.person.isTrusted(device), false)
    }

    /// Words of who loses a right, or a device, need not stay.
    func excuse(in room: PeopleRoom, _ loses: (PeopleLine) -> Bool) {
        for index in room.lines.indices where loses(room.lines[index]) { room.lines[index].isDue = false }
    }

    private func crash(_ device: LogDevice) throws {
        tell("\(name(device)) crashes")
        runs[ObjectIdentifier(device)] = nil
        try device.crash()
    }

    /// A step of a device's sync, which goes wrong now and then.
    private func step(in room: PeopleRoom) throws {
        let device = random.element(of: room.devices)
        // A server gives no session to a device that was revoked.
        guard try isKnown(device, in: room), device.person.isTrusted(device) else { return }
        let id = ObjectIdentifier(device)
        if runs[id] == nil {
            if room.members()[device.person.account] == nil { outsiders.insert(id) } else { outsiders.remove(id) }
        }
        let run = runs[id] ?? device.begin()
        runs[id] = run
        let fault = random.int(in: 0...19)
        device.intercept = { request in
            switch fault {
            case 0: return .unreachable
            case 1:
                // It happened, and the answer is lost.
                _ = try device.person.server.answer(request, in: device.person.vaultID.bytes, by: device.owner) { _ in }
                return .unreachable
            default: return nil
            }
        }
        defer { device.intercept = nil }
        do {
            guard let report = try device.step(run) else { return }
            tell("\(name(device)) synced: sent \(report.sentCount), links \(report.linkCount)")
        } catch let error as SyncError {
            if outsiders.contains(id), error.code != .vaultFailed {
                tell("\(name(device)) breaks off: \(error)")
            } else {
                try look(at: error, of: device, in: room)
            }
        }
        runs[id] = nil
        remember(room)
    }

    func remember(_ room: PeopleRoom) {
        let founder = room.people[0]
        if let head = try? founder.head(), head.address != nil { room.heads.append(head) }
        room.past.append(room.now())
    }

    /// Whether the device's account was ever let into the vault.
    func isKnown(_ device: LogDevice, in room: PeopleRoom) throws -> Bool {
        let account = device.person.account
        return account == room.people[0].account || room.changes.values.contains { $0[account] != nil }
    }

    /// Section 17 (7): who has a right meets no error at an honest server but that it is not reached, or that a key is due.
    func look(at error: SyncError, of device: LogDevice, in room: PeopleRoom) throws {
        tell("\(name(device)) breaks off: \(error)")
        if error.code == .vaultFailed { throw error }
        guard !isHostile, error.code != .unreachable, error.code != .epochStale, device.person.isTrusted(device),
            room.members()[device.person.account] != nil
        else { return }
        // Somebody took its right to write while it was about to push.
        if error.code == .refused, room.members()[device.person.account]?.writes != true { return }
        throw SimulationFailure("\(name(device)) has a right, and meets \(error)")
    }
}
