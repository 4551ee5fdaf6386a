// Two devices of one person that came to know people without hearing of each other.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Account vaults of two devices",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct AccountVaultTests {
    @Test("two devices that made an account vault each read both, and come to the same contacts")
    func two() throws {
        let server = try ServerRunner()
        let (alice, phone, bob, carol) = (
            try CoffretRunner(), try CoffretRunner(), try CoffretRunner(), try CoffretRunner()
        )
        var accounts: [String] = []
        for person in [alice, bob, carol] {
            try person.makeStore()
            try person.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
            accounts.append(try #require(try person.json("server", "status")["account"] as? String))
        }
        try DevicePairing.pair(phone, alice, server, name: "Phone")
        func loseBoxes() throws {
            let result = try ProcessRunner.run(
                "/usr/bin/sqlite3", ["-cmd", ".timeout 10000", server.databasePath, "DELETE FROM mail"])
            try #require(result.exitCode == 0, "\(result.errorText)")
        }
        try alice.succeed("contact", "add", accounts[1], "--name", "Bob")
        // The keys of that vault do not come to the phone, which makes another one.
        try loseBoxes()
        try phone.succeed("contact", "add", accounts[2], "--name", "Carol")
        #expect(try phone.list("contact", "ls").count == 1)
        try alice.succeed("sync")
        func names(_ device: CoffretRunner) throws -> [String] {
            try device.list("contact", "ls").compactMap { $0["contact"] as? String }
        }
        #expect(try names(alice) == ["Bob", "Carol"])
        // A new vault brings all keys to the phone again.
        try alice.succeed("vault", "new", "Other")
        try alice.succeed("vault", "sync", "Other")
        try phone.succeed("sync")
        #expect(try names(phone) == ["Bob", "Carol"])
        try alice.succeed("contact", "rename", "Carol", "Karla")
        try phone.succeed("contact", "rename", "Bob", "Robert")
        for device in [alice, phone, alice] { try device.succeed("sync") }
        for device in [alice, phone] { #expect(try names(device) == ["Karla", "Robert"]) }
        try alice.succeed("contact", "rm", "Karla", "--yes")
        try phone.succeed("sync")
        #expect(try names(phone) == ["Robert"])
    }
}
