// `coffret sync`. Invariant: it ends with the first failure, after all vaults had their turn.

internal import CoffretApp
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

enum SyncCommand {
    static let restored = OptionDescription.flag(
        "server-was-restored", "the server was put back to an older state, or emptied, on purpose: send it what it lost"
    )

    static let explain = OptionDescription.flag(
        "explain", "say what it may mean that the server shows an older or another state, and what to do")

    static let patience = OptionDescription.value(
        "patience", "TIME", "how long to try again when the server does not answer (10s)")
    private static let standardPatienceSeconds: UInt64 = 10
    static let withoutFiles = OptionDescription.flag(
        "without-files", "leave attached files at the server; coffret attach get fetches them one by one")

    static let description = CommandDescription(
        "sync", group: .devices, "Bring synced vaults and the server together",
        discussion: [
            "Sends what was written here and fetches what your other devices wrote. Different notes, fields and lines never get in each other's way; coffret conflicts ls lists what does.",
            "While the store is unlocked the agent does this by itself, as soon as something was written here or elsewhere; coffret agent settings --sync off ends that. coffret vault sync NAME says which vaults are synced.",
            "--status says how each vault stands, as far as is known on this device: its state and the server's, what the other devices have said that they have, and what waits. With --watch it says it again whenever that changes, and does not keep the store unlocked meanwhile.",
            "Attached files go to the server before the change that names them, and come after the notes, which can be used meanwhile; an interrupted sync goes on where it was.",
        ],
        options: [restored, explain, withoutFiles, patience, SyncWatch.status, SyncWatch.watch],
        examples: [
            CommandExample("coffret sync", "all of them; with --vault NAME only one"),
            CommandExample("coffret sync --status --watch", "what waits, and what comes and goes, until Ctrl-C"),
        ],
        run: run)

    private static func run(_ context: CommandContext) throws {
        if context.arguments.isSet(explain) { return try HelpCommand.explain("older-server", context) }
        try ServerAccess.checkJoined(context)
        if context.arguments.isSet(SyncWatch.status) { return try SyncWatch.run(context) }
        guard !context.arguments.isSet(SyncWatch.watch) else {
            throw CommandFailure(
                .usage, .inputInvalid, "--watch goes with --status", hint: "coffret sync --status --watch")
        }
        var request = SyncRun()
        request.isServerRestored = context.arguments.isSet(restored) ? true : nil
        request.leavesFiles = context.arguments.isSet(withoutFiles) ? true : nil
        request.patienceSeconds = Int(
            clamping: try DurationText.seconds(of: patience, context) ?? standardPatienceSeconds)
        let store = try CommandStore.open(context)
        request.vault = store.namedVault
        let progress = SyncProgressReporter(context)
        defer { progress.end() }
        let answer = try store.perform(request, progress: progress.take)
        progress.end()
        try tell(answer.vaults, context)
        if let failure = answer.log { throw failure }
    }

    private static func tell(_ results: [VaultSyncResult], _ context: CommandContext) throws {
        try context.confirmDone(.array(results.map(\.json))) {
            guard !results.isEmpty else {
                return "No vault is synced yet: coffret vault sync NAME begins with one."
            }
            // The failure of the only one is what the command ends with.
            if results.count == 1, results[0].problem != nil { return "" }
            var table = TextTable([.init(), .init(isFlexible: true, wraps: true, minimumWidth: 20)])
            for result in results {
                let what =
                    result.problem == nil
                    ? (result.isNew ? "new here; " : "") + result.words : result.failure?.message ?? ""
                table.add(["\"\(TextWidth.displaySafe(result.name))\"", what])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style).joined(
                separator: "\n")
        }
        for result in results { result.tell(context) }
        let conflictCount = results.reduce(0) { $0 + $1.conflictCount }
        if conflictCount > 0 {
            context.note(
                "\(NumberText.counted(conflictCount, "item")) changed in the same place on two devices: coffret conflicts ls"
            )
        }
        // All vaults had their turn; the first that was not synced decides how the command ends, then the first with files
        // that are not whole.
        guard let worst = results.first(where: { $0.problem != nil }) ?? results.first(where: { $0.failure != nil }),
            var failure = worst.failure
        else { return }
        if worst.problem != nil, results.count > 1 {
            failure.message = "\"\(TextWidth.displaySafe(worst.name))\": \(failure.message)"
        }
        throw failure
    }
}

extension VaultSyncResult {
    /// `received 3 changes, sent 1 change`.
    var words: String {
        var parts: [String] = []
        if receivedCount > 0 { parts.append("received \(NumberText.counted(receivedCount, "change"))") }
        if sentCount > 0 { parts.append("sent \(NumberText.counted(sentCount, "change"))") }
        if sentFileCount > 0 {
            parts.append("sent \(NumberText.counted(sentFileCount, "file")) (\(NumberText.bytes(sentFileByteCount)))")
        }
        if receivedFileCount > 0 {
            parts.append(
                "received \(NumberText.counted(receivedFileCount, "file")) (\(NumberText.bytes(receivedFileByteCount)))"
            )
        }
        if sweptByteCount > 0 {
            parts.append("the server gave back \(NumberText.bytes(sweptByteCount)) of dropped history")
        }
        return parts.isEmpty ? "up to date" : parts.joined(separator: ", ")
    }

    /// Says what a person should look at although the sync is done.
    func tell(_ context: CommandContext) {
        let name = "\"\(TextWidth.displaySafe(self.name))\""
        for notice in notices {
            let text = "\(name): \(notice.text)"
            if notice.kind == .warning { context.warn(text) } else { context.note(text) }
        }
    }
}
