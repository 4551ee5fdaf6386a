// Joplin's own exports, JEX (a tar) and RAW (the same as a folder): a Markdown file for each note, notebook, tag and
// resource, with its values in the last lines. Invariant: as in ForeignFormat.swift.

internal import CoffretBase
internal import CoffretCore

extension ForeignFormat {
    static let joplin = ForeignFormat(
        name: "joplin", title: "a Joplin export", signs: [.notes(JoplinItem.isName)],
        read: { (source, sink) throws(ImportExportError) in
            var reader = JoplinReader(source, sink)
            try reader.readRelations()
            try reader.readNotes()
        })
}

/// One file of an export.
struct JoplinItem {
    enum Kind: String {
        case note = "1", folder = "2", setting = "3", resource = "4", tag = "5", noteTag = "6", revision = "13"
    }

    let kind: Kind?
    let title: String
    let body: String
    /// In the order of the file.
    let values: [(name: String, value: String)]

    /// - Throws: `.formatInvalid` where a line of the values is none, or the id or the type is missing.
    init(_ text: String, subject: String) throws(ImportExportError) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasSuffix("\r") ? String(line.dropLast()) : String(line)
        }
        while let last = lines.last, last.trimmedBlanks().isEmpty { lines.removeLast() }
        var values: [(name: String, value: String)] = []
        while let line = lines.last, !line.trimmedBlanks().isEmpty {
            guard let colon = line.firstIndex(of: ":") else {
                throw ImportExportError(.formatInvalid, at: "line \(lines.count): no value", subject: subject)
            }
            let value = String(line[line.index(after: colon)...]).trimmedBlanks()
            values.append((String(line[..<colon]).trimmedBlanks(), value.replacing("\\n", with: "\n")))
            lines.removeLast()
        }
        self.values = values.reversed()
        func has(_ name: String) -> Bool { values.contains { $0.name == name && !$0.value.isEmpty } }
        guard has("id"), has("type_") else {
            throw ImportExportError(.formatInvalid, at: "no id or no type", subject: subject)
        }
        kind = values.first { $0.name == "type_" }.flatMap { Kind(rawValue: $0.value) }
        // A blank line stands between title and body, and between body and values.
        if lines.last?.isEmpty == true { lines.removeLast() }
        title = lines.first ?? ""
        body = lines.dropFirst(2).joined(separator: "\n")
    }

    func value(_ name: String) -> String { values.first { $0.name == name }?.value ?? "" }

    func time(_ names: String...) -> Milliseconds? {
        names.lazy.compactMap { name in
            let text = value(name)
            if let moment = Milliseconds(text) { return moment > 0 ? moment : nil }
            return try? CivilTime.parse(text)
        }.first
    }

    /// Whether a file is called by 32 hexadecimal digits.
    @Sendable static func isName(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        return name.utf8.count == 35 && name.hasSuffix(".md") && isID(name.dropLast(3))
    }

    static func isID(_ text: Substring) -> Bool { text.utf8.count == 32 && text.utf8.allSatisfy { $0.isHexDigit } }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}

private struct JoplinReader {
    private let source: ForeignSource
    private let sink: ForeignSink
    private let entries: [SourceEntry]
    /// Title and parent of each notebook.
    private var notebooks: [String: (title: String, parent: String)] = [:]
    private var tagTitles: [String: String] = [:]
    private var tagsOfNote: [String: [String]] = [:]
    private var notes: Set<String> = []
    private var resourceTitles: [String: String] = [:]
    /// The file of each resource.
    private var resourceEntries: [String: Int] = [:]
    /// Resources that a note before has; texts find them by their path.
    private var attached: Set<String> = []
    private var hasLostLook = 0

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.source = source
        self.sink = sink
        entries = source.entries
        for (index, entry) in entries.enumerated() {
            let stem = Substring(String(decoding: entry.path.stem, as: UTF8.self))
            if JoplinItem.isID(stem), !entry.path.folder.isEmpty { resourceEntries[stem.lowercased()] = index }
        }
    }

    private func visit(_ body: (Int, [UInt8], JoplinItem) throws(ImportExportError) -> Void) throws(ImportExportError) {
        let (entries, limits) = (entries, source.limits)
        func isItem(_ index: Int) -> Bool {
            JoplinItem.isName(String(decoding: entries[index].path.name, as: UTF8.self).asciiLowercased())
        }
        try source.source.visit(isItem) { (index, reader) throws(ImportExportError) in
            let subject = entries[index].path.printable
            let bytes = try reader.readAll(byteCountMax: limits.noteByteCountMax)
            let item = try JoplinItem(noteText(bytes, subject: subject, limits: limits), subject: subject)
            guard item.value("encryption_applied") != "1" else {
                throw ImportExportError(
                    .sourceUnsupported,
                    subject: "\(subject) is encrypted by Joplin; let Joplin decrypt all items, and export again")
            }
            try body(index, bytes, item)
        }
    }

    /// Reads what notes refer to.
    mutating func readRelations() throws(ImportExportError) {
        var reader = self
        var others = 0
        try visit { (index, bytes, item) throws(ImportExportError) in
            let id = item.value("id")
            switch item.kind {
            case .note:
                reader.notes.insert(id)
                return
            case .folder: reader.notebooks[id] = (item.title, item.value("parent_id"))
            case .tag: reader.tagTitles[id] = item.title
            case .noteTag: reader.tagsOfNote[item.value("note_id"), default: []].append(item.value("tag_id"))
            case .resource: reader.resourceTitles[id] = item.title
            case .setting, .revision, nil: others += 1
            }
            sink.took(index, bytes)
        }
        self = reader
        if others > 0 { sink.warn("left out: \(others) earlier versions and settings of Joplin") }
        let unused = tagTitles.filter { id, _ in !tagsOfNote.values.contains { $0.contains(id) } }
        if !unused.isEmpty { sink.warn("tags of no note, left out: \(unused.count)") }
    }

    mutating func readNotes() throws(ImportExportError) {
        var reader = self
        try visit { (index, bytes, item) throws(ImportExportError) in
            guard item.kind == .note else { return }
            try reader.put(item, at: entries[index].path)
            sink.took(index, bytes)
        }
        if reader.hasLostLook > 0 {
            sink.warn("colours and sizes of the text are not carried: \(reader.hasLostLook) notes")
        }
    }

    // Where it lies, what it is for sharing and sync, and by what program it was made.
    private static let ownValues: Set = [
        "id", "parent_id", "created_time", "updated_time", "user_created_time", "user_updated_time", "type_", "order",
        "source", "source_application", "encryption_cipher_text", "encryption_applied", "markup_language", "is_shared",
        "share_id", "master_key_id", "is_todo", "todo_due", "todo_completed", "deleted_time", "is_conflict",
    ]
    /// Values that say nothing.
    private static let nothing: Set = ["", "0", "0.0000", "0.00000000", "{}", "[]"]

    private mutating func put(_ note: JoplinItem, at path: SourcePath) throws(ImportExportError) {
        var item = ForeignItem(kind: .note)
        item.id = note.value("id")
        item.setPath(String(decoding: path.bytes, as: UTF8.self), in: sink)
        item.draft.title = cleanTitle(note.title)
        item.draft.created = note.time("user_created_time", "created_time")
        item.draft.modified = note.time("user_updated_time", "updated_time")
        item.draft.isTrashed = note.time("deleted_time") != nil
        if let folder = folder(of: note.value("parent_id")) {
            item.setFolder(folder, separator: "\n", original: "notebook")
        }
        for tag in tagsOfNote[item.id] ?? [] {
            if let title = tagTitles[tag] { item.addTag(title) }
        }
        if note.value("is_todo") == "1" {
            let done = note.time("todo_completed")
            item.add("To-do", done.map { "done, \(CivilTime.format($0))" } ?? "open", isRaw: false)
            if let due = note.time("todo_due") { item.add("Due", CivilTime.format(due), isRaw: false) }
        }
        if note.value("is_conflict") == "1" { item.addTag("Conflicts") }
        for (name, value) in note.values where !Self.ownValues.contains(name) && !Self.nothing.contains(value) {
            item.add(name, value, kind: name == "source_url" ? .url : .text)
        }
        var body = note.body
        if note.value("markup_language") == "2" { body = try markdown(ofHTML: body, path) }
        var files: [String] = []
        body = relinked(body) { destination in
            link(destination, from: path, &files)
        }
        for id in files where attached.insert(id).inserted {
            guard let index = resourceEntries[id] else {
                item.add("resource", resourceTitles[id] ?? id)
                sink.warn(
                    "\(path.printable) shows a file that is not there: \(printableText((resourceTitles[id] ?? id).utf8))"
                )
                continue
            }
            item.files.append(sink.file(index, of: source, id: id, name: fileName(of: id, at: index)))
        }
        try item.setText(body, subject: path.printable, limits: source.limits)
        try sink.put(item, name: item.draft.title ?? path.printable)
    }

    private mutating func markdown(ofHTML body: String, _ path: SourcePath) throws(ImportExportError) -> String {
        var converter = HTMLMarkdown()
        let text = converter.markdown(of: try HTMLElement.parse(Array(body.utf8), subject: path.printable))
        if converter.hasLostLook { hasLostLook += 1 }
        return text
    }

    /// The name that the resource has in Joplin, with the ending of its file.
    private func fileName(of id: String, at index: Int) -> String {
        let ending = entries[index].path.fileExtension
        guard let title = resourceTitles[id].flatMap(cleanTitle) else {
            return String(decoding: entries[index].path.name, as: UTF8.self)
        }
        return ending.isEmpty || title.asciiLowercased().hasSuffix("." + ending) ? title : title + "." + ending
    }

    /// The destination of a link to a note or a resource of the export.
    private func link(_ destination: String, from path: SourcePath, _ files: inout [String]) -> String? {
        guard destination.hasPrefix(":/") else { return nil }
        let id = String(destination.dropFirst(2).prefix(32)).lowercased()
        guard JoplinItem.isID(id[...]) else { return nil }
        let rest = String(destination.dropFirst(34))
        if notes.contains(id) { return sink.address(ofItem: id) + rest }
        guard resourceEntries[id] != nil || resourceTitles[id] != nil else { return nil }
        if !files.contains(id) { files.append(id) }
        guard let index = resourceEntries[id] else { return nil }
        return linkDestination(entries[index].path.reference(from: path.folder))
    }

    /// The titles of a notebook and those around it, one a line.
    private func folder(of id: String) -> String? {
        var titles: [String] = []
        var next = id
        while let notebook = notebooks[next], titles.count < TagPath.depthMax {
            titles.append(
                notebook.title.replacing("/", with: "-").replacing("#", with: "-").replacing(",", with: "-"))
            next = notebook.parent
        }
        return titles.isEmpty ? nil : titles.reversed().joined(separator: "\n")
    }
}
