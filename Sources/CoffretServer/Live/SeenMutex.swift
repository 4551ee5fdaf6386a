// A lock that the thread sanitizer sees. The one thing to keep true: it is built for that sanitizer only, and does what
// Synchronization's does.

#if COFFRET_THREAD_SANITIZER
internal import Glibc

/// In place of Synchronization's `Mutex`, which waits in the system's kernel by itself: what it protects looks unprotected
/// to a sanitizer that knows the locks of pthreads.
@safe final class Mutex<Value>: @unchecked Sendable {
    // SAFETY: made once, freed with this object; `value` is touched while it is held.
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    init(_ value: Value) {
        self.value = value
        unsafe lock = .allocate(capacity: 1)
        unsafe lock.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(lock, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(lock)
        unsafe lock.deallocate()
    }

    func withLock<Result, Failure>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(lock)
        defer { unsafe pthread_mutex_unlock(lock) }
        return try body(&value)
    }
}
#endif
