// Signals that a thread holds back. Invariant: a mask that is taken is put back by the same thread.

internal import Glibc

/// Which signals a thread holds back.
package struct SignalMask: @unchecked Sendable {
    /// The signals by which people and systems end programs.
    package static let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    private var set = sigset_t()

    /// The mask of the calling thread.
    package static var current: SignalMask {
        var mask = SignalMask()
        unsafe pthread_sigmask(SIG_BLOCK, nil, &mask.set)
        return mask
    }

    package func contains(_ signal: Int32) -> Bool {
        var set = set
        return unsafe sigismember(&set, signal) == 1
    }

    /// Makes this the mask of the calling thread.
    package func apply() {
        var set = set
        unsafe pthread_sigmask(SIG_SETMASK, &set, nil)
    }

    package static func block(_ signals: [Int32]) { change(SIG_BLOCK, signals) }
    package static func unblock(_ signal: Int32) { change(SIG_UNBLOCK, [signal]) }

    private static func change(_ how: Int32, _ signals: [Int32]) {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal) }
        unsafe pthread_sigmask(how, &set, nil)
    }
}
