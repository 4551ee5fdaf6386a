// Deadlines of connections. The one thing to keep true: whoever is slower than the minimum loses the connection,
// whatever little it sends in between.

internal import Glibc
internal import Synchronization

/// Ends connections whose time is over, since the library's own timeout starts anew with every byte.
///
/// Every request sets a deadline or two, so there is no lock: one word for each descriptor.
@safe final class ConnectionWatch: Sendable {
    /// For a request's head, and for a request without a body.
    static let headMilliseconds: Int64 = 10_000
    /// Between requests.
    static let idleMilliseconds: Int64 = 60_000
    /// The least that a peer takes or gives.
    static let bytesPerSecondMin: Int64 = 8 << 10

    /// In place of a deadline: nobody to watch; being ended, so that the number must not be given back yet.
    private static let nobody: Int64 = 0
    private static let ending: Int64 = -1

    private let slotCount: Int
    // SAFETY: made once, freed with this object, which outlives all threads that use it; each slot is atomic.
    nonisolated(unsafe) private let slots: UnsafeMutablePointer<Atomic<Int64>>
    /// One more than the highest descriptor that was watched.
    private let slotCountUsed = Atomic(0)
    private let isRunning = Atomic(true)
    private let thread = Mutex<ServerThread?>(nil)

    private let metrics: ServerMetrics

    /// - Parameter descriptorCountMax: how many descriptors this process can have.
    init(descriptorCountMax: Int, metrics: ServerMetrics) {
        self.metrics = metrics
        slotCount = descriptorCountMax
        unsafe slots = .allocate(capacity: slotCount)
        for index in 0..<slotCount { unsafe (slots + index).initialize(to: Atomic(Self.nobody)) }
    }

    deinit { unsafe slots.deallocate() }

    func start() {
        let made = ServerThread { [self] in
            while isRunning.load(ordering: .relaxed) {
                usleep(250_000)
                let now = Monotonic.milliseconds
                for descriptor in 0..<slotCountUsed.load(ordering: .relaxed) { end(descriptor, after: now) }
            }
        }
        thread.withLock { $0 = made }
    }

    private func end(_ descriptor: Int, after now: Int64) {
        let deadline = unsafe slots[descriptor].load(ordering: .relaxed)
        guard deadline > 0, deadline < now else { return }
        // Until the slot says something else again, the library does not close it, and the number stays this connection's.
        guard
            unsafe slots[descriptor].compareExchange(
                expected: deadline, desired: Self.ending, ordering: .acquiringAndReleasing
            ).exchanged
        else { return }
        shutdown(Int32(descriptor), Int32(SHUT_RDWR))
        metrics.connectionEnded()
        unsafe slots[descriptor].store(now + Self.idleMilliseconds, ordering: .releasing)
    }

    func stop() {
        isRunning.store(false, ordering: .relaxed)
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    /// Gives a connection so long from now.
    func set(_ descriptor: Int32, _ milliseconds: Int64) { write(descriptor, Monotonic.milliseconds + milliseconds) }

    /// Gives it time for so many bytes.
    func set(_ descriptor: Int32, forByteCount byteCount: Int) {
        set(descriptor, Self.headMilliseconds + Int64(byteCount) * 1_000 / Self.bytesPerSecondMin)
    }

    func remove(_ descriptor: Int32) { write(descriptor, Self.nobody) }

    private func write(_ descriptor: Int32, _ value: Int64) {
        guard descriptor >= 0 else { return }
        // The limit on descriptors is the table's size, so this is one that nothing could watch.
        guard descriptor < slotCount else {
            shutdown(descriptor, Int32(SHUT_RDWR))
            return
        }
        let slot = Int(descriptor)
        if slot >= slotCountUsed.load(ordering: .relaxed) { slotCountUsed.max(slot + 1, ordering: .relaxed) }
        var before = unsafe slots[slot].load(ordering: .relaxed)
        while true {
            if before == Self.ending {
                sched_yield()
                before = unsafe slots[slot].load(ordering: .relaxed)
                continue
            }
            let outcome = unsafe slots[slot].compareExchange(
                expected: before, desired: value, ordering: .acquiringAndReleasing)
            if outcome.exchanged { return }
            before = outcome.original
        }
    }
}
