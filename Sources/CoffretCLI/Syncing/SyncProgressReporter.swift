// How far a sync is, as a person sees it.

internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

/// Shows how far changes and files are; nothing for changes that are through at once.
final class SyncProgressReporter {
    private static let byteCountMin = 256 << 10

    private let reporter: ProgressReporter
    private var stage: String?

    init(_ context: CommandContext) { reporter = context.progress() }

    func take(_ step: OperationProgress) {
        guard let name = step.stage, let byteCount = step.byteCount else { return }
        guard step.totalByteCount == nil else {
            begin(name, unit: "byte")
            return reporter.update(done: byteCount, total: step.totalByteCount)
        }
        guard byteCount >= Self.byteCountMin || stage == name else { return }
        begin(name, unit: "item")
        reporter.update(done: step.done, total: step.total, byteCount: byteCount)
    }

    func end() {
        reporter.end()
        stage = nil
    }

    private func begin(_ stage: String, unit: String) {
        guard stage != self.stage else { return }
        self.stage = stage
        reporter.begin(stage.prefix(1).uppercased() + stage.dropFirst(), unit: unit)
    }
}
