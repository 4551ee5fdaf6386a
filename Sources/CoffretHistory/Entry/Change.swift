// What an entry says of one key. The one thing to keep true: a change names every fact that it replaces, and replaces no
// other (E3).

package import CoffretStorage

/// What stands under a key by a change: a stored value (section 14), as it lies in the entry.
package enum ChangeContent: Hashable, Sendable {
    /// Nothing any more: what the change replaces goes.
    case retraction
    /// A stored value of 1 to 512 bytes; it will lie in the tree.
    case inPlace([UInt8])
    /// A stored value of 513 to 4,096 bytes, with the 16 random bytes that its blob will begin with.
    case salted(salt: [UInt8], bytes: [UInt8])
    /// A stored value of more than 512 bytes in blobs that were stored with the entry or before.
    case inBlobs(StoredValue)
}

/// One change of one key.
package struct Change: Hashable, Sendable {
    package let key: FactKey
    package let content: ChangeContent
    /// Facts under the key that the author was shown and that stand no more; ascending as they are written: those of the
    /// own instance first, then by (instance, number). Empty: nothing is replaced.
    package let replaces: [Dot]

    package init(key: FactKey, content: ChangeContent, replaces: [Dot] = []) {
        self.key = key
        self.content = content
        self.replaces = replaces
    }
}
