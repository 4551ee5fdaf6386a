// The stages of an operation as the person sees them. Invariant: a stage is shown under one name, from its first step to the
// first one of another.

internal import CoffretTerminal
internal import CoffretWire

/// Shows the stages of one operation as they come.
final class ProgressStages {
    private let reporter: ProgressReporter
    private let unit: String
    private var stage: String?

    /// The names of the stages of imports and exports.
    private static let names = [
        "listing": "Listing", "reading": "Reading", "attaching": "Attaching", "saving": "Saving", "writing": "Writing",
        "verifying": "Verifying", "index": "Indexing",
    ]

    init(_ context: CommandContext, unit: String) {
        reporter = context.progress()
        self.unit = unit
    }

    func show(_ step: OperationProgress) {
        if step.stage != stage {
            reporter.begin(step.stage.flatMap { Self.names[$0] } ?? "", unit: step.stage == "index" ? "item" : unit)
            stage = step.stage
        }
        reporter.update(done: step.done, total: step.total ?? step.done, byteCount: step.byteCount ?? 0)
    }

    func end() { reporter.end() }
}
