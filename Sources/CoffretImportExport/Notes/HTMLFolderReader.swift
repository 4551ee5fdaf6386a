// Folders of HTML pages, as programs export Apple Notes and others: a page for each note, files beside them. Invariant: as
// in ForeignFormat.swift.

internal import CoffretBase
internal import CoffretCore

extension ForeignFormat {
    static let html = ForeignFormat(
        name: "html", title: "pages of HTML", signs: [.pages { HTMLFolderReader.isPage($0) }],
        read: { (source, sink) throws(ImportExportError) in try HTMLFolderReader(source, sink).read() })
}

private final class HTMLFolderReader {
    private let source: ForeignSource
    private let sink: ForeignSink
    private let entries: [SourceEntry]
    private let indexOfPath: [SourcePath: Int]
    private var lostLookCount = 0

    private static let pageByteCountMax = 64 << 20

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.source = source
        self.sink = sink
        entries = source.entries
        indexOfPath = Dictionary(uniqueKeysWithValues: entries.enumerated().map { ($1.path, $0) })
    }

    /// Whether a path in lower case is that of a page.
    static func isPage(_ path: String) -> Bool { path.hasSuffix(".html") || path.hasSuffix(".htm") }

    private func isPage(_ index: Int) -> Bool { ["html", "htm"].contains(entries[index].path.fileExtension) }

    func read() throws(ImportExportError) {
        try source.source.visit(isPage) { (index, reader) throws(ImportExportError) in
            let bytes = try reader.readAll(byteCountMax: Self.pageByteCountMax)
            try put(bytes, index)
            sink.took(index, bytes)
        }
        if lostLookCount > 0 { sink.warn("colours and sizes of the text are not carried: \(lostLookCount) notes") }
    }

    private func put(_ bytes: [UInt8], _ index: Int) throws(ImportExportError) {
        let path = entries[index].path
        let page = try HTMLElement.parse(withoutMark(bytes), subject: path.printable)
        var item = ForeignItem(kind: .note)
        item.id = String(decoding: path.bytes, as: UTF8.self)
        item.isIDOfPlace = true
        item.setPath(item.id, in: sink)
        if let folder = NoteFile.folderTag(of: path) { item.draft.tags.append(folder) }
        item.draft.modified = entries[index].modifiedMilliseconds
        item.draft.created = item.draft.modified
        if let head = page.first("head") { take(head, &item) }
        var embedded = EmbeddedFiles()
        var found: [Int] = []
        var converter = HTMLMarkdown()
        converter.special = { element in element.name == "img" ? embedded.take(element).map { .inline($0) } : nil }
        converter.destination = { [self] destination in
            guard let target = target(of: destination, from: path) else { return destination }
            guard isPage(target) else {
                if !found.contains(target) { found.append(target) }
                return destination
            }
            return target == index
                ? destination : sink.address(ofItem: String(decoding: entries[target].path.bytes, as: UTF8.self))
        }
        let text = converter.markdown(of: page.first("body") ?? page)
        if converter.hasLostLook { lostLookCount += 1 }
        if item.draft.title == nil, !text.hasPrefix("# ") {
            item.draft.title = cleanTitle(String(decoding: path.stem, as: UTF8.self))
        }
        try item.setText(text, subject: path.printable, limits: source.limits)
        item.files = found.map {
            sink.file($0, of: source, id: String(decoding: entries[$0].path.bytes, as: UTF8.self))
        }
        item.files += embedded.files.map { file in
            var file = file
            let folder = path.folder.isEmpty ? "" : String(decoding: path.folder, as: UTF8.self) + "/"
            file.path = sink.place(of: folder + file.name)
            return file
        }
        try sink.put(item, name: item.draft.title ?? path.printable)
    }

    /// The title, and what the head says of the text.
    private func take(_ head: HTMLElement, _ item: inout ForeignItem) {
        if let title = head.first("title") { item.draft.title = cleanTitle(title.text) }
        for case .element(let meta) in head.children where meta.name == "meta" {
            guard let name = meta.attributes["name"] ?? meta.attributes["itemprop"],
                let content = meta.attributes["content"], !content.isEmpty
            else { continue }
            switch name.asciiLowercased() {
            case "created", "created-at", "date", "creation-date":
                if let time = try? CivilTime.parse(content) {
                    item.draft.created = time
                } else {
                    item.add(name, content)
                }
            case "updated", "updated-at", "modified", "last-modified":
                if let time = try? CivilTime.parse(content) {
                    item.draft.modified = time
                } else {
                    item.add(name, content)
                }
            case "tags", "keywords": for tag in content.split(separator: ",") { item.addTag(String(tag)) }
            // How the page was made, and how it is to be shown.
            case "viewport", "generator", "format-detection", "color-scheme", "theme-color", "robots": continue
            default: item.add(name, content)
            }
        }
    }

    /// The file of the source that a link or a picture points to.
    private func target(of destination: String, from path: SourcePath) -> Int? {
        guard let reference = SourceLink.relativePath(of: Array(destination.utf8)) else { return nil }
        let target =
            reference.first == UInt8(ascii: "/")
            ? SourcePath.resolve(reference.dropFirst(), in: []) : SourcePath.resolve(reference[...], in: path.folder)
        return target.flatMap { indexOfPath[$0] }
    }
}
