// Several people with stores of their own and the real server: they share a vault, edit it together, change roles, and part.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Sharing", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct SharingTests {
    /// People at one server.
    struct People {
        let server: ServerRunner
        let alice, bob: CoffretRunner
        let vault = "Home"

        init() throws {
            server = try ServerRunner()
            (alice, bob) = (try CoffretRunner(), try CoffretRunner())
            for person in [alice, bob] { try join(person) }
            try alice.succeed("vault", "new", vault)
            try alice.makeNote("Before sharing\nold words", "--vault", vault)
        }

        func join(_ person: CoffretRunner) throws {
            try person.makeStore()
            try person.keepUnlocked()
            try person.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
            // The first look at what waits founds the identity to which keys are sealed.
            try person.succeed("share", "requests")
            // Nobody is added who has not let that person in.
            if person !== alice { try person.succeed("contact", "add", account(of: alice), "--name", "Alice") }
        }

        func account(of person: CoffretRunner) throws -> String {
            try #require(try person.json("server", "status")["account"] as? String)
        }

        func share(_ role: String, with person: CoffretRunner, by owner: CoffretRunner? = nil) throws {
            try (owner ?? alice).succeed(
                "share", "add", vault, account(of: person), "--role", role, "--yes")
            try person.succeed("share", "accept", vault)
        }

        func sync(_ people: CoffretRunner...) throws { for person in people { try person.succeed("sync") } }

        func titles(_ person: CoffretRunner) throws -> String { try person.succeed("ls", "--vault", vault) }
    }

    @Test("two people edit a vault together; an own vault of the same name keeps it (R81)")
    func together() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("share", "add", "Home", people.account(of: bob), "--role", "writer", "--yes")
        let waiting = try bob.succeed("share", "requests")
        #expect(waiting.contains("\"Home\"") && waiting.contains("writer"), "\(waiting)")
        let accepted = try bob.json("share", "accept", "Home")
        #expect(accepted["name"] as? String == "Home" && accepted["items"] as? Int == 1, "\(accepted)")
        #expect(try people.titles(bob).contains("Before sharing"))
        #expect(try bob.succeed("show", "Before sharing", "--vault", "Home").contains("old words"))
        try bob.makeNote("By Bob", "--vault", "Home")
        try alice.makeNote("By Alice", "--vault", "Home")
        try people.sync(bob, alice, bob)
        for person in [alice, bob] {
            let list = try people.titles(person)
            for title in ["Before sharing", "By Bob", "By Alice"] { #expect(list.contains(title), "\(list)") }
            try person.succeed("fsck")
        }
        for (person, words) in [(alice, "words of Alice"), (bob, "words of Bob")] {
            try person.succeed("edit", "Before sharing", "--vault", "Home", input: "Before sharing\n" + words)
        }
        try people.sync(bob, alice, bob)
        let other = String(try people.account(of: bob).prefix(8))
        for command in [["history", "Before sharing"], ["log"]] {
            let text = try alice.run(command + ["--vault", "Home"], input: []).text
            #expect(text.contains(other) && !text.contains("another device"), "\(text)")
        }
        // One of both sees the other's text.
        let conflicts = try [alice, bob].map {
            try $0.succeed("conflicts", "show", "Before sharing", "--vault", "Home")
        }
        #expect(conflicts.allSatisfy { $0.contains("words of") && !$0.contains("another device") }, "\(conflicts)")
        let members = try alice.json("share", "members", "Home")
        #expect((members["members"] as? [[String: Any]])?.count == 2, "\(members)")
        // The other vault of either is nobody else's.
        #expect(try alice.succeed("share", "ls").contains("Home"))
        #expect(!(try alice.succeed("share", "ls").contains("Personal")))
        let again = try alice.run("share", "add", "Home", people.account(of: bob), "--yes")
        #expect(again.exitCode == 82, "\(again.errorText)")
    }

    @Test("R66: a viewer reads and changes nothing; a raised one writes")
    func viewer() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        try people.share("viewer", with: bob)
        #expect(try people.titles(bob).contains("Before sharing"))
        let refused = try bob.run("new", "--vault", "Home", input: "Mine\nnot allowed")
        #expect(refused.exitCode == 77 && refused.errorText.contains("sharing.role.viewer"), "\(refused.errorText)")
        let outsider = try bob.run("share", "rm", "Home", String(people.account(of: alice).prefix(8)), "--yes")
        #expect(outsider.exitCode == 77, "\(outsider.errorText)")
        try alice.succeed("share", "role", "Home", String(people.account(of: bob).prefix(8)), "writer")
        try people.sync(bob)
        try bob.makeNote("Mine now", "--vault", "Home")
        try people.sync(bob, alice)
        #expect(try people.titles(alice).contains("Mine now"))
        // Lowered again, he writes nothing more; his words of before stay.
        try alice.succeed("share", "role", "Home", String(people.account(of: bob).prefix(8)), "viewer")
        try people.sync(bob)
        #expect(try bob.run("new", "--vault", "Home", input: "Too late").exitCode == 77)
        #expect(try people.titles(bob).contains("Mine now"))
    }

    @Test("R63, R64: who was removed reads and sends nothing later; the others go on under a new key")
    func removal() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        let carol = try CoffretRunner()
        try people.join(carol)
        try people.share("writer", with: bob)
        try people.share("writer", with: carol)
        try people.sync(alice, bob, carol)
        try bob.makeNote("Never sent", "--vault", "Home")
        let mistyped = try alice.run("share", "rm", "Home", "bobb")
        #expect(mistyped.exitCode == 66 && !mistyped.errorText.contains("needs a yes"), "\(mistyped.errorText)")
        let removed = try alice.json("share", "rm", "Home", String(people.account(of: bob).prefix(8)), "--yes")
        #expect(removed["removed"] as? Bool == true, "\(removed)")
        try alice.makeNote("After Bob", "--vault", "Home")
        try people.sync(alice, carol)
        try carol.makeNote("By Carol, later", "--vault", "Home")
        try people.sync(carol, alice)
        for person in [alice, carol] {
            let list = try people.titles(person)
            #expect(
                list.contains("After Bob") && list.contains("By Carol, later") && !list.contains("Never sent"),
                "\(list)")
            try person.succeed("fsck")
        }
        let refused = try bob.run("sync")
        let late = try bob.run("new", "--vault", "Home", input: "Too late")
        #expect(late.exitCode == 0 && late.errorText.contains("stays on this device"), "\(late.errorText)")
        #expect(refused.exitCode != 0 && refused.errorText.contains("sharing.member.unknown"), "\(refused.errorText)")
        let list = try people.titles(bob)
        #expect(list.contains("Before sharing") && !list.contains("After Bob"), "\(list)")
        // Added anew, he reads all of it.
        try alice.succeed("share", "add", "Home", people.account(of: bob), "--role", "writer", "--yes")
        try bob.succeed("share", "accept", "Home")
        try people.sync(bob, alice, carol)
        #expect(try people.titles(bob).contains("By Carol, later"))
    }

    @Test("a sync that waits for another process goes on under the key that this one wrote", arguments: [false, true])
    func keyMeanwhile(isInAgent: Bool) throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        try people.share("writer", with: bob)
        try people.sync(alice)
        try alice.makeNote("Not sent yet", "--vault", "Home")
        let id = try #require(alice.list("vault", "ls").first { $0["name"] as? String == "Home" }?["id"] as? String)
        let path = alice.folder.file("home/.local/share/coffret/vaults/\(id.prefix(32))/sync.lock")
        let lock = try #require(FileHandle(forUpdatingAtPath: path))
        #expect(flock(lock.fileDescriptor, LOCK_EX) == 0)
        let waiting = try SpawnedProcess(
            CoffretRunner.executable, ["sync"],
            environment: isInAgent ? alice.environment() : alice.environment(["COFFRET_AGENT": "off"]),
            directory: alice.workPath, error: .inherited)
        // In an agent a process of its own syncs, with the key that the agent had when it began.
        var worker: pid_t = 0
        try Waiting.until("it waits for its turn") {
            worker = Self.processes(withOpen: path).first ?? 0
            return worker != 0
        }
        #expect((worker != waiting.processID) == isInAgent)
        kill(worker, SIGSTOP)
        try lock.close()
        try alice.succeed("share", "rm", "Home", String(people.account(of: bob).prefix(8)), "--yes")
        try alice.makeNote("Under a new key", "--vault", "Home")
        kill(worker, SIGCONT)
        #expect(waiting.wait().code == 0)
        #expect(try people.titles(alice).contains("Under a new key"))
    }

    /// Other processes that have a file open.
    private static func processes(withOpen path: String) -> [pid_t] {
        let files = FileManager.default
        let all = ((try? files.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { pid_t($0) }
        return all.filter { process in
            let folder = "/proc/\(process)/fd"
            let names = process == getpid() ? [] : (try? files.contentsOfDirectory(atPath: folder)) ?? []
            return names.contains { (try? files.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == path }
        }
    }

    @Test("who leaves keeps a copy to read; somebody else opens the next key")
    func leaving() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        try people.share("writer", with: bob)
        try bob.makeNote("Said before leaving", "--vault", "Home")
        try bob.succeed("share", "leave", "Home", "--yes")
        #expect(try bob.run("new", "--vault", "Home", input: "x").exitCode == 77)
        #expect(try people.titles(bob).contains("Said before leaving"))
        try people.sync(alice)
        try alice.makeNote("Under a new key", "--vault", "Home")
        try people.sync(alice)
        let members = try alice.json("share", "members", "Home")
        #expect((members["members"] as? [[String: Any]])?.count == 1 && members["epoch"] as? Int == 3, "\(members)")
        #expect(try people.titles(alice).contains("Said before leaving"))
        #expect(try alice.run("share", "leave", "Home", "--yes").exitCode == 77, "the last owner stays")
        // Added anew, his copy goes on.
        try alice.succeed("share", "add", "Home", people.account(of: bob), "--role", "writer", "--yes")
        try bob.succeed("share", "accept", "Home")
        try bob.makeNote("Back again", "--vault", "Home")
        try people.sync(bob, alice, bob)
        for person in [alice, bob] {
            let list = try people.titles(person)
            #expect(list.contains("Under a new key") && list.contains("Back again"), "\(list)")
        }
    }

    @Test("R70: a member's lost device is closed, and the vault goes on under a new key for all others")
    func lostDevice() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        let (phone, tablet) = (try CoffretRunner(), try CoffretRunner())
        try people.share("writer", with: bob)
        try DevicePairing.pair(phone, bob, people.server, name: "Phone")
        try DevicePairing.pair(tablet, alice, people.server, name: "Tablet")
        try people.sync(phone, tablet)
        try phone.makeNote("From the phone", "--vault", "Home")
        try tablet.makeNote("From the tablet", "--vault", "Home")
        try people.sync(phone, tablet, alice, bob)
        #expect(try people.titles(phone).contains("Before sharing"))
        try bob.succeed("device", "revoke", "Phone", "--yes")
        #expect(try phone.run("sync").exitCode == 77)
        try alice.makeNote("After the loss", "--vault", "Home")
        try people.sync(alice, tablet, bob)
        for person in [alice, tablet, bob] {
            let list = try people.titles(person)
            for title in ["From the phone", "From the tablet", "After the loss"] {
                #expect(list.contains(title), "\(list)")
            }
            try person.succeed("fsck")
        }
    }

    @Test("a vault that is declined is nobody's matter any more; strangers know nothing of it")
    func declined() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("share", "add", "Home", people.account(of: bob), "--yes")
        try bob.succeed("share", "decline", "Home")
        #expect(try bob.succeed("share", "requests").contains("No vault waits"))
        try people.sync(alice)
        #expect((try alice.json("share", "members", "Home")["members"] as? [[String: Any]])?.count == 1)
        let stranger = try alice.run("share", "add", "Home", String(repeating: "a", count: 64), "--yes")
        #expect(
            stranger.exitCode == 66 && stranger.errorText.contains("account.person.unknown"), "\(stranger.errorText)")
    }
}
