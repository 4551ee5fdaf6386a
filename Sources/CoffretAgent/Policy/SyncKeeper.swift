// When the process that syncs a store starts again after it ended. The one thing to keep true: ends that follow each other come
// ever more rarely, and one after a good time counts as the first.

package import CoffretBase
internal import CoffretSync

/// Decides when a store's sync starts. Pure: starts and ends in, a time out.
package struct SyncKeeper: Sendable {
    /// A process that lived so long worked.
    package static let steady = Duration.milliseconds(SyncSchedule<Int>.steadyMilliseconds)

    /// When it is to start; nil while it runs, and where only another key helps.
    package private(set) var startAt: BootInstant?
    /// The key that it was started with, by the count of keys of the store.
    private var keyCount = 0
    private var beganAt: BootInstant?
    private var backoff = SyncBackoff()

    package init() {}

    package mutating func start(at time: BootInstant) { startAt = time }

    /// The time has come.
    package mutating func isStarting() { startAt = nil }

    package mutating func began(keyCount: Int, at now: BootInstant) {
        self.keyCount = keyCount
        beganAt = now
    }

    /// It ended by itself.
    ///
    /// - Parameters:
    ///   - isStale: the key that it had opens nothing any more.
    ///   - keyCount: of the key that there is now.
    package mutating func ended(isStale: Bool, keyCount: Int, at now: BootInstant, random: any RandomSource) {
        if let beganAt, now >= beganAt.advanced(by: Self.steady) { backoff.reset() }
        beganAt = nil
        if isStale {
            // The command that changed the keyring says so, or did already; nobody else can.
            startAt = keyCount == self.keyCount ? nil : now
        } else {
            startAt = now.advanced(by: .milliseconds(backoff.next(random)))
        }
    }
}
