// A clock that tests turn by hand.

package import CoffretBase
internal import Foundation

package final class ManualClock: WallClock, @unchecked Sendable {
    // SAFETY: `time` is read and written under `lock` only.
    private let lock = NSLock()
    private var time: Milliseconds

    /// - Parameter start: 2024-01-01T00:00:00Z unless said otherwise.
    package init(start: Milliseconds = 1_704_067_200_000) { time = start }

    package var now: Milliseconds { lock.withLock { time } }

    package func advance(by milliseconds: Milliseconds) { lock.withLock { time += milliseconds } }
}
