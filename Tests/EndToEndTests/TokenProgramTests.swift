// Programs with tokens that are not ours: in Python, and in a place where they see nothing else. Invariant: each refusal is one that a
// program gets, not one that a library of ours words.

import CoffretBase
import CoffretClient
import CoffretNet
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc
import Testing

@Suite("Programs with tokens", .serialized, .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct TokenProgramTests {
    @Test(
        "a program in Python with a token, from the pages alone, works within its limits and is refused outside",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "python3 is missing"))
    func python() throws {
        let world = try TokenTests.unlocked()
        defer { try? world.agent.stop() }
        let secret = try world.token("script", "--allow", "write", "--tag", "garden")
        let (script, file) = (OperationTests.samplePath("session.py"), world.agent.runner.folder.file("home/token"))
        try Data((secret + "\n").utf8).write(to: URL(fileURLWithPath: file))
        let variables = world.agent.runner.environment().merging(["XDG_RUNTIME_DIR": world.agent.runtimeFolder]) { $1 }
        func ask(_ words: String...) throws -> ProcessResult {
            try ProcessRunner.run(
                "/usr/bin/python3", [script, "--store", world.agent.runner.storePath, "--token-file", file] + words,
                environment: variables)
        }
        let listed = try ask("item.list")
        #expect(listed.text.contains("Tomatoes") && !listed.text.contains("Beans"), "\(listed.errorText)")
        #expect(try ask("item.read", #"{"item": "Tomatoes"}"#).text.contains("No blight"))
        let made = try ask("item.create", ##"{"text": "# From a script\n#garden/new"}"##)
        #expect(made.exitCode == 0 && made.text.contains("From a script"), "\(made.errorText)")
        #expect(try ask("item.edit", #"{"item": "From a script", "title": "Changed"}"#).exitCode == 0)
        #expect(try world.agent.succeed("ls").contains("Changed"))
        for (words, code) in [
            (["item.read", #"{"item": "Beans"}"#], "core.item.not-found"),
            (["item.create", ##"{"text": "# Elsewhere"}"##], "operation.not-allowed"),
            (["lock"], "operation.not-allowed"), (["device.list"], "operation.not-allowed"),
        ] {
            let refused = try ProcessRunner.run(
                "/usr/bin/python3", [script, "--store", world.agent.runner.storePath, "--token-file", file] + words,
                environment: variables)
            #expect(refused.exitCode == 1 && refused.errorText.contains(code), "\(words): \(refused.errorText)")
        }
        try world.agent.succeed("token", "rm", "script")
        #expect(try ask("item.list").errorText.contains("token.invalid"))
    }

    @Test("R166: where programs come in, nothing but sessions with tokens is to be had")
    func programSocket() throws {
        let world = try TokenTests.unlocked()
        defer { try? world.agent.stop() }
        let secret = try world.token("boxed", "--allow", "list")
        let store = try #require(AgentLocation.canonical(world.agent.runner.storePath))
        let path = AgentLocation.programSocketPath(in: world.agent.socketFolder)
        func answer(_ request: AgentRequest) throws -> AgentResponse {
            let connection = try UnixConnection.connect(path: path, userID: geteuid())
            for message in [AgentRequest.hello(version: 1), request] {
                try connection.send(message.encoded())
                let (received, _) = try #require(try connection.receive())
                if message == request { return try AgentResponse(decoding: received.bytes) }
            }
            throw NetError(.closed)
        }
        func session(_ token: String?) -> AgentRequest {
            .session(AgentSession(store: store, isJSON: true, environment: [:], token: token))
        }
        let passphrase = AgentSecret(
            store: store, kind: .passphrase, bytes: Array(CoffretRunner.passphrase.utf8), environment: [:])
        for request in [
            AgentRequest.unlock(passphrase, seconds: nil), .lock(store: nil),
            .lock(store: store), .status(store: nil), .stop, .sessions(store: nil), .endSession(processID: 1),
            .settings(passphrase, idleSeconds: 9_000, absoluteSeconds: nil),
            .renewed(store: store, sealedKey: nil), session(nil),
        ] {
            #expect(try answer(request) == .failed(code: "agent.request.invalid", waitSeconds: nil), "\(request)")
        }
        #expect(try answer(session(secret)) == .done)
        #expect(try world.agent.succeed("agent", "status").contains("unlocked"))
    }

    @Test(
        "R166: a program that sees nothing but that folder works with its token",
        .enabled(
            if: geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/unshare"),
            "needs root and unshare"),
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "python3 is missing"))
    func container() throws {
        let world = try TokenTests.unlocked()
        defer { try? world.agent.stop() }
        let secret = try world.token("boxed", "--allow", "list")
        let folder = world.agent.runner.folder.file("box")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data((secret + "\n").utf8).write(to: URL(fileURLWithPath: folder + "/token"))
        let script = OperationTests.samplePath("session.py")
        try FileManager.default.copyItem(atPath: script, toPath: folder + "/session.py")
        // Home and the agent's own folder are empty there.
        let hide = """
            mount -t tmpfs none "$1" && mount -t tmpfs none "$HOME" && shift && exec "$@"
            """
        func ask(_ words: [String]) throws -> ProcessResult {
            try ProcessRunner.run(
                "/usr/bin/unshare",
                [
                    "-m", "/bin/sh", "-c", hide, "sh", world.agent.socketFolder, "/usr/bin/python3",
                    folder + "/session.py",
                ]
                    + ["--store", world.agent.runner.storePath] + words,
                environment: world.agent.runner.environment().merging(["XDG_RUNTIME_DIR": world.agent.runtimeFolder]) {
                    $1
                })
        }
        let listed = try ask(["--token-file", folder + "/token", "item.list"])
        #expect(listed.text.contains("Tomatoes"), "\(listed.errorText)")
        #expect(try ask(["item.list"]).exitCode != 0, "without a token there is no way in")
        let read = try ask(["--token-file", folder + "/token", "item.read", #"{"item": "Tomatoes"}"#])
        #expect(read.errorText.contains("operation.not-allowed"))
    }

    @Test("R165: a program cannot name another state folder, such as a copy with a token that was removed since")
    func stateFolder() throws {
        let world = try TokenTests.unlocked()
        defer { try? world.agent.stop() }
        let secret = try world.token("gone", "--allow", "write")
        let copy = world.agent.runner.folder.file("copy")
        let state = world.agent.runner.folder.file("home/.local/state")
        try FileManager.default.copyItem(atPath: state, toPath: copy)
        try world.agent.succeed("token", "rm", "gone")
        #expect(try world.refusal(secret, ["XDG_STATE_HOME": copy]) == "token.invalid")
        #expect(try world.refusal(secret, ["HOME": world.agent.runner.folder.file("elsewhere")]) == "token.invalid")
        let log = try world.agent.succeed("agent", "log")
        #expect(log.contains("no session for"), "\(log)")
    }
}
