// Errors of chains. Invariant: a chain with any fault is refused whole; no error is ever repaired or skipped.

/// Why a trust chain, or a link that should join it, was refused.
package struct TrustError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// A link is not canonical CBOR of the specified shape.
        case linkMalformed = "trust.link.malformed"
        /// A link of a format version, or with an operation, that this program does not know.
        case linkUnsupported = "trust.link.unsupported"
        /// A link's signature does not verify.
        case signatureInvalid = "trust.link.signature-invalid"
        /// A link is signed by a key that the chain does not know at that point.
        case signerUnknown = "trust.link.signer-unknown"
        /// A link is signed by a device that was revoked before.
        case signerRevoked = "trust.link.signer-revoked"
        /// A chain without links.
        case chainEmpty = "trust.chain.empty"
        /// A link of another kind of chain.
        case chainKindDiffers = "trust.chain.kind-differs"
        /// The chain is not the one that was asked for: its first link has another hash.
        case chainIDDiffers = "trust.chain.id-differs"
        /// Sequence numbers do not count up from 0.
        case chainGap = "trust.chain.gap"
        /// A link does not name the hash of the one before.
        case chainBroken = "trust.chain.broken"
        /// The chain ends before the last link that was seen.
        case chainRolledBack = "trust.chain.rolled-back"
        /// The chain differs from what was seen at the same sequence number.
        case chainForked = "trust.chain.forked"
        /// More links than `Limits.chainLinkCountMax`, or more bytes than `Limits.chainByteCountMax`.
        case chainTooLong = "trust.chain.too-long"
        /// A device, or one of its keys, is in the chain already.
        case deviceExists = "trust.device.exists"
        /// An operation names a device that the chain does not hold, or holds no longer.
        case deviceUnknown = "trust.device.unknown"
        /// A device that was added did not prove that it holds its key.
        case countersignatureInvalid = "trust.device.countersignature-invalid"
        /// A paper device is revoked by a device that it outranks, or a recovery is not signed by paper.
        case paperOutranks = "trust.device.paper-outranks"
        /// A paper device's revocation was not announced for seven days.
        case revocationTooEarly = "trust.device.revocation-too-early"
        /// A revocation does not say of each device that the revoked one added whether it goes.
        case broughtUndecided = "trust.device.brought-undecided"
        /// The vault's founder is not the account of the device chain at hand, or not at the stated head.
        case founderDiffers = "trust.member.founder-differs"
        /// A link of an identity states a link of the device chain that is not known here.
        case identityHeadMissing = "trust.identity.head-missing"
        /// A link of an identity states an older head of the device chain than the link before.
        case identityHeadsBehind = "trust.identity.heads-behind"
        /// A key of an identity was used before, by it or by a device of the account.
        case identityKeyReused = "trust.identity.key-reused"
        /// The new signing key of an identity did not sign the keys that come with it.
        case identityCountersignatureInvalid = "trust.identity.countersignature-invalid"
        /// The newest keys of an account are by a device that it does not trust any more, or older than a revocation.
        case identityStale = "trust.identity.stale"
        /// A letter is no letter, or not from whom it says.
        case letterInvalid = "keys.letter.invalid"
        /// The private part of a link does not open.
        case detailsSealed = "trust.link.details-sealed"
    }

    package let code: Code
    /// The sequence number of the refused link, if there is one.
    package let sequenceNumber: UInt64?

    package init(_ code: Code, at sequenceNumber: UInt64? = nil) {
        self.code = code
        self.sequenceNumber = sequenceNumber
    }
}
