// A lock for what processes that were forked use as well. Invariant: it knows nothing of who holds it.

internal import Glibc

/// A value that one thread at a time sees.
///
/// Swift's `Mutex` hands the kernel a thread's number, which it remembers across a fork; there two threads that want it end the
/// process. The thread that forks must not hold this lock.
@safe final class ForkSafeLock<State>: @unchecked Sendable {
    // SAFETY: the state is touched while the mutex is held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    init(_ state: State) {
        self.state = state
        unsafe mutex = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body(&state)
    }
}
