// What a transaction says about the whole repository. The one thing to keep true: every complete
// transaction carries a state, so that opening needs the newest one and never a walk.

/// What was kept, and what was stored behind it, as of one complete transaction (Spec/journal.md section 5).
package struct RepositoryState: Equatable, Sendable {
    /// What the layer above stored at its last checkpoint; opaque here.
    package var kept: [UInt8]
    /// The entries that it stored behind that, oldest first.
    package var entries: [BlobName]
    /// Bytes of the sync, opaque here; at most 64 KiB.
    package var memory: [UInt8]
    /// The newest keyring generation that this vault has seen.
    package var keyringGeneration: UInt64

    package init(
        kept: [UInt8] = [], entries: [BlobName] = [], memory: [UInt8] = [], keyringGeneration: UInt64 = 0
    ) {
        self.kept = kept
        self.entries = entries
        self.memory = memory
        self.keyringGeneration = keyringGeneration
    }
}
