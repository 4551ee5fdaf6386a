// One suite for every home of slot keys: a file with a machine secret, a TPM, the desktop's keyring. Whatever the
// home, a store opens with the right secret only, stays open to it over changes of other slots, and not after the
// slot is gone.

import CoffretBase
import CoffretCrypto
import CoffretKeyStores
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretKeys

/// A key store to be tested, with everything that has to outlive it.
struct KeyStoreCase: Sendable, CustomTestStringConvertible {
    let name: String
    let isAvailable: Bool
    /// Whether it has a check of its own, so that slots may do without a PIN.
    let opensWithoutPIN: Bool
    let make: @Sendable (KeyringEnvironment) throws -> (store: any KeyStore, keepAlive: [any Sendable])

    var testDescription: String { name }

    static let file = KeyStoreCase(name: "file", isAvailable: true, opensWithoutPIN: false) { environment in
        (environment.fileKeyStore(memoryKibibytes: 65_536), [])
    }
    static let tpm = KeyStoreCase(
        name: "TPM", isAvailable: SoftwareTPM.isAvailable, opensWithoutPIN: true
    ) { environment in
        let tpm = try SoftwareTPM()
        return (environment.tpmKeyStore(tpm), [tpm])
    }
    static let keyring = KeyStoreCase(
        name: "keyring", isAvailable: HeadlessKeyring.isAvailable, opensWithoutPIN: true
    ) { environment in
        let keyring = try HeadlessKeyring(password: "login")
        return (environment.secretServiceKeyStore(), [keyring])
    }
    static let all = [file, tpm, keyring]
    static let available = all.filter(\.isAvailable)
}

extension KeyringEnvironment {
    func tpmKeyStore(_ tpm: SoftwareTPM, socket: String? = nil) -> TPMKeyStore {
        TPMKeyStore(
            transport: TPMTransport(configuration: socket ?? tpm.transport), machineSecret: machineSecret,
            random: random)
    }

    func secretServiceKeyStore(limit: Duration = .seconds(20)) -> SecretServiceKeyStore {
        SecretServiceKeyStore(machineSecret: machineSecret, random: random, memoryKibibytes: 65_536, limit: limit)
    }
}

/// A store's keyring in a folder of its own.
struct KeyStoreFixture {
    let directory: TemporaryDirectory
    let environment: KeyringEnvironment
    static let passphrase = "a long passphrase"

    /// - Parameter original: whose store and state are copied.
    init(copying original: KeyStoreFixture? = nil) throws {
        directory = try TemporaryDirectory("keystore")
        if let original {
            for name in try FileManager.default.contentsOfDirectory(atPath: original.directory.path) {
                try FileManager.default.copyItem(
                    atPath: original.directory.file(name), toPath: directory.file(name))
            }
        }
        environment = KeyringEnvironment(
            keyringPath: directory.file("store.keyring"), stateDirectory: directory.file("state"),
            fileSystem: PosixFileSystem(), random: SystemRandomSource(), clock: SystemWallClock())
    }

    static func passphrase(_ text: String) throws -> Passphrase {
        var bytes = Array(text.utf8)
        return try Passphrase(typed: &bytes)
    }

    static func parameters() -> PasswordParameters {
        .generate(from: SystemRandomSource(), memoryKibibytes: 65_536, passCount: 3)
    }

    func create() throws -> UnlockedKeyring {
        try Keyring.create(
            passphrase: Self.passphrase(Self.passphrase), parameters: Self.parameters(), deviceName: "laptop",
            environment: environment)
    }

    func open(
        _ store: any KeyStore, pin: String?, profile: String = SlotTerms.defaultProfile,
        presence: (any UserPresence)? = nil
    ) async throws -> UnlockedKeyring {
        try await Keyring.open(
            using: store, profile: profile, secret: try pin.map(Self.passphrase), presence: presence,
            environment: environment)
    }

    func openWithPassphrase(_ text: String = passphrase) throws -> UnlockedKeyring {
        try Keyring.open(with: .passphrase(Self.passphrase(text)), environment: environment)
    }

    /// Takes no Argon2id.
    func open(_ sheet: RecoveryKey) throws -> UnlockedKeyring {
        try Keyring.open(with: .recoveryKey(sheet), environment: environment)
    }

    var file: [UInt8] {
        get throws { [UInt8](try Data(contentsOf: URL(fileURLWithPath: environment.keyringPath))) }
    }

    func put(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: environment.keyringPath)) }
}

/// The code of a key error, with that of its cause in a key store if there is one.
func failure(_ body: () async throws -> Void) async -> String? {
    do {
        try await body()
        return nil
    } catch let error as KeyError {
        let cause = error.code == .keyStoreFailed ? error.cause as? KeyStoreError : nil
        return cause?.code.rawValue ?? error.code.rawValue
    } catch {
        return String(describing: error)
    }
}

/// GLib keeps one connection to the session bus in a process, so whatever uses a keyring runs one after another.
@Suite("Key stores of a desktop", .serialized)
enum DesktopTests {}

extension DesktopTests {
    @Suite("Key stores", .serialized)
    struct KeyStoreConformanceTests {
        let fixture: KeyStoreFixture

        init() throws { fixture = try KeyStoreFixture() }

        @Test("homes that cannot be tested here are named", arguments: KeyStoreCase.all)
        func availability(keyStoreCase: KeyStoreCase) throws {
            withKnownIssue("\(keyStoreCase.name) is not installed", isIntermittent: true) {
                #expect(keyStoreCase.isAvailable)
            }
        }

        @Test("a slot opens with its secret, and with no other", arguments: KeyStoreCase.available)
        func opens(keyStoreCase: KeyStoreCase) async throws {
            let (store, keepAlive) = try keyStoreCase.make(fixture.environment)
            let keyring = try fixture.create()
            _ = try await keyring.addSlot(using: store, secret: KeyStoreFixture.passphrase("2468"), named: "PIN")
            #expect(try await fixture.open(store, pin: "2468").storeID == keyring.storeID)
            #expect(await failure { _ = try await fixture.open(store, pin: "1357") } == "keys.unlock-failed")
            #expect(await failure { _ = try await fixture.open(store, pin: nil) } == "keys.slot.not-found")
            withExtendedLifetime(keepAlive) {}
        }

        @Test("a PIN belongs to its profile, and a profile has one", arguments: KeyStoreCase.available)
        func profiles(keyStoreCase: KeyStoreCase) async throws {
            let (store, keepAlive) = try keyStoreCase.make(fixture.environment)
            let keyring = try fixture.create()
            for (profile, pin) in [("ada", "1111"), ("émile", "2222")] {
                _ = try await keyring.addSlot(
                    using: store, terms: SlotTerms(profile: profile), secret: KeyStoreFixture.passphrase(pin),
                    named: profile)
            }
            _ = try await fixture.open(store, pin: "1111", profile: "ada")
            _ = try await fixture.open(store, pin: "2222", profile: "émile")
            #expect(
                await failure { _ = try await fixture.open(store, pin: "2222", profile: "ada") } == "keys.unlock-failed"
            )
            #expect(await failure { _ = try await fixture.open(store, pin: "1111") } == "keys.slot.not-found")
            let before = try fixture.file
            #expect(
                await failure {
                    _ = try await keyring.addSlot(
                        using: store, terms: SlotTerms(profile: "ada"), secret: KeyStoreFixture.passphrase("3333"),
                        named: "again")
                } == "keys.slot.exists")
            #expect(
                await failure {
                    _ = try await keyring.addSlot(
                        using: store, terms: SlotTerms(profile: ""), secret: KeyStoreFixture.passphrase("3"), named: "")
                } == "keys.slot.malformed")
            #expect(try fixture.file == before)
            withExtendedLifetime(keepAlive) {}
        }

        @Test("a slot without a PIN needs a key store with a check of its own", arguments: KeyStoreCase.available)
        func withoutPIN(keyStoreCase: KeyStoreCase) async throws {
            let (store, keepAlive) = try keyStoreCase.make(fixture.environment)
            let keyring = try fixture.create()
            let error = await failure { _ = try await keyring.addSlot(using: store, secret: nil, named: "") }
            #expect(error == (keyStoreCase.opensWithoutPIN ? nil : "keys.slot.pin-required"))
            if keyStoreCase.opensWithoutPIN {
                #expect(try await fixture.open(store, pin: nil).storeID == keyring.storeID)
                #expect(await failure { _ = try await fixture.open(store, pin: "1") } == "keys.slot.not-found")
            }
            withExtendedLifetime(keepAlive) {}
        }

        @Test("a slot survives a new storage key, and is refused once it is removed", arguments: KeyStoreCase.available)
        func survivesChanges(keyStoreCase: KeyStoreCase) async throws {
            let (store, keepAlive) = try keyStoreCase.make(fixture.environment)
            let keyring = try fixture.create()
            let slotID = try await keyring.addSlot(
                using: store, secret: KeyStoreFixture.passphrase("2468"), named: "PIN")
            let before = try fixture.file
            try keyring.changePassphrase(
                KeyStoreFixture.passphrase("second passphrase"), parameters: KeyStoreFixture.parameters())
            let opened = try await fixture.open(store, pin: "2468")
            #expect(opened.generation == keyring.generation)
            let removed = try opened.removeSlot(slotID)
            #expect(await failure { _ = try await fixture.open(store, pin: "2468") } == "keys.slot.not-found")
            // The old file put back is older than what the machine remembers (R1).
            let now = try fixture.file
            try fixture.put(before)
            #expect(await failure { _ = try await fixture.open(store, pin: "2468") } == "keys.keyring.rolled-back")
            // The key store forgets the key, which does not need the keyring; forgetting it twice is no error.
            try fixture.put(now)
            try await store.removeKey(of: removed, storeID: keyring.storeID)
            try await store.removeKey(of: removed, storeID: keyring.storeID)
            withExtendedLifetime(keepAlive) {}
        }

        @Test(
            "a slot's message moved to another store, slot or generation does not open (R9)",
            arguments: KeyStoreCase.available)
        func boundToStore(keyStoreCase: KeyStoreCase) async throws {
            let (store, keepAlive) = try keyStoreCase.make(fixture.environment)
            let keyring = try fixture.create()
            let pin = try KeyStoreFixture.passphrase("2468")
            _ = try await keyring.addSlot(using: store, secret: pin, named: "PIN")
            let file = try KeyringFile(decoding: fixture.file)
            let slot = try #require(file.slots.first { $0.kind == store.kind })
            _ = try await store.openStorageKey(of: slot, binding: file.binding(of: slot), secret: pin)
            let other = UniqueID.generate(from: fixture.environment.random)
            for binding in [
                SlotBinding(storeID: file.storeID, slotID: slot.id, generation: file.generation + 1),
                SlotBinding(storeID: file.storeID, slotID: other, generation: file.generation),
                SlotBinding(storeID: other, slotID: slot.id, generation: file.generation),
            ] {
                #expect(
                    await failure { _ = try await store.openStorageKey(of: slot, binding: binding, secret: pin) }
                        == "keys.unlock-failed")
            }
            withExtendedLifetime(keepAlive) {}
        }

        @Test(
            "what is altered in a slot's reference or message never opens it (R14)", arguments: KeyStoreCase.available)
        func altered(keyStoreCase: KeyStoreCase) async throws {
            let (store, keepAlive) = try keyStoreCase.make(fixture.environment)
            let keyring = try fixture.create()
            let hasPIN = !keyStoreCase.opensWithoutPIN
            let pin = hasPIN ? try KeyStoreFixture.passphrase("2468") : nil
            _ = try await keyring.addSlot(using: store, secret: pin, named: "")
            let file = try KeyringFile(decoding: fixture.file)
            let slot = try #require(file.slots.first { $0.kind == store.kind })
            let foreign = KeySlot(
                id: slot.id, kind: slot.kind, algorithm: slot.algorithm, publicKey: slot.publicKey,
                anchor: SigningKey.generate(from: fixture.environment.random).verifyingKey.bytes,
                password: slot.password, reference: slot.reference, sealedStorageKey: slot.sealedStorageKey)
            #expect(
                await failure {
                    _ = try await store.openStorageKey(of: foreign, binding: file.binding(of: slot), secret: pin)
                } != nil, "another device's anchor")
            // Each try with a PIN costs a run of Argon2id.
            let step = hasPIN ? 29 : 3
            for offset in stride(from: 0, to: slot.reference.count + slot.sealedStorageKey.count, by: step) {
                var (reference, sealed) = (slot.reference, slot.sealedStorageKey)
                if offset < reference.count {
                    reference[offset] ^= 0x20
                } else {
                    sealed[offset - reference.count] ^= 0x20
                }
                let altered = KeySlot(
                    id: slot.id, kind: slot.kind, algorithm: slot.algorithm, publicKey: slot.publicKey,
                    anchor: slot.anchor, password: slot.password, reference: reference, sealedStorageKey: sealed)
                // The flag for presence is the one byte that only the keyring's MAC protects.
                if (try? SlotReference(decoding: reference))?.terms.needsPresence == true { continue }
                let error = await failure {
                    _ = try await store.openStorageKey(of: altered, binding: file.binding(of: slot), secret: pin)
                }
                #expect(error != nil, "byte \(offset)")
            }
            withExtendedLifetime(keepAlive) {}
        }

        @Test(
            "a new installation revives no old secrets, and the passphrase still opens",
            arguments: KeyStoreCase.available)
        func reinstallation(keyStoreCase: KeyStoreCase) async throws {
            let (store, keepAlive) = try keyStoreCase.make(fixture.environment)
            let keyring = try fixture.create()
            _ = try await keyring.addSlot(using: store, secret: KeyStoreFixture.passphrase("2468"), named: "PIN")
            let old = try fixture.file
            // Everything is removed; the TPM and the keyring know nothing of that.
            try FileManager.default.removeItem(atPath: fixture.environment.stateDirectory)
            #expect(await failure { _ = try await fixture.open(store, pin: "2468") } == "keys.machine-secret.missing")
            try FileManager.default.removeItem(atPath: fixture.environment.keyringPath)
            let fresh = try fixture.create()
            _ = try await fresh.addSlot(using: store, secret: KeyStoreFixture.passphrase("2468"), named: "PIN")
            #expect(try await fixture.open(store, pin: "2468").storeID == fresh.storeID)
            try fixture.put(old)
            #expect(await failure { _ = try await fixture.open(store, pin: "2468") } == "keys.unlock-failed")
            #expect(try fixture.openWithPassphrase().storeID == keyring.storeID)
            withExtendedLifetime(keepAlive) {}
        }
    }
}
