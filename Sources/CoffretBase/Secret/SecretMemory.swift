// Memory for secrets, as a process sees it as a whole. Invariant: where there is none, the process ends in good order
// and says why; it does not go on with a secret in memory that is not meant for one.

internal import Glibc
internal import Synchronization

package enum SecretMemory {
    private static let lastWords = Mutex<(@Sendable () -> Void)?>(nil)

    /// For a process that begins: what it says before it ends for want of memory.
    package static func onExhaustion(_ words: @escaping @Sendable () -> Void) {
        lastWords.withLock { $0 = words }
    }

    /// In a process that was forked: locks the secrets that it was given, since locks are not inherited.
    package static func lockAfterFork() { SecretArena.lockAgain() }

    static func piece(byteCount: Int) -> SecretPiece {
        guard let piece = SecretArena.take(byteCount: byteCount) else { end() }
        return piece
    }

    /// EX_UNAVAILABLE of sysexits.h.
    private static let exitCode: Int32 = 69

    /// Any state on disk is one that a crash may leave, so nothing has to be put right.
    private static func end() -> Never {
        lastWords.withLock { $0 }?()
        _exit(exitCode)
    }
}
