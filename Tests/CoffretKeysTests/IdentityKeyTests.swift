// Private halves of an identity: made, sent to the other devices, and let go in time.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretKeys

@Suite("Keys of an identity")
struct IdentityKeyTests {
    let fixture = KeyringFixture()
    private static let day: Milliseconds = 86_400_000

    /// Makes the next link and keeps it, as a device does whose link the server took.
    private func extend(_ keyring: UnlockedKeyring, sets: Bool) throws {
        let link = try keyring.makeIdentityLink(sets: sets)
        let links = (try keyring.identity()?.chain?.links.map(\.link) ?? []) + [link]
        try keyring.keep(VerifiedIdentityChain.verify(links, devices: keyring.accountDevices()))
    }

    private func own(_ keyring: UnlockedKeyring) throws -> OwnIdentity { try #require(try keyring.identity()) }

    private func numbers(_ keyring: UnlockedKeyring) throws -> (longTerm: [UInt64], transients: [UInt64]) {
        let keys = try own(keyring).keys
        return (keys.longTerm.map(\.number).sorted(), keys.transients.map(\.number).sorted())
    }

    /// A second device of the account.
    private func join(_ owner: UnlockedKeyring) throws -> (keyring: UnlockedKeyring, fixture: KeyringFixture) {
        let device = NewDevice.generate(from: fixture.generator)
        let chain = try owner.deviceChain()
        let operation = DeviceOperation.add(
            id: device.deviceID, kind: .ordinary, keys: device.publicKeys,
            countersignature: DeviceOperation.countersign(
                id: device.deviceID, keys: device.publicKeys, chainID: chain.accountID,
                sequenceNumber: UInt64(chain.links.count), with: device.signingKey))
        let link = try owner.signLink(operation, details: LinkDetails(name: "Phone", time: 9), subject: device.deviceID)
        try owner.adopt(chain.following([link]))
        let account = try AccountWelcome.open(
            owner.makeWelcome(for: device.deviceID), for: device, accountID: owner.accountID(),
            head: owner.deviceChain().head, random: fixture.generator)
        let other = KeyringFixture()
        let record = ServerRecord(
            url: "https://vault.example", fingerprint: [UInt8](repeating: 7, count: 32), name: "vault",
            watch: ChainWatch(confirmedAt: 0))
        let keyring = try Keyring.create(
            joining: account, server: record, passphrase: KeyringFixture.passphrase("two"),
            parameters: fixture.parameters(), environment: other.environment)
        return (keyring, other)
    }

    @Test("an identity is in the keyring with its keys, is there again after opening, and is not in a backup")
    func kept() throws {
        let keyring = try fixture.create()
        #expect(try keyring.identity() == nil)
        try extend(keyring, sets: true)
        try extend(keyring, sets: false)
        let reopened = try fixture.open()
        let identity = try own(reopened)
        #expect(try identity.chain == own(keyring).chain)
        #expect(identity.isCurrent && !identity.lacksKeys && !identity.hasKeysBehind)
        let header = try reopened.makeBackupKeys().header
        let restored = try BackupHeader.open(header, with: .passphrase(KeyringFixture.passphrase("one")))
        #expect(restored.body.identity == nil)
    }

    @Test("a device that joins gets the keys, and a box brings what is new; a box of before has none")
    func boxes() throws {
        let owner = try fixture.create()
        try extend(owner, sets: true)
        let (phone, other) = try join(owner)
        #expect(try numbers(phone).longTerm == [0] && own(phone).hasKeysBehind)
        try phone.keep(#require(try own(owner).chain))
        #expect(try own(phone).isCurrent && !own(phone).lacksKeys)
        try extend(owner, sets: false)
        try phone.keep(#require(try own(owner).chain))
        #expect(try own(phone).lacksKeys, "the link came before the box")
        // The phone asks, and gets a full box.
        let wanted = try DeviceBox(decoding: phone.wantKeys().encoded)
        #expect(try phone.answer(wanted) == nil, "nobody answers his own question")
        let box = try #require(try owner.answer(wanted))
        _ = try phone.accept(box)
        #expect(try !own(phone).lacksKeys && numbers(phone).transients == [0, 1])
        _ = try phone.accept(box)
        #expect(try numbers(phone).transients == [0, 1])
        #expect(try own(other.open("two")).chain == own(owner).chain)
        #expect(throws: KeyError.self) { _ = try owner.accept(wanted) }
        #expect(throws: KeyError.self) { _ = try owner.answer(box) }
    }

    @Test("R52: a box that asks for keys is answered to trusted devices alone")
    func strangersAsk() throws {
        let owner = try fixture.create()
        try extend(owner, sets: true)
        let (phone, _) = try join(owner)
        let wanted = try phone.wantKeys()
        let revocation = try owner.signLink(.revoke(id: phone.deviceID()))
        try owner.adopt(owner.deviceChain().following([revocation]))
        #expect(throws: KeyError.self) { _ = try owner.answer(wanted) }
        let stranger = try KeyringFixture().create()
        #expect(throws: KeyError.self) { _ = try owner.answer(stranger.wantKeys()) }
        #expect(try !own(owner).isCurrent)
        try extend(owner, sets: true)
        #expect(try own(owner).isCurrent && numbers(owner).longTerm == [1] && numbers(owner).transients == [1])
    }

    @Test("a transient key goes 90 days after a refresh replaced it, and all older keys at once when a link sets")
    func deletion() throws {
        let keyring = try fixture.create()
        try extend(keyring, sets: true)
        #expect(try !own(keyring).isRefreshDue(at: fixture.clock.now))
        fixture.clock.advance(by: 30 * Self.day)
        #expect(try own(keyring).isRefreshDue(at: fixture.clock.now))
        try extend(keyring, sets: false)
        fixture.clock.advance(by: 90 * Self.day - 1)
        #expect(try !keyring.forgetIdentityKeys())
        #expect(try numbers(keyring).transients == [0, 1])
        fixture.clock.advance(by: 1)
        #expect(try keyring.forgetIdentityKeys())
        #expect(try numbers(keyring).transients == [1] && numbers(keyring).longTerm == [0])
        fixture.clock.advance(by: 1_000 * Self.day)
        #expect(try !keyring.forgetIdentityKeys(), "the newest key stays, however old")
        try extend(keyring, sets: true)
        #expect(try numbers(keyring).transients == [2] && numbers(keyring).longTerm == [2])
        #expect(try !own(fixture.open()).lacksKeys)
    }

    @Test("keys of a link that lost the race are kept aside for 30 days, and used for nothing")
    func lostRace() throws {
        let owner = try fixture.create()
        try extend(owner, sets: true)
        let (phone, _) = try join(owner)
        try phone.keep(#require(try own(owner).chain))
        _ = try phone.makeIdentityLink(sets: true)
        try extend(owner, sets: true)
        let box = try owner.makeDeviceBoxes()
        _ = try phone.accept(#require(box.first))
        try phone.keep(#require(try own(owner).chain))
        #expect(try own(phone).keys.longTerm.count == 2 && !own(phone).lacksKeys)
        let key = try #require(try own(phone).keys.longTerm(of: own(owner).chain!.newestSet))
        #expect(try key.box.publicKey == own(owner).chain?.newestSet.operation.longTerm?.box)
        let clock = try #require(phone.environment.clock as? ManualClock)
        clock.advance(by: 30 * Self.day)
        #expect(try phone.forgetIdentityKeys())
        #expect(try own(phone).keys.longTerm.count == 1 && !own(phone).lacksKeys)
    }
}
