// The keyring of a store: what opens it, what must not, and what survives.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretKeys

/// A store's keyring on a simulated disk.
struct KeyringFixture {
    let disk: SimulatedFileSystem
    let generator: SeededGenerator
    let environment: KeyringEnvironment
    let clock = ManualClock()

    init(
        _ generator: SeededGenerator = .fromEnvironment(), disk: SimulatedFileSystem = SimulatedFileSystem(),
        stateDirectory: String = "/state"
    ) {
        self.disk = disk
        self.generator = generator
        environment = KeyringEnvironment(
            keyringPath: "/store/store.keyring", stateDirectory: stateDirectory, fileSystem: disk,
            random: generator, clock: clock)
    }

    static func passphrase(_ text: String) -> Passphrase {
        var bytes = Array(text.utf8)
        guard let passphrase = try? Passphrase(typed: &bytes) else { fatalError("a test's passphrase is valid") }
        return passphrase
    }

    /// The floor, so that tests are fast.
    func parameters() -> PasswordParameters {
        .generate(from: generator, memoryKibibytes: 65_536, passCount: 3)
    }

    func create(_ passphrase: String = "one") throws -> UnlockedKeyring {
        try Keyring.create(
            passphrase: Self.passphrase(passphrase), parameters: parameters(), deviceName: "Laptop",
            environment: environment)
    }

    func open(_ passphrase: String = "one", acceptsRollback: Bool = false) throws -> UnlockedKeyring {
        try Keyring.open(
            with: .passphrase(Self.passphrase(passphrase)), acceptsRollback: acceptsRollback, environment: environment)
    }

    /// Opens it by any secret.
    func follow(_ secret: UnlockSecret) throws -> UnlockedKeyring {
        try Keyring.open(with: secret, environment: environment)
    }

    func open(_ key: RecoveryKey) throws -> UnlockedKeyring {
        try Keyring.open(with: .recoveryKey(key), environment: environment)
    }

    var file: [UInt8] { disk.allFiles()["store/store.keyring"] ?? [] }

    func put(_ bytes: [UInt8]) throws { try disk.replaceFile(environment.keyringPath, with: bytes) }
}

extension KeyringFile {
    /// What somebody makes of it who has no key.
    func replacing(generation: UInt64? = nil, slots: [KeySlot]? = nil) -> KeyringFile {
        KeyringFile(
            storeID: storeID, generation: generation ?? self.generation, slots: slots ?? self.slots, body: body,
            author: author, signature: signature, mac: mac)
    }
}

func code(_ body: () throws -> Void) -> KeyError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? KeyError)?.code
    }
}

@Suite("Keyring")
struct KeyringTests {
    let fixture = KeyringFixture()

    @Test("what another process changes is read again by who follows, and by nobody who was shut out")
    func readingAgain() throws {
        let made = try fixture.create("one")
        let one = UnlockSecret.passphrase(KeyringFixture.passphrase("one"))
        let (key, slot) = try made.addRecoveryKey(named: "safe")
        let (follower, second) = (try fixture.follow(one), try fixture.follow(.recoveryKey(key)))
        let (left, old) = (try fixture.open("one"), fixture.file)
        #expect(try !follower.readAgain(), "nothing is new")
        let id = try made.addVault(named: "Personal")
        #expect(code { _ = try follower.addVault(named: "Home") } == .keyringChanged)
        #expect(try follower.readAgain())
        try follower.renameVault(id, to: "Home")
        #expect(try fixture.open("one").vault(id).name == "Home")
        #expect(try follower.vaultKeys(for: id).currentEpoch == 1)
        // Nobody is led on who does not ask.
        #expect(code { _ = try left.vault(id) } == .vaultNotFound)
        #expect(try left.readAgain() && left.vault(id).name == "Home")
        // An old one that was put back is not followed.
        let newest = fixture.file
        try fixture.put(old)
        #expect(code { try follower.readAgain() } == .keyringRolledBack)
        #expect(try follower.vault(id).name == "Home")
        try fixture.put(newest)
        // Another passphrase shuts out who came in by the old one, not who came by a recovery key, as long as that is there.
        #expect(try second.readAgain())
        try second.changePassphrase(KeyringFixture.passphrase("two"), parameters: fixture.parameters())
        #expect(code { try follower.readAgain() } == .keyringChanged)
        let two = UnlockSecret.passphrase(KeyringFixture.passphrase("two"))
        let (last, third) = (try fixture.follow(two), try fixture.follow(two))
        try last.removeSlot(slot)
        #expect(code { try second.readAgain() } == .keyringChanged)
        #expect(try third.readAgain())
        // What goes on as another instance is not what was opened.
        try last.renewInstance()
        #expect(code { try third.readAgain() } == .keyringChanged)
        last.lock()
        #expect(code { try last.readAgain() } == .locked)
    }

    @Test("a rehearsal opens what it makes up, each time something else")
    func rehearsal() throws {
        let (one, two) = (
            Keyring.rehearse(random: SystemRandomSource()), Keyring.rehearse(random: SystemRandomSource())
        )
        #expect(try #require(one).vaultID != #require(two).vaultID)
    }

    @Test("a keyring opens with its passphrase and gives the same vault keys")
    func lifeOfAKeyring() throws {
        let made = try fixture.create()
        let id = try made.addVault(named: "Personal")
        let opened = try fixture.open()
        #expect(opened.storeID == made.storeID && opened.generation == made.generation)
        #expect(opened.instanceStatus == .current)
        #expect(try opened.vault(named: "Personal").vaultID == id)
        let (one, two) = (try made.vaultKeys(for: id), try opened.vaultKeys(for: id))
        #expect(one.current.blobKey.isEqual(to: two.current.blobKey))
        #expect(one.journalKey.isEqual(to: two.journalKey) && one.splitKey.isEqual(to: two.splitKey))
        #expect(try opened.instanceID() == made.instanceID())
        let identity = try opened.authorIdentity(for: id)
        #expect(try opened.knownSigners().map(\.verifyingKey) == [identity.signingKey.verifyingKey])
        let device = try #require(try opened.deviceChain().devices.first)
        #expect(try opened.details(of: device)?.name == "Laptop")
        #expect(code { _ = try opened.addVault(named: "Personal") } == .vaultExists)
        try opened.renameVault(id, to: "Home")
        #expect(try fixture.open().vault(id).name == "Home")
        #expect(code { _ = try fixture.create() } == .keyringExists)
    }

    @Test("a wrong passphrase, and a key of a kind that no slot has, are named errors")
    func wrongSecrets() throws {
        let keyring = try fixture.create()
        #expect(code { _ = try fixture.open("two") } == .unlockFailed)
        #expect(code { _ = try fixture.open(.generate(from: fixture.generator)) } == .slotNotFound)
        _ = try keyring.addRecoveryKey(named: "safe")
        #expect(code { _ = try fixture.open(.generate(from: fixture.generator)) } == .unlockFailed)
        try fixture.disk.remove(fixture.environment.keyringPath)
        #expect(code { _ = try fixture.open() } == .keyringNotFound)
    }

    @Test("after a change of the passphrase only the new one opens, and the data keys stay")
    func changePassphrase() throws {
        let keyring = try fixture.create("one")
        let id = try keyring.addVault(named: "A")
        let before = try keyring.vaultKeys(for: id)
        try keyring.changePassphrase(KeyringFixture.passphrase("two"), parameters: fixture.parameters())
        #expect(code { _ = try fixture.open("one") } == .unlockFailed)
        let after = try fixture.open("two")
        #expect(try after.vaultKeys(for: id).current.blobKey.isEqual(to: before.current.blobKey))
        #expect(try after.slotDetails().count == 1)
    }

    /// Protocol decision 5, and R1 for local restores.
    @Test("an old keyring file with its old passphrase is refused against the newer store")
    func rollback() throws {
        let keyring = try fixture.create("one")
        let old = fixture.file
        try keyring.changePassphrase(KeyringFixture.passphrase("two"), parameters: fixture.parameters())
        let newest = keyring.generation
        try fixture.put(old)
        #expect(code { _ = try fixture.open("one") } == .keyringRolledBack)
        // Without the marker the vault's own memory of the generation still tells.
        let elsewhere = KeyringFixture(disk: fixture.disk, stateDirectory: "/elsewhere")
        let copied = try elsewhere.open("one")
        #expect(copied.instanceStatus == .markerMissing)
        #expect(code { try copied.checkGeneration(recorded: newest) } == .keyringRolledBack)
        #expect(code { try keyring.checkGeneration(recorded: newest) } == nil)
        // Accepted aloud, it goes on above everything seen, as a new instance.
        let accepted = try fixture.open("one", acceptsRollback: true)
        #expect(accepted.instanceStatus == .rolledBack)
        let instance = try accepted.instanceID()
        try accepted.renewInstance()
        #expect(accepted.generation > newest)
        let renewed = try fixture.open("one")
        #expect(renewed.instanceStatus == .current)
        #expect(try renewed.instanceID() != instance)
    }

    @Test("mixing slots of an old file into the new one opens nothing")
    func mixedSlots() throws {
        let keyring = try fixture.create("one")
        let old = try KeyringFile(decoding: fixture.file)
        try keyring.changePassphrase(KeyringFixture.passphrase("two"), parameters: fixture.parameters())
        let new = try KeyringFile(decoding: fixture.file)
        for (slots, generation, expected) in [
            (old.slots, new.generation, KeyError.Code.unlockFailed), (old.slots, old.generation, .keyringAltered),
            (new.slots + old.slots, new.generation, .unlockFailed),
        ] {
            let mixed = new.replacing(generation: generation, slots: slots)
            try fixture.put(mixed.encoded)
            #expect(code { _ = try fixture.open("one") } == expected)
        }
    }

    @Test("keys 4: a copied store, and one without its marker, are refused or written to by nobody until renewed (R97)")
    func copies() throws {
        let keyring = try fixture.create()
        let copy = KeyringFixture(disk: fixture.disk, stateDirectory: "/other-machine")
        let opened = try copy.open()
        #expect(opened.instanceStatus == .markerMissing)
        let before = fixture.file
        #expect(code { _ = try opened.addVault(named: "A") } == .markerMissing)
        #expect(fixture.file == before, "nothing was written")
        try opened.renewInstance()
        #expect(try copy.open().instanceStatus == .current)
        #expect(code { _ = try fixture.open() } == .markerDiffers)
        #expect(try fixture.open(acceptsRollback: true).instanceStatus == .markerDiffers)
        #expect(code { _ = try keyring.addVault(named: "B") } == .keyringChanged)
        let path = Marker.path(storeID: keyring.storeID, stateDirectory: "/other-machine")
        try fixture.disk.corrupt(path) { $0[$0.count - 1] ^= 1 }
        #expect(code { _ = try copy.open() } == .markerDiffers)
        let altered = try copy.open(acceptsRollback: true)
        #expect(code { _ = try altered.addVault(named: "A") } == .markerDiffers)
        try altered.renewInstance(isAccepted: true)
        #expect(try copy.open().instanceStatus == .current)
    }

    @Test("R13: parameters outside the bounds are refused before anything is derived")
    func weakParametersFromLyingServer() throws {
        _ = try fixture.create()
        let file = try KeyringFile(decoding: fixture.file)
        for (memory, passes, salt) in [
            (1_024, 3, 16), (.max, 3, 16), (65_536, 1, 16), (65_536, 1_000, 16), (65_536, 3, 8),
        ] as [(UInt32, UInt32, Int)] {
            let slot = file.slots[0]
            let weak = KeySlot(
                id: slot.id, kind: slot.kind, algorithm: slot.algorithm, publicKey: slot.publicKey,
                anchor: slot.anchor,
                password: PasswordParameters(
                    memoryKibibytes: memory, passCount: passes, salt: [UInt8](repeating: 1, count: salt)),
                reference: slot.reference, sealedStorageKey: slot.sealedStorageKey)
            try fixture.put(file.replacing(slots: [weak]).encoded)
            let (_, seconds) = ProcessorTime.measure {
                #expect(code { _ = try fixture.open() } == .passwordPolicy)
            }
            #expect(seconds < 0.06)
        }
    }

    @Test("R14: every byte of a keyring flipped in turn gives a named error")
    func flippedBytes() throws {
        let keyring = try fixture.create()
        let (key, _) = try keyring.addRecoveryKey(named: "safe")
        _ = try keyring.addVault(named: "A")
        // Opened once, so that the keyring before it is gone and damage is called what it is.
        _ = try fixture.open(key)
        let file = fixture.file
        for offset in file.indices {
            var changed = file
            changed[offset] ^= 1 << UInt8(fixture.generator.int(in: 0...7))
            try fixture.put(changed)
            #expect(code { _ = try fixture.open(key) } != nil, "offset \(offset)")
        }
        for count in stride(from: 0, to: file.count, by: 7) {
            try fixture.put(Array(file[..<count]))
            #expect(code { _ = try fixture.open(key) } == .keyringMalformed, "cut at \(count)")
        }
        try fixture.put(file)
        _ = try fixture.open(key)
    }

    @Test("an unknown format version is told apart from damage")
    func unknownVersion() throws {
        _ = try fixture.create()
        var bytes = fixture.file
        // Array header, text header, the magic, then the version.
        let version = 2 + KeyringFile.magic.utf8.count
        #expect(UInt64(bytes[version]) == KeyringFile.version)
        bytes[version] += 1
        try fixture.put(bytes)
        #expect(code { _ = try fixture.open() } == .keyringUnsupported)
        bytes[version] -= 2
        try fixture.put(bytes)
        #expect(code { _ = try fixture.open() } == .keyringOutdated, "a store of before is carried over by its program")
    }

    @Test("R14 fuzz: altered keyrings never crash the reader")
    func fuzzFile() throws {
        _ = try fixture.create()
        fuzz([fixture.file], rounds: 3_000) { bytes in
            if let file = try? KeyringFile(decoding: bytes) { #expect(file.encoded == bytes) }
        }
    }

    @Test("R16: a keyring's body does not open as that of another generation or store")
    func bodyBinding() throws {
        let keyring = try fixture.create()
        let file = try KeyringFile(decoding: fixture.file)
        let key = StorageKey.generate(from: fixture.generator)
        let sealed = unsafe [UInt8](repeating: 1, count: 10).withUnsafeBytes { keys in
            unsafe KeyringFile.seal(
                storeID: keyring.storeID, generation: 7, slots: file.slots, keys: keys, storageKey: key,
                by: .generate(from: fixture.generator), .keyringSignature, random: fixture.generator)
        }
        try sealed.verify(storageKey: key)
        let moved = sealed.replacing(generation: 8)
        #expect(throws: KeyError(.keyringAltered)) { try moved.verify(storageKey: key) }
        #expect(throws: KeyError(.keyringAltered)) { _ = try moved.openBody(storageKey: key) }
        #expect(code { _ = try sealed.openBody(storageKey: key) } == .keyringInconsistent)
    }

    @Test("a locked keyring gives nothing")
    func locking() throws {
        let keyring = try fixture.create()
        let id = try keyring.addVault(named: "A")
        keyring.lock()
        #expect(keyring.isLocked)
        #expect(code { _ = try keyring.vaultKeys(for: id) } == .locked)
        #expect(code { _ = try keyring.addVault(named: "B") } == .locked)
    }

    @Test("power cut at every operation: the keyring is the old one or the new one, and opens")
    func powerCuts() throws {
        let made = try fixture.create()
        let (key, _) = try made.addRecoveryKey(named: "safe")
        var outcomes: Set<Int> = []
        for number in 1...20 {
            for seed in 0..<6 as Range<UInt64> {
                let start = fixture.disk.syncedCopy()
                let before = KeyringFixture(disk: start)
                let keyring = try before.open(key)
                start.setPlan(FailurePlan(at: start.operationCount + number, .powerCut))
                let isDone = code { _ = try keyring.addVault(named: "A") } == nil
                let after = KeyringFixture(disk: start.restarted(keeping: SeededGenerator(seed: seed)))
                let opened = try after.open(key)
                #expect(opened.instanceStatus == .current)
                let count = try opened.vaults().count
                #expect(!isDone || count == 1)
                outcomes.insert(count)
            }
        }
        #expect(outcomes == [0, 1])
    }

    @Test("every failing operation leaves the keyring usable, and a full disk is told")
    func failures() throws {
        let made = try fixture.create()
        let (key, _) = try made.addRecoveryKey(named: "safe")
        for number in 1...16 {
            for failure in [FileSystemError.Code.inputOutput, .noSpace] {
                let start = fixture.disk.syncedCopy()
                let place = KeyringFixture(disk: start)
                let keyring = try place.open(key)
                start.setPlan(FailurePlan(at: start.operationCount + number, .fail(failure)))
                let result = code { _ = try keyring.addVault(named: "A") }
                #expect(result == nil || result == .fileFailed)
                start.setPlan(nil)
                if result != nil {
                    _ = try keyring.addVault(named: "A")
                }
                #expect(try place.open(key).vaults().count == 1)
            }
        }
    }

    @Test("no name of a vault, device or slot, and no key, stands in the file")
    func canary() throws {
        let keyring = try fixture.create("canary-passphrase")
        let id = try keyring.addVault(named: "canary-vault")
        let (key, _) = try keyring.addRecoveryKey(named: "canary-slot")
        for (path, bytes) in fixture.disk.allFiles() {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains("canary") && !text.contains("Laptop"), "\(path)")
            for secret in key.textGroups() { #expect(!text.contains(secret), "\(path)") }
        }
        let keys = try keyring.vaultKeys(for: id)
        let blobKey = unsafe keys.current.blobKey.withUnsafeBytes { unsafe [UInt8]($0) }
        #expect(!fixture.file.contains(blobKey))
    }
}
