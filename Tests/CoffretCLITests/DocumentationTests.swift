// Docs/cli.md and the generated texts say what the program does.

import Foundation
import Testing

@testable import CoffretCLI
@testable import CoffretMessages
@testable import CoffretTerminal

@Suite("Documentation of the command line")
struct DocumentationTests {
    static let page = text(of: "Docs/cli.md")
    static let unlocking = text(of: "Docs/unlocking.md")

    private static func url(of path: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(path)
    }

    private static func text(of path: String) -> String {
        (try? String(contentsOf: url(of: path), encoding: .utf8)) ?? ""
    }

    @Test("the page lists exactly the exit codes of the program")
    func exitCodes() {
        let rows = Self.page.split(separator: "\n").filter { $0.wholeMatch(of: /\| \d+ \| .* \|/) != nil }
        #expect(rows.map(String.init) == ExitCode.allCases.map { "| \($0.rawValue) | \($0.meaning) |" })
    }

    @Test("the page's table of commands is that of the program; snapshots write it")
    func commands() throws {
        let groups = CommandGroup.allCases.filter { $0 != .help }
        let commands = groups.map { group in
            RootCommand.description.visibleSubcommands.filter { $0.group == group }.map { "`\($0.name)`" }
        }
        func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
        let table = [
            row(groups.map { $0.rawValue.prefix(1).lowercased() + $0.rawValue.dropFirst() }),
            row(groups.map { _ in "---" }), row(commands.map { $0.joined(separator: " ") }),
        ]
        var lines = Self.page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let start = try #require(lines.firstIndex { $0.hasPrefix("| every day |") })
        if ProcessInfo.processInfo.environment["COFFRET_UPDATE_SNAPSHOTS"] != nil {
            lines.replaceSubrange(start..<start + 3, with: table)
            try lines.joined(separator: "\n").write(to: Self.url(of: "Docs/cli.md"), atomically: true, encoding: .utf8)
        }
        #expect(Array(lines[start..<start + 3]) == table)
    }

    @Test("completions of all three shells know every command and option")
    func completions() {
        let tree = CompletionTree(root: RootCommand.description)
        for script in [
            BashCompletion.script(for: tree), ZshCompletion.script(for: tree), FishCompletion.script(for: tree),
        ] {
            for (path, command) in RootCommand.description.allDescendants() {
                #expect(script.contains(command.name), "\(path)")
                for option in command.options { #expect(script.contains(option.name), "\(path) --\(option.name)") }
            }
            #expect(!script.contains(ClipboardGuard.description.name))
        }
    }

    @Test("a QR code has its quiet zone, and both renderings show the same modules")
    func qrCode() {
        let code = QRCode(width: 2, isDark: [true, false, false, true])
        let plain = code.lines(isColored: false)
        #expect(plain.count == 5 && plain.allSatisfy { $0.count == 10 })
        #expect(plain[0] == "██████████")
        #expect(plain[2] == "████▄▀████")
        #expect(code.lines(isColored: true)[2].contains("    ▀▄    "))
    }

    @Test("every error code that the layers declare has words and an exit code of its own kind")
    func meanings() {
        #expect(FailureMeaning.find("keys.unlock-failed").exitCode == .wrongPassphrase)
        #expect(FailureMeaning.find("storage.file.disk-full").exitCode == .diskFull)
        #expect(FailureMeaning.find("storage.blob.anything-new").exitCode == .damaged)
        #expect(FailureMeaning.find("import.limit.entry-count").exitCode == .importRejected)
        #expect(FailureMeaning.find("unheard.of").exitCode == .internalError)
        // Each code has one place.
        let codes = FailureMeaning.areas.flatMap(\.keys)
        #expect(Set(codes).count == codes.count)
    }
}
