// `coffret restore`: out of the trash, or back to an earlier version.

internal import CoffretBase
internal import CoffretCore
internal import CoffretStorage
internal import CoffretTerminal

enum RestoreCommand {
    static let description = CommandDescription(
        "restore", group: .time, "Bring an item back: from the trash, or as it was",
        discussion: ["The present version stays in the history, so this can be undone as well."],
        arguments: [CommonArguments.item], options: [CommonArguments.at],
        examples: [
            CommandExample("coffret restore tomatoes", "takes it out of the trash"),
            CommandExample("coffret restore tomatoes --at yesterday", "makes yesterday's version the present one"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let moment = try context.pointInTime()
        let session = try VaultSession.open(context)
        let reference = context.arguments.required(CommonArguments.item)
        guard let moment else {
            try restoreFromTrash(reference, session, context)
            return
        }
        let past = try ShowCommand.find(reference, session, at: moment)
        let commit = try session.vault.commit(at: moment)
        if past.isVeiled { try session.requirePresence(for: past) }
        var isChanged = false
        try session.writing { vault in isChanged = try vault.restore(past.id, to: commit.name) }
        let item = try session.vault.item(past.id)
        try context.confirmDone(.item(item, revealsSecrets: false)) {
            let label = context.label(item, try session.shortID(past.id))
            let time = context.relativeTime.moment(commit.timeMilliseconds)
            return isChanged ? "Restored \(label) as of \(time)" : "\(label) is as it was then: nothing was changed."
        }
    }

    private static func restoreFromTrash(
        _ reference: String, _ session: VaultSession, _ context: CommandContext
    ) throws {
        let id = try resolve(reference, session)
        let item = try session.vault.item(id)
        let short = try session.shortID(id)
        guard item.isTrashed else {
            throw CommandFailure(
                .usage, code: UsageError.Code.missingValue.rawValue,
                "\"\(TextWidth.displaySafe(item.title))\" is not in the trash",
                hint: "coffret history \(short) lists its versions; --at chooses one")
        }
        try session.writing { vault in try vault.restoreFromTrash(id) }
        let restored = try session.vault.item(id)
        try context.confirmDone(.item(restored, revealsSecrets: false)) {
            "\(context.label(restored, short)) is back from the trash"
        }
    }

    /// As everywhere, but the beginning of a title may also be that of something in the trash.
    private static func resolve(_ reference: String, _ session: VaultSession) throws -> EntityID {
        do throws(CoreError) {
            return try session.vault.resolve(reference)
        } catch {
            guard error.code == .itemNotFound else { throw error }
            var filter = ItemFilter.everything
            filter.isTrashed = true
            let sought = reference.lowercased()
            let found = try session.vault.list(filter).filter { $0.title.lowercased().hasPrefix(sought) }
            guard let only = found.first, !sought.isEmpty else { throw error }
            guard found.count == 1 else {
                throw CoreError(
                    .itemAmbiguous, at: reference,
                    candidates: found.prefix(20).map { CoreError.Candidate($0) })
            }
            return only.id
        }
    }
}
