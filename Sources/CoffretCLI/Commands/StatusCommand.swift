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
        let session = try VaultSession.open(context)
        DeviceCommand.warnOfPaper(context, session.store)
        let vault = session.vault
        let counts = try vault.itemCounts()
        let trashedCount = counts.trashed
        let kinds = ItemKind.allCases.compactMap { kind in counts.kinds[kind].map { (kind, $0) } }
        let liveCount = kinds.map(\.1).reduce(0, +)
        let last = try vault.log(limit: 1).first
        let keys = try session.store.recoveryKeys
        let path = try StoreAccess.path(context)
        let settings = AgentFamilyCommand.syncRecords(of: path, context)
        let printedCount = keys.filter { settings?.isOnlyPrinted($0.slotID.hex) == true }.count
        let byteCount = try session.store.byteCountOnDisk
        let vaults = try session.store.store.vaults
        let record = try session.store.store.vaultRecord(session.store.wantedVault)
        let isSynced = record.kind == .synced
        let syncRecords = try SyncStatus.records(session.store)
        let standing = isSynced ? SyncStatus.standing(of: vault, record, syncRecords) : nil
        let agentState = syncRecords.agentState()
        let headCode = try isSynced ? session.store.store.headCode(of: vault, record) : nil
        let known = try isSynced ? session.store.store.standing(of: vault) : nil
        // Files of a synced vault may lie at the server; of what is here, size and head are looked at.
        let faulty = try vault.faultyAttachments(reads: false).filter { !isSynced || $0.fault != .missing }
            .map { FaultyFileMessage($0) }
        let value = JSONValue.fields([
            "store": .string(path), "storeID": .string(session.store.storeIDText),
            "vault": .string(vault.name), "vaults": .strings(vaults.map(\.name)),
            "itemCount": .integer(liveCount), "trashedCount": .integer(trashedCount),
            "kinds": .object(kinds.map { JSONValue.Member($0.0.name, .integer($0.1)) }),
            "lastChange": last.map { .moment($0.time) }, "version": last.map { .string($0.commit.description) },
            "byteCount": .integer(byteCount), "recoveryKeyCount": .integer(keys.count),
            "synced": .bool(isSynced), "headCode": headCode.map { .string($0) },
            "sync": standing.map(\.json), "agentSync": isSynced ? SyncStatus.json(agentState) : nil,
            "serverVersion": known?.serverHead.map { .string($0.description) },
            "faultyAttachments": .array(faulty.map(\.json)),
            "devices": known.map { .array($0.peers.map { json($0, session.store) }) },
            "remembered": .bool(session.store.store.keyring.instanceStatus == .current),
            "olderCopy": .bool(vault.isOlderCopy), "unlocked": .bool(HostedCommand.isRunning),
            "secondsLeft": HostedCommand.current?.secondsLeft.map { .integer(Int($0)) },
        ])
        try context.print(value) {
            var table = TextTable([.init(role: .faint), .init(isFlexible: true, wraps: true, minimumWidth: 20)])
            table.add([
                "Store",
                "\(TextWidth.displaySafe(path)), \(NumberText.bytes(byteCount)) on disk",
            ])
            let others = vaults.count - 1
            table.add(["Vault", TextWidth.displaySafe(vault.name) + (others > 0 ? ", one of \(others + 1)" : "")])
            table.add(["Holds", holds(kinds, trashedCount: trashedCount)])
            for line in FaultyFiles.lines(faulty, isSynced: isSynced) { table.add(["Damaged", line]) }
            if let last { table.add(["Last change", context.relativeTime.moment(last.time)]) }
            if let standing { table.add(["Synced", standing.words(context)]) }
            if isSynced, let words = SyncStatus.words(agentState, nowMilliseconds: context.nowMilliseconds) {
                table.add(["Agent's sync", words])
            }
            if let headCode { table.add(["Head code", "\(headCode), the same on all devices after coffret sync"]) }
            if let known { addDevices(known, to: &table, context, session.store) }
            table.add(["Way back in", wayBack(keyCount: keys.count, printedCount: printedCount)])
            if let seconds = HostedCommand.current?.secondsLeft {
                table.add(["Unlocked", "locks in \(DurationText.words(seconds)) if nothing happens"])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func wayBack(keyCount: Int, printedCount: Int) -> String {
        guard keyCount > 0 else { return "no recovery key: coffret recovery add makes one" }
        return NumberText.counted(keyCount, "recovery key")
            + (printedCount == 0 ? "" : ", \(printedCount) of them printed and never asked back")
    }

    private static func json(_ peer: SyncStanding.Peer, _ session: StoreSession) -> JSONValue {
        .fields([
            "id": .string(peer.device.hex), "name": .string(session.deviceName(peer.device.bytes)),
            "hasEverything": .bool(peer.hasEverything), "ahead": .bool(peer.isAhead),
            "heard": peer.heardAt == 0 ? .null : .moment(peer.heardAt),
        ])
    }

    /// What is known of the other devices, without asking them.
    private static func addDevices(
        _ standing: SyncStanding, to table: inout TextTable, _ context: CommandContext, _ session: StoreSession
    ) {
        for peer in standing.peers {
            let name = TextWidth.displaySafe(session.deviceName(peer.device.bytes))
            let what =
                peer.isAhead
                ? "has changes that the server has not delivered"
                : peer.hasEverything ? "has all that is here" : "does not have all of it yet"
            let heard = peer.heardAt == 0 ? "" : ", heard of \(context.relativeTime.moment(peer.heardAt))"
            table.add(["Device", "\(name) \(what)\(heard)"])
        }
    }

    /// Where an agent runs that has the store locked, and no secret is given, that is the status; and where none runs, and
    /// nobody is there to be asked.
    private static func sayLocked(_ context: CommandContext) throws -> Bool {
        guard !HostedCommand.isRunning, !PassphraseSource(context: context).isUnattended,
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

    private static func holds(_ kinds: [(ItemKind, Int)], trashedCount: Int) -> String {
        var parts = kinds.map { NumberText.counted($1, $0.noun, $0.pluralNoun) }
        if parts.isEmpty { parts = ["nothing yet"] }
        if trashedCount > 0 { parts.append("\(NumberText.grouped(trashedCount)) in the trash") }
        return parts.joined(separator: ", ")
    }
}
