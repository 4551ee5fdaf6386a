// A status that follows, as it is shown: drawn over itself at a terminal, one line for each change anywhere else, one object
// per line for programs. The one thing to keep true: nothing is shown twice that has not changed.

internal import CoffretApp
internal import CoffretBase
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

final class SyncWatchScreen {
    private let context: CommandContext
    private let isRedrawn: Bool
    private var overview: SyncOverview?
    /// What stands there: the lines of the drawing, the rows that were said, the object.
    private var drawn: [String] = []
    private var said: [SyncOverviewRow] = []
    private var object = ""
    private var size = (rows: 0, columns: 0)

    init(_ context: CommandContext) {
        self.context = context
        isRedrawn = !context.isJSON && context.terminal.outputIsTerminal && context.terminal.canMoveCursor
    }

    private var now: Milliseconds { SystemWallClock().now }

    func show(_ overview: SyncOverview) throws {
        self.overview = overview
        try redraw()
    }

    /// When the drawing has to be made anew although nothing happened; nil for never.
    func redrawAt(_ now: Milliseconds) -> Milliseconds? {
        guard isRedrawn, let overview else { return nil }
        // Seconds are counted down.
        if case .waiting? = overview.agent { return now + 1_000 }
        if case .waiting? = overview.line { return now + 1_000 }
        return nil
    }

    func redraw() throws {
        guard let overview else { return }
        if context.isJSON {
            let line = overview.json.line
            guard line != object else { return }
            object = line
            try context.output.line(line)
        } else if isRedrawn {
            try draw(overview.rows(nowMilliseconds: now))
        } else {
            try say(overview.rows(nowMilliseconds: now))
        }
        try context.output.flush()
    }

    private func draw(_ rows: [SyncOverviewRow]) throws {
        let before = size
        measure()
        let lines = Array(
            Self.lines(rows, context.terminal, width: size.columns).prefix(max(1, size.rows - 1)))
        guard lines != drawn || before != size else { return }
        if before.columns != size.columns || before.rows != size.rows, !drawn.isEmpty {
            // What was drawn may have been broken into other lines.
            try context.output.write("\u{1B}[H\u{1B}[2J")
        } else if !drawn.isEmpty {
            try context.output.write("\u{1B}[\(drawn.count)A\r\u{1B}[J")
        }
        for line in lines { try context.output.line(line) }
        drawn = lines
    }

    private func say(_ rows: [SyncOverviewRow]) throws {
        let clock = LocalTime(milliseconds: now)
        let seconds = clock.second < 10 ? "0\(clock.second)" : "\(clock.second)"
        for row in rows where !said.contains(row) {
            try context.output.line("\(clock.clock):\(seconds)  \(row.line)")
        }
        said = rows
    }

    /// Leaves the cursor on a line of its own.
    func end() throws {
        if isRedrawn { try context.output.line() }
        try context.output.flush()
    }

    private func measure() {
        var window = winsize()
        guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            size = (24, context.terminal.width)
            return
        }
        size = (Int(window.ws_row), min(max(Int(window.ws_col), 40), 200))
    }

    /// The rows in columns, below the name of the vault they are about.
    static func lines(_ rows: [SyncOverviewRow], _ terminal: Terminal, width: Int? = nil) -> [String] {
        var table = TextTable([.init(role: .faint), .init(isFlexible: true, wraps: true, minimumWidth: 20)])
        for row in rows { table.add([row.subject.isEmpty ? row.label : "  " + row.label, row.words]) }
        let cells = table.linesOfRows(width: width ?? terminal.tableWidth, style: terminal.style)
        var lines: [String] = []
        var subject = ""
        for (row, cell) in zip(rows, cells) {
            if row.subject != subject {
                if !lines.isEmpty { lines.append("") }
                if !row.subject.isEmpty { lines.append(terminal.style.apply(.heading, row.subject)) }
                subject = row.subject
            }
            lines += cell
        }
        return lines
    }
}
