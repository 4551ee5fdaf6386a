// The end of a world of people: all is delivered, and devices are compared. The one thing to keep true: each claim is about what
// the product shows, against what people did.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretServer
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTestSupport
internal import CoffretTrust
internal import CoffretWire

extension PeopleWorld {
    private static let roundCountMax = 60

    /// All is delivered: devices sync until nothing is left to say.
    func settle() throws {
        runs = [:]
        for room in rooms {
            for device in room.devices {
                (device.intercept, device.serverAlso) = (nil, room.ghosts)
                let hasMore = !room.ghosts.isEmpty
                device.lie = { reply in hasMore ? Self.tellingOfMore(reply) : reply }
            }
        }
        var (quietCount, pushCount) = (0, 0)
        for round in 0..<Self.roundCountMax {
            var isQuiet = true
            for room in rooms {
                for device in room.devices({ _ in true }) {
                    // A word of somebody before took him out.
                    guard room.members()[device.person.account] != nil else { continue }
                    if try !sync(device, in: room, round, &pushCount) { isQuiet = false }
                }
            }
            quietCount = isQuiet ? quietCount + 1 : 0
            if quietCount > 4 { return }
            try pass(9 * 3_600_000)
        }
        for room in rooms {
            for device in room.devices({ _ in true }) { tell("\(name(device)): \(try device.summary())") }
        }
        throw SimulationFailure("devices go on without end")
    }

    /// - Returns: whether there was nothing to say.
    private func sync(_ device: LogDevice, in room: PeopleRoom, _ round: Int, _ pushCount: inout Int) throws -> Bool {
        let report: LogReport
        if fault == .losesEntries, device.person !== room.people[0] { device.lie = Self.withoutObjects }
        do { report = try device.hurry() } catch {
            throw SimulationFailure("\(name(device)) in round \(round): \(error)")
        }
        let spoke = try speak(device, in: room)
        let isQuiet =
            report.sentCount + report.receivedCount + report.linkCount + report.letterCount == 0 && !report.isEpochStale
            && !report.awaitsKey && report.waitsForWord == nil && report.waitingLinks == nil && !spoke
        if !isQuiet {
            tell(
                "\(name(device)) in round \(round): sent \(report.sentCount), received \(report.receivedCount), "
                    + "links \(report.linkCount), letters \(report.letterCount), stale \(report.isEpochStale), "
                    + "awaits key \(report.awaitsKey) bad letter \(report.hasBadLetter), "
                    + "word \(String(describing: report.waitsForWord?.link)), "
                    + "waiting \(String(describing: report.waitingLinks)), obstacle \(String(describing: report.obstacle))"
            )
        }
        pushCount += report.sentCount > 0 ? 1 : 0
        return isQuiet
    }

    /// A member lists what the server has besides, also where the zone brings nothing new.
    private static func tellingOfMore(_ reply: LogReply) -> LogReply {
        guard case .head(let head) = reply else { return reply }
        let cursor = head.cursor + [0]
        return .head(
            LogHead(address: head.address, cursor: cursor, epoch: head.epoch, people: head.people, word: head.word))
    }

    private static func withoutObjects(_ reply: LogReply) -> LogReply {
        guard case .page(let page) = reply else { return reply }
        return .page(LogPage(objects: [], cursor: page.cursor, hasMore: page.hasMore))
    }

    // MARK: What has to be true

    func check(_ room: PeopleRoom) throws {
        let devices = room.devices { _ in true }
        try checkFacts(devices, in: room)
        for device in devices {
            try checkRoles(device, in: room)
            try checkLines(device, in: room)
            let report = device.repository.fsck()
            guard report.isClean else { throw SimulationFailure("\(name(device)): \(report)") }
        }
        try checkKeys(in: room)
    }

    /// (1)
    private func checkFacts(_ devices: [LogDevice], in room: PeopleRoom) throws {
        // A link comes before the entries of its writer that it accepts. Who loses the right in between has them alone.
        let lacked = Set(try devices.flatMap { try $0.missingNames() })
        let devices = try devices.filter { device in
            try device.repository.ask { (machine) in machine.mayWrite }
                || device.unacknowledged().isDisjoint(with: lacked)
        }
        guard let first = devices.first else { return }
        let facts = try first.facts()
        for device in devices.dropFirst() where try device.facts() != facts {
            for device in devices { tell("\(name(device)): \(try device.summary())") }
            throw SimulationFailure("\(name(first)) and \(name(device)) have other facts")
        }
        for number in 1...Self.noteCount {
            let texts = try devices.map { try $0.shown(LogDevice.text(number)) }
            guard texts.allSatisfy({ $0 == texts[0] }) else { throw SimulationFailure("other texts under \(number)") }
        }
    }

    /// (2), (3)
    private func checkLines(_ device: LogDevice, in room: PeopleRoom) throws {
        let present = try device.repository.present()
        for line in room.lines where line.isDue || line.isLate {
            let facts = try present.facts(under: line.key)
            if line.isLate {
                guard !facts.contains(where: { $0.dot == line.dot }) else {
                    throw SimulationFailure(
                        "\(line.text.dropLast()) was written too late, and counts on \(name(device))")
                }
                continue
            }
            var values = try device.shown(line.key).map { [$0] } ?? []
            for fact in facts { values.append(String(decoding: try present.value(of: fact), as: UTF8.self)) }
            guard values.contains(where: { $0.contains(line.text) }) else {
                tell("\(name(device)): \(try device.summary())")
                throw SimulationFailure("\(line.text.dropLast()) of \(name(line.account)) is lost on \(name(device))")
            }
        }
    }

    /// (4): who is out has no key of today, and none that opens the older ones.
    private func checkKeys(in room: PeopleRoom) throws {
        let members = room.members()
        guard let insider = room.devices({ _ in true }).first else { return }
        let epoch = try insider.repository.ask { (machine) in machine.members.newestState.epoch }
        guard case .keys(let given) = try insider.person.ask(.keys, by: insider) else {
            throw SimulationFailure("no keys for \(name(insider))")
        }
        for device in room.devices where try isKnown(device, in: room) {
            let isIn = members[device.person.account] != nil && device.person.isTrusted(device)
            if isIn {
                guard device.vaultKeys[epoch] != nil else { throw SimulationFailure("\(name(device)) has no key") }
                continue
            }
            // A founder who is alone and loses no device needs no other key.
            guard device.vaultKeys[epoch] == nil else {
                throw SimulationFailure("\(name(device)) is out, and has the key")
            }
            for key in device.vaultKeys.values
            where EpochHistory.open(given.history, in: device.person.vaultID, epoch: given.epoch, key: key) != nil {
                throw SimulationFailure("\(name(device)) is out, and opens the history of keys")
            }
        }
    }

    /// (5): what people did by links is what every device knows of rights.
    private func checkRoles(_ device: LogDevice, in room: PeopleRoom) throws {
        let (count, members) = try device.repository.ask { (machine) in
            (machine.members.takenCount, machine.members.newestState.members)
        }
        var roles: [ChainID: (role: MemberRole, hasAccepted: Bool)] = [room.people[0].account: (.owner, true)]
        for number in 0..<count {
            for (account, role) in room.changes[number] ?? [:] {
                roles[account] = role.map { ($0, roles[account]?.hasAccepted ?? false) }
            }
            if let account = room.acceptances[number], let member = roles[account] {
                roles[account] = (member.role, true)
            }
        }
        let isSame =
            roles.count == members.count
            && roles.allSatisfy { account, member in
                members[account].map { $0.role == member.role && $0.hasAccepted == member.hasAccepted } ?? false
            }
        guard isSame else { throw SimulationFailure("\(name(device)) knows of other roles than people gave") }
    }
}
