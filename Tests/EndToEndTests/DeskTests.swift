// At a desk: the clipboard of a real X server, forms in an editor, links, and what a search shows.

import CoffretTestSupport
import Foundation
import Testing

@Suite("At a desk")
struct DeskTests {
    static let hasClipboard = ["/usr/bin/Xvfb", "/usr/bin/xclip"].allSatisfy(FileManager.default.isExecutableFile)

    @Test(
        "a copied password is on the clipboard, goes when its time is up, and what was copied since stays",
        .enabled(if: hasClipboard, "Xvfb or xclip is not installed"))
    func clipboard() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.succeed("new", "--type", "login", "GitHub", "--secret", "password", input: "copied secret\n")
        // Xvfb chooses a free display and says which; it ends with the script.
        let script = """
            exec 7> "$HOME/display"
            Xvfb -displayfd 7 -screen 0 640x480x8 -nolisten tcp > /dev/null 2>&1 &
            server=$!
            # The thread that runs this test holds most signals back, and its children inherit that.
            trap 'kill -KILL $server; wait $server 2> /dev/null' EXIT
            for attempt in $(seq 1200); do [ -s "$HOME/display" ] && break; sleep 0.05; done
            export DISPLAY=:$(cat "$HOME/display")
            clip() { timeout -s KILL 60 xclip -selection clipboard -out 2> /dev/null; }
            gone() { for attempt in $(seq 600); do [ "$(clip)" = "$1" ] || return 0; sleep 0.1; done; return 1; }
            # For ever: on a busy machine a second is over before anybody has looked.
            "$coffret" copy GitHub --clear-after 0 > /dev/null
            echo "1 $(clip)"
            "$coffret" copy GitHub --clear-after 1 > "$HOME/said"
            gone 'copied secret' && echo "2 [$(clip)]"
            "$coffret" copy GitHub --clear-after 1 > /dev/null
            printf 'copied since' | xclip -selection clipboard -in
            sleep 2
            echo "3 $(clip)"
            """
        let result = try ProcessRunner.run(
            "/bin/bash", ["-c", script],
            environment: runner.environment(["coffret": CoffretRunner.executable]), timeoutSeconds: 120)
        #expect(result.text == "1 copied secret\n2 []\n3 copied since\n", "\(result.errorText)")
        let said = try String(contentsOfFile: runner.folder.file("home/said"), encoding: .utf8)
        #expect(said.contains("cleared in 1 s") && !said.contains("secret"))
    }

    @Test(
        "a copied password leaves the clipboard when the store locks, long before its time is up",
        .enabled(if: hasClipboard && DesktopScreen.isAvailable, "Xvfb, xclip, xdotool or dbus is not installed"),
        .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
    func clipboardAtLock() throws {
        let (screen, agent) = (try DesktopScreen(), try AgentRunner())
        defer { try? agent.stop() }
        try agent.runner.succeed("new", "--type", "login", "GitHub", "--secret", "password", input: "copied secret\n")
        try #require(try agent.unlock().exitCode == 0)
        let variables = screen.environment.mapValues { Optional($0) }
        try agent.succeed("copy", "GitHub", "--clear-after", "86400", environment: variables)
        func clipboard() throws -> String {
            try ProcessRunner.run(
                "/usr/bin/timeout", ["-s", "KILL", "60", "xclip", "-selection", "clipboard", "-out"],
                environment: screen.environment.merging(["PATH": "/usr/bin:/bin"]) { $1 }
            ).text
        }
        #expect(try clipboard() == "copied secret")
        try agent.succeed("lock")
        try Waiting.until("the clipboard is cleared") { try clipboard() != "copied secret" }
    }

    @Test("without a display and a terminal, copying is a clear error")
    func noClipboard() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.succeed("new", "--type", "login", "GitHub", "--secret", "password", input: "copied secret\n")
        let result = try runner.run("copy", "GitHub")
        #expect(result.exitCode == 69)
        #expect(result.errorText.contains("there is no clipboard here") && !result.errorText.contains("copied secret"))
    }

    @Test("a login is edited as a form; a secret stays masked, and stays as it was if left alone")
    func form() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.succeed(
            "new", "--type", "login", "GitHub", "--set", "username=ada", "--secret", "password", input: "kept secret\n")
        let editor = runner.folder.file("home/editor")
        let script = """
            #!/bin/sh
            cp "$1" "$HOME/form"
            sed -i -e 's/^Username: ada/Username: lovelace/' -e 's/^Tags:.*/Tags: work\\/dev/' "$1"
            printf 'a remark\\n' >> "$1"
            """
        try script.write(toFile: editor, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: editor)
        let terminal = try runner.onTerminal("edit", "GitHub", environment: ["EDITOR": editor])
        try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
        try terminal.wait(for: "Saved")
        #expect(try terminal.finish() == 0)
        let form = try String(contentsOfFile: runner.folder.file("home/form"), encoding: .utf8)
        #expect(form.contains("Title: GitHub\n") && form.contains("Password: ••••") && !form.contains("kept secret"))
        #expect(try runner.succeed("show", "GitHub", "--field", "username") == "lovelace\n")
        #expect(try runner.succeed("show", "GitHub", "--field", "password") == "kept secret\n")
        #expect(try runner.succeed("ls", "--tag", "work").contains("GitHub"))
        #expect(try runner.succeed("show", "GitHub").contains("a remark"))
    }

    @Test("a link is added once, holds when the title changes, and a wrong target changes nothing")
    func linking() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        let source = try runner.makeNote("# Tomatoes\n")
        let target = try runner.makeNote("# Copper spray\n")
        #expect(try runner.succeed("link", "Tomatoes", "Copper spray").contains("now links to"))
        #expect(try runner.succeed("link", "Tomatoes", "Copper spray").contains("already"))
        let text = try runner.succeed("show", source)
        #expect(text.split(separator: "\n").count == 2, "\(text)")
        try runner.succeed("edit", target, input: "# Bordeaux mixture\n")
        #expect(try runner.succeed("link", "Tomatoes").contains("Bordeaux mixture"))
        let linked = try #require(try runner.json("link", target)["backlinks"] as? [[String: Any]])
        #expect(linked.count == 1)
        #expect(try runner.run("link", "Tomatoes", "nothing like it").exitCode == 66)
        #expect(try runner.succeed("show", source) == text)
    }

    @Test("a search shows on a terminal what it found, in colour unless that is not wanted")
    func highlighting() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# Ripe tomatoes\n\nLook for blight\u{1B}[2J on every leaf.\n")
        for (environment, isColored) in [(["NO_COLOR": nil], true), (["NO_COLOR": "1"], false)]
            as [([String: String?], Bool)]
        {
            let terminal = try runner.onTerminal("search", "tomatoes", "blight", environment: environment)
            try terminal.answer("Passphrase: ", CoffretRunner.passphrase)
            try terminal.wait(for: "1 item")
            #expect(try terminal.finish() == 0)
            #expect(terminal.screen.contains("\u{1B}[1;32mtomatoes\u{1B}[0m") == isColored, "\(terminal.screen)")
            #expect(terminal.screen.contains("\u{1B}[1;32mblight\u{1B}[0m") == isColored)
            #expect(terminal.screen.contains("Ripe tomatoes") == !isColored)
            // What a note holds never drives the terminal.
            #expect(!terminal.screen.contains("\u{1B}[2J"))
        }
        // A pipe gets the words and nothing else.
        let piped = try runner.succeed("search", "tomatoes", "blight")
        #expect(piped.contains("Ripe tomatoes") && !piped.contains("\u{1B}"))
    }
}
