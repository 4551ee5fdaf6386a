// Where a node ends. The one thing to keep true: the answer depends on the keys and sizes since the
// node's start and on the split key alone, so that the same facts give the same nodes whatever the
// order of edits.

internal import CoffretCrypto

/// The size-dependent boundary rule, in integers (Spec/tree.md section 5).
///
/// An entry that takes the node's weight from s to e ends the node iff
/// `(h >> 32) * ((L^4) >> 32) < e^4 - s^4`, with h the keyed hash of (level, key) and L = 1.1 times the
/// target. Sizes then spread far less than under a fixed probability (coefficient of variation 0.26
/// against 1.0), which makes edits cheaper, and tell an observer less. A node also ends where another
/// entry might take it beyond the maximum: members know the split key and could choose their
/// identifiers so that no boundary ever came.
package struct BoundaryRule {
    package static let leafTarget = 2048
    package static let innerTarget = 1024
    /// Maximum of a node's weight, in targets.
    package static let maximumFactor = 4
    /// No entry of a leaf or inner node weighs more; see `LeafBuilder` and `InnerBuilder`.
    static let entryWeightMax = 704

    private let splitKey: ShortHashKey
    private let level: UInt8
    private let scale: UInt64
    private let weightLimit: Int

    package init(splitHash: SplitHash, level: Int) {
        let target = level == 0 ? Self.leafTarget : Self.innerTarget
        let length = UInt64(target * 11 / 10)
        splitKey = splitHash.key
        self.level = UInt8(level)
        scale = (length * length * length * length) >> 32
        weightLimit = target * Self.maximumFactor - Self.entryWeightMax
    }

    /// Whether a node ends behind the last fact, which takes the weight from `start` to `end`.
    func endsNode(after facts: LeafFacts, start: Int, end: Int) -> Bool {
        end > weightLimit || endsNode(hash: facts.lastKeyHash(splitKey, level: level), start: start, end: end)
    }

    /// As above, behind the last child.
    func endsNode(after children: ChildList, start: Int, end: Int) -> Bool {
        end > weightLimit || endsNode(hash: children.lastKeyHash(splitKey, level: level), start: start, end: end)
    }

    private func endsNode(hash: UInt64, start: Int, end: Int) -> Bool {
        (hash >> 32) * scale < Self.fourthPower(end) - Self.fourthPower(start)
    }

    private static func fourthPower(_ value: Int) -> UInt64 {
        let square = UInt64(value) * UInt64(value)
        return square * square
    }
}
