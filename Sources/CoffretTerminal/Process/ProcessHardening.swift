// Steps before anything secret is in memory. Invariant: nothing here may fail the program; each step makes leaks less
// likely, none is the only protection.

internal import CPlatform
package import Glibc

package enum ProcessHardening {
    /// Settings that the process was started with, for commands that are run in the person's name.
    package struct Original: Sendable {
        package let fileModeMask: mode_t
        package let coreLimit: rlimit
        package let ignoresBrokenPipe: Bool
    }

    /// As it was when `apply` was called.
    package static let original: Original = {
        var limit = rlimit()
        _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        // Both can only be read by setting them.
        let brokenPipe = signal(SIGPIPE, SIG_IGN)
        let ignored = unsafe unsafeBitCast(SIG_IGN, to: Int.self)
        let before = unsafe unsafeBitCast(brokenPipe, to: Int.self)
        let mask = umask(privateMask)
        return Original(fileModeMask: mask, coreLimit: limit, ignoresBrokenPipe: before == ignored)
    }()

    private static let privateMask: mode_t = 0o077

    /// Refuses core dumps and inspection by other processes of the same user, makes new files
    /// private, and turns a reader that went away into an error instead of a signal.
    ///
    /// On a terminal Swift's runtime would answer a crash by handing the memory to a program that shows
    /// it, or by waiting for that program; here a crash just ends the process.
    package static func apply() {
        occupyStandardStreams()
        _ = original
        _ = coffret_disable_dumping()
        applyLimits()
        let ignored = unsafe unsafeBitCast(SIG_IGN, to: Int.self)
        for crash in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP] {
            let before = unsafe unsafeBitCast(signal(crash, SIG_DFL), to: Int.self)
            if before == ignored { _ = signal(crash, SIG_IGN) }
        }
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Takes away the variables by which libraries load code of others: character sets, modules of GIO, engines of OpenSSL.
    ///
    /// For a process that keeps keys for hours, before it has threads. What a command starts in the person's name is to
    /// have them, so commands keep them.
    package static func dropVariablesThatLoadCode() {
        let names = ProcessEnvironment.inherited.compactMap { entry in
            entry.firstIndex(of: UInt8(ascii: "=")).map { String(decoding: entry[..<$0], as: UTF8.self) }
        }
        for name in names where loadsCode(name) { unsafe unsetenv(name) }
    }

    /// Starts this program anew where the loader was told to put code of others into it, or where it lacks variables that
    /// libraries read while they are loaded. For programs on the desktop, which nothing needs to be put into.
    package static func startAgainWithoutPreloads(with variables: [(name: String, value: String)] = []) {
        let names = ["LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH"]
        let isComplete = variables.allSatisfy { variable in
            unsafe getenv(variable.name).map { unsafe String(cString: $0) } == variable.value
        }
        guard !isComplete || names.contains(where: { unsafe getenv($0) != nil }) else { return }
        for name in names { unsafe unsetenv(name) }
        for variable in variables { unsafe setenv(variable.name, variable.value, 1) }
        startAgain()
    }

    /// Starts this program anew in its own place, with the same words.
    package static func startAgain() -> Never {
        var path = [CChar](repeating: 0, count: 4096)
        guard unsafe readlink("/proc/self/exe", &path, path.count - 1) > 0 else { exit(ExitCode.permission.rawValue) }
        let arguments = unsafe (0..<coffret_argument_count()).map { unsafe strdup(coffret_argument($0)) }
        _ = unsafe execv(path, arguments + [nil])
        exit(ExitCode.permission.rawValue)
    }

    private static func loadsCode(_ name: String) -> Bool {
        let families = ["GCONV_", "GIO_", "GTK_", "OPENSSL_", "P11_KIT_", "PKCS11_"]
        return families.contains(where: name.hasPrefix) || ["LOCPATH", "NLSPATH", "G_MESSAGES_DEBUG"].contains(name)
    }

    /// Puts something in place of standard streams that are closed: else the next file or socket that is opened takes the
    /// number, and is read as input or printed into. What is put there can be neither read nor written the way it is meant.
    private static func occupyStandardStreams() {
        for (stream, flags) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(stream, F_GETFD) < 0 {
            // The lowest number that is free is this one.
            _ = unsafe coffret_open("/dev/null", flags, 0)
            _ = fcntl(stream, F_SETFD, 0)
        }
    }

    /// The part that a child inherits.
    package static func applyLimits() {
        // The hard limit stays, so that a command run in the person's name can have its own back.
        var none = rlimit(rlim_cur: 0, rlim_max: original.coreLimit.rlim_max)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        umask(privateMask)
    }
}
