// Bringing two states together, fact by fact. The one thing to keep true: the result depends on the two
// states and what each had seen, and on nothing else: no clock, no order, no common ancestor.

/// The merge of protocol 11, for registers and members of sets alike.
///
/// A fact that both sides have stays. A fact on one side only stays unless the other side had seen it:
/// then that side superseded or retracted it. Concurrent values of one key stay side by side.
package enum FactMerge {
    /// One of the two states, as far as a merge needs it.
    package struct Side {
        /// Of the state's commit.
        package let versions: VersionVector
        /// What stands under the key, ascending by dot.
        package let facts: [Fact]

        package init(facts: [Fact], versions: VersionVector) {
            self.facts = facts
            self.versions = versions
        }
    }

    /// What stands under one key after the merge, ascending by dot; equal for both orders of the sides.
    package static func merge(_ left: Side, _ right: Side) -> [Fact] {
        let leftDots = Set(left.facts.map(\.dot))
        let rightDots = Set(right.facts.map(\.dot))
        var merged = left.facts.filter { rightDots.contains($0.dot) || !right.versions.covers($0.dot) }
        merged += right.facts.filter { !leftDots.contains($0.dot) && !left.versions.covers($0.dot) }
        return merged.sorted { $0.dot < $1.dot }
    }
}
