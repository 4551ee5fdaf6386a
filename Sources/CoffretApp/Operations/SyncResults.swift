// The outcome of a sync, as an answer. Invariant: what a person should look at is said beside the counts, whoever asked.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

extension VaultSyncResult {
    init(_ outcome: VaultOutcome, isNew: Bool, _ desk: StoreDesk) throws {
        self.init()
        let record = outcome.record
        (id, name, self.isNew) = (record.vaultID.hex, record.shownName, isNew)
        let report: SyncReport
        do {
            report = try outcome.report.get()
        } catch {
            let failure = OperationFailure(
                Self.described(error, record, desk), tellsCause: desk.surroundings.isAttended)
            (problem, self.failure) = (failure.code, failure)
            return
        }
        try take(report, of: record, desk)
        if !waitingFiles.isEmpty, let problem = report.waitingProblem { failure = OperationFailure(problem) }
        take((try? outcome.files.get()) ?? FileTally(), report, of: record)
        if case .failure(let error) = outcome.files { failure = failure ?? OperationFailure(error) }
    }

    /// The outcome of the sync itself.
    init(_ report: SyncReport, of record: VaultRecord, _ desk: StoreDesk) throws {
        self.init()
        (id, name) = (record.vaultID.hex, record.name)
        try take(report, of: record, desk)
        if let problem = report.waitingProblem { failure = OperationFailure(problem) }
    }

    private mutating func take(_ report: SyncReport, of record: VaultRecord, _ desk: StoreDesk) throws {
        (receivedCount, sentCount) = (report.receivedEntryCount, report.sentEntryCount)
        conflictCount = report.conflictedItemCount
        (sentFileCount, sentFileByteCount) = (report.sentFileCount, report.sentFileByteCount)
        (sweptByteCount, isSweepDue) = (report.sweep.byteCount, report.sweep.isDue)
        (isStale, version) = (report.isStale, report.version)
        if !report.waitingFiles.isEmpty {
            let vault = try desk.store.openVault(record.vaultID.hex, isWritable: false)
            defer { vault.close() }
            waitingFiles = [WaitingFileMessage](report.waitingFiles, in: vault)
        }
        notices = Self.notices(of: report, record, desk)
    }

    private mutating func take(_ files: FileTally, _ report: SyncReport, of record: VaultRecord) {
        (receivedFileCount, receivedFileByteCount) = (files.movedCount, files.movedByteCount)
        fileProblems = files.problems.map(\.code.rawValue)
        // Those that came from the server meanwhile need not go there.
        let absentCount = report.absentFileCount - files.movedCount
        if absentCount > 0 {
            warn(
                "\(NumberText.counted(absentCount, "file")) of earlier changes cannot be sent from here: not on this device"
            )
        }
        for words in waitingFiles.words + files.warnings { warn(words) }
        // A file that no device has delivered yet is worth a warning; one that is not what it should be is not whole.
        guard failure == nil, let problem = files.problems.first(where: { $0.code != .fileMissing }) else { return }
        failure = OperationFailure(problem.code == .diskFull ? Self.noRoom(record, problem) : problem)
    }

    private mutating func warn(_ text: String) { notices.append(SessionNotice(.warning, text)) }

    private static func noRoom(_ record: VaultRecord, _ problem: SyncError) -> CommandFailure {
        CommandFailure(
            .diskFull, code: problem.code.rawValue,
            "the disk has no room for the files of \"\(TextWidth.displaySafe(record.name))\"; everything else was synced",
            hint: "free some space and sync again, it goes on where it was; or coffret sync --without-files")
    }

    // MARK: Notices

    private static func notices(
        of report: SyncReport, _ record: VaultRecord, _ desk: StoreDesk
    ) -> [SessionNotice] {
        var notices: [SessionNotice] = []
        func warn(_ text: String) { notices.append(SessionNotice(.warning, text)) }
        let own = try? desk.store.keyring.accountID()
        let isAlone = report.peers.allSatisfy { $0.account == own } && report.findings.isEmpty
        let members = isAlone ? nil : try? VaultMembers(record, desk.store, desk.personNames())
        func name(_ account: ChainID, _ device: UniqueID) -> String {
            guard let members, account != own else { return TextWidth.displaySafe(desk.deviceName(device.bytes)) }
            return "a device of \(members.words(for: account))"
        }
        for peer in report.peers where peer.standing == .ahead {
            warn("\(name(peer.account, peer.device)) has changes that the server has not delivered yet")
        }
        for peer in report.peers where peer.standing == .differs {
            warn("\(name(peer.account, peer.device)) has the same changes and another state (storage.state.differs)")
        }
        if report.isCopy {
            warn(
                "this store was copied, or an old copy of it was put back (sync.store.rolled-back); "
                    + "it goes on in a log of its own"
                    + (report.writtenAgainCount == 0
                        ? ""
                        : ", and \(NumberText.counted(report.writtenAgainCount, "change")) made on it alone "
                            + "\(report.writtenAgainCount == 1 ? "was" : "were") written again"))
        }
        notices += memberNotices(of: report)
        for finding in report.findings { warn(finding.words(finding.device.map { name($0.account, $0.device) })) }
        for peer in report.olderWords {
            warn(
                "the server shows an older word of \(name(peer.account, peer.device)) than before, which does not count; "
                    + "if an old copy of its store was put back: coffret device renew there, then coffret sync")
        }
        if let words = sweepWords(report.sweep) { notices.append(SessionNotice(.note, words)) }
        if report.isStale {
            warn(
                "nothing new was heard of your other devices for 14 days (W_STALE); are they off, or does the server withhold it?"
            )
        }
        if report.refusedCount > 0 {
            warn(
                "the server showed changes of a device that may not write; they were excluded; "
                    + "coffret device rescue shows those of a revoked one")
        }
        if report.setAsideCount > 0 {
            warn(
                "\(NumberText.counted(report.setAsideCount, "item")) of a revoked device "
                    + "\(report.setAsideCount == 1 ? "does" : "do") not count here; coffret device rescue shows "
                    + "\(report.setAsideCount == 1 ? "it" : "them"), and you decide")
        }
        return notices
    }

    /// Things that wait for people of a vault.
    private static func memberNotices(of report: SyncReport) -> [SessionNotice] {
        var notices: [SessionNotice] = []
        if !report.unconfirmed.isEmpty {
            let count = NumberText.counted(report.unconfirmed.count, "link")
            notices.append(
                SessionNotice(
                    .warning,
                    "\(count) of a device that you revoked changed the members of the vault; nobody goes on behind them "
                        + "before you say whether they count: coffret share review VAULT"))
        } else if let waiting = report.waitsForWord {
            notices.append(SessionNotice(.warning, words(for: waiting)))
        }
        if !report.waitingPurges.isEmpty {
            notices.append(
                SessionNotice(
                    .note,
                    "another device deleted earlier versions of items for good; they go here after seven days of use, "
                        + "unless you say no: coffret share review VAULT"))
        }
        if !report.wrongOlderKeys.isEmpty {
            notices.append(
                SessionNotice(
                    .warning,
                    "older keys of the vault came that are not its keys (keys.history.differs); the next new key repairs that"
                ))
        }
        return notices
    }

    private static func words(for waiting: WaitingLink) -> String {
        switch waiting.speaker {
        case .account:
            "links of the vault come from a device that its person has revoked, who has not said whether they count "
                + "(trust.member.unconfirmed); ask that person to run coffret share review VAULT"
        case .earlierOwner:
            "links of the vault come from a device that was revoked, of somebody who has left "
                + "(trust.member.unconfirmed); ask the owner who has been one for longest to run "
                + "coffret share review VAULT --for \(waiting.account.hex.prefix(8))"
        case .nobody:
            "links of the vault come from a device that was revoked, of somebody who has left, and nobody else can say "
                + "for all whether they count (trust.member.unconfirmed); ask that person by a way that you trust, "
                + "then coffret share review VAULT"
        }
    }

    /// Why what was dropped lies at the server still; nil if it does not.
    private static func sweepWords(_ sweep: SweepTally) -> String? {
        guard sweep.isDue else { return nil }
        if sweep.waitsForOthers { return "what you dropped stays at the server until another device has synced" }
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

    // MARK: Failures

    /// Says of both states when they were made and as which change of their device, as far as they are here.
    private static func described(_ error: any Error, _ record: VaultRecord, _ desk: StoreDesk) -> CommandFailure {
        if (error as? SyncError)?.code == .memberUnknown { return removed(from: record) }
        var failure = FailureTranslation.failure(from: error)
        guard let heads = (error as? SyncError)?.heads, let vault = try? desk.vault(record) else { return failure }
        let time = RelativeTime(nowMilliseconds: desk.surroundings.clock.now)
        func line(_ name: BlobName?) -> String {
            guard let name else { return "nothing" }
            guard let entry = try? vault.repository.entry(named: name) else {
                return "\(name.description.prefix(8))  not known on this device"
            }
            let device = TextWidth.displaySafe(desk.deviceName(entry.context.deviceID.bytes))
            return "\(name.description.prefix(8))  \(time.moment(entry.body.time)), "
                + "change \(NumberText.grouped(Int(entry.number))) of \(device)"
        }
        failure.details = [
            "seen here  \(line(heads.seen))", "shown now  \(line(heads.shown))",
            "Nothing was lost here. Your data is complete on this device.",
        ]
        return failure
    }
}

extension VaultSyncResult {
    /// The words for somebody who was removed: all that is known here is that the server shows the vault no more.
    private static func removed(from record: VaultRecord) -> CommandFailure {
        let (name, id) = (TextWidth.displaySafe(record.name), record.vaultID.hex.prefix(8))
        return CommandFailure(
            .notFound, code: SyncError.Code.memberUnknown.rawValue,
            "you are no member of \"\(name)\" any more: somebody removed you, or the server hides the vault",
            details: ["What you had stays here, and can be read; coffret cp brings it into a vault of your own."],
            hint: "ask an owner; coffret share leave \(id) ends asking for it, coffret vault rm \(id) removes it here")
    }
}

extension FileTally {
    /// Faults of single files that were to come.
    package var warnings: [String] {
        var warnings: [String] = []
        let missing = problems.count { $0.code == .fileMissing }
        if missing > 0 {
            warnings.append(
                "\(NumberText.counted(missing, "file")) of attachments \(missing == 1 ? "is" : "are") not on the server (sync.file.missing)"
            )
        }
        let refused = problems.count { $0.code == .fileRefused }
        if refused > 0 {
            warnings.append(
                "what the server has in place of \(NumberText.counted(refused, "file")) is not what was attached; nothing of it was kept (sync.file.refused)"
            )
        }
        return warnings
    }
}
