// Every command for items, with what it prints and what it leaves.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Items on the command line")
struct ItemCommandTests {
    @Test("a note from a pipe is listed, shown to the byte, changed, compared and brought back")
    func noteLife() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        let first = "# Tomatoes, second sowing\n\nSow in May.\nWater them. ünïcödé 日本\n"
        let id = try runner.makeNote(first, "-t", "garden/beds")
        #expect(try runner.succeed("show", id) == first)
        #expect(try runner.succeed("ls").contains("Tomatoes, second sowing"))
        #expect(try runner.succeed("ls", "--tag", "garden").contains("#garden/beds"))
        #expect(try runner.succeed("ls", "--tag", "kitchen") == "")

        let second = first.replacing("May", with: "June")
        #expect(try runner.succeed("edit", "tomatoes", input: second).hasPrefix("Saved"))
        #expect(try runner.succeed("edit", "tomatoes", input: second).hasPrefix("Nothing was changed"))
        let versions = try #require(try runner.json("history", id)["versions"] as? [[String: Any]])
        #expect(versions.count == 2)
        let version = try #require(versions[1]["version"] as? String)
        #expect(try runner.succeed("show", id, "--at", String(version.prefix(12))) == first)
        let difference = try runner.succeed("diff", id)
        #expect(difference.contains("-Sow in May.\n+Sow in June.\n"))
        #expect(try runner.succeed("restore", id, "--at", version).hasPrefix("Restored"))
        #expect(try runner.succeed("show", id) == first)
        #expect(try runner.json("history", id)["versions"].map { ($0 as? [Any])?.count } == 3)
    }

    @Test("the trash: away from lists, brought back, and removed for good only with a yes")
    func trash() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        let id = try runner.makeNote("# Copper spray\n")
        try runner.succeed("rm", "copper")
        #expect(try runner.succeed("ls") == "")
        #expect(try runner.succeed("ls", "--trash").contains("Copper spray"))
        try runner.succeed("restore", "copper")
        #expect(try runner.succeed("ls").contains("Copper spray"))
        #expect(try runner.run("rm", "--permanently", id).exitCode == 83)
        #expect(try runner.succeed("ls").contains("Copper spray"))
        try runner.succeed("rm", "--permanently", id, "--yes")
        #expect(try runner.succeed("ls", "--all") == "")
        #expect(try runner.run("show", id).exitCode == 66)
    }

    @Test("flags and tags of several items change in one step each")
    func flagsAndTags() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        let first = try runner.makeNote("# One\n")
        let second = try runner.makeNote("# Two\n\n#garden/beds\n")
        try runner.succeed("pin", first, second)
        #expect(try runner.json("ls", "--pinned")["total"] as? Int == 2)
        try runner.succeed("unpin", first)
        #expect(try runner.json("ls", "--pinned")["total"] as? Int == 1)
        try runner.succeed("archive", first)
        #expect(try runner.json("ls")["total"] as? Int == 1)
        try runner.succeed("unarchive", first)
        try runner.succeed("tag", "add", first, "#garden", "kitchen")
        try runner.succeed("tag", "rename", "garden", "yard")
        #expect(try runner.succeed("show", second).contains("#yard/beds"))
        #expect(try runner.succeed("ls", "--tag", "yard").split(separator: "\n").count == 2)
        try runner.succeed("tag", "rm", first, "kitchen")
        #expect(try runner.run("tag", "rm", first, "kitchen").exitCode == 80)
        #expect(try runner.run("tag", "rename", "nowhere", "else").exitCode == 66)
        #expect(try runner.run("tag", "add", first, "").exitCode == 80)
        let tags = try runner.succeed("tag", "ls")
        #expect(tags.contains("#yard") && tags.contains("#yard/beds"))
    }

    @Test("a login keeps its secrets masked until they are asked for")
    func login() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        try runner.succeed("new", "--type", "login", "GitHub", "--set", "username=ada", "--generate", "password")
        let password = try runner.succeed("show", "github", "--field", "password").dropLast()
        #expect(password.count == 20)
        for arguments in [
            ["show", "github"], ["show", "github", "--json"], ["ls", "--json"], ["history", "github"],
        ] {
            #expect(try !runner.run(arguments, input: []).text.contains(password))
        }
        #expect(try runner.succeed("show", "github", "--reveal").contains(password))
        try runner.succeed("edit", "github", "--secret", "password", input: "typed by a script\n")
        #expect(try runner.succeed("show", "github", "--field", "Password") == "typed by a script\n")
        try runner.succeed("edit", "github", "--set", "url=https://github.com", "--set", "note to self=hello")
        #expect(try runner.succeed("show", "github").contains("note to self: hello"))
        try runner.succeed("edit", "github", "--remove", "note to self")
        #expect(try runner.run("show", "github", "--field", "note to self").exitCode == 66)
        // A secret in an argument would be visible to every process; it is refused.
        let refused = try runner.run("edit", "github", "--set", "password=visible")
        #expect(refused.exitCode == 64)
        #expect(refused.errorText.contains("--secret password"))
    }

    @Test("what comes through a pipe is the text of a new item, whatever its type and fields; nothing on it is no text")
    func pipedText() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        func text(_ name: String) throws -> String? { try runner.json("show", name)["text"] as? String }
        try runner.succeed("new", "--set", "username=ada", input: "# Router\nblinks red\n")
        #expect(try text("Router") == "# Router\nblinks red\n")
        #expect(try runner.succeed("show", "Router", "--field", "username") == "ada\n")
        try runner.succeed(
            "new", "--type", "login", "Bank", "--set", "username=ada", "--secret", "password",
            input: "correct horse\nfirst line\nsecond line\n")
        #expect(try text("Bank") == "first line\nsecond line\n")
        #expect(try runner.succeed("show", "Bank", "--field", "password") == "correct horse\n")
        try runner.succeed("new", "--type", "login", "Shop", "--generate", "password")
        #expect(try text("Shop") == "")
        let refused = try runner.run("new", "--set", "username=ada", input: "")
        #expect(refused.exitCode == 80)
        #expect(refused.errorText.contains("TITLE"))
    }

    @Test("a field that is near to a standard one is made, and the standard one is named")
    func nearField() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        try runner.succeed("new", "--type", "login", "Bank", "--set", "username=ada")
        let slip = try runner.run("edit", "Bank", "--secret", "passwrod", input: "hunter2\n")
        #expect(slip.exitCode == 0 && slip.errorText.contains("did you mean password?"))
        #expect(try runner.succeed("show", "Bank", "--field", "passwrod") == "hunter2\n")
        #expect(try runner.run("edit", "Bank", "--set", "door=blue").errorText.isEmpty)
    }

    @Test("one-time codes follow RFC 6238, and counted ones move on")
    func oneTimeCodes() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        try runner.succeed("new", "--type", "login", "Bank", "--secret", "totp", input: "JBSWY3DPEHPK3PXP\n")
        let code = try runner.succeed("otp", "bank")
        #expect(code.dropLast().count == 6 && code.dropLast().allSatisfy(\.isNumber))
        // RFC 4226, appendix D: the first codes of the test secret.
        let address = "otpauth://hotp/Test?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&counter=0\n"
        try runner.succeed("new", "--type", "login", "Counted", "--secret", "totp", input: address)
        #expect(try runner.succeed("otp", "counted") == "755224\n")
        #expect(try runner.succeed("otp", "counted") == "287082\n")
        try runner.makeNote("# Plain\n")
        #expect(try runner.run("otp", "plain").exitCode == 66)
    }

    @Test("an ambiguous name is an error that lists the candidates, on the screen and in JSON (R34)")
    func ambiguous() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        let first = try runner.makeNote("# git at work\n")
        let second = try runner.makeNote("# git at home\n")
        let result = try runner.run("show", "git")
        #expect(result.exitCode == 65)
        #expect(result.text == "")
        #expect(result.errorText.contains(first.prefix(4)) && result.errorText.contains(second.prefix(4)))
        #expect(result.errorText.contains("coffret: hint: use the id, or a longer name"))
        let object = try #require(
            try JSONSerialization.jsonObject(
                with: try Data(runner.run("rm", "git", "--json").standardError)) as? [String: [String: Any]])
        #expect((object["error"]?["candidates"] as? [Any])?.count == 2)
        #expect(object["error"]?["exitCode"] as? Int == 65)
        #expect(try runner.json("ls")["total"] as? Int == 2)
        #expect(try runner.succeed("show", "git at work") == "# git at work\n")
    }

    @Test("the log and the whole vault as it was")
    func past() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        try runner.makeNote("# First\n")
        let log = try runner.succeed("log", "--json")
        let entries = try #require(try JSONSerialization.jsonObject(with: Data(log.utf8)) as? [[String: Any]])
        let version = try #require(entries.first?["version"] as? String)
        try runner.makeNote("# Second\n")
        try runner.succeed("rm", "first")
        #expect(try runner.succeed("ls").contains("Second"))
        let then = try runner.succeed("ls", "--at", version)
        #expect(then.contains("First") && !then.contains("Second"))
        #expect(try runner.run("ls", "--at", "3 May 1990").exitCode == 66)
        #expect(try runner.run("ls", "--at", "soon").exitCode == 64)
    }

    @Test("text that is not UTF-8 is refused, and nothing is saved")
    func invalidText() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        #expect(try runner.run(["new"], input: [0x23, 0x20, 0xFF, 0xFE, 0x0A]).exitCode == 80)
        #expect(try runner.run("new", input: " \n").exitCode == 80)
        #expect(try runner.succeed("ls") == "")
    }

    @Test("control characters of a note reach a pipe unchanged, and a terminal disarmed")
    func terminalSafety() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        let text = "# Evil \u{1B}]0;title\u{7}\n\n\u{1B}[31mred\n"
        let id = try runner.makeNote(text)
        #expect(try runner.succeed("show", id) == text)
        let terminal = try runner.onTerminal("show", id)
        try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen.contains("^[[31mred"))
        #expect(!terminal.screen.contains("\u{1B}[31m") && !terminal.screen.contains("\u{1B}]0;"))
    }

    @Test("a list cut short says how long it is; pinned items come first in it; the status counts all")
    func pages() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.keepUnlocked()
        for title in ["One", "Two", "Three", "Four"] { _ = try runner.makeNote("# \(title)\n") }
        try runner.succeed("new", "--type", "login", "GitHub", "--set", "username=ada")
        try runner.succeed("pin", "Two")
        try runner.succeed("archive", "Three")
        try runner.succeed("rm", "Four")
        func titles(_ arguments: String...) throws -> ([String], Int?) {
            let result = try runner.run(arguments + ["--json"], input: [])
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(result.text.utf8)) as? [String: Any])
            let items = try #require(object["items"] as? [[String: Any]])
            return (items.compactMap { $0["title"] as? String }, object["total"] as? Int)
        }
        #expect(try titles("ls") == (["Two", "GitHub", "One"], 3))
        #expect(try titles("ls", "--limit", "2") == (["Two", "GitHub"], 3))
        #expect(try titles("ls", "--limit", "1", "--all", "--sort", "title") == (["Four"], 5))
        #expect(try runner.succeed("ls", "--limit", "1").hasSuffix("1 of 3 items\n"))
        #expect(try runner.succeed("ls", "--trash", "--limit", "1").contains("Four"))
        let status = try runner.json("status")
        #expect(status["itemCount"] as? Int == 4 && status["trashedCount"] as? Int == 1)
        #expect(try runner.succeed("status").contains("3 notes, 1 login, 1 in the trash"))
    }
}
