// Schemas that grow with the program. Invariant: a database stands at exactly one version, and a step from one to the
// next happens whole or not at all.

/// One step of a schema.
package struct Migration: Sendable {
    /// The version that the step leads to: 1 for the first, then without gaps.
    package let version: Int64
    package let sql: String

    package init(version: Int64, sql: String) {
        self.version = version
        self.sql = sql
    }
}

extension Connection {
    /// The schema's version, kept in SQLite's `user_version`; 0 in a new database.
    package func schemaVersion() throws(SQLiteError) -> Int64 {
        try firstRow("PRAGMA user_version") { row in row.int64(at: 0) } ?? 0
    }

    /// Brings the schema up to the last of `migrations`, each step in a transaction of its own.
    ///
    /// - Throws: `SQLiteError`: `.schemaTooNew` if the database is ahead of the last step.
    package func migrate(_ migrations: [Migration]) throws(SQLiteError) {
        for (offset, migration) in migrations.enumerated() {
            precondition(migration.version == Int64(offset) + 1, "migrations are numbered without gaps")
        }
        guard try schemaVersion() <= Int64(migrations.count) else {
            throw SQLiteError(.schemaTooNew, place: "migrate")
        }
        for migration in migrations {
            try transaction(.immediate) { () throws(SQLiteError) in
                // Another connection may have taken the step while this one waited for the lock.
                guard try schemaVersion() < migration.version else { return }
                try execute(migration.sql)
                // A pragma takes no parameters; the number is ours.
                try execute("PRAGMA user_version = \(migration.version)")
            }
        }
    }
}
