// The work that something takes. The one thing to keep true: what other programs do meanwhile does not count, so that a
// busy machine changes no result.

internal import Glibc

/// The processor's time of one thread.
package enum ProcessorTime {
    /// What something gives, and the processor's seconds that this thread spent on it.
    package static func measure<Result>(_ body: () throws -> Result) rethrows -> (result: Result, seconds: Double) {
        let start = now()
        let result = try body()
        return (result, now() - start)
    }

    private static func now() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
