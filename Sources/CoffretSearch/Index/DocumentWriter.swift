// Putting documents into the tables. Invariant: a number has one text for ever; the document that changes its text gets
// another number for it, and until the words of that are in the full-text table it has its row in `stale`.

internal import CoffretSQLite

/// What is searched of a document. None of it but title and tags is kept.
private struct IndexedText {
    let title: String
    let tags: String
    let fields: String
    let body: String

    init(_ document: SearchDocument) {
        title = document.title
        tags = Self.lines(document.tags)
        fields = document.fieldText
        body = document.body
    }

    var byteCount: Int { title.utf8.count + tags.utf8.count + fields.utf8.count + body.utf8.count }

    func digest(_ hash: TextHash) -> Int64 { hash([title, tags, fields, body]) }

    private static func lines(_ entries: [String]) -> String {
        entries.count == 1 ? oneLine(entries[0]) : entries.map(oneLine).joined(separator: "\n")
    }

    /// Lists are kept one entry a line.
    static func oneLine(_ text: String) -> String {
        text.utf8.contains(0x0A) ? String(decoding: text.utf8.map { $0 == 0x0A ? 0x20 : $0 }, as: UTF8.self) : text
    }
}

/// A row of `document`, as far as it follows from the text.
private struct DocumentRow: Equatable {
    var title: String
    var tags: String
    /// Hashes of the keys that it answers to, and of those that it links to.
    var keys: [Int64]
    var links: [Int64]
    /// The number of its text.
    var text: Int64
    var digest: Int64

    init(_ document: SearchDocument, _ text: IndexedText, number: Int64, hash: TextHash) {
        title = text.title
        tags = text.tags
        keys = document.keys.filter { !$0.isEmpty }.map { hash($0) }
        links = document.links.filter { !$0.isEmpty }.map { hash($0) }
        self.text = number
        digest = text.digest(hash)
    }

    init(_ row: Statement) {
        title = row.string(at: 0)
        tags = row.string(at: 1)
        keys = TextHash.decode(row.bytes(at: 2))
        links = TextHash.decode(row.bytes(at: 3))
        text = row.int64(at: 4)
        digest = row.int64(at: 5)
    }

    /// Tags by their folded paths; of tags that differ in case alone the last.
    var tagsByKey: [String: String] {
        var byKey: [String: String] = [:]
        for tag in tags.split(separator: "\n") { byKey[foldASCII(String(tag))] = String(tag) }
        return byKey
    }
}

/// Writes documents in one transaction.
struct DocumentWriter {
    let connection: Connection
    let tokenizer: ScriptTokenizer
    var attributes: AttributeTable
    /// Whether the tables were empty at first, so that a document is hardly ever there already.
    private let isFilling: Bool
    private let hash: TextHash
    private var changedBlocks: Set<Int64> = []
    /// The size of all texts whose words stand in the full-text table for nothing, in units of 16 bytes.
    private(set) var endedUnits: Int64
    private var hasEnded = false
    /// Texts that became stale in this transaction since the full-text table was last brought up to date.
    private var newStaleCount = 0
    private var hasLargeStaleText = false
    /// Rows of `answer` and `link` that a filling has not written yet: in order they fill the pages of their tables.
    private var unwritten: [(isLink: Bool, key: Int64, document: Int64)] = []
    private static let unwrittenCountMax = 1 << 19

    init(
        connection: Connection, tokenizer: ScriptTokenizer, attributes: AttributeTable, isFilling: Bool = false
    ) throws(SQLiteError) {
        self.connection = connection
        self.tokenizer = tokenizer
        self.attributes = attributes
        self.isFilling = isFilling
        hash = try connection.textHash()
        endedUnits = try connection.endedUnits()
    }

    mutating func apply(_ change: DocumentChange) throws(SQLiteError) {
        switch change {
        case .put(let document): try put(document)
        case .remove(let entity): try remove(entity)
        }
    }

    /// Writes the blocks of attributes that changed, and the words of stale texts if they are many or wanted at once;
    /// the last step of a transaction.
    mutating func finish(bringsInWords: Bool = false) throws(SQLiteError) {
        try writeKeys()
        if newStaleCount > 0 {
            let isAtOnce = isFilling || hasLargeStaleText || bringsInWords
            if try connection.staleCount() > (isAtOnce ? 0 : StaleWords.countMax) { try bringInWords() }
        }
        for block in changedBlocks.sorted() {
            try connection.run("INSERT OR REPLACE INTO attribute VALUES (?1, ?2)", block, attributes.encodeBlock(block))
        }
        changedBlocks = []
        if hasEnded { try connection.setMeta("ended", endedUnits) }
        hasEnded = false
    }

    /// Whether so much of the full-text table stands there for nothing that the index is better made anew.
    var isWorn: Bool { endedUnits > Int64(attributes.lengthUnitsTotal / Self.endedShare) + Self.endedUnitsFree }

    /// A quarter of all text, and one MiB.
    private static let endedShare = 4
    private static let endedUnitsFree: Int64 = 1 << 16

    private mutating func put(_ document: SearchDocument) throws(SQLiteError) {
        let text = IndexedText(document)
        if isFilling, try add(document, text) { return }
        try writeKeys()
        if let number = try connection.number(of: document.entity) {
            try replace(document, text, number)
        } else {
            guard try add(document, text) else { throw SQLiteError(.corrupt, place: "document") }
        }
    }

    /// - Returns: false, and nothing is changed, if there is a document of this entity.
    private mutating func add(_ document: SearchDocument, _ text: IndexedText) throws(SQLiteError) -> Bool {
        let number = attributes.nextNumber
        let row = DocumentRow(document, text, number: number, hash: hash)
        let record = DocumentAttributes(document, textByteCount: text.byteCount)
        try connection.run(
            """
            INSERT INTO document VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            ON CONFLICT (uuid, kind) DO NOTHING
            """, number, Array(document.entity.dropFirst()), document.kind, record.flags,
            document.createdMilliseconds, document.modifiedMilliseconds, row.title, row.tags,
            TextHash.encode(row.keys), TextHash.encode(row.links), row.text, row.digest)
        guard connection.changedRowCount == 1 else { return false }
        set(record, at: number)
        if isFilling {
            try connection.run(
                "INSERT INTO search (rowid, title, tags, fields, body) VALUES (?1, ?2, ?3, ?4, ?5)", number,
                text.title, text.tags, text.fields, text.body)
        } else {
            try setStale(number, text)
        }
        try replaceKeys(number, old: nil, new: row)
        if unwritten.count >= Self.unwrittenCountMax { try writeKeys() }
        return true
    }

    private mutating func replace(
        _ document: SearchDocument, _ text: IndexedText, _ number: Int64
    ) throws(SQLiteError) {
        let old = try row(number)
        var new = DocumentRow(document, text, number: old.text, hash: hash)
        var record = DocumentAttributes(document, textByteCount: text.byteCount)
        record.flags |= attributes[number].flags & DocumentAttributes.moved
        if new.digest != old.digest, try !replaceStale(old.text, text) {
            record.flags |= DocumentAttributes.moved
            end(text: old.text, of: number)
            new.text = attributes.nextNumber
            set(DocumentAttributes(textOf: number), at: new.text)
            try setStale(new.text, text)
        }
        if new != old || record != attributes[number] {
            try connection.run(
                """
                UPDATE document SET flags = ?2, created = ?3, modified = ?4, title = ?5, tags = ?6, keys = ?7,
                    links = ?8, text = ?9, digest = ?10
                WHERE id = ?1
                """, number, record.flags, document.createdMilliseconds, document.modifiedMilliseconds, new.title,
                new.tags, TextHash.encode(new.keys), TextHash.encode(new.links), new.text, new.digest)
            try replaceKeys(number, old: old, new: new)
        }
        set(record, at: number)
    }

    private mutating func remove(_ entity: [UInt8]) throws(SQLiteError) {
        guard let number = try connection.number(of: entity) else { return }
        let old = try row(number)
        try connection.run("DELETE FROM stale WHERE text = ?1", old.text)
        if connection.changedRowCount == 0 { end(text: old.text, of: number) } else { set(.ended, at: old.text) }
        set(.ended, at: number)
        try replaceKeys(number, old: old, new: nil)
        try connection.run("DELETE FROM document WHERE id = ?1", number)
    }

    private mutating func set(_ record: DocumentAttributes, at number: Int64) {
        guard record != attributes[number] else { return }
        attributes[number] = record
        changedBlocks.insert(AttributeTable.block(of: number))
    }

    private func row(_ number: Int64) throws(SQLiteError) -> DocumentRow {
        let sql = "SELECT title, tags, keys, links, text, digest FROM document WHERE id = ?1"
        guard let row = try connection.firstRow(sql, number, read: { row throws(SQLiteError) in DocumentRow(row) })
        else { throw SQLiteError(.corrupt, place: "document") }
        return row
    }

    // MARK: Texts

    /// Notes that the words under a number are nothing's from now on. The record of the document itself is the caller's.
    private mutating func end(text: Int64, of number: Int64) {
        if text != number { set(.ended, at: text) }
        endedUnits += max(1, Int64(attributes[number].lengthUnits))
        hasEnded = true
    }

    /// Puts another text in the place of one that has no words in the full-text table yet; false if it has.
    private mutating func replaceStale(_ number: Int64, _ text: IndexedText) throws(SQLiteError) -> Bool {
        try connection.run(
            "UPDATE stale SET title = ?2, tags = ?3, fields = ?4, body = ?5 WHERE text = ?1", number, text.title,
            text.tags, text.fields, text.body)
        guard connection.changedRowCount == 1 else { return false }
        try noteStale(text)
        return true
    }

    private mutating func setStale(_ number: Int64, _ text: IndexedText) throws(SQLiteError) {
        try connection.run(
            "INSERT INTO stale VALUES (?1, ?2, ?3, ?4, ?5)", number, text.title, text.tags, text.fields, text.body)
        try noteStale(text)
    }

    private mutating func noteStale(_ text: IndexedText) throws(SQLiteError) {
        newStaleCount += 1
        hasLargeStaleText = hasLargeStaleText || text.byteCount > StaleWords.textByteCountMax
        if newStaleCount >= StaleWords.batchCount { try bringInWords() }
    }

    private mutating func bringInWords() throws(SQLiteError) {
        try connection.bringInWords(tokenizer)
        newStaleCount = 0
        hasLargeStaleText = false
    }

    // MARK: Names, tags, links

    /// Brings the lookup tables from one row of a document to the next, touching only what differs.
    private mutating func replaceKeys(_ number: Int64, old: DocumentRow?, new: DocumentRow?) throws(SQLiteError) {
        let oldName = old.map { NameKey.derive($0.title, tokenizer) }
        let newName = new.map { NameKey.derive($0.title, tokenizer) }
        if oldName != newName {
            if let oldName {
                try connection.run("DELETE FROM name WHERE name = ?1 AND document = ?2", oldName, number)
            }
            if let newName { try connection.run("INSERT INTO name VALUES (?1, ?2)", newName, number) }
        }
        let (oldTags, newTags) = (old?.tagsByKey ?? [:], new?.tagsByKey ?? [:])
        for (key, path) in oldTags where newTags[key] != path {
            try connection.run("DELETE FROM tag WHERE key = ?1 AND document = ?2", key, number)
        }
        for (key, path) in newTags where oldTags[key] != path {
            try connection.run("INSERT INTO tag VALUES (?1, ?2, ?3)", key, number, path)
        }
        if isFilling, old == nil, let new {
            for key in Set(new.keys) { unwritten.append((false, key, number)) }
            for key in Set(new.links) { unwritten.append((true, key, number)) }
            return
        }
        try replace(number, in: "answer", old: old?.keys, new: new?.keys)
        try replace(number, in: "link", old: old?.links, new: new?.links)
    }

    private mutating func writeKeys() throws(SQLiteError) {
        guard !unwritten.isEmpty else { return }
        for row in unwritten.sorted(by: { ($0.key, $0.document) < ($1.key, $1.document) }) {
            try connection.run("INSERT INTO \(row.isLink ? "link" : "answer") VALUES (?1, ?2)", row.key, row.document)
        }
        unwritten = []
    }

    private func replace(_ number: Int64, in table: String, old: [Int64]?, new: [Int64]?) throws(SQLiteError) {
        guard old != new else { return }
        let (old, new) = (Set(old ?? []), Set(new ?? []))
        for key in old.subtracting(new) {
            try connection.run("DELETE FROM \(table) WHERE key = ?1 AND document = ?2", key, number)
        }
        for key in new.subtracting(old) { try connection.run("INSERT INTO \(table) VALUES (?1, ?2)", key, number) }
    }
}

extension Connection {
    /// The number under which an entity is kept.
    func number(of entity: [UInt8]) throws(SQLiteError) -> Int64? {
        try firstRow(
            "SELECT id FROM document WHERE uuid = ?1 AND kind = ?2", Array(entity.dropFirst()), entity[0]
        ) { row throws(SQLiteError) in row.int64(at: 0) }
    }

    /// The size of the texts whose words stand in the full-text table for nothing, in units of 16 bytes.
    func endedUnits() throws(SQLiteError) -> Int64 { try metaInteger("ended") ?? 0 }
}
