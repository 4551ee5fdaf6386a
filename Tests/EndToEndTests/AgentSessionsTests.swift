// Programs that have a store open, as the person sees and ends them. The one thing to keep true: the sessions are those of this test.

import CoffretBase
import CoffretClient
import CoffretTerminal
import CoffretTestSupport
import CoffretWire
import Foundation
import Testing

@Suite("Sessions of the agent", .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct AgentSessionsTests {
    private static func open(_ agent: AgentRunner) throws -> SessionClient {
        let runner = agent.runner
        var variables = runner.environment().filter { !$0.key.hasPrefix("COFFRET_") }
        variables["XDG_RUNTIME_DIR"] = agent.runtimeFolder
        let store = try #require(AgentLocation.canonical(runner.storePath))
        return try #require(try SessionClient.open(ProcessEnvironment(variables), store: store))
    }

    private static func listed(_ agent: AgentRunner) throws -> [[String: Any]] {
        let text = try agent.succeed("agent", "sessions", "--json")
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]])
    }

    private static func answers(_ client: SessionClient) -> Bool { (try? client.perform(VaultList())) != nil }

    @Test(
        "R137: sessions are listed with their programs; they end by command, with their client and by a lock; the 17th is refused"
    )
    func life() throws {
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.succeed("agent", "sessions").contains("No program has a store open."))
        #expect(try agent.unlock().exitCode == 0)
        var clients = try (0..<16).map { _ in try Self.open(agent) }
        #expect(throws: AgentRefused(code: "agent.exhausted")) { _ = try Self.open(agent) }

        let own = try #require(AgentLocation.canonical("/proc/self/exe"))
        let sessions = try Self.listed(agent)
        #expect(sessions.count == 16)
        for session in sessions {
            #expect((session["program"] as? String)?.hasPrefix(own) == true, "\(session)")
            #expect(session["kind"] as? String == "program")
        }

        // One of them, and no other.
        let number = try #require(sessions.first?["process"] as? Int)
        try agent.succeed("agent", "sessions", "--end", String(number))
        try Waiting.until("it is gone from the list") { try Self.listed(agent).count == 15 }
        #expect(clients.count { Self.answers($0) } == 15)
        let again = try agent.run("agent", "sessions", "--end", String(number))
        #expect(again.exitCode != 0 && again.errorText.contains("there is no session \(number)"))
        let foreign = try agent.run("agent", "sessions", "--end", String(try #require(agent.processID)))
        #expect(foreign.exitCode != 0)

        clients.removeAll { !Self.answers($0) }
        #expect(try Self.listed(agent).contains { $0["secondsSinceUse"] is Int })
        _ = clients.popLast()
        try Waiting.until("it went with its client") { try Self.listed(agent).count == 14 }

        try agent.succeed("lock")
        try Waiting.until("all went with the lock") { try Self.listed(agent).isEmpty }
        #expect(!clients.contains { Self.answers($0) })
    }
}
