// The search index of a large vault that has none yet, as a person sees it being made. The one thing to keep true: what
// can be shown without it has been shown before, so whoever ends this loses nothing.

internal import CoffretCore

enum IndexProgress {
    /// Shows on a terminal how far the index is, whenever one is made during this command; a script need not know.
    static func observe(_ vault: Vault, _ context: CommandContext) -> ProgressReporter? {
        guard context.terminal.errorIsTerminal, !context.isJSON else { return nil }
        let reporter = context.progress()
        var hasBegun = false
        vault.observeIndex(willRebuild: { _ in }) { done, total in
            if !hasBegun { reporter.begin("Preparing search", unit: "item") }
            hasBegun = true
            reporter.update(done: done, total: total)
        }
        return reporter
    }

    /// Makes it, so that the next search need not.
    static func makeIndex(of vault: Vault, _ context: CommandContext) throws {
        let reporter = observe(vault, context)
        defer { reporter?.end() }
        try context.output.flush()
        try context.timings.measure("index") { try vault.synchronizeIndex() }
    }
}
