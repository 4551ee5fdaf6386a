// Keys between a person's devices: boxes, welcomes, what a chain that goes on does to a keyring.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretKeys

@Suite("Keys between devices")
struct DeviceKeyTests {
    let fixture = KeyringFixture()
    let record = ServerRecord(
        url: "https://vault.example", fingerprint: [UInt8](repeating: 7, count: 32), name: "vault",
        watch: ChainWatch(confirmedAt: 5, announcedAfter: [1: 3]))

    /// The first device, with a synced and a local vault.
    private func owner() throws -> UnlockedKeyring {
        let keyring = try fixture.create()
        _ = try keyring.addVault(named: "Shared by all", kind: .synced)
        _ = try keyring.addVault(named: "Here only")
        try keyring.setServer(record)
        return keyring
    }

    /// Adds a device to the owner's chain, as pairing does.
    private func add(_ device: NewDevice, to owner: UnlockedKeyring, name: String = "Phone") throws {
        let chain = try owner.deviceChain()
        let operation = DeviceOperation.add(
            id: device.deviceID, kind: .ordinary, keys: device.publicKeys,
            countersignature: DeviceOperation.countersign(
                id: device.deviceID, keys: device.publicKeys, chainID: chain.accountID,
                sequenceNumber: UInt64(chain.links.count), with: device.signingKey))
        let link = try owner.signLink(
            operation, details: LinkDetails(name: name, time: 9), subject: device.deviceID)
        try owner.adopt(chain.following([link]))
    }

    private func join(_ device: NewDevice, _ owner: UnlockedKeyring) throws -> (UnlockedKeyring, KeyringFixture) {
        let head = try owner.deviceChain().asOf(0)!.head
        let account = try AccountWelcome.open(
            owner.makeWelcome(for: device.deviceID), for: device, accountID: owner.accountID(), head: head,
            random: fixture.generator)
        let other = KeyringFixture()
        let keyring = try Keyring.create(
            joining: account, server: record, passphrase: KeyringFixture.passphrase("two"),
            parameters: fixture.parameters(), environment: other.environment)
        return (keyring, other)
    }

    @Test("a new device gets the account, the synced vaults and a passphrase of its own, and keeps them")
    func joining() throws {
        let owner = try owner()
        let device = NewDevice.generate(from: fixture.generator)
        try add(device, to: owner)
        let (joined, other) = try join(device, owner)
        #expect(try joined.accountID() == owner.accountID())
        #expect(try joined.vaults().map(\.name) == ["Shared by all"])
        #expect(joined.storeID != owner.storeID)
        let reopened = try other.open("two")
        #expect(try reopened.server() == record)
        #expect(try reopened.deviceChain() == owner.deviceChain())
        #expect(try reopened.details(of: owner.deviceChain().devices[0])?.name == "Laptop")
        #expect(try reopened.details(of: owner.deviceChain().devices[1])?.name == "Phone")
        let id = try reopened.vaults()[0].vaultID
        let commitments = try [owner, reopened].map { keyring in
            EpochKeys.deriveCommitment(to: try #require(keyring.vault(id).vaultKeys[1]), scope: [1], epoch: 1)
        }
        #expect(commitments[0] == commitments[1])
        #expect(code { _ = try other.open("one") } == .unlockFailed)
        #expect(try fixture.open().server() == record)
        try owner.setServer(nil)
        #expect(try fixture.open().server() == nil)
    }

    @Test("R19, R23: a welcome for another account, another device, or without the link that pairing named is refused")
    func welcomesOfLyingServer() throws {
        let owner = try owner()
        let (device, stranger) = (
            NewDevice.generate(from: fixture.generator), NewDevice.generate(from: fixture.generator)
        )
        try add(device, to: owner)
        let welcome = try owner.makeWelcome(for: device.deviceID)
        let (account, head) = (try owner.accountID(), try owner.deviceChain().head)
        func refusal(
            _ bytes: [UInt8], for device: NewDevice, account: ChainID? = nil, head other: RememberedHead? = nil
        ) throws -> KeyError.Code? {
            code {
                _ = try AccountWelcome.open(
                    bytes, for: device, accountID: account ?? owner.accountID(), head: other ?? head,
                    random: fixture.generator)
            }
        }
        #expect(try refusal(welcome, for: device) == nil)
        #expect(try refusal(welcome, for: stranger) == .boxInvalid)
        let rival = ChainID(fixture.generator.bytes(count: 32))!
        #expect(try refusal(welcome, for: device, account: rival) == .boxInvalid)
        #expect(try refusal(welcome, for: device, account: account) == nil)
        for other in [
            RememberedHead(sequenceNumber: 2, linkHash: head.linkHash),
            RememberedHead(sequenceNumber: 1, linkHash: fixture.generator.bytes(count: 32)),
        ] {
            #expect(try refusal(welcome, for: device, head: other) == .boxInvalid)
        }
    }

    /// CBOR of a map from bytes to bytes, in the order given.
    private func map(_ entries: [([UInt8], [UInt8])]) -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeMapHeader(count: entries.count)
            for (key, value) in entries {
                encoder.encode(bytes: key)
                encoder.encode(bytes: value)
            }
        }
    }

    @Test("R7, R14: a welcome has words of vaults; malformed ones and those of other versions are refused")
    func welcomesWithWords() throws {
        let owner = try owner()
        let device = NewDevice.generate(from: fixture.generator)
        try add(device, to: owner)
        let (account, head) = (try owner.accountID(), try owner.deviceChain().head)
        func open(_ bytes: [UInt8]) throws -> JoinedAccount {
            try AccountWelcome.open(
                bytes, for: device, accountID: account, head: head, random: fixture.generator)
        }
        let ids = (0..<2).map { _ in fixture.generator.bytes(count: 32) }.sorted { $0.lexicographicallyPrecedes($1) }
        let vaults = try ids.map { try #require(VaultID($0)) }
        // The shortest and the longest that may be told.
        let words = [vaults[1]: [UInt8](repeating: 3, count: 64 << 10), vaults[0]: [7]]
        let welcome = try owner.makeWelcome(for: device.deviceID, words: words)
        #expect(welcome.starts(with: [0x85, 4]))
        let tail = map([(ids[0], [7]), (ids[1], words[vaults[1]]!)])
        #expect(welcome.suffix(tail.count) == tail[...], "Spec/keys.md section 7")
        let joined = try open(welcome)
        #expect(joined.words == words)
        #expect(joined.vaultNames == ["Shared by all"])

        /// The same box under another version and count, with something in the place of the words.
        let boxes = try owner.makeWelcome(for: device.deviceID).dropFirst(2).dropLast()
        func altered(_ count: UInt8, _ version: UInt8, _ tail: [UInt8]) -> [UInt8] { [count, version] + boxes + tail }
        #expect(try open(altered(0x85, 4, tail)).words == words, "the means of the following")
        let refused: [(String, [UInt8])] = [
            ("one that ends early", altered(0x85, 4, [])), ("a version of later", altered(0x85, 5, tail)),
            ("a version of before", altered(0x85, 2, tail)), ("a member more", altered(0x86, 4, tail + [0xA0])),
            ("bytes behind it", altered(0x85, 4, tail + [0])),
            ("nothing told of a vault", altered(0x85, 4, map([(ids[0], [])]))),
            ("too much told", altered(0x85, 4, map([(ids[0], [UInt8](repeating: 0, count: (64 << 10) + 1))]))),
            ("a short id", altered(0x85, 4, map([([1, 2], [7])]))),
            ("ids that descend", altered(0x85, 4, map([(ids[1], [7]), (ids[0], [7])]))),
            ("a vault twice", altered(0x85, 4, map([(ids[1], [7]), (ids[1], [7])]))),
            ("a list", altered(0x85, 4, [0x80])), ("text for bytes", altered(0x85, 4, [0xA1, 0x61, 0x61, 0x41, 7])),
        ]
        for (what, bytes) in refused { #expect(code { _ = try open(bytes) } == .boxInvalid, "\(what)") }
        for count in stride(from: welcome.count - tail.count, to: welcome.count, by: 61) {
            #expect(code { _ = try open(Array(welcome.prefix(count))) } == .boxInvalid, "cut after \(count) bytes")
        }
    }

    @Test("a key that came or was made lies aside until the chain commits to it, and goes where the chain has another")
    func keysAside() throws {
        let owner = try owner()
        let device = NewDevice.generate(from: fixture.generator)
        try add(device, to: owner)
        let (joined, other) = try join(device, owner)
        let id = try owner.vaults()[0].vaultID
        let (wrong, right) = (try owner.makeKey(ofEpoch: 2, in: id), try owner.makeKey(ofEpoch: 2, in: id))
        func isRight(_ key: VaultKey, _ epoch: UInt32) -> Bool {
            EpochKeys.deriveCommitment(to: key, scope: id.bytes, epoch: epoch)
                == EpochKeys.deriveCommitment(to: right, scope: id.bytes, epoch: 2)
        }
        #expect(!isRight(wrong, 2))
        #expect(try owner.vaultKeys(for: id).currentEpoch == 1, "none of them opens anything")
        #expect(try joined.accept(try #require(try owner.makeDeviceBoxes().first)).renewed == [id])
        #expect(
            try joined.accept(try #require(try owner.makeDeviceBoxes().first)).renewed.isEmpty, "the same once more")
        // In both keyrings as they lie on the disk, the chain decides.
        for keyring in [try fixture.open(), try other.open("two")] {
            #expect(try keyring.vault(id).offered.count == 2)
            #expect(try !keyring.settleKeys(of: id, newest: 1, commits: isRight), "the chain has no such epoch yet")
            #expect(try keyring.vault(id).offered.count == 2)
            #expect(try keyring.settleKeys(of: id, newest: 2, commits: isRight))
            #expect(try keyring.vaultKeys(for: id).currentEpoch == 2 && keyring.vault(id).offered.isEmpty)
            #expect(isRight(try #require(try keyring.vaultKey(of: id, epoch: 2)), 2))
        }
        // Of epochs that no chain has, four are kept, for thirty days.
        let keyring = try fixture.open()
        for epoch: UInt32 in 4...9 { _ = try keyring.makeKey(ofEpoch: epoch, in: id) }
        _ = try keyring.settleKeys(of: id, newest: 3) { _, _ in false }
        #expect(try keyring.vault(id).offered.map(\.epoch) == [6, 7, 8, 9])
        fixture.clock.advance(by: 31 * 86_400_000)
        _ = try keyring.settleKeys(of: id, newest: 3) { _, _ in false }
        #expect(try keyring.vault(id).offered.isEmpty)
    }

    @Test("R14, R20, R21: boxes open for their device only, from a trusted device only, unaltered")
    func boxes() throws {
        let owner = try owner()
        let (device, third) = (NewDevice.generate(from: fixture.generator), NewDevice.generate(from: fixture.generator))
        try add(device, to: owner)
        let (joined, _) = try join(device, owner)
        let before = try #require(owner.makeDeviceBoxes().first)
        #expect(try DeviceBox(decoding: before.encoded) == before)
        #expect(try joined.accept(before).added.isEmpty, "nothing is new")
        // A vault made later, and a new epoch.
        let late = try owner.addVault(named: "Later", kind: .synced)
        let first = try owner.vaults()[0].vaultID
        for id in [first, late] { _ = try owner.makeKey(ofEpoch: 2, in: id) }
        let box = try #require(owner.makeDeviceBoxes().first)
        let accepted = try joined.accept(box)
        #expect(accepted.added == [late])
        #expect(accepted.renewed.count == 1)
        for id in [first, late] { #expect(try joined.vault(id).offered.map(\.epoch) == [2]) }
        // Any bit of it.
        let bytes = box.encoded
        for _ in 0..<300 {
            var changed = bytes
            let bit = fixture.generator.int(in: 0...bytes.count * 8 - 1)
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(code { _ = try joined.accept(DeviceBox(decoding: changed)) } == .boxInvalid, "bit \(bit)")
        }
        // Somebody else's, and one from a device that the chain does not know.
        #expect(code { _ = try owner.accept(box) } == .boxInvalid)
        try add(third, to: owner, name: "Tablet")
        #expect(code { _ = try joined.accept(owner.makeDeviceBoxes()[0]) } == .boxInvalid, "at a link not heard of yet")
        try joined.adopt(joined.deviceChain().following(owner.deviceChain().links.map(\.link)))
        #expect(code { _ = try joined.accept(owner.makeDeviceBoxes()[0]) } == nil)
    }

    @Test("R22, R28: a revoked device's boxes are refused, nobody seals to it, and it signs nothing")
    func revoked() throws {
        let owner = try owner()
        let device = NewDevice.generate(from: fixture.generator)
        try add(device, to: owner)
        let (joined, other) = try join(device, owner)
        let box = try #require(joined.makeDeviceBoxes().first)
        #expect(code { _ = try owner.accept(box) } == nil)
        let link = try owner.signLink(.revoke(id: device.deviceID))
        try owner.adopt(owner.deviceChain().following([link]))
        #expect(code { _ = try owner.accept(box) } == .boxInvalid)
        #expect(try owner.makeDeviceBoxes().isEmpty)
        #expect(code { _ = try owner.makeWelcome(for: device.deviceID) } == .deviceRevoked)
        try joined.adopt(joined.deviceChain().following([link]))
        #expect(code { _ = try joined.signLink(.revoke(id: owner.deviceID())) } == .deviceRevoked)
        #expect(code { _ = try joined.makeDeviceBoxes() } == .deviceRevoked)
        // What it holds it can still open.
        #expect(try other.open("two").vaults().count == 1)
    }

    @Test("protocol 17: after a recovery the replaced links are kept as evidence, vaults founded in them still open")
    func recovery() throws {
        let owner = try fixture.create()
        let paper = NewDevice.generate(from: fixture.generator)
        let chain = try owner.deviceChain()
        let sheet = DeviceOperation.add(
            id: paper.deviceID, kind: .paper, keys: paper.publicKeys,
            countersignature: DeviceOperation.countersign(
                id: paper.deviceID, keys: paper.publicKeys, chainID: chain.accountID, sequenceNumber: 1,
                with: paper.signingKey))
        try owner.adopt(chain.following([owner.signLink(sheet)]))
        let base = try owner.deviceChain()
        let thief = NewDevice.generate(from: fixture.generator)
        try add(thief, to: owner, name: "Stolen")
        let vault = try owner.addVault(named: "Founded meanwhile", kind: .synced)
        let kept = [try owner.deviceID(), paper.deviceID].sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        let rescue = base.sign(.recover(kept: kept), details: [], with: paper.signingKey)
        let followed = try owner.deviceChain().following([rescue])
        #expect(followed.replacedLinks.count == 1)
        try owner.adopt(followed)
        let reopened = try fixture.open()
        #expect(try reopened.deviceChain().device(thief.deviceID) == nil)
        #expect(try reopened.vault(vault).name == "Founded meanwhile")
        #expect(try !reopened.knownSigners().contains { $0.deviceID == thief.deviceID })
        // A device that the recovery left out keeps what it had, and says so.
        let lone = base.sign(.recover(kept: [paper.deviceID]), details: [], with: paper.signingKey)
        let without = try base.asOf(0)!.following([base.links[1].link, lone])
        #expect(without.chain.devices.filter(\.isTrusted).count == 1)
    }

    @Test("R14 fuzz: boxes and welcomes")
    func fuzzBoxes() throws {
        let owner = try owner()
        let device = NewDevice.generate(from: fixture.generator)
        try add(device, to: owner)
        let vault = try owner.vaults()[0].vaultID
        let (box, welcome) = (
            try owner.makeDeviceBoxes()[0],
            try owner.makeWelcome(for: device.deviceID, words: [vault: fixture.generator.bytes(count: 90)])
        )
        let (account, head) = (try owner.accountID(), try owner.deviceChain().head)
        fuzz([box.encoded], rounds: 500) { bytes in
            if let read = try? DeviceBox(decoding: bytes) { #expect(read.encoded == bytes) }
        }
        fuzz([welcome], rounds: 200) { bytes in
            guard bytes != welcome else { return }
            _ = try? AccountWelcome.open(
                bytes, for: device, accountID: account, head: head, random: fixture.generator)
        }
    }
}
