// Lists of items. The one thing to keep true: the id that is shown names exactly that item.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire

/// Prints items as rows.
struct ItemTable {
    let context: CommandContext

    /// The widths of the columns of the rows before, in a table that comes piece by piece.
    private var widths: [Int] = []

    init(context: CommandContext) { self.context = context }

    /// The next rows as lines. A column may be wider than in the lines before, never narrower.
    ///
    /// On a terminal a snippet stands on a line of its own, where there is room for it; on a pipe it is the last
    /// column, so that one line is one item.
    mutating func lines(_ rows: [SummaryMessage]) -> [String] {
        let snippetWidth = context.terminal.tableWidth.map { $0 - Self.snippetIndent.utf8.count }
        let hasSnippets = rows.contains { $0.snippet != nil }
        var table = TextTable([
            .init(role: .identifier),
            .init(),
            .init(isFlexible: true, minimumWidth: 16, maximumWidth: 60),
            .init(role: .faint),
            .init(isFlexible: true, minimumWidth: 6, role: .tag, maximumWidth: 32),
            .init(role: .faint),
            .init(role: .faint, maximumWidth: 28),
            .init(isFlexible: true, minimumWidth: 0),
        ])
        for item in rows {
            table.add([
                MarkedText(item.shortID ?? item.id), MarkedText(item.isPinned ? "*" : ""),
                MarkedText(item.title, matches: Self.ranges(item.titleMatches)),
                MarkedText(Self.words(of: item)),
                MarkedText(TextWidth.displaySafe(item.tags.map { "#" + $0 }.joined(separator: " "))),
                MarkedText(context.relativeTime.day(item.modified.milliseconds)),
                MarkedText(TextWidth.displaySafe(Self.place(of: item))),
                hasSnippets && snippetWidth == nil ? Self.snippet(item) ?? MarkedText("") : MarkedText(""),
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
    private static func words(of item: SummaryMessage) -> String {
        var words = item.kind == ItemKind.note.name ? [] : [item.kind]
        if item.isLocked { words.append("locked") }
        if item.hasConflicts { words.append("conflict") }
        return words.joined(separator: " ")
    }

    /// The vault, and who else has it: `Home, of Bob`, or `Home, with Bob`. One note that is shared says with whom alone.
    private static func place(of item: SummaryMessage) -> String {
        let people: String? =
            if let owner = item.owner {
                "of \(owner)"
            } else if let others = item.people, let first = others.first {
                "with \(first)" + (others.count > 1 ? " and \(others.count - 1) more" : "")
            } else { nil }
        guard let vault = item.vault, vault != item.title || people == nil else { return people ?? "" }
        return [vault, people].compactMap { $0 }.joined(separator: ", ")
    }

    private static func snippet(_ item: SummaryMessage) -> MarkedText? {
        item.snippet.map { MarkedText($0, matches: ranges(item.snippetMatches)) }
    }

    /// Pairs of offsets as ranges.
    private static func ranges(_ offsets: [Int]?) -> [Range<Int>] {
        let offsets = offsets ?? []
        return stride(from: 0, to: offsets.count - 1, by: 2).compactMap { index in
            offsets[index] <= offsets[index + 1] ? offsets[index]..<offsets[index + 1] : nil
        }
    }

    private static let snippetIndent = "      "
}
