// A store in memory that fails at one question, as a disk does.

import CoffretHistory
import CoffretHistorySupport
import CoffretStorage

struct StoreFailed: Error, Equatable {}

/// Counts questions, and fails at one of them.
final class Failing {
    var asked = 0
    var failsAt: Int?

    func ask() throws(StoreFailed) {
        asked += 1
        if asked == failsAt { throw StoreFailed() }
    }
}

struct FailingHistoryStore: HistoryStore {
    var inner: MemoryHistoryStore
    let failing: Failing

    func entry(named name: BlobName) throws(StoreFailed) -> StoredEntry? {
        try failing.ask()
        return inner.entry(named: name)
    }

    func entries(at dot: Dot) throws(StoreFailed) -> [StoredEntry] {
        try failing.ask()
        return inner.entries(at: dot)
    }

    func bareForm(named name: BlobName) throws(StoreFailed) -> VerifiedEntry? {
        try failing.ask()
        return inner.bareForm(named: name)
    }

    func entries(touching key: FactKey) throws(StoreFailed) -> [BlobName] {
        try failing.ask()
        return inner.entries(touching: key)
    }

    func instances() throws(StoreFailed) -> [InstanceID] {
        try failing.ask()
        return inner.instances()
    }

    func entries(of instance: InstanceID) throws(StoreFailed) -> [BlobName] {
        try failing.ask()
        return inner.entries(of: instance)
    }

    func unapplied(of instance: InstanceID, above number: UInt64) throws(StoreFailed) -> (count: Int, byteCount: Int) {
        try failing.ask()
        return inner.unapplied(of: instance, above: number)
    }

    func changes(inTree root: BlobName) throws(StoreFailed) -> [Change] {
        try failing.ask()
        return inner.changes(inTree: root)
    }

    func dot(of name: BlobName) throws(StoreFailed) -> Dot? {
        try failing.ask()
        return inner.dot(of: name)
    }

    func leftDot(of name: BlobName) throws(StoreFailed) -> Dot? {
        try failing.ask()
        return inner.leftDot(of: name)
    }

    func wasApplied(_ name: BlobName) throws(StoreFailed) -> Bool {
        try failing.ask()
        return inner.wasApplied(name)
    }

    mutating func noteApplied(_ name: BlobName) throws(StoreFailed) {
        try failing.ask()
        inner.noteApplied(name)
    }

    func facts(under key: FactKey) throws(StoreFailed) -> CurrentFacts {
        try failing.ask()
        return inner.facts(under: key)
    }

    func summary(ofTree root: BlobName?) throws(StoreFailed) -> StateSummary {
        try failing.ask()
        return inner.summary(ofTree: root)
    }

    func digestTerm(of fact: CurrentFact, at dot: Dot, under key: FactKey) throws(StoreFailed) -> StateDigest {
        try failing.ask()
        return inner.digestTerm(of: fact, at: dot, under: key)
    }

    mutating func begin(atTree root: BlobName?) throws(StoreFailed) {
        try failing.ask()
        inner.begin(atTree: root)
    }

    mutating func write(_ facts: [FactKey: CurrentFacts]) throws(StoreFailed) {
        try failing.ask()
        inner.write(facts)
    }

    func root(of tree: BlobName?, with facts: [FactKey: CurrentFacts]) throws(StoreFailed) -> BlobName {
        try failing.ask()
        return inner.root(of: tree, with: facts)
    }

    func facts(under key: FactKey, inTree root: BlobName?) throws(StoreFailed) -> CurrentFacts {
        try failing.ask()
        return inner.facts(under: key, inTree: root)
    }

    mutating func drop(_ name: BlobName) throws(StoreFailed) {
        try failing.ask()
        inner.drop(name)
    }

    mutating func dropForGood(_ name: BlobName) throws(StoreFailed) {
        try failing.ask()
        inner.dropForGood(name)
    }

    func wasDroppedForGood(_ name: BlobName) throws(StoreFailed) -> Bool {
        try failing.ask()
        return inner.wasDroppedForGood(name)
    }

    mutating func withdraw(_ name: BlobName) throws(StoreFailed) {
        try failing.ask()
        inner.withdraw(name)
    }
}
