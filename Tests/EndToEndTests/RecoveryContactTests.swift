// Recovery contacts with real stores, programs and server: founding, consent, coming back, and everybody who tries it otherwise.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Recovery contacts",
    .enabled(if: ServerRunner.isAvailable && Faketime.isAvailable, "needs coffret-server, openssl and libfaketime"))
struct RecoveryContactTests {
    @Test("R87: nobody is a recovery contact, and nobody gets a share, without a yes of both")
    func silentEnrolment() throws {
        let people = try RecoveryPeople()
        let (alice, bob, carol) = (people.alice, people.bob, people.carol)
        // No sheet, no names, too few, strangers.
        let lonely = try bob.run("recovery", "contacts", "add", "alice", "alice", "--yes")
        #expect(lonely.errorText.contains("recovery.sheet-required"), "\(lonely.errorText)")
        #expect(try alice.run("recovery", "contacts", "add", "bob", "--yes").exitCode == 64)
        #expect(try alice.run("recovery", "contacts", "add", "bob", "nobody", "--yes").exitCode == 66)
        #expect(try alice.run("recovery", "contacts", "add", "bob", "bob", "--yes").exitCode == 64)
        #expect(try alice.run("recovery", "contacts", "add", "--yes").errorText.contains("recovery.contacts.unknown"))
        let unasked = try bob.run("recovery", "help", "alice", "--yes")
        #expect(unasked.errorText.contains("recovery.contacts.unknown"), "\(unasked.errorText)")

        let asked = try alice.run("recovery", "contacts", "add", "bob", "carol", "--wait", "1d")
        #expect(asked.exitCode == 83 && asked.errorText.contains("2 of 2 contacts"), "\(asked.errorText)")
        try alice.succeed("recovery", "contacts", "add", "bob", "carol", "--wait", "1d", "--yes")
        #expect(try alice.run("recovery", "contacts", "add", "bob", "carol", "--yes").exitCode == 82)
        // Before there are shares it is gone at once.
        #expect(try alice.succeed("recovery", "contacts", "rm", "--yes").contains("no recovery contacts any more"))
        #expect(try people.circles(alice).isEmpty)
        try alice.succeed("recovery", "contacts", "add", "bob", "carol", "--wait", "1d", "--yes")
        let told = try bob.run("sync")
        #expect(told.errorText.contains("\"alice\" asks you to be a recovery contact"), "\(told.errorText)")
        #expect(try bob.run("recovery", "help", "alice").exitCode == 83, "a yes is asked for")
        try bob.succeed("recovery", "help", "alice", "--yes")
        // One of two is not all.
        let early = try alice.run("recovery", "contacts", "add", "--yes")
        #expect(early.exitCode == 92 && early.errorText.contains("recovery.consent-required"), "\(early.errorText)")
        #expect(try people.circles(alice).first?["state"] as? String == "waiting")
        #expect(try people.circles(bob).first?["share"] as? Bool == false)
        try carol.succeed("recovery", "help", "alice", "--yes")
        #expect(try alice.run("sync").errorText.contains("all your recovery contacts have accepted"))
        try alice.succeed("recovery", "contacts", "add", "--yes")
        #expect(try people.circles(alice).first?["state"] as? String == "serving")
        for contact in [bob, carol] {
            #expect(try contact.run("sync").errorText.contains("a share came"))
            #expect(try people.circles(contact).first?["share"] as? Bool == true)
        }
        // The paper device that nobody holds is no sheet to be accepted.
        let quiet = try alice.run("sync")
        #expect(!quiet.errorText.contains("recovery accept"), "\(quiet.errorText)")

        // The programs say by themselves that they have them.
        let silent = try alice.succeed("recovery", "contacts", "test")
        #expect(silent.contains("No answer yet") && silent.contains("bob") && silent.contains("carol"), "\(silent)")
        try bob.succeed("sync")
        #expect(try alice.succeed("recovery", "contacts", "test").contains("No answer yet: carol"))
        try carol.succeed("sync")
        #expect(try alice.succeed("recovery", "contacts", "test").contains("All of your recovery contacts hold"))

        // Who leaves is named, and the whole is taken back with seven days' notice.
        try bob.succeed("recovery", "help", "alice", "--refuse", "--yes")
        #expect(try alice.run("sync").errorText.contains("\"bob\" is your recovery contact no more"))
        #expect(try alice.succeed("recovery", "contacts", "rm", "--yes").contains("Run this again"))
        #expect(try alice.run("recovery", "contacts", "rm", "--yes").exitCode != 0, "too early")
    }

    @Test("who lost everything comes back with two contacts, after the waiting time")
    func comingBack() throws {
        let people = try RecoveryPeople()
        try people.arm()
        let bare = try CoffretRunner()
        let first = try people.machine(bare)
        let helper = try people.meet(first, people.bob)
        try helper.wait(for: "The request is recorded")
        try first.wait(for: "Your wish is recorded")
        // R25: before its time it is refused, and every device of Alice says that somebody asks.
        let loud = try people.alice.run("sync")
        #expect(loud.errorText.contains("somebody asks your recovery contacts"), "\(loud.errorText)")
        let early = try people.machine(bare)
        let soon = try people.meet(early, people.carol, hours: 3)
        try soon.wait(for: "You may give your share in")
        try early.wait(for: "Your wish is recorded")

        try people.wait(people.bob, people.carol)
        let machine = try people.machine(bare)
        try people.meet(machine, people.bob, hours: 29).wait(for: "The machine has your share")
        try machine.wait(for: "1 of 2 shares are here")
        try people.meet(machine, people.carol, hours: 29).wait(for: "The machine has your share")
        try machine.wait(for: "The account is back on this device")
        #expect(try bare.succeed("ls").contains("Of Alice"))
        // Alice's lost device is out, and the circle is used up.
        #expect(try people.alice.run("sync").exitCode != 0)
        #expect(try people.circles(bare).first?["state"] as? String == "over")
        try bare.makeNote("After coming back")
        try bare.succeed("sync")
        try bare.succeed("fsck")
    }

    @Test("R87: a yes is for the circle that was shown, and for no other one that took its place meanwhile")
    func changedTerms() throws {
        let people = try RecoveryPeople()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("recovery", "contacts", "add", "bob", "carol", "--wait", "30d", "--yes")
        let asked = try DevicePairing.terminal(bob, "recovery", "help", "alice")
        try asked.wait(for: "30 d after")
        try asked.wait(for: "Be a recovery contact?")
        try alice.succeed("recovery", "contacts", "rm", "--yes")
        try alice.succeed("recovery", "contacts", "add", "bob", "carol", "--wait", "1d", "--yes")
        asked.type("y\n")
        try asked.wait(for: "recovery.consent-required")
        #expect(try asked.finish() == 92)
        #expect(try people.circles(bob).allSatisfy { $0["accepted"] as? Bool == false })
        try bob.succeed("recovery", "help", "alice", "--yes")
        #expect(try people.circles(bob).first?["accepted"] as? Bool == true)
    }

    @Test(
        "shares that broke off on their way leave no paper device that nobody holds, and the next call gives new ones")
    func brokenOff() throws {
        let people = try RecoveryPeople()
        let alice = people.alice
        try alice.succeed("recovery", "contacts", "add", "bob", "carol", "--wait", "1d", "--yes")
        for contact in [people.bob, people.carol] { try contact.succeed("recovery", "help", "alice", "--yes") }
        let before = try alice.list("device", "ls").count
        let isBroken = { (statement: String) in
            let result = try ProcessRunner.run(
                "/usr/bin/sqlite3", ["-cmd", ".timeout 10000", people.server.databasePath, statement])
            try #require(result.exitCode == 0, "\(result.errorText)")
        }
        try isBroken(
            "CREATE TRIGGER broken BEFORE INSERT ON links WHEN NEW.kind = 3 BEGIN SELECT RAISE(ABORT, 'broken'); END")
        #expect(try alice.run("recovery", "contacts", "add", "--yes").exitCode != 0)
        #expect(try alice.list("device", "ls").count == before, "no paper device without its circle")
        for contact in [people.bob, people.carol] {
            let quiet = try contact.run("sync")
            #expect(quiet.exitCode == 0 && !quiet.errorText.contains("was not taken"), "\(quiet.errorText)")
            #expect(try people.circles(contact).first?["share"] as? Bool == false)
        }
        try isBroken("DROP TRIGGER broken")
        try alice.succeed("recovery", "contacts", "add", "--yes")
        #expect(try alice.list("device", "ls").count == before + 1)
        for contact in [people.bob, people.carol] {
            try contact.succeed("sync")
            #expect(try people.circles(contact).first?["share"] as? Bool == true)
        }
    }

    @Test("R86: nothing is given for a request that was forbidden; a server that takes the word back stops no sync")
    func forbidding() throws {
        let people = try RecoveryPeople()
        try people.arm()
        let bare = try CoffretRunner()
        let first = try people.machine(bare)
        try people.meet(first, people.bob).wait(for: "The request is recorded")
        try first.wait(for: "Your wish is recorded")
        try people.alice.succeed("recovery", "contacts", "forbid")
        #expect(try !people.alice.run("sync").errorText.contains("somebody asks"))
        try people.wait(people.bob)
        let machine = try people.machine(bare)
        let helper = try people.meet(machine, people.bob, hours: 29)
        try helper.wait(for: "recovery.request.forbidden")
        try machine.wait(for: "recovery.request.forbidden")
        #expect(try machine.finish() != 0 && helper.finish() != 0)

        // The newest link is the word that forbids.
        let circle = try #require(try people.circles(people.alice).first?["id"] as? String)
        let hidden = try ProcessRunner.run(
            "/usr/bin/sqlite3",
            [
                "-cmd", ".timeout 10000", people.server.databasePath,
                """
                DELETE FROM links WHERE kind = 3 AND chain = x'\(circle)'
                AND seq = (SELECT MAX(seq) FROM links WHERE kind = 3 AND chain = x'\(circle)')
                """,
            ])
        try #require(hidden.exitCode == 0, "\(hidden.errorText)")
        for person in [people.alice, people.bob] {
            let told = try person.run("sync")
            #expect(told.exitCode == 0 && told.errorText.contains("cannot be followed"), "\(told.errorText)")
        }
        let again = try people.machine(bare)
        let number = try RecoveryPeople.number(again)
        let refused = try people.bob.run("recovery", "help", "alice", number, "--yes")
        #expect(refused.exitCode != 0 && refused.errorText.contains("sync.chains.refused"), "\(refused.errorText)")
    }
}
