// How syncing stands, in the words of a person. The one thing to keep true: it says what is known and since when, and
// never that something arrived which nobody has confirmed.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal

/// How a synced vault stands to the server.
struct VaultStanding {
    /// Changes that are here and that the server has not taken, as far as is known; nil before the first sync.
    let pendingCount: Int?
    let last: LastSync?
    /// Files that the server has no room for: in words, and for programs.
    var waitingFiles: (words: [String], json: JSONValue) = ([], .array([]))
    var absentFiles = AbsentFiles()

    /// What was dropped here lies at the server still.
    var isSweepDue = false

    /// All that this device knows of it is what the one that let it in has told.
    var isUnfetched = false

    /// What leads to the present is on its way; until it is here nothing is sent.
    var isHistoryPending = false

    /// `all sent; last synced 3 min ago`.
    func words(_ context: CommandContext) -> String {
        var parts: [String] = []
        switch pendingCount {
        // One in which nothing was written is synced, and remembers nothing.
        case nil: parts.append(last?.succeededAt == nil ? "not synced yet" : "nothing waits to be sent")
        case 0?: parts.append(isUnfetched ? "not fetched yet: coffret sync" : "nothing waits to be sent")
        case let count?:
            parts.append("\(NumberText.counted(count, "change")) \(count == 1 ? "waits" : "wait") to be sent")
        }
        if isHistoryPending { parts.append("older history has not arrived yet: coffret sync") }
        parts += waitingFiles.words
        if let words = absentFiles.words { parts.append(words) }
        if isSweepDue { parts.append("the server still has history that you dropped") }
        if let moment = last?.succeededAt { parts.append("last synced \(context.relativeTime.moment(moment))") }
        if let problem = last?.problem { parts.append(FailureMeaning.find(problem).plainText) }
        return parts.joined(separator: "; ")
    }

    var json: JSONValue {
        .fields([
            "pending": pendingCount.map { .integer($0) } ?? .null,
            "lastSynced": last?.succeededAt.map { .moment($0) } ?? .null,
            "waitingFiles": waitingFiles.json, "absentFiles": absentFiles.json, "isSweepDue": .bool(isSweepDue),
            "isHistoryPending": .bool(isHistoryPending),
            "problem": last?.problem.map { .string($0) } ?? .null,
        ])
    }
}

/// Files of a synced vault that are not on this device.
struct AbsentFiles {
    var count = 0
    var byteCount = 0
    /// They stay at the server until somebody asks for them.
    var areAsked = false
    /// Why they do not come at the moment.
    var problem: String?

    init() {}

    init(of vault: Vault, _ record: VaultRecord, _ records: SyncRecords) {
        let absent = (try? vault.absentAttachments()) ?? []
        count = absent.count
        byteCount = absent.reduce(0) { $0 + $1.byteCount }
        areAsked = records.areFilesAsked(record.vaultID.hex)
        problem = absent.isEmpty ? nil : records.fileProblem(record.vaultID.hex)
    }

    /// `3 files (1.2 MB) are not here yet: the disk of this device has no room for …`; nil if all are here.
    var words: String? {
        guard count > 0 else { return nil }
        let what = "\(NumberText.counted(count, "file")) (\(NumberText.bytes(byteCount))) \(count == 1 ? "is" : "are") "
        if areAsked { return what + "at the server only, as you wish" }
        return what + "not here yet" + (problem.map { ": " + FailureMeaning.find($0).plainText } ?? "")
    }

    var json: JSONValue {
        .fields([
            "count": .integer(count), "byteCount": .integer(byteCount), "wanted": .string(areAsked ? "asked" : "all"),
            "problem": problem.map { .string($0) } ?? .null,
        ])
    }
}

enum SyncStatus {
    static func records(_ session: StoreSession) throws -> SyncRecords {
        try records(session.store, session.context)
    }

    static func records(_ store: Store, _ context: CommandContext) throws -> SyncRecords {
        let environment = try StoreAccess.environment(context)
        return SyncRecords(
            stateDirectory: environment.stateDirectory, storeID: store.keyring.storeID,
            fileSystem: environment.fileSystem)
    }

    static func standing(
        of record: VaultRecord, _ session: StoreSession, _ records: SyncRecords
    ) throws -> VaultStanding {
        let vault = try session.store.openVault(record.vaultID.hex, isWritable: false)
        return standing(of: vault, record, records)
    }

    static func standing(of vault: Vault, _ record: VaultRecord, _ records: SyncRecords) -> VaultStanding {
        let files = (try? VaultSyncer.waitingFiles(of: vault)) ?? []
        return VaultStanding(
            pendingCount: (try? VaultSyncer.unsentCommitCount(of: vault)) ?? nil,
            last: records.last(record.vaultID.hex),
            waitingFiles: (WaitingFileText.words(files, in: vault), WaitingFileText.json(files, in: vault)),
            absentFiles: AbsentFiles(of: vault, record, records),
            isSweepDue: (try? VaultSyncer.isSweepDue(of: vault)) ?? false,
            isUnfetched: (try? vault.log(limit: 1))?.isEmpty ?? false,
            isHistoryPending: (try? vault.isHistoryPending) ?? false)
    }

    /// What the agent's sync does, in a few words; nil if none runs.
    ///
    /// - Parameter name: what a vault is called, by its id in hex.
    static func words(
        _ state: AgentSyncState?, nowMilliseconds: Milliseconds, name: (String) -> String? = { _ in nil }
    ) -> String? {
        switch state {
        case nil: nil
        case .off?: "switched off: coffret agent settings --sync on"
        case .idle?: "nothing to sync"
        case .connected?: "connected, in both directions at once"
        case .moving(let work)?: words(work, name(work.vault))
        case .waiting(let problem, let until)?:
            "\(FailureMeaning.find(problem).plainText); trying again \(moment(until, nowMilliseconds))"
        }
    }

    /// `sending 1,204 of 5,000 items of "Personal", 3.1 MB so far`; `receiving 2 files of "Personal", 3.1 MB of 90 MB`.
    private static func words(_ work: AgentSyncWork, _ name: String?) -> String {
        let way = work.isSending ? "sending" : "receiving"
        let vault = name.map { " of \"\(TextWidth.displaySafe($0))\"" } ?? ""
        if let total = work.totalByteCount {
            let files = work.totalCount.map { NumberText.counted($0, "file") } ?? "files"
            return "\(way) \(files)\(vault), \(NumberText.bytes(work.byteCount)) of \(NumberText.bytes(total))"
        }
        let count =
            work.totalCount.map { "\(NumberText.grouped(work.doneCount)) of \(NumberText.counted($0, "item"))" }
            ?? NumberText.counted(work.doneCount, "item")
        return "\(way) \(count)\(vault), \(NumberText.bytes(work.byteCount)) so far"
    }

    static func moment(_ until: Milliseconds, _ now: Milliseconds) -> String {
        let left = until - now
        return left < 1_000 ? "now" : "in \(NumberText.duration(milliseconds: Int(left)))"
    }

    /// The word for programs.
    static func json(_ state: AgentSyncState?) -> JSONValue {
        switch state {
        case nil: .null
        case .off?: .string("off")
        case .idle?: .string("idle")
        case .connected?, .moving?: .string("connected")
        case .waiting?: .string("waiting")
        }
    }
}
