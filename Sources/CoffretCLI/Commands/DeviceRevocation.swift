// `coffret device revoke`: a device is thrown out, and what it brought in with it. The one thing to keep true: whatever the
// device added goes as well, unless a person says that it is to stay.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust

enum DeviceRevocation {
    static let keep = OptionDescription.value(
        "keep", "DEVICE", repeats: true, "leave this one of those that it added; can be given again")
    static let keepAll = OptionDescription.flag("keep-added", "leave all devices and sheets that it added")

    static let description = CommandDescription(
        "revoke", "Revoke a device: a lost one, or one you no longer use",
        discussion: [
            "Vaults that are synced get new keys. The device keeps the data that it has. Changes that it sent until now count; its later changes do not.",
            "Devices and sheets that it added, or that one of those added, go with it unless you say otherwise: a thief may have added them. This device, and those that it added, stay. A sheet counts for seven days after your devices were told.",
        ],
        arguments: [DeviceCommand.device], options: [keep, keepAll, CommonArguments.yes], staysHere: true, run: run)

    private static func run(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        let account = try ServerAccess.account(session)
        defer { account.connection.logOut() }
        DeviceCommand.report(try account.follow(), context, session)
        let keyring = session.store.keyring
        let own = try keyring.deviceID()
        let matching = try DeviceCommand.matching(session)
        if let revoked = matching.first, !matching.contains(where: \.isTrusted) {
            if try finish(account, session, context) { return }
            throw isRevoked(revoked, try keyring.deviceChain().devicesBrought(by: revoked.id, sparing: own), session)
        }
        let target = try DeviceCommand.only(matching, session, context)
        guard target.id != own else {
            throw CommandFailure(
                .usage, .deviceIsThis, "a device cannot revoke itself",
                hint: "run it on another of your devices")
        }
        let name = TextWidth.displaySafe(try keyring.details(of: target)?.name ?? String(target.id.hex.prefix(8)))
        guard target.kind == .ordinary else { return try DeviceRecovery.revokePaper(target.id, name, account, context) }
        let brought = try keyring.deviceChain().devicesBrought(by: target.id, sparing: own)
        let kept = try askWhatStays(of: brought, name, session, context)
        // The person took his time.
        try account.readAgain()
        // Everything that it has sent by now counts, and has to be here before it is revoked.
        var problem = try DeviceCommand.syncEach(account, session, context, "what it sent lately may not count")
        var renewed = Set(try account.revoke(target.id))
        let others = try revokeBrought(by: target.id, sparing: own, kept, account, &renewed, context)
        let isCut = try DeviceCommand.syncEach(
            account, session, context, "coffret sync makes the revocation whole there")
        problem = problem ?? isCut
        let value = JSONValue.fields([
            "revoked": .string(target.id.hex), "alsoRevoked": json(others.revoked),
            "announced": json(others.announced), "kept": json(brought.filter { kept.contains($0.id) }),
            "renewed": .array(renewed.map(\.hex).sorted().map { .string($0) }), "complete": .bool(problem == nil),
        ])
        try context.confirmDone(value) {
            let also =
                others.revoked.isEmpty ? "" : ", and \(list(others.revoked, session)), which came by it"
            let keys =
                renewed.isEmpty
                ? "" : " \(NumberText.counted(renewed.count, "synced vault")) got a new key."
            return "Revoked \"\(name)\"\(also)." + keys
        }
        for paper in others.announced {
            context.warn(
                "the paper device \(DeviceCommand.label(paper, session)), which came by it, counts for seven days more; "
                    + "then: coffret device revoke \(DeviceCommand.label(paper, session))")
        }
        try DeviceCommand.end(with: problem)
    }

    private static func json(_ devices: [VerifiedDevice]) -> JSONValue { .array(devices.map { .string($0.id.hex) }) }

    private static func list(_ devices: [VerifiedDevice], _ session: StoreSession) -> String {
        devices.map { DeviceCommand.label($0, session) + ($0.kind == .paper ? " (paper)" : "") }
            .joined(separator: ", ")
    }

    private static func isRevoked(
        _ device: VerifiedDevice, _ brought: [VerifiedDevice], _ session: StoreSession
    ) -> CommandFailure {
        var failure = CommandFailure(
            .notFound, .deviceNotFound, "\(DeviceCommand.label(device, session)) is revoked already",
            hint: "coffret device ls lists them")
        if !brought.isEmpty { failure.details.append("what came by it is still there: \(list(brought, session))") }
        return failure
    }

    /// Says what came by the device, and asks; the options answer in advance.
    ///
    /// - Returns: what stays of it.
    private static func askWhatStays(
        of brought: [VerifiedDevice], _ name: String, _ session: StoreSession, _ context: CommandContext
    ) throws -> Set<UniqueID> {
        let isConfirmed = context.arguments.isSet(CommonArguments.yes)
        var kept: Set<UniqueID> = context.arguments.isSet(keepAll) ? Set(brought.map(\.id)) : []
        for wanted in context.arguments.values(keep) {
            let found = try brought.filter { device in
                if wanted.utf8.count >= 4, device.id.hex.hasPrefix(wanted.lowercased()) { return true }
                return try session.store.keyring.details(of: device)?.name == wanted
            }
            guard found.count == 1 else {
                throw CommandFailure(
                    found.isEmpty ? .notFound : .ambiguous, found.isEmpty ? .deviceNotFound : .deviceAmbiguous,
                    "\(found.count) of those that \"\(name)\" added are called \"\(TextWidth.displaySafe(wanted))\"",
                    hint: "coffret device ls lists them; use the id")
            }
            kept.insert(found[0].id)
        }
        let falling = brought.filter { !kept.contains($0.id) }
        var what =
            "\"\(name)\" will get nothing new, and nothing that it writes from now on counts. What it holds, it keeps."
        if !falling.isEmpty {
            what += " With it goes what came by it: \(list(falling, session)); --keep and --keep-added leave them."
        }
        try context.confirmDanger(what, question: "Revoke it?", isConfirmed: isConfirmed)
        guard !isConfirmed, !falling.isEmpty, let prompt = context.prompt() else { return kept }
        let question = "Revoke what came by it too: \(list(falling, session))?"
        return try prompt.confirm(question, isYesDefault: true) ? kept : Set(brought.map(\.id))
    }

    /// Revokes what came by a device, looking again each time: until it was revoked itself it could add more.
    private static func revokeBrought(
        by id: UniqueID, sparing own: UniqueID, _ kept: Set<UniqueID>, _ account: Account,
        _ renewed: inout Set<VaultID>, _ context: CommandContext
    ) throws -> (revoked: [VerifiedDevice], announced: [VerifiedDevice]) {
        var (revoked, announced): ([VerifiedDevice], [VerifiedDevice]) = ([], [])
        while true {
            let chain = try account.store.keyring.deviceChain()
            let next = chain.devicesBrought(by: id, sparing: own).first { device in
                !kept.contains(device.id) && !announced.contains { $0.id == device.id }
            }
            guard let next else { return (revoked, announced) }
            guard next.kind == .paper else {
                renewed.formUnion(try account.revoke(next.id))
                revoked.append(next)
                continue
            }
            let isWaiting = chain.announcements.contains {
                $0.target == next.id && $0.announcer == own && $0.endOfWaiting > context.nowMilliseconds
            }
            if !isWaiting, try account.revokePaper(next.id, at: SystemWallClock().now) {
                revoked.append(next)
            } else {
                announced.append(next)
            }
        }
    }

    /// Makes a revocation whole that another device began and did not end.
    private static func finish(_ account: Account, _ session: StoreSession, _ context: CommandContext) throws -> Bool {
        var written: [VaultRecord] = []
        for record in try session.store.vaults where record.kind == .synced {
            if try session.store.writeCut(in: record, clock: SystemWallClock()) { written.append(record) }
        }
        guard !written.isEmpty else { return false }
        let problem = try DeviceCommand.syncEach(account, session, context, "coffret sync sends it")
        let value = JSONValue.fields([
            "revoked": .null, "renewed": .array([]), "complete": .bool(problem == nil),
        ])
        try context.confirmDone(value) {
            "It was revoked already; now \(NumberText.counted(written.count, "vault")) "
                + "\(written.count == 1 ? "knows" : "know") where that takes effect."
        }
        try DeviceCommand.end(with: problem)
        return true
    }
}
