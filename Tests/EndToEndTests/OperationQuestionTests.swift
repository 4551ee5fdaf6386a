// Questions of a session to the client that attends a request. Invariant: what opens a locked note or a hidden item is checked in
// the session, whatever a client says.

import CoffretApp
import CoffretBase
import CoffretClient
import CoffretNet
import CoffretTerminal
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc
import Testing

/// Answers each question with the next of these.
private final class Answers: SessionAttendant {
    enum Answer {
        case secret(String)
        case yes
        case no
    }

    private var answers: [Answer]
    private(set) var questions: [SessionQuestion] = []

    init(_ answers: Answer...) { self.answers = answers }

    func take(_ notice: SessionNotice) {}
    func quietly(_ wait: () throws -> [UInt8]) throws -> [UInt8] { try wait() }

    func opened(_ file: borrowing OwnedDescriptor) throws -> OwnedDescriptor? {
        var bytes = try #require(try DescriptorIO.readAll(from: file.number, byteCountMax: 1 << 20))
        // A file that begins with an x does not open; of others the rest is what they hold.
        guard bytes.removeFirst() != UInt8(ascii: "x") else { return nil }
        let (source, sink) = try ChildProcess.makePipe()
        defer { close(sink) }
        try DescriptorIO.write(bytes, to: sink)
        return OwnedDescriptor(source)
    }

    func answer(_ question: SessionQuestion, isOver: @escaping () -> Bool) throws -> SessionAnswer {
        questions.append(question)
        switch answers.isEmpty ? .no : answers.removeFirst() {
        case .yes: return .yes
        case .no: return .no
        case .secret(let text):
            var bytes = Array(text.utf8)
            return .secret(SecretBytes(consuming: &bytes))
        }
    }
}

@Suite("Questions of a session", .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct OperationQuestionTests {
    private static let secret = "a diary's own secret"

    private static func world() throws -> OperationWorld {
        let world = try OperationWorld()
        let runner = world.agent.runner
        try runner.makeNote("# Diary\n\nNobody knows.\n")
        try runner.succeed(
            "note", "lock", "Diary", "--effort", "light", "--new-note-passphrase-fd", "0", input: secret + "\n")
        try runner.makeNote("# Present\n\nA bicycle.\n")
        try runner.succeed("note", "hide", "Present")
        #expect(try world.agent.unlock().exitCode == 0)
        return world
    }

    /// - Returns: the text of the item, or the code of the refusal.
    private static func read(_ item: String, _ session: SessionClient, _ attendant: Answers?) throws -> String {
        var request = ItemRead()
        request.item = item
        do {
            return try session.perform(request, attendedBy: attendant).text
        } catch let failure as OperationFailure {
            return failure.code
        }
    }

    @Test(
        "R163: a locked note opens by its passphrase alone, which a session asks of an attended request",
        arguments: [false, true])
    func locked(isJSON: Bool) throws {
        let world = try Self.world()
        defer { try? world.agent.stop() }
        let session = try world.session(isJSON: isJSON)
        #expect(try Self.read("Diary", session, nil) == "core.note.locked")
        #expect(try Self.read("Diary", session, Answers(.no)) == "operation.unanswered")
        #expect(try Self.read("Diary", session, Answers(.yes)) == "operation.descriptor.invalid")
        #expect(try Self.read("Diary", session, Answers(.secret("another one"))) == "core.note.wrong-passphrase")
        let answers = Answers(.secret(Self.secret))
        #expect(try Self.read("Diary", session, answers) == "# Diary\n\nNobody knows.\n")
        #expect(answers.questions.map(\.kind) == [.notePassphrase])
        #expect(answers.questions[0].text.contains("Diary"))
        // It is open for this session, and for no other one.
        #expect(try Self.read("Diary", session, nil) == "# Diary\n\nNobody knows.\n")
        #expect(try Self.read("Diary", world.session(isJSON: isJSON), nil) == "core.note.locked")
        var unlock = NoteUnlock()
        (unlock.note, unlock.isKept) = ("Diary", true)
        _ = try session.perform(unlock, attendedBy: Answers(.secret(Self.secret)))
        #expect(try Self.read("Diary", world.session(isJSON: isJSON), nil) == "# Diary\n\nNobody knows.\n")
    }

    @Test("R163: a client that says yes without the store's passphrase sees no hidden item; wrong ones are counted")
    func hidden() throws {
        let world = try Self.world()
        defer { try? world.agent.stop() }
        let session = try world.session(isJSON: false)
        #expect(try Self.read("Present", session, nil) == "core.note.hidden")
        #expect(try Self.read("Present", session, Answers(.yes)) == "operation.descriptor.invalid")
        for _ in 0..<3 {
            #expect(try Self.read("Present", session, Answers(.secret("not it"))) == "keys.unlock-failed")
        }
        let late = Answers(.secret(CoffretRunner.passphrase))
        #expect(try Self.read("Present", session, late) == "keys.attempts.pausing")
        #expect(late.questions.isEmpty, "nobody types in vain")
    }

    @Test("R163: a session revokes a device for the passphrase of the store alone, and a yes is none")
    func revoked() throws {
        let world = try OperationWorld(isSynced: true)
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: false)
        func isTrusted() throws -> Bool {
            try session.perform(DeviceList()).devices.contains { $0.name == "Phone" && !$0.isRevoked }
        }
        func code(_ answers: Answers?) throws -> String? {
            var request = DeviceRevoke()
            request.device = "Phone"
            do {
                #expect(try session.perform(request, attendedBy: answers).isRevoked)
                return nil
            } catch let failure as OperationFailure { return failure.code }
        }
        #expect(try code(nil) == "cli.presence.unavailable")
        #expect(try code(Answers(.no)) == "operation.unanswered")
        #expect(try code(Answers(.yes)) == "operation.descriptor.invalid")
        #expect(try code(Answers(.secret("not it"))) == "keys.unlock-failed")
        #expect(try isTrusted())
        let right = Answers(.secret(CoffretRunner.passphrase))
        #expect(try code(right) == nil)
        #expect(right.questions.map(\.kind) == [.currentPassphrase])
        #expect(try !isTrusted())
    }

    @Test("R163: a session with a token asks nobody")
    func token() throws {
        let world = try Self.world()
        defer { try? world.agent.stop() }
        let session = try world.session(isJSON: false, token: try world.token("reader", "--allow", "read"))
        let answers = Answers(.secret(CoffretRunner.passphrase), .secret(CoffretRunner.passphrase))
        #expect(try Self.read("Present", session, answers) == "core.note.hidden")
        #expect(try Self.read("Diary", session, answers) == "core.note.locked")
        #expect(answers.questions.isEmpty)
    }

    /// Imports a folder, and says what came of it.
    private static func bring(
        _ files: [String: String], _ world: OperationWorld, _ attendant: Answers?
    ) throws -> String {
        let folder = world.agent.runner.folder.file("store")
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, text) in files { try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
        let source = try OwnedDescriptor.open(folder, O_RDONLY | O_DIRECTORY)
        do {
            let session = try world.session(isJSON: false)
            let answer = try session.perform(ImportRun(), descriptors: [source.number], attendedBy: attendant)
            return "\(answer.items?.imported ?? 0)"
        } catch let failure as OperationFailure {
            return failure.code
        }
    }

    @Test("a session has no key of the person: files under OpenPGP are opened by the client, and none without it")
    func openPGP() throws {
        let world = try Self.world()
        defer { try? world.agent.stop() }
        let files = ["mail.gpg": ".first\nuser: ada\n", "lone.gpg": ".lone"]
        #expect(try Self.bring(files, world, nil) == "import.source.password-needed")
        let answers = Answers()
        #expect(try Self.bring(["mail.gpg": "x"], world, answers) == "import.source.password-wrong")
        #expect(try Self.bring(files, world, answers) == "2")
        #expect(answers.questions.isEmpty)
        #expect(try world.agent.succeed("read", "coffret://Personal/mail/password").contains("first"))
    }

    @Test("a list comes in parts that make up the whole, and the reply repeats none of them")
    func parts() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        #expect(try world.agent.unlock().exitCode == 0)
        let session = try world.session(isJSON: false)
        for number in 0..<130 {
            var create = ItemCreate()
            create.text = "# Note \(number)\n"
            _ = try session.perform(create)
        }
        let whole = try session.perform(ItemList())
        let exchange = try session.performInParts(ItemList())
        var parts: [ItemList.Answer] = []
        while let part = try exchange.next() { parts.append(part) }
        #expect(parts.count >= 2 && parts[0].items.count == 100)
        #expect(parts.flatMap(\.items) == whole.items && parts.allSatisfy { $0.total == whole.total })
        let reply = try exchange.reply()
        #expect(reply.items.isEmpty && reply.total == whole.total)
    }
}
