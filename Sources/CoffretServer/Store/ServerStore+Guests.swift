// Guests: accounts that somebody of the server invites, and pays for. The one thing to keep true: what a guest stores counts
// on its sponsor too, and no sponsor invites more guests than he may have.

internal import CoffretBase
internal import CoffretCrypto
package import CoffretWire

extension ServerStore {
    static let guestInvitationMilliseconds: Int64 = 14 * 86_400_000
    /// Of its sponsor's space a guest uses at most one part of so many.
    static let guestShare: Int64 = 10
    /// Vaults of what a guest knows of people: the only ones that it founds.
    static let guestZoneCountMax: Int64 = 2

    /// Makes an invitation for one guest of an account, for 14 days.
    ///
    /// - Throws: `.forbidden` for a guest; `.guestsUsedUp`.
    package func inviteGuest(by owner: SessionOwner) throws -> GuestInvitation {
        // The same form as that of the operator's.
        let invitation = Array(Hex.encode(random.bytes(count: 16)).utf8)
        let now = now
        try database.write { session in
            let account = SQLValue.bytes(owner.accountID)
            let row = try session.first(
                "SELECT LENGTH(sponsor) FROM accounts WHERE account = $1" + session.lockClause, account)
            guard row?[0].int == 0 else { throw ServerFailure(.forbidden, "a guest") }
            let count = try session.first(
                """
                SELECT (SELECT COUNT(*) FROM accounts WHERE sponsor = $1)
                    + (SELECT COUNT(*) FROM invitations WHERE sponsor = $1 AND expiry >= $2)
                """, account, .int(now))
            guard (count?[0].int ?? 0) < quota.guestCount else { throw ServerFailure(.guestsUsedUp) }
            try session.run(
                "INSERT INTO invitations(hash, expiry, sponsor) VALUES($1, $2, $3)",
                .bytes(BLAKE2b.hash(invitation)), .int(now + Self.guestInvitationMilliseconds), account)
        }
        return GuestInvitation(invitation: invitation)
    }

    /// Makes a guest an account like others: its sponsor does not pay any more.
    ///
    /// - Throws: `.accountUnknown`, also for one that is no guest.
    package func makeFull(_ account: [UInt8]) throws {
        try database.write { session in
            let row = try session.first(
                "SELECT used, sponsor FROM accounts WHERE account = $1 AND LENGTH(sponsor) > 0" + session.lockClause,
                .bytes(account))
            guard let row else { throw ServerFailure(.accountUnknown) }
            try session.run("UPDATE accounts SET sponsor = $1 WHERE account = $2", .bytes([]), .bytes(account))
            try charge(row[1].bytes, -row[0].int, session)
        }
    }

    /// Whether an account is somebody's guest.
    func isGuest(_ account: [UInt8], _ session: any SQLSession) throws -> Bool {
        try session.first(
            "SELECT account FROM accounts WHERE account = $1 AND LENGTH(sponsor) > 0", .bytes(account)) != nil
    }
}
