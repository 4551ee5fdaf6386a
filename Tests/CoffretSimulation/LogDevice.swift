// A device with its copy of the vault, on a disk in memory. The one thing to keep true: the sync is the product's, over
// the product's store.

package import CoffretBase
package import CoffretCrypto
package import CoffretHistory
package import CoffretLogs
package import CoffretServer
package import CoffretStorage
package import CoffretSync
package import CoffretTestSupport
package import CoffretTrust
package import CoffretWire

package final class LogDevice: LogKeyring {
    package unowned let person: LogPerson
    package let secrets: DeviceSecrets
    package var vaultKeys: [UInt32: VaultKey]
    package private(set) var disk = SimulatedFileSystem()
    package private(set) var repository: LogRepository
    /// What the next process goes on from.
    private var followed: [UInt8]?
    /// This device's clock is so far from the world's.
    package var clockError: Milliseconds = 0
    /// Stands between this device and the server; nil: the server answers.
    package var intercept: ((LogRequest) throws -> LogReply?)?
    /// Called with entries before they are pushed.
    package var willPush: ([VerifiedEntry]) throws -> Void = { _ in }
    /// Asked before each request about chunks; false: there is no answer.
    package var chunksPass: () -> Bool = { true }
    /// Changes what the server shows.
    package var lie: (LogReply) -> LogReply = { $0 }
    /// Objects that the server shows with every list, and by their addresses, whoever made them.
    package var serverAlso: [ZoneObject] = []
    package private(set) var requests: [LogRequest] = []
    private let local: LocalKey

    /// - Parameter folder: where the store lies on the machine's disk; nil: on one in memory.
    package init(
        _ person: LogPerson, _ secrets: DeviceSecrets, keys: [UInt32: VaultKey], folder: String? = nil
    ) throws {
        self.person = person
        self.secrets = secrets
        vaultKeys = keys
        local = .generate(from: person.random)
        let place: any FileSystem = folder == nil ? disk : PosixFileSystem()
        repository = try LogRepository.create(
            directory: folder ?? "vault", keys: Self.keys(person, keys, local), author: Self.author(person, secrets),
            chains: VaultChains(accounts: [:], members: MemberState()), environment: Self.environment(person, place),
            isText: Self.isText)
    }

    /// A copy of a device's store as it lies on its disk, or lay there.
    package init(copying other: LogDevice, _ saved: SavedStore? = nil) throws {
        let saved = saved ?? other.save()
        (person, secrets, local) = (other.person, other.secrets, other.local)
        (disk, followed, vaultKeys) = (saved.disk.syncedCopy(), saved.followed, saved.keys)
        (offered, clockError) = (other.offered, other.clockError)
        repository = try Self.open(person, secrets, vaultKeys, local, saved.chains, disk)
    }

    /// What a backup of the store has.
    package struct SavedStore {
        let disk: SimulatedFileSystem
        let followed: [UInt8]?
        let keys: [UInt32: VaultKey]
        let chains: VaultChains
    }

    package func save() -> SavedStore {
        SavedStore(disk: disk.syncedCopy(), followed: followed, keys: vaultKeys, chains: repository.chains)
    }

    /// Puts a backup in the place of the store.
    package func putBack(_ saved: SavedStore) throws {
        if !disk.isPoweredOff { repository.close() }
        (disk, followed) = (saved.disk.syncedCopy(), saved.followed)
        repository = try Self.open(person, secrets, vaultKeys, local, saved.chains, disk)
    }

    /// The chains as the last sync left them.
    package var chains: FollowedChains? { followed.flatMap { FollowedChains(decoding: $0) }.map(finished) }

    private var knownRights: (bytes: [UInt8], rights: VerifiedMemberRights?)?

    /// The rights by all links that the last sync brought.
    package var rights: VerifiedMemberRights? {
        guard let followed else { return nil }
        if let knownRights, knownRights.bytes == followed { return knownRights.rights }
        let rights = chains?.rights
        knownRights = (followed, rights)
        return rights
    }

    private func finished(_ chains: FollowedChains) -> FollowedChains {
        var chains = chains
        _ = try? chains.finish(keys: self)
        return chains
    }

    package var id: UniqueID { secrets.id }
    package var owner: SessionOwner { SessionOwner(accountID: person.account.bytes, deviceID: id.bytes) }
    package var now: Milliseconds { person.server.clock.now + clockError }

    package var splitKey: SplitKey { person.splitKey }

    package func vaultKey(ofEpoch epoch: UInt32) -> VaultKey? { vaultKeys[epoch] }

    /// Keys that were made here or came in boxes, and that no link has yet.
    package var offered: [(epoch: UInt32, key: VaultKey)] = []

    package func makeKey(ofEpoch epoch: UInt32) throws -> MadeKey {
        let key = VaultKey.generate(from: person.random)
        offered.append((epoch, key))
        // With the link, in boxes to all that are trusted.
        for other in person.devices where other !== self && person.isTrusted(other) {
            other.offered.append((epoch, key))
        }
        return MadeKey(epoch: epoch, key: key)
    }

    package func settle(_ members: VerifiedMemberRights) throws {
        for (epoch, key) in offered where vaultKeys[epoch] == nil && members.commits(to: key, ofEpoch: epoch) {
            vaultKeys[epoch] = key
        }
        // A device that lacks a key asks the others.
        for other in person.devices where person.isTrusted(self) && person.isTrusted(other) {
            for (epoch, key) in other.vaultKeys
            where vaultKeys[epoch] == nil && members.commits(to: key, ofEpoch: epoch) {
                vaultKeys[epoch] = key
            }
        }
        let newest = members.keyCommitments.keys.max() ?? 1
        offered.removeAll { $0.epoch <= newest }
    }

    package func offer(_ keys: [UInt32: VaultKey]) throws {
        for (epoch, key) in keys.sorted(by: { $0.key < $1.key }) { offered.append((epoch, key)) }
    }

    private static func keys(_ person: LogPerson, _ keys: [UInt32: VaultKey], _ local: LocalKey) -> VaultKeys {
        VaultKeys(vaultID: person.vaultID, vaultKeys: keys, splitKey: person.splitKey, localKey: local)
    }

    private static func author(_ person: LogPerson, _ secrets: DeviceSecrets) throws -> LogAuthor {
        guard let head = ChainPosition(person.chain.head) else { throw SimulationFailure("no head") }
        return LogAuthor(
            accountID: person.account, deviceID: secrets.id, deviceHead: head, signingKey: secrets.signing)
    }

    static func environment(_ person: LogPerson, _ disk: any FileSystem) -> StorageEnvironment {
        var tuning = StorageTuning()
        if disk is SimulatedFileSystem {
            // So small that segments of a short world are sealed and merged, and its disks are copied quickly.
            (tuning.segmentByteCountMin, tuning.segmentByteCountMax) = (32 << 10, 256 << 10)
        }
        return StorageEnvironment(
            fileSystem: disk, random: person.random, clock: person.server.clock, tuning: tuning)
    }

    /// Closes the store and opens it as the next process does, with the keys that are here now.
    package func reopen() throws {
        if !disk.isPoweredOff { repository.close() }
        repository = try Self.open(person, secrets, vaultKeys, local, repository.chains, disk)
    }

    private static func open(
        _ person: LogPerson, _ secrets: DeviceSecrets, _ vaultKeys: [UInt32: VaultKey], _ local: LocalKey,
        _ chains: VaultChains, _ disk: SimulatedFileSystem
    ) throws -> LogRepository {
        let repository = try LogRepository.open(
            directory: "vault", keys: keys(person, vaultKeys, local), author: author(person, secrets), chains: chains,
            mode: .readWrite(lockTimeoutMilliseconds: 0), environment: environment(person, disk), isText: isText)
        // Worlds are small, and this happens in large ones.
        repository.policy.receivedCountMax = 3
        return repository
    }

    /// One sync.
    @discardableResult
    package func sync(_ options: LogSync.Options = LogSync.Options()) throws -> LogReport {
        var report = try syncOnce(options)
        var options = options
        for _ in 0..<8 where report.changedKeys {
            try reopen()
            let before = report
            // A wish is done once.
            if before.changeNumber != nil { (options.change, options.shown) = (nil, nil) }
            report = try syncOnce(options)
            report.linkCount += before.linkCount
            report.changeNumber = report.changeNumber ?? before.changeNumber
            report.wrongOlderKeys += before.wrongOlderKeys
        }
        return report
    }

    /// Begins a sync that goes on request by request, whatever others do in between.
    package func begin(_ options: LogSync.Options = LogSync.Options()) -> LogRun {
        let follower = followed.flatMap { MemberFollower(decoding: $0) } ?? MemberFollower(vaultID: person.vaultID)
        let sync = LogSync(repository: repository, follower: follower, keys: self, options: options)
        sync.willPush = { [unowned self] entries in try sendFiles(of: entries) }
        sync.people = person.letters
        return LogRun(device: self, sync: sync)
    }

    /// Takes the next step of a sync.
    ///
    /// - Returns: the report at the end; nil before.
    package func step(_ run: LogRun) throws -> LogReport? {
        defer { followed = run.sync.follower.encoded }
        guard let request = try run.sync.next(now: now) else {
            if run.sync.report.changedKeys { try reopen() }
            return run.sync.report
        }
        try run.sync.take(lie(answer(request, to: run.sync)), now: now)
        return nil
    }

    /// Power fails; what was durable is there, and of the rest some.
    ///
    /// - Parameter found: a disk that is found in its place: one that lost what was durable.
    package func crash(_ found: SimulatedFileSystem? = nil) throws {
        disk = found ?? disk.restarted(keeping: person.random)
        try reopen()
    }

    private struct Cut: Error {}

    private func answer(_ request: LogRequest, to sync: LogSync) throws -> LogReply {
        if let reply = try intercept?(request) { return reply }
        do {
            return try person.server.answer(request, in: person.vaultID.bytes, by: owner) { page in
                guard case .page(let shown) = lie(.page(page)) else { throw Cut() }
                try sync.take(.page(shown), now: now)
            }
        } catch is Cut { return .unreachable }
    }

    private func syncOnce(_ options: LogSync.Options) throws -> LogReport {
        let follower = followed.flatMap { MemberFollower(decoding: $0) } ?? MemberFollower(vaultID: person.vaultID)
        let sync = LogSync(repository: repository, follower: follower, keys: self, options: options)
        sync.willPush = { [self] entries in
            try sendFiles(of: entries)
            try willPush(entries)
        }
        sync.people = person.letters
        defer { followed = sync.follower.encoded }
        requests = []
        while let request = try sync.next(now: now) {
            requests.append(request)
            if let page = shownAlso(for: request) { try sync.take(.page(page), now: now) }
            try sync.take(lie(answer(request, to: sync)), now: now)
        }
        return sync.report
    }

    /// An object that a server lists it gives by its address, too: else it would take back what it gave (F5).
    private func shownAlso(for request: LogRequest) -> LogPage? {
        let (objects, cursor): ([ZoneObject], [UInt8])
        switch request {
        case .changes(let since): (objects, cursor) = (serverAlso, since)
        case .fetch(let addresses):
            let wanted = Set(addresses.map(\.bytes))
            (objects, cursor) = (serverAlso.filter { wanted.contains($0.address) }, [])
        default: return nil
        }
        return objects.isEmpty ? nil : LogPage(objects: objects, cursor: cursor, hasMore: false)
    }

    /// What a revocation by this device sends in one request: the device link, and the vault's closing link (K2).
    ///
    /// - Parameter head: the zone's, as this device read it; nil: any.
    package func revocation(of other: LogDevice, on head: [UInt8]?) throws -> LinkPost {
        guard let follower = followed.flatMap({ MemberFollower(decoding: $0) }) else {
            throw SimulationFailure("a device that never synced")
        }
        let link = person.chain.sign(.revoke(id: other.id), details: [], with: secrets.signing)
        var chains = follower.chains
        try chains.finish(keys: self)
        let closing = try ClosingLink.item(with: link, repository, chains, keys: self, on: head, now: now)
        return LinkPost([person.item(of: link)] + [closing].compactMap(\.self))
    }

    // MARK: Items

    package static func isText(_ key: FactKey) -> Bool { key.attribute == "text" }

    package static func text(_ number: Int) -> FactKey {
        let uuid = [UInt8](repeating: 0, count: 12) + UInt32(number).bigEndianBytes
        guard let id = UniqueID(bytes: uuid) else { preconditionFailure("16 bytes are an id") }
        return FactKey(entity: EntityID(kind: 110, uuid: id), attribute: "text")
    }

    package func put(_ key: FactKey, _ value: String) throws {
        try repository.commit([LogChange(key: key, value: Array(value.utf8))], time: now)
    }

    /// What is shown under a key.
    package func shown(_ key: FactKey) throws -> String? {
        try repository.shownText(under: key)?.text.map { String(decoding: $0, as: UTF8.self) }
    }

    /// All facts, for comparing.
    package func facts() throws -> [Fact] {
        var facts: [Fact] = []
        try repository.present().forEachFact { facts.append($0) }
        return facts
    }
}

/// A sync under way.
package struct LogRun {
    package let device: LogDevice
    let sync: LogSync
}

extension LogDevice {
    /// Where this device stands, for who looks at a world that failed.
    package func summary() throws -> String {
        let keys = repository.keys.epochs
        return try repository.step { (machine) throws(StorageError) in
            let due = try machine.due()
            var here: [String] = []
            for instance in try machine.store.index.instances() {
                let numbers = try machine.store.index.records(of: instance).map {
                    "\($0.dot.number)\($0.isBare ? "-" : "") \($0.name.description.prefix(4))"
                }
                here.append("\(instance.hex.prefix(4)) \(numbers)")
            }
            let marks = machine.frontier.sorted.map {
                "\($0.instance.hex.prefix(4)) \($0.mark.number) \($0.mark.name.description.prefix(4))"
            }
            let state = machine.members.newestState
            let missing = try machine.missingNames(head: nil, behind: machine.unappliedNames())
            return "epochs \(keys) of \(state.oldestEpoch)...\(state.epoch), links \(machine.members.takenCount) of "
                + "\(machine.members.chain.count), base \(machine.base ?? -1) \(machine.baseTrust), writes \(machine.mayWrite), "
                + "due \(due.closings.count) \(due.ends.count) \(due.betterRoot), frontier \(marks), "
                + "forked \(machine.forked.map { $0.hex.prefix(4) }), accepts "
                + "\(machine.members.chain.states.map { $0.accepted.sorted.map { "\($0.instance.hex.prefix(4)) \($0.mark.number)" } }), "
                + "here \(here), missing \(missing)"
        }
    }

    /// Entries that links accept, or that entries name, and that are not here.
    package func missingNames() throws -> Set<BlobName> {
        try repository.step { (machine) throws(StorageError) in
            try machine.missingNames(head: nil, behind: machine.unappliedNames())
        }
    }

    /// Own entries that the server has not taken, as far as this device knows.
    package func unacknowledged() throws -> Set<BlobName> {
        let memory = LogMemory(decoding: repository.syncMemory) ?? LogMemory()
        return try ServedLogs(memory, in: repository).unacknowledged(in: repository)
    }

    /// What the devices say that they have; this one says its word.
    @discardableResult
    package func audit() throws -> LogAudit {
        let acknowledger = LogAcknowledger(repository: repository)
        while let request = try acknowledger.next(now: now) {
            try acknowledger.take(lie(reply(to: request)), now: now)
        }
        return acknowledger.audit
    }

    /// Has the server collect what was asked for.
    ///
    /// - Parameter meanwhile: others act, between what this device knows and what it asks for.
    package func collect(
        _ audit: LogAudit, partCountMax: Int = ServerLimits.sweepAddressCountMax, meanwhile: () throws -> Void = {}
    ) throws -> LogCollector.Outcome {
        let collector = LogCollector(
            repository: repository, audit: audit, chunks: try unneededChunks(meanwhile), partCountMax: partCountMax)
        while let request = try collector.next(now: now) { try collector.take(reply(to: request)) }
        return collector.outcome
    }

    private func reply(to request: LogRequest) throws -> LogReply {
        if let reply = try intercept?(request) { return reply }
        return try person.server.answer(request, in: person.vaultID.bytes, by: owner) { _ in }
    }
}
