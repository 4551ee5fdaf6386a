// What a search forgives, and what it puts first.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretSearch

@Suite("Search that finds")
struct SearchQualityTests {
    let fixture: SearchFixture

    init() throws { fixture = try SearchFixture() }

    private func titles(_ index: SearchIndex, _ text: String) throws -> [String] {
        try find(index, text).hits.map(\.document.title)
    }

    private func find(_ index: SearchIndex, _ text: String) throws -> SearchResults {
        try index.search(SearchQuery.parse(text, options: SearchQueryOptions(lastWordIsPrefix: true)))
    }

    @Test("use 6: the last word counts as a beginning, and as itself first")
    func beginnings() throws {
        let index = try fixture.make([
            note(1, "Shopping", "bread"), note(2, "Shop", "opens at nine"), note(3, "Workshop", "tools"),
        ])
        #expect(try titles(index, "shop") == ["Shop", "Shopping"])
        #expect(try titles(index, "sho bread") == [], "only the last word may go on")
        #expect(try titles(index, "bread sho") == ["Shopping"])
        #expect(try titles(index, "-shop").sorted() == ["Shopping", "Workshop"])
        #expect(try find(index, "bread shopp").hits[0].titleMatches == [0..<8])
    }

    @Test("a beginning goes on to words with digits, to one of many words, and to words that came after the rebuild")
    func endings() throws {
        let letters = "abcdefghijklmnopqrstuvwxyz".map(String.init)
        var documents = (0..<60).map { note($0, "Number \($0)", "con" + letters[$0 / 26] + letters[$0 % 26]) }
        documents.append(note(90, "Protocols", "ipv6 and x509cert"))
        let index = try fixture.make(documents)
        #expect(try titles(index, "protocols ipv") == ["Protocols"])
        #expect(try titles(index, "protocols x509") == ["Protocols"])
        #expect(try find(index, "number con").totalCount == 60, "more words than are looked up one by one")
        #expect(try find(index, "number cona").totalCount == 26)
        try index.update([.put(note(91, "Later", "protocols userNameField"))], newState: [2])
        #expect(try titles(index, "protocols usernamef") == ["Later"])
        #expect(try titles(index, "protocols fie") == ["Later"])
    }

    @Test("what is called by signs alone is found by them")
    func signs() throws {
        let index = try fixture.make([note(1, "[", "test"), note(2, "[[", "the same"), note(3, "Other", "[ ]")])
        #expect(try titles(index, "[") == ["["] && titles(index, "[[") == ["[["])
        #expect(throws: SearchError(.queryEmpty, at: 0)) { try find(index, "{") }
    }

    @Test("use 6: a word that is nowhere is matched by the nearest ones, which is said")
    func nearest() throws {
        let index = try fixture.make([
            note(1, "Shopping", "docker extract archive"), note(2, "Other", "dock words compression"),
        ])
        for (text, word, nearest) in [
            ("shoping", "shoping", "shopping"), ("dockr archive", "dockr", "docker"),
            ("extarct archive", "extarct", "extract"), ("comprezzion", "comprezzion", "compression"),
        ] {
            let results = try find(index, text)
            #expect(results.totalCount == 1, "\(text)")
            #expect(
                results.corrections.first?.word == word && results.corrections.first?.nearest.contains(nearest) == true)
        }
        #expect(try find(index, "shopping").corrections.isEmpty)
        #expect(
            try find(index, "shpopnig").corrections.first?.nearest == ["shopping"], "two edits from eight letters on")
        #expect(try find(index, "extaarcct").totalCount == 0, "three edits are too many")
        #expect(try find(index, "other -shoping").corrections.isEmpty, "what is left out is left alone")
    }

    @Test("the nearest words are those that comparing with every word gives, also after words came in")
    func comparedWithEveryWord() throws {
        /// The distance by its definition, over whole words.
        func editCount(_ left: [Character], _ right: [Character]) -> Int {
            var rows = [Array(0...right.count)]
            for row in 1...left.count {
                rows.append([row] + Array(repeating: 0, count: right.count))
                for column in 1...right.count {
                    let isSame = left[row - 1] == right[column - 1]
                    rows[row][column] = min(
                        rows[row - 1][column] + 1, rows[row][column - 1] + 1,
                        rows[row - 1][column - 1] + (isSame ? 0 : 1))
                    if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                        rows[row][column] = min(rows[row][column], rows[row - 2][column - 2] + 1)
                    }
                }
            }
            return rows[left.count][right.count]
        }
        forAll(count: 20) { generator in
            let fixture = try SearchFixture()
            func word() -> String {
                let letters: [Character] = ["a", "b", "c", "é", "ж", "z"]
                return String((0..<generator.int(in: 3...11)).map { _ in generator.element(of: letters) })
            }
            var known = Set((0..<120).map { _ in word() })
            let index = try fixture.make([note(1, "n", known.sorted().joined(separator: " "))])
            for step in 0..<30 {
                if step % 10 == 9 {
                    let more = (0..<5).map { _ in word() }
                    try index.update([.put(note(2 + step, "n", more.joined(separator: " ")))], newState: [2])
                    known.formUnion(more)
                }
                let wrong = word()
                // The index folds diacritics.
                let folded = Set(known.map { $0.replacing("é", with: "e") })
                let sought = Array(wrong.replacing("é", with: "e"))
                guard sought.count >= 4, !folded.contains(String(sought)) else { continue }
                let counts = folded.map { (word: $0, count: editCount(sought, Array($0))) }
                let least = counts.map(\.count).min() ?? 0
                let expected = counts.filter { $0.count == least && least <= (sought.count >= 8 ? 2 : 1) }.map(\.word)
                let found = try index.search(SearchQuery.parse(wrong)).corrections.first?.nearest ?? []
                if expected.count <= 8 {
                    try require(Set(found) == Set(expected), "\(wrong): \(found), not \(expected)")
                } else {
                    try require(found.count == 8 && Set(found).isSubset(of: expected), "\(wrong)")
                }
            }
        }
    }

    @Test("the vocabulary follows changes, and forgets when the index is made anew")
    func vocabulary() throws {
        let index = try fixture.make([note(1, "One", "alpha")])
        try index.update([.put(note(2, "Two", "zucchini"))], newState: [2])
        #expect(try find(index, "zuchini").hits.map(\.document.title) == ["Two"])
        try index.update([.remove(entity(2))], newState: [3])
        #expect(try find(index, "zuchini").totalCount == 0)
        try index.rebuild(newState: [4]) { add in try add(note(1, "One", "alpha")) }
        #expect(try find(index, "zuchini").corrections.isEmpty)
        #expect(try find(index, "alpa").totalCount == 1)
    }

    @Test("use 19: strokes, ligatures, kana, emoji and camel case are found as people type them")
    func folding() throws {
        let texts = [
            "Straße", "Łódź", "ёлка", "カタカナ", "ﾒﾓ", "ガギ", "camelCaseName", "Smørrebrød", "Æther", "🚀 start", "ｗｉｄｅ",
            "ﾊﾟﾝ",
        ]
        let index = try fixture.make(texts.enumerated().map { note($0, "n\($0)", "about \($1) here") })
        for (number, words) in [
            (0, ["strasse", "straße", "STRASSE"]), (1, ["lodz", "łódź"]), (2, ["елка", "ёлка", "ЁЛКА"]),
            (3, ["かたかな", "ｶﾀｶﾅ", "カタ"]), (4, ["メモ", "めも"]), (5, ["がぎ", "ｶﾞｷﾞ", "ガ"]),
            (
                6,
                ["camelCase", "casename", "camelcasename", "case", "\"about camelcasename\"", "\"camelcasename here\""]
            ),
            (7, ["smorrebrod"]), (8, ["aether"]), (9, ["🚀", "🚀 start"]), (10, ["wide"]), (11, ["パン", "ぱん"]),
        ] {
            for word in words { #expect(try titles(index, word) == ["n\(number)"], "\(word)") }
        }
        #expect(throws: SearchError(.queryEmpty, at: 0)) { try find(index, "?") }
    }

    @Test("keys and codes are no camel case, and what was put in comes out again")
    func codes() throws {
        let index = try fixture.make([note(1, "Key", "aGVsbG8gd29ybGQ iPhone"), note(2, "GitHub", "tokenValue")])
        #expect(try find(index, "phone").corrections.first?.nearest == ["iphone"], "found as a typing error alone")
        #expect(try titles(index, "iphone") == ["Key"])
        #expect(try titles(index, "hub") == ["GitHub"])
        try index.update([.put(note(2, "Gone", "nothing"))], newState: [2])
        for word in ["hub", "github", "token", "value", "tokenvalue"] {
            #expect(try titles(index, word) == [], "\(word)")
        }
    }

    @Test("titles that are asked for come first, words that stand together before words apart")
    func order() throws {
        let filler = (0..<60).map { "filler\($0)" }.joined(separator: " ")
        let index = try fixture.make([
            note(1, "git gui", "\(filler) commit and amend"), note(2, "git commit", "\(filler) amend the last one"),
            note(3, "Apart", "\(filler) copper \(filler) spray"),
            note(4, "Together", "\(filler) copper spray \(filler)"),
        ])
        #expect(try titles(index, "git commit amend").first == "git commit")
        #expect(try titles(index, "copper spray") == ["Together", "Apart"])
    }

    @Test("use 19: the last part of a nested tag finds it, where no tag has that name alone")
    func lastTagPart() throws {
        let index = try fixture.make([
            note(1, "Mount", "disk", tags: ["pages/linux"]), note(2, "Top", "disk", tags: ["garden"]),
            note(3, "Below", "disk", tags: ["yard/garden"]),
        ])
        #expect(try titles(index, "tag:linux disk") == ["Mount"])
        #expect(try titles(index, "tag:garden") == ["Top"])
        #expect(try titles(index, "tag:nux") == [])
    }
}
