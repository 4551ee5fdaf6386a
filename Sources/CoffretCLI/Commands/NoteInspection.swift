// `coffret note passphrases|hint|sealed|hide|unhide`. The one thing to keep true: it is always said whether a note is
// encrypted or merely hidden.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

enum NoteInspection {
    static func passphrases(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let records = try session.vault.passwordRecords()
        let open = session.store.store.noteKeys.records
        let value = JSONValue.array(
            records.map { summary in
                .fields([
                    "id": .string(summary.record.id.hex), "scheme": .integer(Int(summary.record.scheme.rawValue)),
                    "created": .moment(summary.record.created), "noteCount": .integer(summary.noteCount),
                    "hasHint": .bool(summary.hasHint), "isOpen": .bool(open.contains(summary.record.id)),
                    "replacedBy": summary.replacedBy.map { .string($0.hex) },
                ])
            })
        try context.print(value) {
            guard !records.isEmpty else { return context.terminal.outputIsTerminal ? "No note is locked." : "" }
            var table = TextTable([
                .init(role: .identifier), .init(role: .faint), .init(alignsRight: true), .init(), .init(role: .faint),
            ])
            for summary in records {
                let notes = [
                    "scheme \(summary.record.scheme.rawValue)", summary.hasHint ? "hint" : "",
                    open.contains(summary.record.id) ? "open" : "",
                    summary.replacedBy.map { "replaced by \($0.hex.prefix(8))" } ?? "",
                ]
                table.add([
                    String(summary.record.id.hex.prefix(8)), context.relativeTime.day(summary.record.created),
                    NumberText.grouped(summary.noteCount), summary.noteCount == 1 ? "note" : "notes",
                    notes.filter { !$0.isEmpty }.joined(separator: ", "),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    static func hint(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let item = try session.vault.item(try session.vault.resolve(context.arguments.required(NoteCommand.aNote)))
        let record = try session.vault.record(for: item)
        guard let hint = try session.vault.hint(of: record.id) else {
            throw CommandFailure(.notFound, .noteHintMissing, "the passphrase of this note has no hint")
        }
        try context.print(.fields(["record": .string(record.id.hex), "hint": .string(hint)])) {
            TextWidth.displaySafe(hint)
        }
    }

    /// The sealed text as it is stored, for programs that know the scheme.
    static func sealed(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let item = try session.vault.item(try session.vault.resolve(context.arguments.required(NoteCommand.aNote)))
        let record = try session.vault.record(for: item)
        guard let text = item.lock?.parts[.text] else { throw CoreError(.noteNotLocked, at: item.title) }
        let value = text.values[text.preferred]
        let body = Base64.standard.encode(value.body)
        let effort = record.identity.effort
        try context.print(
            .fields([
                "id": .string(item.id.uuid.hex), "scheme": .integer(Int(record.scheme.rawValue)),
                "record": .string(value.record.hex), "home": .string(record.identity.home.hex),
                "salt": .string(Hex.encode(record.identity.salt)),
                "memoryKibibytes": effort.map { .integer(Int($0.memoryKibibytes)) },
                "passCount": effort.map { .integer(Int($0.passCount)) },
                "encryptionID": .string(value.encryptionID.description.uppercased()), "sealed": .string(body),
            ])
        ) { body }
    }

    static func setHidden(_ context: CommandContext, _ isHidden: Bool) throws {
        let store = try StoreSession.open(context, with: .passphrase)
        var request = ItemFlag()
        (request.items, request.vault) = (context.arguments.values(NoteCommand.notes), store.namedVault)
        request.isHidden = isHidden
        let ids = try request.perform(on: store.desk).items.map(\.id)
        try context.confirmDone(.fields([isHidden ? "hidden" : "unhidden": .strings(ids)])) {
            let lines = try ids.map { "\(isHidden ? "Hid" : "Shows again:") \(try store.label($0))" }
            let note =
                "Hidden is not encrypted: whoever opens the vault with another program reads it. coffret note lock encrypts."
            return (isHidden ? lines + [note] : lines).joined(separator: "\n")
        }
    }
}
