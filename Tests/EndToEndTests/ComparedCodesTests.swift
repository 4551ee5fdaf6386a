// Vaults that ask for compared codes, with the real programs.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Compared codes", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct ComparedCodesTests {
    @Test("a vault that asks for compared codes takes in nobody before, and the question says how it stands")
    func compared() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("vault", "new", "Home")
        #expect(try alice.succeed("share", "settings", "Home").contains("compared or not"))
        #expect(try alice.run("share", "settings", "Home", "--require", "met").exitCode == 64)
        #expect(
            try alice.json("share", "settings", "Home", "--require", "compared")["required"] as? String == "compared")
        let id = try people.account(of: bob)
        try alice.succeed("contact", "add", id, "--name", "bob")
        for name in [id, "bob"] {
            let refused = try alice.run("share", "add", "Home", name, "--yes")
            #expect(
                refused.exitCode == 91 && refused.errorText.contains("sharing.contact.unverified"),
                "\(refused.errorText)")
            #expect(refused.errorText.contains("codes were compared"), "\(refused.errorText)")
        }
        try alice.succeed("contact", "verify", "bob", "--yes")
        let question = try alice.run("share", "add", "Home", "bob")
        #expect(
            question.errorText.contains("compared") && !question.errorText.contains("not compared"),
            "\(question.errorText)")
        try alice.succeed("share", "add", "Home", "bob", "--role", "writer", "--yes")
        try bob.succeed("share", "accept", "Home")
        // It holds for all owners; a writer does not change it.
        #expect(try bob.json("share", "settings", "Home")["required"] as? String == "compared")
        let writer = try bob.run("share", "settings", "Home", "--require", "linked")
        #expect(writer.exitCode != 0 && writer.errorText.contains("trust.member.not-permitted"), "\(writer.errorText)")
        let carol = try CoffretRunner()
        try people.join(carol)
        try alice.succeed("contact", "add", people.account(of: carol), "--name", "carol")
        #expect(try alice.run("share", "add", "Home", "carol", "--yes").exitCode == 91)
        try alice.succeed("share", "settings", "Home", "--require", "linked")
        let trusting = try alice.run("share", "add", "Home", "carol")
        #expect(trusting.errorText.contains("trust at first use"), "\(trusting.errorText)")
        try alice.succeed("share", "add", "Home", "carol", "--yes")
        // Who was let in unseen is raised when the codes were compared.
        try carol.succeed("share", "accept", "Home")
        try alice.succeed("share", "settings", "Home", "--require", "compared")
        #expect(try alice.run("share", "role", "Home", "carol", "writer").exitCode == 91)
        try alice.succeed("contact", "verify", "carol", "--yes")
        try alice.succeed("share", "role", "Home", "carol", "writer")
    }

    @Test("a vault that is founded anew asks for compared codes as the old one did")
    func foundedAnew() throws {
        let people = try SharingPeople()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("contact", "add", people.account(of: bob), "--name", "bob")
        try alice.succeed("vault", "new", "Home")
        try alice.makeNote("Rules", "--vault", "Home")
        try alice.succeed("share", "add", "Home", "bob", "--role", "owner", "--yes")
        try bob.succeed("share", "accept", "Home")
        try alice.succeed("share", "settings", "Home", "--require", "compared")
        // Who is a member comes along; whoever comes later has to be compared, whichever owner lets him in.
        try alice.succeed("share", "restart", "Home", "--yes")
        #expect(try alice.json("share", "settings", "Home")["required"] as? String == "compared")
        try bob.succeed("share", "accept", "Home", "--name", "Home anew")
        #expect(try bob.json("share", "settings", "Home anew")["required"] as? String == "compared")
        let carol = try CoffretRunner()
        try people.join(carol)
        try carol.succeed("contact", "add", people.account(of: bob), "--name", "bob")
        for (owner, vault) in [(alice, "Home"), (bob, "Home anew")] {
            try owner.succeed("contact", "add", people.account(of: carol), "--name", "carol")
            let refused = try owner.run("share", "add", vault, "carol", "--yes")
            #expect(
                refused.exitCode == 91 && refused.errorText.contains("sharing.contact.unverified"),
                "\(refused.errorText)")
        }
    }
}
