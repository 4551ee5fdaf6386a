// Hidden items: no command shows what is in them to nobody. The one thing to keep true: the list of commands comes from
// the program itself, so that a new command is not forgotten here.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Hidden items at every command")
struct HiddenItemTests {
    private static let canaries = ["xylophone", "marimba", "vibraphone", "glockenspiel", "celesta"]

    /// A store with a hidden item that has a text, a field, a file and a past.
    private struct World {
        let runner: CoffretRunner
        let id: String
        let oldest: String

        init() throws {
            runner = try CoffretRunner()
            try runner.makeStore()
            let made = try runner.run(
                ["new", "--type", "login", "Band", "--set", "username=vibraphone", "--json"], input: [])
            let object = try JSONSerialization.jsonObject(with: Data(made.text.utf8)) as? [String: Any]
            id = try #require(object?["id"] as? String, "\(made.errorText)")
            try runner.succeed("edit", id, input: "first marimba\n")
            try runner.succeed("edit", id, input: "then xylophone, linked to [[celesta]]\n")
            let file = runner.folder.file("work/glockenspiel.txt")
            try Data("glockenspiel\n".utf8).write(to: URL(fileURLWithPath: file))
            try runner.succeed("attach", "add", id, "glockenspiel.txt")
            try FileManager.default.removeItem(atPath: file)
            try runner.succeed("note", "hide", id)
            let versions = try #require(try runner.json("history", id)["versions"] as? [[String: Any]])
            oldest = try #require(versions.dropLast().last?["version"] as? String)
        }
    }

    /// How each command is called for the item: several ways for some. Nil: it has nothing to do with an item's contents,
    /// or wants things that this test does not have.
    private static func calls(_ command: String, _ world: World) -> [[String]]? {
        let item = world.id
        switch command {
        case "show":
            return [[item], [item, "--reveal"], [item, "--at", world.oldest], [item, "--field", "username"]]
        case "ls": return [[], ["--at", world.oldest]]
        case "search": return [["then"], ["first"], ["Band"]]
        case "diff": return [[item], [item, world.oldest]]
        case "history", "otp", "link", "conflicts show", "attach ls", "attach extract", "copy", "ssh-key public":
            return [[item]]
        case "log", "tag ls", "conflicts ls", "status", "fsck", "vault ls": return [[]]
        case "restore": return [[item, "--at", world.oldest]]
        case "conflicts resolve", "pin", "unpin", "archive", "unarchive": return [[item]]
        case "tag add": return [[item, "band"]]
        case "tag rm": return [[item, "band"]]
        case "edit": return [[item, "--title", "Other"]]
        case "attach rm": return [[item, "glockenspiel.txt"]]
        case "attach add": return [[item, "/etc/hostname"]]
        case "read": return [["coffret://Personal/Band/username"], ["coffret://Personal/Band/text"]]
        case "run": return [["--env", "A=coffret://Personal/Band/username", "--no-masking", "--", "env"]]
        case "export": return [["out", "--yes"], ["out.json", "--yes"]]
        case "note unhide", "note unlock", "note hint": return [[item]]
        case "rm": return [[item]]
        default: return nil
        }
    }

    /// Commands without a call above: they make things, work with keys, devices, servers or other programs' data, or serve.
    private static let others: Set<String> = [
        "agent", "backup", "compact", "completions", "conflicts", "device", "doctor", "ecies", "generate",
        "git-credential", "help", "import", "init", "inject", "key", "lock", "new", "note", "passphrase", "recovery",
        "server", "ssh-agent", "ssh-key", "sync", "tag", "themis", "undo", "unlock", "vault", "attach",
    ]

    /// The words of every command that can be run.
    private func commands(_ runner: CoffretRunner) throws -> [String] {
        let script = try runner.succeed("completions", "fish")
        let line = script.split(separator: "\n").first { $0.hasPrefix("set -g __coffret_paths ") } ?? ""
        let paths = line.split(separator: " ").dropFirst(3).map { $0.dropFirst().replacing("/", with: " ") }
        return paths.filter { path in !paths.contains { $0.hasPrefix(path + " ") } }.map { String($0) }.sorted()
    }

    @Test("R34: no command shows a hidden item's contents where nobody is asked, and none loses them")
    func everyCommand() throws {
        let world = try World()
        let all = try commands(world.runner)
        #expect(all.contains("show") && all.contains("attach extract"), "\(all)")
        var called = 0
        for command in all {
            guard let calls = Self.calls(command, world) else {
                let family = String(command.split(separator: " ")[0])
                #expect(Self.others.contains(family), "what does \(command) show of a hidden item?")
                continue
            }
            for call in calls {
                for format in [[], ["--json"]] {
                    if command == "run" && !format.isEmpty { continue }
                    let words = command.split(separator: " ").map(String.init) + format + call
                    let result = try world.runner.run(words, input: [])
                    called += 1
                    for canary in Self.canaries where !call.contains(where: { $0.contains(canary) }) {
                        #expect(!result.text.contains(canary), "\(words): \(result.text)")
                        #expect(!result.errorText.contains(canary), "\(words): \(result.errorText)")
                    }
                }
            }
        }
        #expect(called > 50)
        for canary in Self.canaries {
            let found = try ProcessRunner.run("/bin/grep", ["-rl", canary, world.runner.workPath])
            #expect(found.text == "", "nothing was written out")
        }
        // Nothing of it is gone: with the passphrase given for the command everything is there.
        func whole(_ command: String) throws -> ProcessResult {
            try ProcessRunner.run(
                "/bin/sh",
                [
                    "-c", "exec \"$0\" \(command) \"$1\" --passphrase-fd 3 3< \"$F\"", CoffretRunner.executable,
                    world.id,
                ],
                environment: world.runner.environment(["F": world.runner.passphraseFile]),
                directory: world.runner.workPath, timeoutSeconds: 120)
        }
        let shown = try whole("show")
        #expect(shown.text.contains("xylophone") && shown.text.contains("vibraphone"), "\(shown.errorText)")
        let files = try whole("attach ls")
        #expect(files.text.contains("glockenspiel"), "\(files.errorText)")
    }
}
