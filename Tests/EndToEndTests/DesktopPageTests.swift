// The page in a tab, through the real programs: its gate by bare sockets, its screens in a real browser. Invariant: nothing that
// the gate refuses has an effect or an answer with content.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

@Suite("Page", .serialized, .enabled(if: PageServer.isAvailable, "needs coffret-web and libjs-codemirror"))
struct DesktopPageTests {
    private static let python = SharedData.packageRoot.appendingPathComponent(".build/venv/bin/python").path

    /// A browser, and what drives it.
    private static let hasBrowser: Bool = {
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/chromium") else { return false }
        let probe = try? ProcessRunner.run(python, ["-c", "import playwright, axe_playwright_python"])
        return probe?.exitCode == 0
    }()

    private static func script(_ name: String) -> String {
        SharedData.packageRoot.appendingPathComponent("Tests/Interop/\(name)").path
    }

    @Test(
        "R36, R125, R126, R127, R130, R132, R133, R134: the gate refuses all but the page's own requests, and those beyond its table"
    )
    func gate() throws {
        let page = try PageServer()
        defer { page.end() }
        let attacked = try ProcessRunner.run(
            "/usr/bin/python3", [Self.script("attack_page.py"), page.host, page.port, page.code])
        #expect(attacked.exitCode == 0, "\(attacked.text.suffix(400))\n\(attacked.errorText)")
        #expect(attacked.text.contains("checks held"))
    }

    @Test(
        "R124: another user of the machine is closed before a byte is read",
        .enabled(
            if: geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv"),
            "needs root and setpriv"))
    func otherUser() throws {
        let page = try PageServer()
        defer { page.end() }
        let attacked = try ProcessRunner.run(
            "/usr/bin/python3",
            [Self.script("attack_page.py"), page.host, page.port, page.code, "--other-user", "65534"])
        #expect(attacked.exitCode == 0, "\(attacked.text.suffix(400))\n\(attacked.errorText)")
        #expect(attacked.text.contains("another user's connection is closed"))
    }

    @Test("R136: files of the page that others can write, that are links, or that are missing end the front")
    func untrustedFiles() throws {
        let page = try PageServer()
        defer { page.end() }
        func refusal(_ change: (String) throws -> Void) throws -> ProcessResult {
            let folder = page.pageFolder + "-other"
            try? FileManager.default.removeItem(atPath: folder)
            try PageServer.makePage(folder)
            try change(folder)
            return try ProcessRunner.run(
                PageServer.executable, ["--store", page.agent.runner.storePath, "--page", folder],
                environment: page.agent.runner.environment(page.agent.environment()))
        }
        let files = FileManager.default
        let changes: [(String) throws -> Void] = [
            { try files.setAttributes([.posixPermissions: 0o664], ofItemAtPath: $0 + "/main.js") },
            { try files.setAttributes([.posixPermissions: 0o777], ofItemAtPath: $0) },
            { try files.setAttributes([.posixPermissions: 0o775], ofItemAtPath: $0 + "/vendor") },
            { try files.removeItem(atPath: $0 + "/vendor/codemirror.js") },
            {
                try files.moveItem(atPath: $0 + "/session.js", toPath: $0 + "/else.js")
                try files.createSymbolicLink(atPath: $0 + "/session.js", withDestinationPath: $0 + "/else.js")
            },
            { try files.linkItem(atPath: $0 + "/list.js", toPath: $0 + "/else.js") },
        ]
        for (index, change) in changes.enumerated() {
            let result = try refusal(change)
            #expect(result.exitCode == 78, "change \(index): \(result.errorText)")
            #expect(result.errorText.contains("front.page.untrusted"), "change \(index): \(result.errorText)")
        }
    }

    @Test("R156: the front loads no library that holds keys of stores, and no page of it is dumped")
    func frontIsBare() throws {
        let page = try PageServer()
        defer { page.end() }
        let loaded = try ProcessFiles.lines("/proc/\(page.processID)/maps").joined()
        #expect(loaded.contains("libmicrohttpd"), "the map is read wrongly")
        for library in ["libsqlite3", "libtss2", "libsecret", "libcurl"] {
            #expect(!loaded.contains(library), "coffret-web loads \(library)")
        }
        let limits = try ProcessFiles.lines("/proc/\(page.processID)/limits")
        #expect(limits.contains { $0.contains(/Max core file size\s+0\b/) }, "\(limits)")
    }

    @Test("a file of the editor that is not the pinned one is refused where the page is put together")
    func pinnedEditor() throws {
        let folder = try TemporaryDirectory("page")
        let pins = try String(
            contentsOf: SharedData.packageRoot.appendingPathComponent("Web/page/vendor.sha256"), encoding: .utf8)
        #expect(pins.split(separator: "\n").count == 7)
        try PageServer.makePage(folder.file("page"))
        try Data("changed".utf8).write(to: URL(fileURLWithPath: folder.file("page/vendor/overlay.js")))
        let checked = try ProcessRunner.run(
            "/bin/sh", ["-c", "cd \(folder.file("page/vendor")) && printf %s '\(pins)' | sha256sum --check --strict"])
        #expect(checked.exitCode == 1, "\(checked.text)")
    }

    @Test(
        "R131, R157: files, pictures, import, screens and templates in Chromium; axe finds nothing",
        .enabled(if: hasBrowser, "needs chromium, and playwright and axe in .build/venv"))
    func files() throws {
        let page = try PageServer()
        defer { page.end() }
        let pictures = SharedData.packageRoot.appendingPathComponent(".build/pictures").path
        let folder = page.agent.runner.folder.file("brought")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try page.agent.succeed("export", "--yes", "--format", "json", folder + "/whole.json")
        let used = try ProcessRunner.run(
            Self.python, [Self.script("page_files.py"), page.address, pictures, folder], timeoutSeconds: 600)
        #expect(used.exitCode == 0, "\(used.text.suffix(600))\n\(used.errorText.suffix(1_200))")
        #expect(used.text.contains("held: axe finds nothing"))
        #expect(try page.agent.succeed("attach", "ls", "Tomatoes").contains("bed-plan.png"))
        #expect(try page.agent.succeed("show", "Harbour Office").contains("harbour.example"))
        #expect(try page.agent.succeed("ls").contains("Imported note 11"))
    }

    @Test(
        "R129, R157: the screens of the window alone, with a front that is played: axe finds nothing; what was revealed is hidden",
        .enabled(if: hasBrowser, "needs chromium, and playwright and axe in .build/venv"))
    func windowScreens() throws {
        let page = try PageServer()
        defer { page.end() }
        let pictures = SharedData.packageRoot.appendingPathComponent(".build/pictures").path
        let used = try ProcessRunner.run(Self.python, [Self.script("page_window.py"), page.address, pictures])
        #expect(used.exitCode == 0, "\(used.text.suffix(400))\n\(used.errorText.suffix(1_200))")
        #expect(used.text.contains("held: axe finds nothing"))
    }

    @Test(
        "R135: typing goes on in Chromium while page, front or agent is killed; the text is in the note afterwards",
        .enabled(if: hasBrowser, "needs chromium, and playwright and axe in .build/venv"),
        arguments: ["page", "front", "agent"])
    func kills(_ victim: String) throws {
        let page = try PageServer()
        defer { page.end() }
        let word = " Typed before the \(victim) went."
        let person = try SpawnedProcess(
            Self.python,
            [
                Self.script("page_kill.py"), page.address, page.agent.runner.folder.file("pictures"), "Water meter",
                word,
            ],
            environment: ProcessInfo.processInfo.environment, input: .pipe, output: .pipe, error: .pipe)
        func killPerson() throws {
            for process in try ProcessFiles.family(of: person.processID).reversed() { kill(process, SIGKILL) }
        }
        var isKept = false
        while !isKept, let line = person.readOutputLine() { isKept = line == "kept" }
        guard isKept else {
            try killPerson()
            Issue.record(
                "the page never said that it has kept the text: \(String(decoding: person.readError(), as: UTF8.self).suffix(800))"
            )
            return
        }
        switch victim {
        case "page":
            try killPerson()
            page.end(stopsAgent: false)
        case "front": kill(page.processID, SIGKILL)
        default:
            let agent = try #require(page.agent.processID)
            for process in try ProcessFiles.family(of: agent) { kill(process, SIGKILL) }
            try Waiting.until("the agent is gone") { page.agent.processID == nil }
            #expect(try page.agent.unlock().exitCode == 0)
        }
        // The session of the page may take a moment to end.
        try Waiting.until("the text is in the note") { try page.agent.succeed("show", "Water meter").contains(word) }
        if victim != "page" { try killPerson() }
    }

    private static let hasFirefox: Bool = {
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/firefox-esr") else { return false }
        let probe = try? ProcessRunner.run(python, ["-c", "import marionette_driver, axe_playwright_python"])
        return probe?.exitCode == 0
    }()

    @Test(
        "R127, R130, R157: the page in Firefox by keys alone: list, search, writing, login, history, screens, lock; axe finds nothing",
        .enabled(if: hasFirefox, "needs firefox-esr, and marionette-driver and axe in .build/venv"))
    func firefox() throws {
        let folder = try TemporaryDirectory("firefox")
        let browser = try SpawnedProcess(
            Self.python, [Self.script("page_firefox.py"), folder.path],
            environment: ProcessInfo.processInfo.environment, input: .pipe, output: .pipe, error: .pipe)
        guard browser.readOutputLine() == "started" else {
            let words = String(decoding: browser.readError(), as: UTF8.self)
            Issue.record("Firefox does not start: \(words.suffix(4_000))")
            return
        }
        let page = try PageServer()
        defer { page.end() }
        browser.write(Array("\(page.address)\n".utf8))
        var (text, isReady) = ("", false)
        while !isReady, let line = browser.readOutputLine() {
            isReady = line == "ready"
            text += line + "\n"
        }
        guard isReady else {
            Issue.record("\(text.suffix(600))\n\(String(decoding: browser.readError(), as: UTF8.self).suffix(4_000))")
            return
        }
        let saved = try page.agent.succeed("search", "Firefox")
        #expect(saved.contains("1 of") || saved.contains("Copper") || saved.contains("Tomatoes"), "\(saved)")
        try page.agent.succeed("lock")
        browser.write(Array("locked\n".utf8))
        text += String(decoding: browser.readOutputToEnd(), as: UTF8.self)
        let errors = String(decoding: browser.readError(), as: UTF8.self)
        #expect(browser.wait().code == 0, "\(text.suffix(600))\n\(errors.suffix(4_000))")
        #expect(text.contains("held: everything in Firefox"))
    }

    @Test(
        "R158: the first list, a key in the search and a key in a long note cost the same whatever the size of store and note",
        .enabled(if: hasBrowser, "needs chromium, and playwright and axe in .build/venv"))
    func counts() throws {
        let page = try PageServer()
        defer { page.end() }
        let folder = page.agent.runner.folder.file("many")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        func write(_ name: String, _ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name).md"))
        }
        for number in 0..<400 { try write("note-\(number)", "# Note \(number)\n\nThe summer of bed \(number).\n") }
        let lines = (0..<3_597).map { "- [ ] line \($0) of **many** in `one` note\n" }
        try write("long", "# Log of the longest summer\n\n" + lines.joined())
        try page.agent.succeed("import", folder)
        let used = try ProcessRunner.run(
            Self.python, [Self.script("page_counts.py"), page.address, page.agent.runner.folder.file("pictures")],
            timeoutSeconds: 600)
        #expect(used.exitCode == 0, "\(used.text.suffix(600))\n\(used.errorText.suffix(1_200))")
        #expect(used.text.contains("held: axe finds nothing"))
    }

    @Test(
        "R157: each key of the page does what it says, and each action of its sources has a key",
        .enabled(if: hasBrowser, "needs chromium, and playwright and axe in .build/venv"))
    func keys() throws {
        let page = try PageServer()
        defer { page.end() }
        let used = try ProcessRunner.run(
            Self.python, [Self.script("page_keys.py"), page.address, page.agent.runner.folder.file("pictures")],
            timeoutSeconds: 600)
        #expect(used.exitCode == 0, "\(used.text.suffix(600))\n\(used.errorText.suffix(2_400))")
        #expect(used.text.contains("held: every key"))
    }

    @Test(
        "R135: page, front, window, session and agent are killed at random moments of typing; no word is lost before the last draft",
        .enabled(if: hasBrowser, "needs chromium, and playwright and axe in .build/venv"))
    func rounds() throws {
        let folder = try TemporaryDirectory("rounds")
        try PageServer.makePage(folder.file("page"))
        let products = (CoffretRunner.executable as NSString).deletingLastPathComponent
        let surfaces = WindowRunner.isAvailable && DesktopScreen.isAvailable ? ["tab", "window"] : ["tab"]
        let used = try ProcessRunner.run(
            Self.python, [Self.script("page_rounds.py"), products, folder.file("page"), "12", "17"] + surfaces,
            timeoutSeconds: 600)
        #expect(used.exitCode == 0, "\(used.text.suffix(600))\n\(used.errorText.suffix(1_200))")
        #expect(used.text.contains("12 deaths, no word lost"))
    }

    @Test(
        "R169: 300 hostile texts as titles, texts, tags, fields and addresses are text, and nothing of them runs",
        .enabled(if: hasBrowser, "needs chromium, and playwright and axe in .build/venv"))
    func hostile() throws {
        let page = try PageServer()
        defer { page.end() }
        let file = page.agent.runner.folder.file("hostile.json")
        let made = try ProcessRunner.run("/usr/bin/python3", [Self.script("page_hostile.py"), "make", file])
        #expect(made.text == "300\n", "\(made.errorText)")
        try page.agent.succeed("import", file)
        let used = try ProcessRunner.run(
            Self.python, [Self.script("page_hostile.py"), page.address, page.agent.runner.folder.file("pictures")],
            timeoutSeconds: 600)
        #expect(used.exitCode == 0, "\(used.text.suffix(400))\n\(used.errorText.suffix(1_200))")
        #expect(used.text.contains("R169: no node but those of the page"))
    }

    @Test(
        "R37, R157, R170: the page in Chromium: list, search, writing, logins, history, trash, keys, lock; axe finds nothing, and nothing leaves it",
        .enabled(if: hasBrowser, "needs chromium, and playwright and axe in .build/venv"))
    func browser() throws {
        let page = try PageServer()
        defer { page.end() }
        let pictures = SharedData.packageRoot.appendingPathComponent(".build/pictures").path
        let browser = try SpawnedProcess(
            Self.python, [Self.script("page_browser.py"), page.address, pictures],
            environment: ProcessInfo.processInfo.environment, input: .pipe, output: .pipe, error: .pipe)
        var (text, isReady) = ("", false)
        while !isReady, let line = browser.readOutputLine() {
            isReady = line == "ready"
            text += line + "\n"
        }
        #expect(isReady, "\(text.suffix(600))")
        #expect(try page.agent.succeed("show", "Copper spray").contains("Not before the rain."))
        #expect(try page.agent.succeed("show", "GitHub").contains("mira"))
        #expect(try page.agent.succeed("ls").contains("Made in the tab"))
        try page.agent.succeed("lock")
        browser.write(Array("locked\n".utf8))
        text += String(decoding: browser.readOutputToEnd(), as: UTF8.self)
        let errors = String(decoding: browser.readError(), as: UTF8.self)
        #expect(browser.wait().code == 0, "\(text.suffix(600))\n\(errors)")
        // It goes when the store is locked.
        #expect(page.wait() == 0)
    }
}
