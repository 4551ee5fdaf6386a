// Who may do what in a zone. The one thing to keep true: an account's rights are what the zone's member chain gives it, they
// are read here and nowhere else, and a stranger's answer is that for what does not exist.

internal import CoffretBase
internal import CoffretTrust
package import CoffretWire

/// What an account does in a zone.
enum ZoneRight {
    /// Reads, acknowledges, and posts links: all accounts of the vault, also before they accept.
    case read
    /// Stores objects and chunks.
    case write
    /// Collects, and deletes the zone.
    case own
}

/// A zone as one of its accounts finds it.
struct ZoneRow {
    let number: Int64
    let head: [UInt8]
    /// That of the push which set the head.
    let epoch: Int64
    let seq: Int64
    /// The newest epoch that a link opened, and the oldest that is open for pushes.
    let vaultEpoch: Int64
    let oldestEpoch: Int64
    /// Grows with the chains of its people.
    let people: Int64
    /// Encoded; empty before there is a head.
    let word: [UInt8]
    /// The account on whose number of zones it counts.
    let holder: [UInt8]
    private let role: MemberRole?
    private let hasAccepted: Bool

    fileprivate static let statement = """
        SELECT z.number, z.head, z.epoch, z.seq, m.role, m.accepted, v.epoch, v.oldest, v.people, v.word, z.account
        FROM zones z JOIN members m ON m.number = z.number JOIN vaults v ON v.number = z.number
        WHERE z.zone = $1 AND m.account = $2 AND LENGTH(z.account) > 0
        """

    fileprivate init(_ row: [SQLValue]) {
        (number, head, epoch, seq) = (row[0].int, row[1].bytes, row[2].int, row[3].int)
        (role, hasAccepted) = (MemberRole(rawValue: UInt8(clamping: row[4].int)), row[5].int == 1)
        (vaultEpoch, oldestEpoch) = (row[6].int, row[7].int)
        (people, word, holder) = (row[8].int, row[9].bytes, row[10].bytes)
    }

    func allows(_ right: ZoneRight) -> Bool {
        switch right {
        case .read: true
        case .write: hasAccepted && role?.writes == true && vaultEpoch != 0
        case .own: hasAccepted && role == .owner
        }
    }
}

extension ServerStore {
    /// - Throws: `.zoneUnknown`, also for zones of others; `.forbidden` for what its role does not allow.
    func zone(
        _ id: [UInt8], of owner: SessionOwner, _ session: any SQLSession, locking: Bool = false,
        to right: ZoneRight = .read
    ) throws -> ZoneRow {
        let key: [SQLValue] = [.bytes(id), .bytes(owner.accountID)]
        if locking, !session.lockClause.isEmpty {
            // The lock first: what is read behind it is what the link before left. Strangers lock nothing.
            _ = try session.query(
                """
                SELECT number FROM zones WHERE zone = $1
                AND EXISTS (SELECT 1 FROM members m WHERE m.number = zones.number AND m.account = $2)
                """ + session.lockClause, key)
        }
        guard let row = try session.query(ZoneRow.statement, key).first else { throw ServerFailure(.zoneUnknown) }
        return try Self.checked(ZoneRow(row), right)
    }

    /// The same in a look-up of its own.
    func zone(_ id: [UInt8], of owner: SessionOwner, to right: ZoneRight = .read) throws -> ZoneRow {
        let rows = try database.lookUp(ZoneRow.statement, [.bytes(id), .bytes(owner.accountID)])
        guard let row = rows.first else { throw ServerFailure(.zoneUnknown) }
        return try Self.checked(ZoneRow(row), right)
    }

    func isMember(_ owner: SessionOwner, of id: [UInt8], _ session: any SQLSession) throws -> Bool {
        try !session.query(ZoneRow.statement, [.bytes(id), .bytes(owner.accountID)]).isEmpty
    }

    private static func checked(_ zone: ZoneRow, _ right: ZoneRight) throws -> ZoneRow {
        guard zone.allows(right) else { throw ServerFailure(.forbidden, "the role in the vault") }
        return zone
    }

    /// The vaults whose member chains name an account.
    package func memberships(of owner: SessionOwner) throws -> Memberships {
        let rows = try database.lookUp(
            """
            SELECT z.zone, f.account, m.role, m.accepted, a.account, v.links, v.epoch
            FROM members m JOIN zones z ON z.number = m.number JOIN vaults v ON v.number = m.number
            JOIN steps f ON f.number = m.number AND f.seq = 0 JOIN steps a ON a.number = m.number AND a.seq = m.since
            WHERE m.account = $1 AND LENGTH(z.account) > 0 ORDER BY m.number LIMIT \(ServerLimits.membershipCountMax)
            """, [.bytes(owner.accountID)])
        return Memberships(
            rows.map { row in
                Memberships.Entry(
                    zone: row[0].bytes, founder: row[1].bytes, role: UInt8(clamping: row[2].int),
                    state: row[3].int == 1 ? 2 : 1, adder: row[4].bytes, number: UInt64(row[5].int - 1),
                    epoch: UInt32(clamping: row[6].int))
            })
    }

    /// How each vault of an account stands, in one look-up.
    package func heads(for owner: SessionOwner) throws -> ZoneHeads {
        let rows = try database.lookUp(
            """
            SELECT z.zone, z.head, z.seq, v.people, v.words
            FROM members m JOIN zones z ON z.number = m.number JOIN vaults v ON v.number = m.number
            WHERE m.account = $1 AND LENGTH(z.account) > 0 ORDER BY m.number LIMIT \(ServerLimits.membershipCountMax)
            """, [.bytes(owner.accountID)])
        return ZoneHeads(
            rows.map { row in
                ZoneHeads.Entry(
                    zone: row[0].bytes, head: row[1].bytes.isEmpty ? nil : row[1].bytes, cursor: cursor(row[2].int),
                    people: UInt64(row[3].int), words: UInt64(row[4].int))
            })
    }

    /// A word of a device, or a letter with a key, came to a vault or went.
    func noteWord(in zone: Int64, _ session: any SQLSession) throws {
        try session.run("UPDATE vaults SET words = words + 1 WHERE number = $1", .int(zone))
    }

    /// The account whose id begins with some bits; none if there is no one or if there are several.
    ///
    /// - Parameters:
    ///   - bytes: the bits, zeros behind them.
    ///   - bitCount: how many of them count.
    package func account(_ bytes: [UInt8], bitCount: Int) throws -> AccountMatches {
        let tail = UInt8.max >> (bitCount % 8)
        guard bitCount % 8 == 0 || bytes[bytes.count - 1] & tail == 0 else {
            throw ServerFailure(.malformed, "bits behind the address")
        }
        var last = bytes
        if bitCount % 8 != 0 { last[last.count - 1] |= tail }
        let fill = { (beginning: [UInt8], byte: UInt8) in
            SQLValue.bytes(beginning + [UInt8](repeating: byte, count: ServerLimits.idByteCount - beginning.count))
        }
        let rows = try database.lookUp(
            "SELECT account FROM accounts WHERE account >= $1 AND account <= $2 LIMIT 2",
            [fill(bytes, 0), fill(last, 255)])
        return AccountMatches(rows.count == 1 ? [rows[0][0].bytes] : [])
    }

    // MARK: Events

    /// So many accounts are named in one notice, which a database may bound.
    private static let accountCountMaxPerNotice = 100

    /// Tells all devices of all accounts of a vault.
    func tellMembers(of zone: Int64, _ event: ServerEvent, _ session: any SQLSession) throws {
        let rows = try session.query("SELECT account FROM members WHERE number = $1 ORDER BY account", [.int(zone)])
        try tell(rows.map { $0[0].bytes }, event, session)
    }

    /// Tells all devices of an account and of those that share a vault with it.
    func tellFellows(of account: [UInt8], _ event: ServerEvent, _ session: any SQLSession) throws {
        let rows = try session.query(
            """
            SELECT DISTINCT o.account FROM members m JOIN members o ON o.number = m.number
            WHERE m.account = $1 AND o.account <> m.account ORDER BY o.account
            """, [.bytes(account)])
        try tell([account] + rows.map { $0[0].bytes }, event, session)
    }

    func tell(_ accounts: [[UInt8]], _ event: ServerEvent, _ session: any SQLSession) throws {
        var rest = accounts[...]
        while !rest.isEmpty {
            let some = rest.prefix(Self.accountCountMaxPerNotice)
            try session.notify(.event(accountIDs: Array(some), bytes: event.encoded()))
            rest = rest.dropFirst(some.count)
        }
    }
}
