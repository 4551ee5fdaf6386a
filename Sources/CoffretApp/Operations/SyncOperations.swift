// The operation that says how syncing stands. Invariant: it goes by what this device knows, and sends nothing.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretStorage
package import CoffretSync
internal import CoffretTerminal
package import CoffretWire

extension SyncRead: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer { try state(on: desk) }

    /// - Parameter heads: what the server says it has, by vault in hex. It is compared with the very state that is told,
    ///   or a sync between the two would show a new head beside old items.
    package func state(on desk: StoreDesk, heads: [String: [UInt8]] = [:]) throws -> Answer {
        var wanted = try desk.vaultRecords.filter { $0.kind == .synced }
        if let vault {
            let record = try desk.record(vault)
            guard record.kind == .synced else { throw CommandFailure.notSynced(record.name) }
            wanted = [record]
        }
        var answer = Answer()
        answer.vaults = try wanted.map { try VaultSyncState($0, on: desk, heads[$0.vaultID.hex]) }
        answer.agent = desk.deviceRecords.agentState()
        return answer
    }
}

extension PeopleWaiting {
    init(_ waiting: WaitingForPerson) {
        self.init()
        (letters, vaults) = (waiting.letterCount, waiting.vaultCount)
        (help, requests) = (waiting.helpCount, waiting.requestCount)
    }
}

extension VaultSyncState {
    fileprivate init(_ record: VaultRecord, on desk: StoreDesk, _ head: [UInt8]?) throws {
        self.init()
        let (store, records) = (desk.store, desk.deviceRecords)
        // With a handle of its own: the desk's may hold an index that is being made.
        let vault = try store.openVault(record.vaultID.hex, isWritable: false)
        defer { vault.close() }
        var filter = ItemFilter.everything
        filter.isTrashed = false
        (id, name) = (record.vaultID.hex, record.name)
        // First, since it goes on to what other processes have written; all else is of the state that it has seen.
        itemCount = try vault.page(filter, limit: 0).totalCount
        let standing = try store.standing(of: vault)
        let unsent = try VaultSyncer.unsent(of: vault)
        let waiting = VaultSyncer.waitingFiles(of: vault)
        let absent = try vault.absentAttachments()
        let last = records.last(id)
        (version, serverVersion) = (standing.version, standing.serverVersion)
        unsentCount = unsent?.entryCount
        unsentByteCount = unsent?.byteCount
        waitingFileCount = waiting.count
        waitingFileByteCount = waiting.reduce(0) { $0 + $1.byteCount }
        unreadableFileCount = waiting.count { $0.reason == .unreadable }
        absentFileCount = absent.count
        absentFileByteCount = absent.reduce(0) { $0 + $1.byteCount }
        absentFilesWanted = records.areFilesAsked(id) ? .asked : .all
        fileProblem = absent.isEmpty ? nil : records.fileProblem(id)
        waitingFiles = [WaitingFileMessage](waiting, in: vault)
        isSweepDue = VaultSyncer.isSweepDue(of: vault)
        lastSyncedAt = last?.succeededAt.map { WireMoment($0) }
        problem = last?.problem
        devices = standing.peers.map { peer in
            var device = DeviceSyncState()
            device.id = peer.device.hex
            device.name = (try? store.deviceLabel(peer.device.bytes)) ?? "another device"
            device.hasEverything = peer.hasEverything
            device.isAhead = peer.isAhead
            device.heardAt = peer.heardAt.map { WireMoment($0) }
            return device
        }
        isServerBeyond = try store.isBeyond(head, vault)
        isHistoryPending = VaultSyncer.isPastDue(of: vault)
    }
}

extension SyncRead.Answer {
    /// What the agent's sync does; nil if none runs.
    package var agent: AgentSyncState? {
        get {
            switch agentSync {
            case nil: nil
            case .off?: .off
            case .idle?: .idle
            case .connected?: moving.map { .moving(AgentSyncWork($0)) } ?? .connected
            case .waiting?: .waiting(problem: problem ?? "", until: nextTry?.milliseconds ?? 0)
            }
        }
        set {
            (agentSync, moving, problem, nextTry) = (nil, nil, nil, nil)
            switch newValue {
            case nil: break
            case .off?: agentSync = .off
            case .idle?: agentSync = .idle
            case .connected?: agentSync = .connected
            case .moving(let work)?: (agentSync, moving) = (.connected, SyncMovement(work))
            case .waiting(let code, let until)?:
                (agentSync, problem, nextTry) = (.waiting, code, WireMoment(until))
            }
        }
    }
}

extension SyncMovement {
    fileprivate init(_ work: AgentSyncWork) {
        self.init()
        vault = work.vault
        direction = work.isSending ? .sending : .receiving
        (done, total) = (work.doneCount, work.totalCount)
        (byteCount, totalByteCount) = (work.byteCount, work.totalByteCount)
    }
}

extension AgentSyncWork {
    fileprivate init(_ movement: SyncMovement) {
        self.init(
            vault: movement.vault, isSending: movement.direction == .sending, doneCount: movement.done,
            totalCount: movement.total, byteCount: movement.byteCount, totalByteCount: movement.totalByteCount)
    }
}
