// Continuous sync while keys, server and settings stay as they are. The one thing to keep true: events only say where to
// look; what is done follows from what is found there.

internal import CPlatform
internal import CoffretAccount
internal import CoffretBase
internal import CoffretCLI
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretNet
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTrust
internal import CoffretWire
internal import Glibc

/// One store with the keys that it has now.
final class SyncRound {
    private let store: Store
    private let records: SyncRecords
    private let file: AgentSyncFile?
    private let waiter: SyncWaiter
    private let random: any RandomSource
    private let clock: any WallClock
    private let note: (SyncNews) -> Void
    private var schedule: SyncSchedule<String>
    /// By the vault's id in hex.
    private var vaults: [String: VaultRecord] = [:]
    private var sync: AccountSync?
    private var socket: WebSocketConnection?
    /// The head that the server is known to show, so that this device's own pushes are no news.
    private var serverHeads: [String: [UInt8]] = [:]
    /// Failures that only a person can put right, by vault.
    private var lastProblems: [String: String] = [:]
    private var isAccountDue = false
    private var hasAcknowledged: Set<String> = []
    private var state: AgentSyncState?
    private var isOver = false
    private var generation: UInt64

    init(
        store: Store, records: SyncRecords, file: AgentSyncFile?, waiter: SyncWaiter, random: any RandomSource,
        clock: any WallClock, note: @escaping (SyncNews) -> Void
    ) {
        self.store = store
        self.records = records
        self.file = file
        self.waiter = waiter
        self.random = random
        self.clock = clock
        self.note = note
        schedule = SyncSchedule(random: random)
        generation = store.keyring.generation
    }

    private var now: Int64 { Int64(coffret_boot_nanoseconds() / 1_000_000) }

    /// Runs until keys, server or settings have changed.
    func run() {
        while !isOver {
            if isAccountDue, schedule.isUp { followAccount() }
            if isOver { break }
            switch schedule.next(at: now) {
            case .connect: connect()
            case .sync(let zone, let need): perform(zone, need)
            case .ping: ping()
            case .drop: lost(HTTPError(.timedOut))
            case .wait(let until): wait(until: until)
            }
        }
        socket?.close()
        sync?.account.connection.logOut()
    }

    private func show(_ state: AgentSyncState) {
        guard state != self.state else { return }
        self.state = state
        file?.write(state)
    }

    // MARK: Waiting

    private func wait(until: Int64?) {
        // Bytes that came with others do not make the socket readable.
        if receiveEvents() { return }
        let wake = waiter.wait(
            until: until.map { UInt64(max(0, $0)) * 1_000_000 + 999_999 }, socket: socket?.descriptor)
        if wake.hasNetworkChanged { schedule.networkChanged(at: now) }
        if wake.places.contains(.store) || wake.isOverrun,
            SyncWorker.generation(of: store.layout.path, store.fileSystem) != generation
        {
            isOver = true
        }
        if wake.places.contains(.settings) || wake.isOverrun, records.isOff { isOver = true }
        for (id, record) in vaults where wake.isOverrun || wake.places.contains(.vault(id)) { look(id, record) }
        _ = receiveEvents()
    }

    /// Something was written in a vault: by a command, or by a sync.
    private func look(_ id: String, _ record: VaultRecord) {
        guard schedule.isUp, let syncer = try? sync?.syncer(for: record) else { return }
        if (try? syncer.hasUnsent) == true { schedule.noticed(id, .push) }
    }

    /// - Returns: whether there was something.
    private func receiveEvents() -> Bool {
        guard let socket else { return false }
        var hasAny = false
        let before = socket.readCount
        do throws(HTTPError) {
            while let message = try socket.receive(within: .zero) {
                hasAny = true
                if case .binary(let bytes) = message, let event = try? ServerEvent(decoding: bytes) { take(event) }
            }
            if socket.readCount != before { schedule.heard(at: now) }
        } catch {
            lost(error)
            return true
        }
        return hasAny
    }

    private func take(_ event: ServerEvent) {
        switch event {
        case .zone(let id, let head, _):
            guard case let vault = Hex.encode(id), vaults[vault] != nil, head != serverHeads[vault] else { return }
            schedule.noticed(vault, .pull)
        case .mailbox, .chain: isAccountDue = true
        }
    }

    // MARK: The connection

    private func connect() {
        do {
            let sync = try AccountSync(store, records: records, random: random, clock: clock)
            self.sync = sync
            let connection = sync.account.connection
            // Events first: what happens from now on is heard, what happened before is looked for.
            let socket = try WebSocketConnection(
                connection.settings, path: "/v1/events", fields: connection.fields,
                messageByteCountMax: ServerLimits.eventByteCountMax, random: random)
            self.socket = socket
            vaults = Dictionary(uniqueKeysWithValues: try sync.vaults.map { ($0.vaultID.hex, $0) })
            for record in vaults.values {
                waiter.watch(
                    PathText.join(store.layout.vaultPath(record.vaultID), "journal"), as: .vault(record.vaultID.hex))
            }
            schedule.connected(Array(vaults.keys), at: now)
            isAccountDue = true
            show(.connected)
        } catch {
            lost(error)
        }
    }

    private func ping() {
        do throws(HTTPError) {
            try socket?.ping()
            schedule.pinged(at: now)
        } catch {
            lost(error)
        }
    }

    private func lost(_ error: any Error) {
        socket = nil
        sync = nil
        serverHeads = [:]
        let before = now
        let until = schedule.lost(isTransient: SyncTrouble.isTransient(error), at: before)
        let code = FailureCode.of(error)
        show(.waiting(problem: code, until: clock.now + (until - before)))
    }

    /// Who belongs to the account, and keys that others sent.
    private func followAccount() {
        guard let sync else { return }
        isAccountDue = false
        do {
            let followed = try sync.account.follow()
            announce(followed)
            _ = try sync.receiveKeys()
        } catch {
            return lost(error)
        }
        // New keys, new vaults, other devices: everything is opened anew.
        if store.keyring.generation != generation { isOver = true }
    }

    private func announce(_ followed: FollowedDeviceChain) {
        for link in followed.newLinks {
            guard case .add(let id, _, _, _)? = try? DeviceOperation(decoding: link.link),
                let device = followed.chain.device(id)
            else { continue }
            note(.deviceAdded(name: ((try? store.keyring.details(of: device))?.name) ?? String(id.hex.prefix(8))))
        }
    }

    // MARK: Vaults

    private func perform(_ id: String, _ need: SyncNeed) {
        guard let sync, let record = vaults[id] else { return }
        schedule.began(id)
        var options = SyncEngine.Options()
        switch need {
        case .push: options.beginning = .push
        case .pull: options.beginning = .changes
        case .whole, .acknowledge: options.beginning = .head
        }
        // Its size is known: it is not read again before there is room, nor asked about with each edit.
        options.triesWaitingFiles = need == .whole
        options.acknowledges = need == .whole || need == .acknowledge
        // Once in the life of this process at least: the one before may have been ended too soon.
        options.acknowledgesAnew = need == .acknowledge || !hasAcknowledged.contains(id)
        do {
            let report = try sync.sync(record, options, patienceMilliseconds: 0)
            lastProblems[id] = nil
            serverHeads[id] = report.serverHead?.bytes
            schedule.succeeded(
                id, need, didChange: report.sentCommitCount + report.receivedCommitCount > 0,
                hasWaitingFiles: !report.waitingFiles.isEmpty, at: now)
            schedule.heard(at: now)
            if options.acknowledges {
                hasAcknowledged.insert(id)
                sync.note(record, nil)
            }
            show(.connected)
        } catch {
            failed(id, record, need, error)
        }
    }

    private func failed(_ id: String, _ record: VaultRecord, _ need: SyncNeed, _ error: any Error) {
        if let error = error as? SyncError, error.code == .busy {
            // Somebody else does just that.
            schedule.failed(id, isTransient: true, at: now)
            return
        }
        let isTransient = SyncTrouble.isTransient(error)
        if !isTransient, need == .push || need == .pull {
            // What was remembered may be old; looked at from the beginning it may be fine.
            schedule.noticed(id, .whole)
            return
        }
        sync?.note(record, error)
        // Once, not with each attempt.
        if !isTransient, lastProblems.updateValue(FailureCode.of(error), forKey: id) != FailureCode.of(error) {
            note(.needsAttention(words: FailureCode.words(for: error)))
        }
        if isTransient, error is HTTPError || error is AccountError { return lost(error) }
        schedule.failed(id, isTransient: isTransient, at: now)
    }
}
