// `coffret share undo`, and words about what came unseen with the end of a right. The one thing to keep true: what is taken back is shown
// before.

internal import CoffretApp
internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum ShareUndoing {
    static let versions = ArgumentDescription.required(
        "VERSION", repeats: true,
        "the first change that is taken back, as share rm, device revoke and log show it")

    static let description = CommandDescription(
        "undo", "Take back what a device wrote from a version on",
        discussion: [
            "Everything that the device wrote from that version on is undone by changes of your own, and stays in the history. What others wrote meanwhile stays as it is. share rm and device revoke name the version where they brought changes that this device had not seen."
        ],
        arguments: [ShareCommand.vault, versions], options: [CommonArguments.yes], run: run)

    private static func run(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = ShareUndo()
        (request.vault, request.versions) = (
            context.arguments.required(ShareCommand.vault), context.arguments.values(versions)
        )
        request.isTrial = true
        let found = try store.perform(request).work
        try context.confirmDanger(
            "\(NumberText.counted(found.entryCount, "change")) will be taken back\(found.titles(among: 5)).",
            question: "Take back?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        (request.versions, request.isTrial) = (found.versions, nil)
        let done = try store.perform(request)
        try context.confirmDone(done.json) {
            done.isDone
                ? "Taken back. The others get it with the next coffret sync."
                : "Nothing of it stands there any more: nothing was changed."
        }
    }
}

extension UnseenWork {
    /// How many digits of a version are shown.
    private static var digitCount: Int { 10 }

    /// For the person who ended a right, on lines of their own.
    ///
    /// - Parameter who: wrote it.
    func words(by who: String) -> String {
        let them = entryCount == 1 ? "it" : "them"
        return
            "\n\(NumberText.counted(entryCount, "change")) by \(who) came to \"\(TextWidth.displaySafe(vault))\" that this device had not seen"
            + "\(titles(among: 5)). \(entryCount == 1 ? "It counts" : "They count"); take \(them) back:\n  coffret share undo \(vaultID.prefix(8)) "
            + versions.map { String($0.prefix(Self.digitCount)) }.joined(separator: " ")
    }

    fileprivate func titles(among limit: Int) -> String {
        guard !items.isEmpty else { return "" }
        var words = items.prefix(limit).map { item in
            item.title.map { "\"\(TextWidth.displaySafe($0))\"" } ?? "a removed item (\(item.id.prefix(8)))"
        }
        if items.count > limit { words.append("\(items.count - limit) more") }
        return ": " + words.joined(separator: ", ")
    }
}
