// A state in a digest and a count (S9). The one thing to keep true: it follows each fact that comes or goes, so that no
// state is ever read as a whole for it.

package import CoffretStorage

/// What a checkpoint, a frontier and an acknowledgement say of a state.
package struct StateSummary: Hashable, Sendable {
    package private(set) var digest: StateDigest
    package private(set) var factCount: UInt64

    package init(digest: StateDigest = StateDigest(), factCount: UInt64 = 0) {
        self.digest = digest
        self.factCount = factCount
    }

    /// Facts under one key take the place of others.
    ///
    /// - Parameter term: two hashes for each fact that comes or goes.
    package mutating func replace<Failure: Error>(
        _ old: CurrentFacts, by new: CurrentFacts, term: (Dot, CurrentFact) throws(Failure) -> StateDigest
    ) throws(Failure) {
        for (dot, fact) in old where new[dot] != fact {
            digest.subtract(try term(dot, fact))
            factCount -= 1
        }
        for (dot, fact) in new where old[dot] != fact {
            digest.add(try term(dot, fact))
            factCount += 1
        }
    }
}

extension HistoryMachine {
    /// Puts the facts of a key in their new state.
    mutating func put(_ facts: CurrentFacts, under key: FactKey, insteadOf old: CurrentFacts) throws(Store.Failure) {
        try summary.replace(old, by: facts) { [store] (dot, fact) throws(Store.Failure) in
            try store.digestTerm(of: fact, at: dot, under: key)
        }
        overlay[key] = facts
        if facts.count > 1 { contested.insert(key) } else { contested.remove(key) }
    }

    /// The summary of a base's state with other facts under some keys.
    func summary(ofTree tree: BlobName?, with facts: [FactKey: CurrentFacts]) throws(Store.Failure) -> StateSummary {
        var summary = try store.summary(ofTree: tree)
        for (key, facts) in facts {
            try summary.replace(store.facts(under: key, inTree: tree), by: facts) { (dot, fact) throws(Store.Failure) in
                try store.digestTerm(of: fact, at: dot, under: key)
            }
        }
        return summary
    }

    /// `storage.state.differs`: whether somebody who built on the same base and applied the same entries has another state.
    /// Nothing stops; his device is named.
    package func differs(from digest: StateDigest, at other: Frontier, base: Int?) -> Bool {
        other == frontier && base == self.base && digest != summary.digest
    }
}
