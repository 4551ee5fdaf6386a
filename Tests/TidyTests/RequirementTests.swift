// Docs/requirements.md against the tests: a requirement is called tested if and only if a test cites it.

import Testing

@Suite("Requirements")
struct RequirementTests {
    struct Row: Equatable {
        let number: Int
        let isTested: Bool
    }

    static func rows() throws -> [Row] {
        try SourceTree.text("Docs/requirements.md").split(separator: "\n").compactMap { line in
            guard let match = line.firstMatch(of: /^\| R(\d+) \|.*\| (tested|open) \|$/), let number = Int(match.1)
            else {
                return nil
            }
            return Row(number: number, isTested: match.2 == "tested")
        }
    }

    /// The numbers that occur in tests, as whole words.
    static func citedNumbers() -> Set<Int> {
        var numbers: Set<Int> = []
        for file in SourceTree.tests where !file.path.contains("TidyTests") {
            for match in file.text.matches(of: /\bR([1-9]\d?)\b/) {
                if let number = Int(match.1) { numbers.insert(number) }
            }
        }
        return numbers
    }

    @Test("the page lists each requirement once, in order")
    func everyNumberOnce() throws {
        #expect(try Self.rows().map(\.number) == Array(1...49))
    }

    @Test("what is called tested is cited by a test, and what is called open by none")
    func statesAreTrue() throws {
        let cited = Self.citedNumbers()
        for row in try Self.rows() {
            #expect(row.isTested == cited.contains(row.number), "R\(row.number)")
        }
        #expect(cited.allSatisfy { (1...49).contains($0) })
    }
}
