// What a person is told of devices that ask to join. The one thing to keep true: strangers can ask, so he is told seldom,
// and never of more than a number.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretPairing

/// Chooses which requests are worth a notification.
final class PairingWatch {
    /// As many as there may be attempts.
    static let countMax = PairingAttempts.countMax
    static let time = PairingAttempts.pauseTime

    private let attempts: PairingAttemptsFile
    private var told: [(id: UniqueID, at: Milliseconds)] = []

    init(_ attempts: PairingAttemptsFile) { self.attempts = attempts }

    /// Those among who waits that the person has not been told of: three in ten minutes at most, and none while pairing
    /// is paused after wrong codes.
    func news(_ requests: [PairingRequest], now: Milliseconds) -> [PairingRequest] {
        // A clock that was set back counts as one that stands.
        told = told.map { ($0.id, min($0.at, now)) }.filter { now - $0.at < Self.time }
        guard attempts.read(now: now).pausedUntil(now: now) == nil else { return [] }
        let unknown = requests.filter { request in !told.contains { $0.id == request.relayID } }
        let chosen = unknown.prefix(max(0, Self.countMax - told.count))
        told += chosen.map { ($0.relayID, now) }
        return Array(chosen)
    }
}
