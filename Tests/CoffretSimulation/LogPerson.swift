// A person with devices and one vault of logs. The one thing to keep true: all keys, chains and signatures are real, and
// what a device acknowledged to its person lies on its disk.

package import CoffretBase
package import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretServer
internal import CoffretStorage
package import CoffretSync
package import CoffretTestSupport
package import CoffretTrust
package import CoffretWire

/// An account, its vault, and what all of its devices may know of keys.
package final class LogPerson {
    package let random: SeededGenerator
    package let server: any LogSite
    package private(set) var chain: VerifiedDeviceChain
    package private(set) var devices: [LogDevice] = []
    package let vaultID: VaultID
    package let splitKey: SplitKey

    package init(_ random: SeededGenerator, server: any LogSite) throws {
        self.random = random
        self.server = server
        let first = DeviceSecrets(random)
        chain = try .verify([
            VerifiedDeviceChain.found(deviceID: first.id, keys: first.keys, details: [], with: first.signing)
        ])
        splitKey = .generate(from: random)
        let key = VaultKey.generate(from: random)
        try server.register(chain.links[0].link)
        server.admit(first, of: chain.accountID)
        let scope = random.bytes(count: 32)
        let foundation = VaultFoundation(
            random: scope, accountID: chain.accountID, deviceChainHead: chain.head.linkHash,
            keyCommitment: EpochKeys.deriveCommitment(to: key, scope: scope, epoch: 1))
        let link = VerifiedMemberChain.found(foundation, details: [], with: first.signing)
        vaultID = try VerifiedMemberChain.verify([link], founder: chain).vaultID
        let owner = SessionOwner(accountID: chain.accountID.bytes, deviceID: first.id.bytes)
        let item = LinkPost.Item(kind: ChainKind.member.rawValue, chainID: vaultID.bytes, link: link.encoded)
        let reply = try server.answer(.links(LinkPost([item])), in: vaultID.bytes, by: owner) { _ in }
        guard case .links = reply else { throw SimulationFailure("no vault") }
        devices = [try LogDevice(self, first, keys: [1: key])]
    }

    package var account: ChainID { chain.accountID }

    package func isTrusted(_ device: LogDevice) -> Bool { AccountDevices(chain).isTrusted(device.id) }

    /// Adds a device that has the keys of another one, and nothing of the vault.
    @discardableResult
    package func addDevice(by other: Int = 0) throws -> LogDevice {
        let secrets = DeviceSecrets(random)
        let proof = DeviceOperation.countersign(
            id: secrets.id, keys: secrets.keys, chainID: account, sequenceNumber: UInt64(chain.links.count),
            with: secrets.signing)
        let operation = DeviceOperation.add(
            id: secrets.id, kind: .ordinary, keys: secrets.keys, countersignature: proof)
        try post(chain.sign(operation, details: [], with: devices[other].secrets.signing), by: devices[other])
        server.admit(secrets, of: account)
        let device = try LogDevice(self, secrets, keys: devices[other].vaultKeys)
        devices.append(device)
        return device
    }

    /// A copy of a device's store, which goes on beside it.
    package func addCopy(of other: LogDevice) throws -> LogDevice {
        let copy = try LogDevice(copying: other)
        devices.append(copy)
        return copy
    }

    package func revoke(_ device: LogDevice, by other: LogDevice) throws {
        try post(chain.sign(.revoke(id: device.id), details: [], with: other.secrets.signing), by: other)
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

    private func post(_ link: UnverifiedLink, by device: LogDevice) throws {
        guard case .links = try send(LinkPost([item(of: link)]), by: device) else { throw SimulationFailure("no link") }
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

    package init(_ random: SeededGenerator) {
        id = .generate(from: random)
        signing = .generate(from: random)
        keys = DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: random).publicKey,
            noise: AgreementKey.generate(from: random).publicKey)
    }
}
