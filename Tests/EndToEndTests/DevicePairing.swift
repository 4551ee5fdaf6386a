// Pairing of two stores through a real server, as two people at two terminals would do it.

import CoffretTestSupport
import Testing

/// What tests with several devices have in common.
enum DevicePairing {
    static func terminal(
        _ runner: CoffretRunner, _ arguments: String..., environment changes: [String: String?] = [:]
    ) throws -> TerminalProcess {
        try TerminalProcess(
            CoffretRunner.executable, arguments, environment: runner.environment(changes), directory: runner.workPath)
    }

    /// The first group of six digits on the screen.
    static func code(_ text: String) throws -> String {
        let match = try #require(text.firstMatch(of: /(\d{3}) (\d{3})/), "\(text)")
        return "\(match.1)\(match.2)"
    }

    /// Pairs a new device with one that is in.
    ///
    /// - Parameter changes: of the variables of the one that is in.
    static func pair(
        _ new: CoffretRunner, _ old: CoffretRunner, _ server: ServerRunner, name: String,
        environment changes: [String: String?] = [:]
    ) throws {
        try pair(new, old, url: server.url, fingerprint: server.fingerprint, name: name, environment: changes)
    }

    /// Pairs through any server.
    static func pair(
        _ new: CoffretRunner, _ old: CoffretRunner, url: String, fingerprint: String, name: String,
        environment changes: [String: String?] = [:]
    ) throws {
        let requester = try terminal(
            new, "device", "pair", url, "--fingerprint", fingerprint, "--name", name, "--effort", "light")
        try requester.wait(for: "approve ")
        let id = try #require(requester.wait(for: "\n").firstMatch(of: /[0-9a-f]{32}/))
        let approver = try terminal(old, "device", "approve", String(id.0), environment: changes)
        let first = try requester.wait(for: "Type the code that")
        try approver.wait(for: "Type the code that \(name) shows: ")
        approver.type(try code(first) + "\n")
        let second = try approver.wait(for: "on the other device")
        requester.type(try code(second) + "\n")
        try requester.wait(for: "one of yours now")
        try approver.wait(for: "one of your devices now")
        if old.isKeptUnlocked { try new.keepUnlocked() }
    }
}
