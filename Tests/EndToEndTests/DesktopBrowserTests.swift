// Browsers and their host, through the real programs: a second implementation of the protocol in Python, then Chromium and Firefox with
// true gestures. The one thing to keep true: each script says what held, and a test counts on its words.

import CoffretTestSupport
import Foundation
import Testing

/// The programs that the tests of browsers need.
enum BrowserPrograms {
    static let python = SharedData.packageRoot.appendingPathComponent(".build/venv/bin/python").path
    static let areBuilt = [AgentRunner.agentExecutable, CoffretRunner.executable + "-bridge"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }
    static let hasCryptography = imports("cryptography")
    /// libfido2, which `Tests/Interop/security_key.py` loads.
    static let hasFIDO =
        (try? ProcessRunner.run(python, ["-c", "import ctypes; ctypes.CDLL('libfido2.so.1')"]))?.exitCode == 0
    static let hasAuthenticator = FileManager.default.isExecutableFile(
        atPath: CoffretRunner.executable + "-authenticator")
    static let hasChromium = FileManager.default.isExecutableFile(atPath: "/usr/bin/chromium")
    static let hasFirefox =
        FileManager.default.isExecutableFile(atPath: "/usr/bin/firefox-esr") && imports("marionette_driver")

    private static func imports(_ module: String) -> Bool {
        (try? ProcessRunner.run(python, ["-c", "import \(module)"]))?.exitCode == 0
    }
}

@Suite(
    "Browsers", .serialized,
    .enabled(if: BrowserPrograms.areBuilt, "needs coffret-agent and coffret-bridge"))
struct DesktopBrowserTests {
    /// Runs a script in a world with a store and an agent of its own.
    private static func run(
        _ script: String, _ arguments: String..., on desktop: [String: String?] = [:]
    ) throws -> String {
        let agent = try AgentRunner(environment: desktop)
        defer { try? agent.stop() }
        let path = SharedData.packageRoot.appendingPathComponent("Tests/Interop/\(script)").path
        let environment = agent.runner.environment(
            agent.environment([
                "COFFRET_TEST_PROGRAM": CoffretRunner.executable,
                "COFFRET_TEST_EXTENSION": SharedData.packageRoot.appendingPathComponent("Web/extension").path,
            ]))
        let result = try ProcessRunner.run(BrowserPrograms.python, [path] + arguments, environment: environment)
        #expect(result.exitCode == 0, "\(result.errorText.suffix(2000))\n\(result.text.suffix(1500))")
        #expect(result.text.contains("all held"))
        return result.text
    }

    private static func pictures(_ name: String) -> String {
        SharedData.packageRoot.appendingPathComponent(".build/pictures/\(name)").path
    }

    @Test(
        "R39, R141, R142, R144, R146, R147: a browser gets what its list of requests says, with its own key, ten times a minute",
        .enabled(if: BrowserPrograms.hasCryptography, "needs cryptography in .build/venv"))
    func requests() throws {
        let text = try Self.run("bridge_client.py", "requests")
        for number in ["R141", "R142", "R144", "R146", "R147"] { #expect(text.contains("held: \(number)")) }
    }

    @Test(
        "R148: a passkey is made and used after a person was asked, for a page of its site alone, and goes out and in as it is",
        .enabled(if: BrowserPrograms.hasCryptography, "needs cryptography in .build/venv"))
    func passkeys() throws {
        let text = try Self.run("bridge_client.py", "passkeys")
        #expect(text.contains("held: R148: and signs as before"))
    }

    @Test(
        "R141, R148: libfido2 makes and uses passkeys by the security key, through the kernel's events; what is no CTAP is an error",
        .enabled(if: BrowserPrograms.hasFIDO && BrowserPrograms.hasAuthenticator, "needs libfido2-1"))
    func securityKey() throws {
        let text = try Self.run("security_key.py")
        for words in [
            "held: the signature is right, by libfido2", "held: R148: a request that is withdrawn",
            "held: R148: a map of 2^64 - 1 members", "held: R141: after ten values in a minute",
        ] { #expect(text.contains(words), "\(words)") }
    }

    @Test(
        "R145: wrong digits, digits that come too late, a fourth try, and two browsers at once pair nothing",
        .enabled(if: BrowserPrograms.hasCryptography, "needs cryptography in .build/venv"))
    func pairing() throws {
        let text = try Self.run("bridge_client.py", "pairing")
        #expect(text.contains("held: R145: after three questions"))
    }

    @Test(
        "R145: a program in between shows other digits, and pairs nothing",
        .enabled(if: BrowserPrograms.hasCryptography, "needs cryptography in .build/venv"))
    func programBetween() throws {
        let text = try Self.run("bridge_client.py", "between")
        #expect(text.contains("held: R145: with a program in between the digits differ"))
    }

    @Test(
        "R38, R39, R40, R139, R140, R142, R143, R145, R146, R147: the extension in Chromium, on honest and hostile pages",
        .enabled(if: BrowserPrograms.hasChromium, "needs chromium"))
    func chromium() throws { try Self.checkBrowser("chromium") }

    @Test(
        "R38, R39, R40, R139, R140, R142, R143, R145, R146, R147: the extension in Firefox, on honest and hostile pages",
        .enabled(if: BrowserPrograms.hasFirefox, "needs firefox-esr, and marionette-driver in .build/venv"))
    func firefox() throws { try Self.checkBrowser("firefox") }

    @Test(
        "R139, R146, R147, R148: in Chromium, what was sent is offered to be saved, and passkeys are made and used",
        .enabled(if: BrowserPrograms.hasChromium, "needs chromium"))
    func chromiumAsks() throws {
        let text = try Self.run("browser_asks.py", "chromium", Self.pictures("chromium"))
        for number in ["R146", "R147", "R148"] { #expect(text.contains("held: \(number)"), "\(number)") }
    }

    @Test(
        "R139, R146, R147: in Firefox, what was sent is offered to be saved, and the context menu fills in",
        .enabled(if: BrowserPrograms.hasFirefox, "needs firefox-esr, and marionette-driver in .build/venv"))
    func firefoxAsks() throws {
        let text = try Self.run("browser_asks.py", "firefox", Self.pictures("firefox"))
        for number in ["R139", "R146", "R147"] { #expect(text.contains("held: \(number)"), "\(number)") }
        #expect(text.contains("held: the context menu fills in"))
    }

    @Test(
        "R139, R140, R147: the extension's keys fill in without a popup in Chromium; it opens where somebody has to choose or be warned",
        .enabled(if: BrowserPrograms.hasChromium && DesktopScreen.isAvailable, "needs chromium, Xvfb and xdotool"))
    func chromiumKeys() throws { try Self.checkKeys("chromium") }

    @Test(
        "R139, R140, R147: the extension's keys fill in without a popup in Firefox; it opens where somebody has to choose or be warned",
        .enabled(
            if: BrowserPrograms.hasFirefox && DesktopScreen.isAvailable,
            "needs firefox-esr, marionette-driver, Xvfb and xdotool"
        ))
    func firefoxKeys() throws { try Self.checkKeys("firefox") }

    private static func checkKeys(_ name: String) throws {
        let text = try run("browser_keys.py", name, pictures(name))
        for words in [
            "the keys fill in", "R139: before the keys", "R140: by the keys: /sent-away", "R147: by the keys",
        ] { #expect(text.contains("held: \(words)"), "\(name): \(words)") }
    }

    @Test(
        "a person who wants it is told of each value, without any text of the store",
        .enabled(if: BrowserPrograms.hasCryptography && MockDesktop.isAvailable, "needs cryptography, and dbusmock"))
    func notices() throws {
        let desktop = try MockDesktop()
        let text = try Self.run(
            "bridge_client.py", "notices", desktop.log, on: ["DBUS_SESSION_BUS_ADDRESS": desktop.address])
        #expect(text.contains("held: each value has one while they are on"))
    }

    private static func checkBrowser(_ name: String) throws {
        let text = try run("browser_extension.py", name, pictures(name))
        for number in ["R39", "R40", "R139", "R140", "R142", "R143", "R145", "R146", "R147"] {
            #expect(text.contains("held: \(number)"), "\(name): \(number)")
        }
    }

    @Test("the list of browsers needs the agent, and a name")
    func commands() throws {
        let agent = try AgentRunner()
        let alone = try agent.runner.run("browser", "ls")
        #expect(alone.errorText.contains("bridge.agent.needed"), "\(alone.errorText)")
        try agent.unlock()
        defer { try? agent.stop() }
        #expect(try agent.succeed("browser", "ls").contains("No browser is connected"))
        #expect(try agent.succeed("browser", "log").contains("No browser has asked"))
        #expect(try agent.run("browser", "unpair").errorText.contains("cli.browser.unnamed"))
        #expect(try agent.run("browser", "unpair", "Firefox").errorText.contains("bridge.pairing.not-found"))
        try agent.succeed("browser", "unpair", "--all")
        let written = try agent.succeed("browser", "install")
        #expect(written.contains(".config/chromium/NativeMessagingHosts/org.coffret.bridge.json"))
        #expect(written.contains(".mozilla/native-messaging-hosts/org.coffret.bridge.json"))
    }

    @Test("a record of browsers that was altered counts for none, until a person makes a new one")
    func alteredRecord() throws {
        let agent = try AgentRunner()
        try agent.unlock()
        defer { try? agent.stop() }
        try agent.succeed("browser", "unpair", "--all")
        let folder = agent.runner.folder.file("home/.local/state/coffret/agent")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let name = try #require(names.first { $0.hasSuffix(".browsers") }, "\(names)")
        try Data(repeating: 7, count: 40).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        let refused = try agent.run("browser", "ls")
        #expect(refused.errorText.contains("bridge.record.altered"), "\(refused.errorText)")
        try agent.succeed("browser", "unpair", "--all")
        #expect(try agent.succeed("browser", "ls").contains("No browser is connected"))
    }
}
