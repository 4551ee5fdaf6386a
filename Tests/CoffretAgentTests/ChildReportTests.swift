// What the agent takes from its own processes: answers to what they were asked, and nothing else.

import CoffretBase
import CoffretCrypto
import CoffretKeys
import CoffretTestSupport
import CoffretWire
import Glibc
import Testing

@testable import CoffretAgent

@Suite("Reports of the agent's processes")
struct ChildReportTests {
    private static let hour = LockIntervals(idleSeconds: 3600, absoluteSeconds: 7200)!
    private static let day = LockIntervals(idleSeconds: 86_400, absoluteSeconds: 86_400)!

    private static func opened(_ store: String, _ intervals: LockIntervals) -> ChildReport {
        .opened(
            OpenedStore(
                store: store, storageKey: StorageKey.generate(from: SystemRandomSource()), generation: 1,
                intervals: intervals, variables: KeptVariables([:])))
    }

    private static func judge(_ kind: AgentSecretKind, _ wanted: AgentSecretHead.Wanted) -> AgentChild.Work {
        .judge(AgentSecretHead(store: "/a", kind: kind, wanted: wanted))
    }

    /// What a child with `work` reports, as far as the agent takes it.
    private static func taken(_ reports: [ChildReport], from work: AgentChild.Work) -> [ChildReport] {
        var ends: [Int32] = [-1, -1]
        unsafe socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends)
        let child = AgentChild(processID: 0, work: work, client: nil, control: ends[0])
        for report in reports { AgentChild.report(report, over: ends[1]) }
        child.takeReports()
        close(ends[1])
        return child.reports
    }

    @Test(
        "keys 6: R101: a judge unlocks the store that was asked for, for the time that was asked for, and changes no other"
    )
    func judges() {
        let presence = Self.judge(.presence, .settings(idle: 3600, absolute: nil))
        let settings = Self.judge(.passphrase, .settings(idle: nil, absolute: 86_400))
        let unlock = Self.judge(.pin, .unlock(seconds: nil))
        let timed = Self.judge(.pin, .unlock(seconds: 86_400))
        let cases: [(AgentChild.Work, ChildReport, Bool)] = [
            (unlock, Self.opened("/a", Self.hour), true), (unlock, Self.opened("/b", Self.hour), false),
            (unlock, .settled(store: "/a", Self.hour), false), (timed, Self.opened("/a", Self.hour), false),
            (timed, Self.opened("/a", Self.day), true), (settings, Self.opened("/a", Self.day), true),
            (settings, Self.opened("/a", Self.hour), false), (settings, .settled(store: "/a", Self.day), false),
            (presence, .settled(store: "/a", Self.hour), true), (presence, .settled(store: "/b", Self.hour), false),
            (presence, .settled(store: "/a", Self.day), false), (presence, Self.opened("/a", Self.hour), false),
            (unlock, .refused(code: "keys.unlock-failed", waitSeconds: nil), true), (unlock, .confirmed, false),
            (unlock, .slotExcluded, false),
        ]
        for (number, (work, report, isTaken)) in cases.enumerated() {
            #expect(Self.taken([report], from: work).count == (isTaken ? 1 : 0), "case \(number)")
        }
    }

    @Test("R101: who works with a store says what became of its keys, and who asks the person says yes or no")
    func workers() {
        let key = StorageKey.generate(from: SystemRandomSource())
        let all: [ChildReport] = [
            Self.opened("/a", Self.day), .settled(store: "/a", Self.day), .renewed(key, generation: 2), .slotExcluded,
            .stale, .confirmed, .presenceWanted(reason: "show a note", places: ["DISPLAY": ":0"]),
            .noteKeyForgotten(UniqueID.generate(from: SystemRandomSource())),
            .idleLock(IdleLock(key: IdleKey.generate(from: SystemRandomSource()), wrapped: [1])),
            .used, .lockWanted,
        ]
        #expect(Self.taken(all, from: .session(store: "/a", .command)).count == 7)
        #expect(Self.taken(all, from: .connection(store: "/a")).count == 4)
        #expect(Self.taken(all, from: .session(store: "/a", .program)).count == 7)
        let limited = Self.taken(all, from: .session(store: "/a", .limited))
        #expect(limited.count == 5, "it neither locks nor keeps keys")
        #expect(Self.taken(all, from: .sync(store: "/a")).count == 2)
        #expect(Self.taken(all, from: .presence(store: "/a")).count == 1)
        #expect(Self.taken(all, from: .wrapping(store: "/a")).count == 1)
        #expect(Self.taken(all, from: Self.judge(.passphrase, .unlock(seconds: nil))).count == 1)
    }

    @Test("R101: a key that the TPM gives back belongs to what it was asked to open")
    func otherLock() throws {
        let random = SystemRandomSource()
        let lock = IdleLock(key: IdleKey.generate(from: random), wrapped: [1, 2])
        let opened = OpenedStore(
            store: "/a", storageKey: StorageKey.generate(from: random), generation: 1, intervals: Self.hour,
            variables: KeptVariables([:]))
        let store = UnlockedStore(opened, at: BootInstant(nanoseconds: 1))
        store.keep(lock)
        try #require(store.seal(random: random))
        #expect(!store.open(with: IdleLock(key: lock.key, wrapped: [9])))
        #expect(store.open(with: lock))
    }
}
