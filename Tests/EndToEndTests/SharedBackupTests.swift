// A backup of a vault of several people, restored by somebody who was removed since.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Backups of shared vaults",
    .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct SharedBackupTests {
    @Test(
        "R88: a former member's backup is a copy of his own: it reads what he had, and nothing of it reaches the vault")
    func formerMember() throws {
        let people = try SharingTests.People()
        let (alice, bob) = (people.alice, people.bob)
        try people.share("writer", with: bob)
        try bob.makeNote("By Bob", "--vault", "Home")
        try people.sync(bob, alice)
        try bob.succeed("backup", "create", "usb")
        try alice.succeed("share", "rm", "Home", String(people.account(of: bob).prefix(8)), "--yes")
        try alice.makeNote("After Bob", "--vault", "Home")
        try people.sync(alice)
        let before = try alice.json("share", "members", "Home")

        let copy = bob.folder.file("work/restored")
        try bob.succeed("backup", "restore", "usb", "--store", copy)
        let list = try bob.succeed("ls", "--vault", "Home", "--store", copy)
        #expect(list.contains("Before sharing") && list.contains("By Bob") && !list.contains("After Bob"), "\(list)")
        // An account and a vault of its own, at the same server.
        try bob.succeed(
            "server", "join", people.server.url, "--fingerprint", people.server.fingerprint, "--store", copy)
        try bob.succeed("vault", "sync", "Home", "--store", copy)
        try bob.makeNote("Only in the copy", "--vault", "Home", "--store", copy)
        try bob.succeed("sync", "--store", copy)
        let refused = try bob.run(
            "share", "rm", "Home", String(people.account(of: alice).prefix(8)), "--yes", "--store", copy)
        #expect(refused.exitCode != 0, "\(refused.text)")
        try people.sync(alice)
        let now = try people.titles(alice)
        #expect(now.contains("After Bob") && !now.contains("Only in the copy"), "\(now)")
        let after = try alice.json("share", "members", "Home")
        #expect(after["id"] as? String == before["id"] as? String && after["epoch"] as? Int == before["epoch"] as? Int)
        try alice.succeed("fsck")
        try bob.succeed("fsck", "--store", copy)
    }
}
