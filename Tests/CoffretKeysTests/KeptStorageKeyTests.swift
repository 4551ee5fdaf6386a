// Storage keys on their way to the agent: which change is told how, and who can read it.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Synchronization
import Testing

@testable import CoffretKeys

@Suite("Storage keys that follow")
struct KeptStorageKeyTests {
    private let fixture = KeyringFixture()

    /// What the agent would hear.
    private final class Heard: Sendable {
        private let all = Mutex<[KeptStorageKey]>([])
        func hear(_ kept: KeptStorageKey) { all.withLock { $0.append(kept) } }
        func take() -> [KeptStorageKey] {
            all.withLock { all in
                defer { all = [] }
                return all
            }
        }
    }

    @Test("each change is told with the key that opens the keyring then, and whether a slot opens it no more")
    func told() throws {
        _ = try fixture.create()
        let heard = Heard()
        let base = fixture.environment
        let environment = KeyringEnvironment(
            keyringPath: base.keyringPath, stateDirectory: base.stateDirectory, fileSystem: base.fileSystem,
            random: base.random, clock: base.clock, keepStorageKey: heard.hear)
        let keyring = try Keyring.open(
            with: .passphrase(KeyringFixture.passphrase("one")), environment: environment)
        let first = heard.take()
        #expect(first.map(\.excludesSlot) == [false] && first.map(\.isChange) == [false])
        func change(excludes: Bool, _ body: () throws -> Void) throws {
            try body()
            let told = heard.take()
            #expect(
                told.map(\.isChange) == [true] && told.map(\.excludesSlot) == [excludes]
                    && told.map(\.generation) == [keyring.generation])
            // This very key opens what lies there.
            let opened = try Keyring.open(
                with: .storageKey(#require(told.first).key), environment: fixture.environment)
            #expect(opened.generation == keyring.generation)
        }
        try change(excludes: false) { _ = try keyring.addVault(named: "Personal") }
        var slot: UniqueID?
        try change(excludes: false) { slot = try keyring.addRecoveryKey(named: "safe").slotID }
        try change(excludes: true) { try keyring.removeSlot(#require(slot)) }
        try change(excludes: true) {
            try keyring.changePassphrase(KeyringFixture.passphrase("two"), parameters: fixture.parameters())
        }
        // A change that does not come about is none.
        #expect(code { _ = try keyring.addVault(named: "Personal") } == .vaultExists)
        #expect(heard.take().isEmpty)
    }

    @Test("a key that follows opens with the one before, for its store, and with nothing else")
    func sealed() throws {
        let random = fixture.generator
        let (old, new) = (StorageKey.generate(from: random), StorageKey.generate(from: random))
        let sealed = KeptStorageKey(new, generation: 7, excludesSlot: false).sealed(
            under: old, path: "/store", random: random)
        let opened = try #require(KeptStorageKey(opening: sealed, with: old, path: "/store"))
        #expect(opened.key.isEqual(to: new) && opened.generation == 7 && !opened.excludesSlot)
        #expect(KeptStorageKey(opening: sealed, with: new, path: "/store") == nil)
        #expect(KeptStorageKey(opening: sealed, with: old, path: "/other") == nil)
        for index in sealed.indices {
            var broken = sealed
            broken[index] ^= 1
            #expect(KeptStorageKey(opening: broken, with: old, path: "/store") == nil)
        }
        #expect(KeptStorageKey(opening: Array(sealed.dropLast()), with: old, path: "/store") == nil)
        // Another message that the same key seals is none of these.
        let other = Envelope.seal(
            [UInt8](repeating: 0, count: 40), key: old, context: .keyringBody, associatedData: Array("/store".utf8),
            random: random)
        #expect(KeptStorageKey(opening: other, with: old, path: "/store") == nil)
    }
}
