// Entries and trees in memory, and how often they were asked for.

internal import CoffretCrypto
package import CoffretHistory
package import CoffretStorage
internal import CoffretTestSupport
internal import CoffretTrust

/// Counts what the rules ask of a store.
package final class ReadCounter {
    package var reads = 0
    package var facts = 0
}

package struct MemoryHistoryStore: HistoryStore {
    package typealias Failure = Never

    package private(set) var kept: [BlobName: StoredEntry] = [:]
    private var byDot: [Dot: [BlobName]] = [:]
    private var byKey: [FactKey: Set<BlobName>] = [:]
    private var byInstance: [InstanceID: Set<BlobName>] = [:]
    package var here: [BlobName: Dot] = [:]
    package private(set) var applied: Set<BlobName> = []
    private var gone: Set<BlobName> = []
    private var left: [BlobName: Dot] = [:]
    package private(set) var present: [FactKey: CurrentFacts] = [:]
    /// Names of entries that this program does not read all of.
    package var unsupported: Set<BlobName> = []
    package var bareForms: [BlobName: VerifiedEntry] = [:]
    package var trees: [BlobName: [FactKey: CurrentFacts]] = [:]
    package var rootName: ([FactKey: CurrentFacts]) -> BlobName
    package var changeTrees: [BlobName: [Change]] = [:]
    /// As if each entry had so many bytes.
    package var entryByteCount = 300
    package let counter = ReadCounter()
    private let terms = Terms()

    /// The terms of one vault.
    private final class Terms {
        private var terms = DigestTerms(
            splitKey: .generate(from: SeededGenerator(seed: 1)),
            vaultID: VaultID([UInt8](repeating: 7, count: 32))!)
        func term(of fact: Fact) -> StateDigest { terms.term(of: fact) }
    }

    package init(rootName: @escaping ([FactKey: CurrentFacts]) -> BlobName) { self.rootName = rootName }

    package mutating func put(_ stored: StoredEntry) {
        let entry = stored.entry
        here[entry.name] = entry.dot
        guard kept.updateValue(stored, forKey: entry.name) == nil else { return }
        byDot[entry.dot, default: []].append(entry.name)
        byInstance[entry.instance, default: []].insert(entry.name)
        for change in changes(of: entry) { byKey[change.key, default: []].insert(entry.name) }
    }

    private func changes(of entry: VerifiedEntry) -> [Change] {
        if case .tree(let root, _) = entry.body.changes { return changes(inTree: root) }
        return entry.body.changes.list
    }

    private func read(_ name: BlobName) -> StoredEntry? {
        guard let stored = kept[name] else { return nil }
        return unsupported.contains(name) ? StoredEntry(stored.entry, isSupported: false) : stored
    }

    package func entry(named name: BlobName) -> StoredEntry? {
        counter.reads += 1
        return read(name)
    }

    package func entries(at dot: Dot) -> [StoredEntry] {
        counter.reads += 1
        return (byDot[dot] ?? []).compactMap(read)
    }

    package func bareForm(named name: BlobName) -> VerifiedEntry? { bareForms[name] }

    package func entries(touching key: FactKey) -> [BlobName] {
        counter.reads += 1
        return Array(byKey[key] ?? [])
    }

    package func instances() -> [InstanceID] { Array(byInstance.keys) }
    package func entries(of instance: InstanceID) -> [BlobName] { Array(byInstance[instance] ?? []) }
    package func changes(inTree root: BlobName) -> [Change] { changeTrees[root] ?? [] }

    package func unapplied(of instance: InstanceID, above number: EntryNumber) -> (count: Int, byteCount: Int) {
        let above = (byInstance[instance] ?? []).compactMap { kept[$0]?.entry }.filter { $0.number > number }
        return (above.count, above.count * entryByteCount)
    }

    package func summary(ofTree root: BlobName?) -> StateSummary {
        summary(of: root.flatMap { trees[$0] } ?? [:])
    }

    package func summary(of facts: [FactKey: CurrentFacts]) -> StateSummary {
        var summary = StateSummary()
        for (key, facts) in facts { summary.replace([:], by: facts) { digestTerm(of: $1, at: $0, under: key) } }
        return summary
    }

    package func digestTerm(of fact: CurrentFact, at dot: Dot, under key: FactKey) -> StateDigest {
        let content: FactContent = if case .inPlace(let bytes) = fact.content { .inline(bytes) } else { .inline([]) }
        return terms.term(of: Fact(key: key, content: content, dot: dot, height: fact.height))
    }
    package func dot(of name: BlobName) -> Dot? { here[name] }
    package func leftDot(of name: BlobName) -> Dot? { left[name] }
    package func wasApplied(_ name: BlobName) -> Bool { applied.contains(name) }
    package mutating func noteApplied(_ name: BlobName) { applied.insert(name) }

    package func facts(under key: FactKey) -> CurrentFacts {
        counter.facts += 1
        return present[key] ?? [:]
    }

    package func facts(under key: FactKey, inTree root: BlobName?) -> CurrentFacts {
        root.flatMap { trees[$0]?[key] } ?? [:]
    }

    package mutating func begin(atTree root: BlobName?) { present = root.flatMap { trees[$0] } ?? [:] }

    package mutating func write(_ facts: [FactKey: CurrentFacts]) {
        for (key, facts) in facts { present[key] = facts.isEmpty ? nil : facts }
    }

    package func root(of tree: BlobName?, with facts: [FactKey: CurrentFacts]) -> BlobName {
        var all = tree.flatMap { trees[$0] } ?? [:]
        for (key, facts) in facts { all[key] = facts.isEmpty ? nil : facts }
        return rootName(all)
    }

    package mutating func drop(_ name: BlobName) {
        guard let stored = kept.removeValue(forKey: name) else { return }
        byDot[stored.entry.dot]?.removeAll { $0 == name }
        byInstance[stored.entry.instance]?.remove(name)
        for change in changes(of: stored.entry) { byKey[change.key]?.remove(name) }
    }

    package mutating func dropForGood(_ name: BlobName) {
        drop(name)
        gone.insert(name)
    }

    package func wasDroppedForGood(_ name: BlobName) -> Bool { gone.contains(name) }

    package mutating func withdraw(_ name: BlobName) {
        drop(name)
        applied.remove(name)
        left[name] = here.removeValue(forKey: name) ?? left[name]
    }
}
