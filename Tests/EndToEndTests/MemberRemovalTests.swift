// Removing somebody of a vault with several people: what it asks of the server, and what a server that lies about the others' keys
// comes to.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Removing a member",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct MemberRemovalTests {
    private let people: SharingPeople
    private let others: [CoffretRunner]
    private var alice: CoffretRunner { people.alice }

    /// Alice has a vault with four others, of whom one is to go.
    init() throws {
        people = try SharingPeople()
        var joined = [people.bob]
        for _ in 0..<3 {
            let person = try CoffretRunner()
            try people.join(person)
            joined.append(person)
        }
        others = joined
        try people.alice.succeed("vault", "new", "Home")
        try people.alice.makeNote("Rules\nof the house", "--vault", "Home")
        for person in others { try people.share("Home", "writer", with: person) }
        try people.alice.succeed("sync")
    }

    @discardableResult
    private func query(_ statement: String) throws -> [String] { try people.server.query(statement) }

    private func remove(_ person: CoffretRunner) throws -> ProcessResult {
        try alice.run("share", "rm", "Home", people.member(person), "--yes")
    }

    /// Identity links of a person at the server.
    private func identity(of person: CoffretRunner) throws -> String {
        "links WHERE kind = 2 AND chain = x'\(try people.account(of: person))'"
    }

    private func reads(_ person: CoffretRunner, _ title: String) throws -> Bool {
        try person.succeed("ls", "--vault", "Home").contains(title)
    }

    @Test("all others' newest keys come in one request, however many they are, and each is sent the new key")
    func requests() throws {
        let four = try people.server.requests { try #require(try remove(others[3]).exitCode == 0) }
        #expect(try query("SELECT COUNT(*) FROM keyletters") == ["3"])
        let three = try people.server.requests { try #require(try remove(others[2]).exitCode == 0) }
        #expect(try query("SELECT COUNT(*) FROM keyletters") == ["2"])
        #expect(three == four, "removing asks as much with three others as with two")
        #expect(four["chains.read"] ?? 0 <= 2, "the own devices alone are read by requests of their own: \(four)")
        // The chains of the vault and its people as the sync begins, and again with the new key; and once their keys.
        #expect(four["chains.updates"] == 3, "\(four)")
        #expect(four.values.reduce(0, +) <= 17, "\(four)")
        #expect(four["members.post"] == 1, "\(four)")
        try alice.makeNote("Under the new key", "--vault", "Home")
        try alice.succeed("sync")
        for person in others[..<2] {
            try person.succeed("sync")
            #expect(try reads(person, "Under the new key"))
        }
        for person in others[2...] { #expect(try person.run("sync").exitCode != 0) }
    }

    @Test("R51, R52: nothing is sealed to keys that are left out, or swapped; old ones are refused by who gets them")
    func lies() throws {
        // One is left out: the person gets no letter, and gets it once the server shows its keys.
        let (bob, carol, dave, erin) = (others[0], others[1], others[2], others[3])
        let account = try people.account(of: bob)
        try query("CREATE TABLE hidden AS SELECT * FROM \(identity(of: bob)); DELETE FROM \(identity(of: bob))")
        let removed = try remove(erin)
        #expect(removed.exitCode == 0, "\(removed.errorText)")
        let letters = "SELECT COUNT(*) FROM keyletters WHERE account = x'\(account)'"
        #expect(try query("SELECT COUNT(*) FROM keyletters") == ["2"] && query(letters) == ["0"])
        try alice.makeNote("Under the second key", "--vault", "Home")
        try alice.succeed("sync")
        let waiting = try bob.run("sync")
        #expect(waiting.exitCode == 92 && waiting.errorText.contains("sharing.key.awaited"), "\(waiting.errorText)")
        try query("INSERT INTO links SELECT * FROM hidden; DROP TABLE hidden")
        try people.sync(alice, bob, carol, dave)
        #expect(try reads(bob, "Under the second key"))

        // Two are swapped: neither chain leads to its account, and nobody is removed on the word of this server.
        let other = try people.account(of: carol)
        func swap() throws {
            try query(
                """
                UPDATE links SET chain = x'\(String(repeating: "00", count: 32))' WHERE kind = 2 AND chain = x'\(account)';
                UPDATE links SET chain = x'\(account)' WHERE kind = 2 AND chain = x'\(other)';
                UPDATE links SET chain = x'\(other)' WHERE kind = 2 AND chain = x'\(String(repeating: "00", count: 32))'
                """)
        }
        try swap()
        let refused = try remove(dave)
        #expect(
            refused.exitCode == 71 && refused.errorText.contains("trust.link.signature-invalid"),
            "\(refused.errorText)")
        try swap()

        // One is older than it is: its person refuses the letter by name and is sent another one.
        let phone = try CoffretRunner()
        try DevicePairing.pair(phone, bob, people.server, name: "Phone")
        try bob.succeed("device", "revoke", "Phone", "--yes")
        try bob.succeed("sync")
        try people.sync(alice, carol, dave)
        let newer = try "\(identity(of: bob)) AND seq > 0"
        try query("CREATE TABLE hidden AS SELECT * FROM \(newer); DELETE FROM \(newer)")
        try #require(try query("SELECT COUNT(*) FROM hidden") == ["1"], "the revocation set new keys")
        #expect(try remove(dave).exitCode == 0)
        try alice.makeNote("Under the newest key", "--vault", "Home")
        try alice.succeed("sync")
        try query("INSERT INTO links SELECT * FROM hidden")
        let stale = try bob.run("sync")
        #expect(stale.exitCode == 92, "\(stale.errorText)")
        try people.sync(alice, bob)
        #expect(try reads(bob, "Under the newest key"))
        try people.sync(carol)
        #expect(try reads(carol, "Under the newest key"))
    }
}
