// Things wrong in a zone that stop nothing. The one thing to keep true: a person is told who may have done it, by signatures,
// and the vault goes on.

package import CoffretHistory

/// Something that a member's device or the server did, and that a person should know.
package struct SyncFinding: Hashable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        /// A device states a link that the server does not give (section 6 of Spec/history.md).
        case membersWithheld = "sync.members.withheld"
        /// A device states another link than the one here, under its number.
        case chainForked = "trust.chain.forked"
        /// F5, F6: a head that nobody can read, or that has less than the one before.
        case headRefused = "sync.head.refused"
        /// F3: a head named what never came.
        case entryMissing = "sync.entry.missing"
        /// For a day a device has said that it has what does not come.
        case entryWithheld = "sync.entry.withheld"
        /// The word of a device that spoke before is not there, or none.
        case auditFailed = "sync.audit.failed"
        /// C5: a checkpoint accepts what nobody showed for a day.
        case checkpointUnproven = "storage.checkpoint.unproven"
        /// C6: a checkpoint has another tree than its entries make.
        case checkpointDiffers = "storage.checkpoint.differs"
        /// K6: two entries with one number, both signed.
        case logForked = "storage.log.forked"
    }

    package let kind: Kind
    /// Whose signature or log it is; nil: nobody signed it.
    package let device: MemberDevice?
    /// The server may have done it, too, by keeping something back.
    package let mayBeServer: Bool

    package init(_ kind: Kind, by device: MemberDevice?, mayBeServer: Bool) {
        self.kind = kind
        self.device = device
        self.mayBeServer = mayBeServer
    }
}
