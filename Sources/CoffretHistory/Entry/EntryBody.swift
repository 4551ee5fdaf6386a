// One signed change. The one thing to keep true: what an entry says never changes, and of an entry that was deleted for
// good everything but its changes can still be shown (E10).

package import CoffretBase
package import CoffretStorage

/// What changes with an entry.
package enum EntryChanges: Hashable, Sendable {
    /// Nothing: an entry that states something, or that tells what was seen.
    case none
    /// Keys 7 and 13: ascending by key, each key once, 1 to 512; with 16 random bytes.
    case list([Change], salt: [UInt8])
    /// Keys 8 and 13: the root of a tree of changes (E6); with 16 random bytes.
    case tree(BlobName, salt: [UInt8])
    /// Key 14, in a bare form alone: the digest of what went, and the instances of key 10.
    case gone(digest: Bytes32, replacedInstances: [InstanceID])

    /// The changes in place; empty for the other forms.
    package var list: [Change] {
        if case .list(let changes, _) = self { changes } else { [] }
    }
}

/// The body of an entry. Its context is named; whose log it is in, only that tells.
///
/// Spec: Spec/history.md section 3.
package struct EntryBody: Hashable, Sendable {
    /// Key 1: the name of the `EntryContext`.
    package var context: BlobName
    /// Key 2.
    package var number: EntryNumber
    /// Key 3: the entry before in the same log; nil exactly in entry 1.
    package var before: BlobName?
    /// Key 4.
    package var height: Height
    /// Key 5: the author's clock; for show, never for order.
    package var time: Milliseconds
    /// Key 6: of each other instance of which something was applied since the own entry before, the newest; mostly empty.
    package var seen: Frontier
    /// Keys 7, 8, 10, 13, 14.
    package var changes: EntryChanges
    /// Key 9: what the author says of other vaults, sealed for the person's own devices; 1 to 2,048 bytes.
    package var statement: [UInt8]?
    /// Key 11: the entry that this one writes again (I4).
    package var rewrites: Dot?
    /// Key 12: for a key log; 1 to 512 bytes.
    package var keyLogNote: [UInt8]?

    package init(
        context: BlobName, number: EntryNumber, before: BlobName?, height: Height, time: Milliseconds,
        seen: Frontier = Frontier(), changes: EntryChanges = .none, statement: [UInt8]? = nil, rewrites: Dot? = nil,
        keyLogNote: [UInt8]? = nil
    ) {
        self.context = context
        self.number = number
        self.before = before
        self.height = height
        self.time = time
        self.seen = seen
        self.changes = changes
        self.statement = statement
        self.rewrites = rewrites
        self.keyLogNote = keyLogNote
    }
}
