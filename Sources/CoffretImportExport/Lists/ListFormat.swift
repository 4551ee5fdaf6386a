// Lists of other programs, as data. Invariant: a column that a format does not name is kept under its own name.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto

/// A list of items as another program exports it: how it is recognised, and the meaning of each column.
struct ListFormat: Sendable {
    /// The stable name for `--format` and for records in the vault.
    let name: String
    /// The name for people.
    let title: String
    /// Columns in lower case that the format's header has, all of them.
    let telling: [String]
    /// The meaning of columns, by their names in lower case.
    let columns: [String: Column]
    /// The kind of an item whose row does not say it.
    var kind = ItemKind.login
    /// Whether a backslash stands before quotes and backslashes in a cell.
    var hasBackslashes = false
    /// Looks at a whole item, after its columns were taken.
    var adjust: (@Sendable (inout ForeignItem) -> Void)?

    /// The meaning of a column.
    enum Column: Sendable {
        case title
        /// Notes to the item.
        case text
        /// A standard field.
        case field(String)
        /// Addresses, the first of which is the item's.
        case addresses(separator: Character)
        /// A field of its own under this label.
        case labelled(String, FieldKind)
        /// A folder, which becomes a nested tag.
        case folder(separator: Character)
        case tags(separator: Character)
        /// True by `1`, `true`, `yes`, `x` and a moment; false by `0`, `false` and `no`. Any other word is kept.
        case pinned, archived, trashed
        case created(Time)
        case modified(Time)
        /// The kind of the item, by the source's word in lower case; another word makes it a custom item that keeps it.
        case kind([String: ItemKind])
        /// Names the item in its source.
        case id
        /// Lines of `name: value`.
        case lines
        /// Says nothing about the item.
        case ignored
    }

    /// How a time is written.
    enum Time: Sendable {
        /// Since 1970.
        case milliseconds, seconds
        /// RFC 3339 and its like.
        case calendar

        func milliseconds(_ text: String) -> Milliseconds? {
            switch self {
            case .milliseconds: Milliseconds(text)
            case .seconds:
                Milliseconds(text).flatMap { $0.multipliedReportingOverflow(by: 1_000).overflow ? nil : $0 * 1_000 }
            case .calendar: try? CivilTime.parse(text)
            }
        }
    }

    /// The item of a row.
    func item(of row: CSVTable.Row) -> ForeignItem {
        var item = ForeignItem(kind: kind)
        for (column, value) in row where !value.isEmpty {
            item.take(unescaped(value), as: columns[column.asciiLowercased()], original: column)
        }
        adjust?(&item)
        return item
    }

    private func unescaped(_ value: String) -> String {
        hasBackslashes && value.utf8.contains(UInt8(ascii: "\\"))
            ? value.replacing("\\\"", with: "\"").replacing("\\\\", with: "\\") : value
    }
}

extension ForeignItem {
    /// Takes a value by what its format says of it.
    ///
    /// - Parameters:
    ///   - column: its meaning; nil to keep it under its own name.
    ///   - name: its name in the source.
    mutating func take(_ value: String, as column: ListFormat.Column?, original name: String) {
        switch column {
        case nil: add(name, value)
        case .title: draft.title = cleanTitle(value)
        case .text: addText(value)
        case .field(let field): set(field, to: value, original: name)
        case .addresses(let separator):
            for part in value.split(separator: separator) { addAddress(String(part).trimmedBlanks(), original: name) }
        case .labelled(let label, let kind): add(label, value, kind: kind, isRaw: false)
        case .folder(let separator): setFolder(value, separator: separator, original: name)
        case .tags(let separator):
            for tag in value.split(separator: separator) { setFolder(String(tag), separator: "/", original: name) }
        case .pinned: takeFlag(\.isPinned, name, value)
        case .archived: takeFlag(\.isArchived, name, value)
        case .trashed: takeFlag(\.isTrashed, name, value)
        case .created(let time):
            if let moment = time.milliseconds(value) { draft.created = moment } else { add(name, value) }
        case .modified(let time):
            if let moment = time.milliseconds(value) { draft.modified = moment } else { add(name, value) }
        case .kind(let kinds):
            if let kind = kinds[value.asciiLowercased()] {
                draft.kind = kind
            } else {
                draft.kind = .custom
                add(name, value)
            }
        case .id: id = value
        case .lines: takeLines(value, of: name)
        case .ignored: break
        }
    }

    /// The first address is the item's.
    mutating func addAddress(_ address: String, original name: String) {
        if self.value("url") == nil {
            set("url", to: address, original: name)
        } else {
            add("Website", address, kind: .url, isRaw: false)
        }
    }

    private mutating func takeFlag(_ flag: WritableKeyPath<ItemDraft, Bool>, _ name: String, _ value: String) {
        let word = value.asciiLowercased()
        if ["1", "true", "yes", "x"].contains(word) || (try? CivilTime.parse(value)) != nil {
            draft[keyPath: flag] = true
        } else if !["0", "false", "no"].contains(word) {
            add(name, value)
        }
    }

    private mutating func takeLines(_ text: String, of name: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            if let colon = line.firstIndex(of: ":"), colon != line.startIndex {
                add(
                    String(line[..<colon]), String(line[line.index(after: colon)...]).trimmedBlanks(), isRaw: false)
            } else {
                add(name, String(line))
            }
        }
    }
}

/// Reads a table by a format.
struct TableImporter: Importer {
    let format: ListFormat

    var name: String { format.name }
    var title: String { format.title }

    func detect(_ sample: SourceSample) throws(ImportExportError) -> ImportConfidence? {
        let entries = sample.source.listing.entries
        guard entries.count == 1, ["csv", "txt", ""].contains(entries[0].path.fileExtension),
            let columns = try sample.head(ofEntry: 0).columns
        else { return nil }
        return columns.isSuperset(of: format.telling) ? .certain : nil
    }

    func run(_ source: any ImportSource, into session: ImportSession) throws(ImportExportError) {
        try read(source) { (path, table, bytes) throws(ImportExportError) in
            if table.isIrregular, !format.hasBackslashes {
                session.report.warn(
                    "\(path.printable): a quote in a cell is not doubled; compare the items with the table")
            }
            _ = try session.put(entries(of: table).map(\.entry), ofListAt: path)
            session.noteContainer(key: path.bytes, contentHash: BLAKE2b.hash(bytes))
            session.didRead(byteCount: bytes.count)
        }
    }

    func identities(in source: any ImportSource) throws(ImportExportError) -> SourceIdentities? {
        var identities = SourceIdentities()
        try read(source) { (_, table, _) throws(ImportExportError) in
            for (entry, isNamed) in entries(of: table) { identities.add(entry, isOfProgram: isNamed) }
        }
        return identities
    }

    private func read(
        _ source: any ImportSource, _ body: (SourcePath, CSVTable, [UInt8]) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        try source.visit({ $0 == 0 }) { (index, reader) throws(ImportExportError) in
            // The copy that holds secrets is cleared; those in the items live as long as the import.
            var bytes = try reader.readAll(byteCountMax: ItemListImporter.byteCountMax)
            defer { bytes.zero() }
            let table = try CSVTable(bytes, rowCountMax: source.limits.entryCountMax)
            try body(source.listing.entries[index].path, table, bytes)
        }
    }

    /// The items of a table, and whether its program names each.
    private func entries(of table: CSVTable) -> [(entry: ListEntry, isNamed: Bool)] {
        table.rows.indices.compactMap { number in
            var item = format.item(of: table.row(number))
            guard !item.isNoItem else { return nil }
            let text = Array(table.rows[number].joined(separator: "\u{1F}").utf8)
            return (item.finished(text: text), !item.id.isEmpty)
        }
    }
}
