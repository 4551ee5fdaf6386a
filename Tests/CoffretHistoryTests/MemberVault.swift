// Accounts, devices and a vault with real keys and signatures, for tests of member links.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Testing

struct MemberDevice {
    let id: UniqueID
    let kind: DeviceKind
    let signing: SigningKey
    let keys: DeviceKeys

    init(_ generator: SeededGenerator, kind: DeviceKind = .ordinary) {
        self.kind = kind
        id = .generate(from: generator)
        signing = .generate(from: generator)
        keys = DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: generator).publicKey,
            noise: AgreementKey.generate(from: generator).publicKey)
    }
}

/// An account with the branches that recoveries replaced.
struct MemberAccount {
    private(set) var chain: VerifiedDeviceChain
    private(set) var replaced: [VerifiedDeviceChain] = []
    var devices: [MemberDevice]

    init(_ generator: SeededGenerator) throws {
        let first = MemberDevice(generator)
        devices = [first]
        chain = try .verify([
            VerifiedDeviceChain.found(deviceID: first.id, keys: first.keys, details: [], with: first.signing)
        ])
    }

    var id: ChainID { chain.accountID }
    var known: AccountDevices { AccountDevices(chain, replaced: replaced) }
    var head: Bytes32 { Bytes32(chain.head.linkHash)! }

    mutating func add(_ device: MemberDevice, by signer: Int = 0) throws {
        let proof = DeviceOperation.countersign(
            id: device.id, keys: device.keys, chainID: id, sequenceNumber: UInt64(chain.links.count),
            with: device.signing)
        try append(.add(id: device.id, kind: device.kind, keys: device.keys, countersignature: proof), by: signer)
        devices.append(device)
    }

    mutating func append(_ operation: DeviceOperation, by signer: Int = 0) throws {
        let link = chain.sign(operation, details: [], with: devices[signer].signing)
        chain = try chain.following([link]).chain
    }

    /// A recovery by paper that replaces all links behind `place`.
    mutating func recover(behind place: UInt64, keeping kept: [Int], by paper: Int) throws {
        let before = try #require(chain.asOf(place))
        let link = before.sign(
            .recover(kept: kept.map { devices[$0].id }.sorted()), details: [], with: devices[paper].signing)
        replaced.append(chain)
        chain = try chain.following([link]).chain
    }
}

/// A vault with its member chain.
struct MemberVault: MemberKeys {
    let generator: SeededGenerator
    var accounts: [MemberAccount]
    var keys: [UInt32: VaultKey]
    let splitKey: SplitKey
    var members: VerifiedMembers
    private(set) var newest: UnverifiedLink

    init(_ generator: SeededGenerator, accounts: [MemberAccount]) throws {
        self.generator = generator
        self.accounts = accounts
        splitKey = .generate(from: generator)
        let first = VaultKey.generate(from: generator)
        keys = [1: first]
        let random = generator.bytes(count: 32)
        let foundation = VaultFoundation(
            random: random, accountID: accounts[0].id, deviceChainHead: accounts[0].head.bytes,
            keyCommitment: EpochKeys.deriveCommitment(to: first, scope: random, epoch: 1))
        newest = VerifiedMemberChain.found(foundation, details: [], with: accounts[0].devices[0].signing)
        members = try VerifiedMembers(founding: newest, founder: accounts[0].known, chain: accounts[0].chain)
    }

    func vaultKey(ofEpoch epoch: UInt32) -> VaultKey? { keys[epoch] }

    var known: [ChainID: AccountDevices] {
        Dictionary(uniqueKeysWithValues: accounts.map { ($0.id, $0.known) })
    }

    func operation(
        _ kind: MemberOperation.Kind, by account: Int = 0, head: Bytes32? = nil, confirms: [ChainID] = [],
        heads: [StatedHead] = [], opening: EpochOpening? = nil
    ) -> MemberOperation {
        MemberOperation(
            kind, by: accounts[account].id, deviceHead: head ?? accounts[account].head, confirms: confirms,
            heads: heads,
            opening: opening)
    }

    /// A further epoch, whose key is made here.
    mutating func opening(_ epoch: UInt32? = nil) -> EpochOpening {
        let epoch = epoch ?? members.state.states.last!.epoch + 1
        let key = keys[epoch] ?? .generate(from: generator)
        keys[epoch] = key
        return EpochOpening(
            epoch: epoch,
            keyCommitment: Bytes32(
                EpochKeys.deriveCommitment(to: key, scope: members.vaultID.bytes, epoch: epoch))!,
            splitKeyCommitment: Bytes32(MemberSealing.splitKeyCommitment(to: splitKey, in: members.vaultID))!,
            historyHash: Bytes32(generator.bytes(count: 32))!, checkpointEpoch: epoch - 1)
    }

    func sign(
        _ operation: MemberOperation, by account: Int = 0, device: Int = 0, sealed: [UInt8] = []
    ) -> UnverifiedLink {
        UnverifiedLink.sign(
            kind: .member, chainID: ChainID(members.vaultID.bytes), sequenceNumber: newest.sequenceNumber + 1,
            publicPart: operation.encoded, sealedPart: sealed,
            previousLinkHash: members.state.links.last!.hash.bytes, with: accounts[account].devices[device].signing)
    }

    mutating func append(_ link: UnverifiedLink) throws(MemberError) {
        try members.append(link, accounts: known, keys: self)
        newest = link
    }

    mutating func append(_ operation: MemberOperation, by account: Int = 0, device: Int = 0) throws {
        let decoded = try MemberOperation(decoding: sign(operation, by: account, device: device))
        #expect(decoded == operation)
        try append(sign(operation, by: account, device: device))
    }

    func refusal(_ operation: MemberOperation, by account: Int = 0, device: Int = 0) -> MemberError.Code? {
        var copy = self
        do throws(MemberError) {
            try copy.append(sign(operation, by: account, device: device))
            return nil
        } catch {
            return error.code
        }
    }

    /// Account `index` with a role, added and accepted.
    mutating func join(_ index: Int, as role: MemberRole) throws {
        let head = StatedHead(accountID: accounts[index].id, device: accounts[index].head)
        try append(operation(.add(head, role)))
        try append(operation(.accept(addingLink: members.state.links.last!.hash), by: index), by: index)
    }
}
