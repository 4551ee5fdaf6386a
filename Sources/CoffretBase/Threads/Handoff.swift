// Values on their way from one thread to another. Invariant: either side can end it, and then the other does not wait
// any more.

internal import Glibc

/// Passes values from a sender to a receiver, in order, and makes the sender wait while too much is on the way.
@safe package final class Handoff<Element: Sendable>: @unchecked Sendable {
    // SAFETY: all variables are touched while the mutex is held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private let costMax: Int
    private var waiting: [Element] = []
    private var cost = 0
    private var isEnded = false
    private var isStopped = false

    /// - Parameter costMax: how much may be on the way, in whatever `put` counts; a single value may cost more.
    package init(costMax: Int) {
        self.costMax = costMax
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// Sends a value; waits while there is no room for it. A receiver that waits is woken once a 32nd of the room is
    /// taken, and by `end`.
    ///
    /// - Returns: false once the receiver has stopped; the value is dropped then.
    @discardableResult
    package func put(_ element: Element, cost elementCost: Int) -> Bool {
        locked {
            while !isStopped && cost > 0 && cost + elementCost > costMax {
                unsafe pthread_cond_broadcast(condition)
                unsafe pthread_cond_wait(condition, mutex)
            }
            guard !isStopped else { return false }
            waiting.append(element)
            cost += elementCost
            // Waking a thread for each of many small values costs more than passing them.
            if cost >= costMax / 32 { unsafe pthread_cond_broadcast(condition) }
            return true
        }
    }

    /// All values that wait, at least one; waits for it. Nil when the sender has ended and everything was taken.
    package func take() -> [Element]? {
        locked {
            while !isStopped && waiting.isEmpty && !isEnded { unsafe pthread_cond_wait(condition, mutex) }
            guard !isStopped, !waiting.isEmpty else { return nil }
            // Handed over, not copied.
            let taken = waiting
            waiting = []
            cost = 0
            unsafe pthread_cond_broadcast(condition)
            return taken
        }
    }

    /// The sender's last word.
    package func end() {
        locked {
            isEnded = true
            unsafe pthread_cond_broadcast(condition)
        }
    }

    /// The receiver takes nothing more; what is on the way is dropped.
    package func stop() {
        locked {
            isStopped = true
            waiting = []
            unsafe pthread_cond_broadcast(condition)
        }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body()
    }
}
