// Hidden items: no command shows what is in them to nobody. The one thing to keep true: the list of commands comes from
// the program itself, so that a new command is not forgotten here.

import CoffretBase
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

    /// What a call comes to. Each shows that the command met the item, or that there was nothing in it to meet.
    private enum Outcome {
        /// Somebody would have to be there.
        case asks
        /// A reference has nobody to ask.
        case refuses
        /// It goes well, and names the item.
        case names
        /// It goes well, and has nothing to say of the item.
        case isSilent
        /// It ends with this error.
        case fails(String)
    }

    private struct Call {
        let command: String
        let arguments: [String]
        let outcome: Outcome

        init(_ command: String, _ arguments: [String], _ outcome: Outcome) {
            (self.command, self.arguments, self.outcome) = (command, arguments, outcome)
        }
    }

    /// Every command that has to do with what is in items, in an order in which each meets this one: what takes it out of
    /// sight is followed by what brings it back.
    private static func calls(_ world: World) -> [Call] {
        let item = world.id
        let reference = "coffret://Personal/Band/username"
        let page = "COFFRET-ASK:1:" + Base32.rfc4648Unpadded.encode([1, 97] + [UInt8](repeating: 0, count: 80))
        return [
            Call("show", [item], .asks), Call("show", [item, "--reveal"], .asks),
            Call("show", [item, "--at", world.oldest], .asks), Call("show", [item, "--field", "username"], .asks),
            Call("ls", [], .names), Call("ls", ["--at", world.oldest], .names),
            Call("search", ["Band"], .names), Call("search", ["then"], .isSilent), Call("search", ["first"], .isSilent),
            Call("diff", [item], .asks), Call("diff", [item, world.oldest], .asks),
            Call("history", [item], .isSilent), Call("log", [], .names), Call("tag ls", [], .isSilent),
            Call("conflicts ls", [], .isSilent), Call("conflicts show", [item], .asks),
            Call("conflicts resolve", [item], .names), Call("status", [], .isSilent), Call("fsck", [], .isSilent),
            Call("vault ls", [], .isSilent), Call("otp", [item], .asks), Call("link", [item], .asks),
            Call("credential aws", [item], .asks), Call("copy", [item], .asks),
            Call("copy", [item, "username"], .asks),
            Call("ssh-key public", [item], .asks), Call("audit", [], .isSilent), Call("attach ls", [item], .asks),
            Call("attach rename", [item, "glockenspiel.txt", "a.txt"], .asks),
            Call("attach extract", [item], .asks), Call("attach get", [item], .asks),
            Call("attach add", [item, "/etc/hostname"], .asks), Call("attach rm", [item, "glockenspiel.txt"], .asks),
            Call("edit", [item, "--title", "Other"], .asks), Call("restore", [item, "--at", world.oldest], .asks),
            Call("read", [reference], .refuses), Call("read", ["coffret://Personal/Band/text"], .refuses),
            Call("run", ["--env", "A=\(reference)", "--no-masking", "--", "env"], .refuses),
            Call("export", ["out", "--yes"], .asks), Call("export", ["out.json", "--yes"], .asks),
            Call("note unhide", [item], .asks), Call("note unlock", [item], .fails("cli.note.needs-agent")),
            Call("note lock", [item], .fails("core.note.kind")),
            Call("note relock", [item], .fails("core.note.not-locked")),
            Call("note hint", [item], .fails("core.note.not-locked")),
            Call("note sealed", [item], .fails("core.note.not-locked")),
            Call("pin", [item], .names), Call("unpin", [item], .names), Call("tag add", [item, "band"], .names),
            Call("tag rename", ["band", "group"], .isSilent), Call("tag rm", [item, "group"], .names),
            Call("archive", [item], .names), Call("ls", ["--archived"], .names), Call("show", [item], .asks),
            Call("unarchive", [item], .names), Call("rm", [item], .names), Call("ls", ["--trash"], .names),
            Call("show", [item], .asks), Call("restore", [item], .names), Call("ls", [], .names),
            Call("cp", [item, "--to", "Personal"], .asks),
            Call("mv", [item, "--to", "Personal"], .fails("cli.input.invalid")),
            Call("compact", [], .isSilent), Call("backup create", ["copy"], .isSilent),
            Call("answer", [page, item, "username"], .fails("remote.item.withheld")),
            Call("ask", [item, "--from", "tower"], .fails("account.not-joined")),
            // Neither has a terminal or an agent here.
            Call("find", ["Band"], .fails("cli.terminal.needed")),
            Call("open", ["--browser"], .fails("agent.store.locked")),
        ]
    }

    /// Commands without a call above: they make things, work with keys, devices, servers or other programs' data, or serve.
    /// Those that read items have tests of their own for hidden ones.
    private static let others: Set<String> = [
        "agent log", "agent sessions", "agent settings", "ask-page", "token new", "token ls", "token rm", "agent start",
        "agent status",
        "agent stop",
        "backup ls", "backup prune", "backup restore", "backup schedule", "backup verify", "browser allow",
        "browser install", "browser log", "browser ls", "browser notices", "browser unpair", "completions",
        "credential cargo",
        "credential docker",
        "credential kubectl", "credential pip",
        "device approve", "device ls", "device pair", "device recover", "device rename", "device renew",
        "device rescue", "device revoke", "doctor", "ecies keygen", "ecies open", "ecies public", "ecies seal",
        "ecies sign", "ecies verify", "forget", "generate", "git-credential erase", "git-credential get",
        "git-credential store",
        "help", "helper off", "helper on", "helper status", "import", "init", "inject", "key add", "key change",
        "key ls", "key remove", "lock", "new",
        "note hide", "note passphrases", "passphrase", "recovery accept", "recovery add", "recovery ls",
        "recovery revoke",
        "recovery contacts add", "recovery contacts forbid", "recovery contacts ls", "recovery contacts rm",
        "recovery contacts test", "recovery help", "recovery test", "secret-service allow", "secret-service forget",
        "secret-service off",
        "contact add", "contact block", "contact invite", "contact ls", "contact me", "contact rename",
        "contact requests", "contact rm", "contact show", "contact verify",
        "share accept", "share add", "share decline", "share leave", "share ls", "share members", "share rescue",
        "share requests", "share review", "share rm", "share role", "share item", "share note", "share restart",
        "share seen", "share activity", "share settings", "share undo",
        "secret-service on", "secret-service status", "server join", "server leave", "server log", "server status",
        "ssh-agent",
        "ssh-key import", "ssh-key new",
        "sync", "themis keygen", "themis message decrypt", "themis message encrypt", "themis message sign",
        "themis message verify", "themis open", "themis seal", "unlock", "vault default", "vault files", "vault new",
        "vault rename", "vault rm",
        "vault sync",
        "vault unsync",
    ]

    /// Runs a command with the passphrase given for it.
    private static func withPassphrase(_ command: String, _ id: String, _ runner: CoffretRunner) throws -> ProcessResult
    {
        try ProcessRunner.run(
            "/bin/sh",
            ["-c", "exec \"$0\" \(command) \"$1\" --passphrase-fd 3 3< \"$F\"", CoffretRunner.executable, id],
            environment: runner.environment(["F": runner.passphraseFile]), directory: runner.workPath,
            timeoutSeconds: 120)
    }

    /// The words of every command that can be run.
    private func commands(_ runner: CoffretRunner) throws -> [String] {
        let script = try runner.succeed("completions", "fish")
        let line = script.split(separator: "\n").first { $0.hasPrefix("set -g __coffret_paths ") } ?? ""
        let paths = line.split(separator: " ").dropFirst(3).map { $0.dropFirst().replacing("/", with: " ") }
        return paths.filter { path in !paths.contains { $0.hasPrefix(path + " ") } }.map { String($0) }.sorted()
    }

    /// Makes a call, and holds what is printed against what may be.
    private func make(_ call: Call, _ format: [String], _ world: World) throws {
        var arguments = call.arguments
        if call.command == "backup create" { arguments[0] += format.joined() }
        let words = call.command.split(separator: " ").map(String.init) + format + arguments
        let result = try world.runner.run(words, input: [])
        for canary in Self.canaries where !arguments.contains(where: { $0.contains(canary) }) {
            #expect(!result.text.contains(canary), "\(words): \(result.text)")
            #expect(!result.errorText.contains(canary), "\(words): \(result.errorText)")
        }
        func failed(_ code: String) -> Bool { result.exitCode != 0 && result.errorText.contains(code) }
        let names = result.text.contains("Band") || result.text.contains(world.id)
        let isAsExpected =
            switch call.outcome {
            case .asks: failed("cli.presence.unavailable")
            case .refuses: failed("core.note.hidden")
            case .names: result.exitCode == 0 && names
            case .isSilent: result.exitCode == 0
            case .fails(let code): failed(code)
            }
        #expect(isAsExpected, "\(words) gave \(result.exitCode): \(result.text) \(result.errorText)")
    }

    @Test("no command shows a hidden item's contents where nobody is asked, and none loses them")
    func everyCommand() throws {
        let world = try World()
        let calls = Self.calls(world)
        let called = Set(calls.map(\.command))
        for command in try commands(world.runner) where !called.contains(command) {
            #expect(Self.others.contains(command), "what does \(command) show of a hidden item?")
        }
        #expect(called.isDisjoint(with: Self.others))
        for format in [[], ["--json"]] {
            for call in calls where call.command != "run" || format.isEmpty { try make(call, format, world) }
        }
        for canary in Self.canaries {
            let found = try ProcessRunner.run("/bin/grep", ["-rl", canary, world.runner.workPath])
            #expect(found.text == "", "nothing was written out")
        }
        // Nothing of it is gone: with the passphrase given for the command everything is there.
        let shown = try Self.withPassphrase("show", world.id, world.runner)
        #expect(shown.text.contains("xylophone") && shown.text.contains("vibraphone"), "\(shown.errorText)")
        let files = try Self.withPassphrase("attach ls", world.id, world.runner)
        #expect(files.text.contains("glockenspiel"), "\(files.errorText)")
    }

    @Test(
        "attach get names a hidden item's file to nobody, and with the passphrase it has come",
        .enabled(if: ServerRunner.isAvailable, "needs coffret-server beside coffret, and openssl"))
    func fetching() throws {
        let world = try World()
        let server = try ServerRunner()
        let second = try CoffretRunner()
        try world.runner.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        try world.runner.succeed("vault", "sync", "Personal")
        try DevicePairing.pair(second, world.runner, server, name: "Second")
        try second.succeed("sync", "--without-files")
        for format in [[], ["--json"]] {
            let result = try second.run(["attach", "get", world.id] + format, input: [])
            #expect(
                result.exitCode == 69 && result.errorText.contains("cli.presence.unavailable"), "\(result.errorText)")
            #expect(!(result.text + result.errorText).contains("glockenspiel"))
        }
        let fetched = try Self.withPassphrase("attach get", world.id, second)
        #expect(fetched.exitCode == 0, "\(fetched.errorText)")
        let extracted = try Self.withPassphrase("attach extract", world.id, second)
        #expect(extracted.exitCode == 0 && extracted.text.contains("glockenspiel"), "\(extracted.errorText)")
        #expect(try String(contentsOfFile: second.workPath + "/glockenspiel.txt", encoding: .utf8) == "glockenspiel\n")
    }
}
