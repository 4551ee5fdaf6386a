// People who become contacts, with stores of their own and the real server: links, codes that they compare, and who lies.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Contacts", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct ContactCommandTests {
    /// People at one server, who have names for others.
    private struct People {
        let server: ServerRunner
        let alice, bob: CoffretRunner

        init() throws {
            server = try ServerRunner()
            (alice, bob) = (try CoffretRunner(), try CoffretRunner())
            try join(alice, "Alice")
            try join(bob, "Bob")
        }

        func join(_ person: CoffretRunner, _ name: String) throws {
            try person.makeStore()
            try person.keepUnlocked()
            try person.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
            try person.succeed("contact", "me", "--name", name)
        }

        func account(of person: CoffretRunner) throws -> String {
            try #require(try person.json("contact", "me")["account"] as? String)
        }

        func link(of person: CoffretRunner, _ options: String...) throws -> String {
            try #require(try person.object(["contact", "invite"] + options)["link"] as? String)
        }

        /// Somebody with a link asks, and its maker accepts.
        func meet(_ maker: CoffretRunner, _ other: CoffretRunner) throws {
            try other.succeed("contact", "add", link(of: maker))
            let waiting = try maker.list("contact", "requests")
            let id = try #require(waiting.first?["id"] as? String)
            try maker.succeed("contact", "requests", "accept", id)
        }
    }

    @Test("two people meet by a link, compare codes, and share a vault by name")
    func meeting() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        let added = try bob.json("contact", "add", people.link(of: alice))
        let contact = try #require(added["contact"] as? [String: Any])
        #expect(contact["contact"] as? String == "Alice" && contact["state"] as? String == "linked", "\(added)")
        #expect(contact["awaited"] as? Bool == true && added["asked"] as? Bool == true, "\(added)")
        // What a stranger sees of it is nothing.
        #expect(try alice.list("contact", "ls").isEmpty)
        let waiting = try alice.succeed("contact", "requests")
        #expect(waiting.contains("\"Bob\" has your link"), "\(waiting)")
        let id = try #require(try alice.list("contact", "requests").first?["id"] as? String)
        try alice.succeed("contact", "requests", "accept", String(id.prefix(8)), "--name", "bob")
        #expect(try alice.list("contact", "requests").isEmpty)
        // The answer takes the mark away.
        #expect(try bob.json("contact", "show", "alice")["awaited"] as? Bool == false)

        let here = try alice.json("contact", "verify", "bob")
        let there = try bob.json("contact", "verify", "Alice")
        let shown = try #require(there["contact"] as? [String: Any])
        #expect(here["ownCode"] as? String == shown["personCode"] as? String)
        #expect(here["stateCode"] as? String == there["stateCode"] as? String && here["stateCode"] != nil)
        try alice.succeed("contact", "verify", "bob", "--yes")
        let list = try alice.list("contact", "ls")
        #expect(list.first?["state"] as? String == "compared" && list.count == 1, "\(list)")
        #expect(list.first?["claimedName"] as? String == "Bob", "\(list)")

        try alice.succeed("vault", "new", "Home")
        try alice.makeNote("For both\nwords", "--vault", "Home")
        let shared = try alice.succeed("share", "add", "Home", "bob", "--role", "writer", "--yes")
        #expect(shared.contains("bob"), "\(shared)")
        let requests = try bob.succeed("share", "requests")
        #expect(requests.contains("\"Home\"") && requests.contains("from Alice"), "\(requests)")
        try bob.succeed("share", "accept", "Home")
        #expect(try bob.succeed("ls", "--vault", "Home").contains("For both"))
        let members = try alice.succeed("share", "members", "Home")
        #expect(members.contains("\"bob\""), "\(members)")
    }

    @Test("the account vault is listed nowhere, comes to a second device, and survives a restored backup")
    func accountVault() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        try people.meet(alice, bob)
        for command in [["vault", "ls"], ["ls"], ["share", "ls"], ["status"], ["sync"], ["sync", "--status"]] {
            let text = try alice.run(command, input: [], environment: [:]).text
            #expect(!text.contains("people") && !text.contains("Bob"), "\(command): \(text)")
        }
        let names = try alice.list("vault", "ls").map { $0["name"] as? String }
        #expect(names == ["Personal"], "\(names)")
        #expect(try alice.run("ls", "--vault", "/people").exitCode == 66)
        try alice.succeed("backup", "create", "usb")
        #expect(try !alice.succeed("backup", "verify", "usb").contains("people"))
        try alice.succeed("fsck")

        let phone = try CoffretRunner()
        try DevicePairing.pair(phone, alice, people.server, name: "Phone")
        try phone.succeed("sync")
        #expect(try phone.list("contact", "ls").first?["contact"] as? String == "Bob")
        try phone.succeed("contact", "rename", "Bob", "Robert")
        try alice.succeed("sync")
        #expect(try alice.list("contact", "ls").first?["contact"] as? String == "Robert")
        try alice.succeed("contact", "rm", "Robert", "--yes")
        try phone.succeed("sync")
        #expect(try phone.list("contact", "ls").isEmpty)

        let restored = alice.workPath + "/restored"
        try alice.succeed("backup", "restore", "usb", "--store", restored)
        let list = try alice.list("contact", "ls", "--store", restored)
        #expect(list.first?["contact"] as? String == "Bob" && list.first?["state"] as? String == "linked", "\(list)")
        #expect(try alice.list("vault", "ls", "--store", restored).count == 1)

        // It is listed nowhere, and verified all the same.
        let shown = try alice.list("vault", "ls").compactMap { ($0["id"] as? String)?.prefix(32) }
        let folder = alice.storePath + "/vaults/"
        let folders = try FileManager.default.contentsOfDirectory(atPath: folder)
        let hidden = try #require(folders.first { !shown.contains($0[...]) })
        let journal = folder + hidden + "/journal/"
        let segment = try #require(FileManager.default.contentsOfDirectory(atPath: journal).sorted().first)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: journal + segment))
        bytes[5_000] ^= 1
        try bytes.write(to: URL(fileURLWithPath: journal + segment))
        let check = try alice.run("fsck")
        #expect(check.exitCode == 71 && check.errorText.contains("found in \"contacts\""), "\(check.errorText)")
        // No other vault of the store is damaged.
        #expect(try alice.run("fsck", "--vault", "Personal").exitCode == 0)
    }

    @Test("R77 stolenInvitation: a link that was used first by somebody else says so, and one code is for one person")
    func stolenInvitation() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        let mallory = try CoffretRunner()
        try people.join(mallory, "Bob")
        let link = try people.link(of: alice)
        try mallory.succeed("contact", "add", link)
        let late = try bob.run("contact", "add", link)
        #expect(late.exitCode == 91 && late.errorText.contains("sharing.contact.code-used"), "\(late.errorText)")
        #expect(try bob.list("contact", "ls").isEmpty)
        // Alice sees a claimed name in quotes and a code to compare, which is not Bob's.
        let waiting = try #require(try alice.list("contact", "requests").first)
        #expect(waiting["claimedName"] as? String == "Bob")
        #expect(waiting["personCode"] as? String != (try bob.json("contact", "me"))["personCode"] as? String)
        let id = try #require(waiting["id"] as? String)
        try alice.succeed("contact", "requests", "refuse", id)
        #expect(try alice.list("contact", "requests").isEmpty)
        // What was refused opens nothing.
        try alice.succeed("vault", "new", "Home")
        let account = try people.account(of: alice)
        try mallory.succeed("vault", "new", "Trap")
        let added = try mallory.run("share", "add", "Trap", account, "--yes")
        #expect(added.exitCode != 0 && added.errorText.contains("sync.server.refused"), "\(added.errorText)")
    }

    @Test("R78: a stranger writes to nobody and adds nobody, whether the account is there or not")
    func strangers() throws {
        let people = try People()
        let mallory = try CoffretRunner()
        try people.join(mallory, "Mallory")
        try mallory.succeed("vault", "new", "Trap")
        let refused = try mallory.run("share", "add", "Trap", people.account(of: people.alice), "--yes")
        #expect(
            refused.exitCode != 0 && refused.errorText.contains("sync.server.refused"), "\(refused.errorText)")
        let nobody = try mallory.run("share", "add", "Trap", String(repeating: "5", count: 64), "--yes")
        #expect(nobody.exitCode == 66, "\(nobody.errorText)")
        #expect(try people.alice.list("share", "requests", "--all").isEmpty)
        #expect(try people.alice.list("contact", "requests").isEmpty)
        // Who was blocked is a stranger again.
        try people.meet(people.alice, people.bob)
        try people.alice.succeed("contact", "block", "Bob")
        try people.bob.succeed("vault", "new", "Other")
        let blocked = try people.bob.run("share", "add", "Other", "Alice", "--yes")
        #expect(blocked.errorText.contains("sync.server.refused"), "\(blocked.errorText)")
        let back = try people.alice.run("share", "add", "Personal", "Bob", "--yes")
        #expect(back.exitCode == 91 && back.errorText.contains("sharing.contact.unverified"), "\(back.errorText)")
        try people.alice.succeed("contact", "block", "Bob", "--undo")
        try people.bob.succeed("share", "add", "Other", "Alice", "--yes")
    }

    @Test("R79 lookAlikes: names that can be taken for a contact's are marked, and stop what would merge two people")
    func lookAlikes() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        try people.meet(alice, bob)
        // Cyrillic o, a direction mark, and a name of the same letters.
        for (claimed, petname) in [("B\u{43E}b", "stranger 1"), ("Bob", "stranger 2"), ("b0b", "stranger 3")] {
            let stranger = try CoffretRunner()
            try people.join(stranger, claimed)
            try stranger.succeed("contact", "add", people.link(of: alice))
            let waiting = try #require(try alice.list("contact", "requests").first)
            #expect((waiting["looksLike"] as? [String])?.first == "Bob", "\(waiting)")
            #expect(waiting["problem"] as? String == "sharing.contact.changed", "\(waiting)")
            let id = try #require(waiting["id"] as? String)
            let stopped = try alice.run("contact", "requests", "accept", id)
            #expect(
                stopped.exitCode == 91 && stopped.errorText.contains("sharing.contact.changed"), "\(stopped.errorText)")
            let kept = try alice.run("contact", "requests", "accept", id, "--name", petname)
            #expect(kept.exitCode == 0 && kept.errorText.contains("sharing.contact.lookalike"), "\(kept.errorText)")
            let link = try people.link(of: stranger)
            let again = try alice.run("contact", "add", link, "--name", "Bob")
            #expect(again.exitCode == 82 && again.errorText.contains("sharing.contact.exists"), "\(again.errorText)")
        }
        let list = try alice.succeed("contact", "ls")
        #expect(list.contains("stranger 1 (\"B\u{43E}b\")") && list.contains("looks like Bob"), "\(list)")
        let invalid = try bob.run("contact", "me", "--name", "Bo\u{202E}b")
        #expect(
            invalid.exitCode == 64 && invalid.errorText.contains("sharing.contact.name-invalid"), "\(invalid.errorText)"
        )
        let long = try bob.run("contact", "me", "--name", String(repeating: "b", count: 65))
        #expect(long.exitCode == 64, "\(long.errorText)")
    }

    @Test("a guest joins by what a link says, keeps contacts of its own, and reads what is shared with it")
    func guests() throws {
        let people = try People()
        let alice = people.alice
        let link = try people.link(of: alice, "--guest")
        let guest = try CoffretRunner()
        try guest.makeStore()
        let lost = try guest.run("contact", "add", link)
        #expect(lost.exitCode == 66 && lost.errorText.contains("account.not-joined"), "\(lost.errorText)")
        let line = try #require(lost.errorText.split(separator: "\n").first { $0.contains("server join") })
        let words = line.split(separator: " ").map(String.init)
        let start = try #require(words.firstIndex(of: "server"))
        #expect(words.contains("--invitation") && words.contains(people.server.url), "\(line)")
        _ = try guest.run(Array(words[start...]), input: [], environment: [:])
        try guest.succeed("contact", "me", "--name", "Gast")
        try guest.succeed("contact", "add", link)
        let id = try #require(try alice.list("contact", "requests").first?["id"] as? String)
        try alice.succeed("contact", "requests", "accept", id)
        try alice.succeed("share", "add", "Personal", "Gast", "--yes")
        try guest.succeed("share", "accept", "Personal", "--name", "Alice's")
        let phone = try CoffretRunner()
        try DevicePairing.pair(phone, guest, people.server, name: "Phone")
        try phone.succeed("sync")
        #expect(try phone.list("contact", "ls").first?["contact"] as? String == "Alice")
    }

    @Test("an address is enough to share, a short one is not; codes that differ stop it; a scan meets")
    func states() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        let me = try bob.json("contact", "me")
        let address = try #require(me["address"] as? String)
        let mark = try #require(address.firstIndex(of: "#"))
        let short = String(address[...mark]) + address[mark...].dropFirst().filter { $0 != "-" }.prefix(8)
        try alice.succeed("contact", "add", short)
        let refused = try alice.run("share", "add", "Personal", "Bob", "--yes")
        #expect(
            refused.exitCode == 91 && refused.errorText.contains("sharing.contact.unverified"), "\(refused.errorText)")
        try alice.succeed("contact", "add", address)
        #expect(try alice.list("contact", "ls").first?["state"] as? String == "linked")
        let again = try alice.run("contact", "add", address)
        #expect(again.exitCode == 82 && again.errorText.contains("sharing.contact.exists"), "\(again.errorText)")
        // Another account's card is not Bob's.
        let own = try #require(try alice.json("contact", "me")["link"] as? String)
        let wrong = try alice.run("contact", "verify", "Bob", "--scan", input: own + "\n")
        #expect(wrong.exitCode == 91 && wrong.errorText.contains("sharing.contact.changed"), "\(wrong.errorText)")
        #expect(try alice.run("share", "add", "Personal", "Bob", "--yes").exitCode == 91)
        let link = try #require(me["link"] as? String)
        let met = try alice.run("contact", "verify", "Bob", "--scan", input: link.uppercased() + "\n")
        #expect(met.exitCode == 0, "\(met.errorText)")
        #expect(try alice.list("contact", "ls").first?["state"] as? String == "met")
        for (text, code, name) in [
            ("Nobody#000G-40R4-0M30-E209-185G-R38E-1WW1", 64, "sharing.address.invalid"),
            ("coffret-contact:1:abc", 64, "sharing.address.invalid"), ("nobody", 66, "sharing.contact.unknown"),
            ("Nobody#000G-40R4-0M30-E209-185G-R38E-1WW0", 66, "account.person.unknown"),
        ] {
            let failed = try alice.run("contact", "add", text, "--name", "x")
            #expect(failed.exitCode == code && failed.errorText.contains(name), "\(text): \(failed.errorText)")
        }
        #expect(try alice.run("contact", "add", own).exitCode == 64, "that is her own")
    }

    @Test("R19: behind a recovery by sheet nothing more is shared before codes are compared again")
    func recovered() throws {
        let people = try People()
        let (alice, bob) = (people.alice, people.bob)
        let made = try bob.json("recovery", "add", "--paper", "--name", "Safe", "--print-only")
        let sheet = try #require(made["sheet"] as? String)
        try people.meet(alice, bob)
        try alice.succeed("contact", "verify", "Bob", "--yes")
        // She compares again, and it happens meanwhile.
        let comparing = try DevicePairing.terminal(alice, "contact", "verify", "Bob")
        try comparing.wait(for: "Are both person codes equal there?")
        let other = try CoffretRunner()
        _ = FileManager.default.createFile(
            atPath: other.workPath + "/sheet", contents: Data(sheet.utf8), attributes: [.posixPermissions: 0o600])
        try other.succeed(
            "device", "recover", people.server.url, "--fingerprint", people.server.fingerprint, "--sheet", "sheet",
            "--effort", "light", "--revoke-others")
        try other.succeed("sync")
        comparing.type("y\r")
        try comparing.answer("Is the third row equal too?", "y")
        #expect(try comparing.finish() == 91 && comparing.screen.contains("changed while you compared"))
        let shown = try alice.json("contact", "show", "Bob")
        #expect(shown["changed"] as? Bool == true && shown["state"] as? String == "linked", "\(shown)")
        let refused = try alice.run("share", "add", "Personal", "Bob", "--yes")
        #expect(refused.exitCode == 91 && refused.errorText.contains("sharing.contact.changed"), "\(refused.errorText)")
        try alice.succeed("contact", "verify", "Bob", "--yes")
        try alice.succeed("share", "add", "Personal", "Bob", "--yes")
    }
}

extension CoffretRunner {
    func object(_ arguments: [String]) throws -> [String: Any] {
        let text = try object(text: arguments)
        return (try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]) ?? [:]
    }

    private func object(text arguments: [String]) throws -> String {
        let result = try run(arguments + ["--json"], input: [], environment: [:])
        guard result.exitCode == 0 else { throw Failed(text: "\(arguments): \(result.errorText)") }
        return result.text
    }
}
