// The time of what is kept for days. The one thing to keep true: it goes on while a server runs, whatever its clock says,
// so that nothing is deleted because a date was wrong.

internal import CoffretBase
internal import Synchronization

/// How far the time of a database has come: milliseconds that began as the clock's.
final class StoreAge: Sendable {
    private struct State {
        var age: Int64
        /// Of this process, when the age was that.
        var uptime: Int64
    }

    private let state: Mutex<State>
    private let uptime: @Sendable () -> Int64

    init(_ age: Int64, uptime: @escaping @Sendable () -> Int64) {
        state = Mutex(State(age: age, uptime: uptime()))
        self.uptime = uptime
    }

    var now: Int64 {
        let uptime = uptime()
        return state.withLock { $0.age + max(0, uptime - $0.uptime) }
    }

    /// How long this process ran since the age was noted last.
    fileprivate var ran: Int64 {
        let uptime = uptime()
        return state.withLock { max(0, uptime - $0.uptime) }
    }

    fileprivate func set(_ age: Int64) {
        let uptime = uptime()
        state.withLock { $0 = State(age: age, uptime: uptime) }
    }

    /// A row holds the age and what the clock said then.
    static func decode(_ bytes: [UInt8]) -> (age: Int64, wall: Int64)? {
        guard bytes.count == 16 else { return nil }
        let numbers = [bytes.prefix(8), bytes.suffix(8)].map { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        return (Int64(bitPattern: numbers[0]), Int64(bitPattern: numbers[1]))
    }

    fileprivate static func encode(_ age: Int64, _ wall: Int64) -> [UInt8] {
        UInt64(bitPattern: age).bigEndianBytes + UInt64(bitPattern: wall).bigEndianBytes
    }
}

extension ServerStore {
    /// Notes how far the time of what is kept has come: by the clock, and no further than this process ran meanwhile. Several
    /// processes on one database note it in turn, and none counts what another has counted.
    func noteAge() throws {
        let (wall, ran, own) = (now, age.ran, age.now)
        let next = try database.write { session in
            let row = try session.first(
                "SELECT value FROM meta WHERE name = $1" + session.lockClause, ServerSchema.ageName)
            let stored = row.flatMap { StoreAge.decode($0[0].bytes) }
            let next = stored.map { $0.age + min(max(0, wall - $0.wall), ran) } ?? own
            try session.run(Self.ageStatement, ServerSchema.ageName, .bytes(StoreAge.encode(next, wall)))
            return next
        }
        age.set(next)
    }

    static let ageStatement = """
        INSERT INTO meta(name, value) VALUES($1, $2) ON CONFLICT(name) DO UPDATE SET value = excluded.value
        """
}
