// The desktop's prompt, under a real X server with real keys: by its protocol, and as the agent uses it.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

/// `coffret-prompt`, spoken to as the agent does.
private final class Prompt {
    let process: SpawnedProcess

    static let executable = CoffretRunner.executable + "-prompt"
    static let isAvailable = FileManager.default.isExecutableFile(atPath: executable)

    /// - Parameter screen: nil for none.
    init(_ screen: DesktopScreen?, _ more: [String: String] = [:]) throws {
        var environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"]
        if let screen { environment.merge(screen.environment) { $1 } }
        process = try SpawnedProcess(
            Self.executable, [], environment: environment.merging(more) { $1 }, directory: "/", input: .pipe,
            output: .pipe, error: .null)
    }

    deinit { process.kill() }

    func send(_ line: String) { process.write(Array((line + "\n").utf8)) }

    /// Sends a command, and gives the lines of its answer.
    func ask(_ line: String) -> [String] {
        send(line)
        return answer()
    }

    func answer() -> [String] {
        var lines: [String] = []
        while let line = process.readOutputLine() {
            lines.append(line)
            if line.hasPrefix("OK") || line.hasPrefix("ERR") { break }
        }
        return lines
    }
}

@Suite(
    "The desktop's prompt",
    .enabled(if: Prompt.isAvailable, "coffret-prompt is not built: GTK 4 is missing"),
    .enabled(if: DesktopScreen.isAvailable, "Xvfb, xdotool or dbus is missing"))
struct DesktopPromptTests {
    @Test("a passphrase with any character is typed, taken back, and given whole; a second question has its own")
    func secret() throws {
        let screen = try DesktopScreen()
        let prompt = try Prompt(screen)
        #expect(prompt.answer().last?.hasPrefix("OK") == true)
        for line in [
            "OPTION ttyname=/dev/pts/1", "OPTION lc-ctype=C.UTF-8", "OPTION grab", "SETTITLE Coffret asks",
            "SETDESC One%0ATwo 100%25", "SETPROMPT Passphrase:", "SETERROR That is not it.", "SETTIMEOUT 60",
        ] {
            #expect(prompt.ask(line) == ["OK"], "\(line)")
        }
        prompt.send("GETPIN")
        try screen.window("Coffret asks")
        try screen.type("la%goon x")
        try screen.press("BackSpace", "udiaeresis", "Return")
        #expect(prompt.answer() == ["D la%25goon ü", "OK"])
        try screen.waitUntilNoWindow("Coffret asks")
        prompt.send("GETPIN")
        try screen.window("Coffret asks")
        try screen.press("Return")
        #expect(prompt.answer() == ["OK"])
        #expect(prompt.ask("BYE") == ["OK"])
        #expect(prompt.process.wait().code == 0)
    }

    @Test("R154: Escape, the end of time and the end of the client are no answer; a client answers nothing")
    func refusals() throws {
        let screen = try DesktopScreen()
        let prompt = try Prompt(screen)
        _ = prompt.answer()
        _ = prompt.ask("SETTITLE Coffret asks")
        prompt.send("GETPIN")
        // What a client sends meanwhile waits, and types nothing.
        prompt.send("D secret")
        try screen.window("Coffret asks")
        try screen.type("half a pass")
        try screen.press("Escape")
        #expect(prompt.answer().last?.hasPrefix("ERR 83886179") == true)
        #expect(prompt.answer().last?.hasPrefix("ERR 83886355") == true)
        _ = prompt.ask("SETTIMEOUT 1")
        prompt.send("GETPIN")
        #expect(prompt.answer().last?.hasPrefix("ERR 83886142") == true)
        _ = prompt.ask("SETTIMEOUT 0")
        prompt.send("GETPIN")
        try screen.window("Coffret asks")
        prompt.process.closeInput()
        #expect(prompt.process.wait().code == 0)
        try screen.waitUntilNoWindow("Coffret asks")
    }

    @Test("a question is answered by yes, no and cancel; a message by one button")
    func confirming() throws {
        let screen = try DesktopScreen()
        let prompt = try Prompt(screen)
        _ = prompt.answer()
        for line in ["SETTITLE Coffret asks", "SETDESC Send it?", "SETOK _Send", "SETNOTOK _Refuse"] {
            _ = prompt.ask(line)
        }
        // Cancel, Refuse, Send.
        for (tabs, answer) in [(0, "ERR 83886179"), (1, "ERR 83886194"), (2, "OK")] {
            prompt.send("CONFIRM")
            try screen.window("Coffret asks")
            try screen.press("Home")
            for _ in 0..<tabs { try screen.press("Tab") }
            try screen.press("space")
            #expect(prompt.answer().last?.hasPrefix(answer) == true, "\(tabs)")
            try screen.waitUntilNoWindow("Coffret asks")
        }
        prompt.send("MESSAGE")
        try screen.window("Coffret asks")
        try screen.press("space")
        #expect(prompt.answer() == ["OK"])
    }

    @Test("R154: without a screen the prompt says so by its end, before any question")
    func noScreen() throws {
        let prompt = try Prompt(nil)
        #expect(prompt.answer().isEmpty)
        #expect(prompt.process.wait().code == 69)
    }

    @Test("R138: variables that put code of others into the prompt are taken away")
    func environment() throws {
        let screen = try DesktopScreen()
        let prompt = try Prompt(
            screen,
            ["LD_LIBRARY_PATH": "/nonexistent", "GTK_MODULES": "evil", "GTK_DEBUG": "interactive"])
        _ = prompt.answer()
        _ = prompt.ask("SETTITLE Coffret asks")
        prompt.send("GETPIN")
        try screen.window("Coffret asks")
        let maps = try ProcessFiles.lines("/proc/\(prompt.process.processID)/maps")
        #expect(!maps.contains { $0.contains("evil") })
        // The inspector of GTK is a window of its own.
        #expect(try screen.xdotool("search", "--name", "Inspector").text.isEmpty)
        try screen.press("Escape")
        #expect(prompt.answer().last?.hasPrefix("ERR") == true)
    }

    @Test("what was typed is nowhere in the prompt's memory once it is handed over")
    func memory() throws {
        let screen = try DesktopScreen()
        let prompt = try Prompt(screen)
        _ = prompt.answer()
        _ = prompt.ask("SETTITLE Coffret asks")
        prompt.send("GETPIN")
        try screen.window("Coffret asks")
        let canary = "canary4711lagoon"
        try screen.type(canary)
        let before = try MemoryDump(of: prompt.process.processID)
        #expect(before.contains(Array(canary.utf8)), "the search finds what stands in the entry")
        try screen.press("Return")
        #expect(prompt.answer() == ["D \(canary)", "OK"])
        try screen.waitUntilNoWindow("Coffret asks")
        let after = try MemoryDump(of: prompt.process.processID)
        for text in [canary, String(canary.dropFirst(4))] {
            #expect(!after.contains(Array(text.utf8)))
            #expect(!after.contains(Array(text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })))
        }
    }
}

@Suite(
    "The agent asks at the desktop",
    .enabled(if: Prompt.isAvailable, "coffret-prompt is not built: GTK 4 is missing"),
    .enabled(if: AgentRunner.isAvailable, "coffret-agent is not built"),
    .enabled(if: DesktopScreen.isAvailable, "Xvfb, xdotool or dbus is missing"))
struct DesktopAskingTests {
    @Test("R32: R154: the agent asks by the prompt, says again what was wrong, and the store is open")
    func asking() throws {
        let screen = try DesktopScreen()
        let agent = try AgentRunner(environment: screen.environment)
        defer { try? agent.stop() }
        try agent.runner.makeNote("# Tomatoes\n")
        try agent.succeed("agent", "start")
        let client = try SpawnedProcess(
            "/usr/bin/setsid", ["-w", CoffretRunner.executable, "ls"],
            environment: agent.runner.environment(agent.environment()), output: .pipe, error: .pipe)
        for passphrase in ["wrong passphrase", CoffretRunner.passphrase] {
            try screen.window("^Coffret$", of: client)
            try screen.type(passphrase)
            try screen.press("Return")
            try screen.waitUntilNoWindow("^Coffret$")
        }
        #expect(String(decoding: client.readOutputToEnd(), as: UTF8.self).contains("Tomatoes"))
        #expect(client.wait().code == 0)
        #expect(try agent.succeed("agent", "status").contains("unlocked"))
    }
}
