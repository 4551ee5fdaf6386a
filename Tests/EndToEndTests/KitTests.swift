// CoffretKit as programs of others use it: the samples, run against a real agent. Invariant: the samples see the library's public
// part only, which their targets in the manifest hold.

import CoffretTestSupport
import Foundation
import Testing

@Suite("CoffretKit", .serialized, .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct KitTests {
    private static func path(of sample: String) -> String {
        (CoffretRunner.executable as NSString).deletingLastPathComponent + "/" + sample
    }

    private static func run(
        _ world: OperationWorld, _ sample: String, _ words: [String], input: String = "", token: String? = nil
    ) throws -> ProcessResult {
        var variables = world.agent.runner.environment().filter { !$0.key.hasPrefix("COFFRET_") }
        variables["XDG_RUNTIME_DIR"] = world.agent.runtimeFolder
        variables["COFFRET_STORE"] = world.agent.runner.storePath
        if let token {
            let file = world.agent.runner.folder.file("home/token")
            try Data((token + "\n").utf8).write(to: URL(fileURLWithPath: file))
            variables["COFFRET_TOKEN_FILE"] = file
        }
        return try ProcessRunner.run(path(of: sample), words, input: Array(input.utf8), environment: variables)
    }

    @Test("a command of one's own lists and reads, with a token only what the token allows")
    func command() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        let locked = try Self.run(world, "RecentNotes", ["garden"])
        #expect(locked.exitCode == 1 && locked.text.contains("cli.agent.unavailable"), "\(locked.text)")
        try #require(try world.agent.unlock().exitCode == 0)
        try world.agent.succeed("new", input: "# Leeks\n\nSow in March. #garden #secret\n")
        let all = try Self.run(world, "RecentNotes", ["garden", "5"])
        #expect(
            all.text == "Leeks: Sow in March. #garden #secret\nTomatoes: No blight at all. #garden/beds\n2 of 2\n",
            "\(all.text)")
        let token = try world.token("recent", "--allow", "read", "--tag", "garden/beds")
        let limited = try Self.run(world, "RecentNotes", ["garden"], token: token)
        #expect(limited.text == "Tomatoes: No blight at all. #garden/beds\n1 of 1\n")
        try world.agent.succeed("token", "rm", "recent")
        #expect(try Self.run(world, "RecentNotes", ["garden"], token: token).text.contains("token.invalid"))
        try world.agent.succeed("lock")
        #expect(try Self.run(world, "RecentNotes", ["garden"]).text.contains("agent.store.locked"))
    }

    @Test("an importer of one's own writes items with their fields, once")
    func importer() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        try #require(try world.agent.unlock().exitCode == 0)
        let lines = "Forge\thttps://forge.example\tada\thush\nBank\thttps://bank.example\tada\tquiet\nbroken line\n"
        let first = try Self.run(world, "ImportBookmarks", ["Work"], input: lines)
        #expect(first.text == "2 made, 1 passed over, 0 refused\n", "\(first.text)")
        #expect(try Self.run(world, "ImportBookmarks", ["Work"], input: lines).text.hasPrefix("0 made, 3 passed over"))
        #expect(try world.agent.succeed("read", "coffret://Work/Forge/password").hasPrefix("hush"))
        #expect(try world.agent.succeed("ls", "-t", "imported", "--vault", "Work").contains("Bank"))
        #expect(try Self.run(world, "ImportBookmarks", ["Nowhere"], input: lines).text.contains("core.vault.not-found"))
    }

    @Test("each call does what it says, and is refused with the code that Spec has")
    func calls() throws {
        let world = try OperationWorld()
        defer { try? world.agent.stop() }
        try #require(try world.agent.unlock().exitCode == 0)
        let folder = try TemporaryDirectory()
        try Data(count: 70_000).write(to: URL(fileURLWithPath: folder.file("map.bin")))
        try FileManager.default.createDirectory(atPath: folder.file("notes"), withIntermediateDirectories: false)
        try Data("# Chard\n".utf8).write(to: URL(fileURLWithPath: folder.file("notes/Chard.md")))
        let printed = try Self.run(world, "KitCalls", [folder.path])
        #expect(
            printed.text == """
                versions: 2 said
                first: true
                restored: true
                flags: [[true, true]]
                out of the trash: true
                removed: true
                gone: core.item.not-found
                added: map.bin 70000
                files: ["plan.bin true"]
                read: 70000
                left: 0
                again: core.attachment.not-found
                links: ["Tomatoes 1", "Nothing 0"]
                backlinks: ["Soup"]
                linked: true false
                conflicts: 0 0
                values: ["hush", "Forge"]
                made: 30
                would import: 1
                imported: 1
                again: 1
                cancelled: true
                exported: true
                whole: true
                locked: true

                """, "\(printed.text)\(printed.errorText)")
        #expect(FileManager.default.contentsEqual(atPath: folder.file("map.bin"), andPath: folder.file("out.bin")))
        #expect(FileManager.default.fileExists(atPath: folder.file("all.json")))
    }

    @Test(
        "each sample is a package of its own, which asks for the library by its product's name",
        .enabled(if: ProcessRunner.isFound("swift"), "swift is not on the path"),
        arguments: ["RecentNotes", "ImportBookmarks"])
    func package(sample: String) throws {
        let described = try ProcessRunner.run(
            "/usr/bin/env", ["swift", "package", "--package-path", OperationTests.samplePath(sample), "dump-package"])
        #expect(described.exitCode == 0, "\(described.errorText)")
        #expect(described.text.contains("\"CoffretKit\"") && described.text.contains("\"\(sample)\""))
        let manifest = try String(contentsOfFile: OperationTests.samplePath("../Package.swift"), encoding: .utf8)
        #expect(manifest.contains(".library(name: \"CoffretKit\"") && manifest.contains("packageAccess: false"))
    }
}

extension ProcessRunner {
    fileprivate static func isFound(_ program: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
        }
    }
}
