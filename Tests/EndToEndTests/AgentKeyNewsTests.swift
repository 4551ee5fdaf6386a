// Commands that ask for the passphrase beside an agent and change the keyring. The one thing to keep true: no passphrase
// reaches a command here but those that ask for it, so what works afterwards works by the agent's key.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Keys that follow", .serialized,
    .enabled(if: ServerRunner.isAvailable && AgentRunner.isAvailable, "needs coffret-server and coffret-agent"))
struct AgentKeyNewsTests {
    /// A command with the passphrase, beside the agent.
    @discardableResult
    private func beside(_ agent: AgentRunner, _ arguments: String...) throws -> ProcessResult {
        let result = try agent.runner.run(
            arguments, input: [],
            environment: agent.environment(["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]))
        #expect(result.exitCode == 0, "\(arguments): \(result.errorText)")
        return result
    }

    private func state(_ agent: AgentRunner) throws -> String {
        String(try agent.succeed("agent", "status").split(separator: "\n").first ?? "")
    }

    @Test("a device let in, and one revoked, beside the agent: the store stays unlocked and goes on syncing")
    func devices() throws {
        let server = try ServerRunner()
        let (first, second) = (try AgentRunner(), try AgentRunner(makesStore: false))
        #expect(try first.unlock().exitCode == 0)
        try beside(first, "server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.succeed("new", input: "# Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(
            second.runner, first.runner, server, name: "Second",
            environment: first.environment(["COFFRET_PASSPHRASE_FILE": first.runner.passphraseFile]))
        #expect(try state(first).contains(": unlocked; locks in"))
        #expect(try second.unlock().exitCode == 0)
        try first.succeed("new", input: "# Beans")
        try Waiting.until("the note") { try second.succeed("ls").contains("Beans") }
        try second.succeed("new", input: "# Peas")
        try Waiting.until("the other note") { try first.succeed("ls").contains("Peas") }

        try beside(first, "device", "revoke", "Second", "--yes")
        #expect(try state(first).contains(": unlocked; locks in"))
        try first.succeed("new", input: "# Leeks")
        try Waiting.until("sent under the new key") {
            try first.succeed("status").contains("nothing waits to be sent")
        }
        #expect(try first.succeed("ls").contains("Leeks"))
        for agent in [first, second] { try agent.stop() }
    }

    @Test("another passphrase, and a recovery key revoked, lock at once and say so; a recovery key more does not")
    func slots() throws {
        let agent = try AgentRunner()
        #expect(try agent.unlock().exitCode == 0)
        try beside(agent, "recovery", "add", "--print-only", "--name", "safe")
        #expect(try agent.run("ls").exitCode == 0)
        #expect(try beside(agent, "recovery", "revoke", "safe", "--yes").errorText.contains("The store is locked now"))
        #expect(try state(agent).contains("locked (its keys were changed)"))
        #expect(try agent.run("ls").exitCode == 69)
        #expect(try agent.unlock().exitCode == 0)

        let input = Array("other words\n".utf8)
        let changed = try agent.runner.run(
            ["passphrase", "--effort", "light", "--new-passphrase-fd", "0"], input: input,
            environment: agent.environment(["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile]))
        #expect(changed.errorText.contains("The store is locked now"), "\(changed.errorText)")
        #expect(try state(agent).contains("locked (its keys were changed)"))
        #expect(try agent.unlock().exitCode == 67)
        #expect(try agent.unlock(passphrase: "other words").exitCode == 0)
        #expect(try agent.run("ls").exitCode == 0)
        try agent.stop()
    }
}
