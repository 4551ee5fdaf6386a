// Files that another program drops on the window. The one thing to keep true: it is a real drag, from one program's window to the other's.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

/// A window from which files are dragged.
private enum Dragger {
    static let script = SharedData.packageRoot.appendingPathComponent("Tests/Interop/drag_files.py").path
    static let python = "/usr/bin/python3"

    static var isAvailable: Bool {
        (try? ProcessRunner.run(python, [script], environment: ["PATH": "/usr/bin:/bin"]).exitCode) == 0
    }
}

@Suite(
    "Files dropped on the window",
    .enabled(if: WindowRunner.isAvailable, "coffret-desktop is not built: WebKitGTK is missing"),
    .enabled(if: DesktopScreen.isAvailable, "Xvfb, xdotool or dbus is missing"),
    .enabled(if: Dragger.isAvailable, "needs python3-gi and gir1.2-gtk-4.0"))
struct DesktopWindowDropTests {
    @Test(
        "the page reads files that are dropped, has a folder carried, and learns no path; a pipe keeps nobody waiting")
    func dropped() throws {
        let window = try WindowRunner(
            """
            const early = await ask("front.choose", { kind: "dropped" });
            const place = await new Promise((done) => addEventListener("coffret-drop", (event) => done(event.detail), { once: true }));
            const seen = [];
            let items = "";
            for (;;) {
              const next = await ask("front.choose", { kind: "dropped" });
              if (!next.ok) { seen.push(next.error.code); break; }
              const { ticket, name, isFolder } = next.ok;
              const read = ticket ? await ask("front.get", { ticket, offset: 0 }) : null;
              const put = ticket ? await ask("front.put", { ticket, bytes: "YWJj" }) : null;
              if (isFolder) items = String((await ask("front.import", { ticket, isDryRun: true })).ok?.items?.imported);
              seen.push(`${name} ${read?.ok ? atob(read.ok.bytes) : read?.error.code} ${put?.ok ? "written" : "kept"}`);
            }
            await report({ early: early.error.code, seen: seen.join("; "), items, isInside: String(place.left > 100 && place.top > 100) });
            """)
        let folder = window.agent.runner.folder.file("dropped")
        let files = FileManager.default
        try files.createDirectory(atPath: folder + "/garden", withIntermediateDirectories: true)
        try Data("# Bean beds".utf8).write(to: URL(fileURLWithPath: folder + "/beds.md"))
        try Data("# Beets".utf8).write(to: URL(fileURLWithPath: folder + "/garden/beets.md"))
        let made = unsafe mkfifo(folder + "/pipe", 0o600)
        try #require(made == 0)
        try window.screen.window("^Coffret$")
        let source = try SpawnedProcess(
            Dragger.python, [Dragger.script] + ["beds.md", "garden", "pipe"].map { "\(folder)/\($0)" },
            environment: ["PATH": "/usr/bin:/bin"].merging(window.screen.environment) { $1 }, directory: "/")
        defer { source.kill() }
        try window.screen.window("^Dragger$")
        // A busy machine takes a drag for a click: it is tried again until the page has it.
        try Waiting.until("the page has the files", everyMilliseconds: 500) {
            try Self.drag(on: window.screen)
            return try window.agent.run("show", "Report").exitCode == 0
        }
        #expect(
            try window.report() == [
                "early": "front.choice.none", "items": "1", "isInside": "true",
                "seen":
                    "beds.md # Bean beds kept; garden front.request.invalid kept; pipe undefined kept; front.choice.none",
            ])
        #expect(try String(contentsOfFile: folder + "/beds.md", encoding: .utf8) == "# Bean beds")
    }

    /// Drags from the small window, which lies over a corner of the large one, to the middle of that.
    private static func drag(on screen: DesktopScreen) throws {
        let number = try screen.window("^Dragger$")
        try screen.xdotool("windowmove", "--sync", number, "1100", "650")
        try screen.xdotool("windowraise", number)
        try screen.xdotool("mousemove", "1140", "680")
        try screen.xdotool("mousedown", "1")
        for (left, top) in [(1130, 670), (1100, 640), (900, 600), (620, 420), (600, 400)] {
            try screen.xdotool("mousemove", "\(left)", "\(top)", "sleep", "0.2")
        }
        try screen.xdotool("mouseup", "1", "sleep", "1")
    }
}
