// What new users met in their first hour, each in the way that they met it.

import CoffretTestSupport
import Foundation
import Testing

@Suite("First hour")
struct FirstHourTests {
    @Test("use 3: tag rm and tag rename change tags, never words, and say when a text was changed")
    func tagsAndWords() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("other\nF# and #dotnet C# code")
        #expect(try runner.run("tag", "rm", "other", "dotnet C").exitCode != 0)
        let removed = try runner.succeed("tag", "rm", "other", "dotnet")
        #expect(removed.contains("Its text was changed where the tag stood."))
        #expect(try runner.succeed("show", "other") == "other\nF# and dotnet C# code")

        try runner.makeNote("more\nuse #hashtag C# .NET here")
        let renamed = try runner.succeed("tag", "rename", "hashtag", "code")
        #expect(renamed.contains("It stood in 1 text, and was changed there."))
        #expect(try runner.succeed("show", "more") == "more\nuse #code C# .NET here")
    }

    /// Starts `coffret` at a terminal, beside an agent that may be there or not.
    private func terminal(_ world: AgentRunner, _ arguments: [String], _ more: [String: String?] = [:]) throws
        -> TerminalProcess
    {
        let environment = world.runner.environment(
            world.environment(["TERM": "xterm-256color", "NO_COLOR": "1"].merging(more) { $1 }))
        return try TerminalProcess(
            CoffretRunner.executable, arguments, environment: environment, directory: world.runner.workPath)
    }

    @Test("init where nobody can type says that a passphrase is missing, and not that a store is locked")
    func nobodyToAsk() throws {
        let runner = try CoffretRunner()
        let refused = try runner.run(["init"], input: [], environment: ["COFFRET_PASSPHRASE_FILE": nil])
        #expect(refused.exitCode == 69, "\(refused.exitCode)")
        #expect(refused.errorText.contains("no terminal to ask for a passphrase at"), "\(refused.errorText)")
        #expect(!refused.errorText.contains("locked"), "\(refused.errorText)")
    }

    @Test("use 4: init keeps the store open, so that nobody is asked for the passphrase again, and says so")
    func openAfterInit() throws {
        guard AgentRunner.isAvailable else { return }
        let world = try AgentRunner(makesStore: false)
        let first = try terminal(world, ["init", "--effort", "light", "--no-recovery"])
        try first.answer("Choose a passphrase: ", CoffretRunner.passphrase)
        try first.answer("Repeat: ", CoffretRunner.passphrase)
        try first.wait(for: "The store stays unlocked for now; coffret lock locks it.")
        #expect(try first.finish() == 0)
        for _ in 0..<2 {
            let next = try terminal(world, ["ls"])
            #expect(try next.finish() == 0)
            #expect(!next.screen.contains("Passphrase"))
        }
        try world.stop()
    }

    @Test("use 4: the first typed passphrase keeps the store open; a file's does not, and it can be switched off")
    func openAfterTyping() throws {
        guard AgentRunner.isAvailable else { return }
        let world = try AgentRunner()
        try world.succeed("ls", environment: ["COFFRET_PASSPHRASE_FILE": world.runner.passphraseFile])
        #expect(world.processID == nil, "a script started an agent")
        let alone = try terminal(world, ["ls"], ["COFFRET_AGENT": "asked"])
        try alone.answer("Passphrase: ", CoffretRunner.passphrase)
        #expect(try alone.finish() == 0)
        #expect(world.processID == nil, "COFFRET_AGENT=asked started an agent")

        let first = try terminal(world, ["ls"])
        try first.answer("Passphrase: ", CoffretRunner.passphrase)
        try first.wait(for: "It locks by itself after 10 min without use")
        #expect(try first.finish() == 0)
        try world.succeed("ls")
        try world.succeed("lock")
        #expect(try world.run("ls").exitCode == 86, "locked has an exit code of its own")

        try world.succeed("agent", "settings", "--opens", "asked")
        try world.stop()
        let later = try terminal(world, ["ls"])
        try later.answer("Passphrase: ", CoffretRunner.passphrase)
        #expect(try later.finish() == 0)
        #expect(world.processID == nil, "the setting was not kept")
    }

    @Test("use 11: what is typed while a key is derived is not shown and answers nothing")
    func typedTooEarly() throws {
        let runner = try CoffretRunner()
        try runner.succeed("init", "--effort", "strong")
        let terminal = try runner.onTerminal("passphrase", "--effort", "light")
        try terminal.wait(for: "Passphrase: ")
        terminal.type(CoffretRunner.passphrase + "\r")
        try terminal.wait(for: "•\r\n")
        usleep(200_000)
        #expect(!terminal.echoes)
        terminal.type("a whole new passphrase\r")
        try terminal.wait(for: "New passphrase: ")
        #expect(!terminal.screen.contains("whole"))
        terminal.type("\u{3}")
        #expect(try terminal.finish() == 130)
        #expect(terminal.echoes)
    }

    @Test("use 17: a wrong passphrase is called so, tries left are said, and a pause is said before it asks")
    func triesLeft() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        for words in [
            "2 tries left before a pause", "1 try left before a pause", "the next try is possible in 5 seconds",
        ] {
            let terminal = try runner.onTerminal("ls")
            try terminal.answer("Passphrase: ", "not this one")
            try terminal.wait(for: "wrong passphrase")
            #expect(try terminal.finish() == 67)
            #expect(terminal.screen.contains(words))
            #expect(!terminal.screen.contains("or recovery key"))
        }
        let paused = try runner.onTerminal("ls")
        #expect(try paused.finish() == 85)
        #expect(!paused.screen.contains("Passphrase: "))
    }

    @Test("use 5: a second vault breaks no command; lists and searches cover all vaults, and items are found in each")
    func severalVaults() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("shopping list")
        try runner.succeed("vault", "new", "Rust")
        try runner.makeNote("borrow checker", "--vault", "Rust")
        let list = try runner.succeed("ls")
        #expect(list.contains("shopping list") && list.contains("borrow checker") && list.contains("Rust"))
        #expect(try runner.succeed("search", "checker").contains("Rust"))
        #expect(try runner.succeed("show", "borrow checker") == "borrow checker")
        try runner.makeNote("third")
        #expect(try runner.succeed("ls", "--vault", "Personal").contains("third"))
        try runner.succeed("vault", "default", "Rust")
        try runner.makeNote("fourth")
        #expect(try runner.succeed("ls", "--vault", "Rust").contains("fourth"))

        let whole = try runner.succeed("fsck")
        #expect(
            whole.contains("in the vault \"Personal\", one of 2") && whole.contains("in the vault \"Rust\", one of 2"))
        let out = try runner.run("export", "out", "--yes")
        #expect(out.exitCode == 0 && out.errorText.contains("Only the vault \"Rust\" is written, one of 2"))

        try runner.makeNote("third", "--vault", "Rust")
        let ambiguous = try runner.run("show", "third")
        #expect(ambiguous.exitCode == 65)
        #expect(ambiguous.errorText.contains("in Personal") && ambiguous.errorText.contains("in Rust"))

        #expect(try runner.run("vault", "rm", "Rust").errorText.contains("3 items and"))
        #expect(try runner.succeed("vault", "rm", "Rust", "--yes").contains("with 3 items"))
        #expect(try runner.succeed("ls").contains("shopping list"))
        #expect(try runner.run("vault", "rm", "Personal", "--yes").exitCode == 64)
        #expect(try runner.succeed("fsck").hasPrefix("Everything is whole: "))
    }

    @Test("use 14: items of one name are told apart by what they are, their tags and when they were changed")
    func candidates() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("find", "--tag", "pages/common")
        try runner.makeNote("find", "--tag", "pages/windows")
        let result = try runner.run("show", "find")
        #expect(result.exitCode == 65)
        #expect(result.errorText.contains("find  #pages/common  changed today"))
        #expect(result.errorText.contains("find  #pages/windows  changed today"))
        #expect(try runner.run("show", "find", "--json").errorText.contains("\"tags\":[\"pages/windows\"]"))
    }

    @Test(
        "use 8: Ctrl-C before a recovery key was confirmed leaves no key, and says so; one that was printed is marked")
    func unconfirmedKeys() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let terminal = try runner.onTerminal("recovery", "add")
        try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
        try terminal.wait(for: "you have it: ")
        terminal.type("\u{3}")
        try terminal.wait(for: "the recovery key on the screen does not count")
        #expect(try terminal.finish() == 130)
        #expect(try runner.succeed("recovery", "ls", "--json") == "[]\n")
        try runner.succeed("recovery", "add", "--print-only")
        #expect(try runner.succeed("recovery", "ls").contains("printed and never asked back"))
        #expect(try runner.succeed("recovery", "ls", "--json").contains("\"confirmed\":false"))
        #expect(try runner.succeed("status").contains("1 of them printed and never asked back"))
    }

    @Test("use 9: a code is not taken for the key of one-time codes, nor a number for a date, where they are typed")
    func checkedFields() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let terminal = try runner.onTerminal("new", "--type", "login")
        try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
        try terminal.answer("Title: ", "GitHub")
        try terminal.answer("Username: ", "ada")
        try terminal.answer("Password (empty makes a strong one): ", "")
        try terminal.answer("Website: ", "")
        try terminal.answer("Key of the one-time code: ", "123456")
        try terminal.wait(for: "That is a code")
        try terminal.answer("Key of the one-time code: ", "JBSWY3DPEHPK3PXP")
        #expect(try terminal.finish() == 0)
        #expect(try runner.run("otp", "GitHub").exitCode == 0)
        let refused = try runner.run("edit", "GitHub", "--secret", "totp", input: "123456\n")
        #expect(refused.exitCode == 80 && refused.errorText.contains("that is a code"))
        let card = try runner.run("new", "--type", "card", "Visa", "--set", "expiry=12")
        #expect(card.exitCode == 80 && card.errorText.contains("05/29"))
        try runner.succeed("new", "--type", "card", "Visa", "--set", "expiry=05/29")
        #expect(try runner.run("new", "--type", "identity", "Ada", "--set", "birthday=12").exitCode == 80)
        try runner.succeed("new", "--type", "identity", "Ada", "--set", "birthday=1815-12-10")
    }

    @Test("use 10: copy returns at once, says that the terminal was sent it, and the terminal is cleared later")
    func copyAtOnce() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.succeed("new", "--type", "login", "GitHub", "--secret", "password", input: "hunter2 hunter2\n")
        // A shell that stays, as it does for a person.
        let terminal = try TerminalProcess(
            "/bin/sh", ["-c", "\(CoffretRunner.executable) copy GitHub --clear-after 3; echo re''turned; sleep 15"],
            environment: runner.environment(["TERM": "xterm-256color", "NO_COLOR": "1"]), directory: runner.workPath)
        try terminal.wait(for: "was sent to the terminal's")
        try terminal.wait(for: "returned")
        #expect(!terminal.screen.contains("]52;c;!"), "it waited for the time to be up")
        try terminal.wait(for: "]52;c;!", seconds: 14)
    }

    @Test("use 13: the log says what was done to each item, files too, and gives titles as JSON")
    func logVerbs() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let id = try runner.makeNote("shopping")
        try runner.succeed("archive", id)
        try Data("x".utf8).write(to: URL(fileURLWithPath: runner.workPath + "/a.txt"))
        try runner.succeed("attach", "add", id, "a.txt")
        try runner.succeed("rm", id)
        let log = try runner.succeed("log")
        for words in [
            "\"shopping\": trashed", "\"shopping\": file +a.txt", "\"shopping\": archived", "\"shopping\": created",
        ] {
            #expect(log.contains(words), "\(words) is not in \(log)")
        }
        #expect(try runner.succeed("log", "--json").contains("\"titles\":[\"\\\"shopping"))
    }

    @Test("use 15: commands and tasks share no names, so each can be reached")
    func helpNames() throws {
        let runner = try CoffretRunner()
        #expect(try runner.succeed("help", "unlock-by-pin").contains("fingerprint"))
        #expect(try runner.succeed("help", "back-up").contains("coffret backup create"))
        #expect(try runner.succeed("help", "backup").contains("coffret backup"))
    }

    @Test("use 2: a passphrase that falls soon is taken only after a question")
    func weakPassphrase() throws {
        let runner = try CoffretRunner()
        let terminal = try runner.onTerminal("init", "--effort", "light", "--no-recovery")
        try terminal.answer("Choose a passphrase: ", "1")
        try terminal.answer("It is weak. Take it all the same? [y/N] ", "")
        try terminal.answer("Choose a passphrase: ", "correct horse battery staple")
        try terminal.answer("It is weak. Take it all the same? [y/N] ", "")
        try terminal.answer("Choose a passphrase: ", CoffretRunner.passphrase)
        try terminal.answer("Repeat: ", CoffretRunner.passphrase)
        #expect(try terminal.finish() == 0)
        #expect(try runner.run("ls").exitCode == 0)
    }

    @Test("use 20: what is longer than the screen goes through the pager of the person's environment")
    func pager() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote((1...100).map { "line \($0)" }.joined(separator: "\n"))
        let terminal = try runner.onTerminal("show", "line 1", environment: ["PAGER": "sed 's/^/paged /' | head -50"])
        try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
        try terminal.wait(for: "paged line 30")
        #expect(try terminal.finish() == 0)
        let plain = try runner.onTerminal("show", "line 1", environment: ["PAGER": "false", "COFFRET_PAGER": "cat"])
        try plain.answer("Passphrase: ", CoffretRunner.passphrase)
        try plain.wait(for: "line 100")
        #expect(try plain.finish() == 0)
    }

    @Test(
        "use 18: shells complete titles, tags and vaults while the store is unlocked, and are never asked for anything")
    func completion() throws {
        guard AgentRunner.isAvailable else { return }
        let world = try AgentRunner()
        try world.unlock()
        try world.succeed("new", "Shopping list", "--tag", "garden/beds", input: "x")
        #expect(try world.succeed("complete-words", "items", "sho") == "Shopping list\n")
        #expect(try world.succeed("complete-words", "tags") == "garden/beds\n")
        #expect(try world.succeed("complete-words", "vaults") == "Personal\n")
        try world.succeed("lock")
        let locked = try terminal(world, ["complete-words", "items"])
        #expect(try locked.finish() == 0)
        #expect(locked.screen == "")
        try world.stop()
        #expect(try world.runner.succeed("completions", "bash").contains("complete-words items"))
    }

    @Test("use 22: the hints of commands that are almost right work")
    func hints() throws {
        let runner = try CoffretRunner()
        #expect(try runner.run("attach", "tomatoes").errorText.contains("coffret attach add tomatoes"))
        #expect(try runner.run("run", "sh", "-c", "exit 7").errorText.contains("coffret run -- COMMAND -c"))
        #expect(try runner.succeed("sync", "--explain").contains("Ask whoever runs the server"))
    }

    @Test("lines break between words at 80 columns, in a note as in what coffret says")
    func wrapping() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("prose\n" + String(repeating: "sentence ", count: 40))
        let terminal = try runner.onTerminal("show", "prose")
        try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
        #expect(try terminal.finish() == 0)
        for line in terminal.screen.split(separator: "\r\n") {
            #expect(
                line.count <= 80
                    && (!line.contains("sent") || line.hasSuffix("sentence") || line.hasSuffix("sentence ")), "\(line)")
        }
    }
}
