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
        let device = UniqueID.generate(from: SystemRandomSource()).hex
        _ = try service.openRelay(for: name, device: nil)
        _ = try service.openRelay(for: name, device: device)
        #expect(rooms.count == 2)
        database.isFailing = true
        for device in [nil, device] {
            #expect(throws: ServerFailure(.storageUnavailable)) { try service.openRelay(for: name, device: device) }
        }
        #expect(rooms.count == 2)
    }

    @Test(
        "R47, R150: whoever asks one device waits for it alone, four at most, and is told nothing of accounts and devices"
    )
    func askedDevice() throws {
        let directory = try TemporaryDirectory("relay")
        let database = try SQLiteDatabase(path: directory.file("server.db"))
        defer { database.close() }
        try ServerStore.initialize(database, random: SystemRandomSource())
        let store = try ServerStore(database: database, random: SystemRandomSource(), clock: MovingClock())
        let account = try TestAccount()
        _ = try store.register(AccountRegistration(link: account.firstLink), policy: .open)
        let rooms = RelayRooms(random: SystemRandomSource())
        let service = ServerService(store: store, configuration: ServerConfiguration(), rooms: rooms) { "" }
        try database.listen { notice in
            guard case .ask(let accountID, let deviceID, let relayID) = notice else { return }
            #expect(StoreNotice(decoding: notice.encoded) == notice)
            rooms.asks.add(relayID, for: accountID + deviceID.bytes)
        }
        let name = Hex.encode(Array(account.id.prefix(ServerLimits.accountNameByteCount)))
        let (device, other) = (
            UniqueID.generate(from: SystemRandomSource()), UniqueID.generate(from: SystemRandomSource())
        )
        func relayID(_ response: ServerResponse) throws -> [UInt8] {
            guard case .webSocket(.relayCreator(let id)) = response.body else { throw ServerFailure(.malformed) }
            return id
        }
        var ids: [[UInt8]] = []
        for _ in 0..<6 { ids.append(try relayID(service.openRelay(for: name, device: device.hex))) }
        let listed = rooms.asks.requests(for: account.id + device.bytes).requests.map(\.relayID.bytes)
        #expect(listed == Array(ids.prefix(4)))
        #expect(rooms.asks.requests(for: account.id + other.bytes).requests.isEmpty)
        #expect(rooms.board.requests(for: account.id).requests.isEmpty, "none of them asks to join")
        // One that was joined, or whose client left, is listed no more.
        #expect(rooms.claim(ids[0]))
        rooms.close(ids[1])
        #expect(rooms.asks.requests(for: account.id + device.bytes).requests.count == 2)
        // The same answer for an account that is not there, and a refusal for what is no id.
        _ = try relayID(service.openRelay(for: "0123456789abcdef", device: device.hex))
        for (name, device) in [
            (name, "12"), (name, device.hex.uppercased()), (name, String(repeating: "g", count: 32)), (nil, device.hex),
        ] {
            #expect(throws: ServerFailure.self) { try service.openRelay(for: name, device: device) }
        }
    }
}
