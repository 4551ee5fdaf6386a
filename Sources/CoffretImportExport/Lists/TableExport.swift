// A vault as a table for other password managers. Invariant: a cell has the value as it is; what has no column stands in the cells of
// fields and notes.

internal import CoffretBase
package import CoffretCore
internal import CoffretStorage

/// Makes the table that Bitwarden exports, which most password managers read.
struct TableWriter {
    static let columns = [
        "folder", "favorite", "type", "name", "notes", "fields", "reprompt", "login_uri", "login_username",
        "login_password", "login_totp", "archivedDate",
    ]

    private(set) var bytes: [UInt8] = []

    init() { append(Self.columns) }

    /// Adds an item as a row: a login, or else a note with fields.
    mutating func add(_ item: Item) {
        var notes = item.text
        var fields: [String] = []
        var values: [String: String] = [:]
        var addresses: [String] = []
        for field in item.fields {
            let name = field.key.name
            if item.kind == .login, field.kind == .url, !field.value.contains(",") {
                addresses.append(field.value)
            } else if item.kind == .login, ["username", "password", "totp"].contains(name) {
                values[name] = field.value
            } else {
                add(field.label, field.value, to: &fields, &notes)
            }
        }
        if item.kind != .login, item.kind != .note { add("Type", item.kind.name, to: &fields, &notes) }
        for tag in item.givenTags.dropFirst() { add("Tag", tag.path, to: &fields, &notes) }
        append([
            item.givenTags.first?.path ?? "", item.isPinned ? "1" : "", item.kind == .login ? "login" : "note",
            item.title, notes, fields.joined(separator: "\n"), "0", addresses.joined(separator: ","),
            values["username"] ?? "", values["password"] ?? "", values["totp"] ?? "",
            item.flagTimes[.archived].map { CivilTime.format($0) } ?? "",
        ])
    }

    /// A field is a line of its cell; one of several lines, or whose label has a colon, goes into the notes.
    private func add(_ label: String, _ value: String, to fields: inout [String], _ notes: inout String) {
        let isLine = !label.contains(":") && !value.contains(where: \.isNewline)
        guard !isLine else { return fields.append("\(label): \(value)") }
        if !notes.isEmpty, notes.last?.isNewline != true { notes += "\n" }
        notes += "\(label):\n\(value)"
    }

    /// A row as RFC 4180 has it: cells with commas, quotes, line ends or blanks at an end stand in quotes.
    private mutating func append(_ cells: [String]) {
        for (index, cell) in cells.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            let isPlain =
                !cell.utf8.contains { [0x22, 0x2C, 0x0A, 0x0D].contains($0) } && cell.first?.isWhitespace != true
                && cell.last?.isWhitespace != true
            if isPlain {
                bytes += Array(cell.utf8)
            } else {
                bytes += Array("\"\(cell.replacing("\"", with: "\"\""))\"".utf8)
            }
        }
        bytes += [0x0D, 0x0A]
    }
}

extension Vault {
    /// Writes all items but locked and trashed ones as a table of comma-separated values, in clear, into one new file of mode 0600.
    ///
    /// A table has logins and notes; other kinds become notes with fields. It holds no attachments and no earlier versions.
    /// - Parameter isStopped: asked before each item; of a file that was stopped nothing is left.
    /// - Throws: `.targetOccupied`, `.targetUnwritable`, `.vaultFailed`, `.stopped`.
    /// - Complexity: memory for all items.
    package func exportTable(
        to path: String, progress: (WorkProgress) -> Void = { _ in }, isStopped: () -> Bool = { false }
    ) throws(ImportExportError) -> ExportReport {
        var writer = TableWriter()
        var report = try exportItems(
            leavesOutTrash: true, progress: progress, isStopped: isStopped
        ) { writer.add($0) }
        report.warnings.append(
            "a spreadsheet takes cells that begin with =, +, - or @ for formulas: do not open it in one")
        var bytes = writer.bytes
        defer { bytes.zero() }
        report.byteCount = UInt64(bytes.count)
        try writeNewFile(bytes, to: path)
        return report
    }

    /// Goes through the items for an export into one file without attachments.
    ///
    /// - Returns: the report; its warnings say how many attachments stay behind.
    func exportItems(
        leavesOutTrash: Bool, progress: (WorkProgress) -> Void, isStopped: () -> Bool, _ write: (Item) -> Void
    ) throws(ImportExportError) -> ExportReport {
        try wrappingVaultErrors { try checkNothingIsVeiled() }
        let view = try wrappingVaultErrors { try present }
        var report = ExportReport()
        var attachmentCount = 0
        var ids: [EntityID] = []
        try wrappingVaultErrors { try view.forEachItem { ids.append($0.id) } }
        for (index, id) in ids.enumerated() {
            if isStopped() { throw ImportExportError(.stopped) }
            guard let item = try wrappingVaultErrors({ try view.item(id) }) else { continue }
            if item.isLocked {
                report.locked += 1
            } else if item.isTrashed, leavesOutTrash {
                report.trashed += 1
            } else {
                attachmentCount += item.attachments.count
                write(item)
                report.warnOfConflicts(item)
                if item.kind == .note { report.notes += 1 } else { report.otherItems += 1 }
            }
            progress(WorkProgress(stage: .writing, doneCount: index + 1, totalCount: ids.count, byteCount: 0))
        }
        if attachmentCount > 0 {
            report.warnings.append(
                "attachments are not in this file: \(attachmentCount); a folder of Markdown has them")
        }
        return report
    }
}
