// A server joined, and a device let in, by a session, as a window does it.

import CoffretBase
import CoffretClient
import CoffretNet
import CoffretTerminal
import CoffretTestSupport
import CoffretWire
import Foundation
import Testing

/// A person with two screens: a session on one, and a terminal on the other.
private final class TwoScreens: SessionAttendant {
    private let newDevice: TerminalProcess?
    private let code: (TwoScreens) throws -> String
    private(set) var questions: [SessionQuestion] = []
    private(set) var shownCode: String?
    var wasWithdrawn = false

    /// - Parameter code: the answer to the question for the code.
    init(
        _ newDevice: TerminalProcess? = nil,
        code: @escaping (TwoScreens) throws -> String = { try $0.codeOfNewDevice() }
    ) {
        self.newDevice = newDevice
        self.code = code
    }

    func codeOfNewDevice() throws -> String {
        try DevicePairing.code(#require(newDevice).wait(for: "Type the code that"))
    }

    func take(_ notice: SessionNotice) {
        guard notice.kind == .code else { return }
        shownCode = notice.text
        newDevice?.type(notice.text + "\n")
    }

    func quietly(_ wait: () throws -> [UInt8]) throws -> [UInt8] { try wait() }
    func opened(_ file: borrowing OwnedDescriptor) throws -> OwnedDescriptor? { nil }

    func answer(_ question: SessionQuestion, isOver: @escaping () -> Bool) throws -> SessionAnswer {
        questions.append(question)
        switch question.kind {
        case .compare: return .yes
        case .currentPassphrase: return Self.secret(CoffretRunner.passphrase)
        case .code:
            let code = try code(self)
            guard code.isEmpty else { return Self.secret(code) }
            try Waiting.until("the question is over") { isOver() }
            wasWithdrawn = true
            throw CocoaError(.userCancelled)
        default: return .no
        }
    }

    private static func secret(_ text: String) -> SessionAnswer {
        var bytes = Array(text.utf8)
        return .secret(SecretBytes(consuming: &bytes))
    }
}

@Suite("Pairing by a session", .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct SessionPairingTests {
    private static func session(_ agent: AgentRunner, isJSON: Bool) throws -> SessionClient {
        let runner = agent.runner
        var variables = runner.environment().filter { !$0.key.hasPrefix("COFFRET_") }
        variables["XDG_RUNTIME_DIR"] = agent.runtimeFolder
        let store = try #require(AgentLocation.canonical(runner.storePath))
        return try #require(try SessionClient.open(ProcessEnvironment(variables), store: store, isJSON: isJSON))
    }

    /// - Returns: the code of the refusal; nil if there was none.
    private static func refusal(_ body: () throws -> Void) throws -> String? {
        do {
            try body()
            return nil
        } catch let failure as OperationFailure { return failure.code }
    }

    private static func newDevice(_ server: ServerRunner, _ options: String...) throws -> (TerminalProcess, String) {
        let arguments = ["device", "pair", server.url, "--fingerprint", server.fingerprint, "--effort", "light"]
        let runner = try CoffretRunner()
        let terminal = try TerminalProcess(
            CoffretRunner.executable, arguments + options, environment: runner.environment(),
            directory: runner.workPath)
        try terminal.wait(for: "approve ")
        let number = try #require(terminal.wait(for: "\n").firstMatch(of: /[0-9a-f]{32}/))
        return (terminal, String(number.0))
    }

    @Test(
        "a session joins a server after its key was compared, lets a device in by codes, and leaves",
        arguments: [false, true])
    func life(isJSON: Bool) throws {
        let server = try ServerRunner()
        defer { server.stop() }
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        #expect(try agent.unlock().exitCode == 0)

        var join = ServerJoin()
        join.url = server.url
        #expect(
            try Self.refusal { _ = try Self.session(agent, isJSON: isJSON).perform(join) } == "cli.presence.unavailable"
        )
        let person = TwoScreens()
        let joined = try Self.session(agent, isJSON: isJSON).perform(join, attendedBy: person)
        #expect(person.questions.map(\.kind) == [.currentPassphrase, .compare])
        #expect(person.questions.map(\.number) == [1, 2])
        #expect(joined.url == server.url && joined.fingerprint.map { $0.count == 64 } == true)
        #expect(
            try Self.refusal { _ = try Self.session(agent, isJSON: isJSON).perform(join, attendedBy: TwoScreens()) }
                == "account.already-joined")

        let (terminal, number) = try Self.newDevice(server, "--name", "Phone")
        var approval = DeviceApprove()
        approval.pairing = number
        let typing = TwoScreens(terminal)
        let added = try Self.session(agent, isJSON: isJSON).perform(approval, attendedBy: typing)
        try terminal.wait(for: "one of yours now")
        #expect(typing.questions.map(\.kind) == [.currentPassphrase, .code] && typing.shownCode != nil)
        #expect(added.name == "Phone" && added.wantedName == nil)
        #expect(try agent.succeed("device", "ls").contains("Phone"))

        // The device that waits, compared by its number.
        let (second, _) = try Self.newDevice(server, "--name", "Phone", "--account", joined.accountName)
        let comparing = TwoScreens(second)
        let other = try Self.session(agent, isJSON: isJSON).perform(DeviceApprove(), attendedBy: comparing)
        try second.wait(for: "one of yours now")
        #expect(comparing.questions.map(\.kind) == [.currentPassphrase, .compare, .code])
        #expect(other.wantedName == "Phone" && other.name != "Phone")

        var leave = ServerLeave()
        leave.isTrial = true
        #expect(try Self.session(agent, isJSON: isJSON).perform(leave).url == server.url)
        leave.isTrial = nil
        #expect(
            try Self.refusal { _ = try Self.session(agent, isJSON: isJSON).perform(leave) }
                == "cli.presence.unavailable")
        _ = try Self.session(agent, isJSON: isJSON).perform(leave, attendedBy: TwoScreens())
        #expect(try agent.succeed("server", "status").contains("no server"))
    }

    @Test("a question is over once the other device gives up; its late answer answers no later question")
    func withdrawn() throws {
        let server = try ServerRunner()
        defer { server.stop() }
        let agent = try AgentRunner()
        defer { try? agent.stop() }
        try agent.runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        #expect(try agent.unlock().exitCode == 0)
        let session = try Self.session(agent, isJSON: false)
        let (terminal, number) = try Self.newDevice(server)
        var approval = DeviceApprove()
        approval.pairing = number
        let person = TwoScreens(terminal) { _ in
            try terminal.wait(for: "Type the code that")
            terminal.type("\u{3}")
            return ""
        }
        let refusal = try Self.refusal { _ = try session.perform(approval, attendedBy: person) }
        #expect(refusal == "account.relay.closed")
        #expect(person.wasWithdrawn)
        // A wrong code ends it on both sides.
        let (next, second) = try Self.newDevice(server)
        approval.pairing = second
        let wrong = TwoScreens(next) { screens in
            let right = try screens.codeOfNewDevice()
            return (right.hasPrefix("0") ? "1" : "0") + right.dropFirst()
        }
        #expect(try Self.refusal { _ = try session.perform(approval, attendedBy: wrong) } == "pairing.mismatch")
        try next.wait(for: "gave up")
        #expect(try agent.succeed("device", "ls").split(separator: "\n").count == 1)
    }
}
