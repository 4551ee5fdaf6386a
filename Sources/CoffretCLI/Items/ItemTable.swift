// Lists of items. The one thing to keep true: the id that is shown names exactly that item.

internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal

/// Prints items as rows.
struct ItemTable {
    struct Row {
        let item: ItemSummary
        /// The words of the title that were looked for, as offsets into its UTF-8.
        var titleMatches: [Range<Int>] = []
        var snippet: MarkedText?
        /// Where it lies, in a list over several vaults.
        var vault: VaultSession?
    }

    let context: CommandContext
    let session: VaultSession

    /// The widths of the columns of the rows before, in a table that comes piece by piece.
    private var widths: [Int] = []

    init(context: CommandContext, session: VaultSession) {
        self.context = context
        self.session = session
    }

    /// The next rows as lines. A column may be wider than in the lines before, never narrower.
    ///
    /// On a terminal a snippet stands on a line of its own, where there is room for it; on a pipe it is the last
    /// column, so that one line is one item.
    mutating func lines(_ rows: [Row]) throws -> [String] {
        let snippetWidth = context.terminal.tableWidth.map { $0 - Self.snippetIndent.utf8.count }
        let hasSnippets = rows.contains { $0.snippet != nil }
        var table = TextTable([
            .init(role: .identifier),
            .init(),
            .init(isFlexible: true, minimumWidth: 16, maximumWidth: 60),
            .init(role: .faint),
            .init(isFlexible: true, minimumWidth: 6, role: .tag, maximumWidth: 32),
            .init(role: .faint),
            .init(role: .faint, maximumWidth: 16),
            .init(isFlexible: true, minimumWidth: 0),
        ])
        var ids = try session.shortIDs(rows.filter { $0.vault == nil }.map(\.item.id))
        // What one vault tells apart with fewer digits may be two items in two vaults.
        for row in rows where row.vault != nil { ids[row.item.id] = String(row.item.id.uuid.hex.prefix(8)) }
        for row in rows {
            let item = row.item
            table.add([
                MarkedText(ids[item.id] ?? item.id.uuid.hex), MarkedText(item.isPinned ? "*" : ""),
                MarkedText(item.title, matches: row.titleMatches),
                MarkedText(Self.words(of: item)),
                MarkedText(TextWidth.displaySafe(item.tags.map { "#" + $0 }.joined(separator: " "))),
                MarkedText(context.relativeTime.day(item.modified)),
                MarkedText(row.vault.map { TextWidth.displaySafe($0.vault.name) } ?? ""),
                hasSnippets && snippetWidth == nil ? row.snippet ?? MarkedText("") : MarkedText(""),
            ])
        }
        let style = context.terminal.style
        let lines = table.lines(width: context.terminal.tableWidth, style: style, widths: &widths)
        guard hasSnippets, let snippetWidth else { return lines }
        return zip(lines, rows).flatMap { line, row -> [String] in
            guard let snippet = row.snippet, !snippet.text.isEmpty else { return [line] }
            return [line, Self.snippetIndent + snippet.styled(style, role: .faint, width: snippetWidth)]
        }
    }

    /// The kind and the state of an item that is not just a note.
    private static func words(of item: ItemSummary) -> String {
        var words = item.kind == .note ? [] : [item.kind.name]
        if item.isLocked { words.append("locked") }
        if item.hasConflicts { words.append("conflict") }
        return words.joined(separator: " ")
    }

    private static let snippetIndent = "      "
}
