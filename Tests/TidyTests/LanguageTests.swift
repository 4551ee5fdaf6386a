// Rules of plain language: the length of sentences, words that are retired, and comments that open with a clause.
// Invariant: a list of exceptions names only what still fails, so that it can only shrink.

import Foundation
import Testing

@Suite("Language")
struct LanguageTests {
    static let sentenceWordCountMax = 40
    static let averageWordCountMax = 25.0

    /// Openings of comments by "What", "Whatever", "Who" or "Whoever", in 1,000 words of comments. May only fall.
    static let openingsPerThousandWordsMax = 3.0

    private static let pages =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
        .map { SourceFile(path: $0, text: (try? SourceTree.text($0)) ?? "") }
        + SourceTree.files(below: "Docs", suffix: ".md") + SourceTree.files(below: "Spec", suffix: ".md")

    // MARK: Sentences

    /// The sentences of a page that are too long, and a line if its average is.
    private static func lengthFaults(of page: SourceFile) -> [String] {
        let sentences = Prose(page.text).sentences
        var faults: [String] = []
        for sentence in sentences where sentence.wordCount > sentenceWordCountMax {
            faults.append("\(page.path):\(sentence.line) \(sentence.wordCount) words: \(sentence.text.prefix(60))…")
        }
        let counts = sentences.map(\.wordCount).filter { $0 > 3 }
        let average = Double(counts.reduce(0, +)) / Double(max(1, counts.count))
        if average > averageWordCountMax { faults.append("\(page.path): \(average) words on the average") }
        return faults
    }

    @Test("no sentence of a page is longer than 40 words, and 25 is the most on the average")
    func sentencesAreShort() {
        for page in Self.pages {
            #expect(Self.lengthFaults(of: page) == [])
        }
        let long = Array(repeating: "word", count: 41).joined(separator: " ")
        let short = Array(repeating: "word", count: 20).joined(separator: " ")
        #expect(Self.lengthFaults(of: SourceFile(path: "a", text: "Here \(short).\n\n| x | \(long). |")).count == 2)
        #expect(Self.lengthFaults(of: SourceFile(path: "a", text: "- Of \(short). `And` \(short).\n- \(short)")) == [])
        #expect(Self.lengthFaults(of: SourceFile(path: "a", text: "```\n\(long)\n```\n\n    \(long)")) == [])
    }

    // MARK: Retired words

    private struct Retired {
        let phrases: [String]
        let typeWords: Set<String>
        let typeCountMax: Int
    }

    /// The second table of Docs/glossary.md.
    private static let retired: [Retired] = {
        let text = (try? SourceTree.text("Docs/glossary.md")) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, let count = Int(cells[3]) else { return nil }
            func list(_ cell: String) -> [String] { cell == "–" ? [] : cell.components(separatedBy: ", ") }
            return Retired(phrases: list(cells[0]), typeWords: Set(list(cells[1])), typeCountMax: count)
        }
    }()

    private static func retiredWords(in page: SourceFile) -> [String] {
        Prose(page.text).sentences.flatMap { sentence -> [String] in
            let words = sentence.text.lowercased().split { !$0.isLetter && $0 != "-" && $0 != "'" }
            let plain = " \(words.joined(separator: " ")) "
            return retired.flatMap(\.phrases).filter { plain.contains(" \($0) ") }.map {
                "\(page.path):\(sentence.line) says \"\($0)\""
            }
        }
    }

    @Test("texts use the words of the glossary, not those that it retired")
    func retiredWordsStayAway() {
        #expect(Self.retired.count > 10, "Docs/glossary.md lost its table of retired words")
        for page in Self.pages where page.path != "Docs/glossary.md" {
            #expect(Self.retiredWords(in: page) == [])
        }
        #expect(Self.retiredWords(in: SourceFile(path: "a", text: "It is set aside. A `sweep` is none.")).count == 1)
    }

    /// `SweepProof` is `Sweep` and `Proof`.
    private static func words(ofTypeName name: Substring) -> Set<String> {
        Set(name.matches(of: /[A-Z]+(?![a-z])|[A-Z][a-z0-9]*/).map { String($0.output) })
    }

    @Test("no more types than before are named by a retired word")
    func retiredTypeNames() {
        let keywords: Set<Substring> = ["struct", "class", "enum", "protocol", "actor", "typealias"]
        var names: Set<Substring> = []
        for file in SourceTree.sources {
            for line in file.lines {
                let words = line.split(separator: " ")
                guard words.first?.hasPrefix("//") != true, let index = words.firstIndex(where: keywords.contains),
                    index + 1 < words.count
                else { continue }
                let name = words[index + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                if name.first?.isUppercase == true { names.insert(name) }
            }
        }
        #expect(names.count > 1_000)
        for row in Self.retired {
            let found = names.filter { !Self.words(ofTypeName: $0).isDisjoint(with: row.typeWords) }
            #expect(found.count <= row.typeCountMax, "\(row.typeWords): \(found.sorted())")
        }
    }

    // MARK: Habits

    private static let clauses: Set<Substring> = ["What", "Whatever", "Who", "Whoever"]

    private static func openings(of page: SourceFile) -> [String] {
        Prose(page.text).sentences.filter { sentence in
            let first = sentence.text.drop { !$0.isLetter }.prefix(while: \.isLetter)
            return clauses.contains(first) && !sentence.text.hasSuffix("?") && !sentence.text.hasSuffix("?**")
        }
        .map { "\(page.path):\($0.line) \($0.text.prefix(60))…" }
    }

    @Test("sentences of a page name their subject instead of opening with a clause")
    func pagesNameTheirSubject() {
        for page in Self.pages { #expect(Self.openings(of: page) == []) }
        #expect(Self.openings(of: SourceFile(path: "a", text: "What is left goes. What is left?")).count == 1)
    }

    @Test("comments name their subject: fewer and fewer open with a clause in its place")
    func openingsFall() {
        var wordCount = 0
        var openings = 0
        for file in SourceTree.sources {
            for line in file.lines {
                let words = line.split { $0 == " " || $0 == "\t" }
                guard let mark = words.first, mark.hasPrefix("//") else { continue }
                wordCount += words.count - 1
                if words.count > 1, Self.clauses.contains(words[1]) { openings += 1 }
            }
        }
        #expect(wordCount > 100_000)
        let rate = Double(openings) * 1_000 / Double(max(1, wordCount))
        #expect(rate <= Self.openingsPerThousandWordsMax, "\(openings) openings in \(wordCount) words")
    }
}

/// The prose of a Markdown page: paragraphs, items of lists and cells of tables, without code and headings.
struct Prose {
    struct Sentence {
        let line: Int
        let text: String
        let wordCount: Int
    }

    private(set) var sentences: [Sentence] = []
    private var block: [Substring] = []
    private var blockLine = 0

    init(_ text: String) {
        var isCode = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.drop { $0 == " " || $0 == "\t" }
            if content.hasPrefix("```") {
                end()
                isCode.toggle()
            } else if isCode || (line.hasPrefix("    ") && block.isEmpty) {
                continue
            } else if content.isEmpty || content.hasPrefix("#") {
                end()
            } else if content.hasPrefix("|") {
                end()
                let cells = content.replacing("\\|", with: " ").split(separator: "|")
                for cell in cells where cell.contains(where: \.isLetter) { add(cell, line: index + 1) }
            } else {
                let item = Self.itemText(content)
                if item != nil { end() }
                if block.isEmpty { blockLine = index + 1 }
                block.append(item ?? content)
            }
        }
        end()
    }

    private mutating func end() {
        if !block.isEmpty { add(Substring(block.joined(separator: " ")), line: blockLine) }
        block = []
    }

    /// The text behind `- ` or `1. `; nil for a line that begins no item.
    private static func itemText(_ line: Substring) -> Substring? {
        for mark in ["- ", "* ", "+ "] where line.hasPrefix(mark) { return line.dropFirst(2) }
        let rest = line.drop(while: \.isNumber)
        let isNumbered = rest.startIndex > line.startIndex && (rest.hasPrefix(". ") || rest.hasPrefix(") "))
        return isNumbered ? rest.dropFirst(2) : nil
    }

    /// A piece of code counts as one word, the address of a link as none.
    private static func plain(_ text: Substring) -> String {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        var plain = ""
        for (index, part) in parts.enumerated() {
            let isCode = index % 2 == 1 && index + 1 < parts.count
            plain += isCode ? "`x`" : String(part)
        }
        return plain.contains("](") ? plain.replacing(/\]\([^)]*\)/, with: "]") : plain
    }

    private mutating func add(_ text: Substring, line: Int) {
        let words = Self.plain(text).split(separator: " ")
        var start = 0
        for index in words.indices where index + 1 == words.count || Self.ends(words[index], before: words[index + 1]) {
            let count = words[start...index].count { $0.contains { $0.isLetter || $0.isNumber } }
            if count > 0 {
                let text = words[start...index].joined(separator: " ")
                sentences.append(Sentence(line: line, text: text, wordCount: count))
            }
            start = index + 1
        }
    }

    private static func ends(_ word: Substring, before next: Substring) -> Bool {
        let last = word.reversed().first { !"\"')*_`".contains($0) }
        guard let last, ".!?".contains(last), let first = next.first(where: { !"\"'(*_[".contains($0) }) else {
            return false
        }
        return first == "`" || first.isUppercase || first.isNumber
    }
}
