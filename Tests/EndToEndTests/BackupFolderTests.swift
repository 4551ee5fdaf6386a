// A folder of backups as a person meets it: adding, listing, restoring an earlier one, verifying, pruning, and the timer.

import CoffretTestSupport
import Foundation
import Testing

@Suite("Folders of backups")
struct BackupFolderTests {
    @Test("backups add what changed; each is listed, verified and restored; old ones go")
    func life() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# First\n")
        #expect(try runner.succeed("backup", "create", "usb").contains("1 vault"))
        try runner.makeNote("# Second\n")
        let again = try runner.succeed("backup", "create", "usb", "--json")
        let written = try #require(again.firstMatch(of: /"writtenByteCount":([0-9]+)/).flatMap { Int($0.1) })
        let all = try #require(again.firstMatch(of: /"byteCount":([0-9]+)/).flatMap { Int($0.1) })
        #expect(written < 300_000 && written < all * 2, "\(again)")
        let names = try names(runner)
        #expect(names.count == 2)

        #expect(try runner.succeed("backup", "verify", "usb").contains("2 backups are whole"))
        #expect(try runner.succeed("backup", "verify", "usb").contains("nothing was new"))
        #expect(try !runner.succeed("backup", "verify", "usb", "--all").contains("nothing was new"))
        #expect(try runner.succeed("backup", "verify", "usb", "--from", names[0]).contains(names[0]))

        for (name, isThere) in [(names[0], false), ("newest", true)] {
            let target = runner.folder.file("work/restored-\(name)")
            try runner.succeed("backup", "restore", "usb", "--from", name, "--store", target)
            #expect(try runner.succeed("ls", "--store", target).contains("Second") == isThere, "\(name)")
        }
        try expect(runner, ["backup", "restore", "usb", "--from", "1999", "--store", "x"], 66, "cli.backup.not-found")
        try expect(runner, ["backup", "restore", "usb", "--from", "20", "--store", "x"], 65, "cli.backup.not-found")
        try expect(runner, ["backup", "prune", "usb"], 64, "cli.moment.invalid")
        try expect(runner, ["backup", "prune", "usb", "--older-than", "2999-01-01"], 83, "cli.confirmation.missing")
        #expect(try self.names(runner).count == 2)
        #expect(
            try runner.succeed("backup", "prune", "usb", "--older-than", "1 year").contains("No backup is that old"))
        try runner.succeed("backup", "prune", "usb", "--older-than", "2999-01-01", "--yes")
        #expect(try self.names(runner) == [names[1]])
        try expect(runner, ["backup", "ls", "."], 76, "core.backup.unknown-format")
    }

    @Test("a volume that decayed is found, named with the backups that need it, and written anew")
    func decay() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# First\n")
        try runner.succeed("backup", "create", "usb")
        let volumes = runner.folder.file("work/usb/volumes")
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: volumes).first)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: volumes + "/" + name))
        bytes[40] ^= 1
        try bytes.write(to: URL(fileURLWithPath: volumes + "/" + name))
        try expect(runner, ["backup", "verify", "usb"], 71, "cli.backup.damaged", "volume \(name)")
        try expect(runner, ["backup", "restore", "usb", "--store", "x"], 71, "core.backup.damaged")
        try runner.succeed("backup", "create", "usb")
        try runner.succeed("backup", "restore", "usb", "--store", "x")
        #expect(try runner.succeed("ls", "--store", "x").contains("First"))
    }

    @Test("the timer's units are what systemd takes, and what they run makes a backup, whatever the folder is called")
    func schedule() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# First\n")
        let folder = "disk %h $HOME \"of\" \\n ada"
        try runner.succeed("backup", "schedule", folder, "--every", "week", "--older-than", "1 year")
        #expect(try runner.succeed("backup", "schedule").contains("weekly"))
        let units = runner.folder.file("home/.config/systemd/user")
        let service = try String(contentsOfFile: units + "/coffret-backup.service", encoding: .utf8)
        #expect(service.contains("disk %%h $$HOME \\\"of\\\" \\\\n ada\""), "\(service)")
        if let program = Self.program("systemd-analyze") {
            let result = try ProcessRunner.run(
                program, ["verify", "--user", units + "/coffret-backup.service", units + "/coffret-backup.timer"],
                environment: ["XDG_RUNTIME_DIR": runner.folder.file("tmp"), "HOME": runner.folder.file("home")])
            #expect(result.exitCode == 0 && !result.errorText.contains("coffret-backup"), "\(result.errorText)")
        } else {
            print("skipped: systemd-analyze is not installed")
        }
        let commands = service.split(separator: "\n").filter { $0.hasPrefix("ExecStart=") }.map {
            Self.words(String($0.dropFirst("ExecStart=".count)))
        }
        #expect(commands.count == 2)
        for command in commands {
            let result = try ProcessRunner.run(
                command[0], Array(command.dropFirst()), environment: runner.environment(), directory: "/")
            #expect(result.exitCode == 0, "\(command): \(result.errorText)")
        }
        #expect(try names(runner, folder).count == 1)
        try expect(runner, ["backup", "schedule", folder, "--every", "year"], 64, "cli.input.invalid")
        try runner.succeed("backup", "schedule", "--off")
        #expect(try FileManager.default.contentsOfDirectory(atPath: units) == [])
        #expect(try runner.succeed("backup", "schedule").contains("No backups are scheduled"))
    }

    /// The words of a unit's command, as systemd.service(5) reads them.
    private static func words(_ line: String) -> [String] {
        line.matches(of: /"((?:[^"\\]|\\.)*)"/).map {
            String($0.1).replacing(/\\(.)/) { $0.1 }.replacing("%%", with: "%").replacing("$$", with: "$")
        }
    }

    private static func program(_ name: String) -> String? {
        ["/usr/bin", "/bin"].map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private func names(_ runner: CoffretRunner, _ folder: String = "usb") throws -> [String] {
        try runner.succeed("backup", "ls", folder, "--json").matches(of: /"backup":"([^"]+)"/).map { String($0.1) }
            .sorted()
    }

    private func expect(
        _ runner: CoffretRunner, _ arguments: [String], _ exitCode: Int32, _ words: String...
    ) throws {
        let result = try runner.run(arguments, input: [])
        #expect(result.exitCode == exitCode, "\(arguments): \(result.exitCode) \(result.errorText)")
        for word in words { #expect(result.errorText.contains(word), "\(arguments): \(result.errorText)") }
    }
}
