// Reads commits and what they changed. The one thing to keep true: a parent that is missing is an error
// that names it, unless a commit says that it was removed on purpose.

internal import CoffretBase

/// Commits by name, with their contexts and changes.
final class HistoryReader {
    let reader: any BlobReader
    /// The nodes of trees of changes, which hold retractions and so are decoded by another rule.
    let changeNodes: NodeStore
    private let vaultID: [UInt8]
    private var contexts: [BlobName: CommitContext] = [:]
    /// Commits read since this was made.
    private(set) var commitReadCount = 0
    /// A commit whose parents may lie here and are not verified: they are not read.
    var beginning: BlobName? {
        didSet { hidden = nil }
    }
    private var hidden: Set<BlobName>?

    init(reader: any BlobReader, vaultID: [UInt8]) {
        self.reader = reader
        self.vaultID = vaultID
        changeNodes = NodeStore(reader: reader, allowsRetractions: true)
    }

    /// Whether a commit is one that nobody reads before the history has come.
    func isHidden(_ name: BlobName) throws(StorageError) -> Bool {
        guard let beginning else { return false }
        if let hidden { return hidden.contains(name) }
        let commit = try UnverifiedCommit.decode(reader.blobBytes(beginning, type: .commit), name: beginning).commit
        hidden = Set(commit.parents)
        return commit.parents.contains(name)
    }

    /// - Throws: `.blobMissing` and what else reading blobs throws; `.commitMalformed`,
    ///   `.commitWrongVault`, `.commitUnsupportedFormat`; `.historyPending`.
    func commit(_ name: BlobName) throws(StorageError) -> CommitSummary {
        try unverified(name).summary
    }

    /// A commit; nil if it is not there.
    ///
    /// Read first and looked for only then: a long history would be looked up twice.
    func commitIfThere(_ name: BlobName) throws(StorageError) -> CommitSummary? {
        do throws(StorageError) {
            return try commit(name)
        } catch {
            guard error.code == .blobMissing, try !reader.containsBlob(name) else { throw error }
            return nil
        }
    }

    /// A commit; nil if it or its context is not there.
    func commitIfWhole(_ name: BlobName) throws(StorageError) -> CommitSummary? {
        do throws(StorageError) {
            return try commit(name)
        } catch {
            guard error.code == .blobMissing || error.code == .historyPending else { throw error }
            return nil
        }
    }

    func unverified(
        _ name: BlobName
    ) throws(StorageError) -> (commit: UnverifiedCommit, summary: CommitSummary, byteCount: Int) {
        if beginning != nil, try isHidden(name) { throw StorageError(.historyPending, place: "commit \(name)") }
        let content = try reader.blobBytes(name, type: .commit)
        commitReadCount += 1
        let commit = try UnverifiedCommit.decode(content, name: name)
        let context = try context(commit.commit.context)
        return (commit, CommitSummary(name: name, commit: commit.commit, context: context), content.count)
    }

    func context(_ name: BlobName) throws(StorageError) -> CommitContext {
        if let context = contexts[name] { return context }
        let bytes = try reader.blobBytes(name, type: .commitContext)
        let context = try CommitContext.decode(bytes, place: name.description)
        guard context.vaultID == vaultID else { throw StorageError(.commitWrongVault, place: name.description) }
        contexts[name] = context
        return context
    }

    /// Goes through what the commit changed, of keys that begin with `prefix`, in their order, until `body` says no.
    func forEachChange(
        of summary: CommitSummary, prefix: [UInt8], _ body: (Fact) -> Bool
    ) throws(StorageError) {
        switch summary.commit.changes {
        case .list(let changes):
            for change in changes where change.key.hasPrefix(prefix) {
                guard body(change.fact(ownDot: summary.dot)) else { return }
            }
        case .tree(let name):
            let root = try changeNodes.node(of: TreeRoot(name: name))
            var cursor = try FactCursor(root: root, store: changeNodes, from: prefix)
            while let fact = try cursor.next(), fact.key.hasPrefix(prefix) {
                guard body(fact) else { return }
            }
        }
    }

    /// What the commit changed, of keys that begin with `prefix`.
    func changes(
        of summary: CommitSummary, prefix: [UInt8] = []
    ) throws(StorageError) -> (facts: [Fact], unstored: [BlobName: [UInt8]]) {
        var facts: [Fact] = []
        var unstored: [BlobName: [UInt8]] = [:]
        switch summary.commit.changes {
        case .list(let changes):
            for change in changes where change.key.hasPrefix(prefix) {
                let fact = change.fact(ownDot: summary.dot)
                if let content = change.content.unstoredBlob, case .stored(let value) = fact.content {
                    unstored[value.name] = content
                }
                facts.append(fact)
            }
        case .tree(let name):
            let root = try changeNodes.node(of: TreeRoot(name: name))
            var cursor = try FactCursor(root: root, store: changeNodes, from: prefix)
            while let fact = try cursor.next(), fact.key.hasPrefix(prefix) { facts.append(fact) }
        }
        return (facts, unstored)
    }
}

/// Keys whose facts differ from those of a stored tree.
struct Overlay {
    /// Empty facts: the key is not there any more.
    private(set) var changes: [FactKey: [Fact]] = [:]
    /// Content of values that are not stored yet.
    private(set) var unstored: [BlobName: [UInt8]] = [:]

    init(unstored: [BlobName: [UInt8]] = [:]) { self.unstored = unstored }

    var isEmpty: Bool { changes.isEmpty }
    var sortedKeys: [FactKey] { changes.keys.sorted() }

    var replacements: [Replacement] {
        changes.map { Replacement(key: $0.key, facts: $0.value) }.sorted { $0.key < $1.key }
    }

    /// Puts the changes of a later commit on top.
    mutating func add(_ facts: [Fact], unstored content: [BlobName: [UInt8]]) {
        var index = 0
        while index < facts.count {
            let key = facts[index].key
            var end = index + 1
            while end < facts.count, facts[end].key == key { end += 1 }
            changes[key] = facts[index].isRetraction ? [] : Array(facts[index..<end])
            index = end
        }
        unstored.merge(content) { old, _ in old }
    }

    /// Puts the changes of an earlier commit below: keys that are here already stay.
    mutating func addEarlier(_ facts: [Fact], unstored content: [BlobName: [UInt8]]) {
        var earlier = Overlay()
        earlier.add(facts, unstored: content)
        changes.merge(earlier.changes) { later, _ in later }
        unstored.merge(content) { later, _ in later }
    }
}
