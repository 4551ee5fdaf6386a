// The tags of documents that a list shows.

internal import CoffretSQLite

extension SearchIndex {
    /// The tag paths of documents, in the order of `entities` (17 bytes each); empty for one that is not there.
    ///
    /// - Complexity: one row per document, of which only the beginning is read.
    package func tagPaths(of entities: [[UInt8]]) throws(SearchError) -> [[String]] {
        try readNames { session throws(SQLiteError) in
            var paths: [[String]] = []
            for entity in entities {
                var tags = ""
                if let number = try session.number(of: entity) {
                    tags =
                        try session.connection.firstRow("SELECT tags FROM text WHERE id = ?1", number) {
                            row throws(SQLiteError) in row.string(at: 0)
                        } ?? ""
                }
                paths.append(tags.split(separator: "\n").map(String.init))
            }
            return paths
        }
    }
}
