// What an agent tells its person of other people, with a real server and desktop. The one thing to keep true: each thing is told once,
// and nothing is answered but by a command.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Agent and people", .serialized,
    .enabled(if: ServerRunner.isAvailable && AgentRunner.isAvailable, "needs coffret-server and coffret-agent"),
    .enabled(if: MockDesktop.isAvailable, "needs dbus-daemon and python3-dbusmock"))
struct AgentPeopleTests {
    /// Somebody with an agent and a desktop.
    private struct Seat {
        let desktop: MockDesktop
        let agent: AgentRunner

        init(_ person: CoffretRunner) throws {
            desktop = try MockDesktop()
            agent = try AgentRunner(for: person, environment: ["DBUS_SESSION_BUS_ADDRESS": desktop.address])
            try unlock()
        }

        func unlock() throws {
            #expect(try agent.unlock().exitCode == 0)
            try Waiting.until("connected") {
                let text = try agent.succeed("agent", "status", "--json")
                let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
                return (object?["stores"] as? [[String: Any]])?.first?["sync"] as? String == "connected"
            }
        }

        func count(_ words: String) -> Int { desktop.shown.count { $0.contains(words) } }

        func wait(for words: String) throws {
            do { try Waiting.until(words) { count(words) > 0 } } catch {
                Issue.record("\(desktop.shown.map { $0.suffix(300) }) \(try agent.succeed("agent", "status"))")
                throw error
            }
        }

        func waitForStatus(_ words: String, is isThere: Bool = true) throws {
            do { try Waiting.until(words) { try agent.succeed("status").contains(words) == isThere } } catch {
                Issue.record("\(try agent.succeed("status"))")
                throw error
            }
        }
    }

    @Test(
        "recovery contacts: an agent tells who asks for help and for an account, takes the share, and answers nothing",
        .enabled(if: Faketime.isAvailable, Faketime.missing))
    func circles() throws {
        let people = try RecoveryPeople()
        let (alice, bob, carol) = (try Seat(people.alice), try Seat(people.bob), people.carol)
        try people.alice.succeed(
            "recovery", "contacts", "add", "bob", "carol", "--threshold", "2", "--wait", "1d", "--yes")
        try bob.wait(for: "asks you to be a recovery contact")
        try bob.waitForStatus("asks for your help as a recovery contact")
        #expect(try people.circles(people.alice).first?["state"] as? String == "waiting", "the agent accepted nothing")

        for contact in [people.bob, carol] { try contact.succeed("recovery", "help", "alice", "--yes") }
        try bob.waitForStatus("asks for your help", is: false)
        try alice.wait(for: "all your recovery contacts have accepted")
        // By the agent: it has the key of a keyring that it did not see changed no more.
        try alice.agent.succeed(
            "recovery", "contacts", "add", "--yes",
            environment: ["COFFRET_PASSPHRASE_FILE": people.alice.passphraseFile])
        try bob.wait(for: "a share came")
        #expect(try people.circles(people.bob).first?["share"] as? Bool == true)
        // It says by itself that the share is there.
        try people.alice.succeed("recovery", "contacts", "test")
        try carol.succeed("sync")
        try Waiting.until("both have said so") {
            try people.alice.succeed("recovery", "contacts", "test").contains("All of your recovery contacts hold")
        }

        let bare = try CoffretRunner()
        let machine = try people.machine(bare)
        try people.meet(machine, carol).wait(for: "The request is recorded")
        try bob.wait(for: "somebody asks for the account of")
        try alice.wait(for: "somebody asks your recovery contacts")
        try alice.waitForStatus("somebody asks recovery contacts for an account")
        // Another unlocking is no reason to tell it again.
        try alice.agent.succeed("lock")
        try alice.unlock()
        try alice.waitForStatus("somebody asks recovery contacts for an account")
        try people.alice.succeed("recovery", "contacts", "forbid")
        for seat in [alice, bob] {
            try seat.waitForStatus("somebody asks recovery contacts", is: false)
            #expect(seat.count("somebody asks") == 1, "\(seat.desktop.shown)")
            #expect(seat.count("accepted") <= 1 && seat.count("a share came") <= 1, "\(seat.desktop.shown)")
            try seat.agent.stop()
        }
        #expect(bob.count("asks you to be a recovery contact") == 1, "\(bob.desktop.shown)")
    }

    @Test("sharing: an agent tells of letters and waiting vaults, each once")
    func sharing() throws {
        let people = try SharingPeople(areKeptUnlocked: false)
        let (alice, bob, carol) = (people.alice, people.bob, try CoffretRunner())
        try people.join(carol)
        for (person, name) in [(bob, "Bob"), (carol, "Carol")] { try person.succeed("contact", "me", "--name", name) }
        try alice.succeed("vault", "new", "Garden")
        try alice.makeNote("Beans\nin rows", "--vault", "Garden")
        let seat = try Seat(bob)
        #expect(seat.desktop.shown.isEmpty, "\(seat.desktop.shown)")

        let link = try #require(try bob.json("contact", "invite")["link"] as? String)
        try carol.succeed("contact", "add", link, "--name", "bob")
        try seat.wait(for: "Letters: 1. To read them: coffret contact requests")
        try seat.waitForStatus("1 letter")
        let request = try #require(try bob.list("contact", "requests").first?["id"] as? String)
        try bob.succeed("contact", "requests", "accept", request, "--name", "carol")
        try seat.waitForStatus("1 letter", is: false)

        try alice.succeed("share", "add", "Garden", people.account(of: bob), "--role", "writer", "--yes")
        try seat.wait(for: "Vaults shared with you: 1. To see them: coffret share requests")
        try seat.waitForStatus("1 vault")
        #expect(try bob.run("ls", "--vault", "Garden").exitCode != 0, "the agent accepted nothing")
        try seat.agent.succeed("share", "accept", "Garden")
        try seat.waitForStatus("1 vault", is: false)
        // What came before he was in is no news.
        try Waiting.until("the vault is here") { try seat.agent.run("ls", "--vault", "Garden").text.contains("Beans") }

        try seat.agent.succeed("lock")
        try seat.unlock()
        #expect(seat.desktop.shown.count == 2, "\(seat.desktop.shown)")
        try seat.agent.stop()
    }

    @Test("sharing: an agent tells who came to a vault and left it, of roles and of a recovered account, each once")
    func members() throws {
        let people = try SharingPeople(areKeptUnlocked: false)
        let (alice, bob, carol, dave) = (people.alice, people.bob, try CoffretRunner(), try CoffretRunner())
        for person in [carol, dave] { try people.join(person) }
        try alice.succeed("contact", "add", people.account(of: bob), "--name", "bob")
        try bob.succeed("contact", "add", people.account(of: dave), "--name", "dave")
        try dave.succeed("contact", "add", people.account(of: bob), "--name", "bob")
        try alice.succeed("vault", "new", "Home")
        try alice.makeNote("Rules\nof the house", "--vault", "Home")
        try people.share("Home", "owner", with: bob)
        let made = try bob.json("recovery", "add", "--paper", "--name", "Safe", "--print-only")
        let sheet = try #require(made["sheet"] as? String)
        try people.sync(bob, alice)

        let seat = try Seat(alice)
        let third = try people.member(carol)
        let place = "the vault \"Home\""
        let state = alice.folder.file("home/.local/state/coffret/sync")
        try Waiting.until("the agent has looked") {
            FileManager.default.enumerator(atPath: state)?.contains { "\($0)".contains("members-") } ?? false
        }
        #expect(seat.desktop.shown.isEmpty, "what was before is no news: \(seat.desktop.shown)")

        // Own acts are none, but for what one waits for.
        try people.share("Home", "writer", with: carol)
        try seat.wait(for: "\(third) accepted \(place)")
        try people.sync(bob)
        try bob.succeed("share", "role", "Home", third, "viewer")
        try seat.wait(for: "\"bob\" changed the role of \(third) in \(place): viewer")
        try bob.succeed("share", "add", "Home", "dave", "--role", "viewer", "--yes")
        try seat.wait(for: "\"bob\" added \"dave\" to \(place): viewer")
        try dave.succeed("share", "accept", "Home")
        try dave.succeed("share", "leave", "Home", "--yes")
        try seat.wait(for: "\"dave\" left \(place)")
        try people.sync(bob)
        try bob.succeed("share", "rm", "Home", third, "--yes")
        try seat.wait(for: "\"bob\" removed \(third) from \(place)")

        // Whoever holds the sheet holds the account.
        let other = try CoffretRunner()
        let path = other.workPath + "/sheet"
        _ = FileManager.default.createFile(
            atPath: path, contents: Data(sheet.utf8), attributes: [.posixPermissions: 0o600])
        let recovered = try other.run(
            [
                "device", "recover", people.server.url, "--fingerprint", people.server.fingerprint, "--sheet", path,
                "--effort", "light", "--revoke-others",
            ], input: [], environment: [:])
        // Alice's agent may write the key that is due first; it comes then.
        #expect([0, 92].contains(recovered.exitCode), "\(recovered.errorText)")
        try seat.wait(for: "the account of \"bob\", in \(place), was recovered")
        #expect(
            seat.desktop.shown.contains { $0.contains("This should not wait") && $0.contains("contact verify bob") })

        try seat.agent.succeed("lock")
        try seat.unlock()
        #expect(seat.desktop.shown.count == 6, "\(seat.desktop.shown.map { $0.suffix(200) })")
        try seat.agent.stop()
    }
}
