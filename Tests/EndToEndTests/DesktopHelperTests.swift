// The item in the tray, the shortcut, and the window that finds and copies, on a bus and a screen of the test.

import CoffretTestSupport
import Foundation
import Testing

private enum HelperPrograms {
    static let areBuilt = [AgentRunner.agentExecutable, CoffretRunner.executable + "-helper"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }
    static let hasQuick = FileManager.default.isExecutableFile(atPath: CoffretRunner.executable + "-quick")
    static let hasPython = (try? ProcessRunner.run("/usr/bin/python3", ["-c", "import dbus, gi"]))?.exitCode == 0
    static let hasClipboard = FileManager.default.isExecutableFile(atPath: "/usr/bin/xclip")
}

@Suite(
    "Helper", .serialized,
    .enabled(
        if: HelperPrograms.areBuilt && PrivateBus.isAvailable, "needs coffret-agent, coffret-helper and dbus-daemon"))
struct DesktopHelperTests {
    @Test(
        "R155: the tray opens, finds, locks and unlocks; the portal's shortcut finds; nothing of the store is shown",
        .enabled(if: HelperPrograms.hasPython, "needs python3-dbus and python3-gi"))
    func tray() throws {
        let bus = try PrivateBus()
        let agent = try AgentRunner(environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        try #require(try agent.unlock().exitCode == 0)
        defer { _ = try? agent.stop() }
        try agent.succeed("new", input: "# Garden\n")
        // Beside a `coffret` that writes down how it was started, and locks.
        let folder = agent.runner.folder.file("programs")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: CoffretRunner.executable + "-helper", toPath: folder + "/coffret-helper")
        let script = """
            #!/bin/sh
            echo "$*" >>\(folder)/started
            [ "$1" != lock ] || exec \(CoffretRunner.executable) "$@"
            """
        try script.write(toFile: folder + "/coffret", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder + "/coffret")
        let result = try ProcessRunner.run(
            "/usr/bin/python3",
            [
                SharedData.packageRoot.appendingPathComponent("Tests/Interop/desktop_helper.py").path,
                folder + "/coffret-helper", agent.runner.storePath, folder,
            ], environment: agent.runner.environment(agent.environment()), timeoutSeconds: 400)
        #expect(result.exitCode == 0, "\(result.text.suffix(1500))\n\(result.errorText.suffix(2000))")
        #expect(result.text.contains("all held") && result.text.contains("held: R155"))
    }

    @Test(
        "it starts with the desktop while it is switched on, and ends once it is switched off; it says whether it runs")
    func autostart() throws {
        let bus = try PrivateBus()
        let agent = try AgentRunner(environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        func status(_ more: [String: String?] = [:]) throws -> String {
            try agent.succeed("helper", "status", environment: more)
        }
        #expect(try status().contains("It is off"))
        #expect(try agent.succeed("helper", "on").contains("It is in the tray"))
        let file = agent.runner.folder.file("home/.config/autostart/coffret-helper.desktop")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(
            text.contains("Exec=\"\(CoffretRunner.executable)-helper\" \"--store\" \"\(agent.runner.storePath)\""),
            "\(text)")
        #expect(try status() == "It runs, and starts with the desktop: \(file)\n")
        #expect(try agent.succeed("helper", "status", "--json").contains("\"isRunning\":true"))
        #expect(try agent.succeed("helper", "on").contains("It is in the tray"), "one that runs stays")
        let nowhere: [String: String?] = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"]
        #expect(try status(nowhere).contains("It does not run now: there is no bus of a desktop here."))
        let other = try PrivateBus()
        #expect(
            try status(["DBUS_SESSION_BUS_ADDRESS": other.address])
                .hasSuffix("\nIt does not run now: coffret helper on\n"))
        let alone = try agent.succeed("helper", "on", environment: nowhere)
        #expect(alone.contains("It does not run now: there is no bus of a desktop here."), "\(alone)")
        try agent.succeed("helper", "off")
        #expect(!FileManager.default.fileExists(atPath: file))
        try Waiting.until("the helper has ended") { try status().contains("It is off") }
        #expect(try !agent.succeed("helper", "status", "--json").contains("\"isRunning\":true"))
    }

    @Test(
        "R155: the small window asks to unlock, finds with each key, copies and closes, and shows no secret",
        .enabled(
            if: HelperPrograms.hasQuick && HelperPrograms.hasClipboard && DesktopScreen.isAvailable,
            "needs coffret-quick, Xvfb, xdotool and xclip"))
    func quickFind() throws {
        let screen = try DesktopScreen()
        var places: [String: String?] = [:]
        for (name, value) in screen.environment { places[name] = value }
        let agent = try AgentRunner(environment: places)
        try #require(try agent.unlock().exitCode == 0)
        defer { _ = try? agent.stop() }
        try agent.succeed(
            "new", "Garden shop", "--type", "login", "--secret", "password", input: "grebe 7\n")
        try agent.succeed("new", "Garden gate", "--type", "login", "--secret", "password", input: "other\n")
        try agent.succeed("lock")
        let window = try SpawnedProcess(
            CoffretRunner.executable, ["open", "--quick"], environment: agent.runner.environment(agent.environment()),
            directory: "/", output: .null, error: .pipe)
        defer { window.kill() }
        // The question comes; taken away, it comes again when it is wanted.
        try screen.window("^Coffret$", of: window)
        try screen.press("Escape")
        try screen.waitUntilNoWindow("^Coffret$")
        try Waiting.until("it asks again") {
            try screen.window("Find in Coffret", of: window)
            try screen.press("Return")
            return try !screen.xdotool("search", "--onlyvisible", "--name", "^Coffret$").text.isEmpty
        }
        // Nothing is found before the store is open, and the window stays where others open it while the question stands.
        try screen.window("Find in Coffret", of: window)
        try screen.type("shop")
        try #require(try agent.unlock().exitCode == 0)
        func clipboard() -> String {
            (try? ProcessRunner.run(
                "/usr/bin/timeout", ["20", "/usr/bin/xclip", "-o", "-selection", "clipboard"],
                environment: screen.environment))?.text ?? ""
        }
        // A key before the window has noticed that the store is open copies nothing; the next one does. It ends after that.
        func words() -> String { window.isRunning ? "" : String(decoding: window.readError(), as: UTF8.self) }
        try Waiting.until("the password is on the clipboard \(words())") {
            if window.isRunning, (try? screen.window("Find in Coffret", of: window)) != nil {
                try screen.press("Return")
            }
            return clipboard() == "grebe 7"
        }
        #expect(window.wait().code == 0)
    }
}
