// A second thread for work that shares nothing with the first. Invariant: the starter of a thread waits for its end.

internal import Glibc

/// A thread that runs one closure and can be waited for.
///
/// Signals by which people end programs go to the first thread, which may hold them back for a while.
@safe package final class WorkerThread {
    private let thread: pthread_t
    private var isJoined = false

    /// - Parameter body: runs on the new thread; must end by itself.
    package init(_ body: @escaping @Sendable () -> Void) {
        guard let thread = Self.start(body) else { preconditionFailure("the system refuses one more thread") }
        self.thread = thread
    }

    private init(_ thread: pthread_t) { self.thread = thread }

    /// - Returns: nil if the system has no room for a thread.
    package static func startIfPossible(_ body: @escaping @Sendable () -> Void) -> WorkerThread? {
        start(body).map { WorkerThread($0) }
    }

    private static func start(_ body: @escaping @Sendable () -> Void) -> pthread_t? {
        let box = unsafe Unmanaged.passRetained(Box(body))
        var thread = pthread_t()
        // A new thread has the mask of its maker.
        let previous = SignalMask.current
        SignalMask.block(SignalMask.ending)
        defer { previous.apply() }
        let status = unsafe pthread_create(
            &thread, nil,
            { argument in
                // SAFETY: the one retained reference is taken over here, once.
                unsafe Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().body()
                return nil
            }, box.toOpaque())
        if status != 0 { unsafe box.release() }
        return status == 0 ? thread : nil
    }

    /// Waits for the thread's end.
    package func join() {
        guard !isJoined else { return }
        isJoined = true
        pthread_join(thread, nil)
    }

    deinit { join() }

    private final class Box {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
