// A store with something to look at, and its page in a tab. The one thing to keep true: both programs end with the test.

import CoffretTestSupport
import Foundation
import Testing

/// Runs `coffret-web` over an unlocked store of an agent of its own.
final class PageServer {
    static let executable = CoffretRunner.executable + "-web"
    /// Where Debian's package has the editor.
    private static let editor = "/usr/share/javascript/codemirror/lib/codemirror.js"
    static let isAvailable = [executable, AgentRunner.agentExecutable, editor].allSatisfy {
        FileManager.default.fileExists(atPath: $0)
    }

    let agent: AgentRunner
    let pageFolder: String
    private let process: SpawnedProcess
    /// `http://NAME.localhost:PORT/#CODE`.
    let address: String

    init() throws {
        agent = try AgentRunner()
        let runner = agent.runner
        for (text, tags) in Self.notes { _ = try runner.makeNote(text, "--tag", tags) }
        try runner.succeed(
            "new", "GitHub", "--type", "login", "--tag", "work", "--set", "username=mira-marsh", "--set",
            "url=https://github.com", "--secret", "password", "--secret", "totp",
            input: "correct-horse-7!\nJBSWY3DPEHPK3PXP\n")
        let unlocked = try agent.unlock()
        try #require(unlocked.exitCode == 0, "\(unlocked.errorText)")
        pageFolder = runner.folder.file("page")
        try Self.makePage(pageFolder)
        process = try SpawnedProcess(
            Self.executable, ["--store", runner.storePath, "--page", pageFolder],
            environment: runner.environment(agent.environment()), output: .pipe)
        address = process.readOutputLine() ?? ""
        try #require(address.hasPrefix("http://"), "coffret-web says \(address)")
    }

    /// Puts the page together as an installation does.
    static func makePage(_ folder: String) throws {
        let script = SharedData.packageRoot.appendingPathComponent("Scripts/page").path
        let made = try ProcessRunner.run(script, [folder])
        try #require(made.exitCode == 0, "\(made.errorText)")
    }

    var processID: Int32 { process.processID }
    var host: String { String(address.dropFirst("http://".count).prefix { $0 != ":" }) }
    var port: String { String(address.split(separator: ":")[2].prefix { $0 != "/" }) }
    var code: String { String(address.split(separator: "#")[1]) }

    func end(stopsAgent: Bool = true) {
        _ = process.kill(SIGTERM)
        if stopsAgent { try? agent.stop() }
    }

    /// Waits until it has ended by itself.
    func wait() -> Int32 { process.wait().code }

    static let notes: [(text: String, tags: String)] = [
        ("# Weekly review\n\n#template\n\nWhat went well on {{date}}:\n", "review"),
        (
            "# Water meter\n\n412.7 m³ on the first of May, 9 litres an hour at night: the float in the cistern again.\n",
            "home"
        ),
        (
            "# Books to borrow\n\nThe Overstory, A Psalm for the Wild-Built, The Garden Against Time, Piranesi again.\n",
            "reading"
        ),
        ("# Copper spray\n\nWorks against blight, not against aphids. Two grams to the litre.\n", "garden"),
        ("# Lisbon in October\n\nTrain from Entrecampos, 25 minutes. Tram 28 early or not at all.\n", "travel/lisbon"),
        ("# Flat bread, the quick one\n\n300 g flour, 180 g yoghurt, a teaspoon of salt.\n", "recipes"),
        (
            "# <img src=x onerror=\"window.ran=1\"> [x](javascript:window.ran=2)\n\n<script>window.ran=3</script> <svg onload=window.ran=4> \u{202E}gnol",
            "cm-tag"
        ),
        (
            "# Tomatoes, second sowing\n\n#garden/balcony\n\nSown on **14 April** in the cold frame, eight of ten came up. The three on the balcony are *a week ahead*; see [[Lisbon in October]].\n\n## After the rain\n\n- [x] Tie up the two by the wall\n- [ ] Check for blight on the lower leaves, then [[Copper spray]]\n- [ ] Swap the string\n\n> Anna: not before the ice saints, whatever the weather says.\n\nMix for the pots: `3:1:1` compost, sand, leaf mould.\n",
            "garden"
        ),
    ]
}
