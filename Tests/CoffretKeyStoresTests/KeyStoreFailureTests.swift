// Every call to a key store fails once, before and after its work, and the TPM's line is cut at each command.
// Whatever fails: the store is as before, the passphrase opens it, and the next try succeeds.

import CoffretBase
import CoffretCrypto
import CoffretKeyStores
import CoffretTestSupport
import Foundation
import Synchronization
import Testing

@testable import CoffretKeys

/// A key store whose n-th call fails.
struct FailingKeyStore: KeyStore {
    let base: any KeyStore
    let calls: CallCounter
    /// Whether the call does its work, and only its answer is lost.
    let afterWork: Bool

    final class CallCounter: Sendable {
        private let state: Mutex<(count: Int, failing: Int)>
        init(failing: Int) { state = Mutex((0, failing)) }
        /// Whether this call is the one.
        func next() -> Bool {
            state.withLock {
                $0.count += 1
                return $0.count == $0.failing
            }
        }
        var didFail: Bool { state.withLock { $0.count >= $0.failing } }
    }

    static let failure = KeyError(.keyStoreFailed, cause: KeyStoreError(.unavailable, place: "test"))

    var kind: SlotKind { base.kind }

    private func perform<Value>(_ body: () async throws(KeyError) -> Value) async throws(KeyError) -> Value {
        let fails = calls.next()
        if fails, !afterWork { throw Self.failure }
        let value = try await body()
        if fails { throw Self.failure }
        return value
    }

    func generateKey(
        for place: SlotPlace, terms: SlotTerms, secret: Passphrase?
    ) async throws(KeyError) -> KeyStoreKey {
        try await perform { () async throws(KeyError) in
            try await base.generateKey(for: place, terms: terms, secret: secret)
        }
    }

    func openStorageKey(of slot: KeySlot, binding: SlotBinding, secret: Passphrase?) async throws(KeyError)
        -> StorageKey
    {
        try await perform { () async throws(KeyError) in
            try await base.openStorageKey(of: slot, binding: binding, secret: secret)
        }
    }

    func removeKey(of slot: KeySlot, storeID: UniqueID) async throws(KeyError) {
        try await perform { () async throws(KeyError) in try await base.removeKey(of: slot, storeID: storeID) }
    }

    func attempts() async throws(KeyError) -> KeyStoreAttempts? {
        try await perform { () async throws(KeyError) in try await base.attempts() }
    }
}

/// What a person does with a key store, step by step. Each step leaves the keyring changed or as it was.
enum KeyStoreScenario {
    /// - Parameter opensWithoutPIN: then the steps do without one, which spares runs of Argon2id.
    static func steps(
        _ fixture: KeyStoreFixture, _ sheet: RecoveryKey, opensWithoutPIN: Bool
    ) -> [(name: String, run: (any KeyStore) async throws -> Void)] {
        let (pin, newPIN) = opensWithoutPIN ? (nil, nil) : ("2468", "1357")
        func slot(_ keyring: UnlockedKeyring, _ store: any KeyStore) throws -> SlotSummary? {
            try keyring.slotSummaries().first { $0.kind == store.kind }
        }
        return [
            (
                "add",
                { store in
                    _ = try await fixture.open(sheet).addSlot(
                        using: store, secret: pin.map(KeyStoreFixture.passphrase), named: "PIN")
                }
            ),
            ("attempts", { store in _ = try await store.attempts() }),
            ("open", { store in _ = try await fixture.open(store, pin: pin) }),
            (
                "change",
                { store in
                    let keyring = try fixture.open(sheet)
                    let prepared = try await store.prepareSlot(
                        storeID: keyring.storeID, anchor: keyring.anchor(), terms: SlotTerms(),
                        secret: newPIN.map(KeyStoreFixture.passphrase),
                        random: fixture.environment.random)
                    let old = try slot(keyring, store)
                    for gone in try keyring.add(prepared, replacing: old.map { [$0.id] } ?? [], named: "PIN") {
                        // The old key is of no use; that it could not be removed is no failure of the change.
                        try? await store.removeKey(of: gone, storeID: keyring.storeID)
                    }
                }
            ),
            ("open with the new PIN", { store in _ = try await fixture.open(store, pin: newPIN) }),
            (
                "remove",
                { store in
                    let keyring = try fixture.open(sheet)
                    guard let slot = try slot(keyring, store) else { return }
                    try await store.removeKey(of: keyring.removeSlot(slot.id), storeID: keyring.storeID)
                }
            ),
        ]
    }
}

extension DesktopTests {
    @Suite("Failing key stores", .serialized)
    struct KeyStoreFailureTests {
        @Test("any call may fail: nothing is half done, and trying again succeeds", arguments: KeyStoreCase.available)
        func everyCall(keyStoreCase: KeyStoreCase) async throws {
            let template = try KeyStoreFixture()
            let (sheet, _) = try template.create().addRecoveryKey(named: "sheet")
            for afterWork in [false, true] {
                for failing in 1... {
                    let fixture = try KeyStoreFixture(copying: template)
                    let (base, keepAlive) = try keyStoreCase.make(fixture.environment)
                    let counter = FailingKeyStore.CallCounter(failing: failing)
                    let store = FailingKeyStore(base: base, calls: counter, afterWork: afterWork)
                    for step in KeyStoreScenario.steps(
                        fixture, sheet, opensWithoutPIN: keyStoreCase.opensWithoutPIN)
                    {
                        let before = try fixture.file
                        guard let error = await failure({ try await step.run(store) }) else { continue }
                        #expect(error == "keystore.unavailable", "\(step.name), call \(failing)")
                        // Removing is done in the keyring first: what is left is a key that opens nothing.
                        if step.name != "remove" {
                            #expect(try fixture.file == before, "\(step.name), call \(failing)")
                        }
                        #expect(throws: Never.self) { _ = try fixture.open(sheet) }
                        try await step.run(store)
                    }
                    #expect(try KeyringFile(decoding: fixture.file).slots.map(\.kind) == [.passphrase, .recovery])
                    withExtendedLifetime(keepAlive) {}
                    if !counter.didFail { break }
                }
            }
        }
    }
}

@Suite("A TPM's line cut", .serialized, .enabled(if: SoftwareTPM.isAvailable, "swtpm is not installed"))
struct TPMCutTests {
    @Test(
        "at each command, before it or before its answer: said as such, and nothing is changed",
        arguments: CuttingProxy.Manner.allCases)
    func everyCommand(manner: CuttingProxy.Manner) async throws {
        let fixture = try KeyStoreFixture()
        let tpm = try SoftwareTPM()
        let store = fixture.environment.tpmKeyStore(tpm)
        let keyring = try fixture.create()
        let (storeID, anchor) = (keyring.storeID, try keyring.anchor())
        _ = try await keyring.addSlot(using: store, secret: nil, named: "TPM")
        let connection = try TPMConnection(transport: TPMTransport(configuration: tpm.transport))
        try connection.shutDown()
        let memory = try tpm.permanentMemory()
        let file = try fixture.file
        let works: [(String, @Sendable (TPMKeyStore) async throws -> Void)] = [
            ("open", { store in _ = try await fixture.open(store, pin: nil) }),
            (
                "make",
                { store in
                    _ = try await store.prepareSlot(
                        storeID: storeID, anchor: anchor, terms: SlotTerms(), secret: nil,
                        random: fixture.environment.random)
                }
            ),
            ("attempts", { store in _ = try await store.attempts() }),
        ]
        for (name, work) in works {
            var cutCount = 0
            while true {
                // What was loaded when the line broke would fill the few places of a TPM without a manager.
                try tpm.restart(with: memory)
                let proxy = try CuttingProxy(to: tpm, after: cutCount, manner)
                let cut = fixture.environment.tpmKeyStore(tpm, socket: proxy.transport)
                let error = await failure { try await work(cut) }
                proxy.stop()
                guard proxy.didCut else {
                    #expect(error == nil, "\(name) uncut")
                    break
                }
                // The last commands only tidy up; their loss is no failure.
                if error != nil { #expect(error == "keystore.unavailable", "\(name), command \(cutCount)") }
                #expect(try fixture.file == file)
                cutCount += 1
            }
            #expect(cutCount > 3, "\(name) has commands to cut")
        }
        try tpm.restart(with: memory)
        #expect(try await fixture.open(store, pin: nil).storeID == keyring.storeID)
    }
}
