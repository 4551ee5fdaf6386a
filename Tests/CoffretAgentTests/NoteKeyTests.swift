// Keys of locked notes in the agent: what is held, for how long, and how it gets there.

import CoffretBase
import CoffretCore
import CoffretCrypto
import Testing

@testable import CoffretAgent

@Suite("Keys of locked notes in the agent")
struct NoteKeyTests {
    private static func moment(_ seconds: UInt64) -> BootInstant {
        BootInstant(nanoseconds: seconds * 1_000_000_000)
    }

    private static func opened(_ generation: UInt64 = 1) throws -> OpenedStore {
        let intervals = try #require(LockIntervals(idleSeconds: 60, absoluteSeconds: 100))
        return OpenedStore(
            store: "/store", storageKey: StorageKey.generate(from: SystemRandomSource()), generation: generation,
            intervals: intervals, variables: KeptVariables(["HOME": "/home/a", "EDITOR": "vi"]))
    }

    private static func makeKey(_ scheme: LockScheme = .argon2id, byteCount: Int = 32) -> HeldNoteKey {
        HeldNoteKey(
            record: UniqueID.generate(from: SystemRandomSource()), scheme: scheme,
            secret: SecretBytes.random(byteCount: byteCount))
    }

    private func bytes(_ key: HeldNoteKey) -> [UInt8] {
        // EXPOSE: a random key of a test.
        unsafe key.withUnsafeBytes { unsafe Array($0) }
    }

    @Test("held until it is forgotten, replaced under its record, never two of one")
    func holding() throws {
        let store = UnlockedStore(try Self.opened(), at: Self.moment(10))
        #expect(store.use(at: Self.moment(10)).noteKeys.isEmpty, "unlocking a store opens no note")
        let (one, two) = (Self.makeKey(), Self.makeKey(.bear, byteCount: 70))
        store.hold(one)
        store.hold(two)
        store.hold(one)
        #expect(Set(store.use(at: Self.moment(11)).noteKeys.map(\.record)) == [one.record, two.record])
        store.forgetNoteKey(one.record)
        #expect(store.use(at: Self.moment(12)).noteKeys.map(\.record) == [two.record])
    }

    @Test("every way of locking takes them, and nothing brings them back", arguments: LockReason.allCases)
    func locking(reason: LockReason) throws {
        let store = UnlockedStore(try Self.opened(), at: Self.moment(10))
        store.hold(Self.makeKey())
        store.lock(because: reason)
        #expect(store.use(at: Self.moment(11)).noteKeys.isEmpty)
        // A command that was ended by the lock may have reported a key before.
        store.hold(Self.makeKey())
        store.unlock(try Self.opened(2), at: Self.moment(12))
        #expect(store.use(at: Self.moment(12)).noteKeys.isEmpty)
    }

    @Test("a store past its time loses them even if it is unlocked before anybody looked")
    func overdue() throws {
        for late in [UInt64(70), 200] {
            let store = UnlockedStore(try Self.opened(), at: Self.moment(10))
            store.hold(Self.makeKey())
            store.unlock(try Self.opened(2), at: Self.moment(late))
            #expect(store.use(at: Self.moment(late)).noteKeys.isEmpty)
        }
        let inTime = UnlockedStore(try Self.opened(), at: Self.moment(10))
        inTime.hold(Self.makeKey())
        inTime.unlock(try Self.opened(2), at: Self.moment(69))
        #expect(inTime.use(at: Self.moment(69)).noteKeys.count == 1)
    }

    @Test("no more than there is room for")
    func bound() throws {
        let store = UnlockedStore(try Self.opened(), at: Self.moment(10))
        for _ in 0..<(UnlockedStore.noteKeyCountMax + 5) { store.hold(Self.makeKey()) }
        #expect(store.use(at: Self.moment(11)).noteKeys.count == UnlockedStore.noteKeyCountMax)
    }

    @Test("reports arrive as they were sent; anything else is none", arguments: LockScheme.allCases)
    func reports(scheme: LockScheme) throws {
        let key = Self.makeKey(scheme, byteCount: scheme == .argon2id ? 32 : 3_000)
        let sent = ChildReport.noteKeyHeld(key).encoded
        guard case .noteKeyHeld(let received) = ChildReport(decoding: sent) else {
            Issue.record("not decoded")
            return
        }
        #expect(received.record == key.record && received.scheme == scheme && bytes(received) == bytes(key))
        guard
            case .noteKeyForgotten(key.record) = ChildReport(decoding: ChildReport.noteKeyForgotten(key.record).encoded)
        else {
            Issue.record("not decoded")
            return
        }
        for count in 0..<40 { #expect(ChildReport(decoding: Array(sent.prefix(count))) == nil) }
        #expect(ChildReport(decoding: sent + [0]) == nil)
        var otherScheme = sent
        let index = try #require(sent.firstIndex(of: UInt8(scheme.rawValue), after: 18))
        otherScheme[index] = 9
        #expect(ChildReport(decoding: otherScheme) == nil)
    }
}

extension [UInt8] {
    fileprivate func firstIndex(of byte: UInt8, after index: Int) -> Int? {
        self[index...].firstIndex(of: byte)
    }
}
