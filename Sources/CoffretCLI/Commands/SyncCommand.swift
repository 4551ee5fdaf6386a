// `coffret sync`, and which vaults it is about. The one thing to keep true: the account's devices are followed before
// anything that one of them wrote is looked at.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal

enum SyncCommand {
    static let restored = OptionDescription.flag(
        "server-was-restored", "the server was put back to an older state, or emptied, on purpose: send it what it lost"
    )

    static let explain = OptionDescription.flag(
        "explain", "say what it may mean that the server shows an older or another state, and what to do")

    static let patience = OptionDescription.value(
        "patience", "TIME", "how long to try again when the server does not answer (10s)")
    private static let standardPatienceSeconds: UInt64 = 10
    static let withoutFiles = OptionDescription.flag(
        "without-files", "leave attached files at the server; coffret attach get fetches them one by one")

    static let description = CommandDescription(
        "sync", group: .devices, "Bring synced vaults and the server together",
        discussion: [
            "Sends what was written here and fetches what your other devices wrote. Different notes, fields and lines never get in each other's way; coffret conflicts ls lists what does.",
            "While the store is unlocked the agent does this by itself, as soon as something was written here or elsewhere; coffret agent settings --sync off ends that. coffret vault sync NAME says which vaults are synced.",
            "--status says how each vault stands, as far as is known on this device: its state and the server's, what the other devices have said that they have, and what waits. With --watch it says it again whenever that changes, and does not keep the store unlocked meanwhile.",
            "Attached files go to the server before the change that names them, and come after the notes, which can be used meanwhile; an interrupted sync goes on where it was.",
        ],
        options: [restored, explain, withoutFiles, patience, SyncWatch.status, SyncWatch.watch],
        examples: [
            CommandExample("coffret sync", "all of them; with --vault NAME only one"),
            CommandExample("coffret sync --status --watch", "what waits, and what comes and goes, until Ctrl-C"),
        ],
        run: run)

    /// What came of one vault.
    private struct Outcome {
        let record: VaultRecord
        var result: Result<SyncReport, any Error>
        /// What became of the files that were not here.
        var files: Result<FileTally, any Error> = .success(FileTally())
    }

    private static func run(_ context: CommandContext) throws {
        if context.arguments.isSet(explain) { return try HelpCommand.explain("older-server", context) }
        try ServerAccess.checkJoined(context)
        if context.arguments.isSet(SyncWatch.status) { return try SyncWatch.run(context) }
        guard !context.arguments.isSet(SyncWatch.watch) else {
            throw CommandFailure(
                .usage, .inputInvalid, "--watch goes with --status", hint: "coffret sync --status --watch")
        }
        let seconds = try DurationText.seconds(of: patience, context) ?? standardPatienceSeconds
        let session = try StoreSession.open(context, with: .passphrase)
        let records = try SyncStatus.records(session)
        var patience = SyncPatience(context, seconds: seconds)
        var done: [VaultID: SyncReport] = [:]
        var added: Set<VaultID> = []
        while true {
            do {
                let outcomes = try round(context, session, records, &done, &added)
                for case .failure(let error) in outcomes.map(\.result) where SyncTrouble.isTransient(error) {
                    throw error
                }
                for case .failure(let error) in outcomes.map(\.files) where SyncTrouble.isTransient(error) {
                    throw error
                }
                return try tell(outcomes, context, session, added)
            } catch  where SyncTrouble.isTransient(error) {
                if patience.wait(because: error) { continue }
                throw try offline(error, session, records)
            }
        }
    }

    /// One attempt at all vaults that are not done yet.
    private static func round(
        _ context: CommandContext, _ session: StoreSession, _ records: SyncRecords,
        _ done: inout [VaultID: SyncReport], _ added: inout Set<VaultID>
    ) throws -> [Outcome] {
        let sync: AccountSync
        do {
            sync = try begin(context, session, records, &added)
        } catch {
            // A network that is away says enough by what waits; what stays is for coffret status to say.
            if !SyncTrouble.isTransient(error) { try note(error, session, records) }
            if FailureTranslation.refusal(in: error) == "server.login.refused" { throw try shutOut(error, session) }
            throw error
        }
        defer { sync.account.connection.logOut() }
        var vaults = try sync.vaults
        if let wanted = session.namedVault {
            let record = try session.store.vaultRecord(wanted)
            guard record.kind == .synced else { throw CommandFailure.notSynced(record) }
            vaults = [record]
        }
        let progress = SyncProgressReporter(context)
        let files = FileProgressReporter(context)
        defer {
            progress.end()
            files.end()
        }
        var outcomes: [Outcome] = []
        for record in vaults {
            do {
                let report: SyncReport
                if let known = done[record.vaultID] {
                    report = known
                } else {
                    var options = SyncEngine.Options()
                    options.acceptsRestoredServer = context.arguments.isSet(restored)
                    // Whoever asks for it by hand is there: the others are told, so that silence means something (R4).
                    options.acknowledgesAnew = true
                    report = try sync.sync(
                        record, options, progress: { progress.update($0, of: record.name) },
                        fileProgress: files.show)
                    sync.note(record, nil)
                    done[record.vaultID] = report
                }
                var outcome = Outcome(record: record, result: .success(report))
                if !context.arguments.isSet(withoutFiles) {
                    outcome.files = Result { try SyncedFiles.fetchAll(record, sync.account, session) }
                }
                outcomes.append(outcome)
            } catch {
                sync.note(record, error)
                outcomes.append(Outcome(record: record, result: .failure(error)))
            }
        }
        try lookAgain(at: &outcomes, sync, &done)
        return outcomes
    }

    /// What a vault that came later states of one that was synced before it is looked at now, not the next time.
    private static func lookAgain(
        at outcomes: inout [Outcome], _ sync: AccountSync, _ done: inout [VaultID: SyncReport]
    ) throws {
        let stated = sync.takeStatedVaults()
        for index in outcomes.indices where stated.contains(outcomes[index].record.vaultID) {
            guard case .success(let report) = outcomes[index].result else { continue }
            let record = outcomes[index].record
            do {
                let both = try report.followed(by: sync.sync(record, SyncEngine.Options()))
                done[record.vaultID] = both
                outcomes[index].result = .success(both)
            } catch {
                sync.note(record, error)
                outcomes[index].result = .failure(error)
            }
        }
    }

    /// Logs in, and follows the account.
    private static func begin(
        _ context: CommandContext, _ session: StoreSession, _ records: SyncRecords, _ added: inout Set<VaultID>
    ) throws -> AccountSync {
        let isRestored = context.arguments.isSet(restored)
        let account = try ServerAccess.account(session, isRestored: isRestored)
        let sync = AccountSync(account, records: records, random: SystemRandomSource(), clock: SystemWallClock())
        do {
            DeviceCommand.report(try account.follow(), context, session)
            added.formUnion(try sync.receiveKeys().added)
            if isRestored { try account.restorePlaces() }
        } catch {
            sync.account.connection.logOut()
            throw error
        }
        return sync
    }

    /// The failure of a device that is let in no more, with the way on for what it never sent.
    private static func shutOut(_ error: any Error, _ session: StoreSession) throws -> CommandFailure {
        var failure = FailureTranslation.failure(from: error)
        for record in try session.store.vaults where record.kind == .synced {
            let vault = try session.store.openVault(record.vaultID.hex, isWritable: false)
            defer { vault.close() }
            guard let count = try VaultSyncer.unsentCommitCount(of: vault), count > 0 else { continue }
            failure.details.append(
                "\"\(TextWidth.displaySafe(record.name))\": \(NumberText.counted(count, "change")) never sent. "
                    + "coffret export FOLDER --unsent writes them out, for coffret import FOLDER elsewhere")
        }
        return failure
    }

    /// Notes a failure that concerns the account for each of its vaults.
    private static func note(_ error: any Error, _ session: StoreSession, _ records: SyncRecords) throws {
        for record in try session.store.vaults where record.kind == .synced {
            records.note(record.vaultID.hex, problem: FailureCode.of(error), at: SystemWallClock().now)
        }
    }

    /// Says of both states when they were made and as which change of their device, as far as they are here.
    private static func describe(
        _ error: any Error, _ record: VaultRecord, _ session: StoreSession, _ failure: inout CommandFailure,
        _ context: CommandContext
    ) {
        guard let heads = (error as? SyncError)?.heads,
            let vault = try? session.openVault(record.vaultID.hex, isWritable: false)
        else { return }
        func line(_ name: BlobName?) -> String {
            guard let name else { return "nothing" }
            guard let commit = try? vault.repository.commit(named: name) else {
                return "\(name.description.prefix(8))  not known on this device"
            }
            let device = TextWidth.displaySafe(session.deviceName(commit.deviceID))
            return "\(name.description.prefix(8))  \(context.relativeTime.moment(commit.timeMilliseconds)), "
                + "change \(NumberText.grouped(Int(commit.sequence))) of \(device)"
        }
        failure.details = [
            "seen here  \(line(heads.seen))", "shown now  \(line(heads.shown))",
            "Nothing was changed here. Your data is complete on this device.",
        ]
    }

    private static func tell(
        _ outcomes: [Outcome], _ context: CommandContext, _ session: StoreSession, _ added: Set<VaultID>
    ) throws {
        try context.confirmDone(.array(outcomes.map { json($0, isNew: added.contains($0.record.vaultID), session) })) {
            guard !outcomes.isEmpty else {
                return "No vault is synced yet: coffret vault sync NAME begins with one."
            }
            // The failure of the only one is what the command ends with.
            if outcomes.count == 1, case .failure = outcomes[0].result { return "" }
            var table = TextTable([.init(), .init(isFlexible: true, wraps: true, minimumWidth: 20)])
            for outcome in outcomes {
                let what =
                    switch outcome.result {
                    case .success(let report):
                        (added.contains(outcome.record.vaultID) ? "new here; " : "")
                            + words(report, try? outcome.files.get())
                    case .failure(let error): FailureTranslation.failure(from: error).message
                    }
                table.add(["\"\(TextWidth.displaySafe(outcome.record.name))\"", what])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style).joined(
                separator: "\n")
        }
        for outcome in outcomes { warn(outcome, context, session) }
        let conflictCount = outcomes.reduce(0) { $0 + ((try? $1.result.get())?.conflictedItemCount ?? 0) }
        if conflictCount > 0 { context.note(conflictWords(conflictCount)) }
        // All vaults had their turn; the first failure decides how the command ends.
        for outcome in outcomes {
            guard case .failure(let error) = outcome.result else { continue }
            var failure = FailureTranslation.failure(from: error)
            describe(error, outcome.record, session, &failure, context)
            if outcomes.count > 1 { failure.message = FailureCode.words(for: error, vault: outcome.record.name) }
            throw failure
        }
        for outcome in outcomes {
            // A file that no device has delivered yet is worth a warning; one that is not what it should be is not whole.
            if case .success(let report) = outcome.result, let problem = report.waitingProblem { throw problem }
            if let problem = try outcome.files.get().problems.first(where: { $0.code != .fileMissing }) {
                throw problem.code == .diskFull ? noRoom(outcome.record, problem) : problem
            }
        }
    }

    private static func noRoom(_ record: VaultRecord, _ problem: SyncError) -> CommandFailure {
        CommandFailure(
            .diskFull, code: problem.code.rawValue,
            "the disk has no room for the files of \"\(TextWidth.displaySafe(record.name))\"; everything else was synced",
            hint: "free some space and sync again, it goes on where it was; or coffret sync --without-files")
    }

    /// The failure, with what waits here for the server.
    private static func offline(
        _ error: any Error, _ session: StoreSession, _ records: SyncRecords
    ) throws -> CommandFailure {
        var failure = FailureTranslation.failure(from: error)
        for record in try session.store.vaults where record.kind == .synced {
            let standing = try SyncStatus.standing(of: record, session, records)
            failure.details.append("\"\(TextWidth.displaySafe(record.name))\"  \(standing.words(session.context))")
        }
        return failure
    }

    private static func conflictWords(_ count: Int) -> String {
        "\(NumberText.counted(count, "item")) changed in the same place on two devices: coffret conflicts ls"
    }

    static func words(_ report: SyncReport, _ files: FileTally? = nil) -> String {
        var parts: [String] = []
        if report.receivedCommitCount > 0 {
            parts.append("received \(NumberText.counted(report.receivedCommitCount, "change"))")
        }
        if report.sentCommitCount > 0 { parts.append("sent \(NumberText.counted(report.sentCommitCount, "change"))") }
        if report.removedCommitCount > 0 {
            parts.append(
                "dropped \(NumberText.counted(report.removedCommitCount, "earlier change")) as another device did")
        }
        if report.sentFileCount > 0 {
            parts.append(
                "sent \(NumberText.counted(report.sentFileCount, "file")) (\(NumberText.bytes(report.sentFileByteCount)))"
            )
        }
        if let files, files.movedCount > 0 {
            parts.append(
                "received \(NumberText.counted(files.movedCount, "file")) (\(NumberText.bytes(files.movedByteCount)))")
        }
        if report.sweep.byteCount > 0 {
            parts.append("the server gave back \(NumberText.bytes(report.sweep.byteCount)) of dropped history")
        }
        return parts.isEmpty ? "up to date" : parts.joined(separator: ", ")
    }

    /// Why what was dropped lies at the server still; nil if it does not.
    private static func sweepWords(_ sweep: SweepTally, _ session: StoreSession) -> String? {
        guard sweep.isDue else { return nil }
        if !sweep.waitsFor.isEmpty {
            let names = sweep.waitsFor.map { TextWidth.displaySafe(session.deviceName($0.bytes)) }
            return "what you dropped stays at the server until \(names.joined(separator: " and ")) "
                + "\(names.count == 1 ? "has" : "have") synced, or for 30 days"
        }
        if sweep.problem?.place == "server.zone.push-pending" {
            return "what you dropped stays at the server while another device sends something; a later sync tries again"
        }
        if let problem = sweep.problem {
            return
                "the server did not give back the space of what you dropped (\(problem.place ?? problem.code.rawValue)); "
                + "a sync \(problem.isTransient ? "in an hour" : "tomorrow") tries again"
        }
        return "what you dropped stays at the server until a later sync"
    }

    static func json(_ report: SyncReport) -> [JSONValue.Member] {
        [
            JSONValue.Member("received", .integer(report.receivedCommitCount)),
            JSONValue.Member("sent", .integer(report.sentCommitCount)),
            JSONValue.Member("merges", .integer(report.mergeCount)),
            JSONValue.Member("conflicts", .integer(report.conflictedItemCount)),
            JSONValue.Member("removed", .integer(report.removedCommitCount)),
            JSONValue.Member("quarantined", .integer(report.quarantinedCount)),
            JSONValue.Member("setAside", .integer(report.setAsideCount)),
            JSONValue.Member("sentFiles", .integer(report.sentFileCount)),
            JSONValue.Member("sentFileByteCount", .integer(report.sentFileByteCount)),
            JSONValue.Member("sweptByteCount", .integer(report.sweep.byteCount)),
            JSONValue.Member("isSweepDue", .bool(report.sweep.isDue)), JSONValue.Member("stale", .bool(report.isStale)),
            JSONValue.Member("olderWords", .array(report.olderWords.map { .string($0.hex) })),
            JSONValue.Member("version", report.head.map { .string($0.description) } ?? .null),
        ]
    }

    private static func json(_ outcome: Outcome, isNew: Bool, _ session: StoreSession) -> JSONValue {
        var members = [
            JSONValue.Member("vault", .string(outcome.record.name)),
            JSONValue.Member("id", .string(outcome.record.vaultID.hex)), JSONValue.Member("isNew", .bool(isNew)),
        ]
        switch outcome.result {
        case .success(let report):
            members += json(report)
            members.append(
                JSONValue.Member("waitingFiles", WaitingFileText.json(report.waitingFiles, of: outcome.record, session))
            )
            if let files = try? outcome.files.get() { members += SyncedFiles.json(files) }
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
            context.warn("\(name): \(device) has changes that the server has not delivered yet")
        }
        for device in report.olderWords {
            let device = TextWidth.displaySafe(session.deviceName(device.bytes))
            context.warn(
                "\(name): the server shows an older word of \(device) than before, which does not count; "
                    + "if an old copy of its store was put back: coffret device renew there, then coffret sync")
        }
        if let words = sweepWords(report.sweep, session) { context.note("\(name): \(words)") }
        if report.isStale {
            context.warn(
                "\(name): nothing new was heard of your other devices for 14 days (W_STALE); are they off, or does the server withhold it?"
            )
        }
        // Those that came from the server meanwhile need not go there.
        let absentCount = report.absentFileCount - ((try? outcome.files.get())?.movedCount ?? 0)
        if absentCount > 0 {
            context.warn(
                "\(name): \(NumberText.counted(absentCount, "file")) of earlier changes cannot be sent from here: not on this device"
            )
        }
        for words in WaitingFileText.words(report.waitingFiles, of: outcome.record, session) {
            context.warn("\(name): \(words)")
        }
        if let files = try? outcome.files.get() { SyncedFiles.warn(files, name, context) }
        if report.quarantinedCount > 0 {
            context.warn(
                "\(name): the server showed changes of a revoked device; they were excluded and replaced by yours "
                    + "(sync.head.revoked-signer); coffret device rescue shows it")
        }
        if report.replacedHeadCount > 0 {
            context.warn(
                "\(name): a revoked device left a state at the server that nobody can read; yours replaced it")
        }
        if report.setAsideCount > 0 {
            context.warn(
                "\(name): a revocation took out \(NumberText.counted(report.setAsideCount, "change")) of the history here; "
                    + "yours among them were written again, and coffret device rescue shows the others")
        }
    }
}
