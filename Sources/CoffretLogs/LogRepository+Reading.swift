// Facts and values as they stand. The one thing to keep true: a snapshot never changes, whatever is written after it was
// taken; and a value is what its author stored, decoded the same way by everybody.

package import CoffretHistory
package import CoffretStorage

/// All facts of a vault at one state.
package struct LogSnapshot {
    let files: LogFiles
    package let tree: FactTree
    let unstored: [BlobName: [UInt8]]
    /// Digest and count of the facts (S9).
    package let summary: StateSummary

    /// The name of the tree's root, which says all of the state in 32 bytes.
    package var rootName: BlobName { tree.name }

    /// The facts under a key, ascending by dot; several are concurrent.
    package func facts(under key: FactKey) throws(StorageError) -> [Fact] {
        try files.facts.facts(under: key, in: tree)
    }

    /// Calls `body` with each fact whose encoded key begins with `prefix` (a kind, an entity, or nothing), ascending.
    package func forEachFact(
        withPrefix prefix: [UInt8] = [], _ body: (Fact) throws(StorageError) -> Void
    ) throws(StorageError) {
        try files.facts.forEachFact(in: tree, from: prefix) { (fact) throws(StorageError) in
            guard fact.key.bytes.starts(with: prefix) else { return false }
            try body(fact)
            return true
        }
    }

    /// All facts of an entity, ascending.
    package func facts(of entity: EntityID) throws(StorageError) -> [Fact] {
        var facts: [Fact] = []
        try forEachFact(withPrefix: entity.bytes) { facts.append($0) }
        return facts
    }

    /// The facts whose encoded key begins with `prefix`, one by one.
    package func walk(withPrefix prefix: [UInt8]) throws(StorageError) -> FactWalk {
        try files.facts.walk(of: tree, withPrefix: prefix)
    }

    /// How many facts there are.
    package var factCount: UInt64 { summary.factCount }

    /// Calls `body` with each key whose facts are others in `newer`, ascending.
    ///
    /// - Complexity: reads about twice the nodes on the paths to what differs.
    package func forEachDifference(
        to newer: LogSnapshot, _ body: (FactDifference) throws(StorageError) -> Void
    ) throws(StorageError) {
        try files.facts.forEachDifference(from: tree, to: newer.tree, body)
    }

    /// The value of a fact of this state.
    ///
    /// - Throws: as `LogRepository.value(of:under:)`.
    package func value(of fact: Fact) throws(StorageError) -> [UInt8] {
        try files.value(of: fact.content.inEntry, under: fact.key, unstored: unstored)
    }
}

extension LogRepository {
    /// The state as it is.
    ///
    /// - Complexity: puts what changed since the last one into the tree, in memory.
    package func present() throws(StorageError) -> LogSnapshot {
        try ask { (machine) throws(StorageError) in
            try machine.flush()
            return LogSnapshot(
                files: files, tree: machine.store.tree, unstored: machine.store.unstored, summary: machine.summary)
        }
    }

    /// What a text key shows (T2 to T5); nil: nothing stands under it.
    ///
    /// - Complexity: one read for a key with one fact; else one for each version above the base.
    package func shownText(under key: FactKey) throws(StorageError) -> ShownText? {
        let (versions, unstored) = try ask { (machine) throws(StorageError) in
            (try machine.textVersions(under: key), machine.store.unstored)
        }
        guard let versions else { return nil }
        return try shown(versions, unstored: unstored)
    }

    /// T6: before a checkpoint with a root its author writes, by `commit`, the merged text of each of these keys: those
    /// with several current facts whose merge nobody wrote. Ascending.
    package func mergedTexts() throws(StorageError) -> [(key: FactKey, text: ShownText)] {
        let (all, unstored) = try ask { (machine) throws(StorageError) in
            (try machine.contestedTexts(isText: isText), machine.store.unstored)
        }
        var found: [(key: FactKey, text: ShownText)] = []
        for versions in all {
            let text = try shown(versions, unstored: unstored)
            if text.isMerged { found.append((versions.key, text)) }
        }
        return found
    }

    private func shown(
        _ versions: TextVersions, unstored: [BlobName: [UInt8]]
    ) throws(StorageError) -> ShownText {
        var failure: StorageError?
        do throws(HistoryError) {
            let shown = try versions.show { (key, content) throws(HistoryError) in
                do throws(StorageError) {
                    return try self.files.value(of: content, under: key, unstored: unstored)
                } catch {
                    if error.code != .factMalformedValue { failure = error }
                    throw HistoryError(.valueMalformed, place: key.description, cause: error)
                }
            }
            if let failure { throw HistoryError(.valueMalformed, cause: failure) }
            return shown
        } catch {
            throw failure ?? StorageError(.factMalformedValue, place: versions.key.description, cause: error)
        }
    }

    /// The value that a change or a fact holds, as its author had it.
    ///
    /// - Throws: what reading blobs throws; `.factMalformedValue` for what no writer may store, and without libzstd, with
    ///   the `HistoryError` as cause.
    package func value(of content: ChangeContent, under key: FactKey) throws(StorageError) -> [UInt8] {
        let unstored = try ask { (machine) in machine.store.unstored }
        return try files.value(of: content, under: key, unstored: unstored)
    }

    /// The stored value (Spec/history.md section 14); nil for a retraction.
    func storedValue(of content: ChangeContent) throws(StorageError) -> [UInt8]? {
        let unstored = try ask { (machine) in machine.store.unstored }
        return try files.storedValue(of: content, unstored: unstored)
    }

    /// The content of a value's blob that is not stored yet: the value lies in an entry.
    func unstoredContent(of name: BlobName) throws(StorageError) -> [UInt8]? {
        try ask { (machine) in machine.store.unstored[name] }
    }

    /// The stored value of that name; nil: it is not here.
    func storedValue(named name: BlobName) throws(StorageError) -> [UInt8]? {
        let unstored = try ask { (machine) in machine.store.unstored }
        return try ValueReader(reader: blobs, unstored: unstored).value(named: name)
    }
}

extension StorageError {
    /// Whether a value is one that no writer may store. Without libzstd nobody can tell.
    package var isMalformedValue: Bool {
        var cause: (any Error)? = self
        while let error = cause {
            if (error as? HistoryError)?.code == .valueLibraryMissing { return false }
            cause = (error as? HistoryError)?.cause ?? (error as? StorageError)?.cause
        }
        return code == .factMalformedValue
    }
}

extension LogFiles {
    func storedValue(
        of content: ChangeContent, unstored: [BlobName: [UInt8]]
    ) throws(StorageError) -> [UInt8]? {
        switch content {
        case .retraction: nil
        case .inPlace(let bytes), .salted(_, let bytes): bytes
        case .inBlobs(let value): try ValueReader(reader: blobs, unstored: unstored).value(value)
        }
    }

    func value(
        of content: ChangeContent, under key: FactKey, unstored: [BlobName: [UInt8]]
    ) throws(StorageError) -> [UInt8] {
        guard let stored = try storedValue(of: content, unstored: unstored) else {
            throw StorageError(.factMalformedValue, place: key.description)
        }
        var failure: StorageError?
        do throws(HistoryError) {
            return try ValueDecoder.decode(stored, place: key) { (name) throws(HistoryError) in
                do throws(StorageError) {
                    return try ValueReader(reader: blobs, unstored: unstored).value(named: name)
                } catch {
                    failure = error
                    throw HistoryError(.valueMalformed, place: key.description, cause: error)
                }
            }
        } catch {
            throw failure ?? StorageError(.factMalformedValue, place: key.description, cause: error)
        }
    }
}
