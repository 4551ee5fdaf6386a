// Notesnook's backup: notes, their contents, notebooks and tags as a list of JSON objects. Invariant: as in
// ForeignFormat.swift.

internal import CoffretBase
internal import CoffretCore

extension ForeignFormat {
    static let notesnook = ForeignFormat(
        name: "notesnook", title: "a Notesnook backup",
        signs: [
            .json(["version", "type", "date", "data"]), .json(["version", "type", "date", "encrypted"]),
            .any { $0.hasSuffix(".nnbackup") || $0.hasSuffix(".nnbackupz") },
        ],
        read: { (source, sink) throws(ImportExportError) in
            let bytes = try source.bytes()
            if let main = source.main { sink.took(main, bytes) }
            var reader = NotesnookReader(source, sink)
            try reader.read(parseForeignJSON(bytes, limits: source.limits))
        })
}

private struct NotesnookReader {
    private let source: ForeignSource
    private let sink: ForeignSink
    private var objects: [String: [ForeignObject]] = [:]
    private var contents: [String: ForeignObject] = [:]
    private var notebooks: [String: (title: String, parent: String?)] = [:]
    private var topics: [String: String] = [:]
    private var tagTitles: [String: String] = [:]
    private var tagsOfNote: [String: [String]] = [:]
    private var notebooksOfNote: [String: [String]] = [:]
    private var notes: Set<String> = []
    private var lostLookCount = 0

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.source = source
        self.sink = sink
    }

    mutating func read(_ backup: JSONValue) throws(ImportExportError) {
        let subject = source.path.printable
        if backup["encrypted"]?.bool == true || backup["data"]?["cipher"] != nil {
            throw ImportExportError(
                .sourceUnsupported,
                subject: "\(subject) is an encrypted Notesnook backup; make one there with encryption switched off")
        }
        let values: [JSONValue]
        switch backup["data"] {
        case .array(let elements)?: values = elements
        case .object(let members)?: values = members.map(\.value)
        case .string(let text)?:
            values = try parseForeignJSON(Array(text.utf8), limits: source.limits).elements ?? []
        default: throw ImportExportError(.formatInvalid, at: "data", subject: subject)
        }
        for value in values {
            guard let object = ForeignObject(value) else { continue }
            objects[object.peek("type")?.string ?? "", default: []].append(object)
        }
        readRelations()
        for note in objects["note"] ?? [] { notes.insert(note.peek("id")?.string ?? "") }
        for note in objects["note"] ?? [] { try put(note, isTrashed: false) }
        for note in objects["trash"] ?? [] where note.peek("itemType")?.string == "note" {
            try put(note, isTrashed: true)
        }
        report()
    }

    private mutating func readRelations() {
        for type in ["tiptap", "tiny", "delta"] {
            for content in objects[type] ?? [] { contents[content.peek("id")?.string ?? ""] = content }
        }
        for notebook in objects["notebook"] ?? [] {
            notebooks[notebook.text("id") ?? ""] = (notebook.text("title") ?? "", nil)
            for topic in notebook.objects("topics") ?? [] { topics[topic.text("id") ?? ""] = topic.text("title") ?? "" }
        }
        for tag in objects["tag"] ?? [] { tagTitles[tag.text("id") ?? ""] = tag.text("title") ?? "" }
        for relation in objects["relation"] ?? [] {
            guard let from = relation.object("from"), let to = relation.object("to"), let source = from.text("id"),
                let target = to.text("id")
            else { continue }
            switch (from.text("type"), to.text("type")) {
            case ("tag", "note"): tagsOfNote[target, default: []].append(source)
            case ("notebook", "note"): notebooksOfNote[target, default: []].append(source)
            case ("notebook", "notebook"): notebooks[target]?.parent = source
            default: continue
            }
        }
    }

    private func path(ofNotebook id: String) -> String? {
        var names: [String] = []
        var next: String? = id
        while let current = next, let notebook = notebooks[current], names.count < TagPath.depthMax {
            names.insert(notebook.title.replacing("/", with: "-"), at: 0)
            next = notebook.parent
        }
        return names.isEmpty ? nil : names.joined(separator: "/")
    }

    private static let columns: [String: ListFormat.Column] = [
        "id": .id, "title": .title, "pinned": .pinned, "archived": .archived, "dateCreated": .created(.milliseconds),
        "dateEdited": .modified(.milliseconds),
        // What repeats the text, and what sync remembers.
        "type": .ignored, "headline": .ignored, "contentId": .ignored, "dateModified": .ignored, "synced": .ignored,
        "remote": .ignored, "alias": .ignored, "itemType": .ignored, "deleted": .ignored, "cssClass": .ignored,
    ]

    private mutating func put(_ note: ForeignObject, isTrashed: Bool) throws(ImportExportError) {
        var item = ForeignItem(kind: .note)
        let content = note.peek("contentId")?.string.flatMap { contents[$0] }
        for name in ["favorite", "readonly", "localOnly", "conflicted", "locked", "isGeneratedTitle"]
        where note.peek(name)?.bool == false || name == "isGeneratedTitle" {
            note.ignore(name)
        }
        if note.peek("favorite")?.bool == true {
            note.ignore("favorite")
            item.draft.isPinned = true
        }
        let isPinned = item.draft.isPinned
        item.take(note, Self.columns)
        item.draft.isPinned = item.draft.isPinned || isPinned
        item.draft.isTrashed = isTrashed
        for tag in note.texts("tags") ?? [] { item.addTag(tag) }
        for tag in tagsOfNote[item.id] ?? [] { item.addTag(tagTitles[tag] ?? tag) }
        for notebook in note.objects("notebooks") ?? [] { take(notebook, &item) }
        for notebook in notebooksOfNote[item.id] ?? [] {
            if let path = path(ofNotebook: notebook) { item.addTag(path, original: "notebook") }
        }
        if let color = note.text("color") { item.add("color", color, isRaw: false) }
        try item.setText(try text(of: content, &item), subject: source.path.printable, limits: source.limits)
        item.keepRest(of: note)
        try sink.put(item, name: item.draft.title)
    }

    private func take(_ notebook: ForeignObject, _ item: inout ForeignItem) {
        guard let id = notebook.text("id"), let path = path(ofNotebook: id) else { return }
        let known = (notebook.texts("topics") ?? []).compactMap { topics[$0] }
        for topic in known { item.addTag("\(path)/\(topic.replacing("/", with: "-"))", original: "notebook") }
        if known.isEmpty { item.addTag(path, original: "notebook") }
    }

    private mutating func text(of content: ForeignObject?, _ item: inout ForeignItem) throws(ImportExportError)
        -> String
    {
        guard let content, let value = content.value("data") else { return "" }
        guard let html = value.string else {
            // A note in Notesnook's vault: only Notesnook has its key.
            if value["cipher"] != nil {
                item.add("locked content", value.text(), kind: .secret)
                sink.warn(
                    "\(item.draft.title ?? item.id) is in Notesnook's vault: its content is kept sealed as a field")
            }
            return ""
        }
        var converter = HTMLMarkdown()
        let (notes, sink) = (notes, sink)
        converter.destination = { destination in
            guard destination.hasPrefix("nn://note/") else { return destination }
            let id = String(destination.dropFirst("nn://note/".count).prefix { $0 != "?" && $0 != "#" })
            return notes.contains(id) ? sink.address(ofItem: id) : destination
        }
        let text = converter.markdown(of: try HTMLElement.parse(Array(html.utf8), subject: source.path.printable))
        if converter.hasLostLook { lostLookCount += 1 }
        return text
    }

    private func report() {
        let known: Set = ["note", "tiptap", "tiny", "delta", "notebook", "tag", "relation", "trash", "topic"]
        let names = [
            "session": "earlier versions", "sessioncontent": "earlier versions", "settings": "settings",
            "settingitem": "settings", "attachment": "files, which Notesnook backs up by themselves",
            "reminder": "reminders", "shortcut": "shortcuts", "color": "colours", "vault": "vaults",
        ]
        var counts: [String: Int] = [:]
        for (type, list) in objects where !known.contains(type) && !type.isEmpty {
            counts[names[type] ?? type, default: 0] += list.count
        }
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
            sink.warn("left out: \(printableText(name.utf8)), \(count)")
        }
        if lostLookCount > 0 { sink.warn("colours and sizes of the text are not carried: \(lostLookCount) notes") }
    }
}
