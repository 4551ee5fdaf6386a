// What is found through the index is what reading all items finds, whatever happened in between.

import CoffretBase
import CoffretHistory
import CoffretLogs
import CoffretSearch
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCore

@Suite("Finding")
struct IndexTests {
    let fixture: VaultFixture
    var vault: Vault { fixture.vault }

    init() throws { fixture = try VaultFixture() }

    func note(_ text: String, path: String? = nil) throws -> EntityID {
        var draft = ItemDraft(text: text)
        draft.path = path
        return try vault.create(draft)
    }

    /// Compares what both ways of finding say.
    func expectAgreement(_ queries: [String] = []) throws {
        let plain = try fixture.reopened(hasIndex: false)
        let indexed = try fixture.reopened()
        for order in ItemOrder.allCases {
            #expect(
                Set(try indexed.list(.everything, order: order).map(\.id)) == Set(try plain.list(.everything).map(\.id))
            )
        }
        // Items changed in the same millisecond stand in any order.
        let byID = { (left: ItemSummary, right: ItemSummary) in left.id < right.id }
        #expect(try indexed.list().sorted(by: byID) == plain.list().sorted(by: byID))
        #expect(try indexed.tags() == plain.tags())
        for query in queries {
            let found = try indexed.search(query, limit: 100)
            let read = try plain.search(query, limit: 100)
            #expect(Set(found.hits.map(\.item.id)) == Set(read.hits.map(\.item.id)), "\(query)")
            #expect(found.totalCount == read.totalCount, "\(query)")
        }
        for item in try plain.list(.everything) {
            #expect(try indexed.links(of: item.id) == plain.links(of: item.id))
            #expect(
                Set(try indexed.backlinks(of: item.id).map(\.id)) == Set(try plain.backlinks(of: item.id).map(\.id)))
        }
    }

    @Test("an index with much that is gone is made anew by itself, and loses nothing")
    func worn() throws {
        let padding = String(repeating: "padding ", count: 12_000)
        let id = try note("# Long\n\nfirst")
        for number in 0..<5 { _ = try note("# Other \(number)\n\nfirst") }
        let rebuilds = Rebuilds(of: vault)
        for step in 0..<14 {
            try vault.update(id) { $0.text = "# Long\n\nstep\(step) \(padding)" }
            #expect(try vault.search("step\(step)").hits.map(\.item.id) == [id])
        }
        #expect(rebuilds.count == 2, "with the first search, and above a MiB of words of earlier texts")
        try expectAgreement(["first", "step13", "step12", "padding"])
    }

    @Test("compaction makes the index anew: what was removed is not found, all else is")
    func compaction() throws {
        let gone = try note("# Gone\n\nabracadabra and apples")
        _ = try note("# Kept\n\napples and pears")
        #expect(try vault.search("abracadabra").totalCount == 1)
        try vault.deletePermanently([gone])
        fixture.clock.advance(by: 1000)
        #expect(try vault.search("abracadabra").totalCount == 0)
        #expect(try vault.indexer?.index().hasEndedWords() == true)
        _ = try vault.compact(dropHistoryOlderThan: fixture.clock.now)
        #expect(try vault.indexer?.index().hasEndedWords() == false)
        #expect(try vault.search("abracadabra").totalCount == 0)
        #expect(try vault.search("apples").hits.map(\.item.title) == ["Kept"])
        try expectAgreement(["apples", "abracadabra", "pears"])
    }

    @Test("a note is found as soon as it is written, and no more once it is in the trash or gone")
    func upToDate() throws {
        let id = try note("# Tomatoes\nafter the rain check for blight #garden")
        #expect(try vault.search("blight tomatoes").hits.map(\.item.id) == [id])
        try vault.update(id) { $0.text = "# Tomatoes\nnothing to check" }
        #expect(try vault.search("blight").totalCount == 0)
        #expect(try vault.search("nothing").hits.first?.item.title == "Tomatoes")
        try vault.trash(id)
        #expect(try vault.search("nothing").totalCount == 0)
        #expect(try vault.search("nothing is:trashed").totalCount == 1)
        try vault.deletePermanently([id])
        #expect(try vault.search("nothing is:trashed").totalCount == 0)
        try expectAgreement(["nothing", "tomatoes"])
    }

    /// How often the index was made by reading all items.
    private final class Rebuilds {
        var count = 0

        init(of vault: Vault) {
            vault.observeIndex(
                willRebuild: { _ in self.count += 1 },
                progress: { done, all in if done == all { self.count += 1 } })
        }
    }

    @Test("a large vault without an index is listed and resolved without one; a search makes it, and nothing differs")
    func listedBeforeTheIndex() throws {
        let id = try note("# First\n\napples")
        for number in 0..<20 { _ = try note("# Note \(number)\n\npears") }
        let opened = try fixture.reopened()
        let rebuilds = Rebuilds(of: opened)
        #expect(try !opened.isIndexFarOff(), "a small vault is indexed at once")
        opened.indexer?.quickItemCountMax = 5
        #expect(try opened.isIndexFarOff())
        let page = try opened.pageByReading(limit: 3)
        #expect(page.items.count == 3 && page.totalCount == 21)
        let all = try opened.pageByReading(limit: .max)
        #expect(try opened.resolve("First") == id)
        #expect(rebuilds.count == 0)
        #expect(try opened.search("apples").hits.map(\.item.id) == [id])
        #expect(rebuilds.count == 1)
        #expect(try !opened.isIndexFarOff())
        let listed = try opened.page(limit: .max)
        #expect(Set(listed.items.map(\.id)) == Set(all.items.map(\.id)) && listed.totalCount == all.totalCount)
    }

    @Test("the index built beside a first batch is the one that reading all items makes")
    func builtBeside() throws {
        let rebuilds = Rebuilds(of: vault)
        try vault.batch(indexesBeside: true) { batch in
            var ids: [EntityID] = []
            for number in 0..<90 {
                ids.append(try batch.create(ItemDraft(text: "# Note \(number)\nalpha number\(number) [[Note 7]]")))
            }
            try batch.update(ids[4]) { $0.text = "# Note 4\nbeta instead" }
            try batch.set(.trashed, of: ids[5], to: true)
        }
        try vault.synchronizeIndex()
        #expect(rebuilds.count == 0)
        #expect(try vault.search("alpha").totalCount == 88)
        #expect(try vault.search("beta").hits.map(\.item.title) == ["Note 4"])
        #expect(try vault.search("number4").totalCount == 0)
        try expectAgreement(["alpha", "number7", "beta", "note"])
        // A second batch brings the index up to date in the usual way.
        try vault.batch(indexesBeside: true) { batch in
            _ = try batch.create(ItemDraft(text: "gamma"))
        }
        #expect(try vault.search("gamma").totalCount == 1)
        #expect(rebuilds.count == 0)
    }

    @Test("a first batch that fails, or that deletes, leaves an index that tells the truth")
    func builtBesideInVain() throws {
        #expect(throws: CoreError.self) {
            try vault.batch(indexesBeside: true) { batch in
                for number in 0..<50 { _ = try batch.create(ItemDraft(text: "alpha \(number)")) }
                throw CoreError(.inputOutput)
            }
        }
        #expect(try vault.search("alpha").totalCount == 0)
        let rebuilds = Rebuilds(of: vault)
        let other = try VaultFixture()
        try other.vault.batch(indexesBeside: true) { batch in
            let gone = try batch.create(ItemDraft(text: "alpha gone"))
            _ = try batch.create(ItemDraft(text: "alpha stays"))
            try batch.delete(gone)
        }
        #expect(try other.vault.search("alpha").hits.map(\.snippet) == ["alpha stays"])
        try vault.batch(indexesBeside: true) { _ in }
        #expect(try vault.search("alpha").totalCount == 0)
        #expect(rebuilds.count == 0)
    }

    @Test("of a text that one batch writes twice only the last reaches the disk")
    func writtenTwice() throws {
        let long = String(repeating: "word ", count: 400)
        let id = try vault.batch { batch in
            let id = try batch.create(ItemDraft(text: long + "first"))
            try batch.update(id) { $0.text = long + "second" }
            return id
        }
        #expect(try vault.item(id).text == long + "second")
        let entry = try #require(try vault.lastEntry)
        let changes = try vault.repository.changes(of: entry)
        #expect(Set(changes.map(\.key)).count == changes.count)
    }

    @Test("secrets are in no answer of the index, and other fields are")
    func secrets() throws {
        var draft = ItemDraft(kind: .login, title: "Example")
        draft.fields = [
            ItemField(standard: "username", of: .login, value: "alice")!,
            ItemField(standard: "password", of: .login, value: "canarysecret")!,
            ItemField(key: FieldKey("x-1")!, label: "Odd", kind: FieldKind(rawValue: "hologram"), value: "canaryodd"),
        ]
        let id = try vault.create(draft)
        #expect(try vault.search("alice").hits.map(\.item.id) == [id])
        for word in ["canarysecret", "canaryodd"] {
            #expect(try vault.search(word).totalCount == 0)
            #expect(try fixture.reopened(hasIndex: false).search(word).totalCount == 0)
        }
    }

    @Test("a damaged or deleted index is made again, aloud if it was damaged")
    func rebuild() throws {
        for index in 0..<20 { _ = try note("# Note \(index)\nword\(index)") }
        try vault.synchronizeIndex()
        let folder = fixture.folder.file("search")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let url = URL(fileURLWithPath: folder + "/" + name)
            var bytes = try Data(contentsOf: url)
            guard bytes.count > 5_000 else { continue }
            for offset in stride(from: 100, to: bytes.count, by: 500) { bytes[offset] ^= 0x55 }
            try bytes.write(to: url)
        }
        let damaged = try fixture.reopened()
        var reasons: [RebuildReason] = []
        damaged.observeIndex(willRebuild: { reasons.append($0) })
        #expect(try damaged.search("word7").totalCount == 1)
        #expect(reasons == [.damaged])
        try FileManager.default.removeItem(atPath: folder)
        let missing = try fixture.reopened()
        reasons = []
        missing.observeIndex(willRebuild: { reasons.append($0) })
        #expect(try missing.search("word7").totalCount == 1)
        #expect(reasons.isEmpty)
    }

    @Test("faults F3: one flipped bit in any page of the index, and every way of finding answers as before (R116)")
    func anyPage() throws {
        for index in 0..<40 {
            _ = try note("# Note \(index)\n\n#red see [[Note 7]] word\(index) and words\(index % 7)")
        }
        try vault.synchronizeIndex()
        let url = URL(fileURLWithPath: fixture.folder.file("search/index"))
        let whole = try Data(contentsOf: url)
        let log = URL(fileURLWithPath: fixture.folder.file("search/index.log"))
        let wholeLog = try Data(contentsOf: log)
        let id = try vault.resolve("Note 3")
        for page in 0..<whole.count / 4_096 {
            var damaged = whole
            damaged[page * 4_096 + fixture.random.int(in: 0...511)] ^= 1 << UInt8(fixture.random.int(in: 0...7))
            try damaged.write(to: url)
            try wholeLog.write(to: log)
            let found = try fixture.reopened()
            var reasons: [RebuildReason] = []
            found.observeIndex(willRebuild: { reasons.append($0) }, willRead: { Issue.record("\($0)") })
            #expect(try found.page(limit: 5).totalCount == 40)
            #expect(try found.search("word7").hits.map(\.item.title) == ["Note 7"])
            #expect(try found.tags().map(\.itemCount) == [40])
            #expect(try found.links(of: id).map { $0.items.count } == [1])
            #expect(reasons == [.damaged] || reasons.isEmpty)
            let expected: IndexCheck = reasons.isEmpty ? .madeAnew : .whole
            #expect(try found.checkIndex() == expected, "page \(page)")
            #expect(reasons.count == 1)
            #expect(try fixture.reopened().checkIndex() == .whole)
        }
    }

    @Test("random edits, seen by many processes, leave the index agreeing with the facts")
    func agreement() throws {
        let random = fixture.random
        let words = ["alpha", "beta", "gamma", "delta", "#red", "#red/dark", "#blue", "[[Note 1]]", "[[Note 2]]"]
        var ids: [EntityID] = []
        for round in 0..<60 {
            fixture.clock.advance(by: 1_000)
            let text =
                "# Note \(random.int(in: 0...5))\n"
                + (0..<random.int(in: 0...8)).map { _ in random.element(of: words) }.joined(separator: " ")
            switch random.int(in: 0...6) {
            case 0 where !ids.isEmpty: try vault.update(random.element(of: ids)) { $0.text = text }
            case 1 where !ids.isEmpty: try vault.trash(random.element(of: ids))
            case 2 where !ids.isEmpty: try vault.set(.pinned, of: random.element(of: ids), to: random.bool())
            case 3 where ids.count > 3:
                try vault.deletePermanently([ids.remove(at: random.int(in: 0...ids.count - 1))])
            default: ids.append(try note(text))
            }
            if round % 7 == 0 { _ = try vault.search("alpha") }
        }
        try expectAgreement([
            "alpha", "alpha beta", "\"alpha beta\"", "tag:red", "gam*", "alpha -beta", "in:title note",
        ])
    }

    @Test("many entries lie between two looks at the index")
    func manyCommits() throws {
        let id = try note("first")
        try vault.synchronizeIndex()
        for index in 0..<300 { try vault.update(id) { $0.text = "edit\(index)" } }
        let other = try note("second")
        let reopened = try fixture.reopened()
        #expect(try reopened.search("edit299").hits.map(\.item.id) == [id])
        #expect(try reopened.search("second").hits.map(\.item.id) == [other])
        #expect(try reopened.search("first").totalCount == 0)
    }

    @Test("links by title, path and id lead to notes, and notes know who links to them")
    func links() throws {
        let target = try note("# Target note", path: "book/target.md")
        let source = try note("see [[target NOTE]] and [x](../book/target.md#part) and [[nowhere]]", path: "other/a.md")
        try vault.batch { batch in try batch.addLink(from: source, to: target) }
        let links = try vault.links(of: source)
        #expect(links.map { $0.items.map(\.id) } == [[target], [target], [], [target]])
        #expect(try vault.backlinks(of: target).map(\.id) == [source])
        let twin = try note("# Target Note")
        #expect(Set(try vault.links(of: source)[0].items.map(\.id)) == [target, twin])
        try vault.trash(source)
        #expect(try vault.backlinks(of: target).isEmpty)
        try expectAgreement()
    }

    @Test("the past is searched by the same queries")
    func pastSearch() throws {
        let start = fixture.clock.now
        let id = try note("# Old title\nblight #garden/beds")
        fixture.nextDay()
        try vault.update(id) { $0.text = "# New title\nnothing" }
        let past = try vault.view(at: .time(start))
        #expect(try past.search("blight tag:garden").hits.map(\.item.title) == ["Old title"])
        #expect(try past.search("nothing").totalCount == 0)
        #expect(try past.tags().map(\.path) == ["garden/beds"])
        #expect(throws: CoreError.self) { try past.search("tag:") }
        #expect(throws: CoreError.self) { try vault.search("tag:") }
    }
}
