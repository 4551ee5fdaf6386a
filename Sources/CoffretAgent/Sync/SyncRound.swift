// Continuous sync while keys, server and settings stay as they are. The one thing to keep true: events only say where to
// look; what is done follows from what is found there. Waiting needs no key.

internal import CPlatform
internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire
internal import Glibc

/// One store with the keys that it has now.
///
/// Where a TPM can have its key meanwhile, the store is closed after a while without work; the connection stays.
final class SyncRound {
    /// Nil while nothing is to be done.
    private var store: Store?
    private let open: () throws -> Store
    private let key: SyncKey
    let layout: StoreLayout
    let fileSystem: any FileSystem
    private let settings: HTTPSettings
    private let serverName: String?
    private let accountID: ChainID
    private let deviceID: UniqueID
    let records: SyncRecords
    private let file: AgentSyncFile?
    let waiter: SyncWaiter
    private let random: any RandomSource
    let clock: any WallClock
    let note: (SyncNews) -> Void
    /// Called with the relay ids of those that ask this device for a value.
    let asked: (UniqueID) -> Void
    private let requests: PairingWatch
    let problems: SyncProblems
    var schedule: SyncSchedule<String>
    /// Whose files are fetched when; behind everything else.
    var files: FileSchedule<String>
    let room: DiskRoom
    /// Files that had no room on this disk: by vault, how much was missing of one.
    var refusedByteCounts: [String: Int] = [:]
    /// Vaults of which this disk took no changes.
    var crowdedVaults: Set<String> = []
    /// Changes come in parts of this size, and need some more.
    static let changesByteCount = 16 << 20
    /// The journals of the synced vaults, by the vault's id in hex.
    let vaults: [String: String]
    private(set) var connection: ServerConnection?
    /// Nil while the store is closed, or there is no connection.
    private var sync: AccountSync?
    var usedAt: Int64 = 0
    private(set) var socket: WebSocketConnection?
    /// The head that the server is known to show, so that this device's own pushes are no news.
    var serverHeads: [String: [UInt8]] = [:]
    /// Vaults that could not be looked at when something was written in them.
    private var unreadableVaults: Set<String> = []
    private var isAccountDue = false
    private var isRequestDue = false
    var isAskDue = false
    var isPeopleDue = false
    /// When circles are looked at without any news of them.
    var peopleAt: Int64 = .max
    var isOpen: Bool { store != nil }
    /// Of each vault the links of which the person was told, and since when it waits for a key that is due.
    var (toldLinkCounts, staleSince) = ([String: Int](), [String: Int64]())
    var log = KeyLogSchedule()
    /// Those that the agent knows of.
    var knownAsks: Set<UniqueID> = []
    private var hasAcknowledged: Set<String> = []
    private(set) var state: AgentSyncState?
    private var isOver = false
    /// Between two words about how far a sync is.
    private static let tellMilliseconds: Int64 = 200
    var beganAt: Int64 = 0
    private var toldAt: Int64 = 0
    private let generation: UInt64

    /// - Parameters:
    ///   - server: of the store.
    ///   - open: opens the store again, with `key`.
    init(
        store: Store, server: ServerRecord, open: @escaping () throws -> Store, key: SyncKey, records: SyncRecords,
        file: AgentSyncFile?, waiter: SyncWaiter, requests: PairingWatch, problems: SyncProblems,
        random: any RandomSource, clock: any WallClock, note: @escaping (SyncNews) -> Void,
        asked: @escaping (UniqueID) -> Void
    ) throws {
        self.store = store
        self.open = open
        self.key = key
        fileSystem = store.fileSystem
        settings = try ServerConnection.settings(for: server)
        serverName = server.name
        accountID = try store.keyring.accountID()
        deviceID = try store.keyring.deviceID()
        let layout = store.layout
        vaults = Dictionary(
            uniqueKeysWithValues: try store.allVaults.filter { $0.kind == .synced }.map {
                ($0.vaultID.hex, PathText.join(layout.vaultPath($0.vaultID), "journal"))
            })
        self.layout = layout
        room = DiskRoom(of: layout.path)
        self.records = records
        self.file = file
        self.waiter = waiter
        self.random = random
        self.clock = clock
        self.note = note
        self.asked = asked
        self.requests = requests
        self.problems = problems
        schedule = SyncSchedule(random: random)
        files = FileSchedule(random: random)
        generation = store.keyring.generation
        usedAt = now
    }

    var now: Int64 { Int64(coffret_boot_nanoseconds() / 1_000_000) }

    /// Runs until keys, server or settings have changed.
    func run() {
        while !isOver {
            if isAccountDue, schedule.isUp { followAccount() }
            if isRequestDue, schedule.isUp { lookForRequests() }
            if isAskDue, schedule.isUp { lookForAsks() }
            if isPeopleDue || now >= peopleAt, schedule.isUp { lookForPeople() }
            if isOver { break }
            switch schedule.next(at: now) {
            case .connect: connect()
            case .sync(let zone, let need): perform(zone, need)
            case .ping: ping()
            case .drop: lost(HTTPError(.timedOut))
            case .wait(let until):
                if schedule.isUp, log.isDue(at: now) {
                    readLog()
                } else if schedule.isUp, let id = files.due(at: now) {
                    fetchFiles(id, until: until)
                    // What happened meanwhile goes first.
                    wait(until: now)
                } else {
                    let others = min(files.nextAt ?? .max, log.nextAt, peopleAt)
                    wait(until: min(until ?? .max, schedule.isUp ? others : .max))
                }
            }
        }
        socket?.close()
        connection?.logOut()
    }

    // MARK: Keys

    /// The store, opened again if it was closed. If it does not open, this round is over and the worker finds out why.
    private func openedStore() -> Store? {
        usedAt = now
        if let store { return store }
        store = try? open()
        // Another keyring asks for another round.
        if store?.keyring.generation != generation {
            store = nil
            isOver = true
        }
        return store
    }

    /// The store's account, over the connection that there is.
    func openedSync() -> AccountSync? {
        guard let connection, let store = openedStore() else { return nil }
        if let sync { return sync }
        sync = AccountSync(
            Account(store, connection, clock: clock), records: records, clock: clock)
        return sync
    }

    func record(_ id: String) -> VaultRecord? {
        (try? store?.allVaults)?.first { $0.vaultID.hex == id }
    }

    /// Closes the store and seals its key.
    private func rest() {
        sync = nil
        store = nil
        key.seal(random: random)
        // What was read lies in memory that is free now; what can be is given back to the kernel.
        coffret_return_free_memory()
    }

    func show(_ state: AgentSyncState) {
        guard state != self.state else { return }
        self.state = state
        file?.write(state)
    }

    // MARK: Waiting

    private func wait(until: Int64) {
        // Bytes that came with others do not make the socket readable.
        if receiveEvents() { return }
        var until = until
        if key.isSealable {
            let restAt = usedAt + IdleLock.delayMilliseconds
            if now >= restAt { rest() } else { until = min(until, restAt) }
        }
        let wake = waiter.wait(
            until: until == .max ? nil : UInt64(max(0, until)) * 1_000_000 + 999_999, socket: socket?.descriptor)
        if wake.hasNetworkChanged { schedule.networkChanged(at: now) }
        lookForRoom()
        if wake.places.contains(.store) || wake.isOverrun,
            SyncWorker.generation(of: layout.path, fileSystem) != generation
        {
            isOver = true
        }
        if wake.places.contains(.settings) || wake.isOverrun {
            if records.isOff { isOver = true }
            for id in vaults.keys { files.noticed(id, at: now) }
        }
        for id in vaults.keys where wake.isOverrun || wake.places.contains(.vault(id)) { look(id) }
        _ = receiveEvents()
    }

    /// Something was written in a vault: by a command, or by a sync.
    private func look(_ id: String) {
        guard schedule.isUp, !isOver, let sync = openedSync(), let record = record(id) else { return }
        // Its person has answered somebody, or another device of his.
        if record.isAccountVault { isPeopleDue = true }
        do {
            let hasUnsent = try sync.syncer(for: record).hasUnsent
            if unreadableVaults.remove(id) != nil {
                // Somebody has put it right, so the long pause after a failure has no reason any more.
                schedule.eased(id)
            } else if !hasUnsent {
                return
            }
        } catch {
            // A sync meets the same and tells of it, or finds that it has passed.
            unreadableVaults.insert(id)
        }
        schedule.noticed(id, .push)
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
        case .chain(_, let id, _):
            isAccountDue = true
            // A circle has no zone that is synced.
            if vaults[Hex.encode(id)] == nil { isPeopleDue = true }
            lookAtChains()
        case .mailbox: isAccountDue = true
        case .membership, .letter: (isAccountDue, isPeopleDue) = (true, true)
        case .pairing: isRequestDue = true
        case .ask: isAskDue = true
        }
    }

    // MARK: The connection

    private func connect() {
        do {
            let connection = try ServerConnection(settings, random: random)
            // Nothing is opened before the server has answered.
            _ = try connection.logIn(account: accountID, device: deviceID, name: serverName) {
                (proof) throws(KeyError) in
                guard let store = openedStore() else { throw KeyError(.locked) }
                return try store.keyring.login { _, _ in proof }
            }
            self.connection = connection
            // Events first: what happens from now on is heard, what happened before is looked for.
            let socket = try WebSocketConnection(
                connection.settings, path: "/v1/events", fields: connection.fields,
                messageByteCountMax: ServerLimits.eventByteCountMax, random: random)
            try socket.awaitAnswer()
            self.socket = socket
            for (id, journal) in vaults { waiter.watch(journal, as: .vault(id)) }
            schedule.connected(Array(vaults.keys), at: now)
            log.noticed(vaults.keys, at: now)
            try lookAtHeads()
            (isAccountDue, isRequestDue, isAskDue, isPeopleDue) = (true, true, true, true)
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

    func lost(_ error: any Error) {
        // Not the server's doing.
        if isOver { return }
        socket = nil
        (sync, connection, serverHeads) = (nil, nil, [:])
        let before = now
        let until = schedule.lost(isTransient: SyncTrouble.isTransient(error), at: before)
        let code = FailureCode.of(error)
        show(.waiting(problem: code, until: clock.now + (until - before)))
    }

    /// Who belongs to the account, and keys that others sent.
    private func followAccount() {
        guard let sync = openedSync() else { return }
        isAccountDue = false
        do {
            let followed = try sync.account.follow()
            announce(followed, sync.store)
            _ = try sync.receiveKeys()
            try sync.account.forgetIdentityKeys()
        } catch {
            return lost(error)
        }
        // New keys, new vaults, other devices: everything is opened anew.
        noteKeyring()
    }

    func noteKeyring() {
        if let store, store.keyring.generation != generation { isOver = true }
    }

    private func announce(_ followed: FollowedDeviceChain, _ store: Store) {
        for link in followed.newLinks {
            guard case .add(let id, _, _, _)? = try? DeviceOperation(decoding: link.link),
                let device = followed.chain.device(id)
            else { continue }
            note(.deviceAdded(name: ((try? store.keyring.details(of: device))?.name) ?? String(id.hex.prefix(8))))
        }
    }

    /// Who waits to be let in. Strangers can make this happen, so nothing is opened for it.
    private func lookForRequests() {
        guard let connection else { return }
        isRequestDue = false
        do {
            let waiting = try connection.pairingRequests(now: clock.now)
            for request in requests.news(waiting, now: clock.now) { note(.deviceAsks(digits: request.digits)) }
        } catch {
            lost(error)
        }
    }

    // MARK: Vaults

    private func perform(_ id: String, _ need: SyncNeed) {
        guard let sync = openedSync(), let record = record(id) else { return }
        schedule.began(id)
        beganAt = now
        // A failure that ends the connection has said so before.
        defer {
            if case .moving? = state { show(.connected) }
            for other in sync.takeStatedVaults() { schedule.noticed(other.hex, .acknowledge) }
        }
        var options = SyncOptions()
        // Its size is known: it is not read again before there is room, nor asked about with each edit.
        options.triesWaitingFiles = need == .whole
        options.acknowledges = need == .whole || need == .acknowledge
        // Once in the life of this process at least: the one before may have been ended too soon.
        options.acknowledgesAnew = need == .acknowledge || !hasAcknowledged.contains(id)
        do {
            let report = try sync.sync(
                record, options, patienceMilliseconds: 0, progress: { self.tell(AgentSyncWork($0, vault: id)) },
                fileProgress: { self.tell(AgentSyncWork($0, vault: id)) })
            problems.ended(id)
            crowdedVaults.remove(id)
            (serverHeads[id], staleSince[id]) = (report.serverHead, nil)
            if report.conflictedItemCount > 0 { note(.conflicts(itemCount: report.conflictedItemCount)) }
            schedule.succeeded(
                id, need, didChange: report.sentEntryCount + report.receivedEntryCount > 0,
                hasWaitingFiles: !report.waitingFiles.isEmpty, at: now)
            schedule.heard(at: now)
            log.followed(id)
            if options.acknowledges {
                hasAcknowledged.insert(id)
                sync.note(record, nil)
            }
            show(.connected)
            if need == .whole || report.receivedEntryCount > 0 { files.noticed(id, at: now) }
            // After a first sync: whoever lists or searches meanwhile reads the items themselves.
            if report.receivedEntryCount > 0 { try? sync.syncer(for: record).makeIndex() }
            if need == .whole { try? sync.noteRest(of: record, report) }
            lookAtMembers(record, report)
        } catch {
            failed(id, record, need, error)
        }
    }

    /// Says how far a sync is; nothing of one that is over at once.
    func tell(_ work: AgentSyncWork) {
        guard now - beganAt >= Self.tellMilliseconds, now - toldAt >= Self.tellMilliseconds else { return }
        toldAt = now
        show(.moving(work))
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
        // With keys of before what others wrote since looks damaged: the next round has the new ones.
        guard SyncWorker.generation(of: layout.path, fileSystem) == generation else { return isOver = true }
        sync?.note(record, error)
        if SyncTrouble.isDiskFull(error) { crowdedVaults.insert(id) } else { crowdedVaults.remove(id) }
        let mayPass = isTransient || waitsForKey(error, record)
        // Once, not with each attempt.
        if !mayPass, problems.isNews(FailureCode.of(error), of: id) {
            let name = vaults.count > 1 ? record.name : nil
            note(.needsAttention(words: FailureCode.words(for: error, vault: name)))
        }
        if isTransient, error is HTTPError || error is AccountError { return lost(error) }
        schedule.failed(id, isTransient: mayPass, at: now)
    }
}
