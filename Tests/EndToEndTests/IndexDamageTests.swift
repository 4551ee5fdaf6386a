// The search index damaged, cut off or without room, with the real program. The one thing to keep true: no command about
// notes fails for it, and somebody hears of it.

import CoffretTestSupport
import Foundation
import Testing

@Suite("A damaged search index")
struct IndexDamageTests {
    /// Notes with an index of several dozen pages.
    private func makeNotes(_ runner: CoffretRunner, count: Int = 60) throws {
        let folder = runner.workPath + "/notes"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let random = SeededGenerator(seed: 9)
        for number in 0..<count {
            let words = (0..<150).map { _ in "word\(random.int(in: 0...4_000))" }.joined(separator: " ")
            try Data("# Note \(number)\n\n#red see [[Note 7]] and \(words)\n".utf8)
                .write(to: URL(fileURLWithPath: folder + "/\(number).md"))
        }
    }

    private func indexPath(_ runner: CoffretRunner) throws -> String {
        let vaults = runner.storePath + "/vaults"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: vaults).first)
        return vaults + "/\(name)/search/index"
    }

    private static let commands = [
        ["ls"], ["search", "note"], ["show", "Note 7"], ["tag", "ls"], ["status"],
        ["export", "--format", "json", "--yes", "out"],
        ["history", "Note 3"],
    ]

    @Test("faults F3: a bit flipped in any page of the index stops no command, is said, and is mended (R116)")
    func flippedBits() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try makeNotes(runner)
        try runner.succeed("import", "notes")
        let path = URL(fileURLWithPath: try indexPath(runner))
        let whole = try Data(contentsOf: path)
        let pageCount = whole.count / 4_096
        try #require(pageCount > 40)
        var saidCount = 0
        for (turn, page) in stride(from: 0, to: pageCount, by: pageCount / 13).enumerated() {
            var damaged = whole
            damaged[page * 4_096 + 300] ^= 4
            try damaged.write(to: path)
            try? FileManager.default.removeItem(atPath: runner.workPath + "/out")
            let command = Self.commands[turn % Self.commands.count]
            let result = try runner.run(command, input: [])
            #expect(result.exitCode == 0, "page \(page) \(command): \(result.errorText)")
            let isSaid = result.errorText.contains("The search index is damaged, so it is made again")
            if isSaid { saidCount += 1 }
            // What no command needed to read is found by a check, and mended there.
            let check = try runner.run("fsck")
            #expect(check.exitCode == 0 && check.text.hasPrefix("Everything is whole"), "\(check.errorText)")
            #expect(check.text.contains("The search index was damaged") == !isSaid, "page \(page) \(command)")
            #expect(check.errorText.contains("The search index is damaged") == !isSaid)
        }
        #expect(saidCount > 0)
        #expect(try runner.json("search", "note")["total"] as? Int == 60)
    }

    @Test("faults F3: an index that was cut off is made again with its reason, on a pipe too (R116)")
    func cut() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try makeNotes(runner)
        try runner.succeed("import", "notes")
        let path = try indexPath(runner)
        for command in Self.commands.dropLast(2) {
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try handle.truncate(atOffset: handle.seekToEnd() / 2)
            try handle.close()
            let result = try runner.run(command, input: [])
            #expect(result.exitCode == 0, "\(command): \(result.errorText)")
            let again = try runner.run(command, input: [])
            #expect(again.exitCode == 0 && again.errorText.isEmpty)
            if command[0] != "show" {
                #expect(result.text == again.text)
                #expect(result.errorText.contains("The search index is damaged, so it is made again"), "\(command)")
            }
        }
    }

    @Test(
        "faults F4: an import whose index found no room has imported, says so, and ends with 0",
        .enabled(if: WholeStoreTests.canMount, "no permission to mount a small disk"))
    func importWithoutRoom() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try makeNotes(runner)
        let folder = URL(fileURLWithPath: try indexPath(runner)).deletingLastPathComponent().path
        let script = """
            set -e; mkdir -p "$search"; mount -t tmpfs -o size=64k tmpfs "$search"
            code=0; "$coffret" import notes || code=$?; echo "code $code"
            "$coffret" ls --json | grep -o '"total":[0-9]*'
            "$coffret" search 'Note 33' | grep -c 'Note 33'
            """
        let result = try ProcessRunner.run(
            "/usr/bin/unshare", WholeStoreTests.mountArguments + ["/bin/bash", "-c", script],
            environment: runner.environment(["coffret": CoffretRunner.executable, "search": folder]),
            directory: runner.workPath, timeoutSeconds: 240)
        #expect(
            result.text.contains("Imported 60 ") && result.text.contains("code 0\n\"total\":60\n1\n"), "\(result.text)")
        #expect(
            result.errorText.contains("There is no space for the search index. Everything is saved"),
            "\(result.errorText)")
    }

    @Test("use 6, 7: a search says what it looked for instead, and what it left out")
    func saidSearches() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        try runner.makeNote("# Shopping\n\nbread and docker")
        let near = try runner.run("search", "dockr")
        #expect(near.exitCode == 0 && near.text.contains("Shopping"))
        #expect(near.errorText == "No item has dockr. Did you mean docker?\n")
        #expect(try runner.succeed("search", "shop").contains("Shopping"))
        let object = try runner.json("search", "dockr -garden")
        #expect(object["without"] as? [String] == ["garden"] && object["total"] as? Int == 1)
        #expect((object["didYouMean"] as? [[String: Any]])?.first?["nearest"] as? [String] == ["docker"])
        #expect(try runner.run("search", "bread -garden").errorText == "without: garden\n")
        #expect(try runner.run("search", "bread . -docker").errorText.isEmpty)
    }

    @Test("faults F11: a note on a pipe is its bytes, and editing it with them changes nothing")
    func exactBytes() throws {
        let runner = try CoffretRunner()
        try runner.makeStore()
        for text in ["abc", "abc\n", "abc\n\n\n", "# Ümläut\r\nline\r\n", "\n\n  abc \t"] {
            let id = try runner.makeNote(text)
            let shown = try runner.run("show", id)
            #expect(shown.exitCode == 0 && shown.text == text, "\(text.debugDescription)")
            #expect(try runner.succeed("edit", id, input: shown.text) == "Nothing was changed.\n")
        }
    }
}
