// Accounts, devices and vaults for tests of the server, and databases to keep them in.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Synchronization
import Testing

/// A device with its private key.
struct TestDevice: Sendable {
    let id = UniqueID.generate(from: SystemRandomSource())
    let signing = SigningKey.generate(from: SystemRandomSource())
    let keys: DeviceKeys

    /// All that were made, so that who is known by a session can sign.
    private static let all = Mutex<[[UInt8]: SigningKey]>([:])

    static func signingKey(of deviceID: [UInt8]) -> SigningKey? { all.withLock { $0[deviceID] } }

    init() {
        let random = SystemRandomSource()
        keys = DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: random).publicKey,
            noise: AgreementKey.generate(from: random).publicKey)
        let made = (id.bytes, signing)
        Self.all.withLock { $0[made.0] = made.1 }
    }
}

/// A vault of one link.
struct FoundedVault {
    let vaultID: [UInt8]
    let link: [UInt8]

    var item: LinkPost.Item { LinkPost.Item(kind: ChainKind.member.rawValue, chainID: vaultID, link: link) }
}

/// An account with its chain, as its first device holds it.
final class TestAccount {
    let device = TestDevice()
    private(set) var chain: VerifiedDeviceChain

    init() throws {
        chain = try VerifiedDeviceChain.verify([
            VerifiedDeviceChain.found(deviceID: device.id, keys: device.keys, details: [], with: device.signing)
        ])
    }

    var id: [UInt8] { chain.accountID.bytes }
    var firstLink: [UInt8] { chain.links[0].link.encoded }
    var owner: SessionOwner { SessionOwner(accountID: id, deviceID: device.id.bytes) }

    /// The link that adds a device, after the chain as it stands.
    func adding(_ other: TestDevice, _ kind: DeviceKind = .ordinary) -> [UInt8] {
        let operation = DeviceOperation.add(
            id: other.id, kind: kind, keys: other.keys,
            countersignature: DeviceOperation.countersign(
                id: other.id, keys: other.keys, chainID: chain.accountID, sequenceNumber: UInt64(chain.links.count),
                with: other.signing))
        return chain.sign(operation, details: [], with: device.signing).encoded
    }

    func revoking(_ other: TestDevice) -> [UInt8] {
        chain.sign(.revoke(id: other.id), details: [], with: device.signing).encoded
    }

    /// A recovery by a paper device, which replaces all links behind `place` and keeps the first device and itself.
    func recovering(behind place: UInt64, by paper: TestDevice) throws -> [UInt8] {
        let before = try #require(chain.asOf(place))
        return before.sign(.recover(kept: [device.id, paper.id].sorted()), details: [], with: paper.signing).encoded
    }

    /// Takes a link that the server accepted.
    func follow(_ link: [UInt8]) throws { chain = try chain.following([try UnverifiedLink(decoding: link)]).chain }

    /// A new vault of this account.
    func vault(for purpose: VaultPurpose? = nil) throws -> FoundedVault {
        let foundation = VaultFoundation(
            random: SystemRandomSource().bytes(count: 32), accountID: chain.accountID,
            deviceChainHead: chain.head.linkHash, keyCommitment: [UInt8](repeating: 1, count: 32),
            purpose: purpose)
        let link = VerifiedMemberChain.found(foundation, details: [], with: device.signing)
        let verified = try VerifiedMemberChain.verify([link], founder: chain)
        return FoundedVault(vaultID: verified.vaultID.bytes, link: link.encoded)
    }
}

extension ZonePush {
    func signed(for zone: [UInt8], by key: SigningKey) -> ZonePush {
        var push = self
        var hasher = PushedObjectsHasher()
        for object in objects { hasher.add(address: object.address, ciphertext: object.ciphertext) }
        push.signature = ZoneProof.push(
            expectedHead: expectedHead, newHead: newHead, epoch: epoch, hash: hasher.finish()
        ).sign(zone: zone, with: key)
        return push
    }
}

extension ServerStore {
    /// Makes the zone of a vault, or finds it.
    func found(_ vault: FoundedVault, by owner: SessionOwner) throws -> LogHead {
        #expect(
            try take([vault.item], by: owner) == .taken([ChainHead(sequenceNumber: 0, linkHash: vault.vaultID)]))
        return try head(vault.vaultID, for: owner)
    }

    /// A push with the word of the session's device.
    func take(_ push: ZonePush, to zone: [UInt8], by owner: SessionOwner) throws -> PushOutcome {
        guard let key = TestDevice.signingKey(of: owner.deviceID) else { throw ServerFailure(.forbidden) }
        return try self.push(push.signed(for: zone, by: key), to: zone, by: owner)
    }

    func delete(_ zone: [UInt8], by owner: SessionOwner) throws {
        guard let key = TestDevice.signingKey(of: owner.deviceID) else { throw ServerFailure(.forbidden) }
        let signature = ZoneProof.deletion(accountID: owner.accountID).sign(zone: zone, with: key)
        try deleteZone(ZoneDeletion(signature: signature), zone, by: owner)
    }
}

extension ZoneObject {
    /// Random bytes under a random address.
    static func random(byteCount: Int = 100) -> ZoneObject {
        let random = SystemRandomSource()
        return ZoneObject(address: random.bytes(count: 32), ciphertext: random.bytes(count: byteCount))
    }
}

/// A clock that tests move.
final class MovingClock: WallClock, @unchecked Sendable {
    // SAFETY: moved by the one thread of its test.
    var now: Milliseconds = 1_800_000_000_000
}
