// What the real program lets into a store's keyring. The one thing to keep true: nothing that was accepted shuts the
// person out, and nothing that somebody else made is taken for the person's own.

import CoffretTestSupport
import Foundation
import Testing

@Suite("What enters a keyring")
struct KeyringGuardTests {
    @Test(
        "keys 2, R93: a name or an address that a reader refuses is refused when it is typed, and the store still opens"
    )
    func names() throws {
        let runner = try CoffretRunner()
        try runner.succeed("init", "--effort", "light")
        let keyring = URL(fileURLWithPath: runner.storePath + "/store.keyring")
        let before = try Data(contentsOf: keyring)
        let long = String(repeating: "n", count: 1_025)
        let named = try runner.run("recovery", "add", "--print-only", "--name", long)
        #expect(named.exitCode == 80 && named.errorText.contains("keys.name.too-long"), "\(named.errorText)")
        let joined = try runner.run("server", "join", "https://127.0.0.1/" + long + long)
        #expect(joined.exitCode != 0 && joined.errorText.contains("http.address-invalid"), "\(joined.errorText)")
        #expect(try Data(contentsOf: keyring) == before)
        try runner.succeed("recovery", "add", "--print-only", "--name", String(repeating: "n", count: 1_024))
        #expect(try runner.succeed("recovery", "ls", "--json").contains(String(repeating: "n", count: 1_024)))
    }

    @Test("keys 2: a damaged keyring is said to have one before it, and putting that back opens the store")
    func previous() throws {
        let runner = try CoffretRunner()
        try runner.succeed("init", "--effort", "light")
        try runner.succeed("ls")
        try runner.succeed("recovery", "add", "--print-only", "--name", "safe")
        let keyring = runner.storePath + "/store.keyring"
        try Data(Data(contentsOf: URL(fileURLWithPath: keyring)).dropLast(3)).write(to: URL(fileURLWithPath: keyring))
        let damaged = try runner.run("ls")
        #expect(damaged.errorText.contains("keys.keyring.previous-kept"), "\(damaged.errorText)")
        #expect(damaged.errorText.contains("mv store.keyring.previous store.keyring"))
        try FileManager.default.removeItem(atPath: keyring)
        try FileManager.default.moveItem(atPath: keyring + ".previous", toPath: keyring)
        try runner.succeed("device", "renew")
        try runner.succeed("new", input: "# After all\n")
        #expect(try runner.succeed("ls").contains("After all"))
    }
}
