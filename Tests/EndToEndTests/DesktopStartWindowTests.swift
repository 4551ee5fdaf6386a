// The window of a computer without a store, under a real X server with a real server behind it. The one thing to keep true: nothing is
// typed that a person does not see on the screen.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

/// `coffret-desktop` where no store is yet.
private final class Newcomer {
    let agent: AgentRunner
    let screen: DesktopScreen
    private let process: SpawnedProcess

    init() throws {
        screen = try DesktopScreen()
        agent = try AgentRunner(makesStore: false)
        try agent.succeed("agent", "start")
        let page = agent.runner.folder.file("page")
        try WindowRunner.makePage(page, "await report({ items: String((await ask(\"item.list\", {})).ok.total) });")
        process = try SpawnedProcess(
            WindowRunner.executable, ["--store", agent.runner.storePath, "--new", "--page", page],
            environment: agent.runner.environment(agent.environment(screen.environment)),
            directory: agent.runner.workPath)
    }

    deinit {
        process.kill(SIGTERM)
        try? agent.stop()
    }

    func typePassphrase() throws {
        try screen.window("^Coffret$")
        try screen.type(CoffretRunner.passphrase)
        try screen.press("Return")
        try screen.type(CoffretRunner.passphrase)
    }

    /// What its page says once the store is open.
    func report() throws -> String {
        var text = ""
        try Waiting.until("the page of the new store reports", seconds: 120) {
            let result = try agent.run("show", "Report")
            text = result.text
            return result.exitCode == 0
        }
        return text
    }
}

@Suite(
    "The first window",
    .enabled(
        if: WindowRunner.isAvailable && ServerRunner.isAvailable,
        "coffret-desktop or coffret-server is not built: WebKitGTK or openssl is missing"),
    .enabled(if: DesktopScreen.isAvailable, "Xvfb, xdotool or dbus is missing"))
struct DesktopStartWindowTests {
    @Test("a first vault is made by its passphrase alone, and the page opens in a process without a network")
    func first() throws {
        let newcomer = try Newcomer()
        try newcomer.typePassphrase()
        try newcomer.screen.press("Return")
        #expect(try newcomer.report().contains(#"{"items":"0"}"#))
        #expect(try newcomer.agent.succeed("vault", "ls").contains("Personal"))
        let memory = try MemoryDump(of: try #require(newcomer.agent.processID))
        #expect(!memory.contains(Array(CoffretRunner.passphrase.utf8)))
    }

    @Test("a backup is put back by its passphrase, which is typed once, and the folder that the person chooses")
    func restored() throws {
        let old = try CoffretRunner()
        try old.makeStore()
        try old.makeNote("# Tomatoes\n\nsown on 14 April\n")
        let backups = old.folder.file("backups")
        try old.succeed("backup", "create", backups)

        let newcomer = try Newcomer()
        let screen = newcomer.screen
        try screen.window("^Coffret$")
        try screen.type(CoffretRunner.passphrase)
        // Its button is the last of the window.
        try screen.press("shift+Tab", "space")
        try screen.window("^The folder of your backups$")
        try screen.type(backups)
        try screen.press("Return")
        _ = try newcomer.report()
        #expect(try newcomer.agent.succeed("show", "Tomatoes").contains("14 April"))
    }

    @Test(
        "a second device joins by the picture (QR code) that its window shows",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/zbarimg"), "needs zbarimg"))
    func picture() throws {
        let server = try ServerRunner()
        defer { server.stop() }
        let old = try CoffretRunner()
        try old.makeStore()
        try old.makeNote("# Tomatoes\n\nsown on 14 April\n")
        try old.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try old.succeed("vault", "sync", "Personal")

        let newcomer = try Newcomer()
        let screen = newcomer.screen
        try newcomer.typePassphrase()
        // Past the button of a first vault.
        try screen.press("Tab", "Tab")
        try screen.type(server.url)
        try screen.press("Tab", "Tab")
        try screen.type(server.fingerprint)
        try screen.press("Tab", "space", "Tab", "space")
        var text = ""
        let file = newcomer.agent.runner.folder.file("screen.ppm")
        try Waiting.until("a scanner reads the picture", seconds: 120, everyMilliseconds: 500) {
            try Data(try screen.picture().portable).write(to: URL(fileURLWithPath: file))
            text = try ProcessRunner.run("/usr/bin/zbarimg", ["--quiet", "--raw", file]).text
            return text.hasPrefix("COFFRET-PAIR:1:")
        }
        let approver = try DevicePairing.terminal(
            old, "device", "approve", text.trimmingCharacters(in: .whitespacesAndNewlines))
        try approver.wait(for: "one of your devices now")
        _ = try newcomer.report()
        // The agent brings the vault by itself.
        try Waiting.until("the note of the other device is here", seconds: 120) {
            try newcomer.agent.run("show", "Tomatoes").text.contains("14 April")
        }
    }

    @Test(
        "a device is let in by a window: the code of the new one is typed there, and the other code is read from it",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/xclip"), "needs xclip"))
    func letIn() throws {
        let server = try ServerRunner()
        defer { server.stop() }
        let new = try CoffretRunner()
        let terminal = try DevicePairing.terminal(
            new, "device", "pair", server.url, "--fingerprint", server.fingerprint, "--name", "tower", "--effort",
            "light")
        try terminal.wait(for: "approve ")
        let number = try #require(terminal.wait(for: "\n").firstMatch(of: /[0-9a-f]{32}/))
        let window = try WindowRunner(
            """
            const answer = await ask("device.approve", { pairing: "\(number.0)" });
            await report({ name: answer.ok?.name ?? JSON.stringify(answer) });
            """
        ) { runner in
            try runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        }
        let screen = window.screen
        try screen.window("^To let a device in$")
        try screen.type(CoffretRunner.passphrase)
        try screen.press("Return")
        try screen.window("^To let the device in$")
        try screen.type(try DevicePairing.code(terminal.wait(for: "Type the code that")))
        try screen.press("Return")
        try screen.window("^Let a device in$")
        var second = ""
        try Waiting.until("the code can be copied out of the window", everyMilliseconds: 500) {
            try screen.press("Tab", "ctrl+a", "ctrl+c")
            second = try ProcessRunner.run(
                "/usr/bin/xclip", ["-selection", "clipboard", "-o"], environment: screen.environment
            ).text
            return second.contains(/^\d{3} ?\d{3}$/)
        }
        terminal.type(second + "\n")
        try terminal.wait(for: "one of yours now")
        #expect(try window.report() == ["name": "tower"])
        try screen.waitUntilNoWindow("^Let a device in$")
    }
}
