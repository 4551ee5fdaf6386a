// How far a check of a vault has come.

/// How far a check has come.
package struct FsckProgress: Sendable {
    package enum Phase: String, Sendable {
        case files
        case entries
        case trees
        /// Files of items; how many there are is known at the end.
        case attachments
    }

    package let phase: Phase
    package let doneCount: Int
    /// Nil where it is not known.
    package let totalCount: Int?

    package init(phase: Phase, doneCount: Int, totalCount: Int?) {
        self.phase = phase
        self.doneCount = doneCount
        self.totalCount = totalCount
    }
}
