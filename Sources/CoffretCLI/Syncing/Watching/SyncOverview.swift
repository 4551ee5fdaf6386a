// How all synced vaults of a store stand, as `coffret sync --status` says it. The one thing to keep true: what one
// process prints as JSON, another one reads back as the same.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal

/// What is known of syncing at one moment, without asking anybody.
struct SyncOverview: Equatable {
    /// Another device of the person, as far as it has said what it has.
    struct Device: Equatable {
        let id: String
        let name: String
        let hasEverything: Bool
        let isAhead: Bool
        let heardAt: Milliseconds?
    }

    struct VaultState: Equatable {
        let id: String
        let name: String
        let itemCount: Int
        let version: String?
        let serverVersion: String?
        /// What changes it is that the server lacks; nil before the first sync.
        let unsentCount: Int?
        let unsentByteCount: Int?
        /// Files that cannot go to the server, for want of room or because they cannot be read here.
        let waitingFileCount: Int
        let waitingFileByteCount: Int
        /// Those of them that cannot be read here.
        var unreadableFileCount = 0
        /// Files that are not here.
        let absentFileCount: Int
        let absentFileByteCount: Int
        /// They stay at the server until somebody asks for them.
        var areFilesAsked = false
        let lastSyncedAt: Milliseconds?
        let problem: String?
        let devices: [Device]
        /// Whether the server has said that it has something else; only who listens to it knows.
        var isServerBeyond = false
        /// What leads to the present has not come yet; until then nothing is sent.
        var isHistoryPending = false
    }

    /// The line to the server of a process that listens by itself.
    enum Line: Equatable {
        case connected
        case waiting(problem: String, until: Milliseconds)
    }

    var vaults: [VaultState]
    /// Nil if no agent syncs.
    var agent: AgentSyncState?
    var line: Line?

    /// - Parameter heads: what the server says it has, by vault in hex. It is compared with the very state that is told,
    ///   or a sync between the two would show a new head beside old items.
    static func make(
        _ session: StoreSession, _ records: SyncRecords, heads: [String: [UInt8]] = [:]
    ) throws -> SyncOverview {
        var wanted = try session.store.vaults.filter { $0.kind == .synced }
        if let name = session.namedVault {
            let record = try session.store.vaultRecord(name)
            guard record.kind == .synced else { throw SyncCommand.notSynced(record) }
            wanted = [record]
        }
        return SyncOverview(
            vaults: try wanted.map { try state(of: $0, session, records, heads[$0.vaultID.hex]) },
            agent: records.agentState())
    }

    private static func state(
        of record: VaultRecord, _ session: StoreSession, _ records: SyncRecords, _ head: [UInt8]?
    ) throws -> VaultState {
        let vault = try session.store.openVault(record.vaultID.hex, isWritable: false)
        defer { vault.close() }
        var filter = ItemFilter.everything
        filter.isTrashed = false
        // First, since it goes on to what other processes have written; all else is of the state that it has seen.
        let itemCount = try vault.page(filter, limit: 0).totalCount
        let standing = try session.store.standing(of: vault)
        let unsent = try VaultSyncer.unsent(of: vault)
        let waiting = try VaultSyncer.waitingFiles(of: vault)
        let absent = try vault.absentAttachments()
        let last = records.last(record.vaultID.hex)
        return VaultState(
            id: record.vaultID.hex, name: record.name, itemCount: itemCount,
            version: standing.head?.description, serverVersion: standing.serverHead?.description,
            unsentCount: unsent?.commitCount, unsentByteCount: unsent?.byteCount,
            waitingFileCount: waiting.count, waitingFileByteCount: waiting.reduce(0) { $0 + $1.byteCount },
            unreadableFileCount: waiting.count { $0.reason == .unreadable },
            absentFileCount: absent.count, absentFileByteCount: absent.reduce(0) { $0 + $1.byteCount },
            areFilesAsked: records.areFilesAsked(record.vaultID.hex),
            lastSyncedAt: last?.succeededAt, problem: last?.problem,
            devices: standing.peers.map { peer in
                Device(
                    id: peer.device.hex, name: session.deviceName(peer.device.bytes),
                    hasEverything: peer.hasEverything, isAhead: peer.isAhead,
                    heardAt: peer.heardAt == 0 ? nil : peer.heardAt)
            }, isServerBeyond: try session.store.isBeyond(head, vault), isHistoryPending: try vault.isHistoryPending)
    }
}

// MARK: JSON

extension SyncOverview {
    var json: JSONValue {
        var moving = JSONValue.null
        if case .moving(let work)? = agent {
            moving = .fields([
                "id": .string(work.vault), "direction": .string(work.isSending ? "sending" : "receiving"),
                "done": .integer(work.doneCount), "total": .optional(work.totalCount),
                "byteCount": .integer(work.byteCount), "totalByteCount": .optional(work.totalByteCount),
            ])
        }
        var (problem, until): (String?, Milliseconds?) = (nil, nil)
        if case .waiting(let code, let moment)? = agent { (problem, until) = (code, moment) }
        if case .waiting(let code, let moment)? = line { (problem, until) = (code, moment) }
        return .fields([
            "vaults": .array(vaults.map(\.json)), "agentSync": SyncStatus.json(agent), "moving": moving,
            "listening": .bool(line == .connected), "problem": problem.map { .string($0) } ?? .null,
            "nextTry": until.map { .moment($0) } ?? .null,
        ])
    }

    /// Reads what `json` is of an overview without a line of its own.
    ///
    /// - Returns: nil for anything else.
    init?(_ value: JSONValue, now: Milliseconds) {
        guard let vaults = value["vaults"]?.elements else { return nil }
        self.vaults = vaults.compactMap { VaultState($0, now: now) }
        guard self.vaults.count == vaults.count else { return nil }
        switch (value["agentSync"]?.string, value["problem"]?.string, value["nextTry"]?.moment(now)) {
        case ("off", nil, nil): agent = .off
        case ("idle", nil, nil): agent = .idle
        case ("connected", nil, nil): agent = .connected
        case ("waiting", let problem?, let until?): agent = .waiting(problem: problem, until: until)
        case (nil, nil, nil): agent = nil
        default: return nil
        }
        guard let moving = value["moving"], moving != .null else { return }
        guard let id = moving["id"]?.string, let done = moving["done"]?.integer,
            let byteCount = moving["byteCount"]?.integer
        else { return nil }
        agent = .moving(
            AgentSyncWork(
                vault: id, isSending: moving["direction"]?.string == "sending", doneCount: Int(clamping: done),
                totalCount: moving["total"]?.integer.map { Int(clamping: $0) }, byteCount: Int(clamping: byteCount),
                totalByteCount: moving["totalByteCount"]?.integer.map { Int(clamping: $0) }))
    }
}

extension SyncOverview.VaultState {
    fileprivate var json: JSONValue {
        .fields([
            "vault": .string(name), "id": .string(id), "itemCount": .integer(itemCount),
            "version": version.map { .string($0) } ?? .null,
            "serverVersion": serverVersion.map { .string($0) } ?? .null,
            "serverHasOther": .bool(isServerBeyond), "isHistoryPending": .bool(isHistoryPending),
            "pending": .optional(unsentCount),
            "pendingByteCount": .optional(unsentByteCount), "waitingFileCount": .integer(waitingFileCount),
            "waitingFileByteCount": .integer(waitingFileByteCount),
            "unreadableFileCount": .integer(unreadableFileCount), "absentFileCount": .integer(absentFileCount),
            "absentFileByteCount": .integer(absentFileByteCount),
            "absentFilesWanted": .string(areFilesAsked ? "asked" : "all"),
            "lastSynced": lastSyncedAt.map { .moment($0) } ?? .null, "problem": problem.map { .string($0) } ?? .null,
            "devices": .array(
                devices.map { device in
                    .fields([
                        "id": .string(device.id), "name": .string(device.name),
                        "hasEverything": .bool(device.hasEverything), "ahead": .bool(device.isAhead),
                        "heard": device.heardAt.map { .moment($0) } ?? .null,
                    ])
                }),
        ])
    }

    fileprivate init?(_ value: JSONValue, now: Milliseconds) {
        func count(_ name: String) -> Int? { value[name]?.integer.map { Int(clamping: $0) } }
        guard let id = value["id"]?.string, let name = value["vault"]?.string, let itemCount = count("itemCount"),
            let waitingCount = count("waitingFileCount"), let waitingByteCount = count("waitingFileByteCount"),
            let unreadableCount = count("unreadableFileCount"),
            let absentCount = count("absentFileCount"), let absentByteCount = count("absentFileByteCount"),
            let devices = value["devices"]?.elements
        else { return nil }
        self.init(
            id: id, name: name, itemCount: itemCount, version: value["version"]?.string,
            serverVersion: value["serverVersion"]?.string, unsentCount: count("pending"),
            unsentByteCount: count("pendingByteCount"), waitingFileCount: waitingCount,
            waitingFileByteCount: waitingByteCount, unreadableFileCount: unreadableCount,
            absentFileCount: absentCount, absentFileByteCount: absentByteCount,
            areFilesAsked: value["absentFilesWanted"]?.string == "asked",
            lastSyncedAt: value["lastSynced"]?.moment(now),
            problem: value["problem"]?.string,
            devices: devices.compactMap { device in
                guard let id = device["id"]?.string, let name = device["name"]?.string else { return nil }
                return SyncOverview.Device(
                    id: id, name: name, hasEverything: device["hasEverything"]?.bool ?? false,
                    isAhead: device["ahead"]?.bool ?? false, heardAt: device["heard"]?.moment(now))
            }, isServerBeyond: value["serverHasOther"]?.bool ?? false,
            isHistoryPending: value["isHistoryPending"]?.bool ?? false)
    }
}

extension JSONValue {
    fileprivate static func optional(_ number: Int?) -> JSONValue { number.map { .integer($0) } ?? .null }

    /// What `moment` wrote, to the second.
    fileprivate func moment(_ now: Milliseconds) -> Milliseconds? {
        // Local time of the same machine: the offset at the end says nothing more.
        string.flatMap { MomentParser(nowMilliseconds: now).parse(String($0.prefix(19))) }
    }
}
