// Columns, cutting, wrapping, and text that would like to drive the terminal.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretCLI
@testable import CoffretMessages
@testable import CoffretTerminal

@Suite("Text width")
struct TextWidthTests {
    @Test(
        "columns are counted as a terminal does",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("🍅", 2), ("👨‍👩‍👧", 2), ("ｱ", 1), ("한글", 4),
            ("☎️", 2), ("𗀀", 2), ("𛀀", 2), ("🇫🇷", 2), ("❤", 1), ("\u{E0B0}", 1), ("\u{200B}", 0),
        ])
    func columns(text: String, expected: Int) {
        #expect(TextWidth.columns(of: text) == expected)
    }

    @Test("cut text never exceeds its width and shows that something is missing")
    func truncate() {
        #expect(TextWidth.truncate("tomato", to: 6) == "tomato")
        #expect(TextWidth.truncate("tomatoes", to: 6) == "tomat…")
        #expect(TextWidth.truncate("日本語", to: 4) == "日…")
        #expect(TextWidth.truncate("abc", to: 0) == "")
        forAll { generator in
            let text = String(
                String.UnicodeScalarView(
                    (0..<generator.int(in: 0...40)).map { _ in
                        Unicode.Scalar(UInt32(generator.int(in: 0x20...0xD7FF))) ?? "x"
                    }))
            for width in 1...20 {
                #expect(TextWidth.columns(of: TextWidth.truncate(text, to: width)) <= width)
            }
        }
    }

    @Test("wrapped lines keep every word and stay inside the width")
    func wrap() {
        let text = "the quick brown fox jumps over the lazy dog"
        for width in 10...50 {
            let lines = TextWidth.wrap(text, width: width, indent: 2, hanging: 4)
            #expect(lines.allSatisfy { $0.count <= width })
            #expect(lines.flatMap { $0.split(separator: " ") }.joined(separator: " ") == text)
        }
        #expect(TextWidth.wrap("a", width: 1) == ["a"])
        #expect(TextWidth.wrap("unbreakable", width: 4, indent: 2) == ["  unbreakable"])
    }

    @Test("long lines are broken at spaces, keep their spacing and colours, and short ones stay as they are")
    func broken() {
        let text = "coffret: \u{1B}[1;31merror:\u{1B}[0m the quick  brown fox jumps   \u{1B}[2m[a.b]\u{1B}[0m"
        let plain = { (line: Substring) in
            String(line).replacing("\u{1B}[1;31m", with: "").replacing("\u{1B}[2m", with: "")
                .replacing("\u{1B}[0m", with: "")
        }
        for width in 16...60 {
            let lines = TextWidth.broken(text, width: width, hanging: 2).split(separator: "\n")
            #expect(lines.allSatisfy { plain($0).count <= width && !plain($0).hasSuffix(" ") }, "\(lines)")
            #expect(lines.dropFirst().allSatisfy { plain($0).hasPrefix("  ") }, "\(lines)")
            #expect(
                lines.flatMap { $0.split(separator: " ") } == text.split(separator: " "), "at \(width): \(lines)")
        }
        #expect(TextWidth.broken(text, width: nil) == text)
        #expect(TextWidth.broken(text, width: 80) == text)
        #expect(TextWidth.broken("ab cd\n  ef gh\n\nij", width: 5) == "ab cd\n  ef\n  gh\n\nij")
        #expect(TextWidth.broken("unbreakable", width: 4) == "unbreakable")
        #expect(TextWidth.broken("then coffret sync", width: 13) == "then\ncoffret sync")
        #expect(TextWidth.broken("日本 日本", width: 6) == "日本\n日本")
    }

    @Test("a command in a hint is never broken: the next line begins with it, or it is longer than the line")
    func commands() {
        let hints: [(text: String, commands: [String])] = [
            (
                "coffret: \u{1B}[36mhint:\u{1B}[0m if it was restored from a backup on purpose: coffret sync --server-was-restored",
                ["coffret sync --server-was-restored"]
            ),
            (
                "coffret device pair URL --account 66b1-918e-2bd7-afd7 on the new device; or type its whole number here",
                ["coffret device pair URL --account 66b1-918e-2bd7-afd7"]
            ),
            (
                "if you put it back yourself, from a backup of the disk: coffret device renew, then coffret sync",
                ["coffret device renew", "coffret sync"]
            ),
            (
                "apt install libbotan-2-19; or ssh-keygen -p -f COPY takes the passphrase from a copy in memory",
                ["apt install libbotan-2-19", "ssh-keygen -p -f COPY"]
            ),
            (
                "make a folder for it: mkdir -m 700 FOLDER; without --socket PATH it lies elsewhere",
                ["mkdir -m 700 FOLDER", "--socket PATH"]
            ),
            (
                "Another device wrote something else at the same time: coffret conflicts show 4f7a",
                ["coffret conflicts show 4f7a"]
            ),
            (
                "look at it (coffret show \"a long title\" --at '3 May'), or put it back",
                ["coffret show \"a long title\" --at '3 May'"]
            ),
            ("use --passphrase-fd N, or name a file of mode 0600 in COFFRET_PASSPHRASE_FILE", ["--passphrase-fd N"]),
        ]
        let plain = { (text: Substring) in
            text.replacing("\u{1B}[36m", with: "").replacing("\u{1B}[0m", with: "")
        }
        for (text, commands) in hints {
            for width in 12...100 {
                let lines = TextWidth.broken(text, width: width, hanging: 2).split(separator: "\n").map(plain)
                let wrapped = TextWidth.wrap(text, width: width, keepsCommands: true)
                for command in commands {
                    #expect(lines.contains { $0.contains(command) }, "\(command) at \(width): \(lines)")
                    #expect(wrapped.contains { $0.contains(command) }, "\(command) at \(width): \(wrapped)")
                }
                // Nothing is lost, and prose is broken as ever: a word or two at most hang on to a command.
                #expect(lines.flatMap { $0.split(separator: " ") } == plain(text[...]).split(separator: " "))
                let longest = commands.map(\.count).max() ?? 0
                #expect(lines.allSatisfy { $0.count <= max(width, longest + 24) }, "\(width): \(lines)")
            }
        }
        #expect(
            TextWidth.broken("what is said   coffret sync   brings what is in it", width: 20)
                == "what is said\ncoffret sync\nbrings what is in it")
    }

    @Test("text from a vault cannot send commands to the terminal")
    func displaySafe() {
        #expect(TextWidth.displaySafe("a\u{1B}[31mred\u{7}") == "a^[[31mred^G")
        #expect(TextWidth.displaySafe("two\nlines\tand") == "two lines and")
        #expect(TextWidth.displaySafe("two\nlines\tand\r", keepsLines: true) == "two\nlines\tand ")
        #expect(TextWidth.displaySafe("\u{9B}31m\u{202E}gpj.exe\u{7F}") == "\u{FFFD}31m\u{FFFD}gpj.exe^?")
        #expect(TextWidth.displaySafe("plain 日本 é") == "plain 日本 é")
    }

    @Test("a table fits the terminal, and only flexible columns are cut")
    func table() {
        var table = TextTable([
            .init(role: .identifier), .init(isFlexible: true), .init(isFlexible: true), .init(alignsRight: true),
        ])
        table.add(["4f7a", "Tomatoes, second sowing, with a long title that goes on", "#garden/beds/south", "1,204"])
        table.add(["91c0", "日本語のノート", "", "3"])
        for width in [40, 60, 80] {
            let lines = table.lines(width: width, style: .plain)
            #expect(lines.allSatisfy { TextWidth.columns(of: $0) <= width }, "\(lines)")
            #expect(lines[0].hasPrefix("4f7a  "))
            #expect(lines[0].hasSuffix("  1,204"))
        }
        #expect(table.lines(width: nil, style: .plain)[0].contains("that goes on"))
        #expect(TextTable([.init()]).lines(width: 80, style: .plain) == [])
    }

    @Test("a column that goes on below loses no word and stays in its place")
    func wrappingTable() {
        var table = TextTable([.init(role: .faint), .init(isFlexible: true, wraps: true)])
        let words = "nothing waits to be sent; 1 file is not here yet; the server cannot be reached"
        table.add(["Synced", words])
        table.add(["Way back in", "1 recovery key"])
        let rows = table.linesOfRows(width: 40, style: .plain)
        #expect(rows.count == 2 && rows[0].count > 1 && rows[1] == ["Way back in  1 recovery key"])
        #expect(rows[0].allSatisfy { $0.count <= 40 })
        #expect(rows[0][0].hasPrefix("Synced       nothing"))
        #expect(rows[0].dropFirst().allSatisfy { $0.hasPrefix(String(repeating: " ", count: 13)) })
        #expect(
            rows[0].map { $0.dropFirst(13) }.joined(separator: " ") == words, "\(rows)")
        #expect(table.lines(width: nil, style: .plain) == ["Synced       " + words, "Way back in  1 recovery key"])
    }
}
