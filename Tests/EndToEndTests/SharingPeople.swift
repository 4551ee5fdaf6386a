// People with stores of their own at one server, who let each other in.

import CoffretTestSupport
import Foundation
import Testing

struct SharingPeople {
    let server: ServerRunner
    let alice, bob: CoffretRunner
    private let areKeptUnlocked: Bool

    /// - Parameters:
    ///   - options: further ones of `coffret-server serve`.
    ///   - areKeptUnlocked: whether each has the store open in an agent.
    init(_ options: String..., areKeptUnlocked: Bool = true) throws {
        self.areKeptUnlocked = areKeptUnlocked
        server = try ServerRunner(options: options)
        (alice, bob) = (try CoffretRunner(), try CoffretRunner())
        for person in [alice, bob] { try join(person) }
    }

    func join(_ person: CoffretRunner) throws {
        try person.makeStore()
        if areKeptUnlocked { try person.keepUnlocked() }
        try person.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        // The first look at what waits founds the identity to which keys are sealed.
        try person.succeed("share", "requests")
        if person !== alice { try person.succeed("contact", "add", account(of: alice), "--name", "alice") }
    }

    func account(of person: CoffretRunner) throws -> String {
        try #require(try person.json("server", "status")["account"] as? String)
    }

    /// A member as commands take one.
    func member(_ person: CoffretRunner) throws -> String { String(try account(of: person).prefix(8)) }

    func share(_ vault: String, _ role: String, with person: CoffretRunner) throws {
        try alice.succeed("share", "add", vault, account(of: person), "--role", role, "--yes")
        try person.succeed("share", "accept", vault)
    }

    func sync(_ people: CoffretRunner...) throws { for person in people { try person.succeed("sync") } }
}

extension CoffretRunner {
    /// Runs a command with `--json` that prints an array.
    func list(_ arguments: String...) throws -> [[String: Any]] {
        let result = try run(arguments + ["--json"], input: [])
        guard result.exitCode == 0 else { throw Failed(text: "\(arguments): \(result.errorText)") }
        return try JSONSerialization.jsonObject(with: Data(result.text.utf8)) as? [[String: Any]] ?? []
    }

    /// The items of a list.
    func items(_ arguments: String...) throws -> [[String: Any]] {
        let result = try run(arguments + ["--json"], input: [])
        guard result.exitCode == 0 else { throw Failed(text: "\(arguments): \(result.errorText)") }
        let object = try JSONSerialization.jsonObject(with: Data(result.text.utf8)) as? [String: Any]
        return (object?["items"] ?? object?["hits"]) as? [[String: Any]] ?? []
    }
}
