// All synced vaults of a store and its account, for the command and for the agent. The one thing to keep true: the
// account's devices are followed before anything that one of them wrote is looked at.

package import CoffretAccount
package import CoffretBase
package import CoffretCore
package import CoffretCrypto
internal import CoffretHTTP
package import CoffretKeys
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretSharing
internal import CoffretStorage
package import CoffretSync
internal import CoffretTerminal
package import CoffretTrust
package import CoffretWire

/// A store at its server, logged in.
package final class AccountSync {
    package let account: Account
    let clock: any WallClock
    private let records: SyncRecords
    /// Whether what is being done is still wanted.
    private let isWanted: () -> Bool
    /// Seals and opens letters.
    let people: AccountPeople
    private var syncers: [VaultID: (syncer: VaultSyncer, transport: HTTPZoneTransport)] = [:]
    /// By which files come in the background: breaking one off costs changes no new connection.
    private var fileTransports: [VaultID: HTTPZoneTransport] = [:]
    /// As the server said before this device followed anything, until a vault is synced.
    var heads: [VaultID: ZoneHeads.Entry] = [:]
    /// Vaults of which others state what is not there.
    private var stated: Set<VaultID> = []
    /// Checkpoints of the server's log in entries that came, since the log was read.
    private var keyLogNotes: [[UInt8]: Milliseconds] = [:]

    package init(
        _ account: Account, records: SyncRecords, clock: any WallClock,
        random: any RandomSource = SystemRandomSource(), isWanted: @escaping () -> Bool = { true }
    ) {
        self.account = account
        self.isWanted = isWanted
        self.clock = clock
        self.records = records
        people = AccountPeople(account, random: random, clock: clock)
    }

    package var store: Store { account.store }

    /// The vaults to sync.
    package var vaults: [VaultRecord] {
        get throws { try store.allVaults.filter { $0.kind == .synced } }
    }

    /// Takes keys that other devices sent, and looks after the account's identity.
    package func receiveKeys() throws -> (added: [VaultID], renewed: [VaultID]) {
        let received = try account.receiveKeys()
        do {
            try account.lookAfterIdentity()
        } catch let error as AccountError where error.code == .refused {
            // Too many links today, or no room: vaults go on, and the next sync tries again.
        }
        return received
    }

    /// The vault's syncer, which stays open.
    package func syncer(for record: VaultRecord) throws -> VaultSyncer { try entry(record).syncer }

    private func entry(_ record: VaultRecord) throws -> (syncer: VaultSyncer, transport: HTTPZoneTransport) {
        if let known = syncers[record.vaultID] { return known }
        let transport = try makeTransport(record.vaultID, account.connection.client)
        let syncer = try VaultSyncer(
            store, record, server: account.connection.settings.address.url, transport: transport, clock: clock,
            people: people
        ) { [account] chain in try account.sendKeys(behind: chain) }
        syncers[record.vaultID] = (syncer, transport)
        return (syncer, transport)
    }

    func makeTransport(_ vault: VaultID, _ client: HTTPClient) throws -> HTTPZoneTransport {
        let account = account
        let transport = HTTPZoneTransport(
            client: client, zone: vault.bytes, device: try store.keyring.deviceID().bytes,
            fields: { account.connection.fields }, renew: { (try? account.renewSession()) != nil })
        transport.isWanted = isWanted
        return transport
    }

    /// The link that closes devices in a vault, on the head that a sync reads now.
    ///
    /// - Parameter revoked: they get no key.
    package func closingLink(
        of record: VaultRecord, with link: UnverifiedLink, _ revoked: Set<UniqueID>, acceptsAnyHead: Bool
    ) throws -> LinkPost.Item? {
        let head = try sync(record, SyncOptions()).serverHead ?? []
        return try store.closingLink(of: record, with: link, on: acceptsAnyHead ? nil : head, clock: clock) {
            [account] in
            try account.sendKeys(sparing: revoked)
        }
    }

    /// What the server has of a vault, if it has anything.
    package func serverHead(of record: VaultRecord) throws -> [UInt8]? {
        let transport = try makeTransport(record.vaultID, account.connection.client)
        switch try transport.send(.head, page: { _ in }) {
        case .head(let head): return head.address
        // A vault that was never sent.
        case .refused(code: "server.zone.unknown"): return nil
        case .refused(let code): throw AccountError(.refused, at: code)
        default: throw transport.lastError ?? HTTPError(.failed)
        }
    }

    /// Fetches all files of the present that are not here, the small ones first. The vault is free for others meanwhile.
    package func fetchFiles(of record: VaultRecord, progress: @escaping (FileProgress) -> Void) throws -> FileTally {
        let vault = try store.openVault(record.vaultID.hex, isWritable: false)
        defer { vault.close() }
        let absent = try vault.absentAttachments().sorted { $0.byteCount < $1.byteCount }
        return try fetch(absent, in: vault, of: record, isAskedFor: false, progress: progress)
    }

    /// Fetches the files of attachments that are not here, as far as there is room.
    ///
    /// - Parameter isAskedFor: a person wants just these.
    package func fetch(
        _ attachments: [Attachment], in vault: Vault, of record: VaultRecord, isAskedFor: Bool,
        progress: @escaping (FileProgress) -> Void
    ) throws -> FileTally {
        let room = DiskRoom(of: store.layout.path)
        let transport = try makeTransport(record.vaultID, account.connection.client)
        do {
            return try store.fetchFiles(
                of: attachments, in: vault, through: transport, hasRoom: { room.has($0, isAskedFor: isAskedFor) },
                progress: progress)
        } catch let error as SyncError where error.code == .unreachable {
            throw transport.lastError ?? error
        }
    }

    /// Fetches the files of a vault that are not here, over a connection of their own.
    ///
    /// - Parameters:
    ///   - hasRoom: whether so many bytes more may lie on this disk.
    ///   - mayGoOn: asked again and again; false ends it with `.fileInterrupted`, and the next call goes on.
    package func fetchFiles(
        of record: VaultRecord, hasRoom: @escaping (_ byteCount: Int) -> Bool, mayGoOn: @escaping () -> Bool,
        progress: @escaping (FileProgress) -> Void
    ) throws -> FileTally {
        let transport: HTTPZoneTransport
        if let known = fileTransports[record.vaultID] {
            transport = known
        } else {
            var settings = account.connection.settings
            // Nobody notices a file that pauses; somebody may notice what waits behind it.
            settings.stallTime = Self.fileStallTime
            transport = try makeTransport(record.vaultID, HTTPClient(settings))
            fileTransports[record.vaultID] = transport
        }
        transport.mayGoOn = mayGoOn
        defer { transport.mayGoOn = nil }
        return try entry(record).syncer.fetchFiles(through: transport, hasRoom: hasRoom, progress: progress)
    }

    private static let fileStallTime = Duration.seconds(5)

    /// Brings one vault and its zone together; a zone that is not there is made.
    package func sync(
        _ record: VaultRecord, _ options: SyncOptions, patienceMilliseconds: Int = 60_000,
        progress: @escaping (SyncProgress) -> Void = { _ in },
        fileProgress: @escaping (FileProgress) -> Void = { _ in }
    ) throws -> SyncReport {
        let (syncer, transport) = try entry(record)
        defer { stated.formUnion(syncer.takeStatedVaults()) }
        func attempt() throws -> SyncReport {
            do {
                let report = try syncer.sync(
                    options, patienceMilliseconds: patienceMilliseconds, progress: progress,
                    fileProgress: fileProgress)
                keyLogNotes.merge(report.keyLogNotes) { max($0, $1) }
                return report
            } catch let error as SyncError where error.code == .unreachable {
                // Why it cannot be reached says more.
                throw transport.lastError ?? error
            } catch let error as SyncError where error.code == .keyAwaited {
                guard let rights = try store.followedChains(of: record.vaultID).rights,
                    let refusal = try askAnew(in: rights)
                else { throw error }
                throw refusal
            }
        }
        do {
            return try attempt()
        } catch let error as SyncError where error.code == .refused || error.code == .chainsRefused {
            guard try lacksZone(record, error, transport) else {
                // Between two questions somebody may have been let in again.
                guard error.cause as? FollowFailure == .rolledBack(chain: record.vaultID.bytes) else { throw error }
                return try attempt()
            }
            // Another person's vault that is not shown is not this person's any more.
            guard try store.isFoundedHere(record) else {
                throw SyncError(.memberUnknown, at: record.name, cause: error)
            }
            // What was there before is not forgotten by this: a zone that is empty now is `sync.head.rolled-back`.
            try account.makeZone(for: record)
            return try attempt()
        }
    }

    /// Reads the server's log, once all chains were followed, and compares what others state of it.
    ///
    /// - Throws: a failure that a person has to look at, or one that may pass (`SyncTrouble`).
    package func readKeyLog(isRestored: Bool = false) throws {
        try account.checkKeyLog(isFollowed: true, isRestored: isRestored, stated: keyLogNotes)
        keyLogNotes = [:]
    }

    /// Whether a sync failed because the vault has no place at the server.
    private func lacksZone(_ record: VaultRecord, _ error: SyncError, _ transport: HTTPZoneTransport) throws -> Bool {
        switch error.code {
        case .refused: return error.place == "server.zone.unknown"
        case .chainsRefused:
            guard error.cause as? FollowFailure == .rolledBack(chain: record.vaultID.bytes) else { return false }
            return try transport.send(.head, page: { _ in }) == .refused(code: "server.zone.unknown")
        default: return false
        }
    }

    /// Vaults of which entries that came in other ones state what is not there, since this was asked last: what their next
    /// syncs look at is new.
    package func takeStatedVaults() -> Set<VaultID> {
        defer { stated = [] }
        return stated
    }

    /// Notes how a sync of a vault went, for `coffret status`.
    package func note(_ record: VaultRecord, _ failure: (any Error)?) {
        records.note(record.vaultID.hex, problem: failure.map { FailureCode.of($0) }, at: clock.now)
    }
}

/// What a failure of syncing says about trying again.
package enum SyncTrouble {
    private static let fullDisk: Set<String> = [SyncError.Code.diskFull.rawValue, StorageError.Code.diskFull.rawValue]

    /// Whether this machine's disk has no room, whatever wanted some.
    package static func isDiskFull(_ error: any Error) -> Bool { fullDisk.contains(FailureCode.of(error)) }

    /// Whether a vault waits for a key: the letter did not come, or was refused, or an older key did not come with it.
    static func lacksKey(_ error: any Error) -> Bool {
        switch error {
        case let error as SyncError: error.code == .keyAwaited || error.code == .historyDiffers
        default: error is SharingError
        }
    }

    private static let passing: Set<String> = ["server.busy", "server.rate.exceeded", "server.storage.unavailable"]

    /// Whether it may pass by itself: a network that is away, a server that is busy. What a server lied about stays.
    package static func isTransient(_ error: any Error) -> Bool {
        switch error {
        case let error as SyncError:
            return error.isTransient || error.code == .refused && passing.contains(error.place ?? "")
        case let error as HTTPError:
            return [.unreachable, .timedOut, .interrupted, .failed, .closed, .upgradeRefused].contains(error.code)
        case let error as AccountError:
            if error.code == .refused { return passing.contains(error.place ?? "") }
            return error.code == .chainBusy || error.cause.map(isTransient) ?? false
        default: return false
        }
    }
}
