// What can be wrong with a history. The one thing to keep true: a code says what stops, and Spec/history.md section 17
// says for how long.

/// Why something in a history was refused, or waits.
///
/// `code` is for branching, `place` for people who look at a store: an entry's name, a dot, a link's number. Neither has
/// a person's data. Two errors are equal if code and place are.
package struct HistoryError: Error, Equatable, Sendable, CustomStringConvertible {
    package let code: Code
    package let place: String?
    /// The failure underneath, if another layer reported one.
    package let cause: (any Error)?

    package init(_ code: Code, place: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.place = place
        self.cause = cause
    }

    package static func == (left: HistoryError, right: HistoryError) -> Bool {
        left.code == right.code && left.place == right.place
    }

    package var description: String {
        guard let place else { return code.rawValue }
        return "\(code.rawValue) at \(place)"
    }

    /// Spec: Spec/history.md section 17.
    package enum Code: String, Sendable, CaseIterable {
        // Entries (section 6).
        case entryMalformed = "storage.entry.malformed"
        case entryInstanceForeign = "storage.entry.instance-foreign"
        case entryNotAWriter = "storage.entry.not-a-writer"
        case entryEpochDiffers = "storage.entry.epoch-differs"
        case entryUnsupportedFormat = "storage.entry.unsupported-format"
        case entryBehindLimit = "storage.entry.behind-limit"
        // Logs, states, checkpoints.
        case logForked = "storage.log.forked"
        case logBroken = "storage.log.broken"
        case stateDiffers = "storage.state.differs"
        /// The stored state is damaged, or not of these links and entries (L1): it is computed anew.
        case stateMalformed = "storage.state.malformed"
        case checkpointUnproven = "storage.checkpoint.unproven"
        case checkpointDiffers = "storage.checkpoint.differs"
        /// This device dropped what is asked for; the place is the checkpoint (G7).
        case historyCompacted = "storage.history.compacted"
        // Frontiers that are no frontiers (F6); a refused head hides nothing.
        case headRefused = "sync.head.refused"
        /// A link that an entry states is not here, or another one stands at its number: the entry waits.
        case membersWithheld = "sync.members.withheld"
        // Stored values (Z5).
        case valueMalformed = "storage.value.malformed"
        /// libzstd is not installed: compressed texts cannot be read.
        case valueLibraryMissing = "storage.value.library-missing"
    }
}
