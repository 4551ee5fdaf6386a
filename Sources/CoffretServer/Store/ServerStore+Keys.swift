// Keys of vaults on their way to members. The one thing to keep true: the server keeps what the newest epoch needs and no
// more, opens none of it, and hands a letter to nobody but the account that it names.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
package import CoffretWire

/// A letter with a vault's key whose sender was checked.
struct KeyLetter {
    let bytes: [UInt8]
    let recipient: [UInt8]
    let epoch: UInt32
}

/// What goes along with one link of a vault.
struct LinkCargo {
    let post: MemberPost
    let letters: [KeyLetter]

    init(_ post: MemberPost, letters: [KeyLetter]) {
        self.post = post
        self.letters = letters
    }
}

extension ServerStore {
    // MARK: With a link

    /// Takes one link of a vault's member chain with what goes along: the history object that it commits to, and letters.
    ///
    /// - Throws: as `take(_:by:)`; `.malformed` for a history object that is not the link's, or what is no letter of
    ///   this sender about this vault's newest epoch.
    package func post(_ post: MemberPost, to id: [UInt8], by owner: SessionOwner) throws -> LinksOutcome {
        let item = LinkPost.Item(
            kind: ChainKind.member.rawValue, chainID: id, link: post.link, expectedHead: post.expectedHead)
        if !post.history.isEmpty, let link = try? UnverifiedLink(decoding: post.link) {
            let opening = try? MemberOperation(decoding: link).opening
            guard opening?.historyHash.bytes == BLAKE2b.hash(post.history) else {
                throw ServerFailure(.malformed, "a history object that is not the link's")
            }
        }
        return try take([item], by: owner, with: LinkCargo(post, letters: try checked(post.letters, of: id, by: owner)))
    }

    /// Keeps what came with a link that is stored, now or before. The zone is locked.
    func keep(
        _ cargo: LinkCargo, of chain: VerifiedMemberRights, in zone: Int64, _ id: [UInt8], by owner: SessionOwner,
        _ session: any SQLSession
    ) throws {
        let epoch = chain.rights.epoch
        if !cargo.post.history.isEmpty, let link = try? UnverifiedLink(decoding: cargo.post.link),
            let opening = try MemberOperation(decoding: link).opening, opening.epoch == epoch
        {
            try keep(history: cargo.post.history, epoch, in: zone, by: owner, session)
        }
        try keep(letters: cargo.letters, Int64(epoch), in: zone, by: owner, session)
    }

    private func keep(
        history: [UInt8], _ epoch: UInt32, in zone: Int64, by owner: SessionOwner, _ session: any SQLSession
    ) throws {
        let known = try session.first("SELECT epoch FROM histories WHERE number = $1", .int(zone))
        guard known?[0].int != Int64(epoch) else { return }
        try dropHistory(of: zone, session)
        try charge(owner.accountID, Int64(history.count) + Self.rowByteCount, session, .always)
        try session.run(
            "INSERT INTO histories(number, epoch, account, data) VALUES($1, $2, $3, $4)", .int(zone),
            .int(Int64(epoch)),
            .bytes(owner.accountID), .bytes(history))
    }

    private func dropHistory(of zone: Int64, _ session: any SQLSession) throws {
        let rows = try session.query(
            "DELETE FROM histories WHERE number = $1 RETURNING account, LENGTH(data) + \(Self.rowByteCount)",
            [.int(zone)])
        for row in rows { try charge(row[0].bytes, -row[1].int, session) }
    }

    // MARK: Letters

    /// Puts letters down for members that lack one of the newest epoch; those for others are passed over.
    ///
    /// - Throws: `.zoneUnknown`; `.malformed` for what is no letter of this sender about this vault.
    package func post(_ post: LetterPost, to id: [UInt8], by owner: SessionOwner) throws {
        // A stranger is told nothing, whatever his letters are.
        _ = try zone(id, of: owner)
        let letters = try checked(post.letters, of: id, by: owner)
        try database.write { session in
            let zone = try zone(id, of: owner, session, locking: true)
            try keep(letters: letters, zone.vaultEpoch, in: zone.number, by: owner, session)
        }
    }

    private func keep(
        letters: [KeyLetter], _ epoch: Int64, in zone: Int64, by owner: SessionOwner, _ session: any SQLSession
    ) throws {
        var told: [[UInt8]] = []
        for letter in letters {
            let recipient = SQLValue.bytes(letter.recipient)
            let isMember = try session.first(
                "SELECT role FROM members WHERE number = $1 AND account = $2", .int(zone), recipient)
            guard Int64(letter.epoch) == epoch, isMember != nil else { continue }
            try dropLetters(in: zone, "account = $2 AND epoch < $3", [recipient, .int(epoch)], session)
            let added = try session.run(
                """
                INSERT INTO keyletters(number, account, epoch, sender, data) VALUES($1, $2, $3, $4, $5)
                ON CONFLICT(number, account) DO NOTHING
                """, .int(zone), recipient, .int(epoch), .bytes(owner.accountID), .bytes(letter.bytes))
            guard added == 1 else { continue }
            try charge(owner.accountID, Int64(letter.bytes.count) + Self.rowByteCount, session, .small)
            told.append(letter.recipient)
        }
        if !told.isEmpty { try noteWord(in: zone, session) }
        try tell(told, .letter, session)
    }

    /// A letter of the session's account.
    func letterHeader(_ bytes: [UInt8], by owner: SessionOwner) throws -> LetterHeader {
        let stored = try deviceChain(of: owner.accountID)
        return try letterHeader(bytes, by: AccountDevices(stored.chain, replaced: stored.branches))
    }

    private func letterHeader(_ bytes: [UInt8], by devices: AccountDevices) throws -> LetterHeader {
        guard let letter = try? UnverifiedLetter(decoding: bytes), (try? letter.checkSender(devices)) != nil else {
            throw ServerFailure(.malformed, "no letter of this sender")
        }
        return letter.header
    }

    /// The account asks for the key anew: it is as if no letter had come.
    func forgetLetter(of account: [UInt8], in id: [UInt8], _ session: any SQLSession) throws {
        let zone = try session.first("SELECT number FROM zones WHERE zone = $1", .bytes(id))
        guard let number = zone?[0].int else { return }
        try dropLetters(in: number, "account = $2", [.bytes(account)], session)
        try noteWord(in: number, session)
    }

    /// Letters with a vault's key, before the transaction: their signatures are the longest part.
    private func checked(_ letters: [[UInt8]], of id: [UInt8], by owner: SessionOwner) throws -> [KeyLetter] {
        guard !letters.isEmpty else { return [] }
        let stored = try deviceChain(of: owner.accountID)
        let devices = AccountDevices(stored.chain, replaced: stored.branches)
        return try letters.map { bytes in
            let header = try letterHeader(bytes, by: devices)
            guard header.purpose == .vaultKey, header.scope == id, let epoch = header.keyEpoch else {
                throw ServerFailure(.malformed, "no letter with this vault's key")
            }
            return KeyLetter(bytes: bytes, recipient: header.recipient.bytes, epoch: epoch)
        }
    }

    /// Drops letters with keys of a zone, so that they count on nobody's space.
    ///
    /// - Parameter condition: which; its parameters begin with `$2`.
    func dropLetters(
        in zone: Int64, _ condition: String, _ values: [SQLValue], _ session: any SQLSession
    ) throws {
        let rows = try session.query(
            """
            DELETE FROM keyletters WHERE number = $1 AND \(condition)
            RETURNING sender, LENGTH(data) + \(Self.rowByteCount)
            """, [.int(zone)] + values)
        for row in rows { try charge(row[0].bytes, -row[1].int, session) }
    }

    /// The newest epoch with what a member needs of it, and who has not been sent it.
    package func keys(of id: [UInt8], for owner: SessionOwner) throws -> ZoneKeys {
        try database.read { session in
            let zone = try zone(id, of: owner, session)
            let number = SQLValue.int(zone.number)
            let history = try session.first("SELECT data FROM histories WHERE number = $1", number)
            let letter = try session.first(
                "SELECT data FROM keyletters WHERE number = $1 AND account = $2 AND epoch = $3", number,
                .bytes(owner.accountID), .int(zone.vaultEpoch))
            // Who opened the epoch has its key.
            let opener = try session.first(
                "SELECT account FROM steps WHERE number = $1 AND (sort = 2 OR seq = 0) ORDER BY seq DESC LIMIT 1",
                number)
            let lacking = try session.query(
                """
                SELECT m.account FROM members m WHERE m.number = $1 AND m.account <> $2 AND m.account <> $3
                AND NOT EXISTS (SELECT 1 FROM keyletters k
                    WHERE k.number = m.number AND k.account = m.account AND k.epoch = $4) ORDER BY m.account
                """, [number, .bytes(owner.accountID), opener?[0] ?? .bytes([]), .int(zone.vaultEpoch)])
            return ZoneKeys(
                epoch: UInt32(clamping: zone.vaultEpoch), history: history?[0].bytes ?? [],
                letter: letter?[0].bytes ?? [], lacking: lacking.map { $0[0].bytes })
        }
    }

    /// The account has opened its letter: the letter goes, and a note that it came stays until the next epoch. A letter of
    /// another epoch stays, since one may have come meanwhile.
    package func takeLetter(ofEpoch epoch: UInt32, in id: [UInt8], by owner: SessionOwner) throws {
        try database.write { session in
            let zone = try zone(id, of: owner, session, locking: true)
            let key: [SQLValue] = [.int(zone.number), .bytes(owner.accountID), .int(Int64(epoch))]
            let row = try session.query(
                "SELECT sender, LENGTH(data) FROM keyletters WHERE number = $1 AND account = $2 AND epoch = $3", key
            ).first
            guard let row else { return }
            try session.execute(
                "UPDATE keyletters SET data = $1 WHERE number = $2 AND account = $3 AND epoch = $4",
                [.bytes([])] + key)
            try charge(row[0].bytes, -row[1].int, session)
        }
    }
}

extension LetterHeader {
    /// The epoch of a letter with a vault's key; nil for another form.
    fileprivate var keyEpoch: UInt32? {
        try? withCBORDecoder(subject) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            let epoch = try decoder.readUnsigned(as: UInt32.self)
            _ = try StatedLink(from: &decoder)
            return epoch
        }
    }
}
