// `coffret share review` and `coffret share rescue`: what a person has to decide about. The one thing to keep true: without a
// word of the person no link of a revoked device is taken, and nothing that does not count enters a vault.

internal import CoffretApp
internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum ShareReviewing {
    static let take = OptionDescription.flag("take", "the links count")
    static let undo = OptionDescription.flag("undo", "the links count, and what they did is taken back in one link")
    static let person = OptionDescription.value(
        "for", "NAME", "speak for another member, who cannot: as an owner, and only if you know what happened")

    static let description = CommandDescription(
        "review", "Look at links of a revoked device, and say whether they count",
        discussion: [
            "A device that you revoked may have changed the members of a vault: you did, or a thief did. Nobody goes on behind such links before you have said so. Items that were made on words which do not count are listed too.",
            "Where whoever signed such links has left the vault, and nobody who was an owner before them is one now, nobody can say it for all. Ask that person by a way that you trust; with --take the links count on this device.",
        ],
        arguments: [ShareCommand.vault], options: [take, undo, person, CommonArguments.yes], run: run)

    static let rescue = CommandDescription(
        "rescue", "Show what somebody wrote who had lost the right to, and take it if you want",
        discussion: [
            "Words that came behind the point up to which a member's or a device's words count are in nobody's vault. Who may write can bring them in as his own: the same as coffret device rescue, for one vault."
        ],
        arguments: [ShareCommand.vault], options: [DeviceRescue.take, DeviceRescue.drop, CommonArguments.yes],
        run: { context in try DeviceRescue.run(context, vault: context.arguments.required(ShareCommand.vault)) })

    private static func run(_ context: CommandContext) throws {
        let (takes, undoes) = (context.arguments.isSet(take), context.arguments.isSet(undo))
        guard !(takes && undoes) else {
            throw CommandFailure(.usage, .inputInvalid, "--take and --undo are not for one call")
        }
        var request = ShareReview()
        (request.vault, request.person) = (
            context.arguments.required(ShareCommand.vault), context.arguments.value(person)
        )
        guard takes || undoes else {
            let shown = try CommandStore.open(context).perform(request)
            return try context.print(shown.json) { text(shown, context) }
        }
        let session = try StoreSession.open(context, with: .passphraseAnew)
        let shown = try request.perform(on: session.desk)
        if !shown.links.isEmpty {
            try context.confirmDanger(
                text(shown, context),
                question: !takes ? "Take them back?" : shown.isForThisDevice ? "Do they count here?" : "Do they count?",
                isConfirmed: context.arguments.isSet(CommonArguments.yes))
        }
        (request.decision, request.linkCount) = (takes ? .take : .undo, shown.links.count)
        let decided = try request.perform(on: session.desk)
        try context.confirmDone(decided.json) {
            guard decided.isDecided else { return "No link waits for your word." }
            if shown.isForThisDevice { return "They count on this device. Go on with: coffret sync" }
            return takes ? "They count." : "They were taken back."
        }
    }

    private static func text(_ shown: ShareReview.Answer, _ context: CommandContext) -> String {
        var lines: [String] = []
        for link in shown.links {
            let time = link.time.map { ", \(context.relativeTime.moment($0.milliseconds))" } ?? ""
            lines.append("link \(link.number)  \(link.words)  by \(TextWidth.displaySafe(link.device))\(time)")
        }
        if shown.isForThisDevice {
            lines += [
                "Who signed them has left, and nobody who could say it for all is a member.",
                "Ask that person by a way that you trust. What you say holds on this device.",
            ]
        }
        for item in shown.items {
            lines.append(
                "item \(item.id.prefix(8))  \"\(TextWidth.displaySafe(item.title ?? "?"))\"  was made on words that do not count"
            )
        }
        return lines.isEmpty ? "There is nothing to decide about." : lines.joined(separator: "\n")
    }
}
