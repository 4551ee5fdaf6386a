// `coffret share item` and `coffret share restart`. The one thing to keep true: with whom something is shared is said before it
// is done.

internal import CoffretApp
internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum ShareItemCommand {
    static let people = ArgumentDescription.required(
        "NAME", repeats: true, "contacts, full addresses, or account ids")

    static let description = CommandDescription(
        "item", "Share one item with people",
        discussion: [
            "The item becomes a vault of its own, and moves there; its history stays behind. Nothing else is shared. Called again it lets more people in; coffret share rm and the other commands work on that vault."
        ],
        arguments: [CommonArguments.item, people], options: [ShareCommand.role, CommonArguments.yes],
        examples: [
            CommandExample("coffret share item 'Wi-Fi' bob", "Bob reads it; add --role writer to let him change it")
        ],
        run: run)

    /// The same by the word that people use.
    static let note = CommandDescription(
        "note", "Share one note with people: the same as share item",
        arguments: [CommonArguments.item, people], options: [ShareCommand.role, CommonArguments.yes], run: run)

    static let only = OptionDescription.value(
        "only", "ID", repeats: true, "this member alone comes along, by its account id; repeatable")

    static let restart = CommandDescription(
        "restart", "Found a shared vault anew",
        discussion: [
            "For a vault whose list of members is beyond repair, or in dispute: another vault with what stands in it now, for the same people in the same roles. They accept it as any other. The old vault is left, and stays on this device to be read."
        ],
        arguments: [ShareCommand.vault], options: [only, CommonArguments.yes], run: restart)

    private static func run(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        var request = ShareItem()
        request.item = context.arguments.required(CommonArguments.item)
        (request.vault, request.people) = (session.namedVault, context.arguments.values(people))
        request.role = context.arguments.value(ShareCommand.role).flatMap(ShareRole.init(rawValue:)) ?? .viewer
        request.isTrial = true
        let found = try request.perform(on: session.desk)
        let title = TextWidth.displaySafe(found.title)
        let who = found.people.map(\.words).joined(separator: ", ")
        let shown = found.people.map { "\($0.words) (\($0.standing(context)))" }.joined(separator: ", ")
        try context.confirmDanger(
            "\(shown) will \(request.role.verb) \"\(title)\", and nothing else of yours. It moves into a vault of its own.\n"
                + "What is read can be copied; taking it back later makes nobody forget.",
            question: "Share?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        (request.item, request.people, request.isTrial) = (found.item, found.people.map(\.account), nil)
        let shared = try request.perform(on: session.desk)
        try context.confirmDone(shared.json) {
            let name = TextWidth.displaySafe(shared.vault)
            var text = "\"\(title)\" is shared with \(who), in the vault \"\(name)\". There:  coffret share requests"
            if shared.keyCount < shared.people.count {
                text += "\nA key follows once that person has used coffret share."
            }
            return text
        }
    }

    private static func restart(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        var request = ShareRestart()
        request.vault = context.arguments.required(ShareCommand.vault)
        if context.arguments.isSet(only) { request.people = context.arguments.values(only) }
        request.isTrial = true
        let found = try request.perform(on: session.desk)
        let name = TextWidth.displaySafe(found.name)
        let who = found.people.isEmpty ? "you alone" : found.people.map(\.words).joined(separator: ", ")
        try context.confirmDanger(
            "Another vault \"\(name)\" begins, with \(NumberText.counted(found.itemCount, "item")) and no history, for \(who). "
                + "The old one is left, and called \"\(name) (old)\" here.",
            question: "Begin anew?", isConfirmed: context.arguments.isSet(CommonArguments.yes))
        request.isTrial = nil
        let done = try request.perform(on: session.desk)
        try context.confirmDone(done.json) {
            var text = "\"\(name)\" begins anew; \"\(TextWidth.displaySafe(done.formerName))\" can be read here."
            if !done.people.isEmpty { text += " The others accept it:  coffret share requests" }
            if !done.isLeft { text += "\nThe old one could not be left at the server: the others leave it." }
            return text
        }
    }
}
