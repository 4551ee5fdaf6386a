// Another person at the same server, and an account that comes back by its sheet. The one thing to keep true: stores of two
// people share a server, and nothing else.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTestSupport
internal import CoffretTrust
internal import CoffretWire

extension LogWorld {
    // MARK: Two people

    /// The other one writes and syncs in a store of their own; or one of both asks about the other's vault.
    func meet() throws {
        let stranger = try stranger ?? arrived()
        let guest = stranger.devices[0]
        if strangerLines.isEmpty || random.bool() {
            let line = "of a stranger \(strangerLines.count)\n"
            try guest.put(LogDevice.text(strangerLines.count), line)
            strangerLines.append(line)
            try guest.sync()
            return
        }
        let asksHere = random.bool()
        let (asker, host) = asksHere ? (guest, person) : (random.element(of: trusted), stranger)
        for request in asksHere ? heard : [.head, .changes(since: [])] {
            try ask(request, by: asker, about: host)
        }
    }

    private func arrived() throws -> LogPerson {
        let made = try LogPerson(random, server: person.server)
        try made.devices[0].sync()
        stranger = made
        return made
    }

    private func ask(_ request: LogRequest, by asker: LogDevice, about host: LogPerson) throws {
        let owner = rules.fault == .servesStrangers ? host.devices[0].owner : asker.owner
        var pages = 0
        let reply = try person.server.answer(request, in: host.vaultID.bytes, by: owner) { _ in pages += 1 }
        switch reply {
        case .refused where pages == 0: return
        case .chains(let updates):
            // Links of devices are for all who know the account; those of a vault for its members.
            let vault = updates.chains.filter {
                $0.kind == ChainKind.member.rawValue && $0.chainID == host.vaultID.bytes
            }
            if vault.allSatisfy(\.links.isEmpty) { return }
        default: break
        }
        throw SimulationFailure("a stranger is answered: \(request)")
    }

    func checkStranger() throws {
        guard let stranger else { return }
        let guest = stranger.devices[0]
        try guest.sync()
        for (number, line) in strangerLines.enumerated() where try guest.shown(LogDevice.text(number)) != line {
            throw SimulationFailure("\(line.dropLast()) is lost")
        }
        guard try guest.facts().count == strangerLines.count, guest.repository.fsck().isClean else {
            throw SimulationFailure("a stranger's store has what they did not write")
        }
    }

    // MARK: By paper

    /// A sheet is printed; later the account comes back by it, and all other devices are out.
    func usePaper() throws {
        guard person.sheet != nil else {
            try person.addSheet(by: random.element(of: trusted))
            tell("a sheet is printed")
            return
        }
        guard person.devices.count < Self.deviceCountMax, random.bool() else { return }
        let before = trusted
        let links = try before.map { try $0.repository.ask { (machine) in machine.members.chain.count } }.max() ?? 0
        let dark = LogDarkness(deviceLinkCount: person.chain.links.count, linkCount: links)
        let device = try person.joinByPaper()
        tell("\(name(device)) comes back by the sheet")
        try device.sync()
        let seen = try linesSeen(by: device)
        try person.recover(keeping: device)
        for other in before {
            runs[ObjectIdentifier(other)] = nil
            revoked.insert(other.id)
            darkness[other.id] = dark
        }
        // The command closes the others' logs at once, by what it has seen: that counts from here on, whoever wrote it.
        try device.sync()
        lines += seen.map { ($0.key, $0.line, device.id) }
        tell("all others are out; \(seen.count) lines stay")
    }

    private func linesSeen(by device: LogDevice) throws -> [(key: FactKey, line: String, device: UniqueID)] {
        try lines.filter { line in
            try !revoked.contains(line.device)
                && values(under: line.key, on: device).contains { $0.contains(line.line) }
        }
    }
}
