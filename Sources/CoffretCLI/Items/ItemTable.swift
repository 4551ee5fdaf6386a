// Lists of items. The one thing to keep true: the id that is shown names exactly that item.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal

/// Prints items as rows.
struct ItemTable {
    let context: CommandContext

    /// The widths of the columns of the rows before, in a table that comes piece by piece.
    private var widths: [Int] = []

    init(context: CommandContext) { self.context = context }

    /// A list with a column for the vault where it is over several.
    mutating func lines(_ listing: ItemListing) throws -> [String] {
        try lines(listing.rows, namesVaults: listing.isOverSeveral)
    }

    /// The next rows as lines. A column may be wider than in the lines before, never narrower.
    ///
    /// On a terminal a snippet stands on a line of its own, where there is room for it; on a pipe it is the last
    /// column, so that one line is one item.
    mutating func lines(_ rows: [ListedItem], namesVaults: Bool = false) throws -> [String] {
        let snippetWidth = context.terminal.tableWidth.map { $0 - Self.snippetIndent.utf8.count }
        let hasSnippets = rows.contains { $0.hit != nil }
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
        var ids: [EntityID: String] = [:]
        // What one vault tells apart with fewer digits may be two items in two vaults.
        if namesVaults {
            for row in rows { ids[row.item.id] = String(row.item.id.uuid.hex.prefix(8)) }
        } else if let vault = rows.first?.vault {
            ids = try vault.shortIDs(rows.map(\.item.id))
        }
        for row in rows {
            let item = row.item
            table.add([
                MarkedText(ids[item.id] ?? item.id.uuid.hex), MarkedText(item.isPinned ? "*" : ""),
                MarkedText(item.title, matches: row.hit?.titleMatches ?? []),
                MarkedText(Self.words(of: item)),
                MarkedText(TextWidth.displaySafe(item.tags.map { "#" + $0 }.joined(separator: " "))),
                MarkedText(context.relativeTime.day(item.modified)),
                MarkedText(namesVaults ? TextWidth.displaySafe(row.vault.name) : ""),
                hasSnippets && snippetWidth == nil ? Self.snippet(row) ?? MarkedText("") : MarkedText(""),
            ])
        }
        let style = context.terminal.style
        let lines = table.lines(width: context.terminal.tableWidth, style: style, widths: &widths)
        guard hasSnippets, let snippetWidth else { return lines }
        return zip(lines, rows).flatMap { line, row -> [String] in
            guard let snippet = Self.snippet(row), !snippet.text.isEmpty else { return [line] }
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

    private static func snippet(_ row: ListedItem) -> MarkedText? {
        row.hit.map { MarkedText($0.snippet, matches: $0.snippetMatches) }
    }

    private static let snippetIndent = "      "
}
