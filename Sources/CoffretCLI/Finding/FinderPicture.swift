// How `coffret find` looks. Invariant: each line is as wide as the terminal at most, and what comes from the vault is safe to
// display.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire

/// One picture: the query, the list, the chosen item beside or below it, and a line of help.
struct FinderPicture {
    private let finder: Finder
    private let style: TextStyler
    private let columns: Int
    private let lines: Int
    private(set) var readingTop: Int

    /// From this width on the chosen item stands beside the list.
    private static let columnsBeside = 110
    private static let label = "Find "

    init(_ finder: Finder, columns: Int, lines: Int) {
        (self.finder, self.columns, self.lines) = (finder, columns, lines)
        style = finder.context.terminal.style
        readingTop = finder.readingTop
    }

    private var isBeside: Bool { columns >= Self.columnsBeside }
    /// Between the first and the last line.
    private var bodyHeight: Int { max(0, lines - 2) }
    /// Lines of the list.
    var listHeight: Int { isBeside || bodyHeight < 6 ? bodyHeight : max(3, bodyHeight / 2) }
    private var listWidth: Int { isBeside ? columns * 2 / 5 : columns }

    /// The end of what was typed, as it fits.
    private var shownQuery: String {
        let room = max(1, columns - Self.label.count - counts.count - 3)
        var text = Substring(TextWidth.displaySafe(finder.query))
        while TextWidth.columns(of: String(text)) > room { text.removeFirst() }
        return String(text)
    }

    var cursorColumn: Int { min(columns - 1, Self.label.count + TextWidth.columns(of: shownQuery)) }

    private var counts: String {
        let found = finder.found
        guard found.count > 0 else { return "" }
        let place = "\(NumberText.grouped(finder.chosen + 1)) of \(NumberText.grouped(found.count))"
        return found.count < found.total ? "\(place), \(NumberText.grouped(found.total)) fit" : place
    }

    /// All lines of the picture.
    ///
    /// - Parameter rows: those of the list that are seen.
    mutating func lines(_ rows: [SummaryMessage]) -> [String] {
        guard lines > 1 else { return [cut(finder.query, to: columns)] }
        if finder.isReading, let preview = finder.preview {
            let text = text(of: preview, width: columns)
            readingTop = max(0, min(readingTop, text.count - bodyHeight - 1))
            let page = text.dropFirst(readingTop).prefix(bodyHeight + 1)
            return Array(page) + Array(repeating: "", count: bodyHeight + 1 - page.count) + [footer]
        }
        var result = [header]
        let list = self.list(rows)
        if isBeside {
            let left = listWidth + 1
            let text = text(of: finder.preview, width: columns - left - 2)
            for index in 0..<bodyHeight {
                let line = index < list.count ? list[index] : ""
                let beside = index < text.count ? text[index] : ""
                result.append(
                    line + FullScreen.column(left) + style.apply(.faint, "│") + FullScreen.column(left + 2) + beside)
            }
        } else {
            result += list + Array(repeating: "", count: max(0, listHeight - list.count))
            let room = bodyHeight - listHeight
            if room > 0 {
                result.append(style.apply(.faint, String(repeating: "─", count: columns)))
                let text = text(of: finder.preview, width: columns).prefix(room - 1)
                result += Array(text) + Array(repeating: "", count: room - 1 - text.count)
            }
        }
        return result + [footer]
    }

    private func cut(_ text: String, to width: Int) -> String {
        TextWidth.truncate(TextWidth.displaySafe(text), to: width)
    }

    private var header: String {
        let query = shownQuery
        let used = Self.label.count + TextWidth.columns(of: query)
        guard used + counts.count + 2 <= columns else { return cut(Self.label + query, to: columns) }
        return style.apply(.faint, Self.label) + query + FullScreen.column(columns - counts.count)
            + style.apply(.faint, counts)
    }

    private var footer: String {
        if let message = finder.message { return cut(message, to: columns) }
        let help =
            finder.isReading
            ? "Tab list  Up Down scroll  Enter edit  Ctrl-Y copy  Ctrl-R secrets  Esc back"
            : "Tab read  Enter edit  Ctrl-Y copy  Ctrl-T code  Ctrl-R secrets  Esc leave"
        return style.apply(.faint, cut(help, to: columns))
    }

    // MARK: The list

    private func list(_ rows: [SummaryMessage]) -> [String] {
        guard !rows.isEmpty else {
            let words =
                finder.found.query.isEmpty
                ? "Notes and logins will stand here: coffret new writes one."
                : "Nothing found for \(TextWidth.displaySafe(finder.found.query))."
            return ["", style.apply(.faint, cut(words, to: listWidth))]
        }
        return rows.enumerated().map { line($1, isChosen: finder.top + $0 == finder.chosen) }
    }

    private func line(_ row: SummaryMessage, isChosen: Bool) -> String {
        var facts: [String] = []
        if row.isPinned { facts.append("*") }
        if row.kind != ItemKind.note.name { facts.append(row.kind) }
        if row.isLocked { facts.append("locked") }
        if row.hasConflicts { facts.append("conflict") }
        if let vault = row.vault { facts.append(TextWidth.truncate(TextWidth.displaySafe(vault), to: 12)) }
        facts.append(finder.context.relativeTime.day(row.modified.milliseconds))
        var end = facts.joined(separator: " ")
        // A narrow list is titles alone.
        if TextWidth.columns(of: end) + 20 > listWidth { end = "" }
        let room = max(1, listWidth - 2 - (end.isEmpty ? 0 : TextWidth.columns(of: end) + 2))
        let matches = row.titleMatches ?? []
        let ranges = stride(from: 0, to: matches.count - 1, by: 2).compactMap { index in
            matches[index] <= matches[index + 1] ? matches[index]..<matches[index + 1] : nil
        }
        let text = MarkedText(row.title, matches: ranges)
        let title = text.text.isEmpty ? "(no title)" : text.styled(style, role: isChosen ? .title : nil, width: room)
        let place = FullScreen.column(listWidth - TextWidth.columns(of: end))
        return (isChosen ? "> " : "  ") + title + (end.isEmpty ? "" : place + style.apply(.faint, end))
    }

    // MARK: The chosen item

    private func text(of preview: Finder.Preview?, width: Int) -> [String] {
        guard let preview, width > 0 else { return [] }
        let item = preview.item
        let text = ItemText(
            item: item, id: String(item.id.prefix(8)), revealsSecrets: preview.showsSecrets, style: .plain,
            relativeTime: finder.context.relativeTime
        ).terminalText()
        // A tabulator would end where the terminal wants.
        var lines = TextWidth.folded(text.replacing("\t", with: "    "), width: width)
        if !lines.isEmpty { lines[0] = style.apply(.title, lines[0]) }
        if item.isVeiled == true {
            lines += ["", "Hidden. Ctrl-R shows it, once you have shown that you are there."]
        } else if item.isSealed == true {
            lines += ["", "Locked. Ctrl-R and Enter ask for its passphrase."]
        }
        return lines
    }
}
