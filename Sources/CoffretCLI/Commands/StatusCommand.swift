// `coffret status`: what the store holds and whether anything needs attention.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretWire

enum StatusCommand {
    static let description = CommandDescription(
        "status", group: .store, "Say what the store holds and how it is",
        discussion: [
            "Opens the store, so it needs the passphrase unless the agent has the store unlocked. Where an agent runs and the store is locked, or nobody is at a terminal, it says that and asks nothing. coffret fsck verifies every byte."
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        if try sayLocked(context) { return }
        let store = try CommandStore.open(context)
        var request = StoreRead()
        request.vault = store.namedVault
        let state = try store.perform(request)
        let sync = state.isSynced ? try sync(of: state.id, store) : nil
        let agent = sync?.agent
        let vault = sync?.vaults.first
        let path = try StoreAccess.path(context)
        let left = try store.secondsLeft
        let liveCount = state.kinds.reduce(0) { $0 + $1.count }
        let value = JSONValue.fields([
            "store": .string(path), "storeID": .string(state.storeID),
            "vault": .string(state.name), "vaults": .strings(state.vaults),
            "itemCount": .integer(liveCount), "trashedCount": .integer(state.trashedCount),
            "kinds": .object(state.kinds.map { JSONValue.Member($0.kind, .integer($0.count)) }),
            "lastChange": state.lastChange?.json, "version": state.version.map { .string($0) },
            "byteCount": .integer(state.byteCount), "recoveryKeyCount": .integer(state.recoveryKeyCount),
            "synced": .bool(state.isSynced), "headCode": state.headCode.map { .string($0) },
            "sync": vault.map(json), "agentSync": state.isSynced ? SyncStatus.json(agent) : nil,
            "people": state.people.map(json),
            "serverVersion": vault?.serverVersion.map { .string($0) },
            "faultyAttachments": .array(state.faultyFiles.map(\.json)),
            "devices": vault.map { .array($0.devices.map(\.json)) },
            "remembered": .bool(state.isRemembered), "olderCopy": .bool(state.isOlderCopy),
            "unlocked": .bool(store.isInAgent),
            "secondsLeft": left.map { .integer(Int($0)) },
        ])
        try context.print(value) {
            var table = TextTable([.init(role: .faint), .init(isFlexible: true, wraps: true, minimumWidth: 20)])
            table.add(["Store", "\(TextWidth.displaySafe(path)), \(NumberText.bytes(state.byteCount)) on disk"])
            let others = state.vaults.count - 1
            table.add(["Vault", TextWidth.displaySafe(state.name) + (others > 0 ? ", one of \(others + 1)" : "")])
            table.add(["Holds", holds(state)])
            for line in FaultyFiles.lines(state.faultyFiles, isSynced: state.isSynced) { table.add(["Damaged", line]) }
            if let last = state.lastChange {
                table.add(["Last change", context.relativeTime.moment(last.milliseconds)])
            }
            if let vault { table.add(["Synced", vault.words(context.relativeTime)]) }
            if state.isSynced, let words = SyncStatus.words(agent, nowMilliseconds: context.nowMilliseconds) {
                table.add(["Agent's sync", words])
            }
            for line in state.people.map(words) ?? [] { table.add(["For you", line]) }
            if let code = state.headCode {
                table.add(["Head code", "\(code), the same on all devices after coffret sync"])
            }
            for device in vault?.devices ?? [] { table.add(["Device", words(device, context)]) }
            table.add(["Way back in", wayBack(state)])
            if let left { table.add(["Unlocked", "locks in \(DurationText.words(left)) if nothing happens"]) }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func sync(of vault: String, _ store: CommandStore) throws -> SyncRead.Answer {
        var request = SyncRead()
        request.vault = vault
        return try store.perform(request)
    }

    private static func json(_ vault: VaultSyncState) -> JSONValue {
        .fields([
            "pending": vault.unsentCount.map { .integer($0) } ?? .null,
            "lastSynced": vault.lastSyncedAt?.json ?? .null,
            "waitingFiles": .array(vault.waitingFiles.map(\.json)),
            "absentFiles": .fields([
                "count": .integer(vault.absentFileCount), "byteCount": .integer(vault.absentFileByteCount),
                "wanted": .string(vault.absentFilesWanted.rawValue),
                "problem": vault.fileProblem.map { .string($0) } ?? .null,
            ]),
            "isSweepDue": .bool(vault.isSweepDue == true), "isHistoryPending": .bool(vault.isHistoryPending == true),
            "problem": vault.problem.map { .string($0) } ?? .null,
        ])
    }

    private static func json(_ people: PeopleWaiting) -> JSONValue {
        .fields([
            "letters": .integer(people.letters), "vaults": .integer(people.vaults), "help": .integer(people.help),
            "requests": .integer(people.requests),
        ])
    }

    /// Who waits for a word of the person, and the command that shows more.
    private static func words(_ people: PeopleWaiting) -> [String] {
        var lines: [String] = []
        if people.requests > 0 {
            lines.append("somebody asks recovery contacts for an account: coffret recovery contacts ls")
        }
        if people.help > 0 {
            let who = people.help == 1 ? "somebody asks" : "\(people.help) people ask"
            lines.append("\(who) for your help as a recovery contact: coffret recovery contacts ls")
        }
        if people.letters > 0 {
            lines.append("\(NumberText.counted(people.letters, "letter")): coffret contact requests")
        }
        if people.vaults > 0 {
            lines.append("\(NumberText.counted(people.vaults, "vault")) shared with you: coffret share requests")
        }
        return lines
    }

    private static func wayBack(_ state: StoreRead.Answer) -> String {
        guard state.recoveryKeyCount > 0 else { return "no recovery key: coffret recovery add makes one" }
        return NumberText.counted(state.recoveryKeyCount, "recovery key")
            + (state.printedKeyCount == 0 ? "" : ", \(state.printedKeyCount) of them printed and never asked back")
    }

    /// Knowledge of another device, without asking it.
    private static func words(_ device: DeviceSyncState, _ context: CommandContext) -> String {
        let what =
            device.isAhead
            ? "has changes that the server has not delivered"
            : device.hasEverything ? "has all that is here" : "does not have all of it yet"
        let heard = device.heardAt.map { ", heard of \(context.relativeTime.moment($0.milliseconds))" } ?? ""
        return "\(TextWidth.displaySafe(device.name)) \(what)\(heard)"
    }

    /// Where an agent runs that has the store locked, and no secret is given, that is the status; and where none runs, and
    /// nobody is there to be asked.
    private static func sayLocked(_ context: CommandContext) throws -> Bool {
        guard !PassphraseSource(context: context).isUnattended,
            try StoreAccess.exists(context), let store = AgentLocation.canonical(try StoreAccess.path(context))
        else { return false }
        let client = try AgentClient.connect(context.environment)
        let canStart = context.environment.value(.agent) != "off"
        guard client != nil || canStart && context.prompt() == nil else { return false }
        let status = try client?.status(of: store).first
        guard status?.isUnlocked != true else { return false }
        let reason = status?.lockReason ?? "not-unlocked"
        let value = JSONValue.fields([
            "store": .string(store), "unlocked": .bool(false), "reason": .string(reason),
        ])
        try context.print(value) {
            "\(TextWidth.displaySafe(store)) is locked\(AgentText.reason(reason)). coffret unlock unlocks it."
        }
        return true
    }

    private static func holds(_ state: StoreRead.Answer) -> String {
        var parts = state.kinds.map { count in
            let kind = ItemKind.allCases.first { $0.name == count.kind }
            return NumberText.counted(count.count, kind?.noun ?? count.kind, kind?.pluralNoun ?? count.kind)
        }
        if parts.isEmpty { parts = ["nothing yet"] }
        if state.trashedCount > 0 { parts.append("\(NumberText.grouped(state.trashedCount)) in the trash") }
        return parts.joined(separator: ", ")
    }
}
