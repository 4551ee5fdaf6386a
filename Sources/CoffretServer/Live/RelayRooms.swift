// Which relay ids are open. The one thing to keep true: an id is random, lives ten minutes, and lets exactly one
// client join.

internal import CoffretBase
internal import Synchronization

/// Ids that wait for a second client.
final class RelayRooms: Sendable {
    static let idByteCount = 16
    static let lifetimeMilliseconds: Int64 = 600_000
    static let roomCountMax = 10_000

    /// For so long a device finds out that another one asks it.
    static let askMilliseconds: Int64 = 60_000

    /// Which of them are announced to an account.
    let board = PairingBoard(lifetimeMilliseconds: lifetimeMilliseconds, burst: 4)
    /// Which of them are announced to one device.
    ///
    /// More than the device's own person is asked, so that the device says why it refuses.
    let asks = PairingBoard(lifetimeMilliseconds: askMilliseconds, burst: 8)

    private let random: any RandomSource
    private let waiting = Mutex<[[UInt8]: Int64]>([:])

    init(random: any RandomSource) { self.random = random }

    /// - Throws: `.busy`.
    func open() throws -> [UInt8] {
        let id = random.bytes(count: Self.idByteCount)
        let now = Monotonic.milliseconds
        let isOpen = waiting.withLock { waiting in
            if waiting.count >= Self.roomCountMax { waiting = waiting.filter { $0.value > now } }
            guard waiting.count < Self.roomCountMax else { return false }
            waiting[id] = now + Self.lifetimeMilliseconds
            return true
        }
        guard isOpen else { throw ServerFailure(.busy) }
        return id
    }

    /// Takes an id for good.
    func claim(_ id: [UInt8]) -> Bool {
        let expiry = waiting.withLock { $0.removeValue(forKey: id) }
        if expiry != nil { unlist(id) }
        return (expiry ?? 0) > Monotonic.milliseconds
    }

    /// Forgets an id whose first client left.
    func close(_ id: [UInt8]) {
        if waiting.withLock({ $0.removeValue(forKey: id) }) != nil { unlist(id) }
    }

    private func unlist(_ id: [UInt8]) {
        board.remove(id)
        asks.remove(id)
    }

    var count: Int { waiting.withLock { $0.count } }
}
