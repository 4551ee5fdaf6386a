// Letters, contacts and invitations at an account's server. Invariant: a letter is handed on as it came, and whoever opens it
// verifies it.

internal import CoffretBase
package import CoffretTrust
package import CoffretWire

extension ServerConnection {
    /// Leaves a letter for another account.
    ///
    /// - Parameters:
    ///   - letter: at most 4 KiB, of purpose 2, 3, 4 or 5.
    ///   - token: 32 bytes, from an invitation of the recipient; nil: none.
    /// - Throws: `.refused` with `server.member.not-allowed` or `server.letters.full`; `.failed`.
    package func post(_ letter: [UInt8], to account: ChainID, token: [UInt8]? = nil) throws {
        let message = PersonalLetter(token: token, letter: letter)
        try send("POST", "/v1/letters/" + account.hex, message.encoded(), accepted: [201])
    }

    /// The letters that wait for this session's account, the oldest first; nothing about them is checked.
    ///
    /// - Throws: `.refused`, `.answerMalformed`, `.failed`.
    package func letters() throws -> [WaitingLetters.Entry] {
        try exchange("GET", "/v1/letters", as: WaitingLetters.self).entries
    }

    /// Deletes a letter; one that is gone already is no error.
    ///
    /// - Parameter id: of `letters()`.
    package func deleteLetter(_ id: [UInt8]) throws {
        try send("DELETE", "/v1/letters/" + Hex.encode(id), accepted: [204, 404])
    }

    /// States the accounts that may write to this one and add it to vaults, in place of those before.
    ///
    /// - Parameter accounts: at most 4,096.
    package func setContacts(_ accounts: [ChainID]) throws {
        try send("PUT", "/v1/contacts", ContactList(accounts.map(\.bytes)).encoded(), accepted: [204])
    }

    /// Keeps the hash of a token at the server; with no uses left it is withdrawn.
    ///
    /// - Throws: `.refused` with `server.quota.exceeded` for more than 32 of them.
    package func setToken(_ token: ContactToken) throws {
        try send("POST", "/v1/contact-tokens", token.encoded(), accepted: [204])
    }

    /// An invitation for one guest of this account, for 14 days.
    ///
    /// - Throws: `.refused` with `server.guests.used-up` or `server.registration.closed`.
    package func guestInvitation() throws -> [UInt8] {
        try exchange("POST", "/v1/guest-invitations", [], accepted: [201], as: GuestInvitation.self).invitation
    }
}
