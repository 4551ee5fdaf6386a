// A library that leaves a mark where a program loads it, and a client of the agent that keeps to no rules.

import CoffretNet
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc

/// Compiled anew for each test.
struct TrapLibrary {
    let path: String
    let mark: String

    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/cc")

    /// - Parameter code: more functions.
    init(in folder: String, code: String = "", options: [String] = []) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        path = folder + "/TRAP.so"
        mark = folder + "/mark"
        let source = """
            #include <fcntl.h>
            __attribute__((constructor)) static void spring(void) { open("\(mark)", O_CREAT | O_WRONLY, 0600); }
            int gconv(void) { return 0; }
            int gconv_init(void *step) { return 0; }
            \(code)
            """
        try source.write(toFile: folder + "/trap.c", atomically: true, encoding: .utf8)
        let compiled = try ProcessRunner.run(
            "/usr/bin/cc", ["-shared", "-fPIC", "-o", path, folder + "/trap.c"] + options)
        guard compiled.exitCode == 0 else { throw CoffretRunner.Failed(text: compiled.errorText) }
    }

    var isSprung: Bool { FileManager.default.fileExists(atPath: mark) }

    func arm() { try? FileManager.default.removeItem(atPath: mark) }
}

/// Speaks the agent's protocol as any program of the same user may.
struct LawlessClient {
    let agent: AgentRunner

    func ask(_ request: AgentRequest, descriptors: [Int32] = []) throws -> AgentResponse {
        let connection = try UnixConnection.connect(path: agent.socketFolder + "/agent.sock", userID: geteuid())
        try connection.send(AgentRequest.hello(version: AgentRequest.version).encoded())
        _ = try connection.receive()
        try connection.send(request.encoded(), descriptors: descriptors)
        guard let (message, _) = try connection.receive() else { throw CoffretRunner.Failed(text: "no answer") }
        return try AgentResponse(decoding: message.bytes)
    }

    /// Opens a session with these variables, and closes it again.
    func beginSession(_ variables: [String: String]) throws -> AgentResponse {
        try ask(.session(AgentSession(store: agent.runner.storePath, environment: variables, isUse: true)))
    }

    func unlock(_ kind: AgentSecretKind, _ secret: String, _ variables: [String: String]) throws -> AgentResponse {
        let secret = AgentSecret(
            store: agent.runner.storePath, kind: kind, bytes: Array(secret.utf8), environment: variables)
        return try ask(.unlock(secret, seconds: nil))
    }
}
