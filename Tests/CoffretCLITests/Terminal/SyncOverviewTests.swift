// What one process says of syncing, another one reads.

import CoffretBase
import CoffretSync
import Testing

@testable import CoffretCLI
@testable import CoffretMessages
@testable import CoffretTerminal

@Suite("Overview of syncing")
struct SyncOverviewTests {
    private static let now: Milliseconds = 1_780_000_000_000

    private static let vault = SyncOverview.VaultState(
        id: String(repeating: "a1", count: 32), name: "Garden \u{1B}[31m\"é\"", itemCount: 1_204, version: "9c41",
        serverVersion: nil, unsentCount: 3, unsentByteCount: nil, waitingFileCount: 1, waitingFileByteCount: 4_000,
        unreadableFileCount: 1, absentFileCount: 2, absentFileByteCount: 5_000_000, areFilesAsked: true,
        lastSyncedAt: now, problem: "sync.file.no-room",
        devices: [
            .init(id: "d1", name: "phone", hasEverything: true, isAhead: false, heardAt: now),
            .init(id: "d2", name: "laptop", hasEverything: false, isAhead: true, heardAt: nil),
        ], isServerBeyond: true)

    private static let states: [AgentSyncState?] = [
        nil, .off, .idle, .connected, .waiting(problem: "http.unreachable", until: now),
        .moving(AgentSyncWork(vault: "a1", isSending: true, doneCount: 5, totalCount: 10, byteCount: 1 << 40)),
        .moving(
            AgentSyncWork(
                vault: "a1", isSending: true, doneCount: 0, totalCount: 2, byteCount: 7, totalByteCount: 90)),
        .moving(AgentSyncWork(vault: "a1", isSending: false, doneCount: 5, totalCount: nil, byteCount: 7)),
    ]

    @Test("what is printed as JSON is read back as the same, to the second", arguments: states)
    func roundTrip(_ state: AgentSyncState?) throws {
        for vaults in [[], [Self.vault], [Self.vault, Self.vault]] {
            let overview = SyncOverview(vaults: vaults, agent: state)
            let value = try JSONValue(parsing: Array(overview.json.line.utf8))
            let read = try #require(SyncOverview(value, now: Self.now))
            #expect(read.json == overview.json)
            #expect(
                read.vaults.map(\.devices)
                    == overview.vaults.map { vault in
                        vault.devices.map { device in
                            .init(
                                id: device.id, name: device.name, hasEverything: device.hasEverything,
                                isAhead: device.isAhead,
                                heardAt: device.heardAt.map { $0 + 999 })
                        }
                    })
        }
    }

    @Test("files that wait are told with the reason, and files that stay at the server as such")
    func files() {
        var vault = Self.vault
        let words = { (label: String) in
            SyncOverview(vaults: [vault], agent: nil).rows(nowMilliseconds: Self.now).first { $0.label == label }?.words
        }
        #expect(words("To send") == "3 changes; 1 file, 4 kB, not readable on this device")
        vault.unreadableFileCount = 0
        #expect(words("To send") == "3 changes; 1 file, 4 kB, for which the server has no room")
        #expect(words("To receive")?.contains("2 files, 5 MB, when you ask for them") == true)
        vault.areFilesAsked = false
        #expect(words("To receive")?.contains("2 files, 5 MB;") == true)
    }

    @Test(
        "history that is on its way is told in words, goes to another process, and is not there for one that says nothing of it"
    )
    func pendingHistory() throws {
        var vault = Self.vault
        let words = "older history has not arrived yet, and nothing is sent before it has"
        for isPending in [false, true] {
            vault.isHistoryPending = isPending
            let overview = SyncOverview(vaults: [vault], agent: .idle)
            let receive = overview.rows(nowMilliseconds: Self.now).first { $0.label == "To receive" }?.words
            #expect(receive?.contains(words) == isPending)
            let line = overview.json.line
            #expect(line.contains("\"isHistoryPending\":\(isPending)"))
            let read = try #require(SyncOverview(JSONValue(parsing: Array(line.utf8)), now: Self.now))
            #expect(read.vaults.map(\.isHistoryPending) == [isPending])
            #expect(read.json == overview.json)
        }
        // As a program of before says it.
        var parts = SyncOverview(vaults: [vault], agent: .idle).json.line.split(separator: ",")
        parts.removeAll { $0.contains("isHistoryPending") }
        let older = try JSONValue(parsing: Array(parts.joined(separator: ",").utf8))
        #expect(SyncOverview(older, now: Self.now)?.vaults.map(\.isHistoryPending) == [false])
    }

    @Test(
        "what is no overview is none",
        arguments: ["{}", "[]", "{\"vaults\":[{}]}", "{\"vaults\":[],\"agentSync\":\"waiting\"}"])
    func malformed(_ text: String) throws {
        #expect(SyncOverview(try JSONValue(parsing: Array(text.utf8)), now: Self.now) == nil)
    }
}
