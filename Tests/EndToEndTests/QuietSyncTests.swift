// Vaults of which nothing is new, with the real programs: one request asks for all of them, and nothing new is missed.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Quiet vaults", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"),
    .enabled(if: Faketime.isAvailable, Faketime.missing))
struct QuietSyncTests {
    private func cost(
        of person: CoffretRunner, _ server: ServerRunner, later hours: Int = 0
    ) throws -> [String: Int] {
        try server.requests { try person.succeed("sync", environment: RecoveryPeople.later(hours)) }
    }

    /// Syncs until nothing is left to do: own words, and links that were due, are news once more.
    private func settle(_ people: SharingPeople) throws {
        for _ in 0..<3 { try people.sync(people.alice, people.bob) }
    }

    /// Two people with a vault, who have synced all.
    private func sharing() throws -> SharingPeople {
        let people = try SharingPeople(areKeptUnlocked: false)
        try people.alice.succeed("vault", "new", "One")
        try people.alice.makeNote("First\nwords", "--vault", "One")
        try people.share("One", "writer", with: people.bob)
        try settle(people)
        return people
    }

    @Test("the file chains of a vault that is lost is brought again by a sync, though nothing is new at the server")
    func lostChains() throws {
        let people = try sharing()
        let alice = people.alice
        let id = try #require(try alice.list("share", "ls").first?["id"] as? String)
        try FileManager.default.removeItem(atPath: "\(alice.storePath)/vaults/\(id.prefix(32))/chains")
        #expect(try alice.run("ls", "--vault", "One").errorText.contains("core.vault.chains-behind"))
        try people.sync(alice)
        #expect(try alice.succeed("ls", "--vault", "One").contains("First"))
    }

    @Test("requests of a sync without news do not grow with the vaults, and news is not missed")
    func counts() throws {
        let people = try sharing()
        let (alice, bob) = (people.alice, people.bob)
        let few = try cost(of: alice, people.server)
        #expect(few["heads.list"] == 1, "\(few)")
        for route in ["zones.head", "zones.changes", "acks.read", "acks.write", "zones.push"] {
            #expect(few[route] == nil, "\(route): \(few)")
        }
        for vault in ["Two", "Three", "Four"] {
            try alice.succeed("vault", "new", vault)
            try alice.makeNote("In \(vault)\nwords", "--vault", vault)
            try people.share(vault, "writer", with: bob)
        }
        try settle(people)
        let many = try cost(of: alice, people.server)
        #expect(many == few)
        // News from there, in one of them.
        try bob.makeNote("By Bob\nnew", "--vault", "Three")
        try people.sync(bob)
        let one = try cost(of: alice, people.server)
        #expect(one["zones.head"] == 1, "\(one)")
        #expect(try alice.succeed("ls", "--vault", "Three").contains("By Bob"))
        // And from here.
        try settle(people)
        try alice.makeNote("By Alice\nnew", "--vault", "Two")
        try people.sync(alice, bob)
        #expect(try bob.succeed("ls", "--vault", "Two").contains("By Alice"))
        // Whoever is removed is no member any more, whatever was quiet.
        try alice.succeed("share", "rm", "Four", people.member(bob), "--yes")
        #expect(try bob.run("sync").exitCode != 0)
        // After an hour everything is looked at again, and a word is left.
        try people.sync(alice, alice)
        let late = try cost(of: alice, people.server, later: 1)
        #expect(late["zones.head"] == 4 && late["acks.write"] == 4, "\(late)")
    }

    @Test("a record of a quiet vault that was damaged, or is of another place, makes the next sync look at everything")
    func damaged() throws {
        let people = try SharingPeople(areKeptUnlocked: false)
        let alice = people.alice
        try alice.succeed("vault", "sync", "Personal")
        for _ in 0..<3 { try alice.succeed("sync") }
        #expect(try cost(of: alice, people.server)["zones.head"] == nil)
        let folder = URL(fileURLWithPath: alice.storePath).appendingPathComponent("vaults")
        let vaults = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let records = vaults.map { $0.appendingPathComponent("rest") }.filter {
            FileManager.default.fileExists(atPath: $0.path)
        }
        #expect(!records.isEmpty)
        for record in records {
            var bytes = try Data(contentsOf: record)
            bytes[bytes.count / 2] ^= 1
            try bytes.write(to: record)
        }
        #expect(try cost(of: alice, people.server)["zones.head"] == records.count)
    }
}
