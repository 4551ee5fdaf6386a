// Two stores, real processes, the real server: join, pair, list, revoke.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite("Several devices", .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
struct DeviceTests {
    @Test("R26, R28: a device joins with two codes, is listed on both, is revoked, and the server knows it")
    func life() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        // Told before anything is asked: no passphrase is to be had here.
        for command in [["sync"], ["vault", "sync", "Personal"], ["device", "approve"], ["device", "revoke", "x"]] {
            let early = try first.run(command, input: [], environment: ["COFFRET_PASSPHRASE_FILE": nil])
            #expect(early.exitCode == 66 && early.errorText.contains("no server"), "\(command): \(early.errorText)")
        }
        let untrusted = try first.run("server", "join", server.url)
        #expect(untrusted.exitCode == 83, "nobody vouches for the certificate: \(untrusted.errorText)")
        #expect(untrusted.errorText.contains("fingerprint"))
        let wrong = try first.run(
            "server", "join", server.url, "--fingerprint", String(repeating: "0", count: 64))
        #expect(wrong.exitCode == 84, "\(wrong.errorText)")
        // Nor is a passphrase asked for before an address that is none.
        let unasked = try first.run(
            ["server", "join", "localhost:1"], input: [], environment: ["COFFRET_PASSPHRASE_FILE": nil])
        #expect(unasked.exitCode == 64, "\(unasked.errorText)")
        for (address, exitCode, words) in [
            ("localhost:1", Int32(64), "it begins with https://"),
            ("http://192.0.2.1", 64, "https:// instead of http://"),
            ("https://localhost:1", 90, "is the address right, and does it run?"),
            (server.url.replacing("https:", with: "http:"), 74, "One with TLS is at https://, not http://"),
        ] {
            let mistake = try first.run("server", "join", address)
            #expect(mistake.exitCode == exitCode && mistake.errorText.contains(words), "\(mistake.errorText)")
        }
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        #expect(try first.run("server", "join", server.url).exitCode == 82)
        #expect(try first.succeed("server", "status").contains("answers"))
        try DevicePairing.pair(second, first, server, name: "Second")
        for runner in [first, second] {
            let list = try runner.succeed("device", "ls")
            #expect(list.contains("Second") && list.split(separator: "\n").count == 2, "\(list)")
        }
        #expect(try second.run("device", "pair", server.url).exitCode == 82, "a store is there")
        try first.succeed("device", "revoke", "Second", "--yes")
        #expect(try first.succeed("device", "ls").contains("revoked"))
        let status = try second.succeed("server", "status", "--json")
        #expect(status.contains("\"reachable\":false"), "\(status)")
        let again = try first.run("device", "revoke", "Second", "--yes")
        #expect(again.exitCode == 66 && again.errorText.contains("\"Second\" is revoked already"), "\(again.errorText)")
        #expect(try first.run("device", "approve", String(repeating: "0", count: 32)).exitCode == 66)
        #expect(try first.run("device", "approve", "nonsense").exitCode == 64)
        try first.succeed("server", "leave", "--yes")
        #expect(try first.run("device", "approve", String(repeating: "0", count: 32)).exitCode == 66)
    }

    @Test("another key is refused before anything is sent, both are shown, and who knows of it joins anew (R23)")
    func changedKey() throws {
        let server = try ServerRunner()
        let first = try CoffretRunner()
        try first.makeStore()
        let old = server.fingerprint
        try first.succeed("server", "join", server.url, "--fingerprint", old)
        try first.makeNote("Before")
        try first.succeed("vault", "sync", "Personal")
        try server.changeKey()
        try first.makeNote("After")
        let refused = try first.run("sync")
        #expect(refused.exitCode == 84 && refused.errorText.contains("http.pin-differs"), "\(refused.errorText)")
        let status = try first.json("server", "status")
        #expect(status["problem"] as? String == "http.pin-differs")
        #expect(status["fingerprint"] as? String == old)
        #expect(status["shownFingerprint"] as? String == server.fingerprint)
        try first.succeed("server", "leave", "--yes")
        let mistaken = try first.run("server", "join", server.url, "--fingerprint", old)
        #expect(mistaken.exitCode == 84 && mistaken.errorText.contains("shown now"), "\(mistaken.errorText)")
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        #expect(try first.succeed("sync").contains("sent 1 change"))
    }

    @Test("a name that is taken gets a number at pairing and by a sheet; where two are meant, who is meant is asked")
    func names() throws {
        let server = try ServerRunner()
        let (first, second, third, fourth) = (
            try CoffretRunner(), try CoffretRunner(), try CoffretRunner(), try CoffretRunner()
        )
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Sofa")
        try DevicePairing.pair(third, first, server, name: "sofa")
        for runner in [first, third] { #expect(try runner.succeed("device", "ls").contains("sofa 2")) }
        // So it is with a sheet, and with the name of one.
        let made = try first.json("recovery", "add", "--paper", "--name", "Sofa", "--print-only")
        #expect(try first.succeed("device", "ls").contains("Sofa 3"))
        let sheet = fourth.folder.file("home/sheet")
        try Data(try #require(made["sheet"] as? String).utf8).write(to: URL(fileURLWithPath: sheet))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: sheet)
        let back = try fourth.succeed(
            "device", "recover", server.url, "--fingerprint", server.fingerprint, "--sheet", sheet, "--effort", "light",
            "--name", "SOFA")
        #expect(back.contains("Another one had the name \"SOFA\", so this is \"SOFA 4\"."), "\(back)")
        for runner in [first, fourth] { #expect(try runner.succeed("device", "ls").contains(" SOFA 4 ")) }
        // A name may be the beginning of another one's id.
        let list = try first.succeed("device", "ls").split(separator: "\n")
        let digits = String(try #require(list.last { $0.contains(" SOFA 4 ") }).prefix(8))
        try first.succeed("device", "rename", "sofa 2", digits)
        for command in [["revoke", digits, "--yes"], ["rename", digits, "Bed"]] {
            let unclear = try first.run(["device"] + command, input: [])
            #expect(
                unclear.exitCode == 65 && unclear.errorText.contains("\"\(digits)\" names 2 devices"),
                "\(unclear.errorText)")
            #expect(unclear.errorText.matches(of: /[0-9a-f]{4,}  .*, added/).count == 2, "\(unclear.errorText)")
        }
        #expect(try first.succeed("device", "revoke", "SOFA 4", "--yes").contains("Revoked \"SOFA 4\""))
        #expect(try first.succeed("device", "rename", digits, "Bed").contains("is called \"Bed\" now"))
    }

    @Test("a device is renamed on one device and called so on all; without a server here alone")
    func rename() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        let own = try #require(try first.succeed("device", "ls").split(separator: " ").first).description
        try first.succeed("device", "rename", own, "Desk")
        #expect(try first.succeed("device", "ls").contains("Desk"))
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, first, server, name: "Second")
        #expect(try second.succeed("device", "ls").contains("Desk"), "what was renamed before the server was there")
        #expect(try first.succeed("device", "rename", "Second", "Sofa").contains("\"Second\" is called \"Sofa\" now"))
        let seen = try second.run("device", "ls")
        #expect(seen.text.contains("Sofa") && !seen.text.contains("Second"), "\(seen.text)")
        #expect(seen.errorText.contains("Renamed device: \"Sofa\""), "\(seen.errorText)")
        #expect(seen.text.contains("added"), "the time of joining stays")
        // Mistakes change nothing.
        #expect(try second.run("device", "rename", "Sofa", "Desk").exitCode == 82)
        #expect(try second.run("device", "rename", "Nowhere", "Bed").exitCode == 66)
        for name in ["", " ", "two\nlines", String(repeating: "x", count: 201)] {
            #expect(try second.run("device", "rename", "Sofa", name).exitCode == 64, "\(name)")
        }
        try first.succeed("device", "revoke", "Sofa", "--yes")
        #expect(try first.run("device", "rename", "Sofa", "Ghost").exitCode == 66)
        #expect(try second.run("device", "rename", "Desk", "Mine").exitCode != 0)
        #expect(try first.succeed("device", "ls").contains("Desk"))
    }

    @Test(
        "what changes the keys while a person compares codes, or thinks about a yes, ends neither pairing nor revocation"
    )
    func changesMeanwhile() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try first.makeNote("Tomatoes")
        try first.succeed("vault", "sync", "Personal")
        let requester = try DevicePairing.terminal(
            second, "device", "pair", server.url, "--fingerprint", server.fingerprint, "--name", "Second", "--effort",
            "light")
        try requester.wait(for: "approve ")
        let id = try #require(requester.wait(for: "\n").firstMatch(of: /[0-9a-f]{32}/))
        let approver = try DevicePairing.terminal(first, "device", "approve", String(id.0))
        let code = try DevicePairing.code(requester.wait(for: "Type the code that"))
        try approver.wait(for: "Type the code that Second shows: ")
        try first.succeed("vault", "new", "Meanwhile")
        try first.succeed("vault", "sync", "Meanwhile")
        approver.type(code + "\n")
        requester.type(try DevicePairing.code(approver.wait(for: "on the other device")) + "\n")
        try requester.wait(for: "one of yours now")
        try approver.wait(for: "one of your devices now")
        #expect(try approver.finish() == 0)
        try second.succeed("sync")
        #expect(try second.succeed("ls", "--vault", "Personal").contains("Tomatoes"))
        for runner in [first, second] { #expect(try runner.succeed("vault", "ls").contains("Meanwhile")) }

        let revoking = try DevicePairing.terminal(first, "device", "revoke", "Second")
        try revoking.wait(for: "Revoke it?")
        try first.succeed("vault", "new", "Later")
        revoking.type("y\n")
        try revoking.wait(for: "2 synced vaults got a new key")
        #expect(try revoking.finish() == 0)
        #expect(try first.succeed("vault", "ls").contains("Later"))
        try first.succeed("sync")
    }

    @Test("a command that finds another one at the account's chain says so, and waits")
    func anotherAtWork() throws {
        let server = try ServerRunner()
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        let own = try #require(try runner.succeed("device", "ls").split(separator: " ").first).description
        let lock = unsafe open(runner.storePath + "/store.keyring.account", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        let renaming = try DevicePairing.terminal(runner, "device", "rename", own, "Desk")
        try renaming.wait(
            for: "Another coffret on this device is changing the account;")
        close(lock)
        try renaming.wait(for: "is called \"Desk\" now")
        #expect(try renaming.finish() == 0)
    }

    @Test("R26: a wrong code ends it on both sides, neither has anything of the other; the third pauses pairing")
    func wrongCode() throws {
        let server = try ServerRunner()
        let (first, second) = (try CoffretRunner(), try CoffretRunner())
        try first.makeStore()
        try first.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        for _ in 1...3 {
            let requester = try DevicePairing.terminal(
                second, "device", "pair", server.url, "--fingerprint", server.fingerprint, "--effort", "light")
            try requester.wait(for: "approve ")
            let id = try #require(requester.wait(for: "\n").firstMatch(of: /[0-9a-f]{32}/))
            let approver = try DevicePairing.terminal(first, "device", "approve", String(id.0))
            let shown = try DevicePairing.code(requester.wait(for: "Type the code that"))
            try approver.wait(for: "shows: ")
            // Half a code is no guess, and asked for again.
            approver.type(shown.prefix(3) + "\n")
            try approver.wait(for: "A code has 6 digits.")
            try approver.wait(for: "shows: ")
            approver.type((shown.hasPrefix("0") ? "1" : "0") + shown.dropFirst() + "\n")
            // Each on a line of its own, also where somebody was asked meanwhile.
            try approver.wait(for: "\r\ncoffret: error: the codes do not match")
            try requester.wait(for: "\r\ncoffret: error: the other device gave up")
        }
        #expect(try first.succeed("device", "ls").split(separator: "\n").count == 1)
        #expect(!FileManager.default.fileExists(atPath: second.storePath + "/store.keyring"))
        let pair = try second.run("device", "pair", server.url, "--fingerprint", server.fingerprint)
        #expect(pair.exitCode == 85 && pair.errorText.contains("paused"), "\(pair.errorText)")
        #expect(pair.errorText.contains("the next try is possible in"), "\(pair.errorText)")
        let approve = try first.run("device", "approve", String(repeating: "0", count: 32))
        #expect(approve.exitCode == 85 && approve.errorText.contains("paused"), "\(approve.errorText)")
    }
}
