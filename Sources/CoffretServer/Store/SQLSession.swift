// What the server asks of a database. The one thing to keep true: values are bound, never part of a statement,
// and the same statements run on every database.

package import CoffretBase

/// A value of a parameter or a column: the schema has no other types.
package enum SQLValue: Equatable, Sendable {
    case int(Int64)
    case bytes([UInt8])
    case null

    package var int: Int64 { if case .int(let value) = self { value } else { 0 } }
    package var bytes: [UInt8] { if case .bytes(let value) = self { value } else { [] } }
}

/// A connection in the hands of one thread. Parameters are `$1`, `$2`…, first used in this order.
package protocol SQLSession: AnyObject {
    /// Runs a statement and returns its rows.
    func query(_ sql: String, _ values: [SQLValue]) throws -> [[SQLValue]]
    /// Runs a statement and returns how many rows it changed.
    @discardableResult
    func execute(_ sql: String, _ values: [SQLValue]) throws -> Int
    /// Runs statements without parameters, such as a schema.
    func script(_ sql: String) throws
    /// Sends a notice when the transaction commits.
    func notify(_ notice: StoreNotice) throws
    /// What a `SELECT` ends with that keeps the rows from others until the transaction ends.
    var lockClause: String { get }
    /// The database's name for a column of bytes.
    var bytesType: String { get }
    /// Its definition of a key that counts up and is given to no second row, also when the first is gone.
    var numberType: String { get }
    /// Zones were put in with the numbers that they had: the next gets a higher one.
    func goOnAfterNumbers() throws
}

extension SQLSession {
    func first(_ sql: String, _ values: SQLValue...) throws -> [SQLValue]? {
        try query(sql, values).first
    }

    @discardableResult
    func run(_ sql: String, _ values: SQLValue...) throws -> Int { try execute(sql, values) }
}

/// A statement that every second request needs: found by its number, not by its text.
package struct FrequentStatement: Sendable {
    let number: Int
    let sql: String

    static let session = FrequentStatement(
        number: 0, sql: "SELECT account, device, expiry FROM sessions WHERE token = $1 AND expiry >= $2")
    /// The ciphertexts under an address, two at most.
    static let chunk = FrequentStatement(
        number: 1,
        sql: """
            SELECT c.data FROM zones z JOIN chunks c ON c.number = z.number
            WHERE z.zone = $1 AND z.account = $2 AND c.address = $3 LIMIT 2
            """)
    static let count = 2
}

/// A database: hands out sessions, one to a thread at a time.
package protocol SQLDatabase: Sendable {
    /// Runs `body` in a transaction that is durable when this returns.
    ///
    /// `body` may run again if the database asks for it, so it has no effects but on the session.
    @discardableResult
    func write<Result>(
        _ body: (any SQLSession) throws -> Result
    ) throws -> Result
    /// Runs `body` on one consistent state.
    func read<Result>(
        _ body: (any SQLSession) throws -> Result
    ) throws -> Result
    /// Runs one statement that only reads, with no transaction around it.
    func lookUp(_ sql: String, _ values: [SQLValue]) throws -> [[SQLValue]]
    func lookUp(_ statement: FrequentStatement, _ values: [SQLValue]) throws -> [[SQLValue]]
    /// Whether so many bytes more may be stored, so that there is still room for what is small: logins, and what makes room.
    func hasRoom(for byteCount: Int) -> Bool
    /// Gives space that is free inside the database back to the disk, some of it.
    ///
    /// - Returns: whether there may be more.
    func giveBackSpace() throws -> Bool
    /// Whether no other process serves from this database, so that what this one remembers is true.
    var servesAlone: Bool { get }
    /// Where notices go, of this process and of others on the same database. Called from any thread.
    func listen(_ body: @escaping @Sendable (StoreNotice) -> Void) throws
    func close()
}

/// News that live connections are told.
package enum StoreNotice: Equatable, Sendable {
    /// An event for all devices of an account.
    case event(accountID: [UInt8], bytes: [UInt8])
    /// A device was revoked: its connections end.
    case sessionsEnded(accountID: [UInt8], deviceID: [UInt8])
    /// A device that belongs to nobody yet waits on the relay for an account's devices.
    case pairing(accountID: [UInt8], relayID: UniqueID)
    /// A client waits on the relay for one device of an account.
    case ask(accountID: [UInt8], deviceID: UniqueID, relayID: UniqueID)
    /// Notices may have been missed: everybody who listens is to come again. Never sent between processes.
    case missed

    package var encoded: [UInt8] {
        switch self {
        case .event(let accountID, let bytes): [1] + accountID + bytes
        case .sessionsEnded(let accountID, let deviceID): [2] + accountID + deviceID
        case .pairing(let accountID, let relayID): [3] + accountID + relayID.bytes
        case .ask(let accountID, let deviceID, let relayID): [4] + accountID + deviceID.bytes + relayID.bytes
        case .missed: []
        }
    }

    package init?(decoding bytes: [UInt8]) {
        guard bytes.count >= 33 else { return nil }
        let (accountID, rest) = (Array(bytes[1..<33]), Array(bytes[33...]))
        switch bytes[0] {
        case 1: self = .event(accountID: accountID, bytes: rest)
        case 2: self = .sessionsEnded(accountID: accountID, deviceID: rest)
        case 3:
            guard let relayID = UniqueID(bytes: rest) else { return nil }
            self = .pairing(accountID: accountID, relayID: relayID)
        case 4:
            guard let deviceID = UniqueID(bytes: Array(rest.prefix(UniqueID.byteCount))),
                let relayID = UniqueID(bytes: Array(rest.dropFirst(UniqueID.byteCount)))
            else { return nil }
            self = .ask(accountID: accountID, deviceID: deviceID, relayID: relayID)
        default: return nil
        }
    }
}
