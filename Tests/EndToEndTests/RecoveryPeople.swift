// Three people at one server, two of whom help the first to come back; each program has the clock that a test gives it.

import CoffretTestSupport
import Foundation
import Testing

/// Alice, and her contacts Bob and Carol, with codes compared.
struct RecoveryPeople {
    let server: ServerRunner
    let alice, bob, carol: CoffretRunner
    let sheet: String

    init() throws {
        // Three people at one address, who type faster than anybody does.
        server = try ServerRunner("--requests-per-second-per-address", "1000")
        (alice, bob, carol) = (try CoffretRunner(), try CoffretRunner(), try CoffretRunner())
        for (person, name) in [(alice, "Alice"), (bob, "Bob"), (carol, "Carol")] {
            try person.makeStore()
            try person.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
            try person.succeed("contact", "me", "--name", name)
        }
        try alice.makeNote("Of Alice\nwords")
        try alice.succeed("vault", "sync", "Personal")
        let made = try alice.json("recovery", "add", "--paper", "--name", "Safe", "--print-only")
        sheet = try #require(made["sheet"] as? String)
        try meet(bob, "bob")
        try meet(carol, "carol")
    }

    /// Makes somebody a compared contact of Alice, and her one of his.
    func meet(_ other: CoffretRunner, _ name: String) throws {
        let link = try #require(try alice.json("contact", "invite")["link"] as? String)
        try other.succeed("contact", "add", link, "--name", "alice")
        let id = try #require(try alice.list("contact", "requests").first?["id"] as? String)
        try alice.succeed("contact", "requests", "accept", id, "--name", name)
        try alice.succeed("contact", "verify", name, "--yes")
        try other.succeed("contact", "verify", "alice", "--yes")
    }

    /// Founds the circle of two, lets both accept, and hands out the shares.
    func arm() throws {
        try alice.succeed("recovery", "contacts", "add", "bob", "carol", "--threshold", "2", "--wait", "1d", "--yes")
        for contact in [bob, carol] { try contact.succeed("recovery", "help", "alice", "--yes") }
        try alice.succeed("recovery", "contacts", "add", "--yes")
        for contact in [bob, carol] { try contact.succeed("sync") }
    }

    /// A program that many hours later, or before. Sessions at the server are as they are; only the clock of the program differs.
    static func later(_ hours: Int) -> [String: String?] {
        hours == 0
            ? [:]
            : [
                "LD_PRELOAD": Faketime.library, "FAKETIME": hours > 0 ? "+\(hours)h" : "\(hours)h",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            ]
    }

    /// A contact looks as often as a wait of a day needs.
    func wait(_ contacts: CoffretRunner..., from start: Int = 0) throws {
        for contact in contacts {
            for hours in [0, 7, 14, 21, 28] { try contact.succeed("sync", environment: Self.later(start + hours)) }
        }
    }

    func machine(_ runner: CoffretRunner) throws -> TerminalProcess {
        try DevicePairing.terminal(
            runner, "device", "recover", server.url, "--with-contacts", "--fingerprint", server.fingerprint, "--name",
            "New", "--effort", "light")
    }

    /// The number at which a machine waits now.
    static func number(_ machine: TerminalProcess) throws -> String {
        try machine.wait(for: "YOUR-NAME ")
        return String(try #require(machine.wait(for: "\n").firstMatch(of: /[0-9a-f]{32}/)).0)
    }

    /// Two people compare codes: a contact's program and a machine.
    ///
    /// - Returns: the contact's program, behind the codes.
    @discardableResult
    func meet(_ machine: TerminalProcess, _ contact: CoffretRunner, hours: Int = 0) throws -> TerminalProcess {
        let number = try Self.number(machine)
        let helper = try DevicePairing.terminal(
            contact, "recovery", "help", "alice", number, "--yes", environment: Self.later(hours))
        let first = try machine.wait(for: "Type the code that")
        try helper.wait(for: "Type the code that New shows: ")
        helper.type(try DevicePairing.code(first) + "\n")
        let second = try helper.wait(for: "on the other device")
        machine.type(try DevicePairing.code(second) + "\n")
        return helper
    }

    func circles(_ person: CoffretRunner) throws -> [[String: Any]] { try person.list("recovery", "contacts", "ls") }
}
