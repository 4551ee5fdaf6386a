// Threads and time. The one thing to keep true: a thread takes its work by value once, and shares nothing else.

internal import Glibc

/// A clock that only goes forward.
enum Monotonic {
    static var milliseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    static var nanoseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// A thread of our own, to be joined.
@safe final class ServerThread: Sendable {
    // SAFETY: an identifier, written before anybody sees the object.
    private let thread: pthread_t

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    init(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let work = unsafe Unmanaged.passRetained(Work(body))
        let status = unsafe pthread_create(
            &thread, nil,
            { context in
                // SAFETY: retained above for this one use.
                unsafe Unmanaged<Work>.fromOpaque(context!).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        precondition(status == 0, "a thread cannot be made")
        self.thread = thread
    }

    func join() { pthread_join(thread, nil) }
}
