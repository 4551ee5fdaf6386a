// The keys of a store while nobody uses them: sealed, opened, and never both at once.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretTestSupport
import CoffretWire
import Testing

@testable import CoffretAgent

@Suite("Keys that nobody uses")
struct IdleKeyTests {
    private static let random = SystemRandomSource()

    private static func moment(_ seconds: UInt64) -> BootInstant { BootInstant(nanoseconds: seconds * 1_000_000_000) }

    private static func makeLock() -> IdleLock {
        IdleLock(key: IdleKey.generate(from: random), wrapped: [1, 2, 3])
    }

    private static func makeNoteKey(_ byteCount: Int) -> HeldNoteKey {
        HeldNoteKey(
            record: UniqueID.generate(from: random), scheme: byteCount == 32 ? .argon2id : .bear,
            secret: SecretBytes.random(byteCount: byteCount))
    }

    private static func opened(_ key: StorageKey) throws -> OpenedStore {
        let intervals = try #require(LockIntervals(idleSeconds: 60, absoluteSeconds: 100))
        return OpenedStore(
            store: "/store", storageKey: key, generation: 1, intervals: intervals, variables: KeptVariables([:]))
    }

    private func bytes(_ key: HeldNoteKey) -> [UInt8] {
        // EXPOSE: a random key of a test.
        unsafe key.withUnsafeBytes { unsafe Array($0) }
    }

    @Test("what was sealed comes back whole: any number of notes' keys, of any length")
    func roundTrip() throws {
        for count in [0, 1, 5] {
            let storage = StorageKey.generate(from: Self.random)
            let notes = (0..<count).map { Self.makeNoteKey($0 == 0 ? 32 : 100 + $0 * 4_000) }
            let lock = Self.makeLock()
            let sealed = SealedKeys(
                OpenKeys(storage: storage, notes: notes), lock: lock, store: "/store", random: Self.random)
            #expect(sealed.wrapped == lock.wrapped)
            let opened = try #require(sealed.opened(with: lock.key))
            #expect(opened.storage.isEqual(to: storage))
            #expect(opened.notes.map(\.record) == notes.map(\.record))
            #expect(opened.notes.map(\.scheme) == notes.map(\.scheme))
            #expect(opened.notes.map(bytes) == notes.map(bytes))
            #expect(sealed.opened(with: IdleKey.generate(from: Self.random)) == nil)
        }
    }

    @Test("sealed a while after the last use, once there is a lock; opened again by the same one")
    func states() throws {
        let key = StorageKey.generate(from: Self.random)
        let store = UnlockedStore(try Self.opened(key), at: Self.moment(10))
        let note = Self.makeNoteKey(32)
        store.hold(note)
        #expect(store.sealDeadline == Self.moment(30))
        #expect(store.use(at: Self.moment(12)).key != nil)
        #expect(store.sealDeadline == Self.moment(32), "a use moves it")
        #expect(!store.seal(random: Self.random), "without a lock the keys stay as they are")
        #expect(store.use(at: Self.moment(13)).key?.isEqual(to: key) == true)
        let lock = Self.makeLock()
        store.keep(lock)
        #expect(store.seal(random: Self.random))
        #expect(store.sealDeadline == nil)
        let sealed = store.use(at: Self.moment(14))
        #expect(sealed.key == nil && sealed.noteKeys.isEmpty)
        #expect(store.status(at: Self.moment(14)).isUnlocked, "sealed is not locked")

        #expect(!store.open(with: nil) && !store.open(with: Self.makeLock()))
        #expect(store.open(with: lock))
        let again = store.use(at: Self.moment(15))
        #expect(again.key?.isEqual(to: key) == true)
        #expect(again.noteKeys.map(bytes) == [bytes(note)])
        #expect(store.seal(random: Self.random), "the TPM is not asked twice for one lock")
    }

    @Test("a TPM that took no key is asked again after the next use, not before")
    func refused() throws {
        let store = UnlockedStore(try Self.opened(StorageKey.generate(from: Self.random)), at: Self.moment(10))
        store.keep(nil)
        #expect(store.sealDeadline == nil)
        _ = store.use(at: Self.moment(20))
        #expect(store.sealDeadline == Self.moment(40))
    }

    @Test("every way of locking takes what is sealed as well", arguments: LockReason.allCases)
    func locking(reason: LockReason) throws {
        let store = UnlockedStore(try Self.opened(StorageKey.generate(from: Self.random)), at: Self.moment(10))
        let lock = Self.makeLock()
        store.keep(lock)
        #expect(store.seal(random: Self.random))
        store.lock(because: reason)
        #expect(store.sealedKeys == nil && !store.open(with: lock))
        store.keep(lock)
        #expect(!store.seal(random: Self.random))
    }

    @Test("time runs while it is sealed, and unlocking anew brings no note back")
    func time() throws {
        let store = UnlockedStore(try Self.opened(StorageKey.generate(from: Self.random)), at: Self.moment(10))
        store.hold(Self.makeNoteKey(32))
        let lock = Self.makeLock()
        store.keep(lock)
        #expect(store.seal(random: Self.random))
        store.unlock(try Self.opened(StorageKey.generate(from: Self.random)), at: Self.moment(20))
        #expect(store.sealedKeys == nil)
        let use = store.use(at: Self.moment(21))
        #expect(use.key != nil && use.noteKeys.isEmpty)
        store.keep(lock)
        #expect(store.seal(random: Self.random))
        #expect(store.check(at: Self.moment(81), isUse: true) == .idle)
        #expect(store.sealedKeys == nil)
    }

    @Test("the report with an idle key comes back whole")
    func report() throws {
        let lock = Self.makeLock()
        guard case .idleLock(let found)? = ChildReport(decoding: ChildReport.idleLock(lock).encoded) else {
            Issue.record("another report")
            return
        }
        #expect(found.key.isEqual(to: lock.key) && found.wrapped == lock.wrapped)
    }
}
