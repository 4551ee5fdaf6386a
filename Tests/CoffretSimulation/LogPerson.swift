// A person with devices and one vault of logs. The one thing to keep true: all keys, chains and signatures are real, and
// what a device acknowledged to its person lies on its disk.

package import CoffretBase
package import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretServer
internal import CoffretStorage
package import CoffretSync
package import CoffretTestSupport
package import CoffretTrust
package import CoffretWire

/// An account, which may have several vaults.
package final class LogAccount {
    fileprivate var chain: VerifiedDeviceChain
    fileprivate var identity: LogIdentity?

    fileprivate init(_ chain: VerifiedDeviceChain) { self.chain = chain }
}

/// An account, one vault, and what all of its devices may know of keys.
package final class LogPerson {
    package let random: SeededGenerator
    package let server: any LogSite
    package let record: LogAccount
    package private(set) var chain: VerifiedDeviceChain {
        get { record.chain }
        set { record.chain = newValue }
    }
    package private(set) var devices: [LogDevice] = []
    package let vaultID: VaultID
    package let splitKey: SplitKey
    /// A device on paper.
    package private(set) var sheet: DeviceSecrets?

    /// - Parameter folder: where the first device's store lies on the machine's disk; nil: on one in memory.
    package init(_ random: SeededGenerator, server: any LogSite, folder: String? = nil) throws {
        self.random = random
        self.server = server
        let first = DeviceSecrets(random)
        record = LogAccount(try Self.account(of: first))
        splitKey = .generate(from: random)
        let key = VaultKey.generate(from: random)
        try server.register(record.chain.links[0].link)
        server.admit(first, of: record.chain.accountID)
        vaultID = try Self.found(key, first, record.chain, random, server)
        devices = [try LogDevice(self, first, keys: [1: key], folder: folder)]
    }

    /// Another vault of somebody.
    package init(founding other: LogPerson) throws {
        (random, server, record) = (other.random, other.server, other.record)
        splitKey = .generate(from: random)
        let key = VaultKey.generate(from: random)
        vaultID = try Self.found(key, other.devices[0].secrets, record.chain, random, server)
        for device in other.devices { try adopt(device, keys: [1: key]) }
    }

    /// A person who was let into nothing yet, beside the one who founded the vault.
    ///
    /// - Parameter other: the same account in another vault; nil: somebody with one device.
    package init(guestOf host: LogPerson, as other: LogPerson? = nil) throws {
        (random, server, vaultID, splitKey) = (host.random, host.server, host.vaultID, host.splitKey)
        // Of the newest key nothing is here; that of epoch 1 has to be, for a store to be made.
        let keys = host.devices[0].vaultKeys.filter { $0.key == 1 }
        if let other {
            record = other.record
            for device in other.devices { try adopt(device, keys: keys) }
            return
        }
        let first = DeviceSecrets(random)
        record = LogAccount(try Self.account(of: first))
        try server.register(record.chain.links[0].link)
        server.admit(first, of: record.chain.accountID)
        devices = [try LogDevice(self, first, keys: keys)]
    }

    private static func account(of first: DeviceSecrets) throws -> VerifiedDeviceChain {
        try .verify([VerifiedDeviceChain.found(deviceID: first.id, keys: first.keys, details: [], with: first.signing)])
    }

    private static func found(
        _ key: VaultKey, _ first: DeviceSecrets, _ chain: VerifiedDeviceChain, _ random: SeededGenerator,
        _ server: any LogSite
    ) throws -> VaultID {
        let scope = random.bytes(count: 32)
        let foundation = VaultFoundation(
            random: scope, accountID: chain.accountID, deviceChainHead: chain.head.linkHash,
            keyCommitment: EpochKeys.deriveCommitment(to: key, scope: scope, epoch: 1))
        let link = VerifiedMemberChain.found(foundation, details: [], with: first.signing)
        let vaultID = try VerifiedMemberChain.verify([link], founder: chain).vaultID
        let owner = SessionOwner(accountID: chain.accountID.bytes, deviceID: first.id.bytes)
        let item = LinkPost.Item(kind: ChainKind.member.rawValue, chainID: vaultID.bytes, link: link.encoded)
        let reply = try server.answer(.links(LinkPost([item])), in: vaultID.bytes, by: owner) { _ in }
        guard case .links = reply else { throw SimulationFailure("no vault") }
        return vaultID
    }

    /// A device that the account has elsewhere gets a store of this vault, too.
    @discardableResult
    package func adopt(_ other: LogDevice, keys: [UInt32: VaultKey]) throws -> LogDevice {
        let device = try LogDevice(self, other.secrets, keys: keys)
        devices.append(device)
        return device
    }

    /// What this person receives letters by; nil for who shares nothing.
    package var identity: LogIdentity? { record.identity }
    package private(set) var letters: LogLetters?

    /// Shares from now on.
    func enter(_ circle: LogCircle) throws {
        try renewIdentity()
        letters = LogLetters(self, circle)
    }

    /// A device of the account sets its identity anew where a device went since, and refreshes it in time.
    package func renewIdentity() throws {
        let now = server.clock.now
        guard let device = devices.first(where: { isTrusted($0) }) else { return }
        guard let identity = record.identity, identity.chain.isCurrent(for: AccountDevices(chain)) else {
            record.identity = try LogIdentity(
                chain, after: record.identity, signedBy: device.secrets.signing, now: now, random)
            return
        }
        guard let newest = identity.keys.transients.last, now - newest.since > 30 * 86_400_000 else { return }
        record.identity = try identity.refreshed(chain, signedBy: device.secrets.signing, now: now, random)
    }

    package var account: ChainID { chain.accountID }

    package func isTrusted(_ device: LogDevice) -> Bool { AccountDevices(chain).isTrusted(device.id) }

    /// Adds a device that has the keys of another one, and nothing of the vault.
    ///
    /// - Parameter id: an id that somebody chose; nil: a random one.
    @discardableResult
    package func addDevice(by other: Int = 0, id: UniqueID? = nil, folder: String? = nil) throws -> LogDevice {
        let secrets = try admit(.ordinary, id: id, by: devices[other].secrets)
        let device = try LogDevice(self, secrets, keys: devices[other].vaultKeys, folder: folder)
        devices.append(device)
        return device
    }

    private func admit(_ kind: DeviceKind, id: UniqueID? = nil, by other: DeviceSecrets) throws -> DeviceSecrets {
        let secrets = DeviceSecrets(random, id: id)
        let proof = DeviceOperation.countersign(
            id: secrets.id, keys: secrets.keys, chainID: account, sequenceNumber: UInt64(chain.links.count),
            with: secrets.signing)
        let operation = DeviceOperation.add(
            id: secrets.id, kind: kind, keys: secrets.keys, countersignature: proof)
        try post(chain.sign(operation, details: [], with: other.signing), by: other)
        server.admit(secrets, of: account)
        return secrets
    }

    // MARK: By paper

    package func addSheet(by other: LogDevice) throws { sheet = try admit(.paper, by: other.secrets) }

    /// Adds a device by the sheet alone, with the keys that were sealed to it: all that trusted devices have.
    package func joinByPaper() throws -> LogDevice {
        guard let sheet else { throw SimulationFailure("no sheet") }
        var keys: [UInt32: VaultKey] = [:]
        for device in devices { keys.merge(device.vaultKeys) { key, _ in key } }
        let device = try LogDevice(self, admit(.ordinary, by: sheet), keys: keys)
        devices.append(device)
        return device
    }

    /// Takes all devices out of the account but one and the sheet.
    package func recover(keeping device: LogDevice) throws {
        guard let sheet else { throw SimulationFailure("no sheet") }
        try post(
            chain.sign(.recover(kept: [device.id, sheet.id].sorted()), details: [], with: sheet.signing), by: sheet)
    }

    /// A copy of a device's store, which goes on beside it.
    package func addCopy(of other: LogDevice) throws -> LogDevice {
        let copy = try LogDevice(copying: other)
        devices.append(copy)
        return copy
    }

    package func revoke(_ device: LogDevice, by other: LogDevice) throws {
        try post(chain.sign(.revoke(id: device.id), details: [], with: other.secrets.signing), by: other.secrets)
    }

    /// Asks the server by hand, as a device or as the first one.
    package func ask(
        _ request: LogRequest, by device: LogDevice? = nil, page: (LogPage) -> Void = { _ in }
    ) throws -> LogReply {
        try server.answer(request, in: vaultID.bytes, by: (device ?? devices[0]).owner, page: page)
    }

    /// The zone's head.
    package func head() throws -> LogHead? { if case .head(let head) = try ask(.head) { head } else { nil } }

    package func acknowledgements() throws -> [Acknowledgements.Entry] {
        if case .acknowledgements(let list) = try ask(.acknowledgements) { list } else { [] }
    }

    /// All objects of the zone.
    package func objects() throws -> [ZoneObject] {
        var objects: [ZoneObject] = []
        _ = try ask(.changes(since: [])) { objects += $0.objects }
        return objects
    }

    /// What a device would push now; the server does not get it.
    package func stolenPush(of device: LogDevice) throws -> [ZoneObject] {
        var stolen: [ZoneObject] = []
        device.intercept = { request in
            guard case .push(let push) = request else { return nil }
            stolen += push.objects
            return .unreachable
        }
        defer { device.intercept = nil }
        _ = try? device.sync()
        return stolen
    }

    private func post(_ link: UnverifiedLink, by device: DeviceSecrets) throws {
        let item = LinkPost.Item(kind: ChainKind.device.rawValue, chainID: account.bytes, link: link.encoded)
        let owner = SessionOwner(accountID: account.bytes, deviceID: device.id.bytes)
        let reply = try server.answer(.links(LinkPost([item])), in: vaultID.bytes, by: owner) { _ in }
        guard case .links = reply else { throw SimulationFailure("no link") }
        chain = try chain.following([link]).chain
    }

    func item(of link: UnverifiedLink) -> LinkPost.Item {
        LinkPost.Item(kind: ChainKind.device.rawValue, chainID: account.bytes, link: link.encoded)
    }

    /// Sends links in one request. The account's chain goes on with the device links that the server took.
    package func send(_ post: LinkPost, by device: LogDevice) throws -> LogReply {
        let reply = try ask(.links(post), by: device)
        guard case .links = reply else { return reply }
        for item in post.items where item.kind == ChainKind.device.rawValue {
            chain = try chain.following([UnverifiedLink(decoding: item.link)]).chain
        }
        return reply
    }
}

package struct SimulationFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// A device's id and private keys.
package struct DeviceSecrets {
    package let id: UniqueID
    package let signing: SigningKey
    package let keys: DeviceKeys

    package init(_ random: SeededGenerator, id chosen: UniqueID? = nil) {
        id = chosen ?? .generate(from: random)
        signing = .generate(from: random)
        keys = DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: random).publicKey,
            noise: AgreementKey.generate(from: random).publicKey)
    }
}
