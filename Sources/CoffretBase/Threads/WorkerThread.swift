// A second thread for work that shares nothing with the first. The one thing to keep true: whoever starts a
// thread waits for its end.

internal import Glibc

/// A thread that runs one closure and can be waited for.
@safe package final class WorkerThread {
    private var thread = pthread_t()
    private var isJoined = false

    /// - Parameter body: runs on the new thread; must end by itself.
    package init(_ body: @escaping @Sendable () -> Void) {
        let box = unsafe Unmanaged.passRetained(Box(body))
        let status = unsafe pthread_create(
            &thread, nil,
            { argument in
                // SAFETY: the one retained reference is taken over here, once.
                unsafe Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().body()
                return nil
            }, box.toOpaque())
        precondition(status == 0, "the system refuses one more thread")
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
