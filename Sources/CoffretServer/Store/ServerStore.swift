// The server's state and its rules, each operation one transaction. The one thing to keep true: what returns is
// durable, what throws changed nothing, and every row was put there by somebody who may.

package import CoffretBase
internal import CoffretCrypto
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
    let sessionChanges = SessionChanges()

    package static let incarnationByteCount = 8

    /// Opens what `initialize` made.
    package init(
        database: any SQLDatabase, random: any RandomSource, clock: any WallClock, quota: Quota = Quota()
    ) throws(ServerFailure) {
        self.database = database
        self.random = random
        self.clock = clock
        self.quota = quota
        try ServerSchema.upgrade(database, now: clock.now)
        incarnation = try database.read { (session) throws(ServerFailure) -> [UInt8] in
            try ServerSchema.check(session)
            let row = try session.first("SELECT value FROM meta WHERE name = $1", ServerSchema.incarnationName)
            return row?[0].bytes ?? []
        }
        guard incarnation.count == Self.incarnationByteCount else {
            throw ServerFailure(.dataDirectory, "the database lost its incarnation")
        }
    }

    /// Makes the tables in an empty database.
    package static func initialize(_ database: any SQLDatabase, random: any RandomSource) throws(ServerFailure) {
        let incarnation = random.bytes(count: incarnationByteCount)
        try database.write { (session) throws(ServerFailure) in
            try ServerSchema.create(in: session, incarnation: incarnation)
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

    /// Adds to what an account uses.
    ///
    /// - Throws: `.quotaExceeded`, `.accountUnknown`.
    func charge(_ accountID: [UInt8], _ byteCount: Int64, _ session: any SQLSession) throws(ServerFailure) {
        guard byteCount != 0 else { return }
        let changed = try session.run(
            "UPDATE accounts SET used = used + $1 WHERE account = $2 AND used + $3 <= $4", .int(byteCount),
            .bytes(accountID), .int(byteCount), .int(byteCount > 0 ? quota.byteCount : .max))
        guard changed == 1 else { throw ServerFailure(.quotaExceeded) }
    }

    /// What an account uses of its space.
    package func usage(of owner: SessionOwner) throws(ServerFailure) -> AccountUsage {
        let row = try database.lookUp("SELECT used FROM accounts WHERE account = $1", [.bytes(owner.accountID)]).first
        guard let row else { throw ServerFailure(.accountUnknown) }
        return AccountUsage(usedByteCount: UInt64(max(row[0].int, 0)), byteCountMax: UInt64(max(quota.byteCount, 0)))
    }
}
