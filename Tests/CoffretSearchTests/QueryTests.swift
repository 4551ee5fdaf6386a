// Queries: any text gives a query or a named error with a place.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretSearch

/// The entry for fuzzing: any bytes as a query.
func fuzzSearchQuery(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    do throws(SearchError) {
        let query = try SearchQuery.parse(text, options: SearchQueryOptions(lastWordIsPrefix: bytes.count % 2 == 0))
        _ = MatchExpression(query.root, columns: query.columns)
    } catch {
        precondition(error.code.rawValue.hasPrefix("search.query."))
        precondition((0...text.utf8.count).contains(error.byteOffset ?? -1))
    }
}

@Suite("Search queries")
struct QueryTests {
    func word(_ text: String, isPrefix: Bool = false, column: SearchColumn? = nil) -> QueryNode {
        .text(TextTerm(text: text, isPrefix: isPrefix, column: column))
    }

    @Test("words, phrases, prefixes and signs are read as they are meant")
    func shapes() throws {
        func root(_ text: String) throws -> QueryNode { try SearchQuery.parse(text).root }
        #expect(try root("two words") == .all([word("two"), word("words")]))
        #expect(try root("\"a phrase\" pre*") == .all([word("a phrase"), word("pre", isPrefix: true)]))
        #expect(try root("“typed quotes”*") == word("typed quotes", isPrefix: true))
        #expect(try root("\"open end") == word("open end"))
        #expect(try root("a -bee") == .all([word("a"), .not(word("bee"))]))
        #expect(try root("NOT b - c-d") == .all([.not(word("b")), word("-"), word("c-d")]))
        #expect(try root("--\"a\"") == word("a"))
        #expect(try root("a OR b c") == .any([word("a"), .all([word("b"), word("c")])]))
        #expect(try root("a|b AND (c OR -dee)") == .all([word("a|b"), .any([word("c"), .not(word("dee"))])]))
        #expect(try root("or and not") == .all([word("or"), word("and"), word("not")]))
        #expect(try root("OR a OR") == word("a"))
        #expect(try root("tag:#garden/beds/") == .filter(.tag("garden/beds")))
        #expect(try root("tag:\"two words\"") == .filter(.tag("two words")))
        #expect(
            try root("type:Login title:x*") == .all([.filter(.kind(0x4C)), word("x", isPrefix: true, column: .title)]))
        #expect(try root("http://a.b 12:30") == .all([word("http://a.b"), word("12:30")]))
        #expect(try root("a\u{3000}b\u{A0}c") == .all([word("a"), word("b"), word("c")]))
        let query = try SearchQuery.parse("in:title in:body x in:trash")
        #expect(query.columns == [.title, .body] && query.includesTrashed)
        #expect(query.root == .all([word("x"), .filter(.flag(.trashed))]))
    }

    @Test("use 7: a dash excludes, but neither in quotes nor in what looks like a command")
    func commands() throws {
        func query(_ text: String) throws -> SearchQuery { try SearchQuery.parse(text) }
        #expect(try query("tomato -blight -\"late blight\"").exclusions == ["blight", "late blight"])
        for text in ["find . -name", "grep -r", "git commit --amend -note", "find \"-name\"", "ls / -tag"] {
            #expect(try query(text).exclusions.isEmpty, "\(text)")
        }
        #expect(try query("find . -name").root == .all([word("find"), word("."), word("-name")]))
        // Filters, groups and NOT mean the same everywhere.
        #expect(try query("find . -tag:linux").root == .all([word("find"), word("."), .not(.filter(.tag("linux")))]))
        #expect(try query("find . NOT name -(x y)").exclusions == ["name", "x", "y"])
        #expect(try query("tar -xzf").exclusions == [])
        #expect(try query("\". -a\" -bee").exclusions == ["bee"])
    }

    @Test("the last word goes on while typing, unless a space ends it")
    func typing() throws {
        let options = SearchQueryOptions(lastWordIsPrefix: true)
        #expect(
            try SearchQuery.parse("two wor", options: options).root
                == .all([word("two"), .text(TextTerm(text: "wor", isPrefix: false, column: nil, goesOn: true))]))
        #expect(try SearchQuery.parse("two -wor", options: options).root == .all([word("two"), .not(word("wor"))]))
        #expect(try SearchQuery.parse("two wo", options: options).root == .all([word("two"), word("wo")]))
        #expect(try SearchQuery.parse("two wor ", options: options).root == .all([word("two"), word("wor")]))
        #expect(try SearchQuery.parse("\"two wor\"", options: options).root == word("two wor"))
    }

    @Test(
        "errors are named and have a place",
        arguments: [
            ("", SearchError(.queryEmpty, at: 0)), ("   ", SearchError(.queryEmpty, at: 0)),
            ("()", SearchError(.queryEmpty, at: 0)), ("in:title", SearchError(.queryEmpty, at: 0)),
            ("-", SearchError(.queryEmpty, at: -1)),
            ("a (b", SearchError(.queryUnbalanced, at: 2)), ("a) b", SearchError(.queryUnbalanced, at: 1)),
            ("a tag:", SearchError(.queryMissingValue, at: 2)), ("tag: b", SearchError(.queryMissingValue, at: 0)),
            ("tag:\"\"", SearchError(.queryMissingValue, at: 0)), ("tag:##", SearchError(.queryMissingValue, at: 4)),
            ("type:dragon", SearchError(.queryUnknownType, at: 5)),
            ("é in:here", SearchError(.queryUnknownPlace, at: 6)),
            ("is:big", SearchError(.queryUnknownProperty, at: 3)),
            ("after:soon", SearchError(.queryInvalidDate, at: 6)),
            ("on:2026-02-30", SearchError(.queryInvalidDate, at: 3)),
            ("on:2026-2", SearchError(.queryInvalidDate, at: 3)),
            ("on:2026-02-03-04", SearchError(.queryInvalidDate, at: 3)),
            ("-in:title a", SearchError(.queryMisplacedScope, at: 4)),
            ("(in:title a)", SearchError(.queryMisplacedScope, at: 4)),
        ])
    func errors(_ text: String, _ expected: SearchError) {
        // A lone minus is a word without letters, which only the index can tell.
        if expected.byteOffset == -1 {
            #expect((try? SearchQuery.parse(text).root) == word("-"))
        } else {
            #expect(throws: expected) { try SearchQuery.parse(text) }
        }
    }

    @Test("limits hold at their value and not above")
    func limits() throws {
        let words = { (count: Int) in (0..<count).map { "w\($0)" }.joined(separator: " ") }
        _ = try SearchQuery.parse(words(64))
        #expect(throws: SearchError(.queryTooManyTerms, at: words(64).utf8.count + 1)) {
            try SearchQuery.parse(words(65))
        }
        _ = try SearchQuery.parse(String(repeating: "(", count: 16) + "a" + String(repeating: ")", count: 16))
        #expect(throws: SearchError(.queryTooDeep, at: 16)) {
            try SearchQuery.parse(String(repeating: "(", count: 17) + "a" + String(repeating: ")", count: 17))
        }
        _ = try SearchQuery.parse(String(repeating: "a", count: 4_096))
        #expect(throws: SearchError(.queryTooLong, at: 4_096)) {
            try SearchQuery.parse(String(repeating: "a", count: 4_097))
        }
        _ = try? SearchQuery.parse(String(repeating: "-", count: 4_000) + "a")
    }

    @Test("any text is a query or a named error, and what is a query runs")
    func anyText() throws {
        let fixture = try SearchFixture()
        let index = try fixture.make([note(1, "title", "some body OR other")])
        let signs = [
            "\"", "(", ")", "-", "*", ":", "OR", "NOT", "tag:", "in:", "type:login", " ", "after:", "2026", "中", "^",
            "{",
        ]
        forAll(count: 400) { generator in
            var text = ""
            for _ in 0..<generator.int(in: 0...12) {
                text += generator.bool() ? generator.element(of: signs) : generator.text(countMax: 4)
                if generator.bool() { text += " " }
            }
            do {
                let query = try SearchQuery.parse(text)
                _ = try index.search(query)
            } catch let error as SearchError {
                try require(error.code.rawValue.hasPrefix("search.query."), "\(text.debugDescription): \(error)")
            }
        }
    }

    @Test("mutated queries never crash the parser")
    func fuzzing() {
        fuzz(
            [
                "two words \"a phrase\" pre* tag:garden/beds type:login in:title -not",
                "(a OR b) -(c d) after:2026-01-01",
            ]
            .map { Array($0.utf8) }, fuzzSearchQuery)
    }
}
