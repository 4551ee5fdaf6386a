// A handle that was opened before its vault got keys of a new epoch. Invariant: the keys come by another process, as a sync
// brings them.

import CoffretApp
import CoffretCore
import CoffretLogs
import CoffretTestSupport
import Testing

@Suite(
    "Vaults that get new keys", .serialized,
    .enabled(if: AgentRunner.isAvailable && ServerRunner.isAvailable, "needs coffret-agent and coffret-server"))
struct NewKeysTests {
    @Test("a desk reads on in a vault of which a sync opened a new epoch")
    func epoch() throws {
        let world = try OperationWorld(isSynced: true)
        defer { try? world.agent.stop() }
        let runner = world.agent.runner
        let desk = try world.desk()
        let record = try desk.record("Personal")
        let before = try desk.vault(record)
        #expect(try before.stateVersion != nil)
        try runner.succeed("device", "revoke", "Phone", "--yes")
        try runner.makeNote("# Leeks\n", "--vault", "Personal")
        try runner.succeed("sync")
        #expect(throws: CoreError.self, "keys that this handle does not have") { try before.refresh() }
        let vault = try desk.vault(record)
        #expect(try vault.stateVersion != before.stateVersion)
        #expect(try desk.find("Leeks", vault: "Personal").vault === vault)
        #expect(try desk.vault(record) === vault, "and it is kept")
        #expect(vault.repository.fsck().isClean)
    }
}
