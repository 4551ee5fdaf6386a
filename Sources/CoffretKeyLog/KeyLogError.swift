// Errors of the key log. Invariant: a fault of the server has a code of its own, and none of them is taken for a network that
// is away.

/// Why the log of a server's links is not believed.
package struct KeyLogError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// A note, tile or bundle is not in its form, or a note is not signed by the log's key.
        case checkpointInvalid = "log.checkpoint.invalid"
        /// Entries do not make the tree that the log signed: two histories of one log.
        case forked = "log.forked"
        /// The log is smaller than it was.
        case rolledBack = "log.rolled-back"
        /// A link that the server gave is not in its log.
        case entryMissing = "log.entry.missing"
        /// The log has another link at a number than the server gave.
        case entryDiffers = "log.entry.differs"
        /// The log has a link that the server did not give.
        case linkWithheld = "log.link.withheld"
        /// The log signs with another key than before.
        case keyDiffers = "log.key.differs"
    }

    package let code: Code
    /// A chain and number, a size, or a line.
    package let place: String?

    package init(_ code: Code, at place: String? = nil) {
        self.code = code
        self.place = place
    }
}
