// Limits of a keyring. The one thing to keep true: whatever a change accepts opens again, and a refused change leaves
// the file as it was.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretKeys

@Suite("Limits of the keyring")
struct KeyringLimitTests {
    let fixture = KeyringFixture()
    static let longest = String(repeating: "n", count: Limits.nameByteCountMax)

    /// Refused with this code; the file stays, and opens.
    private func refuses(_ expected: KeyError.Code, _ change: () throws -> Void) throws {
        let before = fixture.file
        #expect(code(change) == expected)
        #expect(fixture.file == before)
        _ = try fixture.open()
    }

    @Test("keys 2, R93: a name of 1,025 bytes is refused wherever it enters, one of 1,024 opens again")
    func names() async throws {
        let keyring = try fixture.create()
        let long = Self.longest + "n"
        try refuses(.nameTooLong) { _ = try keyring.addRecoveryKey(named: long) }
        try refuses(.nameTooLong) { _ = try keyring.addVault(named: long) }
        let id = try keyring.addVault(named: "A")
        try refuses(.nameTooLong) { try keyring.renameVault(id, to: long) }
        try refuses(.nameTooLong) { _ = try keyring.signRename(of: keyring.deviceID(), to: long) }
        let prepared = try await fixture.environment.fileKeyStore(memoryKibibytes: 65_536).prepareSlot(
            storeID: keyring.storeID, anchor: keyring.anchor(), terms: SlotTerms(),
            secret: KeyringFixture.passphrase("1"),
            random: fixture.generator)
        try refuses(.nameTooLong) { try keyring.add(prepared, named: long) }
        try keyring.add(prepared, named: Self.longest)
        _ = try keyring.addRecoveryKey(named: Self.longest)
        try keyring.renameVault(id, to: Self.longest)
        #expect(try fixture.open().slotDetails().map(\.name) == ["", Self.longest, Self.longest])
    }

    @Test("keys 2, R93: names that differ in case alone are cut so that their number fits")
    func numberedNames() throws {
        let keyring = try fixture.create()
        let umlauts = String(repeating: "ü", count: 512)
        _ = try keyring.addVault(named: umlauts)
        let free = UnlockedKeyring.freeName(umlauts.uppercased(), among: try keyring.vaults())
        #expect(free.utf8.count == 1_024 && free.hasSuffix("Ü 2"))
        _ = try keyring.addVault(named: free)
        let next = UnlockedKeyring.freeName(umlauts, among: try keyring.vaults())
        #expect(next.hasSuffix("ü 3"))
        #expect(try fixture.open().vaults().count == 2)
    }

    @Test(
        "keys 2, R93: with 64 slots, longest names and the longest chain a store opens and changes; one more is refused"
    )
    func everythingFull() throws {
        let keyring = try fixture.create()
        let (key, _) = try keyring.addRecoveryKey(named: Self.longest)
        try keyring.change { (body, slots) throws(KeyError) in
            while slots.count < KeyringFile.slotCountMax {
                let slot = RecoveryKey.generate(from: fixture.generator).slot(
                    id: .generate(from: fixture.generator), anchor: slots[0].anchor)
                slots.append(slot)
                body.slotDetails.append(Keyring.details(of: slot, name: Self.longest, fixture.environment))
            }
        }
        try refuses(.slotsTooMany) { _ = try keyring.addRecoveryKey(named: "one more") }
        try keyring.setServer(
            ServerRecord(
                url: String(repeating: "u", count: Limits.addressByteCountMax),
                fingerprint: [UInt8](repeating: 7, count: 32), name: Self.longest,
                watch: ChainWatch(confirmedAt: 5)))
        _ = try keyring.addVault(named: Self.longest, kind: .synced)

        // Any trusted device may describe, with anything in the sealed part.
        let device = try keyring.body().device!
        let oversized = try keyring.deviceChain().sign(
            .describe(id: device.deviceID), details: [UInt8](repeating: 1, count: 4_097), with: device.signing)
        #expect(throws: TrustError(.linkMalformed, at: 1)) { try keyring.deviceChain().following([oversized]) }
        var chain = try keyring.deviceChain()
        var refusal: TrustError?
        while refusal == nil {
            let link = chain.sign(
                .describe(id: device.deviceID), details: [UInt8](repeating: 1, count: 4_096), with: device.signing)
            do throws(TrustError) {
                chain = try chain.following([link]).chain
            } catch {
                refusal = error
            }
        }
        #expect(refusal?.code == .chainTooLong)
        #expect(chain.links.count > 900)
        try keyring.adopt(keyring.deviceChain().following(chain.links.map(\.link)))
        #expect(try fixture.open().deviceChain() == chain)

        // A keyring this full still takes what a person must be able to do.
        let opened = try fixture.open(key)
        try opened.changePassphrase(KeyringFixture.passphrase("two"), parameters: fixture.parameters())
        #expect(try fixture.open("two").slotDetails().count == KeyringFile.slotCountMax)
        #expect(fixture.file.count < Limits.keyringForeignByteCountMax)
    }

    @Test(
        "keys 2, R93: a box or a chain that would fill the keyring is refused, and leaves room for the person's own changes"
    )
    func foreignBytes() throws {
        let keyring = try fixture.create()
        let before = fixture.file
        func fill(_ byteCountMax: Int) throws {
            try keyring.change(byteCountMax: byteCountMax) { (body, _) throws(KeyError) in
                body.formerChains = Array(repeating: body.deviceChain, count: 40_000)
            }
        }
        try refuses(.keyringTooLarge) { try fill(Limits.keyringForeignByteCountMax) }
        #expect(fixture.file == before)
        try refuses(.keyringTooLarge) {
            try keyring.change { (body, _) throws(KeyError) in
                body.vaults = try (0...Limits.vaultCountMax).map { (number) throws(KeyError) in
                    var copy = body
                    let id = try copy.addVault(named: "\(number)", kind: .local, random: fixture.generator, time: 0)
                    return copy.vaults.first { $0.vaultID == id }!
                }
            }
        }
    }

    @Test("keys 2, R93: what a reader would refuse is the change's error, whatever made it; nothing is written")
    func readBack() throws {
        let keyring = try fixture.create()
        _ = try keyring.addVault(named: "A")
        let generation = keyring.generation
        try refuses(.keyringUnwritable) {
            try keyring.change { (body, _) throws(KeyError) in
                body.vaults[0] = body.vaults[0].renamed(Self.longest + "n")
            }
        }
        try refuses(.keyringUnwritable) {
            try keyring.change { (_, slots) throws(KeyError) in
                slots.append(
                    KeySlot(
                        id: .generate(from: fixture.generator), kind: .recovery, algorithm: .x25519,
                        publicKey: slots[0].publicKey, anchor: [], password: nil,
                        reference: [UInt8](repeating: 0, count: 65_537), sealedStorageKey: []))
            }
        }
        #expect(keyring.generation == generation)
        try keyring.renameVault(keyring.vaults()[0].vaultID, to: "B")
        #expect(try fixture.open().vaults().map(\.name) == ["B"])
    }

    @Test("keys 14: a generation that cannot be counted up is a named error, and no trap")
    func generations() throws {
        let keyring = try fixture.create()
        keyring.generation = .max
        try refuses(.keyringInconsistent) { _ = try keyring.addVault(named: "A") }
        keyring.generation = .max - 5
        try refuses(.keyringInconsistent) { try keyring.renewInstance(isAccepted: true) }
        #expect(keyring.instanceStatus == .current)
    }

    @Test("keys 2: the keyring before a change stays until the new one was opened, and is the way back from damage")
    func previous() throws {
        let path = fixture.environment.keyringPath + ".previous"
        func isKept() throws -> Bool { try fixture.disk.exists(path) }
        _ = try fixture.create().addVault(named: "A")
        let opened = try fixture.open()
        #expect(try !isKept(), "the new one was opened")
        let first = fixture.file
        _ = try opened.addVault(named: "B")
        _ = try opened.addVault(named: "C")
        #expect(try fixture.disk.readFile(path, byteCountMax: 1 << 20) == first, "the last one known to open")
        let newest = fixture.file
        try fixture.put(Array(newest.dropLast()))
        #expect(code { _ = try fixture.open() } == .keyringPreviousKept)
        #expect(throws: KeyError(.keyringPreviousKept, at: "keys.keyring.malformed")) { _ = try fixture.open() }
        // Put back by a person, it is older than this machine remembers, and goes on where that is accepted.
        try fixture.disk.rename(path, to: fixture.environment.keyringPath)
        #expect(code { _ = try fixture.open() } == .keyringRolledBack)
        let accepted = try fixture.open(acceptsRollback: true)
        #expect(try accepted.vaults().map(\.name) == ["A"])
        try accepted.renewInstance(isAccepted: true)
        let renewed = try fixture.open()
        // A way in that is taken away does not stay in it.
        try renewed.changePassphrase(KeyringFixture.passphrase("two"), parameters: fixture.parameters())
        #expect(try !isKept())
        _ = try fixture.open("two")
    }

    @Test("property: keys 2, R93: a keyring opens again after any row of changes that were accepted")
    func changes() throws {
        let generator = fixture.generator
        let keyring = try fixture.create()
        let (key, _) = try keyring.addRecoveryKey(named: "")
        let lengths = [0, 1, 2, 600, 1_022, 1_023, 1_024, 1_025, 2_000]
        var acceptedCount = 0
        for round in 0..<120 {
            let length = lengths[generator.int(in: 0...lengths.count - 1)]
            let unit = ["n", "N", "ü", "🗝"][generator.int(in: 0...3)]
            let name = String(repeating: unit, count: length / unit.utf8.count)
            let vaults = try keyring.vaults()
            let isAccepted =
                code {
                    switch generator.int(in: 0...6) {
                    case 0: _ = try keyring.addVault(named: name, kind: .synced)
                    case 1: _ = try keyring.addVault(named: UnlockedKeyring.freeName(name, among: vaults))
                    case 2: _ = try keyring.addRecoveryKey(named: name)
                    case 3: if let vault = vaults.last { try keyring.renameVault(vault.vaultID, to: name) }
                    case 4:
                        guard let vault = vaults.last else { break }
                        _ = try keyring.makeKey(ofEpoch: UInt32(round) + 2, in: vault.vaultID)
                    case 5:
                        let link = try keyring.signRename(of: keyring.deviceID(), to: name)
                        try keyring.adopt(keyring.deviceChain().following([link]))
                    default:
                        try keyring.setServer(
                            ServerRecord(
                                url: name, fingerprint: [UInt8](repeating: 1, count: 32), name: name,
                                watch: ChainWatch(confirmedAt: 1, announcedAfter: [UInt64(round): 1])))
                    }
                } == nil
            if isAccepted { acceptedCount += 1 }
            let opened = try fixture.open(key)
            #expect(opened.generation == keyring.generation)
            #expect(try opened.vaults().map(\.name) == keyring.vaults().map(\.name))
            #expect(try opened.slotDetails() == keyring.slotDetails())
        }
        #expect(acceptedCount > 20)
    }

    @Test(
        "keys 7, R14: a keyring or box with more than 1,024 epochs of a vault is refused; older epochs are derived when asked for"
    )
    func epochs() throws {
        let keyring = try fixture.create()
        let id = try keyring.addVault(named: "A", kind: .synced)
        func fill(_ count: UInt32) throws {
            try keyring.change { (body, _) throws(KeyError) in
                var keys = body.vaults[0].vaultKeys
                for epoch in 1...count where keys[epoch] == nil { keys[epoch] = .generate(from: fixture.generator) }
                body.vaults[0] = body.vaults[0].replacing(vaultKeys: keys)
            }
        }
        try fill(1_024)
        try refuses(.keyringUnwritable) { try fill(1_025) }
        for epoch: UInt32 in 2_000..<2_004 { _ = try keyring.makeKey(ofEpoch: epoch, in: id) }
        // More than a process has room for, if each epoch's keys were derived at once.
        let held = try (0..<4).map { _ in try fixture.open().vaultKeys(for: id) }
        for keys in held {
            #expect(keys.epochs == Array((1...1_024).reversed()) && keys.currentEpoch == 1_024)
            let old = try #require(keys.keys(ofEpoch: 3))
            #expect(old.epoch == 3 && keys.keys(ofEpoch: 1_025) == nil)
            #expect(old.blobKey.isEqual(to: try #require(held[0].keys(ofEpoch: 3)).blobKey))
        }
    }
}
