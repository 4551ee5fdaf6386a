// Rows in columns. Invariant: a row never grows wider than the terminal; the column that may shrink is cut with an
// ellipsis or goes on below, the others never are.

/// A table of text, laid out once all rows are known.
package struct TextTable {
    package struct Column {
        package let alignsRight: Bool
        /// Whether this column gives way when the terminal is narrow.
        package let isFlexible: Bool
        /// Whether a text that is too long goes on in the next line instead of being cut; for the last column.
        package let wraps: Bool
        /// Never cut below this.
        package let minimumWidth: Int
        package let role: TextRole?
        /// The most it takes, however wide the terminal.
        package let maximumWidth: Int

        package init(
            alignsRight: Bool = false, isFlexible: Bool = false, wraps: Bool = false, minimumWidth: Int = 8,
            role: TextRole? = nil, maximumWidth: Int = .max
        ) {
            self.alignsRight = alignsRight
            self.isFlexible = isFlexible
            self.wraps = wraps
            self.minimumWidth = minimumWidth
            self.role = role
            self.maximumWidth = maximumWidth
        }
    }

    private let columns: [Column]
    private var rows: [[MarkedText]] = []

    package init(_ columns: [Column]) {
        self.columns = columns
    }

    package var isEmpty: Bool { rows.isEmpty }

    /// Adds a row; the texts must already be safe to display.
    package mutating func add(_ cells: [String]) {
        add(cells.map { MarkedText($0) })
    }

    /// Adds a row in which some cells show what was found.
    package mutating func add(_ cells: [MarkedText]) {
        precondition(cells.count == columns.count, "a row has one cell for each column")
        rows.append(cells)
    }

    /// - Parameter width: columns of the terminal; `nil` when nobody looks, and nothing is cut.
    package func lines(width: Int?, style: TextStyler) -> [String] {
        linesOfRows(width: width, style: style).flatMap(\.self)
    }

    /// As above, for a part of a longer table.
    ///
    /// - Parameter widths: those of the parts before, none for the first; grows where this part needs more.
    package func lines(width: Int?, style: TextStyler, widths: inout [Int]) -> [String] {
        linesOfRows(width: width, style: style, widths: &widths).flatMap(\.self)
    }

    /// As `lines`, by row.
    package func linesOfRows(width: Int?, style: TextStyler) -> [[String]] {
        var widths: [Int] = []
        return linesOfRows(width: width, style: style, widths: &widths)
    }

    private func linesOfRows(width: Int?, style: TextStyler, widths known: inout [Int]) -> [[String]] {
        guard !rows.isEmpty else { return [] }
        var widths = columns.indices.map { index in
            max(
                min(rows.map { TextWidth.columns(of: $0[index].text) }.max() ?? 0, columns[index].maximumWidth),
                known.isEmpty ? 0 : known[index])
        }
        if let width { shrink(&widths, to: width) }
        known = widths
        return rows.map { row in
            guard width != nil, let last = columns.indices.last, columns[last].wraps,
                TextWidth.columns(of: row[last].text) > widths[last]
            else { return [line(row, widths: widths, isCut: width != nil, style: style)] }
            let parts = TextWidth.wrap(row[last].text, width: widths[last])
            return parts.enumerated().map { number, part in
                let others = number == 0 ? Array(row.dropLast()) : row.dropLast().map { _ in MarkedText("") }
                return line(others + [MarkedText(part)], widths: widths, isCut: true, style: style)
            }
        }
    }

    private func shrink(_ widths: inout [Int], to width: Int) {
        let used = widths.filter { $0 > 0 }
        var excess = used.reduce(0, +) + 2 * max(used.count - 1, 0) - width
        // The widest flexible column gives way first, so that no column vanishes while another is roomy.
        while excess > 0 {
            let candidates = columns.indices.filter { columns[$0].isFlexible && widths[$0] > columns[$0].minimumWidth }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { return }
            widths[widest] -= 1
            excess -= 1
        }
    }

    private func line(_ row: [MarkedText], widths: [Int], isCut: Bool, style: TextStyler) -> String {
        let last = row.indices.last { widths[$0] > 0 && !row[$0].text.isEmpty } ?? 0
        var parts: [String] = []
        for index in row.indices where index <= last && widths[index] > 0 {
            let column = columns[index]
            let isLimited = isCut || column.maximumWidth != .max
            let styled = row[index].styled(style, role: column.role, width: isLimited ? widths[index] : nil)
            let missing = max(0, widths[index] - TextWidth.columns(of: row[index].text))
            let spaces = String(repeating: " ", count: missing)
            if column.alignsRight {
                parts.append(spaces + styled)
            } else {
                parts.append(index == last ? styled : styled + spaces)
            }
        }
        return parts.joined(separator: "  ")
    }
}
