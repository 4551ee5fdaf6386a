// People come, go, and lose devices; the server and former members do what they may not. The one thing to keep true: the
// product makes every link, and the world notes what each person wanted by it.

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
    private static let deviceCountMax = 3

    // MARK: Members

    func add(_ other: LogPerson, by device: LogDevice, in room: PeopleRoom) throws {
        guard let head = Bytes32(other.chain.head.linkHash) else { throw SimulationFailure("no head") }
        let role: MemberRole = random.element(of: [.owner, .writer, .writer, .viewer])
        tell("\(name(device)) adds \(name(other.account)) as \(role)")
        try change(
            .add(StatedHead(accountID: other.account, device: head), role, name: nil), by: device, in: room,
            introducing: other)
    }

    func addSomebody(in room: PeopleRoom) throws {
        let members = room.members()
        let others = room.people.filter { members[$0.account] == nil }
        let owners = room.devices { $0.owns }
        guard !others.isEmpty, !owners.isEmpty else { return }
        try add(random.element(of: others), by: random.element(of: owners), in: room)
    }

    func accept(_ device: LogDevice, in room: PeopleRoom) throws {
        guard room.members()[device.person.account]?.hasAccepted == false else { return }
        tell("\(name(device)) accepts")
        try change(.accept, by: device, in: room)
    }

    func acceptSomewhere(in room: PeopleRoom) throws {
        let invited = room.devices { !$0.hasAccepted }
        if !invited.isEmpty { try accept(random.element(of: invited), in: room) }
    }

    /// An owner gives somebody another role, or takes him out. Whom he may not is not asked.
    func changeRole(in room: PeopleRoom, isRemoved: Bool) throws {
        let owners = room.devices { $0.owns }
        let members = room.members()
        guard !owners.isEmpty else { return }
        let device = random.element(of: owners)
        guard let own = members[device.person.account]?.ownerSince else { return }
        let others = room.people.map(\.account).filter { account in
            guard account != device.person.account, let member = members[account] else { return false }
            return member.ownerSince.map { own < $0 } ?? true
        }
        guard !others.isEmpty else { return }
        let other = random.element(of: others)
        let role: MemberRole? = isRemoved ? nil : random.element(of: [.owner, .writer, .viewer])
        guard members[other]?.role != role else { return }
        tell("\(name(device)) makes \(name(other)) \(role.map { "\($0)" } ?? "nobody")")
        try change(.changeRoles([MemberOperation.RoleChange(other, role)], confirming: []), by: device, in: room)
    }

    func leave(_ room: PeopleRoom) throws {
        let members = room.members()
        let owners = members.values.filter(\.owns).count
        let devices = room.devices { !$0.owns || owners > 1 }
        guard !devices.isEmpty, random.bool() else { return }
        let device = random.element(of: devices)
        tell("\(name(device)) leaves")
        try change(.leave, by: device, in: room)
    }

    /// Does what a person wants, and notes it if a link says so.
    func change(
        _ change: MemberChange, by device: LogDevice, in room: PeopleRoom, introducing other: LogPerson? = nil,
        shown: ShownLinks? = nil
    ) throws {
        runs[ObjectIdentifier(device)] = nil
        let before = room.now()
        let count = try device.repository.ask { (machine) in machine.members.chain.count }
        do {
            try device.change(change, introducing: other, shown: shown)
        } catch let error as SyncError {
            tell("\(name(device)) does not: \(error)")
            // Links of others came with the sync, and what was decided before applies no more.
            let isLate = try device.repository.ask { (machine) in machine.members.chain.count } > count
            guard error.code != .vaultFailed || isLate && error.cause is MemberError else { throw error }
        }
        let own = device.person.account
        let made = try device.repository.ask { (machine) in
            machine.members.chain.links.dropFirst(count).last { link in
                link.deviceID == device.id && (!link.effect.roleChanges.isEmpty || !link.effect.accepts.isEmpty)
            }?.effect.number
        }
        guard let number = made else { return }
        remember(room)
        var roles: [ChainID: MemberRole?] = [:]
        switch change {
        case .add(let head, let role, _): roles[head.accountID] = .some(role)
        case .accept:
            room.acceptances[number] = own
            return
        case .leave: roles[own] = .some(nil)
        case .changeRoles(let list, _): for change in list { roles[change.accountID] = .some(change.role) }
        case .confirm, .renewKey: return
        }
        room.changes[number] = fault == .inventsRoles && number > 2 ? roles.mapValues { _ in .viewer } : roles
        for (account, role) in roles where role?.writes != true {
            excuse(in: room) { $0.account == account }
            for device in room.circle[account]?.devices ?? [] { room.darkness[device.id] = before }
            guard fault == .tellsFormerMembers, role == nil else { continue }
            for former in room.circle[account]?.devices ?? [] {
                former.vaultKeys.merge(device.vaultKeys) { key, _ in key }
            }
        }
    }

    /// K8: a person who is shown what a lost device did takes it, or undoes it.
    @discardableResult
    func speak(_ device: LogDevice, in room: PeopleRoom) throws -> Bool {
        let own = device.person.account
        guard device.person.isTrusted(device) else { return false }
        // Who has left speaks no more; whoever was an owner before knows what happened.
        let former = Set(room.people.map(\.account)).subtracting(room.members().keys)
        let (waiting, spoken, unspoken) = try device.repository.ask { (machine) -> ([Int], Set<ChainID>, [Int]) in
            let view = machine.members
            let waiting = view.unconfirmedLinks(spokenForBy: own, and: former)
            return (waiting, Set(waiting.map { view.chain.links[$0].accountID }), view.unspokenLinks)
        }
        guard let first = waiting.first else { return try speakAlone(device, of: unspoken) }
        let undone = try device.repository.ask { (machine) -> [MemberOperation.RoleChange] in
            var changes: [MemberOperation.RoleChange] = []
            for number in waiting {
                let before = machine.members.chain.states[number - 1].members
                for account in machine.members.chain.links[number].effect.roleChanges.keys
                where before[account] == nil && !changes.contains(where: { $0.accountID == account }) {
                    changes.append(MemberOperation.RoleChange(account, nil))
                }
            }
            let newest = machine.members.chain.states.last?.members ?? [:]
            guard let rank = newest[own]?.owns == true ? newest[own]?.ownerSince : nil else { return [] }
            return changes.filter { change in
                guard change.accountID != own, let member = newest[change.accountID] else { return false }
                return member.ownerSince.map { rank < $0 } ?? true
            }
        }
        if !undone.isEmpty, random.bool() {
            tell("\(name(device)) undoes links \(waiting)")
            let changes = undone.sorted { $0.accountID.bytes.lexicographicallyPrecedes($1.accountID.bytes) }
            try change(
                .changeRoles(changes, confirming: spoken.sortedByBytes), by: device, in: room,
                shown: ShownLinks(undoneFrom: first))
        } else {
            tell("\(name(device)) takes links \(waiting)")
            try change(
                .confirm(spoken.sortedByBytes), by: device, in: room, shown: ShownLinks(undoneFrom: nil))
        }
        return true
    }

    /// K8a: nobody can speak for all any more. The person asks who signed the links: nobody forges any that a server takes here.
    private func speakAlone(_ device: LogDevice, of links: [Int]) throws -> Bool {
        guard let first = links.first,
            try device.repository.ask({ (machine) in machine.members.waitingForWord }) == first
        else { return false }
        tell("\(name(device)) takes links \(links) alone")
        try device.repository.takeUnspoken(Set(links))
        return true
    }

    func speak(in room: PeopleRoom) throws {
        for device in room.devices({ _ in true }) where try speak(device, in: room) { return }
    }

    func checkpoint(in room: PeopleRoom) throws {
        let devices = room.devices { $0.writes }
        guard !devices.isEmpty else { return }
        let device = random.element(of: devices)
        runs[ObjectIdentifier(device)] = nil
        var options = LogSync.Options()
        options.writesCheckpoint = true
        do {
            let report = try device.sync(options)
            tell("\(name(device)) asks for a checkpoint: links \(report.linkCount)")
        } catch let error as SyncError { try look(at: error, of: device, in: room) }
    }

    // MARK: Devices

    func addDevice(_ person: LogPerson) throws {
        guard person.devices.count < Self.deviceCountMax,
            let index = person.devices.firstIndex(where: { person.isTrusted($0) })
        else { return }
        let device = try person.addDevice(by: index)
        for room in rooms.dropFirst() {
            guard let other = room.circle[person.account] else { continue }
            try other.adopt(device, keys: other.devices[index].vaultKeys)
        }
        tell("\(name(device)) is added")
    }

    /// A device is lost in all vaults of its account; which devices close it there is left to the next syncs.
    func revoke(_ person: LogPerson) throws {
        let trusted = person.devices.filter { person.isTrusted($0) }
        guard trusted.count > 1 else { return }
        let lost = random.element(of: trusted)
        guard let other = trusted.first(where: { $0 !== lost }) else { return }
        // The command that revokes syncs first, so that no letter to the keys of before is left.
        for room in rooms {
            for device in room.devices where device.id == other.id && room.members()[person.account] != nil {
                runs[ObjectIdentifier(device)] = nil
                do { try device.hurry() } catch let error as SyncError { try look(at: error, of: device, in: room) }
            }
        }
        for room in rooms { room.darkness[lost.id] = room.now() }
        tell("\(name(lost)) is revoked")
        try person.revoke(lost, by: other)
        try person.renewIdentity()
        for room in rooms {
            excuse(in: room) { $0.device == lost.id }
            for device in room.devices where device.id == lost.id { runs[ObjectIdentifier(device)] = nil }
        }
    }

    // MARK: A server that lies

    /// For one whole sync an old head, part of the objects, or old links.
    func withhold(in room: PeopleRoom) throws {
        let device = random.element(of: room.devices)
        guard try isKnown(device, in: room), device.person.isTrusted(device),
            let head = room.heads.isEmpty ? nil : random.element(of: room.heads)
        else {
            return
        }
        runs[ObjectIdentifier(device)] = nil
        let (kind, past, random) = (random.int(in: 0...3), random.element(of: room.past), random)
        device.lie = { reply in
            switch reply {
            case .head where kind == 0: return .head(head)
            case .page(let page) where kind == 1:
                let objects = page.objects.filter { _ in random.int(in: 0...3) > 0 }
                return .page(LogPage(objects: objects, cursor: page.cursor, hasMore: page.hasMore))
            case .chains where kind == 2: return past.hiding(reply)
            case .keys(let keys) where kind == 3:
                return .keys(
                    ZoneKeys(
                        epoch: keys.epoch, history: keys.history.reversed(), letter: keys.letter.reversed(),
                        lacking: keys.lacking))
            default: return reply
            }
        }
        defer { device.lie = { $0 } }
        do {
            try device.hurry()
            tell("\(name(device)) is lied to (\(kind))")
        } catch let error as SyncError {
            tell("\(name(device)) is lied to (\(kind)): \(error)")
            guard error.code != .vaultFailed else { throw error }
        }
    }

    /// Who lost a right goes on in the dark; the server shows it to somebody at once, and to all in the end.
    func haunt(_ room: PeopleRoom) throws {
        let former = room.devices.filter { room.darkness[$0.id] != nil }
        guard !former.isEmpty else { return }
        let ghost = random.element(of: former)
        try write(ghost, in: room)
        room.ghosts += try unsent(of: ghost)
        let devices = room.devices { _ in true }
        guard !devices.isEmpty else { return }
        let device = random.element(of: devices)
        runs[ObjectIdentifier(device)] = nil
        device.serverAlso = room.ghosts
        defer { device.serverAlso = [] }
        do {
            try device.sync()
            tell("\(name(device)) is shown \(room.ghosts.count) objects of \(name(ghost))")
        } catch let error as SyncError { try look(at: error, of: device, in: room) }
    }

    /// What a device would push.
    private func unsent(of device: LogDevice) throws -> [ZoneObject] {
        let repository = device.repository
        var objects: [ZoneObject] = []
        for name in try device.unacknowledged().sorted() {
            let stored = try repository.ask { (machine) throws(StorageError) in try machine.store.entry(named: name) }
            guard let entry = stored?.entry else { continue }
            for blob in try repository.blobNames(of: entry) {
                let sealed = try repository.exchange.sealedBlob(blob)
                objects.append(ZoneObject(address: sealed.address.bytes, ciphertext: sealed.bytes))
            }
        }
        return objects
    }

    /// Somebody without that right makes himself an owner: the server refuses it, and so does who is shown it.
    func forge(in room: PeopleRoom) throws {
        let members = room.members()
        let forgers = room.devices.filter { members[$0.person.account]?.owns != true || !$0.person.isTrusted($0) }
        let readers = room.devices { _ in true }
        guard !forgers.isEmpty, let reader = readers.isEmpty ? nil : random.element(of: readers) else { return }
        let forger = random.element(of: forgers)
        let chain = try reader.repository.ask { (machine) in machine.members.chain }
        guard let head = Bytes32(forger.person.chain.head.linkHash), let last = chain.links.last else { return }
        let operation = MemberOperation(
            .changeRoles([MemberOperation.RoleChange(forger.person.account, .owner)]), by: forger.person.account,
            deviceHead: head)
        let link = UnverifiedLink.sign(
            kind: .member, chainID: ChainID(forger.person.vaultID.bytes), sequenceNumber: UInt64(chain.count),
            publicPart: operation.encoded, sealedPart: [], previousLinkHash: last.hash.bytes,
            with: forger.secrets.signing)
        let reply = try forger.person.ask(.members(MemberPost(link: link.encoded)), by: forger)
        if case .links = reply { throw SimulationFailure("the server takes a role that \(name(forger)) gives itself") }
        runs[ObjectIdentifier(reader)] = nil
        reader.lie = { reply in
            guard case .chains(let updates) = reply else { return reply }
            let chains = updates.chains.map { shown in
                guard shown.kind == ChainKind.member.rawValue, Int(shown.start) + shown.links.count == chain.count
                else {
                    return shown
                }
                return ChainUpdates.Chain(
                    kind: shown.kind, chainID: shown.chainID, branches: shown.branches, start: shown.start,
                    links: shown.links + [link.encoded])
            }
            return .chains(ChainUpdates(chains, hasMore: updates.hasMore))
        }
        defer { reader.lie = { $0 } }
        do {
            try reader.sync()
            tell("\(name(reader)) is shown a link that \(name(forger)) forged")
        } catch let error as SyncError { try look(at: error, of: reader, in: room) }
    }
}
