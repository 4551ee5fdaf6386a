// Operations that sync now, and that wait for a change. Invariant: the account's devices are followed before anything that one of
// them wrote is looked at.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
package import CoffretSync
internal import CoffretTerminal
package import CoffretWire
internal import Glibc

extension SyncRun: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var run = VaultsSync(self, desk)
        return try run.answer()
    }
}

/// The outcome for one vault.
struct VaultOutcome {
    let record: VaultRecord
    var report: Result<SyncReport, any Error>
    /// The outcome for the files that were not here.
    var files: Result<FileTally, any Error> = .success(FileTally())

    /// The account's own vault is a word worth only where something is wrong with it.
    var isTold: Bool {
        if case .failure = report { true } else { !record.isAccountVault }
    }

    /// - Throws: a failure that may pass by itself; it ends the attempt at all vaults.
    func checkTransient() throws {
        if case .failure(let error) = report, SyncTrouble.isTransient(error) { throw error }
        if case .failure(let error) = files, SyncTrouble.isTransient(error) { throw error }
    }
}

/// One sync of all vaults that are wanted, tried again while there is patience.
private struct VaultsSync {
    private let request: SyncRun
    private let desk: StoreDesk
    private var patience: SyncPatience
    /// Vaults that an earlier attempt has synced.
    private var done: [VaultID: SyncReport] = [:]
    private var added: Set<VaultID> = []
    /// Vaults of which nothing was new.
    private var resting: Set<VaultID> = []
    private var logProblem: (any Error)?

    init(_ request: SyncRun, _ desk: StoreDesk) {
        self.request = request
        self.desk = desk
        patience = SyncPatience(desk, seconds: request.patienceSeconds ?? 0)
    }

    mutating func answer() throws -> SyncRun.Answer {
        while true {
            do {
                let outcomes = try attempt()
                for outcome in outcomes { try outcome.checkTransient() }
                var answer = SyncRun.Answer()
                answer.vaults = try outcomes.filter(\.isTold).map { outcome in
                    try VaultSyncResult(outcome, isNew: added.contains(outcome.record.vaultID), desk)
                }
                answer.log = logProblem.map { OperationFailure($0) }
                return answer
            } catch {
                try desk.work.checkCancelled()
                guard SyncTrouble.isTransient(error) else { throw error }
                if try patience.wait(because: error) { continue }
                throw try offline(error)
            }
        }
    }

    /// One attempt at all vaults that are not done yet.
    private mutating func attempt() throws -> [VaultOutcome] {
        let sync: AccountSync
        do {
            sync = try begin()
        } catch {
            // A network that is away says enough by what waits; what stays is for `coffret status` to say.
            if !SyncTrouble.isTransient(error) { try note(error) }
            if FailureTranslation.refusal(in: error) == "server.login.refused" { throw try shutOut(error) }
            throw error
        }
        defer { sync.account.connection.logOut() }
        var outcomes: [VaultOutcome] = []
        for record in try wanted(sync) {
            try desk.work.checkCancelled()
            outcomes.append(self.sync(record, sync))
        }
        try lookAgain(at: &outcomes, sync)
        try sync.account.forgetIdentityKeys()
        readLog(behind: outcomes, sync)
        try receiveAnswers(sync)
        try lookAtCircles(sync)
        noteRests(outcomes, sync)
        return outcomes
    }

    /// Remembers which vaults need nothing, so that the next sync asks for all of them at once.
    private func noteRests(_ outcomes: [VaultOutcome], _ sync: AccountSync) {
        guard logProblem == nil, request.isServerRestored != true else { return }
        for outcome in outcomes where !resting.contains(outcome.record.vaultID) {
            guard case .success(let report) = outcome.report, case .success(let files) = outcome.files,
                files.problems.isEmpty
            else { continue }
            // Without it the next sync does more.
            try? sync.noteRest(of: outcome.record, report)
        }
    }

    /// Logs in, and follows the account.
    private mutating func begin() throws -> AccountSync {
        let isRestored = request.isServerRestored == true
        let sync = desk.sync(try desk.account(isRestored: isRestored))
        do {
            try desk.follow(sync.account)
            added.formUnion(try sync.receiveKeys().added)
            if isRestored { try sync.account.restorePlaces() }
            if request.vault == nil, !isRestored { try sync.askForHeads() }
        } catch {
            sync.account.connection.logOut()
            throw error
        }
        return sync
    }

    private func wanted(_ sync: AccountSync) throws -> [VaultRecord] {
        guard let vault = request.vault else { return try sync.vaults }
        let record = try desk.record(vault)
        guard record.kind == .synced else { throw CommandFailure.notSynced(record.name) }
        return [record]
    }

    private mutating func sync(_ record: VaultRecord, _ sync: AccountSync) -> VaultOutcome {
        let progress = desk.progress(of: record)
        do {
            let report: SyncReport
            if let known = done[record.vaultID] {
                report = known
            } else if let rest = try sync.rest(of: record) {
                var quiet = SyncReport()
                (quiet.serverHead, quiet.version) = (rest.head, rest.version)
                resting.insert(record.vaultID)
                sync.note(record, nil)
                done[record.vaultID] = quiet
                return VaultOutcome(record: record, report: .success(quiet))
            } else {
                var options = SyncOptions()
                options.acceptsRestoredServer = request.isServerRestored == true
                // The person who asks is there: the others are told, so that silence means something (R4).
                options.acknowledgesAnew = true
                options.hurries = true
                report = try sync.sync(record, options, progress: progress.changes, fileProgress: progress.files)
                sync.note(record, nil)
                done[record.vaultID] = report
            }
            var outcome = VaultOutcome(record: record, report: .success(report))
            if request.leavesFiles != true {
                outcome.files = Result { try sync.fetchFiles(of: record, progress: progress.files) }
            }
            return outcome
        } catch {
            sync.note(record, error)
            return VaultOutcome(record: record, report: .failure(error))
        }
    }

    /// Takes what contacts answered. Nobody who waits for none asks the server for letters.
    private func receiveAnswers(_ sync: AccountSync) throws {
        guard request.vault == nil, try desk.accountVault.contacts().contains(where: \.isAwaited) else { return }
        _ = try ContactDesk(desk: desk, sync: sync).receive()
    }

    /// Follows the circles of recovery contacts: each look makes a wait grow, and shows who asks.
    private func lookAtCircles(_ sync: AccountSync) throws {
        guard request.vault == nil else { return }
        let circles = CircleDesk(desk: desk, sync: sync)
        if request.isServerRestored == true { try circles.restore() }
        for news in try circles.look() { tell(news) }
    }

    private func tell(_ news: PeopleNotice) {
        if news.isLoud {
            desk.surroundings.person?.warn(news.words)
        } else {
            desk.surroundings.person?.note(news.words)
        }
    }

    /// Reads the server's log, once all chains were followed.
    private mutating func readLog(behind outcomes: [VaultOutcome], _ sync: AccountSync) {
        let isFollowed =
            request.vault == nil && outcomes.allSatisfy { if case .success = $0.report { true } else { false } }
        // Where nothing is new anywhere, the log was read when that was found out.
        guard isFollowed, outcomes.contains(where: { !resting.contains($0.record.vaultID) }) else { return }
        do {
            try sync.readKeyLog(isRestored: request.isServerRestored == true)
        } catch  where SyncTrouble.isTransient(error) {
            // The next sync reads it.
        } catch {
            logProblem = error
        }
    }

    /// Syncs again each vault of which a later one states something: now, not the next time.
    private mutating func lookAgain(at outcomes: inout [VaultOutcome], _ sync: AccountSync) throws {
        let stated = sync.takeStatedVaults()
        for index in outcomes.indices where stated.contains(outcomes[index].record.vaultID) {
            guard case .success(let report) = outcomes[index].report else { continue }
            let record = outcomes[index].record
            do {
                let both = try report.followed(by: sync.sync(record, SyncOptions()))
                resting.remove(record.vaultID)
                done[record.vaultID] = both
                outcomes[index].report = .success(both)
            } catch {
                sync.note(record, error)
                outcomes[index].report = .failure(error)
            }
        }
    }

    // MARK: Failures of the account

    private var syncedVaults: [VaultRecord] { get throws { try desk.vaultRecords.filter { $0.kind == .synced } } }

    /// Notes a failure that concerns the account for each of its vaults.
    private func note(_ error: any Error) throws {
        for record in try syncedVaults {
            desk.deviceRecords.note(
                record.vaultID.hex, problem: FailureCode.of(error), at: desk.surroundings.clock.now)
        }
    }

    /// The failure of a device that is let in no more, with the way on for what it never sent.
    private func shutOut(_ error: any Error) throws -> CommandFailure {
        var failure = FailureTranslation.failure(from: error)
        for record in try syncedVaults {
            let vault = try desk.store.openVault(record.vaultID.hex, isWritable: false)
            defer { vault.close() }
            guard let count = try VaultSyncer.unsentEntryCount(of: vault), count > 0 else { continue }
            failure.details.append(
                "\"\(TextWidth.displaySafe(record.name))\": \(NumberText.counted(count, "change")) never sent. "
                    + "coffret export FOLDER --unsent writes them out, for coffret import FOLDER elsewhere")
        }
        return failure
    }

    /// The failure of a server that is not reached, with what waits here for it.
    private func offline(_ error: any Error) throws -> CommandFailure {
        var failure = FailureTranslation.failure(from: error)
        let time = RelativeTime(nowMilliseconds: desk.surroundings.clock.now)
        for vault in try SyncRead().perform(on: desk).vaults {
            failure.details.append("\"\(TextWidth.displaySafe(vault.name))\"  \(vault.words(time))")
        }
        return failure
    }
}

/// How often a sync is tried again.
private struct SyncPatience {
    private static let stepMilliseconds = 200

    private let desk: StoreDesk
    private var millisecondsLeft: Int
    private var backoff = SyncBackoff()

    init(_ desk: StoreDesk, seconds: Int) {
        self.desk = desk
        millisecondsLeft = max(0, min(seconds, 86_400)) * 1_000
    }

    /// Waits, and says why and until when.
    ///
    /// - Returns: false without waiting if the patience is used up.
    mutating func wait(because error: any Error) throws -> Bool {
        var pause = backoff.next(desk.surroundings.random)
        guard pause <= millisecondsLeft else { return false }
        millisecondsLeft -= pause
        let failure = FailureTranslation.failure(from: error)
        desk.surroundings.person?.note(
            "\(failure.message); trying again in \(NumberText.duration(milliseconds: pause))")
        while pause > 0 {
            _ = poll(nil, 0, Int32(min(pause, Self.stepMilliseconds)))
            pause -= Self.stepMilliseconds
            try desk.work.checkCancelled()
        }
        return true
    }
}

extension StoreDesk {
    /// Takes how far a vault's changes and files are. A person is told once the vault may be used.
    func progress(
        of record: VaultRecord
    ) -> (changes: (SyncProgress) -> Void, files: (FileProgress) -> Void) {
        let (work, person) = (work, surroundings.person)
        var isTold = false
        return (
            { progress in
                if progress.isPresentHere, !isTold {
                    isTold = true
                    person?.note("\"\(TextWidth.displaySafe(record.name))\" may be used now; its older history follows")
                }
                let isSending = progress.sendCount != nil
                work.report(
                    OperationProgress(
                        done: isSending ? progress.sentCount : progress.receivedCount, total: progress.sendCount,
                        stage: isSending ? "sending" : "receiving",
                        byteCount: isSending ? progress.sentByteCount : progress.receivedByteCount))
            },
            { files in work.report(OperationProgress(files)) }
        )
    }
}

extension OperationProgress {
    package init(_ files: FileProgress) {
        self.init(
            done: files.doneCount, total: files.totalCount,
            stage: files.direction == .sending ? "sending files" : "fetching files",
            byteCount: files.doneByteCount, totalByteCount: files.totalByteCount)
    }
}

extension ChangeWait: PerformedOperation {
    /// How often the files are looked at.
    private static let lookMilliseconds: UInt32 = 200

    package func perform(on desk: StoreDesk) throws -> Answer {
        let seconds = min(max(0, seconds ?? Self.secondsMax), Self.secondsMax)
        let end = ContinuousClock.now.advanced(by: .seconds(seconds))
        let before = after.map(StorePosition.init)
        while true {
            let now = try StorePosition(desk)
            if let before, now == before, ContinuousClock.now < end {
                try desk.work.checkCancelled()
                usleep(Self.lookMilliseconds * 1_000)
                continue
            }
            var answer = Answer()
            answer.position = now.text
            guard let before else { return answer }
            let changed =
                now.parts.filter { before.parts[$0.key] != $0.value }.map(\.key)
                + before.parts.keys.filter { now.parts[$0] == nil }
            answer.isSyncChanged = changed.contains(StorePosition.sync)
            answer.isKeyringChanged = changed.contains(StorePosition.keyring)
            answer.vaults = changed.filter { ![StorePosition.sync, StorePosition.keyring].contains($0) }.sorted()
            return answer
        }
    }
}

/// How the files of a store stand that others write: a short hash for each part.
private struct StorePosition: Equatable {
    static let (keyring, sync) = ("keyring", "sync")

    let parts: [String: String]

    init(_ desk: StoreDesk) throws {
        let layout = desk.store.layout
        var parts = [Self.keyring: FileStamps.hash([layout.keyringPath])]
        parts[Self.sync] = FileStamps.hash(FileStamps.files(of: desk.deviceRecords.folder))
        for record in try desk.vaultRecords {
            parts[record.vaultID.hex] = FileStamps.journal(of: record.vaultID, layout)
        }
        self.parts = parts
    }

    /// - Parameter text: as `text` gave it; of any other everything has changed.
    init(_ text: String) {
        parts = text.split(separator: " ").reduce(into: [:]) { parts, part in
            let words = part.split(separator: "=")
            if words.count == 2 { parts[String(words[0])] = String(words[1]) }
        }
    }

    var text: String { parts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ") }
}
