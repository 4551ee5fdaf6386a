// `coffret note lock|unlock|relock`. The one thing to keep true: what is asked is asked before anything is written,
// and what the history still shows is said every time.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum NoteLocking {
    // MARK: Lock

    static func lock(_ context: CommandContext) throws {
        let arguments = context.arguments
        let store = try CommandStore.open(context)
        let isPurging = arguments.isSet(NoteCommand.purge)
        var request = NoteLock()
        (request.notes, request.vault) = (arguments.values(NoteCommand.notes), store.namedVault)
        request.isTrial = true
        do {
            let answer = try store.perform(request)
            if answer.isClosed, !isPurging { return try close(request, store) }
            if answer.isClosed { return try purge(request, store) }
        } catch  where isPurging && FailureCode.of(error) == CoreError.Code.noteAlreadyLocked.rawValue {
            return try purge(request, store)
        }
        if isPurging {
            try confirmPurge(context)
        } else {
            context.note(
                "Locking hides a note from now on; its earlier versions stay readable in the history. --purge-history removes them."
            )
        }
        request.isTrial = nil
        request.hidesTitle = arguments.isSet(NoteCommand.hideTitle)
        request.isNew = [NoteCommand.fresh, NoteCommand.hint, NoteCommand.scheme, NoteCommand.newDescriptor]
            .contains(where: arguments.isSet)
        request.hint = arguments.value(NoteCommand.hint)
        request.isForOtherPrograms = arguments.value(NoteCommand.scheme) == "1"
        request.effort = effort(context)
        let locked = try store.perform(request)
        try report(locked, isPurging: isPurging, store)
        if isPurging { try purge(request, store, isConfirmed: true) }
    }

    private static func effort(_ context: CommandContext) -> LockEffortMessage {
        let parameters = StoreAccess.parameters(context)
        var effort = LockEffortMessage()
        effort.memoryKibibytes = Int(parameters.memoryKibibytes)
        effort.passCount = Int(parameters.passCount)
        return effort
    }

    private static func report(_ locked: NoteLock.Answer, isPurging: Bool, _ store: CommandStore) throws {
        let value = JSONValue.fields([
            "locked": .strings(locked.notes), "readableVersionCount": .integer(locked.readableVersionCount),
        ])
        try store.context.confirmDone(value) {
            var lines = try store.labels(locked.notes).map { "Locked \($0)" }
            if locked.readableVersionCount > 0, !isPurging {
                lines.append(
                    "The history still shows \(NumberText.counted(locked.readableVersionCount, "earlier version")), readable as before. coffret note lock NOTE --purge-history removes them."
                )
            }
            return lines.joined(separator: "\n")
        }
    }

    /// Locks notes again that the agent keeps open.
    private static func close(_ request: NoteLock, _ store: CommandStore) throws {
        var request = request
        request.isTrial = nil
        let ids = try store.perform(request).notes
        try store.context.confirmDone(.fields(["closed": .strings(ids)])) {
            try store.labels(ids).map { "Closed \($0)" }.joined(separator: "\n")
        }
    }

    // MARK: Purge

    /// The answer before anything is locked: all earlier versions go.
    private static func confirmPurge(_ context: CommandContext) throws {
        try context.confirmDanger(
            "This removes all changes that touched what is locked, with whatever else they changed, from the vault's history. Nothing of what is there now is lost. It cannot be undone.",
            question: "Remove it?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
    }

    private static func purge(_ locking: NoteLock, _ store: CommandStore, isConfirmed: Bool = false) throws {
        var request = ItemForget()
        (request.items, request.vault) = (locking.notes, locking.vault)
        try ForgetCommand.forget(
            request, store, nothing: "The history shows no readable version of it.", isConfirmed: isConfirmed)
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

    private static func takeLockOff(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = NoteRelease()
        (request.notes, request.vault) = (context.arguments.values(NoteCommand.notes), store.namedVault)
        let ids = try store.perform(request).notes
        try context.confirmDone(.fields(["unlocked": .strings(ids)])) {
            try store.labels(ids).map { "Took the lock off \($0)" }.joined(separator: "\n")
        }
    }

    static func relock(_ context: CommandContext) throws {
        let named = context.arguments.values(NoteCommand.someNotes)
        guard named.isEmpty == context.arguments.isSet(NoteCommand.all) else {
            throw CommandFailure(
                .usage, code: UsageError.Code.missingArgument.rawValue, "name the notes, or say --all")
        }
        let store = try CommandStore.open(context)
        var request = NoteRelock()
        (request.notes, request.vault) = (named.isEmpty ? nil : named, store.namedVault)
        request.isCompromised = context.arguments.isSet(NoteCommand.compromised)
        (request.hint, request.effort) = (context.arguments.value(NoteCommand.hint), effort(context))
        let answer = try store.perform(request)
        try context.confirmDone(answer.json) {
            let old =
                answer.replacedCount == 0
                ? "The old one still opens the other notes that have it."
                : "The old one still opens what the history and old backups hold."
            return "\(NumberText.counted(answer.relocked.count, "note")) locked with the new passphrase. \(old)"
        }
    }
}
