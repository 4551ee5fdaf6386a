// The tables of the index. Invariant: everything is derived from the vault, so a change here is a new version, and an
// index of another version is made anew.

internal import CoffretSQLite

enum IndexSchema {
    /// Written into the database; part of `Spec/search.md`.
    static let version: Int64 = 5

    /// Leaves of the full-text index fill one page: what a table leaf holds (page 4096, reserved 40,
    /// overhead 35) less the row's own header. FTS5's default would spill 30 bytes of each into a
    /// second page.
    static let leafByteCount = 4_010

    /// FTS5 merges segments when there are sixteen of a level, not four by four while it writes: the words of an edit are
    /// merged half as often, and searches hardly notice (decision 0037).
    ///
    /// The full-text table keeps no texts (they lie in the vault), no lengths (they lie in `attribute`) and no prefix
    /// indexes: those for two and three letters made it 2.4 times as large and sped up nothing but prefixes of two
    /// letters.
    static let sql = """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
        CREATE TABLE document (
            id INTEGER PRIMARY KEY,
            uuid BLOB NOT NULL, kind INTEGER NOT NULL, flags INTEGER NOT NULL,
            created INTEGER NOT NULL, modified INTEGER NOT NULL, title TEXT NOT NULL, tags TEXT NOT NULL,
            keys BLOB NOT NULL, links BLOB NOT NULL, text INTEGER NOT NULL, digest INTEGER NOT NULL,
            UNIQUE (uuid, kind)
        );
        CREATE TABLE stale (
            text INTEGER PRIMARY KEY,
            title TEXT NOT NULL, tags TEXT NOT NULL, fields TEXT NOT NULL, body TEXT NOT NULL
        );
        CREATE TABLE attribute (block INTEGER PRIMARY KEY, records BLOB NOT NULL);
        CREATE TABLE name (
            name TEXT NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (name, document)
        ) WITHOUT ROWID;
        CREATE TABLE answer (
            key INTEGER NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (key, document)
        ) WITHOUT ROWID;
        CREATE TABLE tag (
            key TEXT NOT NULL, document INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY (key, document)
        ) WITHOUT ROWID;
        CREATE TABLE link (
            key INTEGER NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (key, document)
        ) WITHOUT ROWID;
        CREATE VIRTUAL TABLE search USING fts5 (
            body, fields, tags, title, content = '', columnsize = 0, tokenize = 'coffret'
        );
        CREATE VIRTUAL TABLE term USING fts5vocab (search, row);
        CREATE TABLE word (
            length INTEGER NOT NULL, word TEXT NOT NULL, PRIMARY KEY (length, word)
        ) WITHOUT ROWID;
        INSERT INTO search (search, rank) VALUES ('pgsz', \(leafByteCount));
        INSERT INTO search (search, rank) VALUES ('automerge', 0);
        INSERT INTO meta VALUES ('version', \(version));
        """
}

extension Connection {
    /// A command to the full-text table, such as `optimize`.
    func fullTextCommand(_ command: String) throws(SQLiteError) {
        try run("INSERT INTO search (search) VALUES (?1)", command)
    }

    /// A setting of the full-text table.
    func setFullText(_ name: String, _ value: Int64) throws(SQLiteError) {
        try run("INSERT INTO search (search, rank) VALUES (?1, ?2)", name, value)
    }

    func metaBytes(_ name: String) throws(SQLiteError) -> [UInt8]? {
        try firstRow("SELECT value FROM meta WHERE name = ?1", name) { row throws(SQLiteError) in row.bytes(at: 0) }
    }

    func metaInteger(_ name: String) throws(SQLiteError) -> Int64? {
        try firstRow("SELECT value FROM meta WHERE name = ?1", name) { row throws(SQLiteError) in row.int64(at: 0) }
    }

    func setMeta(_ name: String, _ value: some StatementValue) throws(SQLiteError) {
        try run("INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value", name, value)
    }
}
