// Operations that decide which devices count. Invariant: what a revoked device added goes as well, unless a person says that it is
// to stay; and nothing of what it wrote later enters a vault without a word of the person.

package import CoffretAccount
internal import CoffretBase
internal import CoffretCore
package import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
package import CoffretTerminal
internal import CoffretTrust
package import CoffretWire

extension DeviceRevoke: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let account = try desk.account()
        defer { account.connection.logOut() }
        let before = WorkBefore(try desk.vaultRecords.filter { $0.kind == .synced }, on: desk)
        try desk.follow(account)
        return try Revocation(self, desk, account, before).answer()
    }
}

/// One revocation, of a device or a sheet.
private struct Revocation {
    private let request: DeviceRevoke
    private let desk: StoreDesk
    private let account: Account
    private let own: UniqueID
    private let before: WorkBefore

    init(_ request: DeviceRevoke, _ desk: StoreDesk, _ account: Account, _ before: WorkBefore) throws {
        self.request = request
        self.before = before
        self.desk = desk
        self.account = account
        own = try desk.store.keyring.deviceID()
    }

    private var chain: VerifiedDeviceChain { get throws { try desk.store.keyring.deviceChain() } }
    private var isTrial: Bool { request.isTrial == true }

    func answer() throws -> DeviceRevoke.Answer {
        let matching = try desk.devices(matching: request.device)
        if let revoked = matching.first, !matching.contains(where: \.isTrusted) { return try finish(revoked) }
        let target = try desk.device(request.device, among: matching)
        guard target.id != own else {
            throw CommandFailure(
                .usage, .deviceIsThis, "a device cannot revoke itself", hint: "run it on another of your devices")
        }
        return try target.kind == .paper ? revoke(paper: target) : revoke(target)
    }

    private func revoke(_ target: VerifiedDevice) throws -> DeviceRevoke.Answer {
        var answer = DeviceRevoke.Answer()
        answer.device = desk.deviceLabel(target)
        let brought = try chain.devicesBrought(by: target.id, sparing: own)
        let kept = try kept(of: brought, target)
        answer.kept = brought.filter { kept.contains($0.id) }.map(desk.deviceLabel)
        guard !isTrial else {
            answer.falling = brought.filter { !kept.contains($0.id) }.map(desk.deviceLabel)
            return answer
        }
        try desk.surroundings.requirePassphrase("revoke a device")
        // The person took his time.
        try account.readAgain()
        // Everything that it has sent by now counts, and has to be here before it is revoked.
        let sent = try desk.syncEach(account, "what it sent lately may not count")
        let sync = desk.sync(account)
        try account.revoke(target.id, with: Set(brought.map(\.id)).subtracting(kept)) { link, revoked, refusalCount in
            try closings(link, revoked, refusalCount, sync)
        }
        let went = brought.filter { !kept.contains($0.id) && $0.kind != .paper }
        var others = try revokeBrought(by: target.id, kept)
        others.revoked = went + others.revoked
        let closed = try desk.syncEach(account, "coffret sync makes the revocation whole there")
        answer.isRevoked = true
        answer.alsoRevoked = others.revoked.map(desk.deviceLabel)
        answer.alsoAnnounced = others.announced.map(desk.deviceLabel)
        answer.renewedVaults = closed.renewed.map(\.hex).sorted()
        answer.unseen = try unseen(of: [target] + others.revoked)
        answer.problem = (sent.problem ?? closed.problem).map { OperationFailure($0) }
        return answer
    }

    /// Links that close the devices in the vaults, in one request with the device link. What others wrote meanwhile is fetched
    /// first; after two refusals any head will do (K2). A vault that cannot be closed now is so by its next sync.
    private func closings(
        _ link: UnverifiedLink, _ revoked: Set<UniqueID>, _ refusalCount: Int, _ sync: AccountSync
    ) throws -> [LinkPost.Item] {
        try sync.vaults.compactMap { record in
            try? sync.closingLink(of: record, with: link, revoked, acceptsAnyHead: refusalCount > 1)
        }
    }

    /// The devices that stay, of those that came by this one.
    private func kept(of brought: [VerifiedDevice], _ target: VerifiedDevice) throws -> Set<UniqueID> {
        if request.keepsAdded == true { return Set(brought.map(\.id)) }
        return try Set(
            (request.keep ?? []).map { wanted in
                let found = try desk.devices(matching: wanted).filter { brought.contains($0) }
                guard found.count == 1 else {
                    throw CommandFailure(
                        found.isEmpty ? .notFound : .ambiguous, found.isEmpty ? .deviceNotFound : .deviceAmbiguous,
                        "\(found.count) of those that \(desk.label(target)) added are called "
                            + "\"\(TextWidth.displaySafe(wanted))\"",
                        hint: "coffret device ls lists them; use the id")
                }
                return found[0].id
            })
    }

    /// Revokes what came by a device, looking again each time: until it was revoked itself it could add more.
    private func revokeBrought(
        by id: UniqueID, _ kept: Set<UniqueID>
    ) throws -> (revoked: [VerifiedDevice], announced: [VerifiedDevice]) {
        var (revoked, announced): ([VerifiedDevice], [VerifiedDevice]) = ([], [])
        while true {
            let chain = try chain
            let next = chain.devicesBrought(by: id, sparing: own).first { device in
                !kept.contains(device.id) && !announced.contains { $0.id == device.id }
            }
            guard let next else { return (revoked, announced) }
            guard next.kind == .paper else {
                try account.revoke(next.id)
                revoked.append(next)
                continue
            }
            let now = desk.surroundings.clock.now
            let isWaiting = chain.announcements.contains {
                $0.target == next.id && $0.announcer == own && $0.endOfWaiting > now
            }
            if !isWaiting, try account.revokePaper(next.id, at: now) {
                revoked.append(next)
            } else {
                announced.append(next)
            }
        }
    }

    /// A paper device falls seven days after this device said so, and not before.
    private func revoke(paper target: VerifiedDevice) throws -> DeviceRevoke.Answer {
        var answer = DeviceRevoke.Answer()
        answer.device = desk.deviceLabel(target)
        let announced = try chain.announcements.first { $0.target == target.id && $0.announcer == own }
        let now = desk.surroundings.clock.now
        if let announced, announced.endOfWaiting > now {
            let time = RelativeTime(nowMilliseconds: now)
            throw CommandFailure(
                .busy, .paperTooEarly,
                "your devices were told \(time.moment(announced.time)) that the paper device \(desk.label(target)) will be revoked; its seven days are not over",
                hint: "run this again on this device from \(time.moment(announced.endOfWaiting)) on")
        }
        answer.announced = announced.map { WireMoment($0.time) }
        if isTrial { return answer }
        try desk.surroundings.requirePassphrase("revoke a device")
        answer.isRevoked = try account.revokePaper(target.id, at: now)
        if !answer.isRevoked { answer.announced = WireMoment(now) }
        return answer
    }

    /// Work of devices that counts, and that was not here when the person asked for their end.
    private func unseen(of devices: [VerifiedDevice]) throws -> [UnseenWork] {
        let (account, ids) = (try chain.accountID, Set(devices.map(\.id)))
        return try before.unseen(on: desk) { $0.accountID == account && ids.contains($0.deviceID) }
    }

    /// Makes a revocation whole that another device began and did not end.
    private func finish(_ device: VerifiedDevice) throws -> DeviceRevoke.Answer {
        var answer = DeviceRevoke.Answer()
        (answer.device, answer.isRevoked) = (desk.deviceLabel(device), true)
        if isTrial { return answer }
        let synced = try desk.syncEach(account, "coffret sync sends it")
        guard !synced.renewed.isEmpty else {
            var failure = CommandFailure(
                .notFound, .deviceNotFound, "\(desk.label(device)) is revoked already",
                hint: "coffret device ls lists them")
            let brought = try chain.devicesBrought(by: device.id, sparing: own).map(desk.deviceLabel)
            if !brought.isEmpty { failure.details.append("what came by it is still there: \(brought.words)") }
            throw failure
        }
        answer.completedVaultCount = synced.renewed.count
        answer.unseen = try unseen(of: [device])
        answer.problem = synced.problem.map { OperationFailure($0) }
        return answer
    }
}

extension StoreDesk {
    fileprivate func deviceLabel(_ device: VerifiedDevice) -> DeviceLabel {
        var message = DeviceLabel()
        message.id = device.id.hex
        message.name = (try? store.keyring.details(of: device))?.name
        message.kind = device.kind == .paper ? .paper : .device
        return message
    }

    /// Syncs all synced vaults. A failure in one is told at once and keeps none of the others.
    ///
    /// - Parameter consequence: of a failure.
    /// - Returns: the first failure, and the vaults whose key is new.
    package func syncEach(
        _ account: Account, _ consequence: String
    ) throws -> (problem: CommandFailure?, renewed: Set<VaultID>) {
        let sync = sync(account)
        var first: CommandFailure?
        var renewed: Set<VaultID> = []
        for record in try sync.vaults {
            do {
                let before = try store.keyring.vaultKeys(for: record.vaultID).currentEpoch
                _ = try sync.sync(record, SyncOptions())
                if try store.keyring.vaultKeys(for: record.vaultID).currentEpoch > before {
                    renewed.insert(record.vaultID)
                }
                sync.note(record, nil)
            } catch {
                sync.note(record, error)
                let failure = FailureTranslation.failure(from: error)
                first = first ?? failure
                surroundings.person?.warn(
                    "\"\(TextWidth.displaySafe(record.name))\": \(failure.message) (\(failure.code)); \(consequence)")
            }
        }
        return (first, renewed)
    }
}

extension DeviceLabel {
    /// The name, in quotes; the beginning of the id where no name is known.
    package var words: String { name.map { "\"\(TextWidth.displaySafe($0))\"" } ?? String(id.prefix(8)) }
}

extension [DeviceLabel] {
    package var words: String { map { $0.words + ($0.kind == .paper ? " (paper)" : "") }.joined(separator: ", ") }
}

// MARK: What revoked devices wrote

extension RescueList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        for record in try records(on: desk) {
            answer.items += try desk.store.setAsideItems(in: record).map { item in
                var message = RescueMessage()
                (message.vault, message.id, message.title) = (record.name, item.entity.uuid.hex, item.title)
                (message.device, message.time) = (desk.deviceName(item.deviceID.bytes), WireMoment(item.time))
                return message
            }
        }
        return answer
    }
}

extension RescueList {
    fileprivate func records(on desk: StoreDesk) throws -> [VaultRecord] {
        try vault.map { [try desk.record($0)] } ?? desk.vaultRecords.filter { $0.kind == .synced }
    }
}

extension RescueSettle: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var list = RescueList()
        list.vault = vault
        var answer = Answer()
        answer.itemCount = try list.perform(on: desk).items.count
        guard answer.itemCount == itemCount else { throw OperationError(.requestInvalid, at: "itemCount") }
        if itemCount > 0 { try desk.surroundings.requirePassphrase("settle what a revoked device wrote") }
        for record in try list.records(on: desk) {
            answer.changeCount += try desk.store.settleSetAside(
                in: record, isTaken: isTaken, clock: desk.surroundings.clock)
        }
        return answer
    }
}
