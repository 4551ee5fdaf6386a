// Long lists, piece by piece.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretSearch

@Suite("Listings")
struct ListingTests {
    let fixture: SearchFixture

    init() throws { fixture = try SearchFixture() }

    private func rest(_ listing: DocumentListing, _ count: Int = 7) throws -> [String] {
        var titles: [String] = []
        while case let documents = try listing.next(count), !documents.isEmpty { titles += documents.map(\.title) }
        return titles
    }

    @Test(
        "F9: a listing gives what the list holds, and reads no more documents than it gives",
        arguments: [ListOrder.modified, .created, .title, .pinnedFirst])
    func pieces(order: ListOrder) throws {
        let index = try fixture.make(
            (1...300).map {
                var document = note($0, "n\($0 * 71 % 300)", tags: ["t\($0 % 3)"], modified: Int64($0 * 37 % 50))
                document.isPinned = $0 % 90 == 0
                return document
            })
        let listing = try index.listing(order: order)
        #expect(listing.totalCount == 300)
        let first = try listing.next(5)
        #expect(index.listedRowCount == 5)
        #expect(first.map(\.tags).allSatisfy { $0.count == 1 })
        #expect(try first.map(\.title) + rest(listing) == index.list(order: order).documents.map(\.title))
        #expect(try rest(index.listing(order: order, limit: 12)).count == 12)
        if order == .pinnedFirst { #expect(first.prefix(3).allSatisfy(\.isPinned) && !first[3].isPinned) }
    }

    @Test("what is written between two pieces makes no document come twice, and none fail to come")
    func changesBetween() throws {
        let index = try fixture.make((1...60).map { note($0, "n\($0)") })
        let listing = try index.listing()
        var titles = try listing.next(20).map(\.title)
        // One that was given, one that was not, one that goes, and a new one.
        var changed = note(60, "n60 anew", modified: 1_000_000)
        changed.isPinned = true
        try fixture.open().update(
            [
                .put(changed), .put(note(3, "n3", "other", modified: 1_000_001)), .remove(entity(5)),
                .put(note(99, "new", modified: 1_000_002)),
            ], newState: [2])
        titles += try listing.next(20).map(\.title)
        // Numbers mean other documents after this.
        try fixture.open().rebuild(newState: [3]) { add in
            for number in (1...60).reversed() where number != 5 { try add(note(number, "n\(number)")) }
            try add(note(99, "new"))
        }
        titles += try rest(listing)
        #expect(Set(titles).count == titles.count)
        #expect(Set(titles) == Set((1...60).filter { $0 != 5 }.map { "n\($0)" } + ["new"]))
    }

    @Test("an id is told apart from its neighbours by as few digits as it takes")
    func digits() throws {
        let index = try fixture.make([
            note(0x1234_5678, "a"), note(0x1234_5679, "b"), note(0x1234_0000, "c"), note(0x4000_0000, "d", kind: "L"),
        ])
        let entities = [
            entity(0x1234_5678), entity(0x1234_5679), entity(0x1234_0000), entity(0x4000_0000, kind: "L"),
        ]
        #expect(try index.distinguishingDigitCounts(of: entities) == [8, 8, 5, 1])
    }

    @Test("conflicted and locked documents can be listed and searched for")
    func marks() throws {
        var (locked, conflicted) = (note(1, "Diary"), note(2, "Plan"))
        locked.isLocked = true
        conflicted.hasConflicts = true
        let index = try fixture.make([locked, conflicted, note(3, "Other")])
        var filter = ListFilter()
        filter.hasConflicts = true
        #expect(try index.list(filter).documents.map(\.title) == ["Plan"])
        #expect(try index.titles("is:conflicted") == ["Plan"] && index.titles("is:locked") == ["Diary"])
        #expect(try index.list(order: .created).documents.map(\.isLocked) == [false, false, true])
    }
}
