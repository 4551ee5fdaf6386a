// A vault as its people hold it: member links with real signatures, and pushes with their words.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

/// A vault's member chain, made link by link; what a server took is noted by `take`.
final class LogVault {
    let founder: TestAccount
    let id: [UInt8]
    private(set) var links: [[UInt8]]
    private let splitKeyCommitment = Bytes32(SystemRandomSource().bytes(count: 32))!
    private(set) var epoch: UInt32 = 1

    init(_ founder: TestAccount, for purpose: VaultPurpose? = nil) throws {
        self.founder = founder
        let creation = try founder.vault(for: purpose)
        id = creation.vaultID
        links = [creation.link]
    }

    /// A circle, which has no vault key.
    init(circle terms: CircleTerms, of founder: TestAccount) throws {
        self.founder = founder
        let foundation = VaultFoundation(
            random: SystemRandomSource().bytes(count: 32), accountID: founder.chain.accountID,
            deviceChainHead: founder.chain.head.linkHash, keyCommitment: [], purpose: .circle(terms))
        let link = VerifiedMemberChain.found(foundation, details: [], with: founder.device.signing)
        id = link.hash(inChain: nil)
        links = [link.encoded]
    }

    static func head(_ account: TestAccount) -> Bytes32 { Bytes32(account.chain.head.linkHash)! }

    var opening: EpochOpening { opening(history: SystemRandomSource().bytes(count: 32)) }

    /// An epoch with a history object.
    func opening(history: [UInt8]) -> EpochOpening {
        EpochOpening(
            epoch: epoch + 1, keyCommitment: Bytes32(SystemRandomSource().bytes(count: 32))!,
            splitKeyCommitment: splitKeyCommitment, historyHash: Bytes32(BLAKE2b.hash(history))!, checkpointEpoch: epoch
        )
    }

    func hash(_ number: Int) -> [UInt8] {
        guard let link = try? UnverifiedLink(decoding: links[number]) else { return [] }
        return link.hash(inChain: number == 0 ? nil : ChainID(id))
    }

    /// The next link, signed by an account's first device or another one.
    func link(
        _ kind: MemberOperation.Kind = .state, by account: TestAccount? = nil, as device: TestDevice? = nil,
        head: Bytes32? = nil, heads: [StatedHead] = [], opening: EpochOpening? = nil, sealedByteCount: Int = 100
    ) -> [UInt8] {
        let account = account ?? founder
        let operation = MemberOperation(
            kind, by: account.chain.accountID, deviceHead: head ?? Self.head(account), heads: heads, opening: opening)
        return UnverifiedLink.sign(
            kind: .member, chainID: ChainID(id), sequenceNumber: UInt64(links.count), publicPart: operation.encoded,
            sealedPart: SystemRandomSource().bytes(count: sealedByteCount), previousLinkHash: hash(links.count - 1),
            with: (device ?? account.device).signing
        ).encoded
    }

    /// Takes a link that the server accepted.
    func take(_ link: [UInt8], opens: Bool = false) {
        links.append(link)
        if opens { epoch += 1 }
    }

    func item(_ link: [UInt8], on head: [UInt8]? = nil) -> LinkPost.Item {
        LinkPost.Item(kind: ChainKind.member.rawValue, chainID: id, link: link, expectedHead: head)
    }

    /// A push with the word of a device over its objects.
    func push(
        _ objects: [ZoneObject], from expected: [UInt8]?, to new: [UInt8]?, epoch: UInt32 = 1, by device: TestDevice
    ) -> ZonePush {
        ZonePush(expectedHead: expected, newHead: new, epoch: epoch, objects: objects)
            .signed(for: id, by: device.signing)
    }
}

extension TestAccount {
    func item(_ link: [UInt8]) -> LinkPost.Item {
        LinkPost.Item(kind: ChainKind.device.rawValue, chainID: id, link: link)
    }

    func owner(as other: TestDevice) -> SessionOwner { SessionOwner(accountID: id, deviceID: other.id.bytes) }

    var stated: StatedHead { StatedHead(accountID: chain.accountID, device: LogVault.head(self)) }
}

extension PushWord {
    /// Whether this is the word of a device that set a head under an epoch.
    func isWord(of device: TestDevice, for head: [UInt8]?, epoch: UInt32, in zone: [UInt8]) -> Bool {
        let proof = ZoneProof.push(expectedHead: expectedHead, newHead: head, epoch: epoch, hash: objectsHash)
        return deviceID == device.id && (try? proof.verify(signature, zone: zone, by: device.keys.signing)) != nil
    }
}

extension StoreWorld {
    /// A vault with one link behind the founding one.
    func logVault(_ account: TestAccount) throws -> LogVault {
        let vault = try LogVault(account)
        let link = vault.link()
        #expect(try numbers([vault.item(vault.links[0]), vault.item(link)], by: account.owner) == [0, 1])
        vault.take(link)
        return vault
    }

    /// Where posted links stand; nil if they were refused.
    func numbers(_ items: [LinkPost.Item], by owner: SessionOwner) throws -> [UInt64]? {
        if case .taken(let heads) = try store.take(items, by: owner) { heads.map(\.sequenceNumber) } else { nil }
    }

    func logHead(_ vault: LogVault) throws -> LogHead { try store.head(vault.id, for: vault.founder.owner) }

    /// Posts one link, which the vault takes.
    ///
    /// - Parameter account: whose session posts it; nil is the founder's.
    func post(_ link: [UInt8], to vault: LogVault, by account: TestAccount? = nil, opens: Bool = false) throws {
        let owner = (account ?? vault.founder).owner
        #expect(try numbers([vault.item(link)], by: owner) == [UInt64(vault.links.count)])
        vault.take(link, opens: opens)
    }

    /// Adds an account to a vault, which accepts unless it only waits.
    func add(_ account: TestAccount, _ role: MemberRole, to vault: LogVault, accepting: Bool = true) throws {
        try allow(vault.founder, to: account)
        try post(vault.link(.add(account.stated, role)), to: vault)
        guard accepting, let adding = Bytes32(vault.hash(vault.links.count - 1)) else { return }
        try post(vault.link(.accept(addingLink: adding), by: account), to: vault, by: account)
    }

    /// Lets an account write to another one and add it: the only one that may.
    func allow(_ account: TestAccount, to other: TestAccount) throws {
        try store.setContacts(ContactList([account.id]), of: other.owner)
    }

    /// Removes an account by a link that opens an epoch.
    func remove(_ account: TestAccount, from vault: LogVault, by owner: TestAccount? = nil) throws {
        let change = MemberOperation.RoleChange(account.chain.accountID, nil)
        try post(
            vault.link(.changeRoles([change]), by: owner, opening: vault.opening), to: vault, by: owner, opens: true)
    }
}
