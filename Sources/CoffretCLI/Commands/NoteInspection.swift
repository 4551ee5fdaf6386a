// `coffret note passphrases|hint|sealed|hide|unhide`. The one thing to keep true: it is always said whether a note is
// encrypted or merely hidden.

internal import CoffretApp
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

enum NoteInspection {
    static func passphrases(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = PassphraseList()
        request.vault = store.namedVault
        let records = try store.perform(request).passphrases
        try context.print(.array(records.map(\.json))) {
            guard !records.isEmpty else { return context.terminal.outputIsTerminal ? "No note is locked." : "" }
            var table = TextTable([
                .init(role: .identifier), .init(role: .faint), .init(alignsRight: true), .init(), .init(role: .faint),
            ])
            for summary in records {
                let notes = [
                    "scheme \(summary.scheme)", summary.hasHint ? "hint" : "",
                    summary.isOpen ? "open" : "",
                    summary.replacedBy.map { "replaced by \($0.prefix(8))" } ?? "",
                ]
                table.add([
                    String(summary.id.prefix(8)), context.relativeTime.day(summary.created.milliseconds),
                    NumberText.grouped(summary.noteCount), summary.noteCount == 1 ? "note" : "notes",
                    notes.filter { !$0.isEmpty }.joined(separator: ", "),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    static func hint(_ context: CommandContext) throws {
        let note = try inspect(context)
        guard let hint = note.hint else {
            throw CommandFailure(.notFound, .noteHintMissing, "the passphrase of this note has no hint")
        }
        try context.print(.fields(["record": .string(note.passphrase), "hint": .string(hint)])) {
            TextWidth.displaySafe(hint)
        }
    }

    private static func inspect(_ context: CommandContext) throws -> NoteInspect.Answer {
        let store = try CommandStore.open(context)
        var request = NoteInspect()
        (request.note, request.vault) = (context.arguments.required(NoteCommand.aNote), store.namedVault)
        return try store.perform(request)
    }

    /// The sealed text as it is stored, for programs that know the scheme.
    static func sealed(_ context: CommandContext) throws {
        let note = try inspect(context)
        let body = note.sealed ?? ""
        try context.print(
            .fields([
                "id": .string(note.id), "scheme": .integer(note.scheme), "record": .string(note.record ?? ""),
                "home": .string(note.home), "salt": .string(note.salt),
                "memoryKibibytes": note.memoryKibibytes.map { .integer($0) },
                "passCount": note.passCount.map { .integer($0) },
                "encryptionID": .string(note.encryptionID ?? ""), "sealed": .string(body),
            ])
        ) { body }
    }

    static func setHidden(_ context: CommandContext, _ isHidden: Bool) throws {
        let store = try CommandStore.open(context)
        var request = ItemFlag()
        (request.items, request.vault) = (context.arguments.values(NoteCommand.notes), store.namedVault)
        request.isHidden = isHidden
        let ids = try store.perform(request).items.map(\.id)
        try context.confirmDone(.fields([isHidden ? "hidden" : "unhidden": .strings(ids)])) {
            let lines = try store.labels(ids).map { "\(isHidden ? "Hid" : "Shows again:") \($0)" }
            let note =
                "Hidden is not encrypted: whoever opens the vault with another program reads it. coffret note lock encrypts."
            return (isHidden ? lines + [note] : lines).joined(separator: "\n")
        }
    }
}
