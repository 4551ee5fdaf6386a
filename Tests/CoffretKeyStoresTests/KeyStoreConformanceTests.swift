// One suite for every home of slot keys: a file with a machine secret, a TPM. Whatever the home, a store opens
// with the right secret only, stays open to it over changes of other slots, and not after the slot is gone.

import CoffretBase
import CoffretCrypto
import CoffretInterop
import CoffretKeyStores
import CoffretKeys
import CoffretTestSupport
import Foundation
import Testing

/// A key store to be tested, with everything that has to outlive it.
struct KeyStoreCase: Sendable, CustomTestStringConvertible {
    let name: String
    let isAvailable: Bool
    let make: @Sendable (KeyringEnvironment) throws -> (store: any KeyStore, keepAlive: [any Sendable])

    var testDescription: String { name }

    static let all = [
        KeyStoreCase(name: "file", isAvailable: true) { environment in
            (environment.fileKeyStore(memoryKibibytes: 65_536), [])
        },
        KeyStoreCase(name: "TPM", isAvailable: SoftwareTPM.isAvailable) { environment in
            let tpm = try SoftwareTPM()
            let transport = TPMTransport(configuration: tpm.transport)
            return (TPMKeyStore(transport: transport, profile: "ada", random: environment.random), [tpm])
        },
    ]
    static let available = all.filter(\.isAvailable)
}

@Suite("Key stores", .serialized)
struct KeyStoreConformanceTests {
    static func passphrase(_ text: String) throws -> Passphrase {
        var bytes = Array(text.utf8)
        return try Passphrase(typed: &bytes)
    }

    static func environment(_ directory: TemporaryDirectory) -> KeyringEnvironment {
        KeyringEnvironment(
            keyringPath: directory.file("store.keyring"), stateDirectory: directory.file("state"),
            fileSystem: PosixFileSystem(), random: SystemRandomSource(), clock: SystemWallClock(),
            sealers: [HardwareStorageKeySealer()])
    }

    static func parameters() -> PasswordParameters {
        .generate(from: SystemRandomSource(), memoryKibibytes: 65_536, passCount: 3)
    }

    @Test("homes that cannot be tested here are named", arguments: KeyStoreCase.all)
    func availability(keyStoreCase: KeyStoreCase) throws {
        withKnownIssue("\(keyStoreCase.name) is not installed", isIntermittent: true) {
            #expect(keyStoreCase.isAvailable)
        }
    }

    @Test("a slot opens with its secret, and with no other", arguments: KeyStoreCase.available)
    func opens(keyStoreCase: KeyStoreCase) async throws {
        let directory = try TemporaryDirectory("keystore")
        let environment = Self.environment(directory)
        let (store, keepAlive) = try keyStoreCase.make(environment)
        let keyring = try Keyring.create(
            passphrase: Self.passphrase("a long passphrase"), parameters: Self.parameters(), deviceName: "laptop",
            environment: environment)
        let pin = try Self.passphrase("2468")
        _ = try await keyring.addSlot(using: store, secret: pin, named: "PIN")
        let opened = try await Keyring.open(using: store, secret: pin, environment: environment)
        #expect(opened.storeID == keyring.storeID)
        let wrong = try Self.passphrase("1357")
        let error = await #expect(throws: KeyError.self) {
            _ = try await Keyring.open(using: store, secret: wrong, environment: environment)
        }
        #expect(error?.code == .unlockFailed)
        withExtendedLifetime(keepAlive) {}
    }

    @Test("a slot survives a new storage key, and is refused once it is removed", arguments: KeyStoreCase.available)
    func survivesChanges(keyStoreCase: KeyStoreCase) async throws {
        let directory = try TemporaryDirectory("keystore")
        let environment = Self.environment(directory)
        let (store, keepAlive) = try keyStoreCase.make(environment)
        let keyring = try Keyring.create(
            passphrase: Self.passphrase("first passphrase"), parameters: Self.parameters(), deviceName: "laptop",
            environment: environment)
        let pin = try Self.passphrase("2468")
        let slotID = try await keyring.addSlot(using: store, secret: pin, named: "PIN")
        let before = try Data(contentsOf: URL(fileURLWithPath: directory.file("store.keyring")))
        try keyring.changePassphrase(Self.passphrase("second passphrase"), parameters: Self.parameters())
        let opened = try await Keyring.open(using: store, secret: pin, environment: environment)
        #expect(opened.generation == keyring.generation)
        try opened.removeSlot(slotID)
        let gone = await #expect(throws: KeyError.self) {
            _ = try await Keyring.open(using: store, secret: pin, environment: environment)
        }
        #expect(gone?.code == .slotNotFound)
        // The old file put back is older than what the machine remembers (R1).
        try before.write(to: URL(fileURLWithPath: directory.file("store.keyring")))
        let rolledBack = await #expect(throws: KeyError.self) {
            _ = try await Keyring.open(using: store, secret: pin, environment: environment)
        }
        #expect(rolledBack?.code == .keyringRolledBack)
        withExtendedLifetime(keepAlive) {}
    }

    @Test("a slot's message moved to another store does not open (R9)", arguments: KeyStoreCase.available)
    func boundToStore(keyStoreCase: KeyStoreCase) async throws {
        let directory = try TemporaryDirectory("keystore")
        let environment = Self.environment(directory)
        let (store, keepAlive) = try keyStoreCase.make(environment)
        let pin = try Self.passphrase("2468")
        let (storeID, slotID) = (
            UniqueID.generate(from: environment.random), UniqueID.generate(from: environment.random)
        )
        let key = try await store.generateKey(storeID: storeID, slotID: slotID, secret: pin)
        guard key.algorithm == .p256ECIES else { return }
        let storageKey = StorageKey.generate(from: environment.random)
        let binding = SlotBinding(storeID: storeID, slotID: slotID, generation: 7)
        let sealed = try HardwareStorageKeySealer().seal(
            storageKey, toPublicKey: key.publicKey, binding: binding, random: environment.random)
        let slot = KeySlot(
            id: slotID, kind: store.kind, algorithm: key.algorithm, publicKey: key.publicKey, password: key.password,
            reference: key.reference, sealedStorageKey: sealed)
        #expect(try await store.openStorageKey(of: slot, binding: binding, secret: pin).isEqual(to: storageKey))
        for other in [
            SlotBinding(storeID: storeID, slotID: slotID, generation: 8),
            SlotBinding(storeID: storeID, slotID: .generate(from: environment.random), generation: 7),
        ] {
            let error = await #expect(throws: KeyError.self) {
                _ = try await store.openStorageKey(of: slot, binding: other, secret: pin)
            }
            #expect(error?.code == .unlockFailed)
        }
        withExtendedLifetime(keepAlive) {}
    }
}

@Suite("TPM key store", .serialized, .enabled(if: SoftwareTPM.isAvailable, "swtpm is not installed"))
struct TPMKeyStoreTests {
    @Test("a message in the format of the shared vectors opens inside the TPM")
    func messageOpensInside() throws {
        let tpm = try SoftwareTPM()
        let connection = try TPMConnection(transport: TPMTransport(configuration: tpm.transport))
        var pin: [UInt8] = [1, 2, 3, 4]
        let authorization = SecretBytes(consuming: &pin)
        let key = try connection.createKey(.keyAgreement, authorization: authorization)
        let message = try CurvePublicKey(x963Representation: key.publicPoint()).encrypt(Array("for the hardware".utf8))
        let shared = try connection.sharedSecret(
            key: key, peer: Array(message.prefix(65)), authorization: authorization)
        #expect(shared.byteCount == 32)
        #expect(message.count == 65 + 16 + 16)
    }

    @Test("a TPM that is gone, or was cleared, is said as such and changes nothing")
    func goneAndCleared() async throws {
        let directory = try TemporaryDirectory("keystore")
        let environment = KeyStoreConformanceTests.environment(directory)
        let tpm = try SoftwareTPM()
        let transport = TPMTransport(configuration: tpm.transport)
        let store = TPMKeyStore(transport: transport, profile: "ada", random: environment.random)
        let keyring = try Keyring.create(
            passphrase: KeyStoreConformanceTests.passphrase("a long passphrase"),
            parameters: KeyStoreConformanceTests.parameters(), deviceName: "laptop", environment: environment)
        let pin = try KeyStoreConformanceTests.passphrase("2468")
        _ = try await keyring.addSlot(using: store, secret: pin, named: "TPM")
        let file = try Data(contentsOf: URL(fileURLWithPath: directory.file("store.keyring")))
        tpm.stop()
        let gone = await #expect(throws: KeyError.self) {
            _ = try await Keyring.open(using: store, secret: pin, environment: environment)
        }
        #expect((gone?.cause as? KeyStoreError)?.code == .unavailable)
        try tpm.clear()
        let cleared = await #expect(throws: KeyError.self) {
            _ = try await Keyring.open(using: store, secret: pin, environment: environment)
        }
        #expect((cleared?.cause as? KeyStoreError)?.code == .keyUnusable)
        #expect(try Data(contentsOf: URL(fileURLWithPath: directory.file("store.keyring"))) == file)
        // The passphrase still opens the store.
        let opened = try Keyring.open(
            with: .passphrase(KeyStoreConformanceTests.passphrase("a long passphrase")), environment: environment)
        #expect(opened.storeID == keyring.storeID)
    }

    @Test("wrong PINs lock the TPM, and the waiting time is said (R30)")
    func lockout() async throws {
        let directory = try TemporaryDirectory("keystore")
        let environment = KeyStoreConformanceTests.environment(directory)
        let tpm = try SoftwareTPM()
        let store = TPMKeyStore(
            transport: TPMTransport(configuration: tpm.transport), profile: "ada", random: environment.random)
        let keyring = try Keyring.create(
            passphrase: KeyStoreConformanceTests.passphrase("a long passphrase"),
            parameters: KeyStoreConformanceTests.parameters(), deviceName: "laptop", environment: environment)
        _ = try await keyring.addSlot(using: store, secret: KeyStoreConformanceTests.passphrase("2468"), named: "TPM")
        let attempts = try await store.lockout().attemptsLeft
        for _ in 0..<attempts {
            let wrong = await #expect(throws: KeyError.self) {
                _ = try await Keyring.open(
                    using: store, secret: KeyStoreConformanceTests.passphrase("0000"), environment: environment)
            }
            #expect(wrong?.code == .unlockFailed)
        }
        let locked = await #expect(throws: KeyError.self) {
            _ = try await Keyring.open(
                using: store, secret: KeyStoreConformanceTests.passphrase("2468"), environment: environment)
        }
        let cause = locked?.cause as? KeyStoreError
        #expect(cause?.code == .lockedOut)
        #expect((cause?.waitSeconds ?? 0) > 0)
    }

    @Test("a call that takes too long lets the caller go")
    func timeLimit() async throws {
        let queue = BlockingQueue(name: "test")
        let error = await #expect(throws: KeyError.self) {
            let _: Int = try await queue.run(limit: .milliseconds(50)) {
                Thread.sleep(forTimeInterval: 1)
                return .success(1)
            }
        }
        #expect((error?.cause as? KeyStoreError)?.code == .cancelled)
        let cancelled = Task {
            let _: Int = try await queue.run(limit: .seconds(20)) {
                Thread.sleep(forTimeInterval: 1)
                return .success(1)
            }
        }
        cancelled.cancel()
        let result = await cancelled.result
        #expect(throws: KeyError.self) { try result.get() }
    }
}
