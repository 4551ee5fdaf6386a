// What is done before anything secret is in memory. The one thing to keep true: nothing here may
// fail the program; each step makes leaks less likely, none is the only protection.

internal import CPlatform
internal import Glibc

enum ProcessHardening {
    /// Refuses core dumps and inspection by other processes of the same user, makes new files
    /// private, and turns a reader that went away into an error instead of a signal.
    static func apply() {
        _ = coffret_disable_dumping()
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        umask(0o077)
        _ = signal(SIGPIPE, SIG_IGN)
    }
}
