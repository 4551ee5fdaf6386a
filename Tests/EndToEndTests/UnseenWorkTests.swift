// Work that comes with the end of a right and counts: it is named to the person who ended it, and taken back on a word.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Unseen work", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct UnseenWorkTests {
    private static func unseen(_ answer: [String: Any]) throws -> [String: Any] {
        let found = try #require(answer["unseen"] as? [[String: Any]])
        #expect(found.count == 1, "\(answer)")
        return try #require(found.first)
    }

    private static func titles(_ work: [String: Any]) -> Set<String> {
        Set((work["items"] as? [[String: Any]] ?? []).compactMap { $0["title"] as? String })
    }

    @Test(
        "R68: what a removed writer sent and the owner had not seen counts, is counted and named, and is taken back alone"
    )
    func removal() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        let carol = try CoffretRunner()
        try people.join(carol)
        try alice.succeed("vault", "new", "Home")
        for title in ["Bank", "Shop"] {
            try alice.succeed(
                "new", "--vault", "Home", "--type", "login", title, "--set", "username=a", "--secret", "password",
                input: "old-\(title)")
        }
        try people.share("Home", "writer", with: bob)
        try people.share("Home", "writer", with: carol)
        try people.sync(alice, bob, carol)
        try bob.succeed("edit", "Bank", "--vault", "Home", "--secret", "password", input: "of-bob")
        try bob.makeNote("By Bob\nunasked", "--vault", "Home")
        try bob.succeed("rm", "Shop", "--vault", "Home")
        try people.sync(bob, carol)
        // Others build on it, on the same item, before anybody knows.
        try carol.succeed("edit", "Bank", "--vault", "Home", "--set", "username=carol")
        try people.sync(carol)
        let removed = try alice.json("share", "rm", "Home", people.member(bob), "--yes")
        let work = try Self.unseen(removed)
        #expect(work["entries"] as? Int == 3 && Self.titles(work) == ["Bank", "By Bob", "Shop"], "\(work)")
        let counted = try alice.succeed("show", "Bank", "--vault", "Home", "--reveal")
        #expect(counted.contains("of-bob") && counted.contains("carol"), "it counts: \(counted)")

        let versions = try #require(work["versions"] as? [String])
        #expect(versions.count == 1, "\(work)")
        let refused = try carol.run("share", "undo", "Home", "ffffffffff", "--yes")
        #expect(refused.errorText.contains("core.commit.not-found"), "\(refused.errorText)")
        let asked = try alice.run("share", "undo", "Home", String(versions[0].prefix(10)))
        #expect(asked.exitCode != 0 && asked.errorText.contains("3 changes will be taken back"), "\(asked.errorText)")
        let undone = try alice.json("share", "undo", "Home", String(versions[0].prefix(10)), "--yes")
        #expect(undone["done"] as? Bool == true, "\(undone)")
        try people.sync(alice, carol)
        for person in [alice, carol] {
            let bank = try person.succeed("show", "Bank", "--vault", "Home", "--reveal")
            #expect(bank.contains("old-Bank") && bank.contains("carol") && !bank.contains("of-bob"), "\(bank)")
            let list = try person.succeed("ls", "--vault", "Home")
            #expect(list.contains("Shop") && !list.contains("By Bob"), "\(list)")
            try person.succeed("fsck")
        }
        let again = try alice.json("share", "undo", "Home", versions[0], "--yes")
        #expect(again["done"] as? Bool == false, "\(again)")
    }

    @Test(
        "R68: what a lost device sent unseen is named by the revocation, in words, with the command that takes it back")
    func lostDevice() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        let phone = try CoffretRunner()
        try alice.succeed("vault", "new", "Home")
        try alice.makeNote("Rules\nfirst", "--vault", "Home")
        try people.share("Home", "writer", with: bob)
        try DevicePairing.pair(phone, alice, people.server, name: "Phone")
        try people.sync(phone, alice, bob)
        try phone.makeNote("By the thief", "--vault", "Home")
        try people.sync(phone, bob)
        let text = try alice.succeed("device", "revoke", "Phone", "--yes")
        #expect(
            text.contains("1 change by it came to \"Home\" that this device had not seen: \"By the thief\""), "\(text)")
        let command = try #require(text.components(separatedBy: "coffret share undo ").last)
        let words = command.split { $0.isWhitespace }.map(String.init)
        try #require(words.count == 2, "\(text)")
        try alice.succeed("share", "undo", words[0], words[1], "--yes")
        try people.sync(alice, bob)
        for person in [alice, bob] {
            let list = try person.succeed("ls", "--vault", "Home")
            #expect(list.contains("Rules") && !list.contains("By the thief"), "\(list)")
            try person.succeed("fsck")
        }
        #expect(try bob.run("share", "undo", "Home", words[1], "--yes").exitCode == 0)
        // Nothing came unseen: nothing is told.
        let quiet = try alice.json("share", "role", "Home", people.member(bob), "viewer")
        #expect((quiet["unseen"] as? [Any])?.isEmpty == true, "\(quiet)")
    }

    @Test("who was lowered before a first word, and raised again, writes what counts for all")
    func raisedAgain() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("vault", "new", "Home")
        try people.share("Home", "writer", with: bob)
        for role in ["viewer", "writer"] { try alice.succeed("share", "role", "Home", people.member(bob), role) }
        try people.sync(bob)
        try bob.makeNote("First words", "--vault", "Home")
        try people.sync(bob, alice)
        #expect(try alice.succeed("ls", "--vault", "Home").contains("First words"))
        #expect(try bob.succeed("ls", "--vault", "Home").contains("First words"))
    }
}
