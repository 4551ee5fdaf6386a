// The window over an unlocked store, with a page of the test's own. The one thing to keep true: all of it ends with the test.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

/// `coffret-desktop` over an unlocked store.
final class WindowRunner {
    static let executable = CoffretRunner.executable + "-desktop"
    static let isAvailable = [executable, AgentRunner.agentExecutable].allSatisfy(
        FileManager.default.isExecutableFile)

    let agent: AgentRunner
    let screen: DesktopScreen
    let process: SpawnedProcess

    /// - Parameters:
    ///   - script: the page's module.
    ///   - variables: of the window alone.
    ///   - prepare: is called with the store before it is unlocked.
    init(
        _ script: String, variables: [String: String] = [:], prepare: (CoffretRunner) throws -> Void = { _ in }
    ) throws {
        screen = try DesktopScreen()
        agent = try AgentRunner()
        let runner = agent.runner
        try runner.makeNote("# Tomatoes\n\ncanary tomato 4711\n")
        try runner.succeed("new", "Mail", "--type", "login", "--secret", "password", input: "canary password 99\n")
        try prepare(runner)
        try #require(try agent.unlock().exitCode == 0)
        let page = runner.folder.file("page")
        try Self.makePage(page, script)
        process = try Self.start(
            runner, page, agent.environment(screen.environment.merging(variables) { $1 }))
    }

    static func start(
        _ runner: CoffretRunner, _ page: String, _ changes: [String: String?]
    ) throws -> SpawnedProcess {
        try SpawnedProcess(
            executable, ["--store", runner.storePath, "--page", page], environment: runner.environment(changes),
            directory: runner.workPath)
    }

    deinit {
        process.kill(SIGTERM)
        try? agent.stop()
    }

    /// All names of the page's table, nearly all of them empty.
    static func makePage(_ folder: String, _ script: String) throws {
        let installed = SharedData.packageRoot.appendingPathComponent("Sources/CoffretFront/PageFiles.swift")
        let source = try String(contentsOf: installed, encoding: .utf8)
        try FileManager.default.createDirectory(
            atPath: folder + "/vendor", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        for match in source.matches(of: /"((?:vendor\/)?[a-z]+\.(?:html|css|js|svg))"/) {
            let name = String(match.1)
            let text =
                name == "index.html"
                ? "<!doctype html><meta charset=utf-8><title>Coffret</title><script type=module src=main.js></script><p id=text>"
                : name == "main.js"
                    ? "\(ask)try {\n\(script)\n} catch (error) { await report({ failed: `${error}` }); }" : ""
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }
    }

    private static let ask = """
        async function ask(name, fields) {
          const response = await fetch("do", { method: "POST", headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ do: name, by: "program", with: fields }) });
          return response.json();
        }
        async function tried(body) { try { await body(); return "done"; } catch (error) { return "refused"; } }
        const report = (results) => ask("item.create", { text: "# Report\\n\\n" + JSON.stringify(results) });

        """

    /// What the page has reported.
    func report() throws -> [String: String] {
        var text = ""
        try Waiting.until("the page reports") {
            let result = try agent.run("show", "Report")
            text = result.text
            return result.exitCode == 0
        }
        let object = text.split(separator: "\n").last.map { Data($0.utf8) } ?? Data()
        return try #require(try JSONSerialization.jsonObject(with: object) as? [String: String])
    }
}
