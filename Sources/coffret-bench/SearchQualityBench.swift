// Whether a search finds the right page, beside plain SQLite FTS5. Invariant: both hold the same pages and are asked
// the same queries, and a page is right by its title alone.

import CoffretBase
import CoffretSQLite
import CoffretSearch
import Glibc

enum SearchQualityBench {
    private struct Query {
        let set: String
        let kind: String
        let title: String
        let text: String
    }

    /// `search-quality DIRECTORY`: reads `documents` and `queries` there, as `Benchmarks/compare.py` writes them:
    /// records that end with U+001E, of parts between U+001F.
    static func run(_ arguments: [String]) throws {
        guard let directory = arguments.first else {
            print("usage: coffret-bench search-quality DIRECTORY")
            exit(64)
        }
        let documents = try records(PathText.join(directory, "documents"))
        let queries = try records(PathText.join(directory, "queries")).map {
            Query(set: $0[0], kind: $0[1], title: $0[2], text: $0[3])
        }
        let plain = try Connection(path: PathText.join(directory, "plain.db"), .createIfAbsent)
        try plain.execute(
            """
            CREATE VIRTUAL TABLE search USING fts5 (title, body, tokenize = 'unicode61 remove_diacritics 2');
            """)
        try plain.transaction { () throws(SQLiteError) in
            for document in documents {
                try plain.run("INSERT INTO search VALUES (?1, ?2)", document[0], document[1])
            }
        }
        let ours = try SearchBench.openIndex(directory)
        try ours.rebuild(newState: [1]) { add in
            for (number, document) in documents.enumerated() {
                try add(
                    SearchDocument(
                        entity: [UInt8(ascii: "N")] + UInt64(number).bigEndianBytes + UInt64(number).bigEndianBytes,
                        title: document[0], body: document[1]))
            }
        }
        print(row(["queries", "set", "count", "plain FTS5", "Coffret"]))
        print(row(["---", "---", "---", "---", "---"]))
        for kind in unique(queries.map(\.kind)) {
            for set in unique(queries.map(\.set)) {
                let asked = queries.filter { $0.kind == kind && $0.set == set }
                let plainSum = try asked.reduce(0.0) { sum, query in
                    let titles = try plainTitles(query.text, plain)
                    return sum + rank(query.title, titles)
                }
                let ourSum = try asked.reduce(0.0) { sum, query in
                    let titles = try ourTitles(query.text, ours)
                    return sum + rank(query.title, titles)
                }
                let count = Double(asked.count)
                print(
                    row([
                        kind, set, "\(asked.count)", decimal(plainSum / count, 3), decimal(ourSum / count, 3),
                    ]))
            }
        }
    }

    private static func unique(_ names: [String]) -> [String] {
        names.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private static func records(_ path: String) throws -> [[String]] {
        let bytes = try PosixFileSystem().readFile(path, byteCountMax: 1 << 28)
        return bytes.split(separator: 0x1E).map { record in
            record.split(separator: 0x1F, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// One over the place of the right title.
    private static func rank(_ title: String, _ found: [String]) -> Double {
        found.firstIndex(of: title).map { 1 / Double($0 + 1) } ?? 0
    }

    private static func ourTitles(_ text: String, _ index: SearchIndex) throws -> [String] {
        // A query that is refused finds nothing, as for a person who typed it: a page may be called by a parenthesis.
        guard let query = try? SearchQuery.parse(text, options: SearchQueryOptions(lastWordIsPrefix: true)) else {
            return []
        }
        return try index.search(query, limit: 10).hits.map(\.document.title)
    }

    private static func plainTitles(_ text: String, _ plain: Connection) throws -> [String] {
        let match = text.split { !$0.isLetter && !$0.isNumber }.map { "\"\($0)\"" }.joined(separator: " AND ")
        var titles: [String] = []
        guard !match.isEmpty else { return titles }
        try plain.forEachRow("SELECT title FROM search WHERE search MATCH ?1 ORDER BY rank LIMIT 10", match) {
            row throws(SQLiteError) in titles.append(row.string(at: 0))
        }
        return titles
    }
}
