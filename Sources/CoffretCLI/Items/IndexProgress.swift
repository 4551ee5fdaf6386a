// The search index as a person sees it being made. The one thing to keep true: an index that is damaged or cannot be used
// is said, on standard error, and stops no command: what can be shown without it is shown.

internal import CoffretCore
internal import CoffretSearch
internal import CoffretTerminal

enum IndexProgress {
    /// Shows on a terminal how far an index is that is being made.
    static func observe(_ vault: Vault, _ context: CommandContext) {
        guard context.terminal.errorIsTerminal, !context.isJSON else { return }
        let reporter = context.progress()
        vault.observeIndex(progress: { done, total in
            if done <= Vault.indexProgressStep { reporter.begin("Preparing search", unit: "item") }
            reporter.update(done: done, total: total)
            if done == total { reporter.end() }
        })
    }

    private static func place(_ obstacle: SearchError) -> String { " [\(obstacle.code.rawValue)]" }

    /// Makes it, so that the next search need not. A change that is saved stays saved, whatever becomes of the index.
    static func makeIndex(of vault: Vault, _ context: CommandContext) throws {
        try context.output.flush()
        let obstacle = try context.timings.measure("index") { try vault.synchronizeIndex() }
        if let obstacle { context.note("\(words(obstacle)) Everything is saved, and is found without the index.") }
    }

    static func words(_ obstacle: SearchError) -> String {
        switch obstacle.code {
        case .indexFull: "There is no space for the search index."
        case .indexBusy: "Another coffret is at work on the search index."
        case .indexReadOnly: "The search index cannot be written here."
        default: "The search index cannot be used now\(place(obstacle))."
        }
    }
}
