// Lists that come piece by piece, and what large vaults are asked for without reading all of them.

import CoffretBase
import CoffretLogs
import CoffretSearch
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretCore

@Suite("Large vaults")
struct ListingTests {
    let fixture: VaultFixture

    init() throws { fixture = try VaultFixture() }

    private func fill(_ count: Int) throws {
        try fixture.vault.batch { batch in
            for number in 0..<count { try batch.create(ItemDraft(text: "# Note \(number)\n\n#tag\(number % 3)\n")) }
        }
    }

    @Test("F9: the first items of a list of all are there after reading as many", arguments: [true, false])
    func pieces(hasIndex: Bool) throws {
        try fill(500)
        let vault = try fixture.reopened(hasIndex: hasIndex)
        try vault.synchronizeIndex()
        let listing = try vault.listing(limit: 450)
        #expect(listing.totalCount == 500)
        var items = try listing.next(20)
        if hasIndex { #expect(try vault.indexer?.index().listedRowCount == 20) }
        while case let more = try listing.next(100), !more.isEmpty { items += more }
        #expect(items.count == 450 && Set(items.map(\.id)).count == 450)
        let readCount = vault.repository.nodeReadCount
        let ids = try vault.shortIDs(items.map(\.id))
        if hasIndex { #expect(vault.repository.nodeReadCount == readCount, "ids out of the tree") }
        for item in items.prefix(30) { #expect(try vault.shortID(item.id) == ids[item.id]) }
    }

    @Test("F9: a long answer has snippets for its best hits alone, and all its rows")
    func snippets() throws {
        try fixture.vault.batch { batch in
            for number in 0..<230 { try batch.create(ItemDraft(text: "# Note \(number)\n\nsome tomatoes here\n")) }
        }
        let vault = try fixture.reopened(hasIndex: true)
        let hits = try vault.search("tomatoes", limit: 1_000).hits
        #expect(hits.count == 230)
        #expect(hits.prefix(Vault.snippetCountMax).allSatisfy { $0.snippet.contains("tomatoes") })
        #expect(hits.dropFirst(Vault.snippetCountMax).allSatisfy { $0.snippet.isEmpty })
    }

    @Test("an index that turns out to be damaged while a list is shown costs neither an item nor the list")
    func damagedOnTheWay() throws {
        try fill(400)
        let vault = try fixture.reopened()
        let listing = try vault.listing()
        var items = try listing.next(10)
        for name in ["index", "index.log"] {
            let path = fixture.folder.file("search") + "/" + name
            let file = try PosixFileSystem().open(path, .readWrite)
            let zeros = [UInt8](repeating: 0, count: Int(try file.byteCount()))
            try file.write(zeros, at: 0)
        }
        while case let more = try listing.next(100), !more.isEmpty { items += more }
        #expect(items.count == 400 && Set(items.map(\.id)).count == 400)
    }

    @Test("F9: an entry of the log counts a thousand items and goes on")
    func longEntries() throws {
        try fill(LogLine.countedItemMax)
        try fill(LogLine.countedItemMax + 1)
        _ = try fixture.vault.create(ItemDraft(text: "one"))
        let entries = try fixture.reopened().log()
        #expect(entries.map(\.itemCount) == [1, LogLine.countedItemMax, LogLine.countedItemMax])
        #expect(entries.map(\.hasMore) == [false, true, false])
        #expect(entries.map(\.items.count) == [1, LogLine.itemCountMax, LogLine.itemCountMax])
    }
}
