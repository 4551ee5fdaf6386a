// What the process that syncs says it does, read by another one.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretSync

@Suite("Records of syncing")
struct SyncRecordsTests {
    @Test("a state counts while the process that wrote it holds the file, and is read as it was written")
    func agentState() throws {
        let folder = try TemporaryDirectory("sync-records")
        let records = SyncRecords(
            stateDirectory: folder.path, storeID: UniqueID(bytes: [UInt8](repeating: 7, count: 16))!,
            fileSystem: PosixFileSystem())
        #expect(records.agentState() == nil)
        let states: [AgentSyncState] = [
            .off, .idle, .connected, .waiting(problem: "http.unreachable", until: 1_780_000_000_000),
            .moving(AgentSyncWork(vault: "a1", isSending: true, doneCount: 5, totalCount: 10, byteCount: 1 << 40)),
            .moving(
                AgentSyncWork(
                    vault: "a1", isSending: true, doneCount: 0, totalCount: 2, byteCount: 7, totalByteCount: 90)),
            .moving(AgentSyncWork(vault: "a1", isSending: false, doneCount: 5, totalCount: nil, byteCount: 0)),
            .connected,
        ]
        do {
            let file = try records.beginAgentState()
            for state in states {
                file.write(state)
                #expect(records.agentState() == state)
            }
            withExtendedLifetime(file) {}
        }
        #expect(records.agentState() == nil, "who wrote it is gone")
    }
}
