// Deadlines of connections. The one thing to keep true: whoever is slower than the minimum loses the connection,
// whatever little it sends in between.

internal import Glibc
internal import Synchronization

/// Ends connections whose time is over, since the library's own timeout starts anew with every byte.
final class ConnectionWatch: Sendable {
    /// For a request's head, and for a request without a body.
    static let headMilliseconds: Int64 = 10_000
    /// Between requests.
    static let idleMilliseconds: Int64 = 60_000
    /// The least that a peer takes or gives.
    static let bytesPerSecondMin: Int64 = 8 << 10

    private let deadlines = Mutex<[Int32: Int64]>([:])
    private let isRunning = Atomic(true)
    private let thread = Mutex<ServerThread?>(nil)

    func start() {
        let made = ServerThread { [self] in
            while isRunning.load(ordering: .relaxed) {
                usleep(250_000)
                let now = Monotonic.milliseconds
                deadlines.withLock { deadlines in
                    for (descriptor, deadline) in deadlines where deadline < now {
                        // Under the lock, and before the library closes it, the number is still this connection's.
                        shutdown(descriptor, Int32(SHUT_RDWR))
                        deadlines[descriptor] = now + Self.idleMilliseconds
                    }
                }
            }
        }
        thread.withLock { $0 = made }
    }

    func stop() {
        isRunning.store(false, ordering: .relaxed)
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    /// Gives a connection so long from now.
    func set(_ descriptor: Int32, _ milliseconds: Int64) {
        let deadline = Monotonic.milliseconds + milliseconds
        deadlines.withLock { $0[descriptor] = deadline }
    }

    /// Gives it time for so many bytes.
    func set(_ descriptor: Int32, forByteCount byteCount: Int) {
        set(descriptor, Self.headMilliseconds + Int64(byteCount) * 1_000 / Self.bytesPerSecondMin)
    }

    func remove(_ descriptor: Int32) {
        deadlines.withLock { deadlines in _ = deadlines.removeValue(forKey: descriptor) }
    }

    var count: Int { deadlines.withLock { $0.count } }
}
