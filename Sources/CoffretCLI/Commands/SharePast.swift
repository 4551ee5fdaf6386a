// `coffret share seen`, `activity` and `settings`. The one thing to keep true: a list of what somebody has seen shows no value.

internal import CoffretApp
internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum SharePast {
    static let person = ArgumentDescription.required(
        "NAME", "a member or a former one, or the beginning of its id")
    static let somebody = ArgumentDescription.optional(
        "NAME", "one of them alone: a member or a former one; you for yourself")
    static let everything = OptionDescription.flag("all", "texts and files too, and what was changed since")
    static let uses = OptionDescription.value(
        "use-for", "WORDS",
        "for what programs may use it: git (all logins that programs look for), ssh, run, browser, tokens, with commas between; none for nothing"
    )

    static let require = OptionDescription.value(
        "require", "STATE",
        "whom its owners may let in: compared, people whose codes were compared with coffret contact verify; linked, contacts (the usual)"
    )

    static let seen = CommandDescription(
        "seen", "Say what somebody has seen of a vault, and which passwords to change",
        discussion: [
            "Shows the secrets of the items that the person could read, and were not changed since. With --all also those that were, texts and files. The history of before could be read, too."
        ],
        arguments: [ShareCommand.vault, person], options: [everything], run: runSeen)

    static let activity = CommandDescription(
        "activity", "Say who did what in a vault, latest first",
        arguments: [ShareCommand.vault, somebody], options: [CommonArguments.limit], run: runActivity)

    static let settings = CommandDescription(
        "settings", "Say for what programs may use a vault, and whom it takes in",
        discussion: [
            "With --require compared nobody is added, and no right raised, before the codes of that person were compared. All owners' programs obey it.",
            "Programs that look for an item by themselves find none in a vault that another person founded: whoever may write in it would choose which login is used for an address. Where you name the vault, it is used. What you allow holds on this device.",
        ],
        arguments: [ShareCommand.vault], options: [uses, require],
        examples: [
            CommandExample("coffret share settings Home --use-for git,ssh", "git and SSH find what is in Home"),
            CommandExample(
                "coffret share settings Home --require compared", "let in only people whose codes were compared"),
        ],
        run: runSettings)

    private static func runSeen(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = ShareSeen()
        (request.vault, request.person) = (
            context.arguments.required(ShareCommand.vault), context.arguments.required(person)
        )
        let found = try store.perform(request)
        try context.print(found.json) {
            let isWhole = context.arguments.isSet(everything)
            let shown = isWhole ? found.values : found.values.filter { $0.kind == .secret && !$0.isChangedSince }
            let (who, name) = (found.person.words, TextWidth.displaySafe(found.vault))
            let since = found.endedAt.map { " until \(context.relativeTime.moment($0.milliseconds))" } ?? ""
            guard !shown.isEmpty else {
                return "\(who) read \"\(name)\"\(since): no secret of then stands there unchanged."
            }
            var lines = [
                found.isMember ? "\(who) reads \"\(name)\":" : "\(who) read \"\(name)\"\(since). Change these:"
            ]
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true, maximumWidth: 40), .init(isFlexible: true),
                .init(role: .faint), .init(role: .faint),
            ])
            for value in shown {
                table.add([
                    String(value.item.prefix(8)), TextWidth.displaySafe(value.title),
                    TextWidth.displaySafe(value.field),
                    value.isChangedSince ? "changed since" : value.isGone ? "item removed" : "",
                    value.hadForSure ? "had it" : "could have it",
                ])
            }
            lines += table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
            return lines.joined(separator: "\n")
        }
    }

    private static func runActivity(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = ShareActivity()
        (request.vault, request.person) = (
            context.arguments.required(ShareCommand.vault), context.arguments.value(somebody)
        )
        request.limit =
            context.arguments.number(CommonArguments.limit) ?? (context.terminal.outputIsTerminal ? 50 : .max)
        let found = try store.perform(request)
        try context.print(.array(found.entries.map(\.json))) {
            var table = TextTable([
                .init(), .init(isFlexible: true, maximumWidth: 20), .init(isFlexible: true, minimumWidth: 20),
                .init(role: .faint, maximumWidth: 20),
            ])
            for entry in found.entries {
                table.add([
                    entry.time.map { context.relativeTime.moment($0.milliseconds) } ?? "?",
                    TextWidth.displaySafe(entry.person), entry.summary, TextWidth.displaySafe(entry.device),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style).joined(
                separator: "\n")
        }
    }

    private static func runSettings(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = ShareSettings()
        request.vault = context.arguments.required(ShareCommand.vault)
        if let words = context.arguments.value(uses) {
            request.uses = try words.split(separator: ",").map(String.init).filter { $0 != "none" }.map { word in
                guard let use = GuestUse(rawValue: word.filter { $0 != " " }) else {
                    throw CommandFailure(
                        .usage, .inputInvalid, "\"\(TextWidth.displaySafe(word))\" is no use of a vault",
                        hint: "git, ssh, run, browser and tokens are, and none")
                }
                return use
            }
        }
        if let word = context.arguments.value(require) {
            guard let required = RequiredState(rawValue: word) else {
                throw CommandFailure(
                    .usage, .inputInvalid, "\"\(TextWidth.displaySafe(word))\" is nothing that a vault asks for",
                    hint: "compared or linked")
            }
            request.required = required
        }
        let found = try store.perform(request)
        try context.print(found.json) {
            let name = TextWidth.displaySafe(found.vault)
            let intake =
                found.required == .compared
                ? "It takes in people whose codes were compared." : "It takes in contacts, compared or not."
            guard found.isGuest else { return "\"\(name)\" is your own vault: it is used for everything. " + intake }
            guard !found.uses.isEmpty else {
                return "No program looks into \"\(name)\" by itself: another person founded it. " + intake
            }
            return "Programs look into \"\(name)\" for: \(found.uses.map(\.rawValue).joined(separator: ", ")). "
                + intake
        }
    }
}
