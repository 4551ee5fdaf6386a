// Lists, names, tags and links: answers that need no words. Invariant: a reference that could mean two documents gives
// both, and the caller decides.

internal import CoffretBase
internal import CoffretSQLite

extension SearchIndex {
    /// The documents that pass a filter, in order.
    package func list(
        _ filter: ListFilter = ListFilter(), order: ListOrder = .modified, limit: Int = .max, offset: Int = 0
    ) throws(SearchError) -> DocumentList {
        let (start, count) = (max(0, offset), max(0, limit))
        let end = start.addingReportingOverflow(count)
        return try read { session throws(SQLiteError) in
            let (numbers, totalCount) = try session.numbers(
                filter, order: order, countMax: end.overflow ? .max : end.partialValue)
            var documents: [DocumentSummary] = []
            for number in numbers.dropFirst(start) { documents.append(try session.summary(number)) }
            return DocumentList(documents: documents, totalCount: totalCount)
        }
    }

    /// How many documents there are of each kind outside of the trash, and how many lie in it: one pass over the attributes.
    package func counts() throws(SearchError) -> (kinds: [UInt8: Int], trashed: Int) {
        try read { session throws(SQLiteError) in
            var kinds: [UInt8: Int] = [:]
            var trashed = 0
            for record in session.attributes.records where record.isDocument {
                if record.has(Flag.trashed) { trashed += 1 } else { kinds[record.kind, default: 0] += 1 }
            }
            return (kinds, trashed)
        }
    }

    /// The document of an entity (17 bytes); nil if the index does not hold it.
    package func document(_ entity: [UInt8]) throws(SearchError) -> DocumentSummary? {
        try readNames { session throws(SQLiteError) in
            guard let number = try session.number(of: entity) else { return nil }
            return try session.summary(number)
        }
    }

    /// The documents that a reference may mean, by the first of these that gives any: the beginning of an
    /// id in hexadecimal (at least four digits), a title, the beginning of a title.
    ///
    /// Case does not count. Documents in the trash are among them, after the others.
    package func resolve(_ reference: String, limit: Int = 20) throws(SearchError) -> [DocumentSummary] {
        try readNames { session throws(SQLiteError) in
            let byID = try session.documents(idPrefix: reference, limit: limit)
            if !byID.isEmpty { return byID }
            let byName = try session.documents(named: reference)
            if !byName.isEmpty { return Array(byName.prefix(limit)) }
            return try session.documents(titlePrefix: reference, limit: limit)
        }
    }

    /// All tags with the number of their documents, by path. A tag that only has tags below it is not among them.
    package func tags() throws(SearchError) -> [TagCount] {
        try read { session throws(SQLiteError) in
            var tags: [TagCount] = []
            var key = ""
            var spellings: [String: Int] = [:]
            func flush() {
                let count = spellings.values.reduce(0, +)
                let path = spellings.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
                if let path, count > 0 { tags.append(TagCount(path: path, count: count)) }
                spellings = [:]
            }
            try session.connection.forEachRow("SELECT key, document, path FROM tag ORDER BY key") {
                row throws(SQLiteError) in
                guard !session.attributes[row.int64(at: 1)].has(Flag.trashed) else { return }
                let rowKey = row.string(at: 0)
                if rowKey != key {
                    flush()
                    key = rowKey
                }
                spellings[row.string(at: 2), default: 0] += 1
            }
            flush()
            return tags
        }
    }

    /// The documents that answer to a key, those in the trash last.
    package func documents(answeringTo key: String) throws(SearchError) -> [DocumentSummary] {
        try readNames { session throws(SQLiteError) in try session.documents(answeringTo: key) }
    }

    /// The documents that link to one by any key that it answers to; those in the trash left out.
    package func documents(linkingTo entity: [UInt8]) throws(SearchError) -> [DocumentSummary] {
        try read { session throws(SQLiteError) in
            guard let number = try session.number(of: entity) else { return [] }
            var sources: Set<Int64> = []
            for key in try session.answers(of: number) {
                try session.connection.forEachRow("SELECT document FROM link WHERE key = ?1", key) {
                    row throws(SQLiteError) in
                    let source = row.int64(at: 0)
                    if session.visible.contains(source) { sources.insert(source) }
                }
            }
            return try session.ordered(sources)
        }
    }
}

extension ListFilter {
    /// - Parameter mask: of `flags`.
    fileprivate func accepts(_ record: DocumentAttributes, _ mask: FlagMask) -> Bool {
        func agrees(_ wanted: Bool?, _ flag: UInt8) -> Bool { wanted == nil || wanted == record.has(flag) }
        return (kinds?.contains(record.kind) ?? true) && mask.admits(record.itemFlags)
            && agrees(isUntagged.map { !$0 }, DocumentAttributes.tagged)
            && agrees(hasAttachments, DocumentAttributes.attachments)
            && agrees(hasConflicts, DocumentAttributes.conflicted) && (modified?.contains(record.modified) ?? true)
    }
}

extension SearchIndex.Session {
    /// The first documents of a list in order, and how long it is.
    func numbers(
        _ filter: ListFilter, order: ListOrder, countMax: Int
    ) throws(SQLiteError) -> (numbers: [Int64], totalCount: Int) {
        let mask = FlagMask(filter.flags)
        var accepted = DocumentSet(attributes) { filter.accepts($0, mask) }
        for tag in filter.tags { accepted.formIntersection(try documents(tagged: foldASCII(tag))) }
        let table = attributes
        let numbers = accepted.numbers
        let count = min(countMax, numbers.count)
        guard count > 0 else { return ([], numbers.count) }
        let first: [Int64] =
            switch order {
            case .modified: numbers.first(count) { (table[$0].modified, $0) > (table[$1].modified, $1) }
            case .pinnedFirst:
                numbers.first(count) {
                    let pins = (table[$0].has(Flag.pinned), table[$1].has(Flag.pinned))
                    return pins.0 != pins.1 ? pins.0 : (table[$0].modified, $0) > (table[$1].modified, $1)
                }
            case .created: numbers.first(count) { (table[$0].created, $0) > (table[$1].created, $1) }
            case .title: Array(try numbersByTitle(accepted).prefix(count))
            }
        return (first, numbers.count)
    }

    /// The documents with a tag (ASCII letters in lower case) or one below it; if none has it, those with a tag that
    /// has it as its last part.
    func documents(tagged path: String) throws(SQLiteError) -> DocumentSet {
        var documents = DocumentSet(numberMax: attributes.numberMax)
        // "0" is the character after "/".
        try connection.forEachRow(
            "SELECT document FROM tag WHERE key = ?1 OR (key >= ?2 AND key < ?3)", path, path + "/", path + "0"
        ) { row throws(SQLiteError) in documents.insert(row.int64(at: 0)) }
        guard documents.isEmpty else { return documents }
        try connection.forEachRow(
            "SELECT document FROM tag WHERE length(key) > length(?1) AND substr(key, -length(?1)) = ?1", "/" + path
        ) { row throws(SQLiteError) in documents.insert(row.int64(at: 0)) }
        return documents
    }
}

/// Operations of every read.
protocol NameReading {
    var connection: Connection { get }
    var fullText: FullText { get }
}

extension NameReading {
    func summary(_ number: Int64) throws(SQLiteError) -> DocumentSummary {
        guard let summary = try summaryIfThere(number) else { throw SQLiteError(.corrupt, place: "document") }
        return summary
    }

    /// - Complexity: one row.
    func summaryIfThere(_ number: Int64) throws(SQLiteError) -> DocumentSummary? {
        try connection.firstRow(
            "SELECT kind, uuid, title, created, modified, flags, tags FROM document WHERE id = ?1", number
        ) { row throws(SQLiteError) in
            let flags = UInt8(truncatingIfNeeded: row.int64(at: 5))
            return DocumentSummary(
                entity: [UInt8(truncatingIfNeeded: row.int64(at: 0))] + row.bytes(at: 1), title: row.string(at: 2),
                tags: row.string(at: 6).split(separator: "\n").map(String.init),
                createdMilliseconds: row.int64(at: 3), modifiedMilliseconds: row.int64(at: 4),
                flags: DocumentAttributes.itemFlags(flags),
                hasAttachments: flags & DocumentAttributes.attachments != 0,
                isLocked: flags & DocumentAttributes.locked != 0,
                hasConflicts: flags & DocumentAttributes.conflicted != 0)
        }
    }

    fileprivate func numbersByTitle(_ accepted: DocumentSet) throws(SQLiteError) -> [Int64] {
        var numbers: [Int64] = []
        try connection.forEachRow("SELECT document FROM name ORDER BY name, document") {
            row throws(SQLiteError) in
            if accepted.contains(row.int64(at: 0)) { numbers.append(row.int64(at: 0)) }
        }
        return numbers
    }

    /// The documents whose title has that key.
    func numbers(named key: String) throws(SQLiteError) -> Set<Int64> {
        var numbers: Set<Int64> = []
        try connection.forEachRow("SELECT document FROM name WHERE name = ?1", key) { row throws(SQLiteError) in
            numbers.insert(row.int64(at: 0))
        }
        return numbers
    }

    /// In the order in which they are offered: out of the trash before in it, last changed first.
    fileprivate func ordered(_ numbers: Set<Int64>) throws(SQLiteError) -> [DocumentSummary] {
        var documents: [DocumentSummary] = []
        for number in numbers { documents.append(try summary(number)) }
        return documents.sorted { left, right in
            if left.isTrashed != right.isTrashed { return right.isTrashed }
            if left.modifiedMilliseconds != right.modifiedMilliseconds {
                return left.modifiedMilliseconds > right.modifiedMilliseconds
            }
            return left.entity.lexicographicallyPrecedes(right.entity)
        }
    }

    fileprivate func documents(idPrefix: String, limit: Int) throws(SQLiteError) -> [DocumentSummary] {
        let digits = foldASCII(idPrefix).utf8.filter { $0 != UInt8(ascii: "-") }
        guard (4...32).contains(digits.count) else { return [] }
        var nibbles: [UInt8] = []
        for digit in digits {
            switch digit {
            case 0x30...0x39: nibbles.append(digit - 0x30)
            case 0x61...0x66: nibbles.append(digit - 0x61 + 10)
            default: return []
            }
        }
        func bound(filledWith nibble: UInt8) -> [UInt8] {
            let filled = nibbles + [UInt8](repeating: nibble, count: 32 - nibbles.count)
            return (0..<16).map { filled[2 * $0] << 4 | filled[2 * $0 + 1] }
        }
        var numbers: Set<Int64> = []
        try connection.forEachRow(
            "SELECT id FROM document WHERE uuid >= ?1 AND uuid <= ?2 LIMIT ?3", bound(filledWith: 0),
            bound(filledWith: 15), limit
        ) { row throws(SQLiteError) in numbers.insert(row.int64(at: 0)) }
        return try ordered(numbers)
    }

    fileprivate func documents(named title: String) throws(SQLiteError) -> [DocumentSummary] {
        let numbers = try numbers(named: NameKey.derive(title, fullText.tokenizer))
        // The key is coarser than the title: "C" and "C++" share one.
        return try ordered(numbers).filter { NameKey.isSame($0.title, title) }
    }

    fileprivate func documents(titlePrefix prefix: String, limit: Int) throws(SQLiteError) -> [DocumentSummary] {
        let key = NameKey.derive(prefix, fullText.tokenizer)
        guard !key.isEmpty else { return [] }
        var numbers: Set<Int64> = []
        try connection.forEachRow(
            "SELECT document FROM name WHERE name >= ?1 AND name < ?2 LIMIT ?3", key, key + "\u{10FFFF}", 10 * limit
        ) { row throws(SQLiteError) in numbers.insert(row.int64(at: 0)) }
        return try ordered(numbers).filter { NameKey.hasPrefix($0.title, prefix) }.prefix(limit).map { $0 }
    }

    func number(of entity: [UInt8]) throws(SQLiteError) -> Int64? {
        guard entity.count == SearchDocument.entityByteCount else { return nil }
        return try connection.number(of: entity)
    }

    fileprivate func documents(answeringTo key: String) throws(SQLiteError) -> [DocumentSummary] {
        var numbers: Set<Int64> = []
        try connection.forEachRow("SELECT document FROM answer WHERE key = ?1", connection.textHash()(key)) {
            row throws(SQLiteError) in numbers.insert(row.int64(at: 0))
        }
        return try ordered(numbers)
    }

    /// The hashes of the keys that a document answers to.
    fileprivate func answers(of number: Int64) throws(SQLiteError) -> [Int64] {
        let keys = try connection.firstRow("SELECT keys FROM document WHERE id = ?1", number) {
            row throws(SQLiteError) in TextHash.decode(row.bytes(at: 0))
        }
        return keys ?? []
    }
}

extension [Int64] {
    /// The first elements in an order; the rest is not put in order.
    fileprivate func first(_ count: Int, by precedes: (Int64, Int64) -> Bool) -> [Int64] {
        // A long beginning is quicker to sort with the rest.
        guard count < self.count / 16 else { return Array(sorted(by: precedes).prefix(count)) }
        var kept: [Int64] = []
        // Newer documents have greater numbers: from the end, the first that are met are kept to the last.
        for element in reversed() {
            if kept.count == count {
                guard let last = kept.last, precedes(element, last) else { continue }
                kept.removeLast()
            }
            var (low, high) = (0, kept.count)
            while low < high {
                let middle = (low + high) / 2
                if precedes(kept[middle], element) { low = middle + 1 } else { high = middle }
            }
            kept.insert(element, at: low)
        }
        return kept
    }
}
