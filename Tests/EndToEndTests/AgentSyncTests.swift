// Syncing where an agent has the store unlocked. The one thing to keep true: no passphrase reaches a command here but
// the one that unlocks.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Agent and sync", .serialized,
    .enabled(if: ServerRunner.isAvailable && AgentRunner.isAvailable, "needs coffret-server and coffret-agent"))
struct AgentSyncTests {
    @Test("an unlocked store syncs without a passphrase, and says what is true when the server is away")
    func commands() throws {
        let server = try ServerRunner()
        let agent = try AgentRunner()
        try agent.runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        _ = try agent.unlock()
        try agent.runner.makeNote("Tomatoes")
        #expect(try agent.succeed("vault", "sync", "Personal").contains("on the server now"))
        #expect(try agent.succeed("device", "ls").contains("this device"))
        #expect(try agent.succeed("server", "status").contains("answers"))
        #expect(try agent.succeed("sync").contains("up to date"))
        let synced = try agent.succeed("status")
        #expect(synced.contains("nothing waits to be sent; last synced"), "\(synced)")

        server.stop()
        try agent.succeed("new", input: "Written on a train")
        let offline = try agent.run("sync", "--patience", "1s")
        #expect(offline.exitCode == 90, "\(offline.errorText)")
        #expect(offline.errorText.contains("1 change waits to be sent; last synced"), "\(offline.errorText)")
        #expect(offline.errorText.contains("trying again in 1 s"), "\(offline.errorText)")
        #expect(try agent.succeed("status").contains("1 change waits to be sent"))
        try server.start()
        #expect(try agent.succeed("sync").contains("sent 1 change"))
        try agent.stop()
    }
}
