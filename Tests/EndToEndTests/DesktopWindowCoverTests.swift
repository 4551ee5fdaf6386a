// What others see of the window while nobody looks at it. The one thing to keep true: the colour that is looked for is the page's alone.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "The covered window",
    .enabled(if: WindowRunner.isAvailable, "coffret-desktop is not built: WebKitGTK is missing"),
    .enabled(if: DesktopScreen.isAvailable, "Xvfb, xdotool or dbus is missing"))
struct DesktopWindowCoverTests {
    private static let manager = "/usr/bin/xprop"

    /// Fills its window with a colour, and counts keys and losses of the keyboard.
    private static let page = """
        document.documentElement.style.background = "rgb(255, 0, 255)";
        let [keys, losses] = [0, 0];
        addEventListener("keydown", () => { keys += 1; });
        addEventListener("blur", () => { losses += 1; });
        await report({});
        for (;;) {
          const wait = await ask("change.wait", { seconds: 1 });
          if (!wait.ok) break;
          const found = await ask("item.search", { query: "tell" });
          if (found.ok?.hits.length) break;
        }
        await ask("item.create", { text: "# Counted\\n\\n" + JSON.stringify({ keys: `${keys}`, losses: `${losses}` }) });
        """

    private static func shown(_ window: WindowRunner) throws -> Int {
        try window.screen.picture().count(red: 255, green: 0, blue: 255)
    }

    @Test(
        "R129: a minimised window, and one that lost the keyboard for a minute, shows no pixel of its page; the key that uncovers it does nothing else",
        .enabled(if: FileManager.default.isExecutableFile(atPath: manager), "needs xprop, of x11-utils"))
    func covered() throws {
        let window = try WindowRunner(Self.page)
        _ = try window.report()
        let screen = window.screen
        let number = try screen.window("^Coffret$")
        try Waiting.until("the page is on the screen") { try Self.shown(window) > 100_000 }

        // A manager of windows says so of a window that is minimised, or on another workspace.
        func tell(_ state: String...) throws {
            let told = try ProcessRunner.run(
                Self.manager, ["-id", number, "-f", "_NET_WM_STATE", "32a"] + state, environment: screen.environment)
            try #require(told.exitCode == 0, "\(told.errorText)")
        }
        try tell("-set", "_NET_WM_STATE", "_NET_WM_STATE_HIDDEN")
        try Waiting.until("nothing of the page is on the screen") { try Self.shown(window) == 0 }
        try tell("-remove", "_NET_WM_STATE")
        #expect(try Self.shown(window) == 0, "it is uncovered by a key or a click alone")
        try screen.press("k")
        try Waiting.until("the page is on the screen again") { try Self.shown(window) > 100_000 }

        // Another window has the keyboard.
        let other = try SpawnedProcess(
            CoffretRunner.executable + "-prompt", [],
            environment: ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"].merging(screen.environment) { $1 },
            directory: "/", input: .pipe, output: .null, error: .null)
        defer { other.kill() }
        other.write(Array("SETTITLE Another window\nMESSAGE\n".utf8))
        try screen.window("^Another window$")
        try Waiting.until("it is covered after a minute", seconds: 180, everyMilliseconds: 500) {
            try Self.shown(window) == 0
        }
        other.kill()
        try screen.window("^Coffret$")
        #expect(try Self.shown(window) == 0)
        try screen.press("k")
        try Waiting.until("the page is on the screen once more") { try Self.shown(window) > 100_000 }

        try window.agent.succeed("new", "tell", input: "tell\n")
        var counted = ""
        try Waiting.until("the page has counted") {
            let result = try window.agent.run("show", "Counted")
            counted = result.text
            return result.exitCode == 0
        }
        #expect(counted.contains(#""keys":"0""#), "\(counted)")
        // By which the page hides what it had revealed.
        #expect(!counted.contains(#""losses":"0""#), "\(counted)")
    }
}
