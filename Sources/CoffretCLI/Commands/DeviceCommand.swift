// `coffret device`: which devices belong to a person, how one more joins, how one is thrown out.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

enum DeviceCommand {
    private static let nameByteCountMax = 200
    static let device = ArgumentDescription.required("DEVICE", "its name, or the beginning of its id")
    static let newName = ArgumentDescription.required("NAME", "its new name")
    static let name = OptionDescription.value("name", "NAME", "what your other devices call this one (the host's name)")

    static let description = CommandDescription(
        "device", group: .devices, "List your devices, pair a new one, revoke a lost one",
        subcommands: [
            CommandDescription("ls", "List the devices of your account", run: list),
            DeviceJoining.pairing, DeviceJoining.approval,
            DeviceRevocation.description,
            CommandDescription(
                "rename", "Give a device another name",
                discussion: [
                    "All of your devices see the new name after their next sync; the server sees only that something was changed. A device with an older coffret stops syncing until it is updated."
                ],
                arguments: [device, newName], run: rename),
            DeviceRescue.description, DeviceRenewal.description, DeviceRecovery.description,
        ])

    /// Says what other devices changed; recoveries and threats to paper devices loudly.
    static func report(_ followed: FollowedDeviceChain, _ context: CommandContext, _ session: StoreSession) {
        func name(_ id: UniqueID) -> String {
            followed.chain.device(id).flatMap { try? session.store.keyring.details(of: $0)?.name }
                .map { "\"\(TextWidth.displaySafe($0))\"" } ?? String(id.hex.prefix(8))
        }
        if !followed.replacedLinks.isEmpty {
            context.warn(
                "a paper device recovered the account: \(NumberText.counted(followed.replacedLinks.count, "change")) "
                    + "of its devices made before no longer count; coffret device ls shows what is left")
        }
        for link in followed.newLinks {
            switch try? DeviceOperation(decoding: link.link) {
            case .announceRevocation(let id, _)?:
                context.warn(
                    "the paper device \(name(id)) will be revoked in seven days; if that was not you, recover with it now"
                )
            case .revokeAnnounced(let id, _)?: context.warn("the paper device \(name(id)) was revoked")
            case .add(let id, _, _, _)?: context.note("New device: \(name(id))")
            case .revoke(let id, _)?: context.note("Revoked device: \(name(id))")
            case .describe(let id)?: context.note("Renamed device: \(name(id))")
            case .recover?, nil: break
            }
        }
        warnOfPaper(context, session)
    }

    /// Says which sheets another device made that nobody here has said a word about.
    static func warnOfPaper(_ context: CommandContext, _ session: StoreSession) {
        let keyring = session.store.keyring
        guard let waiting = try? keyring.paperAwaitingConsent(), let chain = try? keyring.deviceChain() else { return }
        for device in waiting {
            let name = label(device, session)
            let by = chain.bringer(of: device).map { " by \(label($0, session))" } ?? ""
            context.warn(
                "the paper device \(name) was added\(by) and does not open this store: if that was you, "
                    + "coffret recovery accept \(name); if not, coffret device revoke \(name)")
        }
    }

    /// The name of a device, in quotes; the beginning of its id where no name is known.
    static func label(_ device: VerifiedDevice, _ session: StoreSession) -> String {
        (try? session.store.keyring.details(of: device)?.name).map { "\"\(TextWidth.displaySafe($0))\"" }
            ?? String(device.id.hex.prefix(8))
    }

    private static func list(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphrase)
        var requests: [PairingRequest] = []
        if try session.store.keyring.server() != nil {
            do {
                let account = try ServerAccess.account(session)
                defer { account.connection.logOut() }
                report(try account.follow(), context, session)
                requests = try account.pairingRequests()
            } catch {
                context.warn("as last seen: \(FailureTranslation.failure(from: error).message)")
            }
        }
        let devices = try DeviceList().perform(on: session.desk).devices
        try context.print(.array(devices.map(\.json) + requests.map(DeviceJoining.json))) {
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true), .init(role: .faint), .init(role: .faint),
            ])
            for device in devices {
                let kind = device.kind == .paper ? "paper" : device.isCurrent ? "this device" : ""
                let falls = device.revocable.map { "can be revoked \(context.relativeTime.day($0.milliseconds))" }
                let state = [kind, device.isRevoked ? "revoked" : falls ?? ""].filter { !$0.isEmpty }
                    .joined(separator: ", ")
                table.add([
                    String(device.id.prefix(8)), device.name.isEmpty ? "?" : TextWidth.displaySafe(device.name), state,
                    device.added.map { "added \(context.relativeTime.moment($0.milliseconds))" } ?? "",
                ])
            }
            for request in requests {
                table.add([
                    String(request.relayID.hex.prefix(8)), "asks to join: coffret device approve", "waiting",
                    "since \(context.relativeTime.moment(request.since))",
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    /// The devices that the person may mean, revoked ones too.
    static func matching(_ session: StoreSession) throws -> [VerifiedDevice] {
        let keyring = session.store.keyring
        let wanted = session.context.arguments.required(device)
        return try keyring.deviceChain().devices.filter { device in
            if wanted.utf8.count >= 4, device.id.hex.hasPrefix(wanted.lowercased()) { return true }
            return try keyring.details(of: device)?.name == wanted
        }
    }

    /// The one of them that counts.
    static func only(
        _ matching: [VerifiedDevice], _ session: StoreSession, _ context: CommandContext
    ) throws -> VerifiedDevice {
        let found = matching.filter(\.isTrusted)
        let wanted = TextWidth.displaySafe(context.arguments.required(device))
        guard let target = found.first else {
            throw CommandFailure(
                .notFound, .deviceNotFound, "you have no device \"\(wanted)\"", hint: "coffret device ls lists them")
        }
        guard found.count == 1 else {
            var failure = CommandFailure(
                .ambiguous, .deviceAmbiguous, "\"\(wanted)\" names \(found.count) devices", hint: "use the id")
            let keyring = session.store.keyring
            let own = try keyring.deviceID()
            failure.add(
                try found.map { device in
                    let details = try keyring.details(of: device)
                    let parts = [
                        details?.name ?? "?", details.map { "added \(context.relativeTime.moment($0.time))" },
                        device.kind == .paper ? "paper" : device.id == own ? "this device" : nil,
                    ]
                    return CoreError.Candidate(
                        id: device.id.hex, title: parts.compactMap(\.self).joined(separator: ", "))
                })
            throw failure
        }
        return target
    }

    private static func rename(_ context: CommandContext) throws {
        let name = context.arguments.required(newName)
        guard !name.allSatisfy(\.isWhitespace), name.utf8.count <= nameByteCountMax,
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw CommandFailure(
                .usage, .inputInvalid, "a device's name is one line of at most \(nameByteCountMax) bytes, and not empty"
            )
        }
        let session = try StoreSession.open(context, with: .passphrase)
        let keyring = session.store.keyring
        let hasServer = try keyring.server() != nil
        let account = hasServer ? try ServerAccess.account(session) : nil
        defer { account?.connection.logOut() }
        if let account { report(try account.follow(), context, session) }
        let target = try only(matching(session), session, context)
        let before = try keyring.details(of: target)?.name ?? String(target.id.hex.prefix(8))
        let isTaken = try keyring.deviceChain().devices.contains { other in
            try other.isTrusted && other.id != target.id
                && keyring.details(of: other)?.name.lowercased() == name.lowercased()
        }
        guard !isTaken else {
            throw CommandFailure(
                .alreadyExists, .deviceNameTaken, "another device is called \"\(TextWidth.displaySafe(name))\" already",
                hint: "coffret device ls lists them")
        }
        if name != before {
            if let account {
                try account.rename(target.id, to: name)
            } else {
                try Account.renameLocally(target.id, to: name, in: session.store)
            }
        }
        try context.confirmDone(.fields(["id": .string(target.id.hex), "name": .string(name)])) {
            "\"\(TextWidth.displaySafe(before))\" is called \"\(TextWidth.displaySafe(name))\" now."
        }
    }

    /// Syncs all synced vaults. What goes wrong in one is told at once and keeps none of the others.
    ///
    /// - Returns: the first failure, for `end`.
    static func syncEach(
        _ account: Account, _ session: StoreSession, _ context: CommandContext, _ consequence: String
    ) throws -> CommandFailure? {
        let sync = AccountSync(
            account, records: try SyncStatus.records(session), random: SystemRandomSource(), clock: SystemWallClock())
        var first: CommandFailure?
        for record in try session.store.vaults where record.kind == .synced {
            do {
                _ = try sync.sync(record, SyncEngine.Options())
                sync.note(record, nil)
            } catch {
                sync.note(record, error)
                let failure = FailureTranslation.failure(from: error)
                first = first ?? failure
                context.warn(
                    "\"\(TextWidth.displaySafe(record.name))\": \(failure.message) (\(failure.code)); \(consequence)")
            }
        }
        return first
    }

    /// Ends a command that did what it was asked for, but not all that follows from it: with the exit code of a failure that
    /// was told before.
    static func end(with problem: CommandFailure?) throws {
        if let problem { throw CommandExit(code: problem.exitCode.rawValue) }
    }
}
