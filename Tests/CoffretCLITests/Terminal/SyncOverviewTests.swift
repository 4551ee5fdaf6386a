// What one process says of syncing, another one reads.

import CoffretApp
import CoffretBase
import CoffretSync
import CoffretWire
import Testing

@testable import CoffretCLI
@testable import CoffretMessages
@testable import CoffretTerminal

@Suite("Overview of syncing")
struct SyncOverviewTests {
    private static let now: Milliseconds = 1_780_000_000_000

    private static let vault = {
        var vault = VaultSyncState()
        (vault.id, vault.name) = (String(repeating: "a1", count: 32), "Garden \u{1B}[31m\"é\"")
        (vault.itemCount, vault.version, vault.unsentCount) = (1_204, "9c41", 3)
        (vault.waitingFileCount, vault.waitingFileByteCount, vault.unreadableFileCount) = (1, 4_000, 1)
        (vault.absentFileCount, vault.absentFileByteCount, vault.absentFilesWanted) = (2, 5_000_000, .asked)
        (vault.lastSyncedAt, vault.problem, vault.isServerBeyond) = (WireMoment(now), "sync.file.no-room", true)
        var (phone, laptop) = (DeviceSyncState(), DeviceSyncState())
        (phone.id, phone.name, phone.hasEverything, phone.heardAt) = ("d1", "phone", true, WireMoment(now))
        (laptop.id, laptop.name, laptop.isAhead) = ("d2", "laptop", true)
        vault.devices = [phone, laptop]
        return vault
    }()

    private static func overview(_ vaults: [VaultSyncState], _ agent: AgentSyncState?) -> SyncOverview {
        var overview = SyncOverview()
        overview.vaults = vaults
        overview.agent = agent
        return overview
    }

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
            let overview = Self.overview(vaults, state)
            let read = try SyncOverview(json: JSONValue(parsing: Array(overview.json.line.utf8)))
            #expect(read == overview && read.agent == state)
        }
    }

    @Test("the line of a process that listens by itself is told apart from the agent's")
    func lines() throws {
        for line in [nil, SyncOverview.Line.connected, .waiting(problem: "http.unreachable", until: Self.now)] {
            var overview = Self.overview([], .off)
            overview.line = line
            let read = try SyncOverview(json: JSONValue(parsing: Array(overview.json.line.utf8)))
            #expect(read.line == line && read.agent == .off)
        }
        #expect(Self.overview([], .waiting(problem: "http.unreachable", until: Self.now)).line == nil)
    }

    @Test("files that wait are told with the reason, and files that stay at the server as such")
    func files() {
        var vault = Self.vault
        let words = { (label: String) in
            Self.overview([vault], nil).rows(nowMilliseconds: Self.now).first { $0.label == label }?.words
        }
        #expect(words("To send") == "3 changes; 1 file, 4 kB, not readable on this device")
        vault.unreadableFileCount = 0
        #expect(words("To send") == "3 changes; 1 file, 4 kB, for which the server has no room")
        #expect(words("To receive")?.contains("2 files, 5 MB, when you ask for them") == true)
        vault.absentFilesWanted = .all
        #expect(words("To receive")?.contains("2 files, 5 MB;") == true)
    }

    @Test(
        "history that is on its way is told in words, goes to another process, and is not there for one that says nothing of it"
    )
    func pendingHistory() throws {
        var vault = Self.vault
        let words = "older history has not arrived yet"
        for isPending in [false, true] {
            vault.isHistoryPending = isPending
            let overview = Self.overview([vault], .idle)
            let receive = overview.rows(nowMilliseconds: Self.now).first { $0.label == "To receive" }?.words
            #expect(receive?.contains(words) == isPending)
            let line = overview.json.line
            #expect(line.contains("\"isHistoryPending\":\(isPending)"))
            let read = try SyncOverview(json: JSONValue(parsing: Array(line.utf8)))
            #expect(read.vaults.map(\.isHistoryPending) == [isPending])
            #expect(read.json == overview.json)
        }
        // As a program of before says it.
        var parts = Self.overview([vault], .idle).json.line.split(separator: ",")
        parts.removeAll { $0.contains("isHistoryPending") }
        let older = try JSONValue(parsing: Array(parts.joined(separator: ",").utf8))
        #expect(try SyncOverview(json: older).vaults.map(\.isHistoryPending) == [nil])
    }

    @Test(
        "what is no overview is none",
        arguments: ["{}", "[]", "{\"vaults\":[{}]}", "{\"vaults\":[],\"listening\":false,\"agentSync\":\"x\"}"])
    func malformed(_ text: String) throws {
        #expect(throws: WireError.self) { try SyncOverview(json: JSONValue(parsing: Array(text.utf8))) }
    }
}
