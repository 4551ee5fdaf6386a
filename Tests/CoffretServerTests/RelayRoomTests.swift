// What is left of a relay id whose opening failed. The one thing to keep true: nothing.

import CoffretBase
import CoffretTestSupport
import CoffretWire
import Foundation
import Testing

@testable import CoffretServer

/// A database that can be made to fail.
private final class FailingDatabase: SQLDatabase, @unchecked Sendable {
    // SAFETY: set by the one thread of its test.
    var isFailing = false
    private let inner: any SQLDatabase

    init(_ inner: any SQLDatabase) { self.inner = inner }

    private func check() throws {
        if isFailing { throw ServerFailure(.storageUnavailable) }
    }

    func write<Result>(
        _ body: (any SQLSession) throws -> Result
    ) throws -> Result {
        try check()
        return try inner.write(body)
    }

    func read<Result>(
        _ body: (any SQLSession) throws -> Result
    ) throws -> Result {
        try check()
        return try inner.read(body)
    }

    func lookUp(_ sql: String, _ values: [SQLValue]) throws -> [[SQLValue]] {
        try check()
        return try inner.lookUp(sql, values)
    }

    func lookUp(_ statement: FrequentStatement, _ values: [SQLValue]) throws -> [[SQLValue]] {
        try check()
        return try inner.lookUp(statement, values)
    }

    func hasRoom(for byteCount: Int) -> Bool { inner.hasRoom(for: byteCount) }

    func giveBackSpace() throws -> Bool {
        try check()
        return try inner.giveBackSpace()
    }

    var servesAlone: Bool { inner.servesAlone }

    func listen(_ body: @escaping @Sendable (StoreNotice) -> Void) throws { try inner.listen(body) }

    func close() { inner.close() }
}

@Suite("Relay ids")
struct RelayRoomTests {
    @Test("R47: a new device that cannot be announced leaves no id behind")
    func failedAnnouncement() throws {
        let directory = try TemporaryDirectory("relay")
        let database = FailingDatabase(try SQLiteDatabase(path: directory.file("server.db")))
        defer { database.close() }
        try ServerStore.initialize(database, random: SystemRandomSource())
        let store = try ServerStore(database: database, random: SystemRandomSource(), clock: MovingClock())
        let account = try TestAccount()
        _ = try store.register(AccountRegistration(link: account.firstLink), policy: .open)
        let rooms = RelayRooms(random: SystemRandomSource())
        let service = ServerService(store: store, configuration: ServerConfiguration(), rooms: rooms) { "" }
        let name = Hex.encode(Array(account.id.prefix(ServerLimits.accountNameByteCount)))
        _ = try service.openRelay(for: name)
        #expect(rooms.count == 1)
        database.isFailing = true
        #expect(throws: ServerFailure(.storageUnavailable)) { try service.openRelay(for: name) }
        #expect(rooms.count == 1)
    }
}
