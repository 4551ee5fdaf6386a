// Items that go between people: moved, shared alone, listed, and what is known of them after somebody left.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Shared items", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct SharedItemTests {
    @Test("mv and cp bring items into a shared vault; viewers are refused; a server that is away takes nothing")
    func moving() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("vault", "new", "Home")
        try people.share("Home", "viewer", with: bob)
        let id = try alice.makeNote("Wi-Fi\nthe password is under the router")
        try alice.makeNote("Recipe\nbread")
        try "secret file".write(toFile: alice.workPath + "/a.txt", atomically: true, encoding: .utf8)
        try alice.succeed("attach", "add", "Wi-Fi", "a.txt")

        people.server.stop()
        let away = try alice.run("mv", "Wi-Fi", "--to", "Home")
        #expect(away.exitCode != 0 && away.errorText.contains("nothing left the old vault"), "\(away.errorText)")
        #expect(try alice.items("ls", "--vault", "Personal").contains { $0["id"] as? String == id })
        try people.server.start()
        let moved = try alice.json("mv", "Wi-Fi", "--to", "Home")
        #expect(moved["items"] as? [String] == [id] && (moved["people"] as? [String])?.count == 1, "\(moved)")
        #expect(try alice.items("ls", "--vault", "Home").count == 1)
        #expect(try !alice.items("ls", "--vault", "Personal").contains { $0["id"] as? String == id })
        // One item answers to the name and to the id, though an old one lies in the trash.
        #expect(try alice.succeed("show", "Wi-Fi").contains("under the router"))
        #expect(try alice.succeed("show", id).contains("under the router"))

        try people.sync(bob)
        #expect(try bob.succeed("show", "Wi-Fi", "--vault", "Home").contains("under the router"))
        try bob.succeed("attach", "get", "Wi-Fi", "--vault", "Home")
        #expect(try bob.succeed("attach", "ls", "Wi-Fi", "--vault", "Home").contains("a.txt"))
        for refused in [
            try bob.run("mv", "Wi-Fi", "--to", "Personal", "--vault", "Home"),
            try {
                try bob.makeNote("Mine"); return try bob.run("mv", "Mine", "--to", "Home")
            }(),
            try bob.run("cp", "Mine", "--to", "Home"),
        ] {
            #expect(refused.exitCode == 77 && refused.errorText.contains("sharing.role.viewer"), "\(refused.errorText)")
        }
        #expect(try bob.items("ls", "--vault", "Personal").count == 1, "nothing was moved by halves")
        let copied = try bob.json("cp", "Wi-Fi", "--vault", "Home", "--to", "Personal")
        #expect(copied["items"] as? [String] != [id] && copied["vault"] as? String == "Personal", "\(copied)")
        for person in [alice, bob] { try person.succeed("fsck") }
    }

    @Test("one note is shared in two commands, and nothing beside it; a third person comes in later")
    func oneNote() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        let carol = try CoffretRunner()
        try people.join(carol)
        let id = try alice.makeNote("Wi-Fi\nfirst words")
        try alice.makeNote("Diary\nfor nobody")
        try alice.succeed("edit", "Wi-Fi", "--title", "Wi-Fi")
        let shared = try alice.json("share", "item", "Wi-Fi", people.account(of: bob), "--role", "writer", "--yes")
        #expect(shared["shared"] as? Bool == true && shared["keys"] as? Int == 1, "\(shared)")
        #expect(shared["vault"] as? String == "Wi-Fi" && shared["item"] as? String == id)
        let accepted = try bob.json("share", "accept", "Wi-Fi")
        #expect(accepted["items"] as? Int == 1, "\(accepted)")
        #expect(try bob.items("ls", "--vault", "Wi-Fi").map { $0["id"] as? String } == [id])
        #expect(try !bob.succeed("ls").contains("Diary"))
        #expect((try bob.json("history", id)["versions"] as? [Any])?.count == 1, "its history stays with Alice")
        try people.sync(alice)
        let row = try #require(try alice.items("ls").first { $0["id"] as? String == id })
        #expect((row["people"] as? [String])?.count == 1 && row["owner"] as? String == nil, "\(row)")
        #expect(try alice.succeed("ls").contains("with "))
        let again = try alice.json("share", "note", id, people.account(of: carol), "--yes")
        #expect(again["vaultID"] as? String == shared["vaultID"] as? String, "\(again)")
        try carol.succeed("share", "accept", "Wi-Fi")
        let theirs = try #require(try carol.items("ls").first { $0["id"] as? String == id })
        #expect((theirs["people"] as? [String])?.count == 2 && theirs["owner"] as? String != nil, "\(theirs)")
        #expect(try carol.run("edit", id, "--title", "Mine").exitCode == 77)
        try bob.succeed("edit", id, "--title", "Wi-Fi of all")
        try people.sync(bob, alice, carol)
        for person in [alice, carol] { #expect(try person.succeed("ls").contains("Wi-Fi of all")) }
    }

    @Test("all vaults in one list and one search, with whose they are")
    func allVaults() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("vault", "new", "Home")
        try alice.makeNote("Garden of Alice\ntomato tomato tomato", "--vault", "Home")
        try people.share("Home", "writer", with: bob)
        try bob.makeNote("Balcony\ntomato")
        try bob.makeNote("Cellar\nonions")
        let owner = "alice"
        let environment = ["COFFRET_VAULT": "Personal"]
        let list = try bob.run("ls", "--vault", "all", "--json", environment: environment)
        let rows = try JSONSerialization.jsonObject(with: Data(list.text.utf8)) as? [String: Any]
        let items = try #require(rows?["items"] as? [[String: Any]])
        #expect(items.count == 3)
        let foreign = try #require(items.first { $0["vault"] as? String == "Home" })
        #expect(foreign["owner"] as? String == owner, "\(foreign)")
        #expect(items.filter { $0["owner"] as? String == nil }.count == 2)
        let text = try bob.succeed("search", "tomato", "--vault", "all", environment: environment)
        #expect(text.contains("Home, of \(owner)") && text.contains("Balcony"), "\(text)")
        #expect(try bob.items("search", "tomato", "--vault", "all").count == 2)
        #expect(try !bob.succeed("ls", environment: environment).contains("Garden"))
    }

    @Test(
        "R81: another person's vault answers for no address, no reference by title and no token until that is allowed")
    func guestVaultAnswers() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("vault", "new", "Home")
        try alice.succeed(
            "new", "--vault", "Home", "--type", "login", "Forge", "--set", "username=alice", "--set",
            "url=https://git.example.org", "--secret", "password", input: "of-alice")
        try people.share("Home", "writer", with: bob)
        let asked = "protocol=https\nhost=git.example.org\n\n"
        func offered(_ options: String...) throws -> String {
            try bob.run(["git-credential", "get"] + options, input: Array(asked.utf8)).text
        }
        #expect(try offered() == "")
        #expect(try offered("--vault", "Home").contains("of-alice"), "who names the vault means it")
        let reference = "coffret://Home/Forge/password"
        let refused = try bob.run("read", reference)
        #expect(refused.exitCode != 0 && refused.errorText.contains("--use-for run"), "\(refused.errorText)")
        let id = try #require(try bob.items("ls", "--vault", "Home").first?["id"] as? String)
        #expect(try bob.succeed("read", "coffret://Home/\(id)/password").contains("of-alice"))
        #expect(try bob.json("share", "settings", "Home")["uses"] as? [String] == [])
        try bob.succeed("share", "settings", "Home", "--use-for", "git,run")
        #expect(try offered().contains("of-alice"))
        #expect(try bob.succeed("read", reference).contains("of-alice"))
        try bob.succeed("share", "settings", "Home", "--use-for", "none")
        #expect(try offered() == "")
        try alice.succeed("vault", "default", "Home")
        // Her own vault is used as before, and a new item never lands in another person's.
        #expect(try alice.run(["git-credential", "get"], input: Array(asked.utf8)).text.contains("of-alice"))
        #expect(try alice.json("share", "settings", "Home")["guest"] as? Bool == false)
        #expect(try bob.run("share", "settings", "Home", "--use-for", "gti").exitCode == 64)
    }

    @Test("after a removal: what was seen and is to be changed, who did what, and what the removed person is told")
    func afterRemoval() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("vault", "new", "Home")
        for title in ["Bank", "Shop"] {
            try alice.succeed(
                "new", "--vault", "Home", "--type", "login", title, "--set", "username=a", "--secret", "password",
                input: "old-\(title)")
        }
        try people.share("Home", "writer", with: bob)
        try bob.makeNote("By Bob", "--vault", "Home")
        try people.sync(bob, alice)
        let who = try people.member(bob)
        let removed = try alice.succeed("share", "rm", "Home", who, "--yes")
        #expect(removed.contains("2 items with secrets that this person has seen: coffret share seen"), "\(removed)")
        try alice.succeed("edit", "Shop", "--vault", "Home", "--secret", "password", input: "new-Shop")
        try alice.succeed(
            "new", "--vault", "Home", "--type", "login", "Later", "--secret", "password", input: "never seen")
        let seen = try alice.json("share", "seen", "Home", who)
        let values = try #require(seen["values"] as? [[String: Any]])
        let secrets = values.filter { $0["kind"] as? String == "secret" }
        #expect(secrets.map { $0["title"] as? String } == ["Bank", "Shop"], "\(values)")
        #expect(secrets.map { $0["changedSince"] as? Bool } == [false, true], "\(values)")
        #expect(secrets.allSatisfy { $0["hadForSure"] as? Bool == true }, "his entry says that he had them")
        let text = try alice.succeed("share", "seen", "Home", who)
        #expect(text.contains("Bank") && !text.contains("Shop") && !text.contains("old-"), "\(text)")

        let activity = try alice.list("share", "activity", "Home")
        let words = activity.map { "\($0["person"] as? String ?? "?"): \($0["summary"] as? String ?? "?")" }
        #expect(words.contains { $0.hasPrefix("\(who): ") && $0.contains("By Bob") }, "\(words)")
        #expect(words.contains("\(who): accepted") && words.contains("you: removed \(who)"), "\(words)")
        #expect(try alice.list("share", "activity", "Home", who).allSatisfy { $0["person"] as? String == who })

        let told = try bob.run("sync")
        #expect(
            told.exitCode != 0 && told.errorText.contains("you are no member of \"Home\" any more"), "\(told.errorText)"
        )
        #expect(told.errorText.contains("share leave"), "\(told.errorText)")
        try bob.succeed("share", "leave", "Home", "--yes")
        #expect(try bob.succeed("show", "By Bob", "--vault", "Home").contains("By Bob"))
        #expect(try bob.run("sync").exitCode == 0)
    }

    @Test("a vault that is founded anew has the present and the same people, and the old one stays to be read")
    func restart() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("vault", "new", "Home")
        try alice.makeNote("Rules\nfirst", "--vault", "Home")
        try people.share("Home", "writer", with: bob)
        try bob.makeNote("By Bob", "--vault", "Home")
        try people.sync(bob, alice)
        let before = try alice.json("share", "members", "Home")["id"] as? String
        let done = try alice.json("share", "restart", "Home", "--yes")
        #expect(done["items"] as? Int == 2 && done["name"] as? String == "Home", "\(done)")
        #expect(done["id"] as? String != before && done["formerName"] as? String == "Home (old)", "\(done)")
        let waiting = try bob.succeed("share", "requests")
        #expect(waiting.contains("\"Home\"") && waiting.contains("writer"), "\(waiting)")
        try bob.succeed("share", "accept", "Home", "--name", "Home anew")
        #expect(try bob.items("ls", "--vault", "Home anew").count == 2)
        try bob.makeNote("In the new one", "--vault", "Home anew")
        try people.sync(bob, alice)
        #expect(try alice.succeed("ls", "--vault", "Home").contains("In the new one"))
        #expect(try alice.succeed("ls", "--vault", "Home (old)").contains("By Bob"))
        for person in [alice, bob] { try person.succeed("fsck") }
    }
}
