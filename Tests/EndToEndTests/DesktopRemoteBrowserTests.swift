// A browser on a machine without a vault asks another device, through the real extension, server, agent and prompt. The one thing to keep
// true: the browser's machine has no store, no agent and no host, so that a value can have come by the relay alone.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Remote browsers", .serialized,
    .enabled(if: ServerRunner.isAvailable && AgentRunner.isAvailable, "needs coffret-server and coffret-agent"))
struct DesktopRemoteBrowserTests {
    @Test(
        "R140, R149, R150: Chromium asks another device for the login of the page in front, which comes after a yes",
        .enabled(if: BrowserPrograms.hasChromium, "needs chromium"))
    func chromium() throws { try Self.check("chromium", called: "Chromium") }

    @Test(
        "R140, R149, R150: Firefox asks another device for the login of the page in front, which comes after a yes",
        .enabled(if: BrowserPrograms.hasFirefox, "needs firefox-esr, and marionette-driver in .build/venv"))
    func firefox() throws { try Self.check("firefox", called: "Firefox") }

    private static func check(_ name: String, called browserName: String) throws {
        let world = try DesktopRemoteTests.World(withLaptop: false)
        defer { world.stop() }
        let library = try AgentRunner(makesStore: false)
        let root = SharedData.packageRoot
        let environment = library.runner.environment(
            library.environment([
                "COFFRET_TEST_PROGRAM": CoffretRunner.executable,
                "COFFRET_TEST_EXTENSION": root.appendingPathComponent("Web/extension").path,
            ]))
        let browser = try SpawnedProcess(
            BrowserPrograms.python,
            [
                root.appendingPathComponent("Tests/Interop/browser_elsewhere.py").path, name,
                "localhost:\(world.server.port)", world.person.path, world.canary.word,
                root.appendingPathComponent(".build/pictures/\(name)").path,
            ],
            environment: environment, output: .pipe, error: .pipe)
        var text = ""
        func line(_ beginning: String) throws -> String {
            while let line = browser.readOutputLine() {
                text += line + "\n"
                if line.hasPrefix(beginning) {
                    return line.dropFirst(beginning.count).trimmingCharacters(in: .whitespaces)
                }
            }
            let errors = String(decoding: browser.readError(), as: UTF8.self)
            throw CoffretRunner.Failed(text: "no \(beginning)\n\(text.suffix(900))\n\(errors.suffix(2_000))")
        }
        let port = try line("site:")
        try world.tower.succeed(
            "new", "Meadow", "--vault", "Home", "--type", "login", "--set", "url=https://garden.example:\(port)",
            "--set", "username=mira", "--secret", "password", input: world.canary.word + "\n")
        for number in 1...2 {
            let code = try line("code:")
            #expect(try world.tower.run("answer", code, "Meadow").errorText.contains("remote.code.malformed"))
            let allow = try world.tower.runner.onTerminal(
                "browser", "allow", code, environment: world.tower.environment())
            let question = try allow.wait(for: "Let it ask? [y/N]")
            #expect(question.contains("The extension of \"\(browserName)"), "\(question)")
            allow.type("y\n")
            try allow.wait(for: "Passphrase of the store, to let the browser ask: ")
            allow.type(CoffretRunner.passphrase + "\n")
            try allow.wait(for: "\"\(browserName)\" may ask")
            #expect(try allow.finish() == 0)
            let again = try world.tower.run("browser", "allow", code)
            #expect(again.errorText.contains("remote.code.used"), "\(again.errorText)")
            // The first code was answered by somebody else, for all that the person at the browser knows.
            if number == 1 { try world.tower.succeed("browser", "unpair", browserName) }
        }
        _ = try line("unpair")
        let list = try world.tower.succeed("browser", "ls")
        #expect(list.contains("\(browserName): on another machine, since"), "\(list)")
        try world.tower.succeed("browser", "unpair", browserName)
        try Data().write(to: URL(fileURLWithPath: world.person.file("unpaired")))
        _ = try line("all held")
        #expect(browser.wait().code == 0)
        let log = try world.tower.succeed("browser", "log")
        #expect(log.contains(browserName) && log.contains("Meadow"), "\(log)")
        #expect(log.contains("[remote.refused]") && log.contains("[remote.item.not-found]"), "\(log)")
        let memory = try MemoryDump(of: world.server.processID)
        #expect(memory.contains(Array("/v1/relay".utf8)))
        for secret in [world.canary.word, "garden.example", "Meadow"] {
            #expect(!memory.contains(Array(secret.utf8)), "\(secret)")
        }
        #expect(try world.canary.finds(below: world.server.folder.path).isEmpty)
    }
}
