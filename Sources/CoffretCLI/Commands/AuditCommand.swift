// `coffret audit`: passwords that are to be put right. Invariant: it prints no password.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum AuditCommand {
    static let breached = OptionDescription.value(
        "breached", "FILE", .file, "compare with a list of breached passwords on this disk")
    static let oldAfter = OptionDescription.value(
        "old-after", "DAYS", .number(1...36_500), "how long a password is not old (730)")
    static let only = OptionDescription.value(
        "only", "FLAW", .choice(PasswordAudit.Flaw.allCases.map(\.word)), repeats: true, "look for this alone")

    static let description = CommandDescription(
        "audit", group: .secrets, "Say which passwords are to be put right",
        discussion: [
            "Looks at the passwords of logins, and of custom items with a field \"Password\". Nothing leaves this computer, and no password is shown. Items in the trash are left out, and so are hidden ones that nobody has shown to be there for.",
            "breached: in the list of --breached. weak: guessed soon. reused: several items have the same. similar: an edit or two apart, or the same but for digits and marks at the ends. old: not changed for long. one-factor: a login with an address and neither a one-time code nor a passkey.",
            "A list of breached passwords is a file with a SHA-1 hash on each line, sorted, as the downloader of Have I Been Pwned writes it. It stays on the disk and may be of any size.",
            "Ends with 88 if something was found.",
        ],
        options: [breached, oldAfter, only],
        examples: [
            CommandExample("coffret audit --only reused --only weak", "the worst that needs no list"),
            CommandExample("coffret audit --breached pwned-passwords.txt", "a look into the list for each password"),
        ],
        run: run)

    static func run(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var request = PasswordAudit()
        request.vault = store.namedVault
        request.oldAfterDays = context.arguments.number(oldAfter)
        let words = context.arguments.values(only)
        if !words.isEmpty { request.flaws = PasswordAudit.Flaw.allCases.filter { words.contains($0.word) } }
        request.givesShortIDs = context.isJSON ? nil : true
        let answer = try audited(request, store, context)
        if !answer.isStrengthKnown, request.flaws?.contains(.weak) != false {
            context.note("How strong passwords are cannot be said: install libzxcvbn0. Short ones count as weak.")
        }
        if answer.hiddenCount > 0 {
            context.note("\(NumberText.counted(answer.hiddenCount, "hidden item")) not looked at.")
        }
        try context.print(answer.json) { text(answer, context) }
        guard answer.items.isEmpty else {
            throw CommandFailure(
                .needsAttention, .auditFindings,
                "\(NumberText.counted(answer.items.count, "password")) of \(NumberText.grouped(answer.passwordCount)) to put right",
                hint: "coffret edit ITEM --secret password asks for a new one")
        }
    }

    private static func audited(
        _ request: PasswordAudit, _ store: CommandStore, _ context: CommandContext
    ) throws -> PasswordAudit.Answer {
        let progress = context.progress()
        progress.begin("Looking at passwords", unit: "password")
        defer { progress.end() }
        func perform(_ request: PasswordAudit, _ descriptors: [Int32]) throws -> PasswordAudit.Answer {
            try store.perform(request, descriptors: descriptors) {
                progress.update(done: $0.done, total: $0.total ?? $0.done)
            }
        }
        guard let path = context.arguments.value(breached) else { return try perform(request, []) }
        var request = request
        request.bringsList = true
        let list: OwnedDescriptor
        do throws(SystemFailure) {
            list = try OwnedDescriptor.open(path, O_RDONLY)
        } catch {
            throw CommandFailure(
                error.number == ENOENT ? .notFound : .permission, .fileUnreadable,
                "\(TextWidth.displaySafe(path)) cannot be read: \(error.message)")
        }
        return try perform(request, [list.number])
    }

    private static func text(_ answer: PasswordAudit.Answer, _ context: CommandContext) -> String {
        let isTerminal = context.terminal.outputIsTerminal
        guard !answer.items.isEmpty else {
            return isTerminal
                ? "Nothing to put right in \(NumberText.counted(answer.passwordCount, "password"))." : ""
        }
        var table = TextTable([
            .init(role: .identifier), .init(isFlexible: true, minimumWidth: 16, maximumWidth: 60),
            .init(isFlexible: true, minimumWidth: 12), .init(role: .faint, maximumWidth: 16),
        ])
        for item in answer.items {
            table.add([
                item.shortID ?? item.item, TextWidth.displaySafe(item.title),
                item.flaws.map { words($0, of: item, context) }.joined(separator: ", "),
                item.vault.map { TextWidth.displaySafe($0) } ?? "",
            ])
        }
        var lines = table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
        if isTerminal {
            let counts = answer.counts.filter { $0.count > 0 }.map { "\($0.flaw.word) \(NumberText.grouped($0.count))" }
            lines += ["", counts.joined(separator: " · ")]
        }
        return lines.joined(separator: "\n")
    }

    private static func words(
        _ flaw: PasswordAudit.Flaw, of item: AuditedItemMessage, _ context: CommandContext
    ) -> String {
        switch flaw {
        case .breached: item.breachCount.map { "breached (\(NumberText.grouped($0)))" } ?? flaw.word
        case .reused: item.reuseGroup.map { "reused (group \($0))" } ?? flaw.word
        case .similar: item.similarGroup.map { "similar (group \($0))" } ?? flaw.word
        case .old: "old (\(context.relativeTime.day(item.changed.milliseconds)))"
        case .weak, .oneFactor: flaw.word
        }
    }
}

extension PasswordAudit.Flaw {
    /// On the command line.
    fileprivate var word: String { self == .oneFactor ? "one-factor" : rawValue }
}
