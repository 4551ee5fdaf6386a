// Errors that end a pairing. Invariant: every mismatch, of a code, a hash or a signature, is one error, and after it
// the attempt is over.

internal import CoffretBase

/// Why a pairing ended.
package struct PairingError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// A wrong code, or anything that does not fit what was committed to: perhaps somebody in the middle.
        case mismatch = "pairing.mismatch"
        /// Three attempts within ten minutes: the next one has to wait.
        case paused = "pairing.paused"
        /// The attempt took longer than ten minutes.
        case expired = "pairing.expired"
        /// The other device gave up.
        case endedByPeer = "pairing.ended-by-peer"
        /// The other device speaks another version.
        case unsupported = "pairing.unsupported"
        /// The two devices do not see the same server: its certificate differs.
        case serverDiffers = "pairing.server-differs"
        /// The other device belongs to another account than the one that was named here.
        case accountDiffers = "pairing.account-differs"
        /// A step out of turn, or after the attempt was over; a fault of this program.
        case outOfOrder = "pairing.out-of-order"
        /// Text that names no pairing.
        case invitationMalformed = "pairing.invitation-malformed"
    }

    package let code: Code

    package init(_ code: Code) { self.code = code }
}
