// What somebody who has the server's database can make people believe of each other: that a person is another one, or is as
// he was once.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "A lying server: people",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct LyingServerPeopleTests {
    private let server: ServerRunner
    private let alice, bob: CoffretRunner
    private let account: String

    init() throws {
        server = try ServerRunner()
        (alice, bob) = (try CoffretRunner(), try CoffretRunner())
        for (person, name) in [(alice, "Alice"), (bob, "Bob")] { try Self.join(person, name, server) }
        account = try #require(try bob.json("contact", "me")["account"] as? String)
    }

    private static func join(_ person: CoffretRunner, _ name: String, _ server: ServerRunner) throws {
        try person.makeStore()
        try person.keepUnlocked()
        try person.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try person.succeed("contact", "me", "--name", name)
    }

    @discardableResult
    private func query(_ statement: String) throws -> [String] { try server.query(statement) }

    private func expectRefused(
        _ exitCode: Int32, _ code: String, _ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let refused = try alice.run(arguments, input: [], environment: [:])
        #expect(
            refused.exitCode == exitCode && refused.errorText.contains(code), "\(refused.errorText)",
            sourceLocation: sourceLocation)
    }

    private func stateCode(of person: CoffretRunner, with other: String) throws -> String {
        try #require(try person.json("contact", "verify", other)["stateCode"] as? String)
    }

    @Test("R50 substitutedAccount: another account's chain in the place of a contact's is refused")
    func substitutedAccount() throws {
        let mallory = try CoffretRunner()
        try Self.join(mallory, "Bob", server)
        let other = try #require(try mallory.json("contact", "me")["account"] as? String)
        try query(
            """
            DELETE FROM links WHERE chain = x'\(account)'; UPDATE links SET chain = x'\(account)' WHERE chain = x'\(other)'
            """)
        try expectRefused(84, "trust.chain.id-differs", "contact", "add", account, "--name", "Bob")
        try expectRefused(84, "trust.chain.id-differs", "share", "add", "Personal", account, "--yes")
        #expect(try alice.list("contact", "ls").isEmpty)
        #expect(try query("SELECT (SELECT COUNT(*) FROM keyletters) + (SELECT COUNT(*) FROM letters)") == ["0"])
    }

    @Test("R51 olderPerson, R80: who was seen newer is not shown older; at a first meeting the state codes differ")
    func olderPerson() throws {
        try bob.succeed(
            "contact", "add", try alice.json("contact", "me")["account"] as? String ?? "", "--name", "Alice")
        let phone = try CoffretRunner()
        try DevicePairing.pair(phone, bob, server, name: "Phone")
        try query(
            """
            CREATE TABLE hidden AS SELECT * FROM links WHERE kind = 1 AND chain = x'\(account)' AND seq > 0;
            DELETE FROM links WHERE kind = 1 AND chain = x'\(account)' AND seq > 0
            """)
        try alice.succeed("contact", "add", account, "--name", "Bob")
        let older = try stateCode(of: alice, with: "Bob")
        try query("INSERT INTO links SELECT * FROM hidden")
        // Bob has his own chain, and the server shows Alice's to him as it is.
        let (truth, now) = (try stateCode(of: bob, with: "Alice"), try stateCode(of: alice, with: "Bob"))
        #expect(older != truth && now == truth, "\(older) \(now) \(truth)")
        try alice.succeed("contact", "verify", "Bob", "--yes")
        try query("DELETE FROM links WHERE kind = 1 AND chain = x'\(account)' AND seq > 0")
        for command in [["contact", "show", "Bob"], ["contact", "verify", "Bob"]] {
            let refused = try alice.run(command, input: [], environment: [:])
            #expect(refused.exitCode == 72, "\(refused.errorText)")
            #expect(refused.errorText.contains("trust.chain.rolled-back"), "\(refused.errorText)")
        }
        // What was compared is what is shared with, or nothing is.
        try expectRefused(72, "trust.chain.rolled-back", "share", "add", "Personal", "Bob", "--yes")
        try query("INSERT INTO links SELECT * FROM hidden")
        try alice.succeed("share", "add", "Personal", "Bob", "--yes")
    }

    @Test("R80 changingAnswers: keys of before a revocation are not sealed to, once newer ones were compared")
    func changingAnswers() throws {
        try bob.succeed(
            "contact", "add", try alice.json("contact", "me")["account"] as? String ?? "", "--name", "Alice")
        let phone = try CoffretRunner()
        try DevicePairing.pair(phone, bob, server, name: "Phone")
        try bob.succeed("device", "revoke", "Phone", "--yes")
        try bob.succeed("sync")
        try alice.succeed("contact", "add", account, "--name", "Bob")
        try alice.succeed("contact", "verify", "Bob", "--yes")
        try query(
            """
            CREATE TABLE hidden AS SELECT * FROM links WHERE kind = 2 AND chain = x'\(account)' AND seq > 0;
            DELETE FROM links WHERE kind = 2 AND chain = x'\(account)' AND seq > 0
            """)
        try #require(try query("SELECT COUNT(*) FROM hidden") == ["1"])
        try expectRefused(72, "trust.chain.rolled-back", "share", "add", "Personal", "Bob", "--yes")
        #expect(try query("SELECT COUNT(*) FROM keyletters WHERE account = x'\(account)'") == ["0"])
        try query("INSERT INTO links SELECT * FROM hidden")
        try alice.succeed("share", "add", "Personal", "Bob", "--yes")
        try bob.succeed("share", "accept", "Personal", "--name", "From Alice")
    }

    @Test(
        "R51: a letter to replaced keys is refused by name, its reader asks anew, and the next sync of the sender seals to the newest"
    )
    func staleLetter() throws {
        try bob.succeed(
            "contact", "add", try alice.json("contact", "me")["account"] as? String ?? "", "--name", "Alice")
        let phone = try CoffretRunner()
        try DevicePairing.pair(phone, bob, server, name: "Phone")
        // At a first meeting the server shows Alice what was true before the phone came and went.
        try bob.succeed("device", "revoke", "Phone", "--yes")
        try bob.succeed("sync")
        try query(
            """
            CREATE TABLE hidden AS SELECT * FROM links WHERE kind IN (1, 2) AND chain = x'\(account)' AND seq > 0;
            DELETE FROM links WHERE kind IN (1, 2) AND chain = x'\(account)' AND seq > 0
            """)
        try alice.succeed("vault", "new", "Home")
        try alice.makeNote("Rules\nwords", "--vault", "Home")
        let added = try alice.json("share", "add", "Home", account, "--yes")
        #expect(added["hasKey"] as? Bool == true, "\(added)")
        try query("INSERT INTO links SELECT * FROM hidden")
        let vault = try #require(try alice.list("share", "ls").first?["id"] as? String)
        let refused = try bob.run("share", "accept", vault)
        #expect(
            refused.exitCode == 92 && refused.errorText.contains("keys.letter.stale-identity"), "\(refused.errorText)")
        // Asked anew, the server forgets the letter.
        #expect(try bob.list("share", "requests").first?["problem"] as? String == "sharing.key.awaited")
        #expect(try query("SELECT COUNT(*) FROM letters WHERE purpose = 5") == ["1"], "Bob asked anew, once")
        #expect(try alice.run("sync").exitCode == 0)
        #expect(try query("SELECT COUNT(*) FROM letters WHERE purpose = 5") == ["0"])
        #expect(try bob.list("share", "requests").first?["problem"] as? String == nil)
        #expect(try bob.json("share", "accept", "Home")["items"] as? Int == 1)
    }

    @Test(
        "R53: keys that are months old get no letter, though the server withholds the fresh ones; it goes on once it shows them",
        .enabled(if: Faketime.isAvailable, "needs libfaketime"))
    func withheldTransientKey() throws {
        try bob.succeed(
            "contact", "add", try alice.json("contact", "me")["account"] as? String ?? "", "--name", "Alice")
        try alice.succeed("contact", "add", account, "--name", "Bob")
        try alice.succeed("vault", "new", "Home")
        try alice.makeNote("Rules\nwords", "--vault", "Home")
        let later = RecoveryPeople.later(24 * 100)
        func run(_ person: CoffretRunner, _ arguments: String...) throws -> ProcessResult {
            let result = try person.run(arguments, input: [], environment: later)
            #expect(result.exitCode == 0, "\(arguments): \(result.errorText)")
            return result
        }
        _ = try run(bob, "sync")
        try query(
            "CREATE TABLE hidden AS SELECT * FROM links WHERE kind = 2 AND chain = x'\(account)' AND seq > 0")
        try #require(try query("SELECT COUNT(*) FROM hidden") != ["0"], "Bob's devices have refreshed his keys")
        let (hide, show) = (
            "DELETE FROM links WHERE kind = 2 AND chain = x'\(account)' AND seq > 0",
            "INSERT INTO links SELECT * FROM hidden"
        )
        try query(hide)
        let added = try run(alice, "share", "add", "Home", "Bob", "--role", "writer", "--yes", "--json")
        #expect(
            added.text.contains(#""hasKey":false"#) && added.text.contains(#""problem":"sharing.recipient.dormant""#),
            "\(added.text)")
        // Nothing is sealed to the old keys by later syncs either.
        _ = try run(alice, "sync")
        #expect(try query("SELECT COUNT(*) FROM keyletters WHERE account = x'\(account)'") == ["0"])
        // To Bob it shows his own chain as it is.
        try query(show)
        #expect(try run(bob, "share", "requests", "--json").text.contains("sharing.key.awaited"))
        _ = try run(alice, "sync")
        #expect(try run(bob, "share", "accept", "Home", "--json").text.contains(#""items":1"#))
    }

    @Test("R77: a server that lets a code in twice makes both claimants doubtful")
    func codeShownTwice() throws {
        let mallory = try CoffretRunner()
        try Self.join(mallory, "Mallory", server)
        let link = try #require(try alice.json("contact", "invite")["link"] as? String)
        try mallory.succeed("contact", "add", link)
        try query("UPDATE tokens SET uses = 1")
        try bob.succeed("contact", "add", link)
        let waiting = try alice.list("contact", "requests")
        #expect(waiting.count == 2, "\(waiting)")
        for request in waiting {
            #expect(request["problem"] as? String == "sharing.contact.code-used", "\(request)")
            #expect(request["state"] as? String == "unverified", "\(request)")
        }
        let id = try #require(waiting.first { $0["claimedName"] as? String == "Bob" }?["id"] as? String)
        try alice.succeed("contact", "requests", "accept", id)
        try expectRefused(91, "sharing.contact.unverified", "share", "add", "Personal", "Bob", "--yes")
        try alice.succeed("contact", "verify", "Bob", "--yes")
        try alice.succeed("share", "add", "Personal", "Bob", "--yes")
    }
}
