// Tokens and the log of their use, through a real agent. Invariant: a refusal is compared with the refusal of what does not
// exist, so that a difference in words fails.

import CoffretApp
import CoffretBase
import CoffretClient
import CoffretTerminal
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc
import Testing

extension OperationWorld {
    /// Makes a token as a person does, with the passphrase.
    func token(_ name: String, _ words: String...) throws -> String {
        let made = try agent.runner.run(
            ["token", "new", name] + words + ["--reason", "a test", "--passphrase-fd", "0", "--json"],
            input: Array((CoffretRunner.passphrase + "\n").utf8), environment: agent.environment())
        guard made.exitCode == 0 else { throw CoffretRunner.Failed(text: made.errorText) }
        let value = try #require(try JSONSerialization.jsonObject(with: Data(made.standardOutput)) as? [String: Any])
        return try #require(value["secret"] as? String)
    }

    var stateFolder: String {
        get throws {
            let states = agent.runner.folder.file("home/.local/state/coffret")
            let names = try FileManager.default.contentsOfDirectory(atPath: states)
            let store = try #require(names.first { $0.count == 32 })
            return states + "/" + store
        }
    }

    /// Why a session with this token is not opened; nil if it is.
    func refusal(_ token: String, _ changes: [String: String] = [:]) throws -> String? {
        do {
            _ = try session(isJSON: false, token: token, changes)
            return nil
        } catch let refused as AgentRefused { return refused.code }
    }
}

extension SessionClient {
    /// The code of a refusal; nil for an answer.
    func code<Request: StoreOperation>(_ request: Request, _ fill: (inout Request) -> Void = { _ in }) throws -> String?
    {
        try failure(request, fill)?.code
    }

    func code<Request: StoreOperation>(_ request: Request, bringing descriptor: Int32) throws -> String? {
        do {
            _ = try perform(request, descriptors: [descriptor])
            return nil
        } catch let failure as OperationFailure { return failure.code }
    }

    func failure<Request: StoreOperation>(
        _ request: Request, _ fill: (inout Request) -> Void = { _ in }
    ) throws -> OperationFailure? {
        var request = request
        fill(&request)
        do {
            _ = try perform(request)
            return nil
        } catch let failure as OperationFailure { return failure }
    }
}

@Suite("Tokens", .serialized, .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct TokenTests {
    static func unlocked() throws -> OperationWorld {
        let world = try OperationWorld()
        try #require(try world.agent.unlock().exitCode == 0)
        return world
    }

    @Test(
        "R163: each operation with each access: what the token lacks is refused, and only that; control is no token's")
    func table() throws {
        let world = try Self.unlocked()
        defer { try? world.agent.stop() }
        var refused: [String: Set<String>] = [:]
        for (name, words) in [
            ("list", ["--allow", "list"]), ("read", ["--allow", "read"]), ("write", ["--allow", "write"]),
            ("create", ["--allow", "item.create"]),
        ] {
            let made = try world.agent.runner.run(
                ["token", "new", name, "--reason", "a test", "--passphrase-fd", "0"] + words,
                input: Array((CoffretRunner.passphrase + "\n").utf8), environment: world.agent.environment())
            let session = try world.session(isJSON: false, token: String(made.text.prefix { $0 != "\n" }))
            for request in OperationTests.requests {
                let operation = try #require(Operations.all.first { $0.name == request.name })
                if try operation.isRefused(session.exchange(request.encoded)) {
                    refused[name, default: []].insert(request.name)
                }
            }
            let known = try session.perform(Hello()).operations
            #expect(Set(known).isDisjoint(with: refused[name] ?? []) && known.count > 1, "hello says what may be asked")
        }
        for operation in Operations.all {
            for (name, access) in [("list", OperationAccess.list), ("read", .read), ("write", .write)] {
                #expect(
                    refused[name]?.contains(operation.name) == (operation.access > access),
                    "\(operation.name) with \(name)")
            }
            #expect(
                refused["create"]?.contains(operation.name)
                    == (operation.access != .none && operation.name != "item.create"),
                "\(operation.name) with item.create alone")
        }
        let control = try world.agent.runner.run(
            ["token", "new", "all", "--allow", "lock", "--reason", "x", "--passphrase-fd", "0"],
            input: Array((CoffretRunner.passphrase + "\n").utf8), environment: world.agent.environment())
        #expect(control.exitCode != 0 && control.errorText.contains("lock"))
        #expect(try world.agent.succeed("token", "ls").contains("create: allows item.create"))
    }

    @Test("nobody makes a token without the person's secret, also while the store is unlocked")
    func personNeeded() throws {
        let world = try Self.unlocked()
        defer { try? world.agent.stop() }
        let alone = try world.agent.run("token", "new", "sly", "--allow", "read", "--reason", "x")
        #expect(alone.exitCode != 0 && alone.errorText.contains("somebody has to be there"), "\(alone.errorText)")
        let wrong = try world.agent.runner.run(
            ["token", "new", "sly", "--allow", "read", "--reason", "x", "--passphrase-fd", "0"],
            input: Array("wrong\n".utf8), environment: world.agent.environment())
        #expect(wrong.exitCode != 0)
        #expect(try world.agent.succeed("token", "ls").contains("No program has a token"))
    }

    @Test("R160: a token that was removed, or is over, is worth nothing from the next request on, in open sessions too")
    func removed() throws {
        let world = try Self.unlocked()
        defer { try? world.agent.stop() }
        let secret = try world.token("short", "--allow", "read")
        let session = try world.session(isJSON: false, token: secret)
        #expect(try session.code(ItemList()) == nil)
        try world.agent.succeed("token", "rm", "short")
        #expect(try session.code(ItemList()) == "token.invalid")
        #expect(throws: (any Error).self, "the session is over") { try session.perform(ItemList()) }
        #expect(try world.refusal(secret) == "token.invalid")
        // One of the same name is another one.
        let again = try world.token("short", "--allow", "read", "--until", "3s")
        #expect(try world.refusal(secret) == "token.invalid")
        let timed = try world.session(isJSON: false, token: again)
        var code: String?
        try Waiting.until("the end of the token") {
            code = try timed.code(ItemList())
            return code != nil
        }
        #expect(code == "token.expired")
        #expect(try world.refusal(again) == "token.expired")
    }

    @Test("R160: a long operation stops where it asks whether to, once its token was removed")
    func removedMeanwhile() throws {
        let world = try Self.unlocked()
        defer { try? world.agent.stop() }
        let whole = try world.session(isJSON: false)
        var create = ItemCreate()
        for number in 0..<200 {
            create.text = "# Note \(number)"
            _ = try whole.perform(create)
        }
        let session = try world.session(isJSON: false, token: try world.token("long", "--allow", "read"))
        let agent = try #require(world.agent.processID)
        var isRemoved = false
        do {
            _ = try session.perform(VaultVerify()) { _ in
                guard !isRemoved else { return }
                isRemoved = true
                // The operation stands still meanwhile.
                let children = try ProcessFiles.children(of: agent)
                for child in children { kill(child, SIGSTOP) }
                defer { for child in children { kill(child, SIGCONT) } }
                try world.agent.succeed("token", "rm", "long")
            }
            Issue.record("an operation without a token")
        } catch let failure as OperationFailure {
            #expect(failure.code == "token.invalid" && isRemoved)
        }
    }

    @Test("R163: a token gives no locked note and no hidden item, though the person has opened them")
    func neverGiven() throws {
        let world = try Self.unlocked()
        defer { try? world.agent.stop() }
        let agent = world.agent
        try agent.succeed(
            "note", "lock", "Tomatoes", "--effort", "light", "--new-note-passphrase-fd", "0", input: "note one\n")
        try agent.succeed("note", "unlock", "Tomatoes", "--note-passphrase-fd", "0", input: "note one\n")
        try agent.succeed("note", "hide", OperationWorld.login)
        let secret = try world.token("reader", "--allow", "read")
        let (limited, whole) = (try world.session(isJSON: false, token: secret), try world.session(isJSON: false))
        var read = ItemRead()
        read.item = "Tomatoes"
        #expect(try whole.perform(read).text.contains("No blight"), "the person has opened it")
        #expect(try limited.code(read) == "core.note.locked")
        #expect(try limited.code(ItemRead()) { $0.item = OperationWorld.login } == "core.note.hidden")
        #expect(try limited.code(CodeRead()) { $0.item = OperationWorld.login } == "core.note.hidden")
        #expect(try limited.code(StoreLock()) == "operation.not-allowed")
    }

    @Test(
        "R167: neither opening a session with a token nor asking in it keeps the store unlocked",
        .enabled(if: ClockLeap.isAvailable, "moving the boot clock takes root and x86-64"))
    func noUse() throws {
        let world = try Self.unlocked()
        defer { try? world.agent.stop() }
        let secret = try world.token("busy", "--allow", "read")
        let agent = try #require(world.agent.processID)
        _ = try world.session(isJSON: false).perform(VaultList())
        try ClockLeap.move(agent, to: 560)
        for _ in 0..<3 {
            let session = try world.session(isJSON: false, token: secret)
            #expect(try session.perform(ItemList(), by: .person).total > 0)
        }
        try ClockLeap.move(agent, to: 610)
        #expect(try world.refusal(secret) == "agent.store.locked")
        // The same with a session that may: it is a use.
        try #require(try world.agent.unlock().exitCode == 0)
        try ClockLeap.move(agent, to: 1_170)
        _ = try world.session(isJSON: false).perform(VaultList())
        try ClockLeap.move(agent, to: 1_220)
        #expect(try world.refusal(secret) == nil)
    }

    @Test("R160: wrong tokens make the next one wait; sessions without a token are not held up")
    func tries() throws {
        let world = try Self.unlocked()
        defer { try? world.agent.stop() }
        let right = try world.token("right", "--allow", "read")
        #expect(try world.refusal("coffret_nothing") == "token.invalid")
        #expect(try world.refusal(String(right.dropLast()) + (right.last == "0" ? "1" : "0")) == "token.invalid")
        #expect(try world.refusal(right) == nil, "a right one lets the count begin anew")
        for _ in 0..<3 { #expect(try world.refusal("coffret_" + String(repeating: "0", count: 52)) == "token.invalid") }
        #expect(try world.refusal(right) == "token.pausing")
        #expect(try world.session(isJSON: false).code(ItemList()) == nil)
    }

    @Test("R161: by writing files nobody makes a token, widens one, or lets one last longer", .timeLimit(.minutes(5)))
    func plantedFiles() throws {
        let (world, other) = (try Self.unlocked(), try Self.unlocked())
        defer {
            try? world.agent.stop()
            try? other.agent.stop()
        }
        let secret = try world.token("narrow", "--allow", "list", "--tag", "garden")
        let foreign = try other.token("wide", "--allow", "write")
        let path = try world.stateFolder + "/tokens"
        let own = try Data(contentsOf: URL(fileURLWithPath: path))
        func plant(_ bytes: Data?) throws {
            try? FileManager.default.removeItem(atPath: path)
            try bytes?.write(to: URL(fileURLWithPath: path))
        }
        #expect(own.range(of: Data("narrow".utf8)) == nil && own.range(of: Data("garden".utf8)) == nil)
        let session = try world.session(isJSON: false, token: secret)
        // Another store's, nothing, something, each part altered.
        try plant(try Data(contentsOf: URL(fileURLWithPath: other.stateFolder + "/tokens")))
        #expect(try world.refusal(foreign) == "token.file.altered")
        #expect(try session.code(ItemList()) == "token.file.altered")
        try plant(Data("{\"tokens\":[]}".utf8))
        #expect(try world.refusal(secret) == "token.file.altered")
        try plant(Data())
        #expect(try world.refusal(secret) == "token.file.altered")
        try plant(nil)
        #expect(try world.refusal(secret) == "token.invalid")
        for index in stride(from: 0, to: own.count, by: 37) {
            var altered = own
            altered[index] ^= 0x10
            try plant(altered)
            #expect(try world.refusal(secret) == "token.file.altered", "byte \(index)")
        }
        try plant(own)
        #expect(try world.refusal(secret) == nil, "the search finds it as it was")
        // A person puts an end to a file that was altered.
        try plant(Data("x".utf8))
        #expect(try world.agent.run("token", "ls").errorText.contains("token.file.altered"))
        try world.agent.succeed("token", "rm", "--all")
        #expect(try world.refusal(secret) == "token.invalid")
    }

    @Test(
        "R162: with a TPM an earlier file of tokens is noticed, and so is one that was removed",
        .enabled(if: SoftwareTPM.isAvailable, "swtpm is missing"))
    func putBack() throws {
        let tpm = try SoftwareTPM()
        let world = try OperationWorld(environment: ["COFFRET_TPM": tpm.transport])
        defer { try? world.agent.stop() }
        try #require(try world.agent.unlock().exitCode == 0)
        let secret = try world.token("gone", "--allow", "write")
        let path = try world.stateFolder + "/tokens"
        let earlier = try Data(contentsOf: URL(fileURLWithPath: path))
        try world.agent.succeed("token", "rm", "gone")
        try earlier.write(to: URL(fileURLWithPath: path))
        #expect(try world.refusal(secret) == "token.file.altered")
        try FileManager.default.removeItem(atPath: path)
        #expect(try world.refusal(secret) == "token.file.altered")
        try world.agent.succeed("token", "rm", "--all")
        #expect(try world.refusal(secret) == "token.invalid")
        #expect(try world.refusal(try world.token("new", "--allow", "read")) == nil)
    }
}

extension PerformedOperation {
    fileprivate static func isRefused(_ reply: [UInt8]) throws -> Bool {
        guard case .failure(let failure) = try OperationReply<Answer>(decoding: reply, isJSON: false) else {
            return false
        }
        return failure.code == "operation.not-allowed"
    }
}
