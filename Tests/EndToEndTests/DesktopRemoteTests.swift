// Remote and one-time requests, through the real server, agents and programs, and the page in a real browser. The one thing to keep true:
// nothing waits for a moment that may pass; the person at the asked device is a program that answers as a file says.

import CoffretBase
import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Remote", .serialized,
    .enabled(if: ServerRunner.isAvailable && AgentRunner.isAvailable, "needs coffret-server and coffret-agent"))
struct DesktopRemoteTests {
    /// Two devices of one person: the tower has a local vault with a login, and a person; the laptop asks.
    final class World {
        let server: ServerRunner
        /// What stands before the server, if it lies about its relay.
        let lies: LyingRelay?
        let tower: AgentRunner
        let laptop: AgentRunner
        let towerID: String
        let canary = Canary()
        let person: TemporaryDirectory

        init(withLaptop: Bool = true, isLying: Bool = false) throws {
            person = try TemporaryDirectory("person")
            let program = person.file("pinentry")
            let script = """
                #!/bin/sh
                # A pinentry whose person answers as the file says.
                echo $$ > '\(person.path)/process'
                echo "OK"
                while read -r line; do
                    printf '%s\\n' "$line" >> '\(person.path)/asked'
                    case "$line" in
                    CONFIRM*)
                        case "$(cat '\(person.path)/answer')" in
                        yes) echo "OK" ;;
                        wait) read -r line ;;
                        *) echo "ERR 83886194 not confirmed" ;;
                        esac ;;
                    *) echo "OK" ;;
                    esac
                done
                """
            try Data(script.utf8).write(to: URL(fileURLWithPath: program))
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
            server = try ServerRunner("--ask-page", "yes")
            lies = isLying ? try LyingRelay(before: server) : nil
            let url = lies?.url ?? server.url
            tower = try AgentRunner(environment: ["COFFRET_PINENTRY": program, "DISPLAY": ":none"])
            laptop = try AgentRunner(makesStore: false)
            let runner = tower.runner
            try runner.succeed("server", "join", url, "--fingerprint", server.fingerprint)
            try runner.makeNote("Tomatoes")
            try runner.succeed("vault", "sync", "Personal")
            try runner.succeed("vault", "new", "Home")
            try runner.succeed(
                "new", "Garden", "--vault", "Home", "--type", "login", "--set", "url=https://garden.example", "--set",
                "username=mira", "--secret", "password", "--secret", "totp",
                input: "\(canary.word)\nJBSWY3DPEHPK3PXP\n")
            if withLaptop {
                try DevicePairing.pair(
                    laptop.runner, runner, url: url, fingerprint: server.fingerprint, name: "laptop")
            }
            let devices = try JSONSerialization.jsonObject(
                with: Data(try runner.succeed("device", "ls", "--json").utf8))
            let own = (devices as? [[String: Any]])?.first { $0["current"] as? Bool == true }
            towerID = try #require(own?["id"] as? String, "\(devices)")
            for agent in withLaptop ? [tower, laptop] : [tower] { #expect(try agent.unlock().exitCode == 0) }
            try Waiting.until("connected") {
                try tower.succeed("agent", "status", "--json").contains("\"sync\":\"connected\"")
            }
        }

        func answer(_ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: person.file("answer")))
        }

        /// What the person was asked so far.
        var asked: String { (try? String(contentsOfFile: person.file("asked"), encoding: .utf8)) ?? "" }

        /// The process that asks.
        var asking: Int32? {
            (try? String(contentsOfFile: person.file("process"), encoding: .utf8)).flatMap {
                Int32($0.trimmingCharacters(in: .whitespacesAndNewlines))
            }
        }

        func stop() { for agent in [tower, laptop] { try? agent.stop() } }
    }

    @Test(
        "R149, R150: a device gets one value after a yes, five questions in ten minutes, and the relay sees nothing of it"
    )
    func asking() throws {
        let world = try World()
        defer { world.stop() }
        try world.answer("yes")
        let given = try world.laptop.run("ask", "Garden", "--from", world.towerID)
        #expect(given.exitCode == 0 && given.text == world.canary.word, "\(given.errorText)")
        #expect(given.errorText.contains("is there. Confirm on it"), "\(given.errorText)")
        for part in ["\"laptop\"", "Password of \"Garden\"", "\"Home\"", "https://garden.example"] {
            #expect(world.asked.contains(part), "\(part): \(world.asked)")
        }
        let code = try world.laptop.succeed("ask", "garden", "code", "--from", world.towerID, "--json")
        #expect(code.contains(/"value":"\d{6}"/) && code.contains("\"seconds\":"), "\(code)")
        #expect(world.asked.contains("One-time code of"))

        // The server has the words of its own requests in memory, and nothing of what passed.
        let memory = try MemoryDump(of: world.server.processID)
        #expect(memory.contains(Array("/v1/relay".utf8)))
        for secret in [world.canary.word, "garden.example", "JBSWY3DPEHPK3PXP"] {
            #expect(!memory.contains(Array(secret.utf8)), "\(secret)")
        }
        #expect(try world.canary.finds(below: world.server.folder.path).isEmpty)

        try world.answer("no")
        let refused = try world.laptop.run("ask", "Garden", "username", "--from", world.towerID)
        #expect(refused.exitCode == 77 && refused.text.isEmpty)
        #expect(refused.errorText.contains("remote.refused"), "\(refused.errorText)")
        // Nobody is asked about what is not there, or is never sent.
        try world.answer("yes")
        let before = world.asked
        for (item, field, problem) in [("Beans", "password", "item.not-found"), ("Garden", "pin", "field.not-found")] {
            let missing = try world.laptop.run("ask", item, field, "--from", world.towerID)
            #expect(missing.errorText.contains("remote.\(problem)"), "\(missing.errorText)")
        }
        #expect(world.asked == before)
        let sixth = try world.laptop.run("ask", "Garden", "--from", world.towerID)
        #expect(sixth.errorText.contains("remote.pausing") && sixth.text.isEmpty, "\(sixth.errorText)")
        #expect(world.asked == before)

        let log = try world.tower.succeed("agent", "log")
        #expect(log.contains("laptop") && log.contains("remote.ask \"Garden\""), "\(log)")
        #expect(log.contains("[remote.refused]") && log.contains("[remote.pausing]"), "\(log)")
        // Mistakes are told at once.
        let own = try world.tower.run("ask", "Garden", "--from", world.towerID)
        #expect(own.errorText.contains("remote.device.unsuitable"), "\(own.errorText)")
        #expect(try world.laptop.run("ask", "Garden", "--from", "attic").errorText.contains("cli.device.not-found"))
        #expect(try world.laptop.run("ask", "Garden").errorText.contains("--from DEVICE"))
        let copied = try world.laptop.run("ask", "Garden", "--copy", "--from", world.towerID)
        #expect(copied.errorText.hasPrefix("coffret: error: there is no clipboard here"), "\(copied.errorText)")
    }

    @Test("R150: the question goes when the device that asked leaves, and nothing is sent; the next one is asked")
    func leaving() throws {
        let world = try World()
        defer { world.stop() }
        try world.answer("wait")
        let asking = try SpawnedProcess(
            CoffretRunner.executable, ["ask", "Garden", "--from", world.towerID],
            environment: world.laptop.runner.environment(world.laptop.environment()), output: .pipe)
        try Waiting.until("the question") { world.asked.contains("CONFIRM") }
        let question = try #require(world.asking)
        asking.signal(SIGINT)
        try Waiting.until("the question has gone") { kill(question, 0) != 0 }
        #expect(asking.readOutputToEnd().isEmpty)
        #expect(asking.wait().code != 0)
        try world.answer("yes")
        #expect(try world.laptop.succeed("ask", "Garden", "--from", world.towerID) == world.canary.word)
        // A store that is locked answers nobody: its question goes with it.
        try world.answer("wait")
        let other = try SpawnedProcess(
            CoffretRunner.executable, ["ask", "Garden", "--from", world.towerID],
            environment: world.laptop.runner.environment(world.laptop.environment()), output: .pipe, error: .pipe)
        try Waiting.until("the question") { world.asking != question && world.asked.hasSuffix("CONFIRM\n") }
        try world.tower.succeed("lock")
        #expect(other.readOutputToEnd().isEmpty)
        #expect(String(decoding: other.readError(), as: UTF8.self).contains("Waiting for"))
        #expect(other.wait().code != 0)
    }

    // MARK: The page

    private static let python = SharedData.packageRoot.appendingPathComponent(".build/venv/bin/python").path
    private static let page = SharedData.packageRoot.appendingPathComponent("Web/ask/ask.html")
    private static let hasChromium =
        FileManager.default.isExecutableFile(atPath: "/usr/bin/chromium")
        && (try? ProcessRunner.run(python, ["-c", "import playwright"]))?.exitCode == 0
    private static let hasNode = FileManager.default.isExecutableFile(atPath: "/usr/bin/node")
    private static let hasReader = FileManager.default.isExecutableFile(atPath: "/usr/bin/zbarimg")

    private static func script(_ name: String) -> String {
        SharedData.packageRoot.appendingPathComponent("Tests/Interop/\(name)").path
    }

    /// What a reader of QR codes finds in a picture.
    private static func scanned(_ picture: String) throws -> String {
        try ProcessRunner.run("/usr/bin/zbarimg", ["-q", "--raw", picture]).text
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test(
        "R149, R151: the page gets one value in Chromium, as a server gives it and as a file, and speaks to nobody else",
        .enabled(if: hasChromium, "needs chromium, and playwright in .build/venv"))
    func chromium() throws { try Self.checkPage("chromium") }

    @Test(
        "R149, R151: the page gets one value in Firefox, as a server gives it and as a file, and speaks to nobody else",
        .enabled(if: BrowserPrograms.hasFirefox, "needs firefox-esr, and marionette-driver in .build/venv"))
    func firefox() throws { try Self.checkPage("firefox") }

    private static func checkPage(_ name: String) throws {
        let world = try World(withLaptop: false)
        defer { world.stop() }
        let host = "localhost:\(world.server.port)"
        let file = world.tower.runner.folder.file("ask.html")
        let written = try world.tower.runner.run("ask-page")
        try Data(written.standardOutput).write(to: URL(fileURLWithPath: file))
        let picture = world.tower.runner.folder.file("picture")
        let browser = try SpawnedProcess(
            Self.python,
            [Self.script("ask_page_browser.py"), name, world.server.url + "/ask", "file://" + file, host, picture],
            environment: ProcessInfo.processInfo.environment, output: .pipe, error: .pipe)
        var text = ""
        func line(_ beginning: String) throws -> String {
            while let line = browser.readOutputLine() {
                text += line + "\n"
                if line.hasPrefix(beginning) { return String(line.dropFirst(beginning.count)) }
            }
            let errors = String(decoding: browser.readError(), as: UTF8.self)
            throw CoffretRunner.Failed(text: "no \(beginning)\n\(text.suffix(600))\n\(errors.suffix(2_000))")
        }
        let origin = ["served": "The page came from https://\(host)", "file": "was opened as a file"]
        for name in ["served", "file"] {
            let code = try line("code: ")
            if Self.hasReader { #expect(try Self.scanned("\(picture)-\(name)-qr.png") == code) }
            let answer = try world.tower.runner.onTerminal(
                "answer", code, "Garden", "password", "--remind", environment: world.tower.environment())
            let question = try answer.wait(for: "Send it? [y/N]")
            for part in ["Password of \"Garden\"", "\"Home\"", "https://garden.example"] {
                #expect(question.contains(part), "\(part): \(question)")
            }
            let words = question.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(words.contains(try #require(origin[name])), "\(words)")
            answer.type("y\n")
            try answer.wait(for: "Passphrase of the store, to send it to the page: ")
            answer.type(CoffretRunner.passphrase + "\n")
            try answer.wait(for: "Sent: Password of \"Garden\", once.")
            #expect(try answer.finish() == 0)
            #expect(try line("value: ") == world.canary.word)
            // The code is used up.
            let again = try world.tower.run("answer", code, "Garden")
            #expect(again.errorText.contains("remote.code.used"), "\(again.errorText)")
        }
        _ = try line("all held")
        #expect(browser.wait().code == 0)
        #expect(text.contains("served: it spoke to the server alone") && text.contains("file: it forgets"))
        let memory = try MemoryDump(of: world.server.processID)
        #expect(!memory.contains(Array(world.canary.word.utf8)))
        #expect(try world.tower.succeed("ls", "--tag", "change-password", "--vault", "Home").contains("Garden"))
        #expect(try world.tower.succeed("agent", "log").contains("remote.answer \"Garden\""))
    }

    @Test("R149: a code of another server, a code that was used, and a text that is none send nothing")
    func codes() throws {
        let world = try World()
        defer { world.stop() }
        func code(_ host: String) -> String {
            let bytes = [UInt8(host.utf8.count)] + Array(host.utf8) + [UInt8](repeating: 9, count: 80)
            return "COFFRET-ASK:1:" + Base32.rfc4648Unpadded.encode(bytes)
        }
        for (text, item, problem) in [
            (code("evil.example"), "Garden", "remote.code.server-differs"),
            (code("localhost:\(world.server.port)"), "Garden", "remote.code.used"),
            (code("localhost:\(world.server.port)"), "Beans", "core.item.not-found"),
            ("COFFRET-ASK:1:", "Garden", "remote.code.malformed"), ("hello", "Garden", "remote.code.malformed"),
        ] {
            let result = try world.tower.run("answer", text, item)
            #expect(result.exitCode != 0 && result.errorText.contains(problem), "\(problem): \(result.errorText)")
        }
    }

    @Test(
        "R151: the page is one file that refers to nothing outside, the same from the program and from a server that has it switched on"
    )
    func onePage() throws {
        let page = try Data(contentsOf: Self.page)
        let text = String(decoding: page, as: UTF8.self)
        #expect(text.matches(of: /(?i)\b(src|href|action|data|poster|srcset)\s*=\s*["']/).isEmpty)
        #expect(text.matches(of: /(?i)url\(|@import|import\s*\(|<link|<iframe|<base|<img/).isEmpty)
        #expect(text.matches(of: /(?i)\b(https?|ftp):\/\//).isEmpty, "no address but the one that is typed")
        #expect(
            text.matches(
                of:
                    /innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|localStorage|indexedDB|fetch\(|XMLHttp/
            ).isEmpty)
        let policy = try #require(text.firstMatch(of: /content="(default-src 'none'[^"]*)"/)).1
        for rule in ["connect-src 'self' wss:;", "base-uri 'none'", "form-action 'none'", "trusted-types 'none'"] {
            #expect(policy.contains(rule), "\(policy)")
        }
        let runner = try CoffretRunner()
        let written = try runner.run(["ask-page"], input: [])
        #expect(Data(written.standardOutput) == page)
        let digest = try ProcessRunner.run("/usr/bin/sha256sum", [Self.page.path]).text.prefix(64)
        #expect(written.errorText.contains(digest), "\(written.errorText)")
        // Script and style are those of the policy, or the browser runs none: the test in Chromium shows that it does.
        for (options, status) in [(["--ask-page", "yes"], 200), (["--ask-page", "no"], 404)] {
            let server = try ServerRunner(options[0], options[1])
            let client = """
                import ssl, sys, urllib.error, urllib.request
                context = ssl._create_unverified_context()
                try:
                    answer = urllib.request.urlopen("\(server.url)/ask", context=context)
                    print(answer.status, answer.headers["Content-Security-Policy"], answer.headers["Content-Type"], file=sys.stderr)
                    sys.stdout.buffer.write(answer.read())
                except urllib.error.HTTPError as error:
                    print(error.code, file=sys.stderr)
                """
            let result = try ProcessRunner.run("/usr/bin/python3", ["-c", client])
            #expect(result.errorText.hasPrefix("\(status)"), "\(result.errorText)")
            #expect(status == 200 ? Data(result.standardOutput) == page : result.standardOutput.isEmpty)
            if status == 200 {
                #expect(result.errorText.contains("frame-ancestors 'none' text/html; charset=utf-8"))
            }
        }
    }

    @Test(
        "R149: the page's own script answers as the vectors say, opens nothing that was altered, and draws codes that a reader reads",
        .enabled(if: hasNode, "needs node"))
    func script() throws {
        let folder = try TemporaryDirectory("codes")
        let vectors = SharedData.packageRoot.appendingPathComponent("Tests/Vectors/remote/remote.json").path
        let result = try ProcessRunner.run(
            "/usr/bin/node", [Self.script("ask_page_vectors.mjs"), Self.page.path, vectors, folder.path])
        #expect(result.text.contains("held: vectors") && result.text.contains("held: codes"), "\(result.errorText)")
        guard Self.hasReader else { return }
        for version in 0..<12 {
            let text = try String(contentsOfFile: folder.file("\(version).txt"), encoding: .utf8)
            #expect(try Self.scanned(folder.file("\(version).pbm")) == text, "version \(version + 1)")
        }
    }
}
