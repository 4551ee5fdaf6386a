// `coffret forget`: the past of single items, for good. Invariant: the copies that are not reached are named every time.

internal import CoffretTerminal
internal import CoffretWire

enum ForgetCommand {
    static let item = ArgumentDescription.required("ITEM", repeats: true, "ids or titles; of removed items whole ids")
    static let delete = OptionDescription.flag("delete", "the items go too; without it they stay as they are now")

    static let description = CommandDescription(
        "forget", group: .time, "Delete the earlier versions of items for good, everywhere",
        discussion: [
            "The history of other items stays. Changes that touched several items go as a whole. In a synced vault the server is asked first; without it nothing is done.",
            "Other devices drop these versions seven days after their next sync. An edit that another device made and has not sent yet brings its item back, visibly. Backups, exports, and devices that never sync are not reached.",
        ],
        arguments: [item], options: [delete, CommonArguments.yes],
        examples: [
            CommandExample("coffret forget 'Bank letter'", "asks first, in numbers; the item stays as it is now"),
            CommandExample("coffret forget 'Bank letter' --delete", "the item goes with all its versions"),
        ],
        run: run)

    private static func run(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = ItemForget()
        (request.items, request.vault) = (context.arguments.values(item), store.namedVault)
        if context.arguments.isSet(delete) { request.deletes = true }
        try forget(request, store, nothing: "The history shows no earlier version.")
    }

    /// Says in numbers what goes, asks, and lets it go.
    ///
    /// - Parameters:
    ///   - nothing: said where there is nothing to forget.
    ///   - isConfirmed: the person has agreed already.
    static func forget(
        _ request: ItemForget, _ store: CommandStore, nothing: String, isConfirmed: Bool = false
    ) throws {
        let context = store.context
        var request = request
        request.isTrial = true
        let plan = try store.perform(request)
        guard plan.versionCount > 0 else { return try context.confirmDone(plan.json) { nothing } }
        if !isConfirmed {
            try context.confirmDanger(
                question(plan, deletes: request.deletes == true), question: "Forget it?",
                isConfirmed: context.arguments.isSet(CommonArguments.yes))
            request.agreedCount = plan.removedCommitCount
        }
        request.isTrial = nil
        let report = try store.perform(request)
        try context.confirmDone(report.json) { text(report) }
    }

    private static func question(_ plan: ItemForget.Answer, deletes: Bool) -> String {
        let changes = NumberText.counted(plan.removedCommitCount, "change")
        let others = plan.otherItemCount ?? 0
        let versions = NumberText.counted(plan.versionCount, deletes ? "version" : "earlier version")
        var text =
            deletes
            ? "This removes the items for good, and \(versions) of them with \(changes) of the vault's history."
            : "This removes \(versions) for good, with \(changes) of the vault's history. The items stay as they are now."
        if others > 0 {
            text += " These changes touched \(NumberText.counted(others, "other item")), of which a version goes too."
        }
        return text + " \(NumberText.grouped(plan.keptCommitCount ?? 0)) changes stay. It cannot be undone."
    }

    private static func text(_ report: ItemForget.Answer) -> String {
        let removed =
            "Removed \(NumberText.counted(report.removedCommitCount, "change")) and \(NumberText.counted(report.removedFileCount ?? 0, "file")) from this store; a signed record says so."
        let devices =
            report.isSynced
            ? "\nOther devices remove theirs seven days after their next sync. The server forgets them once another of your devices has synced, or after 30 days, and keeps the sealed bytes for 30 days more."
            : ""
        return removed + devices
            + "\nNot reached: backups and exports from before, the files it was imported from, devices that do not sync, and whoever left the vault with a copy."
    }
}
