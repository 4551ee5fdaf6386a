// An agent that was started before an update. Invariant: a person hears that it is older, and no store is locked behind their back.

import CoffretBase
import CoffretNet
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc
import Testing

/// Listens where the agent does, and knows no session of a command.
private final class OlderAgent: @unchecked Sendable {
    // SAFETY: only its own thread works with it until that has ended.
    private let listener: UnixListener
    private let isUnlocked: Bool
    private let store: String
    private let ended = DispatchSemaphore(value: 0)
    private(set) var wasStopped = false

    init(_ agent: AgentRunner, isUnlocked: Bool) throws {
        try FileManager.default.createDirectory(
            atPath: agent.socketFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        listener = try UnixListener(path: agent.socketFolder + "/agent.sock", userID: geteuid())
        self.isUnlocked = isUnlocked
        store = agent.runner.storePath
        Thread.detachNewThread { [self] in
            serve()
            ended.signal()
        }
    }

    func waitForEnd() { ended.wait() }

    private func serve() {
        guard let connection = listener.accept(userID: geteuid()) else { return }
        while let (message, _) = try? connection.receive() {
            let response: AgentResponse =
                switch try? AgentRequest(decoding: message.bytes) {
                case .hello?: .hello(version: AgentRequest.version)
                case .status?:
                    .status([
                        AgentStoreStatus(
                            store: store, isUnlocked: isUnlocked, lockReason: "command",
                            secondsLeft: isUnlocked ? 60 : nil,
                            idleSeconds: 600, absoluteSeconds: 43_200)
                    ])
                case .stop?: .done
                default: .failed(code: WireError.Code.unsupported.rawValue, waitSeconds: nil)
                }
            guard (try? connection.send(response.encoded())) != nil else { return }
            if case .done = response {
                wasStopped = true
                listener.stop()
                return
            }
        }
    }
}

@Suite("An older agent", .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct OlderAgentTests {
    @Test("after an update, an agent that has a store open is named as older, with the way out")
    func unlocked() throws {
        let agent = try AgentRunner()
        let older = try OlderAgent(agent, isUnlocked: true)
        let refused = try agent.run("ls")
        #expect(refused.exitCode == 69 && refused.text.isEmpty, "\(refused.errorText)")
        #expect(refused.errorText.contains("cli.agent.older") && refused.errorText.contains("coffret agent stop"))
        older.waitForEnd()
        #expect(!older.wasStopped)
    }

    @Test("an older agent without an open store is ended, and the command goes on")
    func locked() throws {
        let agent = try AgentRunner()
        try agent.runner.makeNote("# Tomatoes\n")
        let older = try OlderAgent(agent, isUnlocked: false)
        let listed = try agent.run("ls", environment: ["COFFRET_PASSPHRASE_FILE": agent.runner.passphraseFile])
        #expect(listed.exitCode == 0 && listed.text.contains("Tomatoes"), "\(listed.errorText)")
        older.waitForEnd()
        #expect(older.wasStopped)
    }
}
