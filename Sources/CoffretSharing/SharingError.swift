// Errors of letters, cards and people. The one thing to keep true: a letter that does not open says no more than that.

/// Why something between people was refused.
package struct SharingError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// A letter is for somebody else, not from whom it says, replayed elsewhere, or altered.
        case letterInvalid = "keys.letter.invalid"
        /// A letter is sealed to keys of its recipient that others have replaced.
        case letterStaleIdentity = "keys.letter.stale-identity"
        /// A key that a letter brings is not the one that the member chain commits to.
        case letterKeyDiffers = "keys.letter.key-differs"
        /// A contact is not verified as far as sharing needs.
        case contactUnverified = "sharing.contact.unverified"
        /// Somebody else may hold a contact's account: it was recovered since its codes were compared.
        case contactChanged = "sharing.contact.changed"
        /// The code of an invitation was used by somebody else, withdrawn, or is too old.
        case codeUsed = "sharing.contact.code-used"
        /// A name can be taken for that of another contact.
        case lookAlike = "sharing.contact.lookalike"
        /// Nobody is called so, and no request of that id waits.
        case contactUnknown = "sharing.contact.unknown"
        /// A contact of that name, or with that account, is there.
        case contactExists = "sharing.contact.exists"
        /// A contact cannot be called so.
        case nameInvalid = "sharing.contact.name-invalid"
        /// A card is of an account at another server than the own one.
        case otherServer = "sharing.card.other-server"
        /// The newest transient key of a recipient expired more than 45 days ago.
        case recipientDormant = "sharing.recipient.dormant"
        /// A text is no address of a person, or a character of it is wrong.
        case addressInvalid = "sharing.address.invalid"
        /// A text is no card, or the card is not signed by the account that it names.
        case cardInvalid = "sharing.card.invalid"
        /// Somebody would be in a circle, or get a share of it, without having accepted, or before all have.
        case consentRequired = "recovery.consent-required"
        /// No link of the circle records the request, or its chain was not followed just now.
        case requestUnrecorded = "recovery.request.unrecorded"
        /// The request does not stand for the circle's waiting time by this device's clock.
        case requestTooEarly = "recovery.request.too-early"
        /// The person forbade the request, or one within the last 24 hours.
        case requestForbidden = "recovery.request.forbidden"
        /// A share is not the one that the circle commits to, or shares together give no device of the account.
        case shareInvalid = "recovery.request.share-invalid"
        /// There is no circle of that person, or the own one is none that could do that.
        case circleUnknown = "recovery.contacts.unknown"
        /// The account has recovery contacts already, or is about to.
        case circleExists = "recovery.contacts.exist"
        /// The person has no sheet of his own, which outranks the recovery contacts.
        case sheetRequired = "recovery.sheet-required"
    }

    package let code: Code
    /// What is meant, where a person needs it to find the thing.
    package let place: String?

    package init(_ code: Code, at place: String? = nil) {
        self.code = code
        self.place = place
    }
}
