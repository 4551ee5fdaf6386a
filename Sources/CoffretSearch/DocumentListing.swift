// A long list, read piece by piece. Invariant: no document comes twice and none is left out, whatever is written between
// two pieces.

internal import CoffretSQLite

/// A list whose beginning is there at once; between two pieces nothing is locked.
///
/// A document that changes meanwhile comes as it is when it comes.
package final class DocumentListing {
    /// How many documents the list had when it was begun.
    package let totalCount: Int
    private let index: SearchIndex
    private let filter: ListFilter
    private let order: ListOrder
    private let countMax: Int
    /// The rest, as long as the index stands as it did.
    private var numbers: ArraySlice<Int64>
    private var standing: SearchIndex.Standing
    private var given: Set<[UInt8]> = []

    fileprivate init(
        _ index: SearchIndex, _ filter: ListFilter, _ order: ListOrder, countMax: Int, numbers: [Int64],
        totalCount: Int, standing: SearchIndex.Standing
    ) {
        self.index = index
        self.filter = filter
        self.order = order
        self.countMax = countMax
        self.numbers = numbers[...]
        self.totalCount = totalCount
        self.standing = standing
    }

    /// The next documents, `count` at most; none at the end.
    ///
    /// - Complexity: two rows for each; where the index was written to since the last piece, the list is made anew.
    package func next(_ count: Int) throws(SearchError) -> [DocumentSummary] {
        try index.read { session throws(SQLiteError) in
            if session.standing != standing {
                numbers = try session.numbers(filter, order: order, countMax: .max).numbers[...]
                standing = session.standing
            }
            var documents: [DocumentSummary] = []
            while documents.count < count, given.count < countMax, let number = numbers.popFirst() {
                let document = try session.summary(number)
                if given.insert(document.entity).inserted { documents.append(document) }
            }
            index.listedRowCount += documents.count
            return documents
        }
    }

    /// Whether the list has given a document (17 bytes) already.
    package func hasGiven(_ entity: [UInt8]) -> Bool { given.contains(entity) }
}

extension SearchIndex {
    /// The documents that pass a filter, in order, to be read piece by piece.
    ///
    /// - Parameter limit: how many at most.
    package func listing(
        _ filter: ListFilter = ListFilter(), order: ListOrder = .modified, limit: Int = .max
    ) throws(SearchError) -> DocumentListing {
        try read { session throws(SQLiteError) in
            let (numbers, totalCount) = try session.numbers(filter, order: order, countMax: max(0, limit))
            return DocumentListing(
                self, filter, order, countMax: max(0, limit), numbers: numbers, totalCount: totalCount,
                standing: session.standing)
        }
    }

    /// For each document (17 bytes), how many hex digits of its UUID no other document's begins with.
    ///
    /// - Complexity: two look-ups for each.
    package func distinguishingDigitCounts(of entities: [[UInt8]]) throws(SearchError) -> [Int] {
        try readNames { session throws(SQLiteError) in
            var counts: [Int] = []
            for entity in entities {
                let uuid = Array(entity.dropFirst())
                var shared = 0
                for sql in [
                    "SELECT uuid FROM document WHERE uuid < ?1 ORDER BY uuid DESC LIMIT 1",
                    "SELECT uuid FROM document WHERE uuid > ?1 ORDER BY uuid LIMIT 1",
                ] {
                    let other = try session.connection.firstRow(sql, uuid) { row throws(SQLiteError) in
                        row.bytes(at: 0)
                    }
                    shared = max(shared, other.map { HexDigits.sharedCount($0, uuid) } ?? 0)
                }
                counts.append(shared + 1)
            }
            return counts
        }
    }
}

/// Ids as hex digits.
package enum HexDigits {
    /// How many of its first digits a text of bytes shares with another.
    package static func sharedCount(_ left: [UInt8], _ right: [UInt8]) -> Int {
        for (index, (one, other)) in zip(left, right).enumerated() where one != other {
            return 2 * index + (one >> 4 == other >> 4 ? 1 : 0)
        }
        return 2 * min(left.count, right.count)
    }
}
