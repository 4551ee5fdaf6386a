// Operations in place and in sessions of a real agent. Invariant: every operation that exists stands in the table here, so that
// a new one without a conformance test fails.

import CoffretApp
import CoffretBase
import CoffretClient
import CoffretCore
import CoffretCrypto
import CoffretKeys
import CoffretNet
import CoffretTerminal
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc
import Testing

/// A store with known contents, to be copied: each way of asking has one of its own.
final class OperationWorld {
    let agent: AgentRunner

    static let login = "Registrar"
    private let server: ServerRunner?
    /// Whether somebody is there for the request that a desk performs.
    var isAttended = false

    /// - Parameter isSynced: whether the store has an account, two devices, and a note that both changed at once.
    init(isSynced: Bool = false, environment: [String: String?] = [:]) throws {
        agent = try AgentRunner(environment: environment)
        let runner = agent.runner
        try runner.succeed("vault", "new", "Work")
        try runner.makeNote("# Tomatoes\n\nBlight on the second row. #garden/beds\n", "-t", "kitchen")
        try runner.makeNote("# Beans\n\nSoak them.\n", "--vault", "Work")
        try runner.succeed("edit", "Tomatoes", input: "# Tomatoes\n\nNo blight at all. #garden/beds\n")
        try runner.succeed(
            "new", "--type", "login", Self.login, "--set", "username=ada", "--secret", "password", "--secret", "totp",
            input: "hush\nGEZDGNBVGY3TQOJQ\n")
        try runner.makeNote("# Old\n")
        try runner.succeed("rm", "Old")
        server = isSynced ? try Self.sync(runner) : nil
    }

    deinit { server?.stop() }

    private static func sync(_ runner: CoffretRunner) throws -> ServerRunner {
        let server = try ServerRunner()
        let phone = try CoffretRunner()
        try runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try runner.succeed("vault", "sync", "Personal")
        let plan = try runner.makeNote("# Plan\n\nOne\nTwo\n")
        try runner.succeed("sync")
        try DevicePairing.pair(phone, runner, server, name: "Phone")
        try phone.succeed("sync")
        try runner.succeed("edit", plan, input: "# Plan\n\nOne\nTwo here\n")
        // Of equal heights the log's random id would decide which text is shown.
        try phone.succeed("edit", plan, input: "# Plan\n\nOne\nTwo\nThree\n")
        try phone.succeed("edit", plan, input: "# Plan\n\nOne\nTwo there\n")
        for device in [phone, runner, phone] { try device.succeed("sync") }
        return server
    }

    /// A session over the agent's socket.
    func session(
        isJSON: Bool, token: String? = nil, _ changes: [String: String] = [:]
    ) throws -> SessionClient {
        var variables = agent.runner.environment().filter { !$0.key.hasPrefix("COFFRET_") }
        variables["XDG_RUNTIME_DIR"] = agent.runtimeFolder
        variables.merge(changes) { $1 }
        let store = try #require(AgentLocation.canonical(agent.runner.storePath))
        return try #require(
            try SessionClient.open(ProcessEnvironment(variables), store: store, isJSON: isJSON, token: token),
            "no agent runs")
    }

    /// The same store, opened in this process.
    func desk() throws -> StoreDesk {
        let state = agent.runner.folder.file("home/.local/state/coffret")
        var typed = Array(CoffretRunner.passphrase.utf8)
        let store = try Store.open(
            at: agent.runner.storePath, with: .passphrase(try Passphrase(typed: &typed)),
            environment: StoreEnvironment(
                stateDirectory: state, fileSystem: PosixFileSystem(), random: SystemRandomSource(),
                clock: SystemWallClock()))
        var surroundings = DeskSurroundings(stateDirectory: state)
        let alone = surroundings.requirePerson
        surroundings.requirePerson = { [unowned self] in if !isAttended { try alone($0, $1, $2) } }
        let silent = surroundings.requirePassphrase
        surroundings.requirePassphrase = { [unowned self] in if !isAttended { try silent($0) } }
        let person = GivingPassphrase { [unowned self] in isAttended }
        surroundings.person = person
        surroundings.openNote = { [unowned self] store, record, vault, item in
            guard isAttended else { return try vault.opened(item) }
            let opening = NoteOpening(person: person, now: surroundings.clock.now) {
                try store.openVault($0.vaultID.hex, isWritable: true)
            }
            return try opening.open(item, record, vault)
        }
        return StoreDesk(store, surroundings)
    }
}

@Suite("Operations", .serialized, .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct OperationTests {
    @Test("the table has every operation, and a request of each that is answered")
    func table() {
        #expect(Set(Self.requests.map(\.name)) == Set(Operations.all.map { $0.name }))
    }

    @Test("in place, through the agent, as CBOR and as JSON every operation answers alike")
    func conformance() throws {
        var transcripts: [String: [String]] = [:]
        for isJSON in [false, true] {
            let alone = try OperationWorld(isSynced: true)
            let desk = try alone.desk()
            transcripts["in place, \(isJSON)"] = try Self.rows.map { row in
                let brought = try BroughtDescriptors(row.descriptors)
                desk.work.takeDescriptors = { brought.take() }
                alone.isAttended = row.request.isAttended
                let reply = Operations.perform(try Self.form(row.request, isJSON), on: desk).reply
                return try Self.masked(reply, row.request, isJSON) + (try brought.text())
            }
            withExtendedLifetime(alone) {}
            let world = try OperationWorld(isSynced: true)
            try world.agent.succeed("agent", "settings", "--sync", "off")
            #expect(try world.agent.unlock().exitCode == 0)
            var session = try world.session(isJSON: isJSON)
            transcripts["agent, \(isJSON)"] = try Self.rows.map { row in
                let brought = try BroughtDescriptors(row.descriptors)
                let request = try Self.form(row.request, isJSON).encoded
                let reply = try session.exchange(request, descriptors: brought.numbers, isJSON: isJSON)
                if row.locksStore { #expect(try world.agent.unlock().exitCode == 0) }
                if row.endsSession || row.locksStore { session = try world.session(isJSON: isJSON) }
                return try Self.masked(reply, row.request, isJSON) + (try brought.text())
            }
            let state = try world.agent.succeed("agent", "status", "--json")
            #expect(state.contains("\"unlocked\":false") && state.contains("\"command\""), "\(state)")
            #expect(throws: NetError.self) { try session.perform(Hello()) }
            try world.agent.stop()
        }
        let reference = try #require(transcripts["in place, false"])
        for (way, transcript) in transcripts {
            for (index, request) in Self.requests.enumerated() {
                #expect(transcript[index] == reference[index], "\(request.name) \(way)")
            }
        }
        for (row, reply) in zip(Self.rows, reference) {
            let expected = row.refusal.map { "{\"error\":{\"code\":\"\($0)\"" } ?? "{\"ok\":"
            #expect(reply.hasPrefix(expected), "\(row.request.name)")
        }
        let isAnswered = Self.rows.filter { $0.refusal == nil }.map(\.request.name)
        // In these a server and a device take part that are new each time: SessionPairingTests,
        // DeviceTests, DesktopRemoteTests, SharingTests, SharedItemTests, ContactCommandTests and RecoveryContactTests answer them.
        let elsewhere = [
            ServerJoin.name, DeviceApprove.name, RemoteAsk.name, RemoteAnswer.name, BrowserAllow.name, ShareAdd.name,
            ShareAnswer.name,
            ShareLeave.name, ShareChange.name, ShareUndo.name, ShareItem.name, ShareSeen.name, ContactAdd.name,
            ContactAnswer.name,
            ContactVerify.name, ContactRemove.name, ContactEdit.name, ContactRead.name,
            CircleMake.name, CircleTest.name, CircleForbid.name, CircleEnd.name, CircleHelp.name,
        ]
        #expect(Set(isAnswered + elsewhere) == Set(Operations.all.map { $0.name }), "one of each is answered")
    }

    private static func form(_ request: OperationRequest, _ isJSON: Bool) throws -> OperationRequest {
        guard isJSON, let operation = Operations.all.first(where: { $0.name == request.name }) else { return request }
        return try operation.inJSON(request)
    }

    /// A reply as JSON without what no two stores have alike: ids, moments, codes of one half minute.
    private static func masked(_ reply: [UInt8], _ request: OperationRequest, _ isJSON: Bool) throws -> String {
        let operation = try #require(Operations.all.first { $0.name == request.name })
        var text = try operation.replyText(reply, isJSON: isJSON)
        text.replace(/[0-9a-f]{16,}/, with: "ID")
        text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d/, with: "TIME")
        text.replace(/coffret (edit|history|conflicts show|vault unsync) [0-9a-f]{4,}/, with: "coffret ID")
        text.replace(/"\w*[bB]yteCount":\d+/, with: "BYTES")
        // Only where an agent runs it has said that it does not sync.
        text.replace("\"agentSync\":\"off\",", with: "")
        text.replace(/(otp\/[^"]*","value"|"secret"):"[^"]+"/, with: "SECRET")
        // Nothing is locked where no agent runs, and an agent tidies up.
        text.replace(/"locksStore":true/, with: "\"locksStore\":false")
        text.replace(/"fileCount":\d+/, with: "FILES")
        text.replace(/"(position|shortID|headCode|url|accountName|backup)":"[^"]+"/, with: "VALUE")
        // Each way has a server of its own.
        text.replace(/"key":"localhost\/coffret-log\/1[^"]+"/, with: "KEY")
        text.replace(/https:\/\/localhost:\d+/, with: "URL")
        text.replace(/[0-9a-f]{4}(-[0-9a-f]{4}){3}/, with: "ACCOUNT")
        text.replace(/"(sealed|encryptionID)":"[^"]+"/, with: "SEALED")
        text.replace(/"code":"\d{6}","remainingSeconds":\d+/, with: "CODE")
        text.replace(/coffret-contact:1:[a-z2-7]+/, with: "LINK")
        text.replace(/[0-9A-Z]{4}(-[0-9A-Z]{4})+/, with: "ADDRESS")
        // Two items of one change come in the order of their ids.
        if request.name == ShareActivity.name { text.replace(/"summary":"(\\.|[^"])*"/, with: "SUMMARY") }
        return text
    }

    @Test("a locked store refuses a session, and its lock ends each that is open, whatever is asked")
    func lockedStore() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        let requests = Dictionary(Self.requests.map { ($0.name, $0) }) { first, _ in first }
        var left = requests.values.sorted { $0.name < $1.name }[...]
        while !left.isEmpty {
            let asked = try left.prefix(16).map { (request: $0, session: try world.session(isJSON: false)) }
            left = left.dropFirst(16)
            try world.agent.succeed("lock")
            for (request, session) in asked {
                #expect(throws: NetError.self, "\(request.name)") { try session.exchange(request.encoded) }
            }
            do {
                _ = try world.session(isJSON: false)
                Issue.record("a session with a locked store")
            } catch {
                #expect((error as? AgentRefused)?.code == "agent.store.locked")
            }
            #expect(try world.agent.unlock().exitCode == 0)
        }
    }

    @Test("what is no request, an unknown operation and unknown fields are refused, and the session goes on")
    func refused() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: true)
        func code(_ text: String) throws -> String? {
            let reply = try OperationReply<NothingMessage>(decoding: session.exchange(Array(text.utf8)), isJSON: true)
            guard case .failure(let failure) = reply else { return nil }
            return failure.code
        }
        #expect(try code("") == "operation.request.invalid")
        #expect(try code("{") == "operation.request.invalid")
        #expect(try code(#"{"do":"item.reed","with":{}}"#) == "operation.unknown")
        #expect(
            try code(#"{"do":"item.read","with":{"item":"tomatoes","reveal":true}}"#) == "operation.request.invalid")
        #expect(try code(#"{"do":"item.read"}"#) == "operation.request.invalid")
        #expect(try code(#"{"do":"item.read","with":{"item":"tomatoes"}}"#) == nil)
        #expect(try session.perform(VaultList()).vaults.map(\.name) == ["Personal", "Work"])
    }

    @Test("an open session sees what others write, vaults too, and keeps nobody from writing")
    func others() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: false)
        var list = ItemList()
        list.vault = "Personal"
        let before = try session.perform(list).total
        try world.agent.succeed("new", input: "# Leeks")
        #expect(try session.perform(list).total == before + 1)
        try world.agent.succeed("vault", "new", "Third")
        // The keyring has another key then.
        #expect(try session.perform(VaultList()).vaults.map(\.name) == ["Personal", "Third", "Work"])
        try world.agent.succeed("vault", "rename", "Third", "Fourth")
        #expect(try session.perform(VaultList()).vaults.map(\.name) == ["Fourth", "Personal", "Work"])
        try world.agent.succeed("vault", "rename", "Fourth", "Third")
        var create = ItemCreate()
        (create.text, create.vault) = ("# Third thing", "Third")
        let made = try session.perform(create)
        try world.agent.succeed("edit", made.id, "--title", "Another title", "--vault", "Third")
        var read = ItemRead()
        read.item = made.id
        #expect(try session.perform(read).title == "Another title")
        (create.text, create.vault) = (String(repeating: "a long line of text\n", count: 200_000), "Personal")
        let long = try session.perform(create)
        read.item = long.id
        #expect(try session.perform(read).text == create.text)
    }

    @Test("a store has at most 16 sessions, and a place that is given back is free")
    func count() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        var sessions = try (0..<16).map { _ in try world.session(isJSON: false) }
        do {
            _ = try world.session(isJSON: false)
            Issue.record("a seventeenth session")
        } catch {
            #expect((error as? AgentRefused)?.code == "agent.exhausted")
        }
        sessions.removeLast()
        try Waiting.until("a free place") { (try? world.session(isJSON: false)) != nil }
        for session in sessions { _ = try session.perform(Hello()) }
    }

    static func samplePath(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Samples/" + name).path
    }

    @Test(
        "another user is refused, and a program in Python from the page alone lists, reads and writes",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "python3 is missing"))
    func python() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        let script = Self.samplePath("session.py")
        let variables = world.agent.runner.environment().merging(["XDG_RUNTIME_DIR": world.agent.runtimeFolder]) { $1 }
        func ask(_ words: String..., as user: UInt32? = nil) throws -> ProcessResult {
            let python = ["/usr/bin/python3", script, "--store", world.agent.runner.storePath] + words
            let switching = user.map { ["/usr/bin/setpriv", "--reuid", "\($0)", "--clear-groups"] } ?? []
            let all = switching + python
            return try ProcessRunner.run(all[0], Array(all.dropFirst()), environment: variables)
        }
        #expect(try ask("item.list").text.contains("\"title\": \"Tomatoes\""))
        let made = try ask("item.create", ##"{"text": "# From Python"}"##)
        #expect(made.exitCode == 0 && made.text.contains("From Python"), "\(made.errorText)")
        #expect(try world.agent.succeed("ls").contains("From Python"))
        #expect(try ask("item.read", #"{"item": "nothing"}"#).errorText.contains("core.item.not-found"))
        guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") else { return }
        // So that the folders' modes alone do not refuse it: the agent itself has to.
        for path in [world.agent.runner.folder.path, world.agent.runtimeFolder, world.agent.socketFolder] {
            unsafe chmod(path, 0o755)
        }
        unsafe chmod(world.agent.socketFolder + "/agent.sock", 0o777)
        for operation in Operations.all {
            let refused = try ask(operation.name, as: 65_534)
            #expect(refused.exitCode == 1 && refused.text.isEmpty, "\(operation.name): \(refused.text)")
            let isCut = ["net.closed", "reset", "Broken pipe"].contains { refused.errorText.contains($0) }
            #expect(isCut, "\(operation.name): \(refused.errorText)")
        }
    }
}

/// Somebody who gives the store's passphrase to each question.
private final class GivingPassphrase: OperationPerson {
    private let isThere: () -> Bool
    var canAnswer: Bool { isThere() }

    init(_ isThere: @escaping () -> Bool) { self.isThere = isThere }

    func tell(_ notice: SessionNotice) {}
    func confirm(_ question: SessionQuestion) throws -> Bool? { true }
    func code(_ question: SessionQuestion, idle: () throws -> Void) throws -> String { "000000" }
    func opened(_ file: borrowing OwnedDescriptor) throws -> OwnedDescriptor? { nil }
    func deriving<Value>(_ body: () throws -> Value) throws -> Value { try body() }

    func secret(_ question: SessionQuestion) throws -> SecretBytes {
        guard canAnswer else { throw OperationError(.unanswered) }
        var bytes = Array(CoffretRunner.passphrase.utf8)
        return SecretBytes(consuming: &bytes)
    }
}

extension SessionClient {
    /// Asks as somebody who gives the store's passphrase to each question.
    fileprivate func exchange(_ request: [UInt8], descriptors: [Int32], isJSON: Bool) throws -> [UInt8] {
        var message = try exchange(request, descriptors: descriptors)
        while true {
            if let question = SessionQuestion(message: message, isJSON: isJSON) {
                let (source, sink) = try ChildProcess.makePipe()
                defer { close(source) }
                try DescriptorIO.write(Array((CoffretRunner.passphrase + "\n").utf8), to: sink)
                close(sink)
                let answer = SessionClientMessage.encodedAnswer(true, to: question.number, isJSON: isJSON)
                try send(answer, descriptors: [source])
            } else if SessionNotice(message: message, isJSON: isJSON) == nil {
                return message
            }
            message = try receive()
        }
    }
}

extension PerformedOperation {
    /// The same request in JSON.
    fileprivate static func inJSON(_ request: OperationRequest) throws -> OperationRequest {
        OperationRequest(
            try request.read(as: Self.self), by: request.asker, isAttended: request.isAttended, isJSON: true)
    }

    fileprivate static func replyText(_ reply: [UInt8], isJSON: Bool) throws -> String {
        let decoded = try OperationReply<Answer>(decoding: reply, isJSON: isJSON)
        // As JSON a moment may be written with another offset: that is this process's.
        let again = try OperationReply<Answer>(decoding: decoded.encoded(isJSON: isJSON), isJSON: isJSON)
        #expect(again == decoded, "a reply that reads back otherwise")
        if !isJSON { #expect(decoded.encoded(isJSON: false) == reply) }
        return String(decoding: decoded.encoded(isJSON: true), as: UTF8.self)
    }
}
