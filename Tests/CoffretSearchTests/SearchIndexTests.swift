// Finding: words, phrases, prefixes, filters, ranking, snippets, lists, names and links.

import CoffretBase
import CoffretSearch
import CoffretTestSupport
import Testing

@Suite("Search index")
struct SearchIndexTests {
    let fixture: SearchFixture

    init() throws {
        fixture = try SearchFixture()
    }

    func garden() throws -> SearchIndex {
        var login = note(4, "Seed shop", tags: ["shop"], kind: "L")
        login.fields = [("username", "gardener"), ("url", "https://seeds.example.org")]
        var archived = note(5, "Old roses", "roses of last year", tags: ["Garden/Beds"])
        archived.isArchived = true
        var trashed = note(6, "Thrown roses", "roses nobody wanted")
        trashed.isTrashed = true
        var pinned = note(7, "Watering", "the beds need water, roses most of all", tags: ["garden"])
        pinned.isPinned = true
        pinned.hasAttachments = true
        return try fixture.make([
            note(1, "Roses", "how to prune them in spring", tags: ["garden/beds"]),
            note(2, "Compost", "leaves, kitchen waste, faded roses"),
            note(3, "Tools", "secateurs for pruning, spade"),
            login, archived, trashed, pinned,
        ])
    }

    @Test("a word finds title before body, and nothing from the trash")
    func words() throws {
        let index = try garden()
        let titles = try index.titles("roses")
        #expect(titles.first == "Roses")
        #expect(Set(titles) == ["Roses", "Compost", "Old roses", "Watering"])
        #expect(try index.search(SearchQuery.parse("roses")).totalCount == 4)
        #expect(try index.titles("ROSES water") == ["Watering"])
        #expect(try index.titles("nothing") == [])
    }

    @Test("phrases, prefixes, exclusion and alternatives")
    func operators() throws {
        let index = try garden()
        #expect(try index.titles("\"kitchen waste\"") == ["Compost"])
        #expect(try index.titles("\"waste kitchen\"") == [])
        #expect(Set(try index.titles("prun*")) == ["Roses", "Tools"])
        #expect(Set(try index.titles("roses -compost -water")) == ["Roses", "Old roses"])
        #expect(Set(try index.titles("spade OR compost")) == ["Tools", "Compost"])
        #expect(Set(try index.titles("(spade OR leaves) roses")) == ["Compost"])
        #expect(Set(try index.titles("-roses")) == ["Tools", "Seed shop"])
        #expect(Set(try index.titles("tag:shop OR spade")) == ["Seed shop", "Tools"])
        #expect(Set(try index.titles("spade OR -roses")) == ["Tools", "Seed shop"])
    }

    @Test("filters: nested tags, kinds, places, properties, dates")
    func filters() throws {
        let index = try garden()
        #expect(Set(try index.titles("tag:garden")) == ["Roses", "Old roses", "Watering"])
        #expect(Set(try index.titles("tag:GARDEN/beds")) == ["Roses", "Old roses"])
        #expect(try index.titles("tag:gard") == [])
        #expect(try index.titles("type:login") == ["Seed shop"])
        #expect(Set(try index.titles("roses -tag:garden")) == ["Compost"])
        #expect(try index.titles("in:trash") == ["Thrown roses"])
        #expect(try index.titles("roses is:trashed") == ["Thrown roses"])
        #expect(try index.titles("in:archive roses") == ["Old roses"])
        #expect(Set(try index.titles("roses -in:archive")) == ["Roses", "Compost", "Watering"])
        #expect(try index.search(SearchQuery.parse("in:all roses")).totalCount == 5)
        #expect(try index.titles("is:pinned") == ["Watering"])
        #expect(try index.titles("has:attachment") == ["Watering"])
        #expect(Set(try index.titles("is:untagged")) == ["Compost", "Tools"])
        #expect(Set(try index.titles("in:title roses")) == ["Roses", "Old roses"])
        #expect(Set(try index.titles("title:roses")) == ["Roses", "Old roses"])
        #expect(Set(try index.titles("in:body in:fields gardener")) == ["Seed shop"])
        #expect(try index.titles("in:body gardener") == [])
        #expect(try index.titles("username:gardener") == ["Seed shop"])
        #expect(try index.titles("https://seeds.example.org") == ["Seed shop"])
        #expect(try index.search(SearchQuery.parse("after:1970")).totalCount == 6)
        #expect(try index.search(SearchQuery.parse("before:1970-01-01")).totalCount == 0)
    }

    @Test("dates are days of the reader's time")
    func dates() throws {
        let index = try fixture.make([
            note(1, "before", modified: 1_767_225_599_999), note(2, "after", modified: 1_767_225_600_000),
        ])
        #expect(try index.titles("after:2026-01-01") == ["after"])
        #expect(try index.titles("before:2026") == ["before"])
        #expect(try index.titles("on:2025-12-31") == ["before"])
        let query = try SearchQuery.parse("on:2026-01", options: SearchQueryOptions(utcOffsetMilliseconds: 3_600_000))
        #expect(try index.search(query).totalCount == 2)
    }

    @Test("case and diacritics do not count, and scripts without spaces are found by any part")
    func scripts() throws {
        let index = try fixture.make([
            note(1, "Café Zürich", "naïve ÆON"), note(2, "中文笔记", "今天天气很好，我们去公园。"),
            note(3, "東京の地図", "とうきょう タワー"), note(4, "한국어 노트", "서울에서 만나요"),
            note(5, "ไทย", "สวัสดีครับ"), note(6, "Mixed", "iPhone手机 and 日本語text"),
            note(7, "Ελλάδα", "ΑΘΗΝΑ"), note(8, "Москва", "Ёлка"),
        ])
        #expect(try index.titles("cafe zurich") == ["Café Zürich"])
        #expect(try index.titles("cafe\u{301}") == ["Café Zürich"])
        #expect(try index.titles("天气") == ["中文笔记"])
        #expect(try index.titles("气天") == [])
        #expect(try index.titles("笔记 公园") == ["中文笔记"])
        #expect(try index.titles("東京") == ["東京の地図"])
        #expect(try index.titles("タワー") == ["東京の地図"])
        #expect(try index.titles("서울") == ["한국어 노트"])
        #expect(try index.titles("สวัส") == ["ไทย"])
        #expect(try index.titles("iphone") == ["Mixed"])
        #expect(try index.titles("手机") == ["Mixed"])
        #expect(try index.titles("text") == ["Mixed"])
        #expect(try index.titles("αθηνα") == ["Ελλάδα"])
        #expect(try index.titles("ёЛКА") == ["Москва"])
    }

    @Test("nothing that is typed acts as FTS5's own language")
    func noInjection() throws {
        let index = try fixture.make([note(1, "title", "NEAR the body AND so on col:umn caret ^ plus +")])
        for text in [
            "NEAR(the body)", "body\" OR \"x", "{title}:body", "title: body", "^caret", "the + body", "col:umn",
            "a'b;--", "NEAR", "body\u{0}x", "- body", "*", "body NOT", "(body)",
        ] {
            _ = try? index.titles(text)
        }
        #expect(try index.titles("near body") == ["title"])
        #expect(try index.titles("^caret") == ["title"])
        #expect(try index.titles("col:umn") == ["title"])
        #expect(try index.titles("body\" OR \"x") == [])
        #expect(try index.titles("body\" AND \"so") == ["title"])
        #expect(throws: SearchError(.queryEmpty, at: 0)) { try index.titles("... !!!") }
    }

    @Test("ranking: title over tags over fields over body, rare over common, short over long")
    func ranking() throws {
        var field = note(3, "c", kind: "L")
        field.fields = [("note", "quartz")]
        let filler = (10..<60).map { note($0, "filler \($0)", "common words everywhere \($0)") }
        let index = try fixture.make(
            filler + [
                note(4, "d", "quartz is here"), field, note(2, "b", tags: ["quartz"]), note(1, "quartz"),
                note(5, "long", "quartz " + String(repeating: "padding ", count: 300)),
            ])
        #expect(try index.titles("quartz") == ["quartz", "b", "c", "d", "long"])
        let rare = try fixture.make(
            [
                note(1, "x", "common common common rare"), note(2, "y", "common rare rare rare"),
            ] + (10..<60).map { note($0, "filler \($0)", "common") })
        #expect(try rare.titles("common rare").first == "y")
    }

    @Test("pages of results fit together, and equals come last changed first")
    func paging() throws {
        let index = try fixture.make((1...100).map { note($0, "note \($0)", "same words") })
        let all = try index.titles("same", limit: 100)
        #expect(all == (1...100).reversed().map { "note \($0)" })
        var paged: [String] = []
        for offset in stride(from: 0, to: 100, by: 7) { paged += try index.titles("same", limit: 7, offset: offset) }
        #expect(paged == all)
        #expect(try index.search(SearchQuery.parse("same"), limit: 0).totalCount == 100)
        #expect(try index.titles("type:note", limit: 3) == ["note 100", "note 99", "note 98"])
    }

    @Test("a snippet shows the words, marked")
    func snippets() throws {
        let padding = String(repeating: "lorem ipsum dolor ", count: 50)
        let one = note(1, "One", padding + "\nthe “quick” brown\tfox — jumps. " + padding)
        let index = try fixture.make([one, note(2, "Fox only in title")])
        let results = try index.search(SearchQuery.parse("fox \"quick brown\""))
        #expect(results.hits.map(\.document.entity) == [one.entity])
        let snippet = results.snippet(ofBody: one.body, of: one)
        #expect(snippet.isCutAtStart && snippet.isCutAtEnd)
        #expect(!snippet.text.contains("\n") && !snippet.text.contains("\t"))
        let bytes = Array(snippet.text.utf8)
        #expect(snippet.matches.map { String(decoding: bytes[$0], as: UTF8.self) } == ["quick” brown", "fox"])
        let title = try #require(try index.search(SearchQuery.parse("fo* title:title")).hits.first)
        #expect(title.document.title == "Fox only in title")
        #expect(title.titleMatches == [0..<3, 12..<17])
    }

    @Test("snippets of any text and query are whole characters with marks inside")
    func snippetProperty() throws {
        forAll(count: 60) { generator in
            let words = (0..<generator.int(in: 1...60)).map { _ in generator.text(countMax: 12) }
            let text = words.joined(separator: " ")
            let query = generator.element(of: words) + " 天"
            let fixture = try SearchFixture()
            let document = note(1, "t", text + " 天")
            let index = try fixture.make([document])
            guard let parsed = try? SearchQuery.parse(query), let results = try? index.search(parsed) else { return }
            if !results.hits.isEmpty {
                let snippet = results.snippet(ofBody: document.body, of: document)
                let bytes = Array(snippet.text.utf8)
                try require(!snippet.text.contains("\u{FFFD}") || text.contains("\u{FFFD}"))
                var end = 0
                for match in snippet.matches {
                    try require(match.lowerBound >= end && match.upperBound <= bytes.count && !match.isEmpty)
                    try require(String(validating: bytes[match], as: UTF8.self) != nil)
                    end = match.upperBound
                }
            }
        }
    }

    @Test("lists filter, order and page")
    func lists() throws {
        let index = try garden()
        #expect(try index.list().documents.map(\.title).first == "Watering")
        #expect(try index.list().totalCount == 6)
        var filter = ListFilter()
        filter.isTrashed = true
        #expect(try index.list(filter).documents.map(\.title) == ["Thrown roses"])
        filter = ListFilter()
        filter.tags = ["Garden"]
        filter.isArchived = false
        #expect(try index.list(filter, order: .title).documents.map(\.title) == ["Roses", "Watering"])
        filter = ListFilter()
        filter.kinds = [UInt8(ascii: "L")]
        #expect(try index.list(filter).documents.map(\.title) == ["Seed shop"])
        #expect(
            try index.list(order: .title, limit: 2, offset: 1).documents.map(\.title) == ["Old roses", "Roses"])
        #expect(try index.list(order: .created, limit: 1).documents.map(\.title) == ["Watering"])
        #expect(try index.list(limit: 1).totalCount == 6)
    }

    @Test(
        "a page of a list is that part of the whole list, wherever it is cut",
        arguments: [ListOrder.modified, .created])
    func pages(order: ListOrder) throws {
        // Equal times are told apart by the number, so that pages fit together.
        let index = try fixture.make((1...200).map { note($0, "n\($0)", modified: Int64($0 * 37 % 50)) })
        let whole = try index.list(order: order).documents.map(\.title)
        #expect(whole.count == 200)
        for (offset, limit) in [
            (0, 0), (0, 1), (0, 5), (3, 7), (0, 12), (0, 13), (190, 20), (199, 1), (200, 3), (7, .max),
        ] {
            let page = try index.list(order: order, limit: limit, offset: offset)
            #expect(page.documents.map(\.title) == Array(whole.dropFirst(offset).prefix(limit)), "\(offset), \(limit)")
            #expect(page.totalCount == 200)
        }
    }

    @Test("tags are counted as they are written, without the trash")
    func tags() throws {
        var trashed = note(4, "d", tags: ["work"])
        trashed.isTrashed = true
        let index = try fixture.make([
            note(1, "a", tags: ["Garden/Beds"]), note(2, "b", tags: ["Garden/Beds", "garden"]),
            note(3, "c", tags: ["garden/beds"]), trashed,
        ])
        let tags = try index.tags()
        #expect(tags.map(\.path) == ["garden", "Garden/Beds"])
        #expect(tags.map(\.count) == [1, 3])
    }

    @Test("a reference means an id, then a title, then the beginning of a title")
    func references() throws {
        let index = try fixture.make([
            note(0x12AB_0001, "C"), note(0x12AB_0002, "C++"), note(0x3456_0001, "Twin"),
            note(0x3456_0002, "twin", kind: "L"), note(0x7777_0001, "Cafe\u{301}teria and more"),
            note(0x8888_0001, "???"),
        ])
        #expect(try index.resolve("12ab0001").map(\.title) == ["C"])
        #expect(Set(try index.resolve("12AB-00").map(\.title)) == ["C", "C++"])
        #expect(try index.resolve("c++").map(\.title) == ["C++"])
        #expect(try index.resolve(" c ").map(\.title) == ["C"])
        #expect(try index.resolve("TWIN").count == 2)
        #expect(try index.resolve("tw").count == 2)
        #expect(try index.resolve("CAFÉT").count == 1)
        #expect(try index.resolve("???").map(\.title) == ["???"])
        #expect(try index.resolve("nothing of this").isEmpty)
        #expect(try index.document(entity(0x12AB_0002))?.title == "C++")
        #expect(try index.document(entity(9)) == nil)
        #expect(try index.document([1, 2, 3]) == nil)
    }

    @Test("links lead to the documents that answer to their keys, dangle, and are known at the other end")
    func links() throws {
        var source = note(1, "Source")
        source.links = ["t:target", "p:notes/b.md", "t:nowhere", "t:twin"]
        func answering(_ number: Int, _ keys: [String]) -> SearchDocument {
            var document = note(number, "note \(number)")
            document.keys = keys
            return document
        }
        var index = try fixture.make([
            source, answering(2, ["i:02", "t:target"]), answering(3, ["p:notes/b.md", "t:b"]), answering(4, ["t:twin"]),
            answering(5, ["t:twin"]), answering(6, ["t:targe"]),
        ])
        #expect(try source.links.map { try index.documents(answeringTo: $0).count } == [1, 1, 0, 2])
        for (number, count) in [(2, 1), (3, 1), (4, 1), (5, 1), (6, 0), (1, 0)] {
            #expect(try index.documents(linkingTo: entity(number)).count == count, "\(number)")
        }
        // A link that dangled leads somewhere once something answers to it.
        try index.update([.put(answering(7, ["t:nowhere"]))], newState: [2])
        #expect(try index.documents(linkingTo: entity(7)).map(\.title) == ["Source"])
        #expect(try index.documents(answeringTo: "t:nowhere").map(\.title) == ["note 7"])
        source.links = []
        try index.update([.put(source)], newState: [3])
        index = try fixture.open()
        #expect(try index.documents(linkingTo: entity(7)).isEmpty)
        source.links = ["t:target"]
        source.isTrashed = true
        try index.update([.put(source)], newState: [4])
        #expect(try index.documents(linkingTo: entity(2)).isEmpty)
    }
}
