// One vault's blobs as histories read them. The one thing to keep true: nothing here changes what is stored; what is kept
// in memory follows from names, which never mean anything else.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretStorage

/// Reads entries, trees and values of one vault, and remembers what it read.
///
/// Shared by all copies of a `DiskHistoryStore`; it belongs to one isolation domain.
package final class LogFiles {
    let blobs: BlobStore
    let keys: VaultKeys
    /// Trees of facts.
    let facts: FactTrees
    /// Trees of the changes of large entries (E6).
    let changes: FactTrees
    /// Trees of the two indexes.
    let indexes: FactTrees

    private var contexts: [BlobName: EntryContext] = [:]
    /// Two generations: what was not asked for since the last change of generations goes.
    private var young: [BlobName: VerifiedEntry] = [:]
    private var old: [BlobName: VerifiedEntry] = [:]
    private var terms: DigestTerms
    private var summaries: [BlobName: StateSummary] = [:]
    /// Trees that were computed and not written, with the content of values that only entries carry.
    private var computed: [BlobName: (tree: FactTree, values: [BlobName: [UInt8]])] = [:]
    /// Entries that were read as blobs, for tests of costs.
    package private(set) var entryReadCount = 0

    private static let entryCountMax = 4_096

    init(blobs: BlobStore, keys: VaultKeys) {
        self.blobs = blobs
        self.keys = keys
        facts = FactTrees(reader: blobs, keys: keys)
        changes = FactTrees(reader: blobs, keys: keys, allowsRetractions: true)
        indexes = FactTrees(reader: blobs, keys: keys)
        terms = DigestTerms(splitKey: keys.splitKey, vaultID: keys.vaultID)
    }

    // MARK: Entries

    /// An entry, or a bare form, that lies here; nil: no blob of that name does.
    ///
    /// - Throws: what reading blobs throws; `.blobAuthenticationFailed` for a blob that is no entry of this vault.
    func entry(named name: BlobName) throws(StorageError) -> VerifiedEntry? {
        if let entry = young[name] { return entry }
        if let entry = old[name] {
            remember(entry)
            return entry
        }
        guard try blobs.containsBlob(name) else { return nil }
        let content = try blobs.blobBytes(name, type: .entry)
        entryReadCount += 1
        let entry = VerifiedEntry.readBack(try unverified(content, name: name))
        remember(entry)
        return entry
    }

    /// An entry whose blob was met by a walk over all of them; nil: it is damaged, or its context is not here.
    func readable(_ content: [UInt8], name: BlobName) throws(StorageError) -> VerifiedEntry? {
        do throws(StorageError) {
            return VerifiedEntry.readBack(try unverified(content, name: name))
        } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }

    func remember(_ entry: VerifiedEntry) {
        young[entry.name] = entry
        guard young.count > Self.entryCountMax / 2 else { return }
        old = young
        young = [:]
    }

    func forget(_ name: BlobName) {
        young[name] = nil
        old[name] = nil
    }

    /// What a blob of type 8 says, with its context, which lies here.
    func unverified(_ content: [UInt8], name: BlobName) throws(StorageError) -> UnverifiedEntry {
        do throws(HistoryError) {
            return try UnverifiedEntry.decode(content, name: name) { (name) throws(HistoryError) in
                try context(named: name)
            }
        } catch {
            throw (error.cause as? StorageError)
                ?? StorageError(.blobAuthenticationFailed, place: name.description, cause: error)
        }
    }

    /// Forgets what was read, since blobs of it are here no more.
    func forgetAll() {
        (young, old, contexts, computed, summaries) = ([:], [:], [:], [:], [:])
    }

    func context(named name: BlobName) throws(HistoryError) -> EntryContext {
        if let known = contexts[name] { return known }
        let content: [UInt8]
        do throws(StorageError) {
            content = try blobs.blobBytes(name, type: .entryContext)
        } catch {
            throw HistoryError(.entryMalformed, place: name.description, cause: error)
        }
        let context = try EntryContext.decode(content, name: name)
        contexts[name] = context
        return context
    }

    func remember(_ context: EntryContext, name: BlobName) { contexts[name] = context }

    // MARK: Changes and trees

    /// The changes of an entry, ascending by key.
    ///
    /// - Throws: what reading blobs throws; `.treeMalformedNode` for a tree that is not this entry's.
    func changes(of entry: VerifiedEntry) throws(StorageError) -> [Change] {
        guard case .tree(let root, _) = entry.body.changes else { return entry.body.changes.list }
        return try changes.changes(in: root) { _ in (entry.dot, entry.height) }
    }

    /// The changes of an entry whose keys begin with `prefix`, ascending.
    ///
    /// - Complexity: of an entry with a tree it reads what lies there.
    func changes(of entry: VerifiedEntry, withPrefix prefix: [UInt8]) throws(StorageError) -> [Change] {
        guard case .tree(let root, _) = entry.body.changes else {
            return entry.body.changes.list.filter { $0.key.bytes.starts(with: prefix) }
        }
        var facts: [Fact] = []
        try changes.forEachFact(in: changes.stored(root), from: prefix) { (fact) throws(StorageError) in
            guard fact.key.bytes.starts(with: prefix) else { return false }
            facts.append(fact)
            return true
        }
        return try Self.changes(of: facts, by: entry.dot, height: entry.height, inTree: root)
    }

    private static func changes(
        of facts: [Fact], by dot: Dot, height: Height, inTree root: BlobName
    ) throws(StorageError) -> [Change] {
        do throws(HistoryError) {
            return try ChangeTree.changes(of: facts, by: dot, height: height, place: root)
        } catch {
            throw StorageError(.treeMalformedNode, place: root.description, cause: error)
        }
    }

    /// The change that an entry makes of a key; nil: none.
    func change(of key: FactKey, by entry: VerifiedEntry) throws(StorageError) -> Change? {
        guard case .tree(let root, _) = entry.body.changes else {
            return entry.body.changes.list.first { $0.key == key }
        }
        return try change(of: key, inTree: root)
    }

    func change(of key: FactKey, inTree root: BlobName) throws(StorageError) -> Change? {
        let facts = try changes.facts(under: key, in: changes.stored(root))
        let (dot, height) = Self.place(of: facts)
        return try Self.changes(of: facts, by: dot, height: height, inTree: root).first
    }

    /// Whoever stored facts of an entry compared dot and height.
    private static func place(of facts: [Fact]) -> (dot: Dot, height: Height) {
        let written = facts.first { !$0.isRetraction } ?? facts.first
        return (written?.dot ?? Dot(UniqueID.zero, 1), written?.height ?? 1)
    }

    /// The changes in a tree, whose entry is not known.
    func changes(inTree root: BlobName) throws(StorageError) -> [Change] {
        try changes.changes(in: root) { facts in Self.place(of: facts) }
    }

    /// The tree of that root: stored, or computed here.
    func tree(_ root: BlobName) -> FactTree { computed[root]?.tree ?? facts.stored(root) }

    /// Keeps a tree in memory until it is written.
    func keep(_ tree: FactTree, values: [BlobName: [UInt8]]) { computed[tree.name] = (tree, values) }

    func computedTree(_ root: BlobName) -> (tree: FactTree, values: [BlobName: [UInt8]])? { computed[root] }

    func forgetComputedTrees() { computed = [:] }

    // MARK: Digests

    /// The term of a fact that stands (S9).
    func digestTerm(of fact: Fact) -> StateDigest { terms.term(of: fact) }

    /// Digest and count of a stored tree; walked once.
    func summary(of root: BlobName, in tree: FactTree) throws(StorageError) -> StateSummary {
        if let known = summaries[root] { return known }
        var (digest, count) = (StateDigest(), UInt64(0))
        try facts.forEachFact(in: tree) { (fact) throws(StorageError) in
            digest.add(terms.term(of: fact))
            count += 1
            return true
        }
        let summary = StateSummary(digest: digest, factCount: count)
        summaries[root] = summary
        return summary
    }
}

extension FactTrees {
    /// The changes in a tree of changes (E6).
    ///
    /// - Parameter author: dot and height of the entry, by all facts.
    func changes(
        in root: BlobName, by author: ([Fact]) -> (dot: Dot, height: Height)
    ) throws(StorageError) -> [Change] {
        var all: [Fact] = []
        try forEachFact(in: stored(root)) { (fact) throws(StorageError) in
            all.append(fact)
            return true
        }
        let (dot, height) = author(all)
        do throws(HistoryError) {
            return try ChangeTree.changes(of: all, by: dot, height: height, place: root)
        } catch {
            throw StorageError(.treeMalformedNode, place: root.description, cause: error)
        }
    }
}

extension ChangeContent {
    /// The content as a tree has it: a value of 513 to 4,096 bytes is named by the blob that it will lie in.
    var inTree: FactContent {
        switch self {
        case .retraction: .retraction
        case .inPlace(let bytes): .inline(bytes)
        case .salted(_, let bytes): .stored(StoredValue(name: blobName ?? .zero, byteCount: bytes.count))
        case .inBlobs(let value): .stored(value)
        }
    }

    /// The content of the blob that a value inside an entry will lie in.
    var unstored: [UInt8]? {
        guard case .salted(let salt, let bytes) = self else { return nil }
        return ValueCodec.encode(salt: salt, bytes: bytes[...])
    }

    /// The name under which a delta finds the value; nil for one in place.
    var blobName: BlobName? {
        if case .inBlobs(let value) = self { return value.name }
        return unstored.map { BlobName.derive(type: .value, content: $0.span) }
    }
}

extension FactContent {
    var inEntry: ChangeContent {
        switch self {
        case .retraction: .retraction
        case .inline(let bytes): .inPlace(bytes)
        case .stored(let value): .inBlobs(value)
        }
    }
}

extension UniqueID {
    static var zero: UniqueID {
        guard let id = UniqueID(bytes: [UInt8](repeating: 0, count: byteCount)) else {
            preconditionFailure("an id has 16 bytes")
        }
        return id
    }
}

extension BlobName {
    fileprivate static var zero: BlobName { BlobName(Bytes32(0, 0, 0, 0)) }
}
