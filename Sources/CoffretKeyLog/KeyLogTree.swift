// The tree over the log's entries. Invariant: leaves and inner nodes are hashed with different first bytes, so that no node
// can pass for an entry.

package import CoffretBase
internal import CoffretCrypto

/// Hashes of RFC 6962, section 2.1, with SHA-256.
package enum KeyLogTree {
    static func hash(_ bytes: [UInt8]) -> Bytes32 {
        guard let hash = Bytes32(HashAlgorithm.sha256.hash(unsafe bytes.span.bytes)) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        return hash
    }

    package static func leafHash(_ entry: [UInt8]) -> Bytes32 { hash([0] + entry) }
    package static func nodeHash(_ left: Bytes32, _ right: Bytes32) -> Bytes32 { hash([1] + left.bytes + right.bytes) }

    /// The root of a tree without leaves.
    package static let emptyRoot = hash([])

    /// The root over the hashes of one tile, or of the whole tree below 257 leaves.
    package static func root(of hashes: some Sequence<Bytes32>) -> Bytes32 {
        var range = KeyLogRange()
        for hash in hashes { range.append(hash) }
        return range.root
    }
}

/// A tree of which only the roots of its whole subtrees are kept, the largest first: enough to append, and to know the root.
///
/// At most 64 hashes. A tree that is made from it by appending has the old one as its beginning: so who appends what a log gives
/// and comes to the root that it signed knows that nothing before was changed.
package struct KeyLogRange: Equatable, Sendable {
    package private(set) var size: UInt64 = 0
    package private(set) var hashes: [Bytes32] = []

    package init() {}

    /// What was kept; nil where the hashes are not as many as a tree of that size has whole subtrees.
    package init?(size: UInt64, hashes: [Bytes32]) {
        guard hashes.count == size.nonzeroBitCount else { return nil }
        (self.size, self.hashes) = (size, hashes)
    }

    /// The tree that has so many whole tiles: of level 0 its hashes of leaves behind the last whole tile, of level 1 those behind
    /// the last whole tile of level 1, and so on.
    package init(levels: [[Bytes32]]) {
        for (level, hashes) in levels.enumerated().reversed() {
            var part = KeyLogRange()
            for hash in hashes { part.append(hash) }
            self.hashes += part.hashes
            size += part.size << (8 * UInt64(level))
        }
    }

    package mutating func append(_ leafHash: Bytes32) {
        var hash = leafHash
        var rest = size
        while rest & 1 == 1 {
            hash = KeyLogTree.nodeHash(hashes.removeLast(), hash)
            rest >>= 1
        }
        hashes.append(hash)
        size += 1
    }

    package var root: Bytes32 {
        guard var root = hashes.last else { return KeyLogTree.emptyRoot }
        for hash in hashes.dropLast().reversed() { root = KeyLogTree.nodeHash(hash, root) }
        return root
    }
}
