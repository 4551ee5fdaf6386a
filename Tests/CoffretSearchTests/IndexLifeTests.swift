// The index over time: changes, other processes, damage, what lies on disk.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretSQLite
@testable import CoffretSearch

@Suite("Search index over time")
struct IndexLifeTests {
    let fixture: SearchFixture

    init() throws {
        fixture = try SearchFixture()
    }

    @Test("the index says which state it reflects, and why it cannot be used")
    func states() throws {
        let index = try fixture.open()
        #expect(try index.state() == .rebuildNeeded(.missing))
        #expect(throws: SearchError(rebuild: .missing)) { try index.titles("x") }
        #expect(throws: SearchError(rebuild: .missing)) { try index.update([], newState: [9]) }
        try index.rebuild(newState: [1, 2]) { _ in }
        #expect(try index.state() == .ready(indexedState: [1, 2]))
        try index.update([.put(note(1, "a"))], newState: [3])
        #expect(try fixture.open().state() == .ready(indexedState: [3]))
        #expect(try fixture.open(keyByte: 6).state() == .rebuildNeeded(.damaged))
        #expect(try fixture.open(vaultByte: 2).state() == .rebuildNeeded(.damaged))
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try index.rebuild(newState: [4]) { add in
                try add(note(1, "a"))
                throw Stop()
            }
        }
        #expect(try fixture.open().state() == .rebuildNeeded(.unfinished))
        #expect(try index.state() == .rebuildNeeded(.unfinished))
    }

    @Test("an index of an earlier version is made anew")
    func earlierVersion() throws {
        let index = try fixture.make([note(1, "one")])
        try index.database.write { connection throws(SQLiteError) in
            try connection.execute("DROP TABLE stale")
            try connection.setMeta("version", IndexSchema.version - 1)
        }
        let other = try fixture.open()
        #expect(try other.state() == .rebuildNeeded(.unknownVersion))
        #expect(throws: SearchError(rebuild: .unknownVersion)) { try other.titles("one") }
        #expect(throws: SearchError(rebuild: .unknownVersion)) {
            try other.update([.put(note(2, "two"))], newState: [2])
        }
        try other.rebuild(newState: [3]) { add in try add(note(2, "two")) }
        #expect(try fixture.open().titles("two") == ["two"])
    }

    @Test("after any changes an updated index answers as one that is made anew")
    func updatesEqualRebuild() throws {
        forAll(count: 12) { generator in
            let fixture = try SearchFixture()
            let words = ["alpha", "beta", "gamma", "delta", "中文", "Café", "x-y", "tag"]
            func random(_ number: Int) -> SearchDocument {
                func text(_ count: Int) -> String {
                    (0..<generator.int(in: 0...count)).map { _ in generator.element(of: words) }.joined(separator: " ")
                }
                var document = note(number, text(3), text(20), modified: Int64(generator.int(in: 0...50)))
                document.tags =
                    generator.bool() ? [generator.element(of: words), "a/" + generator.element(of: words)] : []
                document.isTrashed = generator.int(in: 0...5) == 0
                document.isPinned = generator.bool()
                document.fields = generator.bool() ? [("name", text(2))] : []
                document.links = (0..<generator.int(in: 0...2)).map { _ in "t:" + generator.element(of: words) }
                document.keys = generator.bool() ? ["t:" + generator.element(of: words)] : []
                return document
            }
            var model: [Int: SearchDocument] = [:]
            let index = try fixture.make([])
            for step in 0..<15 {
                var changes: [DocumentChange] = []
                for _ in 0..<generator.int(in: 1...6) {
                    let number = generator.int(in: 1...12)
                    if generator.int(in: 0...3) == 0 {
                        model[number] = nil
                        changes.append(.remove(entity(number)))
                    } else {
                        let document = random(number)
                        model[number] = document
                        changes.append(.put(document))
                    }
                }
                try index.update(changes, newState: [UInt8(step)])
                // Words come in with a search, with the change that makes them too many, or at the end.
                if generator.int(in: 0...4) == 0 { _ = try index.titles("alpha") }
            }
            _ = try index.read { session throws(SQLiteError) in
                try session.connection.fullTextCommand("integrity-check")
            }
            let other = try SearchFixture()
            let fresh = try other.make(model.sorted { $0.key < $1.key }.map(\.value))
            for text in words + [
                "alpha beta", "-alpha", "tag:a", "in:trash", "is:pinned beta", "\"beta gamma\"", "al*",
            ] {
                let query = try SearchQuery.parse(text)
                let ours = try index.search(query, limit: 50)
                let theirs = try fresh.search(query, limit: 50)
                try require(ours.totalCount == theirs.totalCount, "\(text)")
                try require(
                    Set(ours.hits.map(\.document)) == Set(theirs.hits.map(\.document)), "\(text)")
                let scores = zip(ours.hits, theirs.hits).allSatisfy { abs($0.score - $1.score) < 1e-9 }
                try require(scores, "scores of \(text)")
            }
            try require(try index.tags() == fresh.tags())
            for number in 1...12 {
                try require(
                    try Set(index.documents(linkingTo: entity(number)))
                        == Set(fresh.documents(linkingTo: entity(number))), "links to \(number)")
                try require(try index.document(entity(number)) == model[number]?.summary)
            }
        }
    }

    @Test("two open indexes see each other's changes")
    func twoIndexes() throws {
        let first = try fixture.make([note(1, "one")])
        let second = try fixture.open()
        #expect(try second.titles("type:note") == ["one"])
        try second.update([.put(note(2, "two")), .put(note(600, "far"))], newState: [2])
        #expect(try first.titles("two") == ["two"])
        try first.update([.remove(entity(2))], newState: [3])
        #expect(try second.titles("two") == [])
        #expect(try second.state() == .ready(indexedState: [3]))
        try first.rebuild(newState: [4]) { add in try add(note(9, "nine")) }
        #expect(try second.titles("type:note") == ["nine"])
    }

    @Test("an update that changes nothing but a pin writes a few pages, an edit few more")
    func smallUpdates() throws {
        let index = try fixture.make((1...500).map { note($0, "note \($0)", "words of note \($0) and many more") })
        var document = note(250, "note 250", "words of note 250 and many more")
        document.isPinned = true
        var before = index.writtenByteCount
        try index.update([.put(document)], newState: [2])
        #expect(index.writtenByteCount - before <= 6 * 4_200)
        before = index.writtenByteCount
        document.body += " and one more"
        try index.update([.put(document)], newState: [3])
        // Six pages, and three for a leaf of texts that becomes two.
        #expect(index.writtenByteCount - before <= 9 * 4_200)
        before = index.writtenByteCount
        #expect(try index.list(ListFilter()).totalCount == 500)
        #expect(index.writtenByteCount == before)
        #expect(try index.titles("is:pinned") == ["note 250"])
        #expect(try index.titles("\"and one more\"") == ["note 250"])
    }

    @Test("words of changes come in together: with a search, or when they are many or long")
    func staleWords() throws {
        let index = try fixture.make((1...100).map { note($0, "note \($0)", "first") })
        func staleCount() throws -> Int {
            try index.read { session throws(SQLiteError) in try session.connection.staleCount() }
        }
        #expect(try staleCount() == 0)
        for step in 0..<9 { try index.update([.put(note(7, "note 7", "step\(step)"))], newState: [2]) }
        try index.update([.remove(entity(8)), .put(note(101, "late", "first"))], newState: [3])
        #expect(try staleCount() == 2)
        // What is listed is the present all the same, here and elsewhere.
        #expect(try fixture.open().resolve("late").map(\.title) == ["late"])
        #expect(try fixture.open().titles("step8") == ["note 7"])
        #expect(try staleCount() == 0)
        #expect(try index.search(SearchQuery.parse("first")).totalCount == 99)
        #expect(try index.titles("step7").isEmpty)
        // The next one takes nothing over from a document that was removed.
        try index.update([.remove(entity(101)), .put(note(102, "later", "second"))], newState: [4])
        #expect(try index.titles("second") == ["later"])
        #expect(try index.titles("late").isEmpty)

        for number in 1...StaleWords.countMax {
            try index.update([.put(note(number, "note \(number)", "third"))], newState: [5])
            #expect(try staleCount() == number)
        }
        try index.update([.put(note(50, "note 50", "third"))], newState: [6])
        #expect(try staleCount() == 0)
        #expect(try index.search(SearchQuery.parse("third")).totalCount == StaleWords.countMax + 1)
        let long = String(repeating: "long ", count: StaleWords.textByteCountMax / 5 + 1)
        try index.update([.put(note(60, "note 60", long))], newState: [7])
        #expect(try staleCount() == 0)
        try index.update((1...600).map { .put(note($0, "note \($0)", "fourth")) }, newState: [8])
        #expect(try staleCount() == 0)
        #expect(try index.search(SearchQuery.parse("fourth")).totalCount == 600)
        // What a document said and was never brought in goes at once.
        try index.update([.put(note(9, "note 9", "fifth")), .remove(entity(9))], newState: [9])
        #expect(try staleCount() == 0)
        #expect(try index.titles("fifth").isEmpty && index.search(SearchQuery.parse("fourth")).totalCount == 599)
    }

    @Test("words of texts that are gone are found by nobody, are counted, and go when the index is made anew")
    func endedWords() throws {
        let text = String(repeating: "filler ", count: 1_000)
        let index = try fixture.make((1...20).map { note($0, "note \($0)", "early \(text)") })
        #expect(try !index.hasEndedWords())
        // Other properties than the text end no words.
        var pinned = note(1, "note 1", "early \(text)")
        pinned.isPinned = true
        try index.update([.put(pinned)], newState: [2])
        #expect(try !index.hasEndedWords())
        func edit(_ step: Int) throws {
            try index.update([.put(note(1, "note 1", "step\(step) \(text)"))], newState: [3])
            #expect(try index.titles("step\(step)") == ["note 1"])
            #expect(try index.titles("step\(step - 1)").isEmpty)
            #expect(try index.search(SearchQuery.parse("filler")).totalCount == 20)
        }
        for step in 1...9 { try edit(step) }
        #expect(try index.hasEndedWords() && !index.isWorn)
        #expect(try fixture.open().titles("step9") == ["note 1"])
        #expect(try fixture.open().search(SearchQuery.parse("early -step9")).totalCount == 19)
        // A word that only such a text had is a typing error like any other.
        #expect(try index.search(SearchQuery.parse("step7 OR erly")).corrections.map(\.word) == ["erly"])
        // Above a MiB, beside a quarter of all text, there is too much of it.
        for step in 10...170 where !index.isWorn { try edit(step) }
        #expect(index.isWorn)
        try index.rebuild(newState: [4]) { add in try add(note(1, "note 1", "fresh")) }
        #expect(try !index.isWorn && !index.hasEndedWords() && index.titles("fresh") == ["note 1"])
    }

    @Test("faults F10: the index takes less room than the texts, also after many edits")
    func size() throws {
        let generator = SeededGenerator(seed: 7)
        func words(_ count: Int) -> String {
            (0..<count).map { _ in "word\(generator.int(in: 0...60) * generator.int(in: 0...60))" }
                .joined(separator: " ")
        }
        let documents = (1...2_000).map { note($0, "note \($0) \(words(3))", words(150), tags: ["a/b"]) }
        let byteCount = documents.reduce(0) { $0 + $1.title.utf8.count + $1.body.utf8.count }
        let index = try fixture.make(documents)
        func sizeShare() throws -> Double {
            Double(try fixture.files().reduce(0) { $0 + $1.bytes.count }) / Double(byteCount)
        }
        let share = try sizeShare()
        #expect(share < 0.9)
        for step in 0..<400 where !index.isWorn {
            try index.update([.put(note(1 + step * 7 % 2_000, "note", words(150)))], newState: [2])
        }
        let shareAfter = try sizeShare()
        #expect(shareAfter < 1.4)
    }

    @Test("no edit writes the large part of the index again")
    func mergesLeaveTheLargeSegment() throws {
        let generator = SeededGenerator(seed: 11)
        func words(_ count: Int) -> String {
            (0..<count).map { _ in "w\(generator.int(in: 0...5_000))" }.joined(separator: " ")
        }
        _ = try fixture.make((1...1_500).map { note($0, words(3), words(60)) })
        // Folding aside.
        let index = try fixture.open(foldPageCount: 100_000)
        let size = try fixture.files().first { $0.name == "index" }?.bytes.count ?? 0
        #expect(size > 150 * 4_096)
        var largest = 0
        for _ in 0..<80 {
            let before = index.writtenByteCount
            try index.update([.put(note(generator.int(in: 1...1_500), words(3), words(60)))], newState: [2])
            _ = try index.titles("nowhere")
            largest = max(largest, index.writtenByteCount - before)
        }
        #expect(largest < 60 * 4_200, "\(largest) bytes")
    }

    @Test("a merged segment's structure is understood to the last byte, or left alone")
    func segmentStructure() throws {
        let one: [UInt8] = [0, 0, 0, 9, 2, 1, 0x81, 0x05, 0, 0, 0, 1, 3, 1, 0x82, 0x11]
        let structure = try #require(SegmentStructure(one))
        #expect(structure.level == 1)
        let settled = try #require(SegmentStructure(structure.settled()))
        #expect(settled.level == SegmentStructure.settledLevel)
        #expect(settled.settled() == structure.settled())
        #expect(structure.settled().suffix(4) == [3, 1, 0x82, 0x11] && structure.settled().starts(with: one[..<4]))
        for length in 0..<one.count { #expect(SegmentStructure(Array(one[..<length])) == nil) }
        #expect(SegmentStructure(one + [0]) == nil)
        // Two segments; a merge under way.
        #expect(SegmentStructure([0, 0, 0, 9, 1, 2, 1, 0, 2, 1, 1, 1, 2, 1, 1]) == nil)
        #expect(SegmentStructure([0, 0, 0, 9, 1, 1, 1, 1, 1, 1, 1, 1]) == nil)
        fuzz([one]) { _ = SegmentStructure($0)?.settled() }
    }

    @Test("no file of the index holds a word of the documents, or of a query, after any operation")
    func nothingInClear() throws {
        let canary = "zebrafinch"
        var document = note(1, "\(canary) title", String(repeating: "\(canary) body ", count: 2_000), tags: [canary])
        document.fields = [("name", canary)]
        document.links = [canary]
        document.keys = [canary]
        func check(_ step: String) throws {
            for (name, bytes) in try fixture.files() {
                for mark in [canary, "fts5", "SQLite format", "CREATE"] {
                    #expect(!bytes.contains(Array(mark.utf8)), "\(name) after \(step)")
                }
            }
        }
        let index = try fixture.make([document, note(2, "other")])
        try check("rebuild")
        _ = try index.titles(canary)
        _ = try index.resolve(canary)
        try check("search")
        document.body += " more \(canary)"
        try index.update([.put(document)], newState: [2])
        try check("update")
        for number in 3..<120 { try index.update([.put(note(number, "\(canary) \(number)", canary))], newState: [3]) }
        try check("folding")
        try index.update([.remove(document.entity)], newState: [4])
        try check("removal")
        #expect(try fixture.files().map(\.name) == ["index", "index.lock", "index.log"])
    }

    @Test("a flipped bit in any page is a reason to rebuild or changes nothing, and a rebuild mends it (R14)")
    func flippedPages() throws {
        let documents = (1...120).map {
            note($0, "note \($0)", "words number \($0) \(String(repeating: "pad ", count: 100))")
        }
        let index = try fixture.make(documents)
        try index.update([.put(note(121, "late", "words"))], newState: [2])
        #expect(try index.titles("late") == ["late"])
        let generator = SeededGenerator.fromEnvironment()
        for (name, bytes) in try fixture.files() where name != "index.lock" {
            let file = try fixture.fileSystem.open(fixture.path + "/" + name, .readWrite)
            for page in 0..<(bytes.count + 4_095) / 4_096 {
                let offset = min(bytes.count - 1, page * 4_096 + generator.int(in: 0...4_095))
                try file.write([bytes[offset] ^ (1 << UInt8(generator.int(in: 0...7)))], at: offset)
                let damaged = try fixture.open()
                do {
                    let state = try damaged.state()
                    let count = try damaged.search(SearchQuery.parse("words"), limit: 200).hits.count
                    // The page was not needed; or the log was cut back to what it held before.
                    #expect(state == .ready(indexedState: [2]) ? count == 121 : count == 120)
                } catch {
                    #expect(error.code == .rebuildNeeded, "\(name) page \(page), seed \(generator.seed)")
                }
                try file.write([bytes[offset]], at: offset)
            }
        }
        #expect(try fixture.open().search(SearchQuery.parse("words"), limit: 200).hits.count == 121)
        let file = try fixture.fileSystem.open(fixture.path + "/index", .readWrite)
        try file.write([UInt8](repeating: 0xFF, count: 5_000), at: 50)
        let broken = try fixture.open()
        #expect(try broken.state() == .rebuildNeeded(.damaged))
        try broken.rebuild(newState: [7]) { add in for document in documents { try add(document) } }
        #expect(try broken.search(SearchQuery.parse("words")).totalCount == 120)
        #expect(try fixture.open().state() == .ready(indexedState: [7]))
    }
}

extension Array where Element == UInt8 {
    /// Whether `part` occurs anywhere.
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        guard part.count <= count, let first = part.first else { return part.isEmpty }
        var start = startIndex
        while let found = self[start...].firstIndex(of: first), found + part.count <= endIndex {
            if self[found..<found + part.count].elementsEqual(part) { return true }
            start = found + 1
        }
        return false
    }
}
