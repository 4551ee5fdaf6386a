// The search index of one vault. Invariant: it can be thrown away at any moment, so nothing that is wrong with it is
// ever more than a reason to make it again.

package import CoffretBase
package import CoffretCrypto
internal import CoffretSQLite

/// Words, names, tags and links of a vault's documents, sealed on disk.
///
/// The index says which state of the vault it reflects (`indexedState`); its user compares that with
/// the vault and brings what differs with `update`. Several processes may use it at once.
///
/// - Concurrency: belongs to one isolation domain.
package final class SearchIndex {
    let database: SealedDatabase
    let engine: Engine
    private let random: any RandomSource

    /// The parts of the current connection, and the attributes as they were last read.
    final class Engine {
        var fullText: FullText?
        private(set) var attributes = AttributeTable()
        private var knownVisible: DocumentSet?
        /// The value of `meta.generation` that `attributes` reflect; nil if they have to be read.
        private(set) var generation: Int64?
        /// The value of `meta.generation` with which the version was found to be ours.
        var checkedGeneration: Int64?
        /// Of the current connection.
        var wordLists = WordLists()
        /// How many connections there have been: another one may be to another index.
        var connectionCount = 0

        func take(_ attributes: AttributeTable, generation: Int64) {
            self.attributes = attributes
            self.generation = generation
            checkedGeneration = generation
            knownVisible = nil
        }

        /// The documents that are not in the trash; made when first asked for, since who writes needs none.
        var visible: DocumentSet {
            if let knownVisible { return knownVisible }
            let made = DocumentSet(attributes) { !$0.has(Flag.trashed) }
            knownVisible = made
            return made
        }

        func forget() {
            generation = nil
            checkedGeneration = nil
            attributes = AttributeTable()
            knownVisible = nil
        }
    }

    /// Loads what searching needs, for a process that forks: its children find it loaded.
    package static func rehearse() { _ = try? Connection(path: "", .inMemory) }

    /// Opens the index in a directory; makes the directory, not the index.
    ///
    /// - Parameter vaultID: bound into every page, so that one vault's index is worth nothing to another.
    /// - Parameter foldPageCount: pages that the log may hold; for tests.
    /// - Throws: `SearchError` if the directory cannot be used. A missing or damaged index is no
    ///   error here: `state` and every use of it say so.
    package init(
        directory: String, key: SearchKey, vaultID: VaultID, fileSystem: any FileSystem,
        random: any RandomSource, lockTimeoutMilliseconds: Int = 10_000, foldPageCount: Int? = nil
    ) throws(SearchError) {
        let engine = Engine()
        self.engine = engine
        self.random = random
        do throws(SQLiteError) {
            database = try SealedDatabase(
                directory: directory, key: SealedDatabaseKey(key.duplicateSecret(), context: vaultID.bytes),
                fileSystem: fileSystem, random: random, lockTimeoutMilliseconds: lockTimeoutMilliseconds,
                foldPageCount: foldPageCount ?? SealedDatabase.foldPageCountDefault,
                configure: { connection throws(SQLiteError) in
                    // A new connection: what was known of the old one's tables may be of another index.
                    engine.forget()
                    engine.connectionCount += 1
                    engine.wordLists = WordLists()
                    engine.fullText = try FullText(registeringOn: connection)
                })
        } catch {
            throw SearchError(error)
        }
    }

    // MARK: State

    /// Whether the index can be used.
    package enum State: Equatable, Sendable {
        /// It reflects this state of the vault, as the last `update` or `rebuild` named it.
        case ready(indexedState: [UInt8])
        /// It has to be made with `rebuild`; say so, unless it is merely missing.
        case rebuildNeeded(RebuildReason)
    }

    /// Looks at the index.
    ///
    /// - Throws: `SearchError` if it cannot be read for a reason that rebuilding would not mend.
    package func state() throws(SearchError) -> State {
        do throws(SearchError) {
            return .ready(
                indexedState: try readNames { session throws(SQLiteError) in
                    try session.connection.metaBytes("state") ?? []
                })
        } catch {
            guard let reason = error.reason else { throw error }
            return .rebuildNeeded(reason)
        }
    }

    /// Reads all of the index, used or not.
    ///
    /// - Throws: `SearchError` with a reason if any page is damaged, or does not fit with the others.
    package func verify() throws(SearchError) {
        do throws(SQLiteError) {
            try database.verify()
        } catch {
            throw SearchError(error)
        }
        _ = try readNames { _ in }
    }

    /// Documents that listings have read since opening.
    package internal(set) var listedRowCount = 0

    /// Bytes written to the index's files since opening.
    package var writtenByteCount: Int { database.writtenByteCount }

    /// Whether, after an update, so many words stand in the index for nothing that it is better made anew.
    package private(set) var isWorn = false

    /// Whether the index holds, sealed, words of texts that were changed or removed.
    package func hasEndedWords() throws(SearchError) -> Bool {
        try readNames { session throws(SQLiteError) in try session.connection.endedUnits() > 0 }
    }

    // MARK: Writing

    /// Applies changes in order, as one transaction, and notes the state that they lead to.
    ///
    /// - Parameter newState: opaque; given back by `state()`.
    /// - Parameter bringsInWords: for who is about to search: the search then need not write.
    /// - Throws: `SearchError`; nothing is changed then.
    package func update(
        _ changes: some Sequence<DocumentChange>, newState: [UInt8], bringsInWords: Bool = false
    ) throws(SearchError) {
        _ = try write(bringsInWords: bringsInWords) { writer throws(SQLiteError) in
            for change in changes { try writer.apply(change) }
            try writer.connection.setMeta("state", newState)
            return true
        }
    }

    /// Applies changes as `update` does, if the index stands at `oldState`.
    ///
    /// - Returns: false, and nothing is changed, if it reflects another state.
    package func update(
        from oldState: [UInt8], _ changes: some Sequence<DocumentChange>, newState: [UInt8], bringsInWords: Bool = false
    ) throws(SearchError) -> Bool {
        try write(bringsInWords: bringsInWords) { writer throws(SQLiteError) in
            guard try writer.connection.metaBytes("state") == oldState else { return false }
            for change in changes { try writer.apply(change) }
            try writer.connection.setMeta("state", newState)
            return true
        }
    }

    /// Makes the index anew.
    ///
    /// - Parameters:
    ///   - newState: evaluated when all documents are in. What it throws is thrown on, as that of `fill`.
    ///   - fill: calls its argument once for every document, or again to replace one. What it throws is thrown
    ///     on, and the index stays unfinished.
    package func rebuild(
        newState: @autoclosure () throws -> [UInt8],
        _ fill: (_ add: (SearchDocument) throws(SearchError) -> Void) throws -> Void
    ) throws {
        var foreign: (any Error)?
        do throws(SQLiteError) {
            try database.rebuild { connection throws(SQLiteError) in
                try connection.execute(IndexSchema.sql)
                try connection.setMeta("key", random.bytes(count: TextHash.keyByteCount))
                // Words gather in memory before they become segments; a large build then merges less.
                try connection.setFullText("hashsize", Self.buildHashByteCount)
                guard let fullText = engine.fullText else { preconditionFailure("configured with the connection") }
                var writer = try DocumentWriter(
                    connection: connection, tokenizer: fullText.tokenizer, attributes: AttributeTable(), isFilling: true
                )
                do {
                    try fill { document throws(SearchError) in
                        do throws(SQLiteError) {
                            try writer.apply(.put(document))
                        } catch {
                            throw SearchError(error)
                        }
                    }
                } catch {
                    foreign = error
                    throw SQLiteError(.interrupted, place: "rebuild")
                }
                try writer.finish()
                try connection.fullTextCommand("optimize")
                try Vocabulary.fill(on: connection)
                try connection.setFullText("hashsize", Self.updateHashByteCount)
                try connection.settleMergedSegment()
                let state: [UInt8]
                do {
                    state = try newState()
                } catch {
                    foreign = error
                    throw SQLiteError(.interrupted, place: "rebuild")
                }
                try connection.setMeta("state", state)
                try connection.setMeta("generation", 1)
            }
        } catch {
            throw foreign ?? SearchError(error)
        }
        isWorn = false
    }

    private static let buildHashByteCount: Int64 = 16 << 20
    private static let updateHashByteCount: Int64 = 1 << 20

    /// - Parameter body: returns whether it changed anything.
    /// - Returns: what `body` returned.
    private func write(
        bringsInWords: Bool = false, _ body: (inout DocumentWriter) throws(SQLiteError) -> Bool
    ) throws(SearchError) -> Bool {
        do throws(SQLiteError) {
            return try database.write { connection throws(SQLiteError) in
                let fullText = try fullText(readyOn: connection)
                try readAttributes(on: connection)
                let generation = engine.generation ?? 0
                var writer = try DocumentWriter(
                    connection: connection, tokenizer: fullText.tokenizer, attributes: engine.attributes)
                // Handed over, not copied; and until the commit what is in memory is nobody's.
                engine.forget()
                let isChanged = try body(&writer)
                if isChanged {
                    try writer.finish(bringsInWords: bringsInWords)
                    try connection.setMeta("generation", generation + 1)
                    isWorn = writer.isWorn
                }
                engine.take(writer.attributes, generation: isChanged ? generation + 1 : generation)
                return isChanged
            }
        } catch {
            engine.forget()
            throw SearchError(error)
        }
    }

    // MARK: Reading

    /// Finds by a name: it reads little of the index, also with many documents.
    struct NameSession: NameReading {
        let connection: Connection
        let fullText: FullText
    }

    /// The index during one read: nothing changes while it lasts.
    struct Session: NameReading {
        let connection: Connection
        let fullText: FullText
        let attributes: AttributeTable
        /// The documents that are not in the trash.
        let visible: DocumentSet
        let standing: Standing
    }

    /// The state that numbers of documents belong to: nothing has been written between two reads with equal ones.
    struct Standing: Equatable {
        let connection: Int
        let generation: Int64
    }

    func read<Result>(_ body: (Session) throws(SQLiteError) -> Result) throws(SearchError) -> Result {
        do throws(SQLiteError) {
            return try database.read { connection throws(SQLiteError) in try body(session(on: connection)) }
        } catch {
            throw SearchError(error)
        }
    }

    func readNames<Result>(
        _ body: (NameSession) throws(SQLiteError) -> Result
    ) throws(SearchError) -> Result {
        do throws(SQLiteError) {
            return try database.read { connection throws(SQLiteError) in
                try body(NameSession(connection: connection, fullText: fullText(readyOn: connection)))
            }
        } catch {
            throw SearchError(error)
        }
    }

    /// The index during one read for which the full-text table has all words; brings in those that it has not.
    ///
    /// - Throws: as `read` does, and what writing throws if words have to be brought in.
    func readWords<Result>(_ body: (Session) throws(SQLiteError) -> Result) throws(SearchError) -> Result {
        let result = try read { session throws(SQLiteError) -> Result? in
            try session.connection.hasStaleWords() ? nil : .some(try body(session))
        }
        if let result { return result }
        do throws(SQLiteError) {
            return try database.write { connection throws(SQLiteError) in
                let session = try session(on: connection)
                try connection.bringInWords(session.fullText.tokenizer)
                return try body(session)
            }
        } catch {
            throw SearchError(error)
        }
    }

    private func session(on connection: Connection) throws(SQLiteError) -> Session {
        let fullText = try fullText(readyOn: connection)
        try readAttributes(on: connection)
        return Session(
            connection: connection, fullText: fullText, attributes: engine.attributes, visible: engine.visible,
            standing: Standing(connection: engine.connectionCount, generation: engine.generation ?? 0))
    }

    /// Checks the version, unless the index is as it was at the last check.
    private func fullText(readyOn connection: Connection) throws(SQLiteError) -> FullText {
        guard let fullText = engine.fullText else { preconditionFailure("configured with the connection") }
        guard let generation = try connection.metaInteger("generation") else {
            throw SQLiteError(.corrupt, place: "generation")
        }
        guard engine.checkedGeneration != generation else { return fullText }
        guard try connection.metaInteger("version") == IndexSchema.version else {
            throw SQLiteError(.schemaTooNew, place: "version")
        }
        engine.forget()
        engine.checkedGeneration = generation
        return fullText
    }

    /// Reads the attributes of all documents, if somebody changed them since.
    private func readAttributes(on connection: Connection) throws(SQLiteError) {
        guard engine.generation == nil, let generation = engine.checkedGeneration else { return }
        var attributes = AttributeTable()
        try connection.forEachRow("SELECT block, records FROM attribute ORDER BY block") { row throws(SQLiteError) in
            let isWhole = row.withBytes(at: 1) { attributes.decodeBlock(row.int64(at: 0), $0) }
            guard isWhole else { throw SQLiteError(.corrupt, place: "attribute") }
        }
        engine.take(attributes, generation: generation)
    }
}
