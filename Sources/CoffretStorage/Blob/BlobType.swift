// The kinds of blobs. The one thing to keep true: the type is the first sealed byte, so that a blob
// of one kind is never accepted where a reference expects another.

/// What a blob holds. The raw value is the first byte under the seal and part of the name.
package enum BlobType: UInt8, Sendable, CaseIterable {
    case treeLeaf = 1
    case treeInner = 2
    case commit = 3
    /// A value above the inline limit, or a piece of a long one: 16 random bytes ‖ bytes (protocol 13).
    case value = 4
    /// The pieces of a value above 16 KiB: 16 random bytes ‖ the names of the pieces.
    case valueList = 5
    /// What many commits state alike, written once.
    case commitContext = 6
    /// The journal's own record of heads and checkpoint; never referred to by other blobs.
    case repositoryState = 7
    // Histories as logs (Spec/history.md section 3); no store writes them yet.
    case entry = 8
    /// What many entries of a log state alike, written once.
    case entryContext = 9
    case frontier = 10
    case syncMemory = 11
}
