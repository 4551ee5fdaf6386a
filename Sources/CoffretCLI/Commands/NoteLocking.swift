// `coffret note lock|unlock|relock`. The one thing to keep true: what is asked is asked before anything is written,
// and what the history still shows is said every time.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

enum NoteLocking {
    // MARK: Lock

    static func lock(_ context: CommandContext) throws {
        let arguments = context.arguments
        let store = try StoreSession.open(context, with: .passphrase)
        let places = try store.find(all: arguments.values(NoteCommand.notes))
        let session = VaultSession(store, places.record, places.vault)
        let items = try places.ids.map { try session.vault.item($0) }
        let isPurging = arguments.isSet(NoteCommand.purge)
        if isPurging, items.allSatisfy(\.isLocked) { return try purge(places.ids, session, context) }
        if try close(items, session, context) { return }
        try NoteLock.check(items)
        if isPurging {
            try confirmPurge(context)
        } else {
            context.note(
                "Locking hides a note from now on; its earlier versions stay readable in the history. --purge-history removes the history of the whole vault up to now."
            )
        }
        var request = NoteLock()
        request.hidesTitle = arguments.isSet(NoteCommand.hideTitle)
        if let known = try knownRecord(session, context) {
            try request.locked(places, under: known, on: store.desk)
        } else {
            let new = try newRecord(context, "Passphrase for locked notes: ")
            if new.scheme == .bear {
                context.warn(
                    "scheme 1 does not stretch the passphrase: it can be guessed at the speed of a few hashes, and opening the note with coffret locks it anew with scheme 2"
                )
            }
            try context.deriving { try request.locked(places, with: new, on: store.desk) }
        }
        try session.vault.refresh()
        let plan = try session.vault.historyPurgePlan(for: places.ids)
        try report(places.ids, plan, isPurging: isPurging, session, context)
        if isPurging { try purge(places.ids, session, context, isConfirmed: true) }
    }

    /// The record whose passphrase the person typed, among those in use; nil if a new one is to be made.
    private static func knownRecord(_ session: VaultSession, _ context: CommandContext) throws -> RecordInUse? {
        let isNew = [NoteCommand.fresh, NoteCommand.hint, NoteCommand.scheme, NoteCommand.newDescriptor]
            .contains(where: context.arguments.isSet)
        guard !isNew else { return nil }
        guard try !NoteLock.recordsInUse(of: session.vault).isEmpty else { return nil }
        let passphrase = try PassphraseSource(context: context).note("Passphrase of your locked notes: ")
        return try context.deriving { try NoteLock.record(of: passphrase, in: session.vault) }
    }

    private static func newRecord(_ context: CommandContext, _ question: String) throws -> NewRecord {
        let source = PassphraseSource(context: context)
        // Without an option of its own, a script gives the passphrase as for any locked note.
        let option =
            context.arguments.isSet(NoteCommand.newDescriptor)
            ? NoteCommand.newDescriptor : GlobalOptions.notePassphraseDescriptor
        var new = NewRecord(try source.newNote(from: option, orChoosing: question))
        new.hint = context.arguments.value(NoteCommand.hint)
        if context.arguments.value(NoteCommand.scheme) == "1" { new.scheme = .bear }
        let effort = StoreAccess.parameters(context)
        new.effort = LockEffort(memoryKibibytes: effort.memoryKibibytes, passCount: effort.passCount)
        return new
    }

    private static func report(
        _ ids: [EntityID], _ plan: HistoryPurgePlan?, isPurging: Bool, _ session: VaultSession,
        _ context: CommandContext
    ) throws {
        let value = JSONValue.fields([
            "locked": .strings(ids.map(\.uuid.hex)), "readableVersionCount": .integer(plan?.readableVersionCount ?? 0),
        ])
        try context.confirmDone(value) {
            var lines = try ids.map { "Locked \(context.label(try session.vault.item($0), try session.shortID($0)))" }
            if let plan, !isPurging {
                lines.append(
                    "The history still shows \(NumberText.counted(plan.readableVersionCount, "earlier version")), readable as before. coffret note lock NOTE --purge-history removes them."
                )
            }
            return lines.joined(separator: "\n")
        }
    }

    // MARK: Purge

    /// What is known before anything is locked: that the whole history up to now goes.
    private static func confirmPurge(_ context: CommandContext) throws {
        try context.confirmDanger(
            "This removes the whole history of the vault up to now, of all items, because each change builds on the one before it. Nothing of what is there now is lost. It cannot be undone.",
            question: "Remove it?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
    }

    private static func purge(
        _ ids: [EntityID], _ session: VaultSession, _ context: CommandContext, isConfirmed: Bool = false
    ) throws {
        guard let plan = try session.vault.historyPurgePlan(for: ids) else {
            return try context.confirmDone(.fields(["removedCommitCount": .integer(0)])) {
                "The history shows no readable version of it."
            }
        }
        if !isConfirmed {
            let what =
                "This removes \(NumberText.counted(plan.removedCommitCount, "change")) of the vault's history, of all items, not of this one alone; \(NumberText.grouped(plan.readableVersionCount)) of them touched what is locked. \(NumberText.grouped(plan.keptCommitCount)) stay. What is there now stays too. It cannot be undone."
            try context.confirmDanger(
                what, question: "Remove them?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        }
        let report = try session.writing { vault in try vault.purgeHistory(plan) }
        let value = JSONValue.fields([
            "removedCommitCount": .integer(report.repository.removedCommitCount),
            "readableVersionCount": .integer(plan.readableVersionCount),
            "removedFileCount": .integer(report.removedFileCount),
            "keptCommitCount": .integer(report.repository.keptCommitCount),
            "unmergedHeadCount": .integer(plan.unmergedHeadCount),
            "record": report.repository.compactionCommit.map { .string($0.description) },
        ])
        try context.confirmDone(value) {
            var text =
                "Removed \(NumberText.counted(report.repository.removedCommitCount, "change")) and \(NumberText.counted(report.removedFileCount, "file")) from this store; a signed record says so.\nNot reached: backups and exports from before, the files it was imported from, devices until they sync, and whoever left the vault with a copy."
            if plan.unmergedHeadCount > 0 {
                text +=
                    " \(NumberText.counted(plan.unmergedHeadCount, "line")) of history not merged yet may still show it."
            }
            return text
        }
    }

    // MARK: Unlock and relock

    static func unlock(_ context: CommandContext) throws {
        if context.arguments.isSet(NoteCommand.forGood) { return try takeLockOff(context) }
        let store = try CommandStore.open(context)
        let labels = try store.shown(context.arguments.values(NoteCommand.notes))
        var ids: [String] = []
        var lines: [String] = []
        for label in labels where !ids.contains(label.id) {
            var request = NoteUnlock()
            (request.note, request.vault, request.isKept) = (label.id, store.namedVault, true)
            _ = try store.perform(request)
            ids.append(label.id)
            lines.append("Open until the store locks: \(context.label(label))")
        }
        try context.confirmDone(.fields(["opened": .strings(ids)])) {
            (lines + [
                "So are other notes with the same passphrase. They stay encrypted; coffret note lock NOTE closes them at once."
            ]).joined(separator: "\n")
        }
    }

    /// Locks notes again that the agent keeps open, if those that were named are such.
    private static func close(_ items: [Item], _ session: VaultSession, _ context: CommandContext) throws -> Bool {
        guard items.allSatisfy(\.isLocked) else { return false }
        let held = session.store.store.noteKeys.records
        let isOpen = try items.contains { try !session.vault.recordsLeading(to: $0).isDisjoint(with: held) }
        guard isOpen else { return false }
        try session.store.desk.forgetNoteKeys(of: items, in: session.vault)
        try context.confirmDone(.fields(["closed": .strings(items.map(\.id.uuid.hex))])) {
            try items.map { "Closed \(context.label($0, try session.shortID($0.id)))" }.joined(separator: "\n")
        }
        return true
    }

    private static func takeLockOff(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let ids = try notes(context, session)
        for id in ids {
            let item = try session.vault.item(id)
            guard item.isLocked else { throw CoreError(.noteNotLocked, at: item.title) }
            _ = try session.readable(item)
        }
        try session.writing { vault in try vault.unlockNotes(ids) }
        try context.confirmDone(.fields(["unlocked": .strings(ids.map(\.uuid.hex))])) {
            try ids.map { "Took the lock off \(context.label(try session.vault.item($0), try session.shortID($0)))" }
                .joined(separator: "\n")
        }
    }

    static func relock(_ context: CommandContext) throws {
        let named = context.arguments.values(NoteCommand.someNotes)
        guard named.isEmpty == context.arguments.isSet(NoteCommand.all) else {
            throw CommandFailure(
                .usage, code: UsageError.Code.missingArgument.rawValue, "name the notes, or say --all")
        }
        let session = try VaultSession.open(context)
        let ids = try named.isEmpty ? session.vault.lockedNotes() : notes(context, session)
        guard !ids.isEmpty else { throw CommandFailure(.notFound, .versionNotFound, "no note is locked") }
        var before: Set<UniqueID> = []
        for id in ids {
            let item = try session.vault.item(id)
            guard item.isLocked else { throw CoreError(.noteNotLocked, at: item.title) }
            before.formUnion(try session.vault.recordsLeading(to: item))
            _ = try session.readable(item)
        }
        let new = try newRecord(context, "New passphrase for locked notes: ")
        let made = try context.deriving {
            try session.writing { vault in
                try vault.relockNotes(ids, with: new, isCompromised: context.arguments.isSet(NoteCommand.compromised))
            }
        }
        try session.store.desk.forgetNoteKeys(of: [], also: before.union([made.record.id]), in: session.vault)
        let replaced = made.record.previous.count
        try context.confirmDone(
            .fields([
                "relocked": .strings(ids.map(\.uuid.hex)), "record": .string(made.record.id.hex),
                "replacedCount": .integer(replaced),
            ])
        ) {
            let old =
                replaced == 0
                ? "The old one still opens the other notes that have it."
                : "The old one still opens what the history and old backups hold."
            return "\(NumberText.counted(ids.count, "note")) locked with the new passphrase. \(old)"
        }
    }

    static func notes(_ context: CommandContext, _ session: VaultSession) throws -> [EntityID] {
        var ids: [EntityID] = []
        for reference in context.arguments.values(NoteCommand.notes) {
            let id = try session.vault.resolve(reference)
            if !ids.contains(id) { ids.append(id) }
        }
        return ids
    }
}
