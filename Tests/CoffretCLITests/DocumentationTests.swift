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

    private static func text(of path: String) -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return (try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)) ?? ""
    }

    @Test("the page lists exactly the exit codes of the program")
    func exitCodes() {
        let rows = Self.page.split(separator: "\n").filter { $0.wholeMatch(of: /\| \d+ \| .* \|/) != nil }
        #expect(rows.map(String.init) == ExitCode.allCases.map { "| \($0.rawValue) | \($0.meaning) |" })
    }

    @Test("the page names every command")
    func commands() {
        for command in RootCommand.description.visibleSubcommands where command.group != .help {
            #expect(Self.page.contains("`\(command.name)`"), "\(command.name)")
        }
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
