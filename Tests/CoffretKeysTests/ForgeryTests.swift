// Files that open with a person's own secret and were made by somebody else. The one thing to keep true: none of them
// is used, whatever of the person's it repeats.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretKeys

/// Somebody who may write a victim's files and reads whatever lies in clear in them.
struct Forger {
    let fixture = KeyringFixture()

    /// A keyring of the victim's store id and slots around the forger's own storage key, device and vault.
    ///
    /// - Parameters:
    ///   - slots: what to make of the victim's.
    ///   - formerChains: the victim's device chain, which its server knows.
    func keyring(
        of victim: KeyringFixture, slots: (KeySlot) -> KeySlot = { $0 }, formerChains: [VerifiedDeviceChain] = []
    ) throws -> UnlockedKeyring {
        let file = try KeyringFile(decoding: victim.file)
        let own = try KeyringFixture().create("forger")
        _ = try own.addVault(named: "Bank")
        var body = try own.body()
        body.formerChains = formerChains
        let keyring = UnlockedKeyring(
            storeID: file.storeID, generation: file.generation, slots: file.slots.map(slots), body: body,
            instanceStatus: .current, environment: fixture.environment)
        try keyring.save(expectingGeneration: nil)
        return keyring
    }

    var file: [UInt8] { fixture.file }
}

extension KeySlot {
    func replacing(anchor: [UInt8]) -> KeySlot {
        KeySlot(
            id: id, kind: kind, algorithm: algorithm, publicKey: publicKey, anchor: anchor, password: password,
            reference: reference, sealedStorageKey: sealedStorageKey)
    }
}

@Suite("Fabricated keyrings and backups")
struct ForgeryTests {
    let fixture = KeyringFixture()

    private func backupCode(_ header: [UInt8], _ secret: UnlockSecret) -> KeyError.Code? {
        code { _ = try BackupHeader.open(header, with: secret) }
    }

    @Test(
        "keys 3, R94, R95: a keyring or backup around the victim's slots is foreign to passphrase, PIN, sheet and open process"
    )
    func slots() async throws {
        let victim = try fixture.create()
        let (sheet, _) = try victim.addRecoveryKey(named: "safe")
        let keyStore = fixture.environment.fileKeyStore(memoryKibibytes: 65_536)
        let pin = KeyringFixture.passphrase("1234")
        _ = try await victim.addSlot(using: keyStore, secret: pin, named: "PIN")
        let one = UnlockSecret.passphrase(KeyringFixture.passphrase("one"))
        let (follower, before) = (try fixture.follow(one), fixture.file)
        let forger = Forger()
        let forged = try forger.keyring(of: fixture)
        try fixture.put(forger.file)
        for secret in [one, .recoveryKey(sheet), .recoveryKey(sheet, acceptsFormer: true), .machinePIN(pin)] {
            #expect(
                code { _ = try Keyring.open(with: secret, environment: fixture.environment) } == .keyringForeign)
        }
        await #expect(throws: KeyError(.keyringForeign, at: "author")) {
            _ = try await Keyring.open(using: keyStore, secret: pin, environment: fixture.environment)
        }
        #expect(code { try follower.readAgain() } == .keyringForeign)
        let header = try forged.makeBackupKeys().header
        for secret in [one, .recoveryKey(sheet)] { #expect(backupCode(header, secret) == .backupForeign) }
        try fixture.put(before)
        _ = try fixture.open()
        #expect(backupCode(try victim.makeBackupKeys().header, one) == nil)
    }

    @Test("keys 3, R94: naming the victim's device as author, or the forger's as anchor, opens nothing either")
    func claims() throws {
        let victim = try fixture.create()
        let (sheet, _) = try victim.addRecoveryKey(named: "safe")
        let genuine = fixture.file
        let forger = Forger()
        let forged = try forger.keyring(of: fixture)
        let (file, theirs) = (try KeyringFile(decoding: forger.file), try KeyringFile(decoding: genuine))
        // The victim's name under it, with the forger's signature or one that the victim made for another file.
        for signature in [file.signature, theirs.signature] {
            let named = KeyringFile(
                storeID: file.storeID, generation: file.generation, slots: file.slots, body: file.body,
                author: theirs.author, signature: signature, mac: [])
            #expect(throws: KeyError(.keyringForeign, at: "signature")) { try named.verifyAuthor(theirs.author) }
        }
        let anchor = try forged.anchor()
        for changed in [anchor, []] {
            let other = Forger()
            _ = try other.keyring(of: fixture) { $0.replacing(anchor: changed) }
            try fixture.put(other.file)
            #expect(code { _ = try fixture.open() } == .unlockFailed)
            #expect(code { _ = try fixture.open(sheet) } == .unlockFailed)
            try fixture.put(genuine)
        }
    }

    @Test("keys 3: a keyring's signature is none of a backup's header, nor of another store or generation")
    func scopes() throws {
        let victim = try fixture.create()
        let file = try KeyringFile(decoding: fixture.file)
        try file.verifyAuthor(victim.anchor())
        #expect(throws: KeyError(.keyringForeign, at: "signature")) {
            try file.verifyAuthor(victim.anchor(), .backupSignature)
        }
        #expect(throws: KeyError(.keyringForeign, at: "signature")) {
            try file.replacing(generation: file.generation + 1).verifyAuthor()
        }
        let header = try KeyringFile(decoding: victim.makeBackupKeys().header)
        try header.verifyAuthor(victim.anchor(), .backupSignature)
        #expect(throws: KeyError(.keyringForeign, at: "signature")) { try header.verifyAuthor() }
    }

    @Test(
        "keys 8, R96: a store that lists the sheet's account among its former ones opens only where a person accepts that"
    )
    func formerAccounts() throws {
        let victim = try fixture.create()
        let (sheet, _) = try victim.addRecoveryKey(named: "safe")
        let forger = Forger()
        let forged = try forger.keyring(of: fixture, formerChains: [victim.deviceChain()])
        try fixture.put(forger.file)
        let account = try victim.fingerprints().account.description
        #expect(throws: KeyError(.recoveryAccountDiffers, at: account)) { _ = try fixture.open(sheet) }
        #expect(code { _ = try fixture.open() } == .keyringForeign, "a passphrase has no former account")
        #expect(backupCode(try forged.makeBackupKeys().header, .recoveryKey(sheet)) == .recoveryAccountDiffers)
        // On a machine that remembers no such store; here the marker speaks against it as well.
        let elsewhere = KeyringFixture(disk: fixture.disk, stateDirectory: "/elsewhere")
        _ = try Keyring.open(with: .recoveryKey(sheet, acceptsFormer: true), environment: elsewhere.environment)
    }

    @Test("keys 8, R96: a paper device opens what its own signature leads to, and nothing else without being asked")
    func paper() throws {
        let victim = try fixture.create()
        let sheet = RecoveryKey.generate(.paper, from: fixture.generator)
        let chain = try victim.deviceChain()
        try victim.adopt(chain.following([victim.signLink(PaperDevice(sheet).addition(to: chain))]))
        for device in try victim.paperAwaitingConsent() { try victim.admitPaper(device.id) }
        #expect(try fixture.open(sheet).accountID() == victim.accountID())
        #expect(backupCode(try victim.makeBackupKeys().header, .recoveryKey(sheet)) == nil)
        let forger = Forger()
        let forged = try forger.keyring(of: fixture)
        try fixture.put(forger.file)
        #expect(code { _ = try fixture.open(sheet) } == .keyringForeign)
        #expect(backupCode(try forged.makeBackupKeys().header, .recoveryKey(sheet)) == .backupForeign)
        let listing = Forger()
        _ = try listing.keyring(of: fixture, formerChains: [victim.deviceChain()])
        try fixture.put(listing.file)
        #expect(code { _ = try fixture.open(sheet) } == .recoveryAccountDiffers)
    }

    @Test("keys 8: in a restored store the sheet that restored it is one of its own; another asks, and then opens")
    func restored() throws {
        let first = try fixture.create()
        let (used, _) = try first.addRecoveryKey(named: "used")
        let (other, _) = try first.addRecoveryKey(named: "other")
        let bare = KeyringFixture()
        _ = try Keyring.create(
            restoring: BackupHeader.open(first.makeBackupKeys().header, with: .recoveryKey(used)),
            passphrase: KeyringFixture.passphrase("new"), parameters: bare.parameters(), deviceName: "Phone",
            environment: bare.environment)
        let opened = try bare.open(used)
        #expect(try opened.slotDetails().map(\.name) == ["", "used", "other"])
        #expect(code { _ = try bare.open(other) } == .recoveryAccountDiffers)
        _ = try Keyring.open(with: .recoveryKey(other, acceptsFormer: true), environment: bare.environment)
        // The old store is as before.
        _ = try fixture.open(used)
    }
}
