// A person's word about what a lost device did to the members of a vault, and about what somebody wrote who is a member no more:
// by commands of real programs, for members and for those who have left.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Share review", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct ShareReviewTests {
    private let people: SharingPeople
    private let friend: CoffretRunner
    private let phone: CoffretRunner
    private var alice: CoffretRunner { people.alice }
    private var bob: CoffretRunner { people.bob }

    /// Alice has a phone, and a vault with Bob; somebody else is not in.
    init() throws {
        people = try SharingPeople()
        (friend, phone) = (try CoffretRunner(), try CoffretRunner())
        try people.join(friend)
        try people.alice.succeed("vault", "new", "Home")
        try people.alice.makeNote("Rules\nfirst", "--vault", "Home")
    }

    private func links(_ person: CoffretRunner, _ options: String...) throws -> [[String: Any]] {
        let result = try person.run(["share", "review", "Home"] + options + ["--json"], input: [], environment: [:])
        try #require(result.exitCode == 0, "\(result.errorText)")
        let object = try JSONSerialization.jsonObject(with: Data(result.text.utf8)) as? [String: Any]
        return try #require(object?["links"] as? [[String: Any]])
    }

    private func roles(_ person: CoffretRunner) throws -> Int {
        try #require(try person.json("share", "members", "Home")["members"] as? [[String: Any]]).count
    }

    @Test("whom a lost device let in is out where the person takes the link back; what was seen before is not named")
    func undone() throws {
        try people.share("Home", "writer", with: bob)
        try DevicePairing.pair(phone, alice, people.server, name: "Phone")
        try people.sync(phone, alice, bob)
        // The thief lets a friend in, who writes; Alice hears of it as she revokes the phone.
        try phone.succeed("share", "add", "Home", people.account(of: friend), "--role", "writer", "--yes")
        try friend.succeed("share", "accept", "Home")
        try friend.makeNote("By the friend\nunasked", "--vault", "Home")
        try friend.succeed("sync")
        try alice.succeed("device", "revoke", "Phone", "--yes")
        let waiting = try links(alice)
        #expect(waiting.count == 1 && (waiting[0]["words"] as? String)?.contains("adds") == true, "\(waiting)")
        // Bob hears that a word is missing, and has none to say himself.
        let told = try bob.run("sync")
        #expect(told.errorText.contains("trust.member.unconfirmed"), "\(told.exitCode) \(told.errorText)")
        #expect(try links(bob).isEmpty)
        let asked = try alice.run("share", "review", "Home", "--undo")
        #expect(asked.exitCode != 0 && asked.errorText.contains("cli.confirmation.missing"), "\(asked.errorText)")
        let both = try alice.run("share", "review", "Home", "--undo", "--take", "--yes")
        #expect(both.exitCode == 64, "\(both.errorText)")
        let undone = try alice.json("share", "review", "Home", "--undo", "--yes")
        #expect(undone["decided"] as? Bool == true, "\(undone)")
        // The revocation brought his note before it ended anything: it was seen, and is not named. It states a link that is undone.
        let unseen = try #require(undone["unseen"] as? [[String: Any]])
        #expect(unseen.isEmpty, "\(unseen)")
        #expect(try !alice.succeed("ls", "--vault", "Home").contains("By the friend"))
        #expect(try alice.succeed("share", "rescue", "Home").contains("By the friend"))
        try people.sync(alice, bob, alice)
        for person in [alice, bob] {
            #expect(try roles(person) == 2)
            try person.succeed("fsck")
        }
        #expect(try friend.run("sync").errorText.contains("sharing.member.unknown"))
        #expect(try alice.json("share", "review", "Home", "--undo", "--yes")["decided"] as? Bool == false)
    }

    @Test("links of an owner who has left: an owner of before speaks, and nobody else is asked to")
    func formerOwner() throws {
        try people.share("Home", "owner", with: bob)
        try friend.succeed("contact", "add", people.account(of: bob), "--name", "bob")
        let laptop = try CoffretRunner()
        try DevicePairing.pair(laptop, bob, people.server, name: "Laptop")
        try people.sync(laptop, alice)
        // Bob's laptop lets somebody in; Bob leaves by his other device, and loses the laptop later.
        try laptop.succeed("share", "add", "Home", people.account(of: friend), "--role", "writer", "--yes")
        try friend.succeed("share", "accept", "Home")
        try bob.succeed("sync")
        try bob.succeed("share", "leave", "Home", "--yes")
        try bob.succeed("device", "revoke", "Laptop", "--yes")
        // Alice and the friend learn of both at once.
        let told = try alice.run("sync")
        let name = try people.member(bob)
        #expect(told.errorText.contains("trust.member.unconfirmed"), "\(told.exitCode) \(told.errorText)")
        #expect(told.errorText.contains("--for"), "\(told.errorText)")
        #expect(try links(alice).isEmpty, "they are not hers")
        let waiting = try links(alice, "--for", name)
        #expect(waiting.count >= 1, "\(waiting)")
        // Who was let in by the link has no say about it.
        #expect(try links(friend, "--for", name).isEmpty)
        #expect(try alice.json("share", "review", "Home", "--for", name, "--take", "--yes")["decided"] as? Bool == true)
        try people.sync(alice, friend, alice)
        for person in [alice, friend] {
            #expect(try roles(person) == 2)
            try person.succeed("fsck")
        }
    }

    @Test(
        "share undo takes back words of who has left, by a writer's word; a viewer, a stranger's version and no version are refused"
    )
    func undoing() throws {
        try people.share("Home", "writer", with: bob)
        try people.share("Home", "viewer", with: friend)
        try people.sync(alice, bob, friend)
        try bob.makeNote("By Bob\nunasked", "--vault", "Home")
        try bob.succeed("edit", "Rules", "--vault", "Home", "--title", "Bob's rules")
        try people.sync(bob, alice, friend)
        let log = try alice.list("log", "--vault", "Home")
        let first = try #require(
            log.last { ($0["summary"] as? String)?.contains("By Bob") == true }?["version"] as? String, "\(log)")
        try bob.succeed("share", "leave", "Home", "--yes")
        try people.sync(alice, friend)
        func expectRefused(_ person: CoffretRunner, _ exitCode: Int32, _ code: String, _ arguments: String...) throws {
            let refused = try person.run(["share", "undo"] + arguments, input: [], environment: [:])
            #expect(
                refused.exitCode == exitCode && refused.errorText.contains(code),
                "\(arguments): \(refused.exitCode) \(refused.errorText)")
        }
        try expectRefused(friend, 77, "sharing.role.viewer", "Home", first, "--yes")
        // Who has left has a copy to read, and changes nothing in it.
        try expectRefused(bob, 77, "sharing.role.viewer", "Home", first, "--yes")
        try expectRefused(alice, 66, "core.commit.not-found", "Home", "ffffffffff", "--yes")
        try expectRefused(alice, 64, "cli.usage", "Home")
        try expectRefused(alice, 66, "core.vault.not-found", "Nowhere", first, "--yes")
        try expectRefused(alice, 83, "will be taken back", "Home", first)
        let list = try alice.succeed("ls", "--vault", "Home")
        #expect(list.contains("By Bob"), "nothing was done: \(list)")
        #expect(try alice.json("share", "undo", "Home", first, "--yes")["done"] as? Bool == true)
        try people.sync(alice, friend)
        for person in [alice, friend] {
            let list = try person.succeed("ls", "--vault", "Home")
            #expect(!list.contains("By Bob"), "\(list)")
            try person.succeed("fsck")
        }
    }
}
