// A vault with real keys and signatures, and its devices' repositories on simulated disks. Links are folded by hand: that
// they are verified, other suites show.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Foundation
import Testing

@testable import CoffretHistory
@testable import CoffretLogs

/// An account's device, and the disk of its store.
struct LogDevice {
    let id: UniqueID
    let signing: SigningKey
    let keys: DeviceKeys
    var disk = SimulatedFileSystem()

    init(_ generator: SeededGenerator) {
        id = .generate(from: generator)
        signing = .generate(from: generator)
        keys = DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: generator).publicKey,
            noise: AgreementKey.generate(from: generator).publicKey)
    }
}

/// Collects notices from whatever thread they come.
final class NoticeLog: @unchecked Sendable {
    // SAFETY: `list` is touched under `lock` only.
    private let lock = NSLock()
    private var list: [StorageNotice] = []

    var notices: [StorageNotice] { lock.withLock { list } }
    func add(_ notice: StorageNotice) { lock.withLock { list.append(notice) } }
}

final class LogWorld {
    let generator: SeededGenerator
    let vaultID: VaultID
    let keys: VaultKeys
    /// The devices of the one account.
    var devices: [LogDevice]
    private(set) var chain: VerifiedDeviceChain
    private(set) var members = MemberState()
    var tuning = StorageTuning()
    var policy = LocalCheckpointPolicy.shortLived
    private let log = NoticeLog()
    var notices: [StorageNotice] { log.notices }
    let clock = ManualClock()

    init(seed: UInt64 = 1, deviceCount: Int = 1) throws {
        let generator = SeededGenerator(seed: seed)
        self.generator = generator
        guard let vaultID = VaultID(generator.bytes(count: 32)) else { preconditionFailure("an id has 32 bytes") }
        self.vaultID = vaultID
        keys = VaultKeys.generate(vaultID: vaultID, from: generator)
        let first = LogDevice(generator)
        devices = [first]
        chain = try .verify([
            VerifiedDeviceChain.found(deviceID: first.id, keys: first.keys, details: [], with: first.signing)
        ])
        for _ in 1..<max(deviceCount, 1) { try addDevice() }
        link(roles: [account: .owner])
        link()
    }

    var account: ChainID { chain.accountID }

    func addDevice() throws {
        let device = LogDevice(generator)
        let proof = DeviceOperation.countersign(
            id: device.id, keys: device.keys, chainID: account, sequenceNumber: UInt64(chain.links.count),
            with: device.signing)
        let operation = DeviceOperation.add(
            id: device.id, kind: .ordinary, keys: device.keys, countersignature: proof)
        chain = try chain.following([chain.sign(operation, details: [], with: devices[0].signing)]).chain
        devices.append(device)
    }

    var chains: VaultChains { VaultChains(accounts: [account: AccountDevices(chain)], members: members) }

    var head: Bytes32 {
        guard let hash = Bytes32(chain.head.linkHash) else { preconditionFailure("a hash has 32 bytes") }
        return hash
    }

    /// A link of device 0.
    @discardableResult
    func link(
        roles: [ChainID: MemberRole?] = [:], opensEpoch: Bool = false, checkpoint: Checkpoint? = nil,
        time: Milliseconds? = nil
    ) -> Int {
        members.append(preview(roles: roles, opensEpoch: opensEpoch, checkpoint: checkpoint, time: time))
        return members.count - 1
    }

    /// The next link of device 0.
    func preview(
        roles: [ChainID: MemberRole?] = [:], opensEpoch: Bool = false, checkpoint: Checkpoint? = nil,
        time: Milliseconds? = nil
    ) -> VerifiedMemberLink {
        VerifiedMemberLink(
            MemberEffect(
                number: members.count, hash: Bytes32(UInt64(members.count + 1), 2, 0, 0), accountID: account,
                deviceID: devices[0].id, roleChanges: roles, accepts: Set(members.count == 0 ? [account] : []),
                confirms: [], heads: [account: head], opensEpoch: opensEpoch, keyCommitment: nil,
                splitKeyCommitment: nil, endsReading: false),
            checkpoint: checkpoint, details: time.map { MemberDetails(time: $0) })
    }

    func author(_ device: Int, writes: Bool = true) throws -> LogAuthor {
        LogAuthor(
            accountID: account, deviceID: devices[device].id, deviceHead: try #require(ChainPosition(chain.head)),
            signingKey: writes ? devices[device].signing : nil)
    }

    func environment(_ disk: any FileSystem) -> StorageEnvironment {
        let log = log
        return StorageEnvironment(
            fileSystem: disk, random: generator, clock: clock, tuning: tuning, notify: { log.add($0) })
    }

    // MARK: Repositories

    func create(_ device: Int = 0, on disk: (any FileSystem)? = nil) throws -> LogRepository {
        let made = try LogRepository.create(
            directory: "vault", keys: keys, author: author(device), chains: chains,
            environment: environment(disk ?? devices[device].disk), isText: Self.isText)
        made.policy = policy
        return made
    }

    func open(
        _ device: Int = 0, on disk: (any FileSystem)? = nil,
        mode: BlobStore.Mode = .readWrite(lockTimeoutMilliseconds: 0), writes: Bool = true
    ) throws -> LogRepository {
        let opened = try LogRepository.open(
            directory: "vault", keys: keys, author: author(device, writes: writes), chains: chains, mode: mode,
            environment: environment(disk ?? devices[device].disk), isText: Self.isText)
        opened.policy = policy
        return opened
    }

    // MARK: Facts

    static func isText(_ key: FactKey) -> Bool { key.attribute == "text" }

    static func item(_ number: Int) -> EntityID {
        EntityID(kind: 110, uuid: UniqueID(bytes: [UInt8](repeating: 0, count: 12) + UInt32(number).bigEndianBytes)!)
    }

    static func title(_ number: Int) -> FactKey { FactKey(entity: item(number), attribute: "title") }
    static func text(_ number: Int) -> FactKey { FactKey(entity: item(number), attribute: "text") }

    static func put(_ key: FactKey, _ value: String?, replaces: [Dot]? = nil) -> LogChange {
        LogChange(key: key, value: value.map { Array($0.utf8) }, replaces: replaces)
    }

    /// Sends all entries that one repository has and another lacks, as a sync would.
    func send(from: LogRepository, to: LogRepository, memory: [UInt8]? = nil) throws {
        let names = try from.records()
        let verifier = EntryVerifier(vaultID: vaultID, authority: try to.members())
        let batch = try to.beginReceiving()
        for record in names {
            let entry = try #require(try from.files.entry(named: record.name))
            var content: [UInt8] = []
            for name in try from.blobNames(of: entry) {
                let blob = try from.exchange.sealedBlob(name)
                let opened = try to.exchange.openSealed(blob) { (opened, _, bytes) in
                    if name == entry.name { content = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) } }
                    return opened
                }
                try #require(opened == name)
                try batch.write(blob, name: name)
            }
            let read = try UnverifiedEntry.decode(content, name: record.name) { _ in entry.context }
            let signed = try verifier.verifySignature(of: read)
            if try batch.takes(signed, byteCount: content.count) { try batch.take(signed, byteCount: content.count) }
        }
        try batch.finish(memory: memory)
    }
}

extension LogRepository {
    /// What is kept, by height.
    func records() throws(StorageError) -> [LogIndex.Record] {
        try ask { (machine) throws(StorageError) in
            var records: [LogIndex.Record] = []
            try machine.store.index.forEachRecord { (record) in records.append(record) }
            return records.sorted { ($0.height, $0.dot) < ($1.height, $1.dot) }
        }
    }

    func members() throws(StorageError) -> MemberView { try ask { (machine) in machine.members } }

    /// Values under a key as texts, ascending.
    func texts(_ key: FactKey) throws -> [String] {
        try present().facts(under: key).map { fact in
            String(decoding: try value(of: fact.content.inEntry, under: key), as: UTF8.self)
        }.sorted()
    }

    /// All facts, for comparing.
    func allFacts() throws -> [Fact] {
        var facts: [Fact] = []
        try present().forEachFact { facts.append($0) }
        return facts
    }
}
