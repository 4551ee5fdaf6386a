// What can be wrong with a member link. The one thing to keep true: the first failure ends the chain there; only a link
// that waits for something is looked at again.

/// Why a link of a member chain was not taken.
package struct MemberError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The public part is not canonical CBOR of the specified form.
        case linkMalformed = "trust.link.malformed"
        /// An operation of a later version.
        case linkUnsupported = "trust.link.unsupported"
        /// The link is of another kind of chain, or has not the next number.
        case linkBroken = "trust.chain.broken"
        /// Another link than the one here, or one behind another link than the newest here (K9).
        case forked = "trust.chain.forked"
        case signatureInvalid = "trust.link.signature-invalid"
        case signerUnknown = "trust.link.signer-unknown"
        case signerRevoked = "trust.link.signer-revoked"
        /// A link of a device chain that the link states is not here: looked at again when it is.
        case chainMissing = "trust.member.chain-missing"
        /// The key that opens the link's checkpoint is not here: looked at again when it is.
        case keyMissing = "trust.member.key-missing"
        /// The link states an older head of an account than the chain did before.
        case headsBehind = "trust.member.heads-behind"
        /// The signer may not do that, or the operation does not apply to what the chain says so far.
        case notPermitted = "trust.member.not-permitted"
        /// The vault has as many accounts, or owners, as it may.
        case tooMany = "trust.member.too-many"
        /// An owner is lowered or removed by somebody who has no right to it.
        case outranked = "trust.member.outranked"
        /// A circle is armed before all of its contacts have accepted.
        case consentRequired = "recovery.consent-required"
    }

    package let code: Code
    package let sequenceNumber: UInt64

    package init(_ code: Code, at sequenceNumber: UInt64) {
        self.code = code
        self.sequenceNumber = sequenceNumber
    }

    /// Whether the link may become good later, without being another one.
    package var waits: Bool { code == .chainMissing || code == .keyMissing }

    package var description: String { "\(code.rawValue) at link \(sequenceNumber)" }
}
