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
        for (column, value) in row where !value.isEmpty { take(column, unescaped(value), into: &item) }
        adjust?(&item)
        return item
    }

    private func unescaped(_ value: String) -> String {
        hasBackslashes && value.utf8.contains(UInt8(ascii: "\\"))
            ? value.replacing("\\\"", with: "\"").replacing("\\\\", with: "\\") : value
    }

    private func take(_ name: String, _ value: String, into item: inout ForeignItem) {
        switch columns[name.asciiLowercased()] {
        case nil: item.add(name, value)
        case .title: item.draft.title = cleanTitle(value)
        case .text: item.addText(value)
        case .field(let field): item.set(field, to: value, original: name)
        case .addresses(let separator):
            for (index, part) in value.split(separator: separator).map({ String($0).trimmedBlanks() }).enumerated() {
                if index == 0, item.value("url") == nil {
                    item.set("url", to: part, original: name)
                } else {
                    item.add("Website", part, kind: .url, isRaw: false)
                }
            }
        case .labelled(let label, let kind): item.add(label, value, kind: kind, isRaw: false)
        case .folder(let separator): item.setFolder(value, separator: separator, original: name)
        case .tags(let separator):
            for tag in value.split(separator: separator) { item.setFolder(String(tag), separator: "/", original: name) }
        case .pinned: takeFlag(\.isPinned, name, value, into: &item)
        case .archived: takeFlag(\.isArchived, name, value, into: &item)
        case .trashed: takeFlag(\.isTrashed, name, value, into: &item)
        case .created(let time):
            if let moment = time.milliseconds(value) { item.draft.created = moment } else { item.add(name, value) }
        case .modified(let time):
            if let moment = time.milliseconds(value) { item.draft.modified = moment } else { item.add(name, value) }
        case .kind(let kinds):
            if let kind = kinds[value.asciiLowercased()] {
                item.draft.kind = kind
            } else {
                item.draft.kind = .custom
                item.add(name, value)
            }
        case .id: item.id = value
        case .lines: takeLines(value, of: name, into: &item)
        case .ignored: break
        }
    }

    private func takeFlag(
        _ flag: WritableKeyPath<ItemDraft, Bool>, _ name: String, _ value: String, into item: inout ForeignItem
    ) {
        let word = value.asciiLowercased()
        if ["1", "true", "yes", "x"].contains(word) || (try? CivilTime.parse(value)) != nil {
            item.draft[keyPath: flag] = true
        } else if !["0", "false", "no"].contains(word) {
            item.add(name, value)
        }
    }

    private func takeLines(_ text: String, of name: String, into item: inout ForeignItem) {
        for line in text.split(whereSeparator: \.isNewline) {
            if let colon = line.firstIndex(of: ":"), colon != line.startIndex {
                item.add(
                    String(line[..<colon]), String(line[line.index(after: colon)...]).trimmedBlanks(), isRaw: false)
            } else {
                item.add(name, String(line))
            }
        }
    }
}

/// Reads a table by a format.
struct TableImporter: Importer {
    let format: ListFormat

    var name: String { format.name }
    var title: String { format.title }

    /// The header is within so many bytes.
    private static let headByteCount = 8_192

    func detect(_ source: any ImportSource) throws(ImportExportError) -> ImportConfidence? {
        let entries = source.listing.entries
        guard entries.count == 1, ["csv", "txt", ""].contains(entries[0].path.fileExtension),
            let header = CSVTable.firstRow(try source.prefix(ofEntry: 0, byteCount: Self.headByteCount))
        else { return nil }
        let names = Set(header.map { $0.trimmedBlanks().asciiLowercased() })
        return names.isSuperset(of: format.telling) ? .certain : nil
    }

    func run(_ source: any ImportSource, into session: ImportSession) throws(ImportExportError) {
        try source.visit({ $0 == 0 }) { (index, reader) throws(ImportExportError) in
            // The copy that holds secrets is cleared; those in the items live as long as the import.
            var bytes = try reader.readAll(byteCountMax: ItemListImporter.byteCountMax)
            defer { bytes.zero() }
            let path = source.listing.entries[index].path
            let table = try CSVTable(bytes, rowCountMax: session.limits.entryCountMax)
            if table.isIrregular, !format.hasBackslashes {
                session.report.warn(
                    "\(path.printable): a quote in a cell is not doubled; compare the items with the table")
            }
            var entries: [ListEntry] = []
            for number in table.rows.indices {
                var item = format.item(of: table.row(number))
                if item.isNoItem { continue }
                entries.append(item.finished(text: Array(table.rows[number].joined(separator: "\u{1F}").utf8)))
            }
            _ = try session.put(entries, ofListAt: path)
            session.noteContainer(key: path.bytes, contentHash: BLAKE2b.hash(bytes))
            session.didRead(byteCount: bytes.count)
        }
    }
}
