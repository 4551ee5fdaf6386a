// Docs/requirements.md against the tests: a requirement is called tested if and only if a test cites it.

import Testing

@Suite("Requirements")
struct RequirementTests {
    struct Row: Equatable {
        let number: Int
        let isTested: Bool
    }

    static let listedNumbers =
        Array(1...158) + Array(160...175)

    static func rows() throws -> [Row] {
        try SourceTree.text("Docs/requirements.md").split(separator: "\n").compactMap { line in
            guard let match = line.firstMatch(of: /^\| R(\d+) \|.*\| (tested|open) \|$/), let number = Int(match.1)
            else {
                return nil
            }
            return Row(number: number, isTested: match.2 == "tested")
        }
    }

    /// The numbers that occur in tests, as whole words; a test that is skipped for good tests nothing.
    static func citedNumbers() -> Set<Int> {
        var numbers: Set<Int> = []
        for file in SourceTree.tests where !file.path.contains("TidyTests") {
            for line in file.text.split(separator: "\n") where !line.contains(".disabled(") {
                numbers.formUnion(Self.numbers(in: String(line)))
            }
        }
        return numbers
    }

    private static func numbers(in text: String) -> [Int] {
        text.matches(of: /\bR([1-9]\d{0,2})\b/).compactMap { Int($0.1) }
    }

    /// What `swift test --filter LyingServer` runs or visibly skips: the numbers in the titles of tests whose suite or
    /// function is named so.
    static func lyingServerNumbers() -> Set<Int> {
        var numbers: Set<Int> = []
        for file in SourceTree.tests where !file.path.contains("TidyTests") {
            var isSuite = false
            // From a test's attribute to its function; what stands in bodies belongs to nobody.
            var title: String?
            for line in file.text.split(separator: "\n") {
                // Types inside a suite are indented.
                if !line.hasPrefix(" ") && line.contains("struct ") { isSuite = line.contains("LyingServer") }
                if line.hasPrefix("    @Test") { title = "" }
                guard let begun = title else { continue }
                let whole = begun + line
                title = whole
                guard line.contains("func ") else { continue }
                if isSuite || line.contains("LyingServer") { numbers.formUnion(Self.numbers(in: whole)) }
                title = nil
            }
        }
        return numbers
    }

    @Test("the page lists each requirement once, in order")
    func everyNumberOnce() throws {
        #expect(try Self.rows().map(\.number) == Self.listedNumbers)
    }

    @Test("what is called tested is cited by a test, and what is called open by none")
    func statesAreTrue() throws {
        let cited = Self.citedNumbers()
        for row in try Self.rows() {
            #expect(row.isTested == cited.contains(row.number), "R\(row.number)")
        }
        #expect(cited.allSatisfy(Self.listedNumbers.contains))
    }

    @Test("the lying server's suite has each requirement that is about one")
    func lyingServer() {
        let numbers = Self.lyingServerNumbers()
        for number in Array(1...28) + Array(43...49) { #expect(numbers.contains(number), "R\(number)") }
    }
}
