// `coffret token`: what other programs may ask of an unlocked store. The one thing to keep true: a person who is there makes a
// token, and its secret is shown once.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire

enum TokenCommand {
    static let name = ArgumentDescription.required("NAME", "what you call the token")
    static let allow = OptionDescription.value(
        "allow", "WHAT", repeats: true,
        "list, read or write, or the name of one operation, such as item.create; may be given several times")
    static let vault = OptionDescription.value(
        "vault", "NAME", .stored("vaults"), repeats: true, "this vault only; may be given several times")
    static let tag = OptionDescription.value(
        "tag", short: "t", "TAG", .stored("tags"), repeats: true,
        "items with this tag, or one below it, only; may be given several times")
    static let until = OptionDescription.value(
        "until", "MOMENT", "when the token ends: 2026-12-31, '3 May 14:00', or a time from now such as 8h")
    static let reason = OptionDescription.value("reason", "TEXT", "what it is for; coffret token ls shows it")

    static let gone = ArgumentDescription.optional("NAME", .text, "the token's name")
    static let all = OptionDescription.flag("all", "remove all, also where their file was altered")

    static let description = CommandDescription(
        "token", group: .scripts, "Let a program ask the unlocked store for some things only",
        discussion: [
            "A program that opens a session with a token (Spec/operations.md) gets the operations, vaults and tags of the token and nothing else: other items do not exist for it. list shows titles, tags and words around what was searched for; read shows texts and secrets too; write changes items as well.",
            "No token gives control: none locks the store, makes a token, opens a locked note, or shows a hidden item without you.",
            "A program of yours that can reach the agent's socket can open a session without a token, too. Give a container the folder coffret-programs in $XDG_RUNTIME_DIR, and it has no other way in.",
        ],
        subcommands: [
            CommandDescription(
                "new", "Make a token and show its secret, once",
                discussion: [
                    "Somebody has to be there: presence where PAM is set up for it (Docs/unlocking.md), else the PIN, else the passphrase. The token works while the store is unlocked, on this computer."
                ],
                arguments: [name], options: [allow, vault, tag, until, reason],
                examples: [
                    CommandExample(
                        "coffret token new blog --allow read --tag public --reason 'web site'",
                        "reads notes with the tag public"),
                    CommandExample(
                        "coffret token new inbox --allow item.create --until 8h --reason form",
                        "adds items, for eight hours"),
                ],
                run: create),
            CommandDescription("ls", "List the tokens of the store on this computer", run: list),
            CommandDescription(
                "rm", "Remove a token; sessions that it opened are refused at once",
                arguments: [gone], options: [all], run: remove),
        ])

    private static func create(_ context: CommandContext) throws {
        var token = TokenCreate()
        token.name = context.arguments.required(name)
        guard let reason = context.arguments.value(reason), !reason.isEmpty else {
            throw CommandFailure(
                .usage, .tokenIncomplete, "a token needs a reason", hint: "--reason 'what the program does'")
        }
        token.reason = reason
        try read(context.arguments.values(allow), into: &token)
        if let text = context.arguments.value(until) {
            token.until = WireMoment(try end(text, context))
        }
        let tags = context.arguments.values(tag)
        if !tags.isEmpty { token.tags = try tags.map { try TagPath(wanted: $0).path } }
        let vaults = context.arguments.values(vault)
        if !vaults.isEmpty { token.vaults = vaults }
        let store = try CommandStore.open(context)
        let answer = try store.perform(token)
        let made = answer.token
        let description = words(made, try store.perform(VaultList()).vaults, context)
        try context.print(answer.json) {
            """
            \(answer.secret)

            The token "\(TextWidth.displaySafe(made.name))" \(description).
            Give it to the program now: it is not shown again.
            """
        }
    }

    /// A day without a clock time means its end.
    private static func end(_ text: String, _ context: CommandContext) throws -> Int64 {
        let now = context.nowMilliseconds
        let parser = MomentParser(nowMilliseconds: now)
        let end =
            try DurationText.parse(text).map { now + Int64($0) * 1000 }
            ?? parser.parse(text + " 23:59:59") ?? context.moment(text)
        guard end > now else {
            throw CommandFailure(
                .usage, .momentInvalid, "\"\(TextWidth.displaySafe(text))\" is over already",
                hint: "write 8h or 2026-12-31")
        }
        return end
    }

    private static func read(_ words: [String], into token: inout TokenCreate) throws {
        guard !words.isEmpty else {
            throw CommandFailure(
                .usage, .tokenIncomplete, "a token needs to allow something",
                hint: "--allow list, read or write, or the name of an operation")
        }
        var operations: [String] = []
        for word in words.flatMap({ $0.split(separator: ",").map(String.init) }) {
            if let access = TokenMessage.Access(rawValue: word) {
                guard token.access == nil || token.access == access else {
                    throw CommandFailure(
                        .usage, .tokenIncomplete, "\(word) and \(token.access?.rawValue ?? "") exclude each other",
                        hint: "write includes read, and read includes list")
                }
                token.access = access
            } else {
                guard Operations.all.contains(where: { $0.name == word && $0.access != .control }) else {
                    throw AccessError(.scopeInvalid, at: word)
                }
                operations.append(word)
            }
        }
        if !operations.isEmpty { token.operations = operations }
    }

    private static func list(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        let (tokens, vaults) = (try store.perform(TokenList()).tokens, try store.perform(VaultList()).vaults)
        try context.print(.array(tokens.map(\.json))) {
            guard !tokens.isEmpty else {
                return context.isQuiet ? "" : "No program has a token: coffret token new makes one."
            }
            return tokens.map { token in
                "\(TextWidth.displaySafe(token.name)): \(words(token, vaults, context))\n  \(TextWidth.displaySafe(token.reason))"
            }.joined(separator: "\n")
        }
    }

    private static func remove(_ context: CommandContext) throws {
        let wanted = context.arguments.value(gone)
        guard (wanted == nil) == context.arguments.isSet(all) else {
            throw CommandFailure(
                .usage, .tokenIncomplete, "which token is to go?", hint: "coffret token rm NAME, or --all")
        }
        var request = TokenRemove()
        (request.name, request.isAll) = (wanted, wanted == nil ? true : nil)
        _ = try CommandStore.open(context).perform(request)
        guard let wanted else {
            return try context.confirmDone(.fields(["removed": .bool(true)])) { "No token is worth anything any more." }
        }
        try context.confirmDone(.fields(["removed": .string(wanted)])) {
            "The token \"\(TextWidth.displaySafe(wanted))\" is worth nothing any more."
        }
    }

    /// `allows read, in "Work", items tagged #public, until 3 May 14:00`.
    private static func words(_ token: TokenMessage, _ vaults: [VaultMessage], _ context: CommandContext) -> String {
        var parts = [
            "allows " + ((token.access.map { [$0.rawValue] } ?? []) + (token.operations ?? [])).joined(separator: ", ")
        ]
        if let ids = token.vaults {
            let names = ids.map { id in vaults.first { $0.id == id }?.name ?? "a vault that is gone" }
            parts.append("in " + names.map { "\"\(TextWidth.displaySafe($0))\"" }.joined(separator: ", "))
        }
        if let tags = token.tags {
            parts.append("items tagged " + tags.map { "#" + TextWidth.displaySafe($0) }.joined(separator: " or "))
        }
        if let until = token.until {
            let isOver = until.milliseconds <= context.nowMilliseconds
            parts.append((isOver ? "ended " : "until ") + context.relativeTime.moment(until.milliseconds))
        }
        return parts.joined(separator: ", ")
    }
}
