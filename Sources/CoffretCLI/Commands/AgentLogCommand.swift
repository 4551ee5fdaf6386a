// `coffret agent log`: what programs asked the store. The one thing to keep true: titles are looked up now, and stand in no
// file.

internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

enum AgentLogCommand {
    static let description = CommandDescription(
        "log", "Say which programs asked the unlocked store, and for what",
        discussion: [
            "Each session's beginning and end is in the log, and each use of a token. It lies sealed on this computer and keeps the last 2,048 entries; equal ones in a row are counted together. A session that ended with the store's lock has no end here."
        ],
        options: [CommonArguments.limit], run: run)

    private static func run(_ context: CommandContext) throws {
        var request = AccessList()
        let limit = context.arguments.number(CommonArguments.limit)
        request.limit = limit ?? (context.terminal.outputIsTerminal ? 50 : nil)
        let answer = try CommandStore.open(context).perform(request)
        try show(answer.entries, answer, context) { "No program has asked this store anything yet." }
    }

    /// Shows entries of an answer.
    static func show(
        _ shown: [AccessEntry], _ answer: AccessList.Answer, _ context: CommandContext, ifNone: () -> String
    ) throws {
        if answer.isIncomplete {
            context.warn("entries are missing: the file of the log was changed, or a crash tore one")
        }
        let titles = Dictionary(answer.titles.map { ($0.item, $0.title) }) { first, _ in first }
        try context.print(.array(shown.map(\.json))) {
            guard !shown.isEmpty else { return context.isQuiet ? "" : ifNone() }
            var table = TextTable([
                .init(), .init(isFlexible: true, maximumWidth: 20), .init(isFlexible: true, minimumWidth: 20),
            ])
            for entry in shown {
                table.add([
                    context.relativeTime.moment((entry.last ?? entry.time).milliseconds),
                    TextWidth.displaySafe(entry.token ?? entry.browser ?? entry.device ?? entry.session),
                    what(entry, titles),
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func what(_ entry: AccessEntry, _ titles: [String: String]) -> String {
        let program = TextWidth.displaySafe(entry.program ?? "a program")
        let count = entry.count.map { $0 > 1 ? ", \(NumberText.grouped($0)) times" : "" } ?? ""
        let code = entry.code.map { " [\($0)]" } ?? ""
        switch entry.event {
        case .opened: return "session of \(program)" + count
        case .ended: return "end of the session" + count
        case .refused where entry.operation == nil: return "no session for \(program)\(code)\(count)"
        case .asked, .refused:
            let words = [entry.operation ?? "something unknown", subject(entry, titles)].compactMap(\.self)
            return (entry.event == .refused ? "refused: " : "") + words.joined(separator: " ") + code + count
        }
    }

    /// The item by its title of now.
    private static func subject(_ entry: AccessEntry, _ titles: [String: String]) -> String? {
        guard let item = entry.item else { return nil }
        guard let title = titles[item] else { return "an item that is gone" }
        return "\"\(TextWidth.truncate(TextWidth.displaySafe(title), to: 40))\""
    }
}
