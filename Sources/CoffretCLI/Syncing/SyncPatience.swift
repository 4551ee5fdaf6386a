// Trying again while a person waits. The one thing to keep true: whoever waits is told why, and until when.

internal import CoffretBase
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal
internal import Glibc

/// How often a command tries again.
struct SyncPatience {
    private let context: CommandContext
    private var millisecondsLeft: Int
    private var backoff = SyncBackoff()

    init(_ context: CommandContext, seconds: UInt64) {
        self.context = context
        millisecondsLeft = Int(clamping: seconds) * 1_000
    }

    /// Waits, and says so.
    ///
    /// - Returns: false without waiting if the patience is used up.
    mutating func wait(because error: any Error) -> Bool {
        let pause = backoff.next(SystemRandomSource())
        guard pause <= millisecondsLeft else { return false }
        millisecondsLeft -= pause
        let failure = FailureTranslation.failure(from: error)
        context.note("\(failure.message); trying again in \(NumberText.duration(milliseconds: pause))")
        _ = poll(nil, 0, Int32(clamping: pause))
        return true
    }
}

/// Shows how far a sync is; nothing for one that is over at once.
final class SyncProgressReporter {
    private static let byteCountMin = 256 << 10

    private enum Stage { case receiving, sending }

    private let context: CommandContext
    private let reporter: ProgressReporter
    private var stage: Stage?
    /// The vault of which was said that it may be used before its history has come.
    private var told: String?

    init(_ context: CommandContext) {
        self.context = context
        reporter = context.progress()
    }

    func update(_ progress: SyncProgress, of vault: String) {
        if progress.isPresentHere, told != vault {
            reporter.end()
            (told, stage) = (vault, nil)
            context.note("\"\(TextWidth.displaySafe(vault))\" may be used now; its older history follows")
        }
        if let total = progress.sendCount {
            guard progress.sentByteCount >= Self.byteCountMin || stage == .sending else { return }
            begin(.sending, vault)
            reporter.update(done: progress.sentCount, total: total, byteCount: progress.sentByteCount)
        } else if progress.receivedByteCount >= Self.byteCountMin {
            begin(.receiving, vault)
            reporter.update(done: progress.receivedCount, byteCount: progress.receivedByteCount)
        }
    }

    func end() { reporter.end() }

    private func begin(_ stage: Stage, _ vault: String) {
        guard stage != self.stage else { return }
        self.stage = stage
        reporter.begin(stage == .sending ? "Sending" : "Receiving", unit: "item")
    }
}
