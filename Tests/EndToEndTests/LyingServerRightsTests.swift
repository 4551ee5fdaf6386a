// Rights and space where the server, a former member, an owner or a guest takes what is not theirs. The one thing
// to keep true: the attack is made, by real programs and in the server's database, and is seen to have been made.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "A lying server: rights and space",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct LyingServerRightsTests {
    @Test(
        "R63 formerMemberOpensNothing: the server gives a former member all that it has, and his program opens none of it"
    )
    func formerMemberOpensNothing() throws {
        let people = try SharingPeople()
        let (alice, bob, server) = (people.alice, people.bob, people.server)
        let (carol, dave) = (try CoffretRunner(), try CoffretRunner())
        for person in [carol, dave] { try people.join(person) }
        try alice.succeed("vault", "new", "Home")
        try alice.makeNote("Before\nold words", "--vault", "Home")
        for person in [bob, carol] { try people.share("Home", "writer", with: person) }
        try people.sync(alice, bob, carol)
        let account = try people.account(of: bob)
        let zone = try #require(try alice.list("share", "ls").first?["id"] as? String)
        let number = "(SELECT number FROM zones WHERE zone = x'\(zone)')"
        try server.query(
            "CREATE TABLE let AS SELECT * FROM members WHERE number = \(number) AND account = x'\(account)'")
        let count = try #require(Int(try server.query("SELECT COUNT(*) FROM links WHERE chain = x'\(zone)'")[0]))

        try alice.succeed("share", "rm", "Home", people.member(bob), "--yes")
        try alice.makeNote("After Bob\nnew words", "--vault", "Home")
        try people.sync(carol)
        try carol.makeNote("By Carol, later\nnew words", "--vault", "Home")
        try alice.succeed("contact", "add", people.account(of: dave), "--name", "Dave the new one")
        try alice.succeed("share", "add", "Home", "Dave the new one", "--role", "writer", "--yes")
        try people.sync(carol, alice)
        let all = try #require(Int(try server.query("SELECT COUNT(*) FROM objects WHERE number = \(number)")[0]))

        // He is let in again by the server alone: with the links behind his removal, and then without.
        try server.query("INSERT INTO members SELECT * FROM let")
        try server.query(
            "INSERT INTO keyletters SELECT number, x'\(account)', epoch, sender, data FROM keyletters "
                + "WHERE number = \(number) AND account != x'\(account)' LIMIT 1")
        let told = try bob.run("sync")
        #expect(told.exitCode != 0, "\(told.text)")
        try server.query("CREATE TABLE later AS SELECT * FROM links WHERE chain = x'\(zone)' AND seq >= \(count)")
        try #require(try server.query("SELECT COUNT(*) FROM later") != ["0"])
        try server.query("DELETE FROM links WHERE chain = x'\(zone)' AND seq >= \(count)")
        let dark = try bob.run("sync")
        #expect(all > 2 && !dark.text.contains("new words"), "\(dark.errorText)")
        let shown = try bob.succeed("ls", "--vault", "Home")
        #expect(shown.contains("Before") && !shown.contains("After Bob") && !shown.contains("later"), "\(shown)")
        for word in ["After", "Carol", "words"] {
            let found = try bob.run("search", word, "--vault", "Home")
            #expect(!found.text.contains("new words") && !found.text.contains("later"), "\(found.text)")
        }
        let deeds = try bob.run("share", "activity", "Home")
        #expect(!deeds.text.contains("Dave the new one"), "\(deeds.text)")
        let members = try bob.run("share", "members", "Home", "--json")
        #expect(!members.text.contains("Dave the new one"), "\(members.text)")
        // The others go on.
        try server.query("INSERT INTO links SELECT * FROM later; DELETE FROM members WHERE account = x'\(account)'")
        try people.sync(alice, carol)
        for person in [alice, carol] { try person.succeed("fsck") }
    }

    @Test("R59 duellingOwners: whoever became an owner later ousts nobody who was one, in whatever order they try")
    func duellingOwners() throws {
        let people = try SharingPeople()
        let (alice, bob, carol) = (people.alice, people.bob, try CoffretRunner())
        try people.join(carol)
        try alice.succeed("vault", "new", "Home")
        for person in [bob, carol] { try people.share("Home", "owner", with: person) }
        try people.sync(alice, bob, carol)
        func expectOutranked(_ person: CoffretRunner, _ arguments: String...) throws {
            let refused = try person.run(arguments, input: [], environment: [:])
            #expect(
                refused.exitCode == 77 && refused.errorText.contains("trust.member.outranked"),
                "\(arguments): \(refused.exitCode) \(refused.errorText)")
        }
        try expectOutranked(bob, "share", "rm", "Home", people.member(alice), "--yes")
        try expectOutranked(carol, "share", "role", "Home", people.member(bob), "viewer")
        try expectOutranked(carol, "share", "rm", "Home", people.member(alice), "--yes")
        // Bob ousts Carol, who does not know of it and tries the same.
        try bob.succeed("share", "rm", "Home", people.member(carol), "--yes")
        let late = try carol.run("share", "rm", "Home", people.member(bob), "--yes")
        #expect(late.exitCode != 0, "\(late.text)")
        try alice.succeed("share", "role", "Home", people.member(bob), "viewer")
        let lowered = try bob.run("share", "rm", "Home", people.member(alice), "--yes")
        #expect(lowered.exitCode == 77 && lowered.errorText.contains("sharing.role.viewer"), "\(lowered.errorText)")
        try people.sync(alice, bob)
        let roles = try #require(try alice.json("share", "members", "Home")["members"] as? [[String: Any]])
        #expect(Set(roles.compactMap { $0["role"] as? String }) == ["owner", "viewer"] && roles.count == 2, "\(roles)")
    }

    @Test("R84: a guest fills a tenth of the sponsor's space and no more; who leaves takes no debt along")
    func guestSpace() throws {
        let server = try ServerRunner("--quota-bytes", "4000000")
        let (alice, guest) = (try CoffretRunner(), try CoffretRunner())
        try alice.makeStore()
        try alice.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try alice.succeed("contact", "me", "--name", "Alice")
        try alice.succeed("vault", "new", "Home")
        try alice.makeNote("Album\npictures", "--vault", "Home")
        let link = try #require(try alice.json("contact", "invite", "--guest")["link"] as? String)
        try guest.makeStore()
        let line = try #require(
            try guest.run("contact", "add", link).errorText.split(separator: "\n").first { $0.contains("server join") })
        let words = line.split(separator: " ").map(String.init)
        _ = try guest.run(Array(words[try #require(words.firstIndex(of: "server"))...]), input: [], environment: [:])
        try guest.succeed("contact", "me", "--name", "Gast")
        try guest.succeed("contact", "add", link)
        let id = try #require(try alice.list("contact", "requests").first?["id"] as? String)
        try alice.succeed("contact", "requests", "accept", id)
        try alice.succeed("share", "add", "Home", "Gast", "--role", "writer", "--yes")
        try guest.succeed("share", "accept", "Home")

        func used(_ person: CoffretRunner) throws -> Int {
            let account = try #require(try person.json("server", "status")["account"] as? String)
            return try #require(
                Int(try server.query("SELECT used FROM accounts WHERE account = x'\(account)'").first ?? ""))
        }
        func attach(_ byteCount: Int, _ name: String) throws {
            // Bytes that do not shrink.
            var generator = SeededGenerator(seed: UInt64(byteCount))
            let bytes = (0..<byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(FileManager.default.createFile(atPath: "\(guest.workPath)/\(name)", contents: Data(bytes)))
            try guest.succeed("attach", "add", "Album", name, "--vault", "Home")
        }
        try attach(200_000, "small.bin")
        try guest.succeed("sync")
        let before = try used(alice)
        #expect(before > 200_000, "the sponsor pays: \(before)")
        try attach(300_000, "large.bin")
        let full = try guest.run("sync")
        #expect(
            full.exitCode == 79 && full.errorText.contains("sync.file.no-room"), "\(full.exitCode) \(full.errorText)")
        #expect(try used(alice) < 400_000 + 200_000, "a tenth of four million, and what is her own")
        // The sponsor has all the rest of the space.
        try alice.makeNote("Mine\nwords", "--vault", "Home")
        #expect(try alice.run("sync").exitCode == 0)

        let debt = try used(alice)
        try guest.succeed("attach", "rm", "Album", "large.bin", "--vault", "Home")
        let left = try guest.run("share", "leave", "Home", "--yes")
        #expect(left.exitCode == 0, "\(left.errorText)")
        try alice.succeed("sync")
        #expect(try used(alice) > debt - 100_000 && used(alice) > 200_000, "what lies in the vault is paid for on")
        #expect(try used(guest) < 20_000)
        #expect(try alice.succeed("attach", "ls", "Album", "--vault", "Home").contains("small.bin"))
    }

    @Test(
        "R25, R86: a request with a time of long ago waits like any other, and one that the server hid is asked for anew",
        .enabled(if: Faketime.isAvailable, Faketime.missing))
    func backDated() throws {
        let people = try RecoveryPeople()
        try people.arm()
        let bare = try CoffretRunner()
        let first = try people.machine(bare)
        // Bob's program says that it is a month ago, and the server lets it.
        try people.meet(first, people.bob, hours: -720).wait(for: "The request is recorded")
        try first.wait(for: "Your wish is recorded")
        #expect(try people.circles(people.carol).first?["share"] as? Bool == true)
        let early = try people.machine(bare)
        let soon = try people.meet(early, people.carol)
        try soon.wait(for: "You may give your share in")
        #expect(!soon.screen.contains("The machine has your share"))
        try early.wait(for: "Your wish is recorded")

        // The server takes the request away, so that Alice hears nothing of it; whoever never saw it records it, and waits.
        let circle = try #require(try people.circles(people.alice).first?["id"] as? String)
        let newest =
            "chain = x'\(circle)' AND seq = (SELECT MAX(seq) FROM links WHERE kind = 3 AND chain = x'\(circle)')"
        try people.server.query("DELETE FROM links WHERE kind = 3 AND \(newest)")
        let machine = try people.machine(bare)
        let number = try RecoveryPeople.number(machine)
        for contact in [people.bob, people.carol] {
            let refused = try contact.run(
                ["recovery", "help", "alice", number, "--yes"], input: [], environment: RecoveryPeople.later(29))
            #expect(
                refused.exitCode != 0 && !refused.text.contains("The machine has your share"),
                "\(refused.exitCode) \(refused.text) \(refused.errorText)")
        }
    }
}
