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
    static let keep = OptionDescription.flag(
        "keep", "what another device deleted for good stays on this one, with its versions")
    static let forget = OptionDescription.flag("forget", "it goes from this device now")
    static let person = OptionDescription.value(
        "for", "NAME", "speak for another member, who cannot: as an owner, and only if you know what happened")

    static let description = CommandDescription(
        "review", "Look at what waits for your word in a vault, and decide",
        discussion: [
            "A device that you revoked may have changed the members of a vault: you did, or a thief did. Nobody goes on behind such links before you have said so. Items that were made on words which do not count are listed too.",
            "What another device deleted for good goes from this one after seven days of use, so that you can say no: a thief may have done it. With --keep it stays on this device and goes on to no other.",
            "Where whoever signed such links has left the vault, and nobody who was an owner before them is one now, nobody can say it for all. Ask that person by a way that you trust; with --take the links count on this device.",
        ],
        arguments: [ShareCommand.vault], options: [take, undo, keep, forget, person, CommonArguments.yes], run: run)

    static let rescue = CommandDescription(
        "rescue", "Show what somebody wrote who had lost the right to, and take it if you want",
        discussion: [
            "Words that came behind the point up to which a member's or a device's words count are in nobody's vault. Who may write can bring them in as his own: the same as coffret device rescue, for one vault."
        ],
        arguments: [ShareCommand.vault], options: [DeviceRescue.take, DeviceRescue.drop, CommonArguments.yes],
        run: { context in try DeviceRescue.run(context, vault: context.arguments.required(ShareCommand.vault)) })

    private static func run(_ context: CommandContext) throws {
        let decisions: [(option: OptionDescription, decision: ShareReview.Decision)] = [
            (take, .take), (undo, .undo), (keep, .keep), (forget, .forget),
        ].filter { context.arguments.isSet($0.option) }
        guard decisions.count < 2 else {
            throw CommandFailure(.usage, .inputInvalid, "--take, --undo, --keep and --forget are not for one call")
        }
        var request = ShareReview()
        (request.vault, request.person) = (
            context.arguments.required(ShareCommand.vault), context.arguments.value(person)
        )
        guard let decision = decisions.first?.decision else {
            let shown = try CommandStore.open(context).perform(request)
            return try context.print(shown.json) { text(shown, context) }
        }
        let session = try StoreSession.open(context, with: .passphraseAnew)
        let shown = try request.perform(on: session.desk)
        let isAboutPurges = decision == .keep || decision == .forget
        if isAboutPurges ? !shown.purges.isEmpty : !shown.links.isEmpty {
            try context.confirmDanger(
                text(shown, context), question: question(decision, shown),
                isConfirmed: context.arguments.isSet(CommonArguments.yes))
        }
        request.decision = decision
        if isAboutPurges { request.purgeCount = shown.purges.count } else { request.linkCount = shown.links.count }
        let decided = try request.perform(on: session.desk)
        try context.confirmDone(decided.json) {
            guard decided.isDecided else {
                return isAboutPurges
                    ? "Nothing that another device deleted waits here." : "No link waits for your word."
            }
            return done(decision, shown)
                + decided.unseen.map { $0.words(by: "members who write no more") }.joined()
        }
    }

    private static func question(_ decision: ShareReview.Decision, _ shown: ShareReview.Answer) -> String {
        switch decision {
        case .take: shown.isForThisDevice ? "Do they count here?" : "Do they count?"
        case .undo: "Take them back?"
        case .keep: "Keep these versions on this device?"
        case .forget: "Forget them on this device now?"
        }
    }

    private static func done(_ decision: ShareReview.Decision, _ shown: ShareReview.Answer) -> String {
        switch decision {
        case .take where shown.isForThisDevice: "They count on this device. Go on with: coffret sync"
        case .take: "They count."
        case .undo: "They were taken back."
        case .keep: "They stay on this device."
        case .forget: "They are gone from this device."
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
        for purge in shown.purges {
            let time = purge.time.map { ", \(context.relativeTime.moment($0.milliseconds))" } ?? ""
            lines.append(
                "link \(purge.number)  deletes for good, by \(TextWidth.displaySafe(purge.device))\(time); goes here after "
                    + "\(NumberText.counted(purge.dayCount, "day")) of use")
            for item in purge.items {
                lines.append("  item \(item.id.prefix(8))  \"\(TextWidth.displaySafe(item.title ?? "?"))\"")
            }
        }
        return lines.isEmpty ? "There is nothing to decide about." : lines.joined(separator: "\n")
    }
}
