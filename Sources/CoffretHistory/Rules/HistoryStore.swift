// What the rules ask of who keeps entries and trees. The one thing to keep true: the rules keep nothing of an entry but
// its place, so what they ask for an entry does not grow with the history.

package import CoffretStorage

/// An entry that is kept here.
package struct StoredEntry: Sendable {
    package let entry: VerifiedEntry
    /// Whether this program reads all of it (E7). Of an entry that it does not, number, name and what came before are known.
    package let isSupported: Bool

    package init(_ entry: VerifiedEntry, isSupported: Bool = true) {
        self.entry = entry
        self.isSupported = isSupported
    }
}

/// A current fact under some key, beside the dot that names it.
package struct CurrentFact: Hashable, Sendable {
    package let height: Height
    package let content: ChangeContent

    package init(height: Height, content: ChangeContent) {
        self.height = height
        self.content = content
    }
}

package typealias CurrentFacts = [Dot: CurrentFact]

/// Entries, names and trees of one vault on one device. A store implements it over its journal and its indexes.
package protocol HistoryStore {
    /// Why a question could not be answered; `Never` for a store in memory. A machine whose store failed in one of its steps
    /// is thrown away, and the next one goes on from the stored state.
    associatedtype Failure: Error

    /// An entry that is kept; nil: it never came, or was dropped.
    func entry(named name: BlobName) throws(Failure) -> StoredEntry?
    /// All entries that are kept with this dot; more than one are evidence of a fork.
    func entries(at dot: Dot) throws(Failure) -> [StoredEntry]
    /// The bare form of an entry (E10), by its own name.
    func bareForm(named name: BlobName) throws(Failure) -> VerifiedEntry?
    /// Names of entries that are kept and have a change of the key.
    func entries(touching key: FactKey) throws(Failure) -> [BlobName]
    /// Names of entries that are kept and have a change of the entity.
    func entries(changing entity: EntityID) throws(Failure) -> [BlobName]
    /// Instances of which entries are kept, each once.
    func instances() throws(Failure) -> [InstanceID]
    /// Names of all entries that are kept of an instance.
    func entries(of instance: InstanceID) throws(Failure) -> [BlobName]
    /// How many entries are kept of an instance above a number, and their bytes as they are stored. They are few: what was
    /// applied is not above it.
    func unapplied(of instance: InstanceID, above number: EntryNumber) throws(Failure) -> (count: Int, byteCount: Int)
    /// The changes of an entry that has them in a tree (E6).
    func changes(inTree root: BlobName) throws(Failure) -> [Change]
    /// The change of a key in such a tree; nil: the key is not changed there.
    func change(of key: FactKey, inTree root: BlobName) throws(Failure) -> Change?

    /// The dot of an entry that is kept, or was dropped here; nil: none of this name came, or it left its log.
    func dot(of name: BlobName) throws(Failure) -> Dot?
    /// The dot of an entry that left its log here (I2), whether or not it came again since.
    func leftDot(of name: BlobName) throws(Failure) -> Dot?
    /// Whether an entry was ever applied here. The names outlive restarts and recomputing.
    func wasApplied(_ name: BlobName) throws(Failure) -> Bool
    mutating func noteApplied(_ name: BlobName) throws(Failure)

    /// The facts under a key in the newest tree that was written here: the base's, with what `write` put over it.
    func facts(under key: FactKey) throws(Failure) -> CurrentFacts
    /// The digest and the count of the facts in the tree of a checkpoint; nil: no facts. A store computes it once for each
    /// tree that it begins with or writes, and remembers it.
    func summary(ofTree root: BlobName?) throws(Failure) -> StateSummary
    /// The term of a fact that stands (S9).
    func digestTerm(of fact: CurrentFact, at dot: Dot, under key: FactKey) throws(Failure) -> StateDigest
    /// Begins anew with a base's tree; nil: with no facts.
    mutating func begin(atTree root: BlobName?) throws(Failure)
    /// Puts the present facts of these keys over the newest tree.
    mutating func write(_ facts: [FactKey: CurrentFacts]) throws(Failure)
    /// The root of a tree with these facts under these keys, and under all others those of a base's tree.
    func root(of tree: BlobName?, with facts: [FactKey: CurrentFacts]) throws(Failure) -> BlobName
    /// The facts under a key in the tree of a checkpoint; nil: no facts.
    func facts(under key: FactKey, inTree root: BlobName?) throws(Failure) -> CurrentFacts

    /// Takes an entry out; its name stays known, and whether it was applied.
    mutating func drop(_ name: BlobName) throws(Failure)
    /// Takes an entry out that was deleted for good: it is not taken again (P4). The names outlive restarts.
    mutating func dropForGood(_ name: BlobName) throws(Failure)
    func wasDroppedForGood(_ name: BlobName) throws(Failure) -> Bool
    /// Takes an own entry out that another copy of this store does not have (I2): it is asked for and taken as if it had never
    /// been here. Its name and its dot outlive restarts, since they prove a tip.
    mutating func withdraw(_ name: BlobName) throws(Failure)
}

extension HistoryStore {
    package func entries(changing entity: EntityID) throws(Failure) -> [BlobName] {
        var found: [BlobName] = []
        for instance in try instances() {
            for name in try entries(of: instance) {
                guard let body = try entry(named: name)?.entry.body else { continue }
                var changes = body.changes.list
                if case .tree(let root, _) = body.changes { changes = try self.changes(inTree: root) }
                if changes.contains(where: { $0.key.entity == entity }) { found.append(name) }
            }
        }
        return found
    }

    package func change(of key: FactKey, inTree root: BlobName) throws(Failure) -> Change? {
        try changes(inTree: root).first { $0.key == key }
    }
}
