// Entries and facts in memory, for measuring rules without a disk.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretStorage

/// Keeps everything; has no checkpoints' trees.
struct BenchHistoryStore: HistoryStore {
    typealias Failure = Never

    private var kept: [BlobName: StoredEntry] = [:]
    private var byDot: [Dot: [BlobName]] = [:]
    private var byKey: [FactKey: [BlobName]] = [:]
    private var byInstance: [InstanceID: [BlobName]] = [:]
    private var applied: Set<BlobName> = []
    private var present: [FactKey: CurrentFacts] = [:]
    private let terms: Terms

    private final class Terms {
        private var terms: DigestTerms
        init(_ terms: DigestTerms) { self.terms = terms }
        func term(of fact: Fact) -> StateDigest { terms.term(of: fact) }
    }

    init(terms: DigestTerms) { self.terms = Terms(terms) }

    mutating func put(_ stored: StoredEntry) {
        let entry = stored.entry
        guard kept.updateValue(stored, forKey: entry.name) == nil else { return }
        byDot[entry.dot, default: []].append(entry.name)
        byInstance[entry.instance, default: []].append(entry.name)
        for change in entry.body.changes.list { byKey[change.key, default: []].append(entry.name) }
    }

    func entry(named name: BlobName) -> StoredEntry? { kept[name] }
    func entries(at dot: Dot) -> [StoredEntry] { (byDot[dot] ?? []).compactMap { kept[$0] } }
    func bareForm(named name: BlobName) -> VerifiedEntry? { nil }
    func entries(touching key: FactKey) -> [BlobName] { byKey[key] ?? [] }
    func instances() -> [InstanceID] { Array(byInstance.keys) }
    func entries(of instance: InstanceID) -> [BlobName] { byInstance[instance] ?? [] }

    func unapplied(of instance: InstanceID, above number: EntryNumber) -> (count: Int, byteCount: Int) {
        ((byInstance[instance] ?? []).count { kept[$0]?.entry.number ?? 0 > number }, 0)
    }

    func changes(inTree root: BlobName) -> [Change] { [] }
    func dot(of name: BlobName) -> Dot? { kept[name]?.entry.dot }
    func leftDot(of name: BlobName) -> Dot? { nil }
    func wasApplied(_ name: BlobName) -> Bool { applied.contains(name) }
    mutating func noteApplied(_ name: BlobName) { applied.insert(name) }
    func facts(under key: FactKey) -> CurrentFacts { present[key] ?? [:] }
    func summary(ofTree root: BlobName?) -> StateSummary { StateSummary() }

    func digestTerm(of fact: CurrentFact, at dot: Dot, under key: FactKey) -> StateDigest {
        guard case .inPlace(let bytes) = fact.content else { preconditionFailure("values lie in place here") }
        return terms.term(of: Fact(key: key, content: .inline(bytes), dot: dot, height: fact.height))
    }

    mutating func begin(atTree root: BlobName?) { present = [:] }

    mutating func write(_ facts: [FactKey: CurrentFacts]) {
        for (key, facts) in facts { present[key] = facts.isEmpty ? nil : facts }
    }

    func root(of tree: BlobName?, with facts: [FactKey: CurrentFacts]) -> BlobName { BlobName(Bytes32(0, 0, 0, 0)) }
    func facts(under key: FactKey, inTree root: BlobName?) -> CurrentFacts { [:] }
    mutating func drop(_ name: BlobName) { kept[name] = nil }
    mutating func dropForGood(_ name: BlobName) { kept[name] = nil }
    func wasDroppedForGood(_ name: BlobName) -> Bool { false }
    mutating func withdraw(_ name: BlobName) { kept[name] = nil }
}
