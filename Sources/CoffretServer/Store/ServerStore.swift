// The server's state and its rules, each operation one transaction. The one thing to keep true: what returns is
// durable, what throws changed nothing, and every row was put there by somebody who may.

package import CoffretBase
internal import CoffretCrypto
internal import CoffretKeyLog
package import CoffretWire
internal import Synchronization

/// A session that was found: who asks.
package struct SessionOwner: Hashable, Sendable {
    package let accountID: [UInt8]
    package let deviceID: [UInt8]

    package init(accountID: [UInt8], deviceID: [UInt8]) {
        self.accountID = accountID
        self.deviceID = deviceID
    }
}

/// Who may open an account.
package enum Registration: String, Sendable, CaseIterable {
    case closed
    case invitation
    case open
}

/// What one account may use.
package struct Quota: Sendable, Equatable {
    package var byteCount: Int64 = 10 << 30
    package var zoneCount: Int64 = 1_000
    package var guestCount: Int64 = 5

    package init() {}
}

/// Counts what may have ended sessions, so that whoever remembers one knows when to look again.
final class SessionChanges: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .acquiring) }
    func note() { count.add(1, ordering: .acquiringAndReleasing) }
}

package struct ServerStore: Sendable {
    package let database: any SQLDatabase
    let random: any RandomSource
    let clock: any WallClock
    let quota: Quota
    /// The first bytes of every cursor.
    let incarnation: [UInt8]
    /// By which this server, and others on its database, know challenges that they gave.
    let challengeKey: [UInt8]
    let sessionChanges = SessionChanges()
    let chains = ChainMemory()
    let memberChains = MemberMemory()
    /// The time of what is kept for days.
    let age: StoreAge
    /// Signs the log of all links, and nothing else.
    let keyLogKey: KeyLogSigner

    package static let incarnationByteCount = 8
    static let challengeKeyByteCount = 32
    /// What a row counts beside its bytes: about what it takes on the disk.
    package static let rowByteCount: Int64 = 256

    /// Opens what `initialize` made, with tables of this version.
    ///
    /// - Parameter uptime: milliseconds of a clock that goes on while the process runs and does not jump; nil is the system's.
    package init(
        database: any SQLDatabase, random: any RandomSource, clock: any WallClock, quota: Quota = Quota(),
        uptime: (@Sendable () -> Int64)? = nil
    ) throws {
        self.database = database
        self.random = random
        self.clock = clock
        self.quota = quota
        let values = try database.read { session in
            try ServerSchema.check(session)
            var values: [[UInt8]] = []
            for name in [ServerSchema.incarnationName, ServerSchema.challengeKeyName, ServerSchema.ageName] {
                values.append(try session.first("SELECT value FROM meta WHERE name = $1", name)?[0].bytes ?? [])
            }
            return values
        }
        guard values[0].count == Self.incarnationByteCount, values[1].count == Self.challengeKeyByteCount else {
            throw ServerFailure(.dataDirectory, "the database lost its incarnation")
        }
        (incarnation, challengeKey) = (values[0], values[1])
        keyLogKey = try Self.openKeyLog(database, random: random)
        age = StoreAge(StoreAge.decode(values[2])?.age ?? clock.now, uptime: uptime ?? { Monotonic.milliseconds })
    }

    /// Makes the tables in an empty database.
    package static func initialize(_ database: any SQLDatabase, random: any RandomSource) throws {
        let incarnation = random.bytes(count: incarnationByteCount)
        let challengeKey = random.bytes(count: challengeKeyByteCount)
        try database.write { session in
            try ServerSchema.create(in: session, incarnation: incarnation, challengeKey: challengeKey)
        }
    }

    /// Whether the database answers.
    package func isHealthy() -> Bool { (try? database.lookUp("SELECT 1", [])) != nil }

    var now: Int64 { clock.now }

    // MARK: Cursors

    func cursor(_ seq: Int64) -> [UInt8] { incarnation + UInt64(seq).bigEndianBytes }

    /// The position that a cursor stands for; 0 for none, or one of another server.
    func position(_ cursor: [UInt8], upTo last: Int64) -> Int64 {
        guard cursor.count == Self.incarnationByteCount + 8,
            Array(cursor.prefix(Self.incarnationByteCount)) == incarnation
        else { return 0 }
        let seq = cursor.dropFirst(Self.incarnationByteCount).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return seq <= UInt64(last) ? Int64(seq) : 0
    }

    // MARK: Quotas

    /// How much more than its space an account may use for something.
    enum Allowance {
        case none
        /// For what devices need to understand each other when the space is used up: links, acknowledgements, mail.
        case small
        /// For what ends a device's power.
        case always
    }

    private static let smallByteCount: Int64 = 16 << 20

    /// Adds to what an account uses: of each row its bytes and `rowByteCount`.
    ///
    /// - Throws: `.quotaExceeded`, `.accountUnknown`.
    func charge(
        _ accountID: [UInt8], _ byteCount: Int64, _ session: any SQLSession, _ allowance: Allowance = .none
    ) throws {
        guard byteCount != 0 else { return }
        let (limit, guestLimit) = byteCount > 0 ? limits(allowance) : (.max, .max)
        let changed = try session.first(
            """
            UPDATE accounts SET used = used + $1 WHERE account = $2
            AND used + $3 <= CASE WHEN LENGTH(sponsor) = 0 THEN CAST($4 AS BIGINT) ELSE CAST($5 AS BIGINT) END
            RETURNING sponsor
            """, .int(byteCount), .bytes(accountID), .int(byteCount), .int(limit), .int(guestLimit))
        guard let sponsor = changed?[0].bytes else { throw ServerFailure(.quotaExceeded) }
        // No sponsor is a guest.
        if !sponsor.isEmpty { try charge(sponsor, byteCount, session, allowance) }
    }

    /// The most that an account may use, and a guest.
    private func limits(_ allowance: Allowance) -> (Int64, Int64) {
        let more: Int64
        switch allowance {
        case .none: more = 0
        case .small: more = Self.smallByteCount
        case .always: return (.max, .max)
        }
        return (
            quota.byteCount.addingReportingOverflow(more).partialValue,
            (quota.byteCount / Self.guestShare).addingReportingOverflow(more).partialValue
        )
    }

    /// What all rows that count on an account's space come to: as it should stand with the account.
    package func countedByteCount(of account: SQLValue, _ session: any SQLSession) throws -> Int64 {
        var total: Int64 = 0
        let there = "number NOT IN (SELECT number FROM deletions)"
        for (rows, bytes) in [
            ("objects WHERE account = $1 AND seq > 0 AND \(there)", "data"),
            ("chunks WHERE account = $1 AND created > 0 AND \(there)", "data"),
            ("uploads WHERE account = $1", "data"), ("mail WHERE account = $1", "data"),
            ("links WHERE kind <= 2 AND chain = $1", "link"), ("branches WHERE account = $1", "link"),
            ("collections WHERE account = $1 AND \(there)", "data"),
            ("acks WHERE account = $1 AND \(there)", "data"), ("histories WHERE account = $1 AND \(there)", "data"),
            ("keyletters WHERE sender = $1 AND \(there)", "data"), ("letters WHERE sender = $1", "data"),
            (
                """
                steps s JOIN zones z ON z.number = s.number
                JOIN links l ON l.kind = 3 AND l.chain = z.zone AND l.seq = s.seq
                WHERE s.payer = $1 AND s.number NOT IN (SELECT number FROM deletions)
                """, "l.link"
            ),
        ] {
            let sum = try session.first(
                "SELECT CAST(COALESCE(SUM(LENGTH(\(bytes)) + \(Self.rowByteCount)), 0) AS BIGINT) FROM \(rows)", account
            )
            total += sum?[0].int ?? 0
        }
        let guests = try session.first(
            "SELECT CAST(COALESCE(SUM(used), 0) AS BIGINT) FROM accounts WHERE sponsor = $1", account)
        return total + (guests?[0].int ?? 0)
    }

    /// What an account uses of its space.
    package func usage(of owner: SessionOwner) throws -> AccountUsage {
        let row = try database.lookUp(
            "SELECT used, LENGTH(sponsor) FROM accounts WHERE account = $1", [.bytes(owner.accountID)]
        ).first
        guard let row else { throw ServerFailure(.accountUnknown) }
        let limit = row[1].int == 0 ? quota.byteCount : quota.byteCount / Self.guestShare
        return AccountUsage(usedByteCount: UInt64(max(row[0].int, 0)), byteCountMax: UInt64(max(limit, 0)))
    }
}
