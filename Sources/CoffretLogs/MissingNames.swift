// What has to come before something may be used. The one thing to keep true: when nothing is missing, reading it meets no
// missing blob.

internal import CoffretBase
internal import CoffretHistory
package import CoffretStorage

/// Walks from entries and roots to all that they need, over what is here.
struct MissingNames {
    private let reader: any BlobReader
    private let facts: FactTrees
    private let changes: FactTrees
    private let isText: (FactKey) -> Bool
    private var names: [BlobName] = []
    private var seen: Set<BlobName> = []
    private var failure: StorageError?

    /// - Parameter reader: the blobs that count as here.
    init(reader: any BlobReader, repository: LogRepository) {
        self.reader = reader
        facts = FactTrees(reader: reader, keys: repository.keys)
        changes = FactTrees(reader: reader, keys: repository.keys, allowsRetractions: true)
        isText = repository.isText
    }

    /// Whether a name was not met before, and its blob is here.
    private mutating func meet(_ name: BlobName) -> Bool {
        guard seen.insert(name).inserted else { return false }
        do throws(StorageError) {
            if try reader.containsBlob(name) { return true }
        } catch { failure = failure ?? error }
        names.append(name)
        return false
    }

    private func found() throws(StorageError) -> [BlobName] {
        if let failure { throw failure }
        return names
    }

    mutating func names(of body: EntryBody) throws(StorageError) -> [BlobName] {
        _ = meet(body.context)
        switch body.changes {
        case .tree(let root, _): try look(at: root, in: changes)
        case .none, .list, .gone: break
        }
        for change in body.changes.list { try look(at: change.content, under: change.key) }
        return try found()
    }

    mutating func names(ofTree root: BlobName) throws(StorageError) -> [BlobName] {
        try look(at: root, in: facts)
        return try found()
    }

    private mutating func look(at root: BlobName, in trees: FactTrees) throws(StorageError) {
        var all: [(content: ChangeContent, key: FactKey)] = []
        try trees.walk(trees.stored(root), visit: { meet($0) }) { (fact) throws(StorageError) in
            all.append((fact.content.inEntry, fact.key))
        }
        for fact in all { try look(at: fact.content, under: fact.key) }
    }

    private mutating func look(at content: ChangeContent, under key: FactKey) throws(StorageError) {
        if case .inBlobs(let value) = content {
            guard meet(value.name) else { return }
            var isWhole = true
            for blob in try ValueReader(reader: reader, unstored: [:]).blobNames(of: value)
            where blob.name != value.name {
                _ = meet(blob.name)
                isWhole = try reader.containsBlob(blob.name) && isWhole
            }
            guard isWhole else { return }
        }
        guard isText(key), let stored = try stored(content), let base = ValueBase.name(behind: stored, name: nil),
            meet(base)
        else { return }
        // A base in pieces is a list.
        for name in try ValueReader(reader: reader, unstored: [:]).pieceNames(ofBlob: base) { _ = meet(name) }
    }

    private func stored(_ content: ChangeContent) throws(StorageError) -> [UInt8]? {
        switch content {
        case .retraction: nil
        case .inPlace(let bytes), .salted(_, let bytes): bytes
        case .inBlobs(let value): try ValueReader(reader: reader, unstored: [:]).value(value)
        }
    }
}

extension LogRepository {
    /// Nodes of a tree, and blobs of its values, that are not here; those that come tell more. Empty: the tree is whole.
    ///
    /// - Complexity: reads what is here of the tree once.
    package func missingNames(ofTree root: BlobName) throws(StorageError) -> [BlobName] {
        if files.computedTree(root) != nil { return [] }
        var missing = MissingNames(reader: blobs, repository: self)
        return try missing.names(ofTree: root)
    }
}
