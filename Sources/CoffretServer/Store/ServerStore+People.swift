// Letters between people, and who may write to whom. The one thing to keep true: a stranger is told the same of everybody,
// after the same questions to the database, and what he sends is not kept.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
package import CoffretWire

extension ServerStore {
    /// Letters wait so long; a use of a token lets its user add the account to vaults for as long.
    static let letterMilliseconds: Int64 = 30 * 86_400_000
    private static let tokenMillisecondsMax: Int64 = 366 * 86_400_000
    private static let tokenUseCountMax: UInt64 = 255

    // MARK: Who may

    /// Replaces the accounts that may write to this one and add it to vaults.
    package func setContacts(_ list: ContactList, of owner: SessionOwner) throws {
        try database.write { session in
            let account = SQLValue.bytes(owner.accountID)
            _ = try session.first("SELECT used FROM accounts WHERE account = $1" + session.lockClause, account)
            try session.run("DELETE FROM contacts WHERE account = $1", account)
            for contact in Set(list.accounts) {
                try session.run(
                    "INSERT INTO contacts(account, contact, expiry) VALUES($1, $2, $3)", account, .bytes(contact),
                    .int(.max))
            }
        }
    }

    /// Keeps the hash of a token, or withdraws it.
    ///
    /// - Throws: `.malformed` for an expiry beyond a year or more than 255 uses; `.quotaExceeded` for more than 32 of them.
    package func setToken(_ token: ContactToken, of owner: SessionOwner) throws {
        let now = now
        guard let expiry = Int64(exactly: token.expiry), expiry <= now + Self.tokenMillisecondsMax,
            token.useCount <= Self.tokenUseCountMax
        else { throw ServerFailure(.malformed, "a token's expiry or uses") }
        try database.write { session in
            let account = SQLValue.bytes(owner.accountID)
            _ = try session.first("SELECT used FROM accounts WHERE account = $1" + session.lockClause, account)
            try session.run("DELETE FROM tokens WHERE account = $1 AND hash = $2", account, .bytes(token.hash))
            guard token.useCount > 0, expiry >= now else { return }
            let count = try session.first(
                "SELECT COUNT(*) FROM tokens WHERE account = $1 AND expiry >= $2", account, .int(now))
            guard (count?[0].int ?? 0) < Int64(ServerLimits.contactTokenCountMax) else {
                throw ServerFailure(.quotaExceeded)
            }
            try session.run(
                "INSERT INTO tokens(account, hash, expiry, uses) VALUES($1, $2, $3, $4)", account, .bytes(token.hash),
                .int(expiry), .int(Int64(token.useCount)))
        }
    }

    /// Whether one account may add another one to a vault.
    ///
    /// - Throws: `.notAllowed`; `.lettersFull` if as many vaults wait for that one as may.
    func checkAddition(of account: [UInt8], by signer: [UInt8]) throws {
        let known = try database.lookUp(
            "SELECT expiry FROM contacts WHERE account = $1 AND contact = $2 AND expiry >= $3",
            [.bytes(account), .bytes(signer), .int(now)])
        let waiting = try database.lookUp(
            """
            SELECT COUNT(*) FROM members m JOIN steps s ON s.number = m.number AND s.seq = m.since
            WHERE m.account = $1 AND m.accepted = 0 AND s.time > $2
            """, [.bytes(account), .int(age.now - Self.letterMilliseconds)]
        ).first?[0].int
        guard !known.isEmpty else { throw ServerFailure(.notAllowed) }
        guard (waiting ?? 0) < Int64(ServerLimits.waitingVaultCountMax) else { throw ServerFailure(.lettersFull) }
    }

    // MARK: Letters

    /// Leaves a letter for an account. A later one of the same sender, purpose and scope takes its place.
    ///
    /// - Throws: `.malformed` for what is no letter of this sender to this account; `.notAllowed`, the same for an account
    ///   that is not here; `.lettersFull`.
    package func post(_ post: PersonalLetter, to account: [UInt8], by owner: SessionOwner) throws {
        let header = try letterHeader(post.letter, by: owner)
        let isContact = header.purpose == .contactRequest || header.purpose == .contactAnswer
        guard header.recipient.bytes == account, header.purpose != .vaultKey, !isContact || header.scope == account
        else { throw ServerFailure(.malformed, "a letter to somebody else, or of another purpose") }
        let (now, time) = (now, age.now)
        try database.write { session in
            // All of it whatever the answers are: whoever asks learns nothing from the time either.
            let (recipient, sender) = (SQLValue.bytes(account), SQLValue.bytes(owner.accountID))
            let exists = try session.first(
                "SELECT used FROM accounts WHERE account = $1" + session.lockClause, recipient)
            let contact = try session.first(
                "SELECT expiry FROM contacts WHERE account = $1 AND contact = $2 AND expiry >= $3", recipient, sender,
                .int(now))
            let shared = try session.first(
                """
                SELECT z.number FROM zones z JOIN members m ON m.number = z.number JOIN members o ON o.number = z.number
                WHERE z.zone = $1 AND m.account = $2 AND o.account = $3 AND LENGTH(z.account) > 0
                """, .bytes(header.scope), recipient, sender)
            let token = try session.first(
                "UPDATE tokens SET uses = uses - 1 WHERE account = $1 AND hash = $2 AND expiry >= $3 AND uses > 0 RETURNING uses",
                recipient, .bytes(BLAKE2b.hash(post.token ?? [])), .int(now))
            let isShown = token != nil && post.token != nil && isContact
            guard exists != nil, isContact ? contact != nil || isShown : shared != nil else {
                throw ServerFailure(.notAllowed)
            }
            if isShown {
                try session.run(
                    """
                    INSERT INTO contacts(account, contact, expiry) VALUES($1, $2, $3) ON CONFLICT(account, contact)
                    DO UPDATE SET expiry = excluded.expiry WHERE contacts.expiry < excluded.expiry
                    """, recipient, sender, .int(now + Self.letterMilliseconds))
            }
            if header.purpose == .keyWanted { try forgetLetter(of: owner.accountID, in: header.scope, session) }
            try keep(post.letter, header, for: account, at: time, session)
        }
    }

    private func keep(
        _ letter: [UInt8], _ header: LetterHeader, for account: [UInt8], at time: Int64, _ session: any SQLSession
    ) throws {
        let sender = header.sender.bytes
        let key: [SQLValue] = [
            .bytes(account), .bytes(sender), .int(Int64(header.purpose.rawValue)), .bytes(header.scope),
        ]
        let former = try session.query(
            """
            DELETE FROM letters WHERE account = $1 AND sender = $2 AND purpose = $3 AND scope = $4 RETURNING LENGTH(data)
            """, key)
        let count = try session.first("SELECT COUNT(*) FROM letters WHERE account = $1", .bytes(account))
        guard (count?[0].int ?? 0) < Int64(ServerLimits.letterCountMax) else { throw ServerFailure(.lettersFull) }
        try session.execute(
            "INSERT INTO letters(account, sender, purpose, scope, id, created, data) VALUES($1, $2, $3, $4, $5, $6, $7)",
            key + [.bytes(BLAKE2b.hash(letter)), .int(time), .bytes(letter)])
        try charge(
            sender, Int64(letter.count) - (former.first.map { $0[0].int } ?? -Self.rowByteCount), session, .small)
        try tell([account], .letter, session)
    }

    /// What waits for an account, the oldest first.
    package func letters(for owner: SessionOwner) throws -> WaitingLetters {
        let rows = try database.lookUp(
            """
            SELECT id, sender, data FROM letters WHERE account = $1 ORDER BY created, id
            LIMIT \(ServerLimits.letterCountMax)
            """, [.bytes(owner.accountID)])
        return WaitingLetters(
            rows.map { WaitingLetters.Entry(id: $0[0].bytes, sender: $0[1].bytes, letter: $0[2].bytes) })
    }

    /// - Throws: `.objectUnknown`.
    package func deleteLetter(_ id: [UInt8], for owner: SessionOwner) throws {
        try database.write { session in
            let rows = try session.query(
                "DELETE FROM letters WHERE account = $1 AND id = $2 RETURNING sender, LENGTH(data)",
                [.bytes(owner.accountID), .bytes(id)])
            guard let row = rows.first else { throw ServerFailure(.objectUnknown) }
            try charge(row[0].bytes, -row[1].int - Self.rowByteCount, session)
            try tell([owner.accountID], .letter, session)
        }
    }

    /// Deletes letters that nobody took in time.
    ///
    /// - Returns: whether there may be more.
    func deleteOldLetters() throws -> Bool {
        let end = SQLValue.int(age.now - Self.letterMilliseconds)
        let due = try database.lookUp("SELECT account, id FROM letters WHERE created < $1 LIMIT 1", [end]).first
        guard let due else { return false }
        let owner = SessionOwner(accountID: due[0].bytes, deviceID: [])
        do { try deleteLetter(due[1].bytes, for: owner) } catch let failure as ServerFailure
            where failure.code == .objectUnknown
        {}
        return true
    }
}
