// The keys of `coffret find`. Invariant: all that was typed is read before anything is searched or drawn, and a secret is
// on the screen only after the person asked for this one.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretMessages
internal import CoffretNet
internal import CoffretSearch
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// One look through a store.
final class Finder {
    /// The item that is chosen, as far as it is open.
    struct Preview {
        let item: ItemMessage
        let showsSecrets: Bool
    }

    let context: CommandContext
    private let store: CommandStore
    private let screen: FullScreen

    /// The typed words.
    var query = ""
    private(set) var found = FoundItems.empty
    /// The place of the chosen item in the list, and of the first one on the screen.
    private(set) var chosen = 0
    var top = 0
    private(set) var preview: Preview?
    /// True while the whole screen shows the chosen item, from the line `readingTop`.
    private(set) var isReading = false
    var readingTop = 0
    /// Said in the last line until the next key.
    private(set) var message: String?

    private var isEnded = false
    /// The query of the list; nil once the list is to be made anew.
    private var listed: String?
    /// False once the session has ended by itself, as where the key of the store rests.
    private var isSessionAlive = true

    /// The shortest beginning that is looked for (`search.md`).
    private static let beginningLengthMin = 3
    /// Less than a query may have.
    private static let queryByteCountMax = 1_000
    /// For how long secrets are shown.
    private static let secretMilliseconds: Int32 = 20_000
    /// How often a store is looked at whose session has ended.
    private static let lookMilliseconds: Int32 = 1_000

    init(_ store: CommandStore, _ screen: FullScreen, _ context: CommandContext) {
        (self.store, self.screen, self.context) = (store, screen, context)
    }

    /// Shows the store until the person leaves.
    ///
    /// - Throws: `AgentRefused` once the store is locked.
    func run() throws {
        while !isEnded {
            try search()
            try draw()
            // The preview is read only while nobody types.
            if preview == nil, !screen.hasInput {
                try look()
                if preview != nil { try draw() }
            }
            try waitForKeys()
        }
    }

    // MARK: Waiting

    private func waitForKeys() throws {
        let isShowing = preview?.showsSecrets == true
        let limit = isShowing ? Self.secretMilliseconds : isSessionAlive ? -1 : Self.lookMilliseconds
        switch screen.next(other: isSessionAlive ? store.descriptor : -1, timeoutMilliseconds: limit) {
        case .keys(let keys):
            if isShowing { preview = nil }
            message = nil
            for key in keys where !isEnded { try press(key) }
        case .timeout:
            if isShowing { preview = nil } else { try store.checkUnlocked() }
        case .readable:
            try store.checkUnlocked()
            isSessionAlive = false
        case .redraw: break
        case .gone: isEnded = true
        }
    }

    private func press(_ key: Key) throws {
        switch key {
        case .control("c"), .control("d"): isEnded = true
        case .control("z"): screen.suspend()
        case .control("y"): try copy()
        case .control("t"): try copyCode()
        case .control("r"): try reveal()
        case .enter: try open()
        case .tab:
            if preview == nil { try look() }
            isReading = preview != nil && !isReading
            readingTop = 0
        case .up, .control("p"): try move(by: -1)
        case .down, .control("n"): try move(by: 1)
        case .pageUp: try move(by: -pageLength)
        case .pageDown: try move(by: pageLength)
        case .home: try move(by: -.max / 2)
        case .end: try move(by: .max / 2)
        case .escape where isReading: isReading = false
        case .escape where query.isEmpty: isEnded = true
        case .escape, .control("u"): setQuery("")
        case .control("w"):
            let kept = query.trimmingTrailingSpace
            setQuery(String(kept[..<(kept.lastIndex(of: " ").map(kept.index(after:)) ?? kept.startIndex)]))
        case .backspace: setQuery(String(query.dropLast()))
        case .text(let text): setQuery(query + text)
        case .left, .right, .control: break
        }
    }

    private var pageLength: Int { max(1, screen.size.lines / 2) }

    private func move(by step: Int) throws {
        if isReading {
            readingTop = max(0, min(readingTop, .max / 2) + step)
            return
        }
        // Keys may have come faster than the list.
        try search()
        let index = max(0, min(chosen + step, found.count - 1))
        guard index != chosen else { return }
        chosen = index
        preview = nil
    }

    private func setQuery(_ text: String) {
        isReading = false
        guard text.utf8.count <= Self.queryByteCountMax else { return }
        query = text
    }

    // MARK: Asking

    /// Runs a step that a lock may end, and says of another failure what it was.
    private func said(_ step: () throws -> Void) throws {
        do {
            try step()
        } catch let refused as AgentRefused {
            throw refused
        } catch {
            try store.checkUnlocked()
            let failure = FailureTranslation.failure(from: error)
            guard failure.code != CLIErrorCode.cancelled.rawValue else { return }
            message = failure.message.prefix(1).uppercased() + failure.message.dropFirst() + "."
        }
    }

    /// Makes the list for what stands there, unless it is being changed already.
    private func search() throws {
        let query = query.split(separator: " ").joined(separator: " ")
        guard listed != query else { return }
        do throws(SearchError) {
            if !query.isEmpty { _ = try SearchQuery.parse(query, options: SearchQueryOptions(lastWordIsPrefix: true)) }
        } catch {
            // Half a query, such as one with an open quotation mark: the list before stands.
            message = "These words are no query yet."
            return
        }
        do {
            let isCancelled = { [screen] in screen.hasInput }
            var found = try FoundItems(query, of: store, isCancelled: isCancelled)
            // A letter or two are no beginning that could be looked for: what stands before them counts.
            let begun = query.split(separator: " ").last ?? ""
            if found.count == 0, (1..<Self.beginningLengthMin).contains(begun.unicodeScalars.count) {
                let before = String(query.dropLast(begun.count)).trimmingTrailingSpace
                found = try FoundItems(before, of: store, isCancelled: isCancelled)
            }
            self.found = found
        } catch let failure as OperationFailure where failure.code == OperationError.Code.cancelled.rawValue {
            return
        }
        isSessionAlive = true
        if listed != nil, listed != query { (chosen, top) = (0, 0) }
        listed = query
        chosen = max(0, min(chosen, found.count - 1))
        preview = nil
    }

    /// Reads the chosen item as far as it is open.
    private func look() throws {
        guard let summary = try found.item(chosen, of: store) else { return }
        var request = ItemRead()
        (request.item, request.vault, request.asksNobody) = (summary.id, store.namedVault, true)
        try said { preview = Preview(item: try store.perform(request, by: .program), showsSecrets: false) }
    }

    /// Performs what the person asked for, off the screen where the person is asked first.
    private func asked<Value>(_ step: () throws -> Value) throws -> Value {
        guard preview?.item.isSealed == true || preview?.item.isVeiled == true else { return try step() }
        return try offScreen(step)
    }

    private func offScreen<Value>(_ step: () throws -> Value) throws -> Value {
        screen.leave()
        defer { screen.enter() }
        return try step()
    }

    private func onChosen(_ step: (SummaryMessage) throws -> Void) throws {
        try search()
        if preview == nil { try look() }
        guard let summary = try found.item(chosen, of: store) else { return }
        try said { try step(summary) }
    }

    private func copy() throws {
        try onChosen { summary in
            var request = FieldRead()
            (request.item, request.vault) = (summary.id, store.namedVault)
            let answer = try asked { try store.perform(request) }
            var bytes = Array((answer.field?.value ?? answer.text ?? "").utf8)
            defer { bytes.zero() }
            message = try CopyCommand.put(bytes, what: answer.field?.label ?? "The text", context).words
        }
    }

    private func copyCode() throws {
        try onChosen { summary in
            var request = CodeRead()
            (request.item, request.vault) = (summary.id, store.namedVault)
            let answer = try asked { try store.perform(request) }
            message = try CopyCommand.put(Array(answer.code.utf8), what: "The one-time code", context).words
        }
    }

    private func reveal() throws {
        try onChosen { summary in
            var request = ItemRead()
            (request.item, request.vault, request.revealsSecrets) = (summary.id, store.namedVault, true)
            preview = Preview(item: try asked { try store.perform(request) }, showsSecrets: true)
        }
    }

    /// Opens the chosen item in the editor.
    private func open() throws {
        try onChosen { summary in
            var read = ItemRead()
            (read.item, read.vault, read.givesForm) = (summary.id, store.namedVault, true)
            var request = ItemEdit()
            (request.item, request.vault) = (summary.id, store.namedVault)
            let answer = try offScreen {
                try EditCommand.editInEditor(try store.perform(read), request, store, context)
            }
            message = answer?.isChanged == true ? "Saved." : "Nothing was changed."
            (listed, preview) = (nil, nil)
        }
    }

    // MARK: Drawing

    private func draw() throws {
        let size = screen.size
        var picture = FinderPicture(self, columns: size.columns, lines: size.lines)
        var rows: [SummaryMessage] = []
        top = max(0, min(top, found.count - picture.listHeight))
        if chosen < top { top = chosen }
        if chosen >= top + picture.listHeight { top = chosen - picture.listHeight + 1 }
        for index in top..<min(found.count, top + picture.listHeight) {
            guard let row = try found.item(index, of: store) else { break }
            rows.append(row)
        }
        let lines = picture.lines(rows)
        readingTop = picture.readingTop
        screen.draw(lines, cursor: isReading ? nil : (picture.cursorColumn, 0))
    }
}
