// Putting documents into the tables. Invariant: a document whose words in the full-text table are not those of its
// text has its row in `stale`.

internal import CoffretSQLite

/// The columns of `text` and the title: what a document says.
private struct StoredText: Equatable {
    var title: String
    var tags: String
    var fields: String
    var keys: String
    var links: String
    var body: String

    init(_ document: SearchDocument) {
        title = document.title
        tags = Self.lines(document.tags)
        fields = document.fields.map { "\($0.name) \($0.text)" }.joined(separator: "\n")
        keys = Self.lines(document.keys)
        links = Self.lines(document.links)
        body = document.body
    }

    init(_ row: Statement) {
        title = row.string(at: 0)
        tags = row.string(at: 1)
        fields = row.string(at: 2)
        keys = row.string(at: 3)
        links = row.string(at: 4)
        body = row.string(at: 5)
    }

    var textByteCount: Int { title.utf8.count + tags.utf8.count + fields.utf8.count + body.utf8.count }

    private static func lines(_ entries: [String]) -> String {
        entries.count == 1 ? oneLine(entries[0]) : entries.map(oneLine).joined(separator: "\n")
    }

    /// Lists are kept one entry a line.
    static func oneLine(_ text: String) -> String {
        text.utf8.contains(0x0A) ? String(decoding: text.utf8.map { $0 == 0x0A ? 0x20 : $0 }, as: UTF8.self) : text
    }

    func isSaying(theSameAs other: StoredText) -> Bool {
        title == other.title && tags == other.tags && fields == other.fields && body == other.body
    }
}

/// Writes documents in one transaction.
struct DocumentWriter {
    let connection: Connection
    let tokenizer: ScriptTokenizer
    var attributes: AttributeTable
    /// Whether the tables were empty at first, so that a document is hardly ever there already.
    private let isFilling: Bool
    private var changedBlocks: Set<Int64> = []
    /// Documents that became stale in this transaction since the full-text table was last brought up to date.
    private var newStaleCount = 0
    private var hasLargeStaleText = false

    init(connection: Connection, tokenizer: ScriptTokenizer, attributes: AttributeTable, isFilling: Bool = false) {
        self.connection = connection
        self.tokenizer = tokenizer
        self.attributes = attributes
        self.isFilling = isFilling
    }

    mutating func apply(_ change: DocumentChange) throws(SQLiteError) {
        switch change {
        case .put(let document): try put(document)
        case .remove(let entity): try remove(entity)
        }
    }

    /// Writes the blocks of attributes that changed, and the words of stale documents if they are many or wanted at once;
    /// the last step of a transaction.
    mutating func finish(bringsInWords: Bool = false) throws(SQLiteError) {
        if newStaleCount > 0 {
            let isAtOnce = isFilling || hasLargeStaleText || bringsInWords
            if try connection.staleCount() > (isAtOnce ? 0 : StaleWords.countMax) { try bringInWords() }
        }
        for block in changedBlocks.sorted() {
            try connection.run("INSERT OR REPLACE INTO attribute VALUES (?1, ?2)", block, attributes.encodeBlock(block))
        }
        changedBlocks = []
    }

    private mutating func put(_ document: SearchDocument) throws(SQLiteError) {
        let text = StoredText(document)
        let record = DocumentAttributes(document, textByteCount: text.textByteCount)
        if isFilling, let number = try insert(document, record, text) { return try add(document, record, text, number) }
        if let number = try connection.number(of: document.entity) {
            try replace(document, record, text, number)
        } else if let number = try insert(document, record, text) {
            try add(document, record, text, number)
        } else {
            throw SQLiteError(.corrupt, place: "document")
        }
    }

    /// - Returns: the number of the new row; nil if there is one of this entity.
    private func insert(
        _ document: SearchDocument, _ record: DocumentAttributes, _ text: StoredText
    ) throws(SQLiteError) -> Int64? {
        try connection.run(
            """
            INSERT INTO document (uuid, kind, flags, created, modified, title) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT DO NOTHING
            """, Array(document.entity.dropFirst()), document.kind, record.flags, document.createdMilliseconds,
            document.modifiedMilliseconds, text.title)
        return connection.changedRowCount == 1 ? connection.lastInsertedRowID : nil
    }

    /// Puts a document in whose row in `document` is new.
    private mutating func add(
        _ document: SearchDocument, _ record: DocumentAttributes, _ text: StoredText, _ number: Int64
    ) throws(SQLiteError) {
        try connection.run(
            "INSERT INTO text VALUES (?1, ?2, ?3, ?4, ?5, ?6)", number, text.tags, text.fields, text.keys, text.links,
            text.body)
        if isFilling {
            try connection.run(
                "INSERT INTO search (rowid, title, tags, fields, body) VALUES (?1, ?2, ?3, ?4, ?5)", number, text.title,
                text.tags, text.fields, text.body)
        } else {
            try setStale(number, indexed: nil, text)
        }
        try connection.run("INSERT INTO name VALUES (?1, ?2)", NameKey.derive(text.title, tokenizer), number)
        // Of tags that differ in case alone the last stays, as in `replaceKeys`.
        for tag in document.tags.map(StoredText.oneLine) where !tag.isEmpty {
            try connection.run("INSERT OR REPLACE INTO tag VALUES (?1, ?2, ?3)", foldASCII(tag), number, tag)
        }
        for key in document.keys.map(StoredText.oneLine) where !key.isEmpty {
            try connection.run("INSERT OR IGNORE INTO answer VALUES (?1, ?2)", key, number)
        }
        for link in document.links.map(StoredText.oneLine) where !link.isEmpty {
            try connection.run("INSERT OR IGNORE INTO link VALUES (?1, ?2)", link, number)
        }
        set(record, at: number)
    }

    private mutating func replace(
        _ document: SearchDocument, _ record: DocumentAttributes, _ text: StoredText, _ number: Int64
    ) throws(SQLiteError) {
        let old = try storedText(number)
        if record != attributes[number] || old.title != text.title {
            try connection.run(
                "UPDATE document SET flags = ?2, created = ?3, modified = ?4, title = ?5 WHERE id = ?1", number,
                record.flags, document.createdMilliseconds, document.modifiedMilliseconds, text.title)
        }
        if old != text {
            try connection.run(
                "UPDATE text SET tags = ?2, fields = ?3, keys = ?4, links = ?5, body = ?6 WHERE id = ?1", number,
                text.tags, text.fields, text.keys, text.links, text.body)
            if !old.isSaying(theSameAs: text) { try setStale(number, indexed: old, text) }
            try replaceKeys(number, old: old, new: text)
        }
        set(record, at: number)
    }

    private mutating func remove(_ entity: [UInt8]) throws(SQLiteError) {
        guard let number = try connection.number(of: entity) else { return }
        let old = try storedText(number)
        try setStale(number, indexed: old, nil)
        try replaceKeys(number, old: old, new: nil)
        try connection.run("DELETE FROM text WHERE id = ?1", number)
        try connection.run("DELETE FROM document WHERE id = ?1", number)
        set(DocumentAttributes(), at: number)
    }

    private mutating func set(_ record: DocumentAttributes, at number: Int64) {
        guard record != attributes[number] else { return }
        attributes[number] = record
        changedBlocks.insert(AttributeTable.block(of: number))
    }

    private func storedText(_ number: Int64) throws(SQLiteError) -> StoredText {
        let sql = """
            SELECT document.title, tags, fields, keys, links, body FROM text JOIN document USING (id) WHERE id = ?1
            """
        guard let text = try connection.firstRow(sql, number, read: { row throws(SQLiteError) in StoredText(row) })
        else { throw SQLiteError(.corrupt, place: "text") }
        return text
    }

    /// Notes that the words of a document are not those of its text any more.
    ///
    /// - Parameter indexed: the text whose words are in the full-text table, if the document is not stale already; nil
    ///   if there are none.
    /// - Parameter text: what takes its place, if anything.
    private mutating func setStale(_ number: Int64, indexed: StoredText?, _ text: StoredText?) throws(SQLiteError) {
        // Of a document that is stale already the earlier text stays: its words are those in the table.
        try connection.run(
            "INSERT INTO stale VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING", number, indexed?.title,
            indexed?.tags, indexed?.fields, indexed?.body)
        newStaleCount += 1
        let byteCount = max(indexed?.textByteCount ?? 0, text?.textByteCount ?? 0)
        hasLargeStaleText = hasLargeStaleText || byteCount > StaleWords.textByteCountMax
        if newStaleCount >= StaleWords.batchCount { try bringInWords() }
    }

    private mutating func bringInWords() throws(SQLiteError) {
        try connection.bringInWords(tokenizer)
        newStaleCount = 0
        hasLargeStaleText = false
    }

    // MARK: Names, tags, links

    /// Brings the lookup tables from one text of a document to the next, touching only what differs.
    private func replaceKeys(_ number: Int64, old: StoredText, new: StoredText?) throws(SQLiteError) {
        let oldName = NameKey.derive(old.title, tokenizer)
        let newName = new.map { NameKey.derive($0.title, tokenizer) }
        if oldName != newName {
            try connection.run("DELETE FROM name WHERE name = ?1 AND document = ?2", oldName, number)
            if let newName { try connection.run("INSERT INTO name VALUES (?1, ?2)", newName, number) }
        }
        let oldTags = Self.tags(old)
        let newTags = Self.tags(new)
        for (key, path) in oldTags where newTags[key] != path {
            try connection.run("DELETE FROM tag WHERE key = ?1 AND document = ?2", key, number)
        }
        for (key, path) in newTags where oldTags[key] != path {
            try connection.run("INSERT INTO tag VALUES (?1, ?2, ?3)", key, number, path)
        }
        try replace(number, in: "answer", old: old.keys, new: new?.keys)
        try replace(number, in: "link", old: old.links, new: new?.links)
    }

    private static func tags(_ text: StoredText?) -> [String: String] {
        guard let text else { return [:] }
        var tags: [String: String] = [:]
        for tag in text.tags.split(separator: "\n") { tags[foldASCII(String(tag))] = String(tag) }
        return tags
    }

    private func replace(_ number: Int64, in table: String, old: String, new: String?) throws(SQLiteError) {
        guard old != new else { return }
        let oldKeys = Set(old.utf8.split(separator: 0x0A).map { Array($0) })
        let newKeys = Set((new ?? "").utf8.split(separator: 0x0A).map { Array($0) })
        for key in oldKeys.subtracting(newKeys) {
            let text = String(decoding: key, as: UTF8.self)
            try connection.run("DELETE FROM \(table) WHERE key = ?1 AND document = ?2", text, number)
        }
        for key in newKeys.subtracting(oldKeys) {
            let text = String(decoding: key, as: UTF8.self)
            try connection.run("INSERT INTO \(table) VALUES (?1, ?2)", text, number)
        }
    }
}

extension Connection {
    /// The number under which an entity is kept.
    func number(of entity: [UInt8]) throws(SQLiteError) -> Int64? {
        try firstRow(
            "SELECT id FROM document WHERE uuid = ?1 AND kind = ?2", Array(entity.dropFirst()), entity[0]
        ) { row throws(SQLiteError) in row.int64(at: 0) }
    }
}
