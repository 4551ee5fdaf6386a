// Google Keep as Takeout exports it: a JSON file for each note, a page that shows the same, and the pictures. Invariant:
// as in ForeignFormat.swift.

internal import CoffretBase
internal import CoffretCore

extension ForeignFormat {
    static let keep = ForeignFormat(
        name: "google-keep", title: "a Google Keep export",
        signs: [.json(["isTrashed", "isPinned", "isArchived"]), .any { $0.hasSuffix("takeout/keep/labels.txt") }],
        read: { (source, sink) throws(ImportExportError) in
            var reader = KeepReader(source, sink)
            try reader.read()
        })
}

private struct KeepReader {
    private let source: ForeignSource
    private let sink: ForeignSink
    private let entries: [SourceEntry]
    private let indexOfPath: [SourcePath: Int]
    /// Pictures by folder and stem: the ending that a note names need not be the file's.
    private let picturesOfStem: [[UInt8]: [Int]]
    private var hasLostLook = 0

    private static let noteByteCountMax = 32 << 20
    private static let pictureExtensions: Set<String> = [
        "jpg", "jpeg", "png", "gif", "webp", "heic", "3gp", "m4a", "amr",
    ]

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.source = source
        self.sink = sink
        entries = source.entries
        indexOfPath = Dictionary(uniqueKeysWithValues: entries.enumerated().map { ($1.path, $0) })
        var pictures: [[UInt8]: [Int]] = [:]
        for (index, entry) in entries.enumerated() where Self.pictureExtensions.contains(entry.path.fileExtension) {
            pictures[Self.stemKey(entry.path), default: []].append(index)
        }
        picturesOfStem = pictures
    }

    private static func stemKey(_ path: SourcePath) -> [UInt8] { Array(path.folder) + [0x2F] + Array(path.stem) }

    mutating func read() throws(ImportExportError) {
        var noteStems: Set<[UInt8]> = []
        var reader = self
        try source.source.visit({ entries[$0].path.fileExtension == "json" }) {
            (index, file) throws(ImportExportError) in
            let path = entries[index].path
            let bytes = try file.readAll(byteCountMax: Self.noteByteCountMax)
            let note: ForeignObject
            do throws(ImportExportError) {
                note = try ForeignObject.parse(bytes, limits: source.limits)
            } catch {
                throw ImportExportError(error.code, at: error.place, subject: path.printable)
            }
            guard note.peek("isTrashed") != nil, note.peek("title") != nil else { return }
            try reader.put(note, at: path)
            sink.took(index, bytes)
            noteStems.insert(Self.stemKey(path))
        }
        self = reader
        // Pages repeat the notes, and the list repeats their labels.
        try source.source.visit({ index in
            let path = entries[index].path
            return path.fileExtension == "html"
                && (noteStems.contains(Self.stemKey(path)) || path.name.elementsEqual("archive_browser.html".utf8))
                || path.name.elementsEqual("Labels.txt".utf8)
        }) { (index, file) throws(ImportExportError) in
            sink.took(index, try file.readAll(byteCountMax: Self.noteByteCountMax))
        }
        if hasLostLook > 0 { sink.warn("colours and sizes of the text are not carried: \(hasLostLook) notes") }
    }

    private mutating func put(_ note: ForeignObject, at path: SourcePath) throws(ImportExportError) {
        var item = ForeignItem(kind: .note)
        item.id = String(decoding: path.bytes, as: UTF8.self)
        item.isIDOfPlace = true
        item.setPath(item.id, in: sink)
        item.draft.title = note.text("title").flatMap(cleanTitle)
        item.draft.isPinned = note.flag("isPinned") ?? false
        item.draft.isArchived = note.flag("isArchived") ?? false
        item.draft.isTrashed = note.flag("isTrashed") ?? false
        item.draft.modified = note.integer("userEditedTimestampUsec").map { $0 / 1_000 }
        item.draft.created = note.integer("createdTimestampUsec").map { $0 / 1_000 } ?? item.draft.modified
        if note.peek("color")?.string == "DEFAULT" { note.ignore("color") }
        var parts: [String] = []
        if let text = try text(of: note, "text") { parts.append(text) }
        var lines: [String] = []
        for line in note.objects("listContent") ?? [] {
            let text = try text(of: line, "text") ?? ""
            lines.append((line.flag("isChecked") == true ? "- [x] " : "- [ ] ") + text.replacing("\n", with: " "))
        }
        if !lines.isEmpty { parts.append(lines.joined(separator: "\n")) }
        for attachment in note.objects("attachments") ?? [] {
            if let embed = attach(attachment, path, &item) { parts.append(embed) }
        }
        for label in note.objects("labels") ?? [] {
            if let name = label.text("name") { item.addTag(name, original: "label") }
        }
        for link in note.objects("annotations") ?? [] where link.text("source") == "WEBLINK" {
            if let url = link.text("url") {
                item.add(link.text("title") ?? "Link", url, kind: .url, isRaw: false)
                if let description = link.text("description") { item.add("About the link", description, isRaw: false) }
            }
        }
        try item.setText(parts.joined(separator: "\n\n"), subject: path.printable, limits: source.limits)
        item.keepRest(of: note)
        try sink.put(item, name: item.draft.title ?? path.printable)
    }

    /// The plain text, or the text with its marks where the export has them.
    private mutating func text(of object: ForeignObject, _ name: String) throws(ImportExportError) -> String? {
        let plain = object.text(name == "text" && object.peek("textContent") != nil ? "textContent" : name)
        guard let html = object.text("textContentHtml") ?? object.text("textHtml") else { return plain }
        guard Self.hasMarks(html) else { return plain }
        var converter = HTMLMarkdown()
        let element = try HTMLElement.parse(Array(html.utf8), subject: source.path.printable)
        let text = converter.markdown(of: element)
        return text.trimmedBlanks().isEmpty ? plain : text.trimmedBlanks()
    }

    /// Whether HTML says more than its text does. Keep styles everything, so styles say nothing.
    private static func hasMarks(_ html: String) -> Bool {
        [
            "<b>", "<b ", "<i>", "<i ", "<u>", "<u ", "<h1", "<h2", "<strong", "<em", "font-weight:700",
            "font-weight: 700",
        ]
        .contains { html.contains($0) }
    }

    /// - Returns: the embedding in the text.
    private func attach(_ attachment: ForeignObject, _ path: SourcePath, _ item: inout ForeignItem) -> String? {
        guard let name = attachment.text("filePath") else { return nil }
        attachment.ignore("mimetype")
        let exact = SourcePath.resolve(Array(name.utf8)[...], in: path.folder)
        let index = exact.flatMap { indexOfPath[$0] ?? picturesOfStem[Self.stemKey($0)]?.first }
        guard let index else {
            item.add("attachment", name)
            sink.warn("\(path.printable) names a file that is not there: \(printableText(name.utf8))")
            return nil
        }
        let file = sink.file(index, of: source)
        if !item.files.contains(where: { $0.id == file.id }) { item.files.append(file) }
        return "![](\(linkDestination(entries[index].path.reference(from: path.folder))))"
    }
}
