// The question about a program that comes for the first time, on a screen of the test.

import CoffretTestSupport
import Foundation
import Testing

@Suite(
    "Secret Service: programs that come for the first time", .serialized,
    .enabled(
        if: SecretServiceWorld.isAvailable && SecretServiceWorld.hasTool, "needs coffret-secret-service, secret-tool"))
struct DesktopSecretServiceConsentTests {
    private static let hasPrompt = FileManager.default.isExecutableFile(atPath: CoffretRunner.executable + "-prompt")

    @Test(
        "each program is asked about once; a no is a no, and a yes is for its file",
        .enabled(if: hasPrompt && DesktopScreen.isAvailable, "needs coffret-prompt, Xvfb and xdotool"))
    func asked() throws {
        let screen = try DesktopScreen()
        let world = try SecretServiceWorld(screen: screen, isServing: false)
        try #require(try world.switchOn().exitCode == 0)
        try world.serve(isAllowing: false)
        func store(answeringBy keys: String...) throws -> Int32 {
            let tool = try SpawnedProcess(
                "/usr/bin/secret-tool", ["store", "--label", "Mail", "user", "ada"], environment: world.variables,
                directory: "/", input: .pipe, error: .pipe)
            tool.write(Array("xylophone".utf8))
            tool.closeInput()
            try screen.window("Coffret asks", of: tool)
            for key in keys { try screen.press(key) }
            return tool.wait().code
        }
        #expect(try store(answeringBy: "Escape") != 0)
        try screen.waitUntilNoWindow("Coffret asks")
        let listed = try world.agent.succeed("ls", "--vault", "Desktop", "--json")
        #expect(!listed.contains("Mail"), "\(listed)")
        #expect(try !world.agent.succeed("secret-service", "status").contains("secret-tool"))
        #expect(try store(answeringBy: "Home", "Tab", "space") == 0)
        #expect(try world.agent.succeed("secret-service", "status").contains("/usr/bin/secret-tool"))
        // From now on nobody is asked.
        #expect(try world.tool("lookup", "user", "ada").text == "xylophone")
        try world.agent.succeed("secret-service", "forget", "/usr/bin/secret-tool")
        #expect(try store(answeringBy: "Escape") != 0)
    }

    @Test(
        "R154: a screen that turns the prompt away, and a prompt that dies, are no answer: the person is asked again",
        .enabled(if: hasPrompt && DesktopScreen.isAvailable, "needs coffret-prompt, Xvfb and xdotool"))
    func askedAgain() throws {
        let screen = try DesktopScreen(turningAway: 2)
        let world = try SecretServiceWorld(screen: screen, isServing: false)
        try #require(try world.switchOn().exitCode == 0)
        try world.serve(isAllowing: false)
        let tool = try SpawnedProcess(
            "/usr/bin/secret-tool", ["store", "--label", "Mail", "user", "ada"], environment: world.variables,
            directory: "/", input: .pipe, error: .pipe)
        tool.write(Array("xylophone".utf8))
        tool.closeInput()
        var killed: [pid_t] = []
        for _ in 0..<3 {
            try Waiting.until("another prompt") {
                try #require(tool.isRunning, "nobody is asked")
                guard let prompt = try screen.process(ofWindow: "Coffret asks"), !killed.contains(prompt) else {
                    return false
                }
                killed.append(prompt)
                kill(prompt, SIGKILL)
                return true
            }
        }
        #expect(screen.hasTurnedAway)
        // A prompt that dies again and again is asked for no more.
        #expect(tool.wait().code != 0)
        try screen.waitUntilNoWindow("Coffret asks")
        let said = world.words().split(separator: "\n")
        #expect(
            said.count == 3 && said.allSatisfy { $0.contains("nobody has answered about /usr/bin/secret-tool") },
            "\(said)")
        #expect(try !world.agent.succeed("secret-service", "status").contains("secret-tool"))
    }

    @Test("without a screen a program that nobody has said yes to gets nothing, and learns nothing")
    func nobody() throws {
        let world = try SecretServiceWorld()
        #expect(try world.tool("store", "--label", "Mail", "user", "ada", input: "xylophone").exitCode == 0)
        try world.agent.succeed("secret-service", "forget", "/usr/bin/secret-tool")
        #expect(try world.tool("lookup", "user", "ada").text.isEmpty)
        #expect(try world.tool("search", "--all", "user", "ada").text.contains("xylophone") == false)
        #expect(try world.tool("store", "--label", "More", "user", "bob", input: "x").exitCode != 0)
        #expect(try !world.agent.succeed("ls", "--vault", "Desktop").contains("More"))
        let missing = try world.agent.run("secret-service", "forget", "/usr/bin/secret-tool")
        #expect(missing.exitCode != 0)
        #expect(try world.agent.run("secret-service", "allow", "/nonexistent").exitCode != 0)
    }
}
