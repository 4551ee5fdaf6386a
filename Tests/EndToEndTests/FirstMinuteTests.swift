// What a person meets first: prompts, a recovery key, and what happens when something is mistyped.

import CoffretTestSupport
import Foundation
import Testing

@Suite("First minute")
struct FirstMinuteTests {
    @Test("init asks twice, says how strong the passphrase is, and confirms a recovery key that opens the store")
    func initAndRecover() throws {
        let runner = try CoffretRunner()
        let terminal = try runner.onTerminal("init", "--effort", "light")
        try terminal.answer("Choose a passphrase: ", "first try")
        try terminal.wait(for: "Strength: would take")
        try terminal.answer("It is weak. Take it all the same? [y/N] ", "y")
        try terminal.answer("Repeat: ", "another")
        try terminal.wait(for: "The two differ")
        try terminal.answer("Choose a passphrase: ", CoffretRunner.passphrase)
        try terminal.answer("Repeat: ", CoffretRunner.passphrase)
        try terminal.wait(for: "Vault \"Personal\" is ready.")
        try terminal.answer("[Y/n] ", "")
        let sheet = try terminal.wait(for: "Account ")
        let groups = try #require(Self.groups(in: sheet))
        // A wrong answer first: the person gets another try.
        try terminal.wait(for: "Type the ")
        let numbers = Self.numbers(in: try terminal.wait(for: " group to show that you have it: "))
        #expect(numbers.count == 2)
        terminal.type("0000 1111\r")
        try terminal.wait(for: "That is not what is written there.")
        try terminal.wait(for: "you have it: ")
        terminal.type(numbers.map { groups[$0 - 1].lowercased() }.joined(separator: " ") + "\r")
        try terminal.wait(for: "Recovery key confirmed.")
        #expect(try terminal.finish() == 0)
        #expect(!terminal.screen.contains(CoffretRunner.passphrase), "a passphrase was shown while it was typed")
        #expect(terminal.screen.contains("▀") || terminal.screen.contains("libqrencode4"))

        let test = try runner.onTerminal("recovery", "test")
        try test.answer("Recovery key:", groups.joined(separator: " "))
        try test.wait(for: "opens the store")
        #expect(try test.finish() == 0)

        let change = try runner.onTerminal("passphrase", "--recovery", "--effort", "light")
        try change.answer("Recovery key:", groups.joined(separator: "-"))
        try change.answer("New passphrase: ", "mantle crayon onyx fig lagoon")
        try change.answer("Repeat: ", "mantle crayon onyx fig lagoon")
        try change.wait(for: "The passphrase is changed.")
        #expect(try change.finish() == 0)
        #expect(try runner.run("status").exitCode == 67)
        try runner.setPassphrase("mantle crayon onyx fig lagoon")
        #expect(try runner.run("status").exitCode == 0)
    }

    /// The 14 groups of four characters on the sheet.
    static func groups(in screen: String) -> [String]? {
        let groups = screen.split(whereSeparator: { " \r\n".contains($0) }).map(String.init).filter { word in
            word.count == 4 && word.allSatisfy { $0.isNumber || $0.isUppercase }
        }
        return groups.count == 14 ? groups : nil
    }

    static func numbers(in question: String) -> [Int] {
        question.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
    }

    @Test("a recovery key that was not confirmed is taken away again")
    func unconfirmedKey() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let terminal = try runner.onTerminal("recovery", "add")
        try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
        for _ in 0..<3 { try terminal.answer("you have it: ", "0000 0000") }
        #expect(try terminal.finish() == 83)
        #expect(try runner.succeed("recovery", "ls", "--json") == "[]\n")
    }

    @Test("a wrong passphrase has a code of its own, and nothing is shown of it")
    func wrongPassphrase() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let terminal = try runner.onTerminal("ls")
        try terminal.answer("Passphrase: ", "not the passphrase")
        try terminal.wait(for: "wrong passphrase")
        #expect(try terminal.finish() == 67)
        #expect(!terminal.screen.contains("not the"))
        #expect(terminal.screen.contains("••••"))
        #expect(terminal.screen.contains("[keys.unlock-failed]"))
    }

    @Test(
        "Ctrl-C, Ctrl-D and signals at the prompt leave the terminal as it was", arguments: ["\u{3}", "\u{4}", "TERM"])
    func interruptedPrompt(how: String) throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let terminal = try runner.onTerminal("ls")
        try terminal.wait(for: "Passphrase: ")
        terminal.type("half a pass")
        try terminal.wait(for: "•••••••••••")
        #expect(!terminal.echoes)
        if how == "TERM" {
            kill(terminal.processID, SIGTERM)
            #expect(try terminal.finish() == 128 + SIGTERM)
        } else {
            terminal.type("\u{15}" + how)
            #expect(try terminal.finish() == 130)
        }
        #expect(terminal.echoes)
    }

    @Test("backspace and Ctrl-U correct what was typed, in whole characters")
    func corrections() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let terminal = try runner.onTerminal("ls")
        try terminal.wait(for: "Passphrase: ")
        terminal.type("wrong\u{15}\(CoffretRunner.passphrase)é日\u{7F}\u{7F}\r")
        #expect(try terminal.finish() == 0)
    }

    @Test("called alone, coffret says how to begin, and later shows what was done last")
    func alone() throws {
        let runner = try CoffretRunner()
        #expect(try runner.succeed().contains("coffret init"))
        try runner.makeStore()
        #expect(try runner.succeed().contains("The vault is empty."))
        try runner.makeNote("# Tomatoes\n")
        #expect(try runner.succeed().contains("Tomatoes"))
    }
}
