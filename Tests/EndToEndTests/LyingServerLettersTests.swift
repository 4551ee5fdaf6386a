// Keys of a vault and identities of a person that others are made to take: by somebody who has the server's database, with a
// member's device or program that lies.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "A lying server: letters and identities",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct LyingServerLettersTests {
    private let people: SharingPeople
    private var alice: CoffretRunner { people.alice }
    private var bob: CoffretRunner { people.bob }
    private let account: String

    init() throws {
        people = try SharingPeople()
        account = try people.account(of: people.bob)
        try people.alice.succeed("vault", "new", "Home")
        try people.alice.makeNote("Rules\nwords", "--vault", "Home")
    }

    @discardableResult
    private func query(_ statement: String) throws -> [String] { try people.server.query(statement) }

    /// In the place of the letter to Bob, also where he has read one and the server forgot it.
    private func put(_ letter: String) throws {
        try query(
            "INSERT OR REPLACE INTO keyletters SELECT z.number, x'\(account)', v.epoch, z.account, x'\(letter)' "
                + "FROM zones z JOIN vaults v ON v.number = z.number WHERE v.epoch > 0")
    }

    private func expectRefused(
        _ person: CoffretRunner, _ exitCode: Int32, _ code: String, _ arguments: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let refused = try person.run(arguments, input: [], environment: [:])
        #expect(
            refused.exitCode == exitCode && refused.errorText.contains(code),
            "\(refused.exitCode) \(refused.text) \(refused.errorText)", sourceLocation: sourceLocation)
    }

    @Test("R7: a person who is let in was told what is there, and accepts nothing older")
    func toldState() throws {
        // The first share makes the checkpoint from which everybody begins who comes later.
        let carol = try CoffretRunner()
        try people.join(carol)
        try people.share("Home", "writer", with: carol)
        try people.sync(alice)
        let zone = try #require(try alice.list("share", "ls").first?["id"] as? String)
        let number = try #require(try query("SELECT number FROM zones WHERE zone = x'\(zone)'").first)
        func state() throws -> (head: String, word: String, last: String) {
            (
                try #require(try query("SELECT hex(head) FROM zones WHERE number = \(number)").first),
                try #require(try query("SELECT hex(word) FROM vaults WHERE number = \(number)").first),
                try #require(try query("SELECT MAX(seq) FROM objects WHERE number = \(number)").first)
            )
        }
        let old = try state()
        try alice.makeNote("Newest", "--vault", "Home")
        try people.sync(alice)
        try alice.succeed("share", "add", "Home", account, "--role", "writer", "--yes")
        let truth = try state()
        #expect(truth.head != old.head)

        func show(_ shown: (head: String, word: String, last: String)) throws {
            try query(
                "UPDATE zones SET head = x'\(shown.head)' WHERE number = \(number); "
                    + "UPDATE vaults SET word = x'\(shown.word)' WHERE number = \(number)")
        }
        try query("CREATE TABLE hidden AS SELECT * FROM objects WHERE number = \(number) AND seq > \(old.last)")
        try query("DELETE FROM objects WHERE number = \(number) AND seq > \(old.last)")
        try show(old)
        for _ in 0..<2 { try expectRefused(bob, 72, "sync.head.rolled-back", "share", "accept", "Home") }
        #expect(try !bob.succeed("ls", "--vault", "all").contains("Newest"))
        try query("INSERT INTO objects SELECT * FROM hidden")
        try show(truth)
        try bob.succeed("share", "accept", "Home")
        #expect(try bob.succeed("ls", "--vault", "Home").contains("Newest"))
        try people.sync(alice, carol, bob)
    }

    @Test(
        "R55 splitGroup: another key, or another split key, than the chain commits to is refused by name, and asked for anew"
    )
    func splitGroup() throws {
        try alice.succeed("share", "add", "Home", account, "--role", "writer", "--yes")
        let random = SystemRandomSource()
        let owner = try LawlessOwner(alice, vault: "Home")
        let zone = try #require(try alice.list("share", "ls").first?["id"] as? String)
        for letter in [
            try owner.letter(to: account, vaultKey: .generate(from: random)),
            try owner.letter(to: account, splitKey: .generate(from: random)),
        ] {
            try put(letter)
            let shown = try #require(try bob.list("share", "requests").first)
            #expect(shown["problem"] as? String == "keys.letter.key-differs", "\(shown)")
            try put(letter)
            try expectRefused(bob, 84, "keys.letter.key-differs", "share", "accept", zone)
            #expect(try bob.run("ls", "--vault", "Home").exitCode != 0)
        }
        // The honest program of the same owner answers.
        try alice.succeed("sync")
        #expect(try bob.json("share", "accept", "Home")["items"] as? Int == 1)

        // The same to a member, with the key of a new epoch.
        let carol = try CoffretRunner()
        try people.join(carol)
        try people.share("Home", "writer", with: carol)
        try people.sync(bob, alice)
        try alice.succeed("share", "rm", "Home", people.member(carol), "--yes")
        let letter = try LawlessOwner(alice, vault: "Home").letter(to: account, vaultKey: .generate(from: random))
        try alice.makeNote("Under the new key", "--vault", "Home")
        try alice.succeed("sync")
        try put(letter)
        try expectRefused(bob, 84, "keys.letter.key-differs", "sync")
        #expect(try !bob.succeed("ls", "--vault", "Home").contains("Under the new key"))
        try alice.succeed("sync")
        try bob.succeed("sync")
        #expect(try bob.succeed("ls", "--vault", "Home").contains("Under the new key"))
    }

    @Test("R56 wrongHistoryObject: wrong older keys under a new one are named, and the next epoch repairs them")
    func wrongHistoryObject() throws {
        let carol = try CoffretRunner()
        try people.join(carol)
        try people.share("Home", "writer", with: carol)
        try alice.succeed("share", "rm", "Home", people.member(carol), "--yes")
        try alice.succeed("share", "add", "Home", account, "--role", "writer", "--yes")
        let wrong = try LawlessOwner(alice, vault: "Home").wrongHistory()
        let zone = try #require(try alice.list("share", "ls").first?["id"] as? String)
        let place = "number = (SELECT number FROM zones WHERE zone = x'\(zone)')"
        try query("UPDATE histories SET data = x'\(wrong)' WHERE \(place)")
        let shown = try #require(try bob.list("share", "requests").first)
        #expect(shown["problem"] as? String == "keys.history.differs", "\(shown)")
        try expectRefused(bob, 84, "keys.history.differs", "share", "accept", try #require(shown["id"] as? String))
        // Somebody else goes, so that there is a new epoch; whoever writes it has the true keys.
        try people.share("Home", "viewer", with: carol)
        try alice.succeed("share", "rm", "Home", people.member(carol), "--yes")
        #expect(try bob.json("share", "accept", "Home")["items"] as? Int == 1)
        try bob.succeed("fsck")
    }

    @Test("a member without the newest key leaves all the same, unless something of that person waits to be sent")
    func leavingWithoutKey() throws {
        let (carol, dave) = (try CoffretRunner(), try CoffretRunner())
        for person in [carol, dave] { try people.join(person) }
        try people.share("Home", "writer", with: bob)
        for person in [carol, dave] { try people.share("Home", "viewer", with: person) }
        try people.sync(bob, carol)
        try alice.succeed("share", "rm", "Home", people.member(dave), "--yes")
        // Behind the new key comes a link that is sealed with it.
        try alice.succeed("share", "add", "Home", people.account(of: dave), "--role", "viewer", "--yes")
        try query("DELETE FROM keyletters")
        try bob.makeNote("Not sent", "--vault", "Home")
        try expectRefused(carol, 92, "sharing.key.awaited", "sync")
        try carol.succeed("share", "leave", "Home", "--yes")
        #expect(try carol.succeed("ls", "--vault", "Home").contains("Rules"))
        try expectRefused(bob, 92, "sharing.key.awaited", "share", "leave", "Home", "--yes")
        try people.sync(alice)
        try bob.succeed("share", "leave", "Home", "--yes")
        try people.sync(alice)
        #expect(try alice.succeed("ls", "--vault", "Home").contains("Not sent"))
        let members = try alice.json("share", "members", "Home")["members"] as? [[String: Any]]
        #expect(members?.count == 2, "\(String(describing: members))")
    }

    @Test("R52 secondIdentityChain: an account has one identity chain; another one in its place is a fork")
    func secondIdentityChain() throws {
        // A person without an identity and with two devices, which found one each.
        let (laptop, phone) = (try CoffretRunner(), try CoffretRunner())
        try laptop.makeStore()
        try laptop.succeed("server", "join", people.server.url, "--fingerprint", people.server.fingerprint)
        try DevicePairing.pair(phone, laptop, people.server, name: "Phone")
        let carol = try people.account(of: laptop)
        let rows = "FROM links WHERE kind = 2 AND chain = x'\(carol)'"
        try #require(try query("SELECT COUNT(*) \(rows)") == ["0"])
        try laptop.succeed("contact", "me", "--name", "Carol")
        try laptop.succeed("contact", "add", people.account(of: alice), "--name", "alice")
        try query("CREATE TABLE first AS SELECT * \(rows)")
        try query("DELETE \(rows); DELETE FROM mail WHERE account = x'\(carol)'")
        try phone.succeed("contact", "me", "--name", "Carol")
        try query("CREATE TABLE second AS SELECT * \(rows)")
        try #require(try query("SELECT COUNT(*) FROM second WHERE link NOT IN (SELECT link FROM first)") == ["1"])
        try query("DELETE \(rows); INSERT INTO links SELECT * FROM first")
        try alice.succeed("contact", "add", carol, "--name", "Carol")
        try alice.succeed("contact", "verify", "Carol", "--yes")
        try query("DELETE \(rows); INSERT INTO links SELECT * FROM second")
        // A remembered head alone cannot tell a chain that was cut from another one.
        try expectRefused(alice, 72, "trust.chain.rolled-back", "contact", "verify", "Carol")
        try expectRefused(alice, 72, "trust.chain.rolled-back", "share", "add", "Home", "Carol", "--yes")
        #expect(try query("SELECT COUNT(*) FROM keyletters WHERE account = x'\(carol)'") == ["0"])
        // Her own laptop has the chain, and sees that it is another one.
        try expectRefused(laptop, 72, "trust.chain.forked", "contact", "me")
        try query("DELETE \(rows); INSERT INTO links SELECT * FROM first")
        try laptop.succeed("contact", "me")
        try alice.succeed("contact", "verify", "Carol", "--yes")
    }

    @Test(
        "R52: an identity that a revoked device refreshed is not sealed to, and is again once a trusted one has set",
        .enabled(if: Faketime.isAvailable, "needs libfaketime"))
    func identityOfAThief() throws {
        let phone = try CoffretRunner()
        try DevicePairing.pair(phone, bob, people.server, name: "Phone")
        try phone.succeed("sync")
        let newer = "FROM links WHERE chain = x'\(account)' AND (kind = 2 AND seq > 0 OR kind = 1 AND seq > 1)"
        try bob.succeed("device", "revoke", "Phone", "--yes")
        try bob.succeed("sync")
        try query("CREATE TABLE truth AS SELECT * \(newer)")
        try #require(try query("SELECT COUNT(*) FROM truth") == ["2"], "the revocation, and a new identity")
        // In the dark, and with a server that lets it in, the phone refreshes what it believes to be the identity.
        try query(
            "CREATE TABLE devicestruth AS SELECT * FROM devices WHERE account = x'\(account)'; DELETE \(newer);"
                + "UPDATE devices SET revoked = 0 WHERE account = x'\(account)'")
        let refreshed = try phone.run(["sync"], input: [], environment: RecoveryPeople.later(24 * 35))
        #expect(refreshed.exitCode == 0, "\(refreshed.errorText)")
        try query("CREATE TABLE thief AS SELECT * FROM links WHERE kind = 2 AND chain = x'\(account)' AND seq > 0")
        try #require(try query("SELECT COUNT(*) FROM thief") == ["1"], "\(refreshed.errorText)")
        // Alice has all of Bob's devices, and of his identity what the thief made of it.
        try query(
            "DELETE FROM devices WHERE account = x'\(account)'; INSERT INTO devices SELECT * FROM devicestruth;"
                + "INSERT INTO links SELECT * FROM truth WHERE kind = 1")
        let added = try alice.json("share", "add", "Home", account, "--role", "writer", "--yes")
        #expect(added["hasKey"] as? Bool == false && added["problem"] as? String == "trust.identity.stale", "\(added)")
        try alice.succeed("sync")
        #expect(try query("SELECT COUNT(*) FROM keyletters WHERE account = x'\(account)'") == ["0"])
        try query("DELETE FROM links WHERE kind = 2 AND chain = x'\(account)' AND seq > 0")
        try query("INSERT INTO links SELECT * FROM truth WHERE kind = 2")
        try alice.succeed("sync")
        #expect(try bob.json("share", "accept", "Home")["items"] as? Int == 1)
    }
}
