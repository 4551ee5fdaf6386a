// Facts: what a vault knows. The one thing to keep true: a fact never changes; a change is a newer
// fact under the same key, a deletion takes the fact out of the tree.

internal import CoffretBase

/// A value that lies outside the tree: the name of its blob, and how long it is.
///
/// Up to `FactLimits.wholeValueByteCountMax` bytes the blob is the value (`value` of `BlobType`);
/// above, it lists the pieces (`valueList`).
package struct StoredValue: Hashable, Sendable {
    package let name: BlobName
    package let byteCount: Int

    package init(name: BlobName, byteCount: Int) {
        self.name = name
        self.byteCount = byteCount
    }

    var isList: Bool { byteCount > FactLimits.wholeValueByteCountMax }
}

/// Limits of facts; the same on all devices, since they decide what bytes are hashed.
package enum FactLimits {
    /// Values up to this size lie in the tree's leaves.
    package static let inlineValueByteCountMax = 512
    /// Values up to this size lie in the commit that writes them.
    package static let commitValueByteCountMax = 4096
    /// Values up to this size are one blob; longer ones are cut into pieces.
    package static let wholeValueByteCountMax = 16 << 10
    /// No value is longer; what is longer is an attachment.
    package static let valueByteCountMax = 16 << 20
    /// Numbers and heights of entries: they stay exact in JSON and in SQLite.
    package static let numberMax: UInt64 = 1 << 53 - 1
    /// The random bytes before each value that lies in a blob of its own (protocol 13).
    package static let saltByteCount = 16
}

/// What stands under a key.
package enum FactContent: Hashable, Sendable {
    /// At most 512 bytes, in place.
    case inline([UInt8])
    /// More, in blobs of its own; `Snapshot.value(of:)` reads it.
    case stored(StoredValue)
    /// Nothing any more. In the lists of changes of large commits only, never in the state of a vault.
    case retraction

    package var byteCount: Int {
        switch self {
        case .inline(let bytes): bytes.count
        case .stored(let value): value.byteCount
        case .retraction: 0
        }
    }
}

/// One fact of a vault.
///
/// Several facts may share a key with different dots: concurrent values, which only merges make and
/// the next write of the key supersedes. `<` is the order in trees: by key, then by dot.
package struct Fact: Equatable, Sendable, Comparable {
    package let key: FactKey
    package let content: FactContent
    package let dot: Dot
    /// The height of the entry that wrote the fact (Spec/history.md section 1), at least 1; 0 in histories of commits,
    /// which have no heights.
    package let height: UInt64

    package init(key: FactKey, content: FactContent, dot: Dot, height: UInt64 = 0) {
        self.key = key
        self.content = content
        self.dot = dot
        self.height = height
    }

    /// The value if it lies in place, which all values up to 512 bytes do.
    package var inlineValue: [UInt8]? {
        if case .inline(let bytes) = content { bytes } else { nil }
    }

    package var isRetraction: Bool { content == .retraction }

    package static func < (left: Fact, right: Fact) -> Bool {
        let order = left.key.compare(to: right.key)
        return order != 0 ? order < 0 : left.dot < right.dot
    }
}

extension [Fact] {
    /// The value that a register with these concurrent facts shows: that of the greatest height and dot (S8).
    package var winner: Fact? {
        self.max { ($0.height, $0.dot) < ($1.height, $1.dot) }
    }
}

/// What stands under a key from now on: nothing, one fact, or several concurrent ones.
struct Replacement: Equatable, Sendable {
    let key: FactKey
    /// Ascending by dot; empty removes the key.
    let facts: [Fact]
}
