// Letters between people, and who may write to whom. Invariant: a letter travels as the bytes that were signed, and its
// recipient verifies it.

package import CoffretBase

/// `POST /v1/letters/{id}`: [token(32) or empty, letter], to the account that the path names.
package struct PersonalLetter: ServerMessage, CBORRecord {
    /// From an invitation of the recipient; nil: none.
    package let token: [UInt8]?
    package let letter: [UInt8]

    package init(token: [UInt8]? = nil, letter: [UInt8]) {
        self.token = token
        self.letter = letter
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("token", \.token, .bytesOrEmpty(count: ServerLimits.tokenByteCount)),
        CBORField("letter", \.letter, .letter))
}

/// `GET /v1/letters`: [[id(32), sender's account(32), letter]…], oldest first. A letter stays until it is deleted, or for 30
/// days.
package struct WaitingLetters: ServerMessage {
    package struct Entry: Equatable, Sendable, CBORRecord {
        /// BLAKE2b-256 of the letter.
        package let id: [UInt8]
        package let sender: [UInt8]
        package let letter: [UInt8]

        package init(id: [UInt8], sender: [UInt8], letter: [UInt8]) {
            self.id = id
            self.sender = sender
            self.letter = letter
        }

        package static let layout = CBORLayout(
            Self.init, CBORField("id", \.id, .hash), CBORField("sender", \.sender, .account),
            CBORField("letter", \.letter, .letter))
    }

    package let entries: [Entry]

    package init(_ entries: [Entry]) { self.entries = entries }

    package static let form = CBORForm<Entry>.record.list(countMax: ServerLimits.letterCountMax)
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(entries, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { entries = try Self.form.decode(&decoder) }
}

/// `PUT /v1/contacts`: [account(32)…], who may write to the session's account and add it to vaults; in place of those before.
package struct ContactList: ServerMessage {
    package let accounts: [[UInt8]]

    package init(_ accounts: [[UInt8]]) { self.accounts = accounts }

    package static let form = CBORForm<[UInt8]>.account.list(
        countMax: ServerLimits.contactCountMax, name: "account")
    package static var notation: String { form.notation }

    package func encode(to encoder: inout CBOREncoder) { Self.form.encode(accounts, &encoder) }

    package init(from decoder: inout CBORDecoder) throws(CBORError) { accounts = try Self.form.decode(&decoder) }
}

/// `POST /v1/contact-tokens`: [hash(32), expiry, uses]. With no uses left the token is withdrawn.
package struct ContactToken: ServerMessage, CBORRecord {
    /// BLAKE2b-256 of the token.
    package let hash: [UInt8]
    /// Milliseconds since 1970, by the server's clock.
    package let expiry: UInt64
    package let useCount: UInt64

    package init(hash: [UInt8], expiry: UInt64, useCount: UInt64) {
        self.hash = hash
        self.expiry = expiry
        self.useCount = useCount
    }

    package static let layout = CBORLayout(
        Self.init, CBORField("hash", \.hash, .hash), CBORField("expiry", \.expiry, .unsigned),
        CBORField("uses", \.useCount, .unsigned))
}

/// The answer to `POST /v1/guest-invitations`: [invitation], for one account that counts on the space of who invites it.
package struct GuestInvitation: ServerMessage, CBORRecord {
    package let invitation: [UInt8]

    package init(invitation: [UInt8]) { self.invitation = invitation }

    package static let layout = CBORLayout(
        Self.init,
        CBORField("invitation", \.invitation, .bytes(countMax: ServerLimits.invitationByteCountMax)))
}
