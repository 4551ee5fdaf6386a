// `coffret sync`, and which vaults it is about. The one thing to keep true: the account's devices are followed before
// anything that one of them wrote is looked at.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretSync

enum SyncCommand {
    static let restored = OptionDescription.flag(
        "server-was-restored", "the server was put back to an older state on purpose: send it what it lost")

    static let description = CommandDescription(
        "sync", group: .devices, "Bring synced vaults and the server together",
        discussion: [
            "Sends what was written here and fetches what your other devices wrote. Different notes, fields and lines never get in each other's way; coffret conflicts ls lists what does.",
            "coffret vault sync NAME says which vaults are synced. The files that are attached to items are not sent yet.",
        ],
        options: [restored],
        examples: [CommandExample("coffret sync", "all of them; with --vault NAME only one")],
        staysHere: true, run: run)

    /// What came of one vault.
    private struct Outcome {
        let record: VaultRecord
        let result: Result<SyncReport, any Error>
    }

    private static func run(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphrase)
        let account = try ServerAccess.account(session)
        defer { account.connection.logOut() }
        DeviceCommand.report(try account.follow(), context, session)
        let received = try account.receiveKeys()
        // A revocation that broke off is made whole: keys first, then the cut in each vault.
        if try session.store.lacksOwnCut() { try account.renewKeys() }
        var vaults = try session.store.vaults.filter { $0.kind == .synced }
        if let wanted = session.wantedVault {
            let record = try session.store.vaultRecord(wanted)
            guard record.kind == .synced else { throw notSynced(record) }
            vaults = [record]
        }
        let outcomes = vaults.map { record in
            Outcome(
                record: record,
                result: Result {
                    try sync(record, account, session, acceptsRestored: context.arguments.isSet(restored))
                })
        }
        try context.confirmDone(.array(outcomes.map { json($0, isNew: received.added.contains($0.record.vaultID)) })) {
            guard !outcomes.isEmpty else {
                return "No vault is synced yet: coffret vault sync NAME begins with one."
            }
            return outcomes.map { outcome in
                let name = "\"\(TextWidth.displaySafe(outcome.record.name))\""
                switch outcome.result {
                case .success(let report): return "\(name)  \(words(report))"
                case .failure(let error): return "\(name)  \(FailureTranslation.failure(from: error).message)"
                }
            }.joined(separator: "\n")
        }
        for outcome in outcomes { warn(outcome, context, session) }
        // All vaults had their turn; the first failure decides how the command ends.
        for case .failure(let error) in outcomes.map(\.result) { throw error }
    }

    static func notSynced(_ record: VaultRecord) -> CommandFailure {
        CommandFailure(
            .notFound, .vaultNotSynced, "\"\(TextWidth.displaySafe(record.name))\" is on this device only",
            hint: "coffret vault sync NAME begins to sync it")
    }

    /// One vault, with the session of the account; a zone that is not there is made.
    static func sync(
        _ record: VaultRecord, _ account: Account, _ session: StoreSession, acceptsRestored: Bool
    ) throws -> SyncReport {
        do {
            return try attempt(record, account, session, acceptsRestored: acceptsRestored)
        } catch let error as SyncError where error.code == .refused && error.place == "server.zone.unknown" {
            // What was there before is not forgotten by this: a zone that is empty now is `sync.head.rolled-back`.
            try account.makeZone(for: record)
            return try attempt(record, account, session, acceptsRestored: acceptsRestored)
        }
    }

    private static func attempt(
        _ record: VaultRecord, _ account: Account, _ session: StoreSession, acceptsRestored: Bool
    ) throws -> SyncReport {
        let keyring = session.store.keyring
        let transport = HTTPZoneTransport(
            client: account.connection.client, zone: record.vaultID.bytes, device: try keyring.deviceID().bytes,
            fields: { account.connection.fields }, renew: { (try? account.renewSession()) != nil })
        do {
            return try session.store.sync(
                record, server: account.connection.settings.address.url, transport: transport,
                acceptsRestoredServer: acceptsRestored, random: SystemRandomSource(), clock: SystemWallClock())
        } catch let error as SyncError where error.code == .unreachable {
            // Why it cannot be reached says more.
            throw transport.lastError ?? error
        }
    }

    static func words(_ report: SyncReport) -> String {
        var parts: [String] = []
        if report.receivedCommitCount > 0 {
            parts.append("received \(NumberText.counted(report.receivedCommitCount, "change"))")
        }
        if report.sentCommitCount > 0 { parts.append("sent \(NumberText.counted(report.sentCommitCount, "change"))") }
        return parts.isEmpty ? "up to date" : parts.joined(separator: ", ")
    }

    static func json(_ report: SyncReport) -> [JSONValue.Member] {
        [
            JSONValue.Member("received", .integer(report.receivedCommitCount)),
            JSONValue.Member("sent", .integer(report.sentCommitCount)),
            JSONValue.Member("merges", .integer(report.mergeCount)),
            JSONValue.Member("quarantined", .integer(report.quarantinedCount)),
            JSONValue.Member("setAside", .integer(report.setAsideCount)),
            JSONValue.Member("version", report.head.map { .string($0.description) } ?? .null),
        ]
    }

    private static func json(_ outcome: Outcome, isNew: Bool) -> JSONValue {
        var members = [
            JSONValue.Member("vault", .string(outcome.record.name)),
            JSONValue.Member("id", .string(outcome.record.vaultID.hex)), JSONValue.Member("isNew", .bool(isNew)),
        ]
        switch outcome.result {
        case .success(let report): members += json(report)
        case .failure(let error):
            members.append(JSONValue.Member("problem", .string(FailureTranslation.failure(from: error).code)))
        }
        return .object(members)
    }

    /// What a person should look at although the sync is done.
    private static func warn(_ outcome: Outcome, _ context: CommandContext, _ session: StoreSession) {
        guard case .success(let report) = outcome.result else { return }
        let name = "\"\(TextWidth.displaySafe(outcome.record.name))\""
        for peer in report.peers where peer.standing == .ahead {
            let device = TextWidth.displaySafe(session.deviceName(peer.device))
            context.warn("\(name): \(device) has changes that the server did not deliver (sync.commit.withheld)")
        }
        if report.quarantinedCount > 0 {
            context.warn(
                "\(name): the server showed what a revoked device wrote; it was set aside, and yours put in its place "
                    + "(sync.head.revoked-signer); coffret device rescue shows it")
        }
        if report.setAsideCount > 0 {
            context.warn(
                "\(name): a revocation took out \(NumberText.counted(report.setAsideCount, "change")) of the history here; "
                    + "yours among them were written again, and coffret device rescue shows the others")
        }
    }
}

/// `coffret vault sync` and `coffret vault unsync`.
enum VaultSyncing {
    static func begin(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphrase)
        var record = try session.store.vaultRecord(context.arguments.required(VaultCommand.vault))
        let account = try ServerAccess.account(session)
        defer { account.connection.logOut() }
        DeviceCommand.report(try account.follow(), context, session)
        try account.makeZone(for: record)
        let (id, wasSynced) = (record.vaultID, record.kind == .synced)
        if !wasSynced {
            try session.store.changeKeyring { (keyring) throws(KeyError) in try keyring.setVaultKind(id, .synced) }
            record = try session.store.vaultRecord(id.hex)
        }
        // Keys before content, and again when this is repeated: an attempt that broke off is made whole.
        try account.sendKeys()
        let report = try SyncCommand.sync(record, account, session, acceptsRestored: false)
        let members = [
            JSONValue.Member("vault", .string(record.name)), JSONValue.Member("id", .string(record.vaultID.hex)),
        ]
        try context.confirmDone(.object(members + SyncCommand.json(report))) {
            let name = TextWidth.displaySafe(record.name)
            return "\"\(name)\" is on the server now (\(SyncCommand.words(report))).\n\n"
                + "Next:  coffret sync   here and on your other devices"
        }
    }

    static func end(_ context: CommandContext) throws {
        let session = try StoreSession.open(context, with: .passphrase)
        let record = try session.store.vaultRecord(context.arguments.required(VaultCommand.vault))
        guard record.kind == .synced else { throw SyncCommand.notSynced(record) }
        let id = record.vaultID
        try session.store.changeKeyring { (keyring) throws(KeyError) in try keyring.setVaultKind(id, .local) }
        try context.confirmDone(.fields(["vault": .string(record.name), "id": .string(id.hex)])) {
            "This device no longer syncs \"\(TextWidth.displaySafe(record.name))\". What lies on the server and on your other devices stays."
        }
    }
}
