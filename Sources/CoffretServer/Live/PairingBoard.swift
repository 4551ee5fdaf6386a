// Which relay ids wait for which account, or for one device of it. The one thing to keep true: strangers fill it, so it is bounded for each
// account and as a whole, and what it holds is gone in ten minutes.

internal import CoffretBase
internal import CoffretWire
internal import Synchronization

/// Clients that wait on the relay for an account's devices: new ones, by their own word, or those that ask one device for a value.
///
/// Each process of a server holds all of them: they are announced through the database and kept in none.
final class PairingBoard: Sendable {
    private struct Waiting {
        let relayID: UniqueID
        let since: Int64
    }

    private static let accountCountMax = 10_000

    /// By account, or by account and device.
    private let accounts = Mutex<[[UInt8]: [Waiting]]>([:])
    private let lifetimeMilliseconds: Int64
    /// How often an account, or a device, is told: so many at once, and then one in a minute.
    private let limit: RateLimiter

    /// - Parameters:
    ///   - lifetimeMilliseconds: how long who waits is listed.
    ///   - burst: how many are announced at once.
    init(lifetimeMilliseconds: Int64, burst: Int) {
        self.lifetimeMilliseconds = lifetimeMilliseconds
        limit = RateLimiter(
            RateLimiter.Rate(burst: Double(burst), perSecond: 1.0 / 60), bucketCountMax: Self.accountCountMax)
    }

    /// Whether one more may be announced to an account now.
    func admits(_ accountID: [UInt8]) -> Bool {
        let now = Monotonic.milliseconds
        let count = accounts.withLock { current($0[accountID], now).count }
        guard count < ServerLimits.pairingRequestCountMax else { return false }
        let nanoseconds = Monotonic.nanoseconds
        return limit.bucket(accountID, now: nanoseconds).take(limit.rate, now: nanoseconds) == 0
    }

    func add(_ relayID: UniqueID, for accountID: [UInt8]) {
        let now = Monotonic.milliseconds
        accounts.withLock { accounts in
            if accounts.count >= Self.accountCountMax {
                accounts = accounts.compactMapValues {
                    let left = current($0, now)
                    return left.isEmpty ? nil : left
                }
                guard accounts.count < Self.accountCountMax || accounts[accountID] != nil else { return }
            }
            let known = current(accounts[accountID], now)
            guard known.count < ServerLimits.pairingRequestCountMax else { return }
            accounts[accountID] = known + [Waiting(relayID: relayID, since: now)]
        }
    }

    /// Forgets an id that was joined, or whose device has left.
    func remove(_ relayID: [UInt8]) {
        accounts.withLock { accounts in
            guard
                let (accountID, waiting) = accounts.first(where: { $0.value.contains { $0.relayID.bytes == relayID } })
            else { return }
            let left = waiting.filter { $0.relayID.bytes != relayID }
            accounts[accountID] = left.isEmpty ? nil : left
        }
    }

    /// Who waits for an account, oldest first.
    func requests(for accountID: [UInt8]) -> PairingRequests {
        accounts.withLock { accounts in
            // Inside the lock: nobody has begun to wait after it.
            let now = Monotonic.milliseconds
            return PairingRequests(
                current(accounts[accountID], now).map {
                    .init(relayID: $0.relayID, age: UInt64(max(0, now - $0.since)))
                })
        }
    }

    private func current(_ waiting: [Waiting]?, _ now: Int64) -> [Waiting] {
        (waiting ?? []).filter { now - $0.since < lifetimeMilliseconds }
    }
}
