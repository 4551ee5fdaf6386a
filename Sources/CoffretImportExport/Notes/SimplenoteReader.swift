// Simplenote's export: all notes in one JSON file, and each again as a text file beside it. Invariant: as in
// ForeignFormat.swift.

internal import CoffretBase
internal import CoffretCore

extension ForeignFormat {
    static let simplenote = ForeignFormat(
        name: "simplenote", title: "a Simplenote export",
        signs: [
            .files(["source/notes.json"]), .json(["activeNotes.content"]), .json(["activeNotes", "trashedNotes"]),
        ],
        read: { (source, sink) throws(ImportExportError) in
            let bytes = try source.bytes()
            if let main = source.main { sink.took(main, bytes) }
            var reader = SimplenoteReader(source, sink)
            try reader.read(ForeignObject.parse(bytes, limits: source.limits))
            try reader.passOverCopies()
        })
}

private struct SimplenoteReader {
    private let source: ForeignSource
    private let sink: ForeignSink
    /// The texts of the notes by their first bytes.
    private var texts: [[UInt8]: [[UInt8]]] = [:]

    private static let headByteCount = 48

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.source = source
        self.sink = sink
    }

    private static let columns: [String: ListFormat.Column] = [
        "id": .id, "creationDate": .created(.calendar), "lastModified": .modified(.calendar), "pinned": .pinned,
        // Whether the program shows the text as Markdown; Coffret always does.
        "markdown": .ignored,
    ]

    mutating func read(_ list: ForeignObject) throws(ImportExportError) {
        for (member, isTrashed) in [("activeNotes", false), ("trashedNotes", true)] {
            for note in list.objects(member) ?? [] {
                var item = ForeignItem(kind: .note)
                item.take(note, Self.columns)
                item.draft.isTrashed = isTrashed
                let text = (note.text("content") ?? "").replacing("\r\n", with: "\n")
                try item.setText(text, subject: source.path.printable, limits: source.limits)
                for tag in note.texts("tags") ?? [] { item.addTag(tag) }
                item.keepRest(of: note)
                let bytes = Array(text.trimmedBlanks().utf8)
                texts[Array(bytes.prefix(Self.headByteCount)), default: []].append(bytes)
                try sink.put(item, name: text.split(separator: "\n").first.map(String.init))
            }
        }
        for (name, _) in list.rest where !name.hasPrefix("activeNotes") && !name.hasPrefix("trashedNotes") {
            sink.warn("not of a note, left out: \(printableText(name.utf8))")
        }
    }

    /// Says of text files that repeat a note that they were read.
    func passOverCopies() throws(ImportExportError) {
        let entries = source.entries
        try source.source.visit({ $0 != source.main && entries[$0].path.fileExtension == "txt" }) {
            (index, reader) throws(ImportExportError) in
            guard entries[index].byteCount <= UInt64(Item.textByteCountMax) else { return }
            let bytes = try reader.readAll(byteCountMax: Item.textByteCountMax)
            let text = String(decoding: withoutMark(bytes), as: UTF8.self).replacing("\r\n", with: "\n").trimmedBlanks()
            let candidates = texts[Array(text.utf8.prefix(Self.headByteCount))] ?? []
            // Tags stand behind the text in these files.
            let isCopy = candidates.contains { note in
                let rest = String(decoding: text.utf8.dropFirst(note.count), as: UTF8.self).trimmedBlanks()
                return text.utf8.starts(with: note) && (rest.isEmpty || rest.hasPrefix("Tags:"))
            }
            if isCopy { sink.took(index, bytes) }
        }
    }
}
