// Standard Notes' backup: notes, tags and the program's settings in one JSON file. Invariant: as in ForeignFormat.swift.

internal import CoffretBase
internal import CoffretCore

extension ForeignFormat {
    static let standardNotes = ForeignFormat(
        name: "standard-notes", title: "a Standard Notes backup",
        signs: [
            .files(["standard notes backup and import file.txt"]), .json(["items.content_type", "items.uuid"]),
            .json(["items.content_type", "items.content"]),
        ],
        open: { (source, keys) throws(ImportExportError) in try StandardNotesCipher.open(source, keys) },
        read: { (source, sink) throws(ImportExportError) in
            var bytes: [UInt8]
            if let opened = source.payload?.bytes { bytes = opened } else { bytes = try source.bytes() }
            defer { bytes.zero() }
            if let main = source.main { sink.took(main, bytes) }
            var reader = StandardNotesReader(source, sink)
            try reader.read(ForeignObject.parse(bytes, limits: source.limits))
        })
}

private struct StandardNotesReader {
    private let source: ForeignSource
    private let sink: ForeignSink
    private var tagsOfNote: [String: [String]] = [:]
    private var tags: [String: (title: String, parent: String?)] = [:]
    private var fileNames: [String: String] = [:]
    private var notes: Set<String> = []
    private var lostLookCount = 0

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.source = source
        self.sink = sink
    }

    mutating func read(_ list: ForeignObject) throws(ImportExportError) {
        guard let items = list.objects("items") else { throw ImportExportError(.formatInvalid, at: "items") }
        var texts: [(object: ForeignObject, content: ForeignObject)] = []
        var settings: [String: Int] = [:]
        for item in items {
            let type = item.text("content_type") ?? ""
            guard item.peek("deleted")?.bool != true, let content = item.object("content") else {
                item.ignoreRest()
                continue
            }
            switch type {
            case "Note":
                texts.append((item, content))
                notes.insert(item.peek("uuid")?.string ?? "")
                continue
            case "Tag":
                take(tag: item, content)
            case "SN|File":
                fileNames[item.text("uuid") ?? ""] = content.text("name") ?? "file"
            default: settings[type, default: 0] += 1
            }
            item.ignoreRest()
            content.ignoreRest()
        }
        for (object, content) in texts { try put(object, content) }
        try passOverCopies()
        for (type, count) in settings.sorted(by: { $0.key < $1.key }) {
            sink.warn("settings of the program, left out: \(printableText(type.utf8)), \(count)")
        }
        if !fileNames.isEmpty {
            sink.warn("the backup names \(fileNames.count) files, which Standard Notes exports by themselves")
        }
        if lostLookCount > 0 { sink.warn("colours and sizes of the text are not carried: \(lostLookCount) notes") }
    }

    private mutating func take(tag item: ForeignObject, _ content: ForeignObject) {
        let id = item.text("uuid") ?? ""
        var parent: String?
        for reference in content.objects("references") ?? [] {
            guard let target = reference.text("uuid") else { continue }
            if reference.text("reference_type") == "TagToParentTag" {
                parent = target
            } else {
                tagsOfNote[target, default: []].append(id)
            }
        }
        tags[id] = (content.text("title") ?? "", parent)
    }

    /// The names of a tag and those around it.
    private func path(ofTag id: String) -> String {
        var names: [String] = []
        var next: String? = id
        while let current = next, let tag = tags[current], names.count < TagPath.depthMax {
            // Earlier versions nested by a dot in the name.
            names.insert(tag.title.replacing("/", with: "-").replacing(".", with: "/"), at: 0)
            next = tag.parent
        }
        return names.joined(separator: "/")
    }

    private mutating func put(_ object: ForeignObject, _ content: ForeignObject) throws(ImportExportError) {
        var item = ForeignItem(kind: .note)
        item.id = object.text("uuid") ?? ""
        item.draft.title = content.text("title").flatMap(cleanTitle)
        item.draft.created = object.time("created_at", .calendar)
        let data = content.object("appData")
        if let values = data?.object("org.standardnotes.sn") {
            item.draft.isPinned = values.flag("pinned") ?? false
            item.draft.isArchived = values.flag("archived") ?? false
            item.draft.modified = values.time("client_updated_at", .calendar)
            // How the program shows the note.
            values.ignore("prefersPlainEditor", "locked")
        }
        item.draft.modified =
            object.time("updated_at", .calendar).map { item.draft.modified ?? $0 } ?? item.draft.modified
        item.draft.isTrashed = content.flag("trashed") ?? false
        for name in ["starred", "protected", "hidePreview", "spellcheck"] where content.peek(name)?.bool == false {
            content.ignore(name)
        }
        // What sync remembers, and what repeats the text.
        object.ignore(
            "created_at_timestamp", "updated_at_timestamp", "deleted", "duplicate_of", "items_key_id", "enc_item_key",
            "auth_hash", "auth_params", "user_uuid", "key_system_identifier", "shared_vault_uuid", "last_edited_by_uuid"
        )
        content.ignore(
            "preview_plain", "preview_html", "editorIdentifier", "editorWidth", "spellcheck", "defaultEditor")
        for tag in tagsOfNote[item.id] ?? [] { item.addTag(path(ofTag: tag)) }
        let links = references(of: content, &item)
        var text = try text(of: content, &item)
        if !links.isEmpty { text += (text.isEmpty ? "" : "\n\n") + links.joined(separator: "\n") }
        try item.setText(text, subject: source.path.printable, limits: source.limits)
        item.keepRest(of: object)
        try sink.put(item, name: item.draft.title)
    }

    /// Links to other notes, which stand beside the text there.
    private func references(of content: ForeignObject, _ item: inout ForeignItem) -> [String] {
        var links: [String] = []
        for reference in content.objects("references") ?? [] {
            guard let id = reference.text("uuid") else { continue }
            reference.ignoreRest()
            if notes.contains(id) {
                links.append("[Linked note](\(sink.address(ofItem: id)))")
            } else if let name = fileNames[id] {
                item.add("file", name)
            }
        }
        return links
    }

    private mutating func text(of content: ForeignObject, _ item: inout ForeignItem) throws(ImportExportError) -> String
    {
        let text = content.text("text") ?? ""
        let type = content.text("noteType") ?? "plain-text"
        switch type {
        case "plain-text", "markdown", "task", "unknown": return text
        case "rich-text":
            var converter = HTMLMarkdown()
            let markdown = converter.markdown(
                of: try HTMLElement.parse(Array(text.utf8), subject: source.path.printable))
            if converter.hasLostLook { lostLookCount += 1 }
            return markdown
        case "super":
            guard let root = try? parseForeignJSON(Array(text.utf8), limits: source.limits)["root"] else { return text }
            return SuperText(address: address).text(of: root)
        case "code": return "```\n" + text + (text.hasSuffix("\n") ? "```\n" : "\n```\n")
        case "authentication":
            // A list of one-time codes.
            item.add("noteType", type)
            item.add("Secrets", text, kind: .secret, isRaw: false)
            return ""
        default:
            item.add("noteType", type)
            return text
        }
    }

    private func address(of id: String) -> String? { notes.contains(id) ? sink.address(ofItem: id) : nil }

    /// Says of text files that repeat the items that they were read: the program puts them beside a decrypted backup.
    private func passOverCopies() throws(ImportExportError) {
        let entries = source.entries
        try source.source.visit({ entries[$0].path.bytes.starts(with: "Items/".utf8) }) {
            (index, reader) throws(ImportExportError) in
            sink.took(index, try reader.readAll(byteCountMax: source.limits.noteByteCountMax))
        }
    }
}

/// The text of the editor Super, a tree of JSON, as Markdown.
private struct SuperText {
    /// The address of a note; nil for one that is not there.
    let address: (String) -> String?

    func text(of root: JSONValue) -> String {
        let text = blocks(root["children"]?.elements ?? [], indent: "")
        return text.isEmpty ? "" : text + "\n"
    }

    private func blocks(_ nodes: [JSONValue], indent: String) -> String {
        nodes.map { block($0, indent: indent) }.joined(separator: "\n\n")
    }

    private func block(_ node: JSONValue, indent: String) -> String {
        let children = node["children"]?.elements ?? []
        switch node["type"]?.string {
        case "heading":
            let level = Int((node["tag"]?.string ?? "h1").dropFirst()) ?? 1
            return String(repeating: "#", count: min(max(level, 1), 6)) + " " + inline(children)
        case "quote": return inline(children).split(separator: "\n").map { "> " + $0 }.joined(separator: "\n")
        case "code": return "```\n" + plain(children) + "\n```"
        case "list": return list(node, children, indent: indent)
        case "horizontalrule": return "---"
        case "table":
            return children.enumerated().map { number, row in
                let cells = (row["children"]?.elements ?? []).map { cell in
                    blocks(cell["children"]?.elements ?? [], indent: "").replacing("\n", with: " ")
                }
                let line = "| " + cells.joined(separator: " | ") + " |"
                return number == 0 ? line + "\n|" + String(repeating: " --- |", count: cells.count) : line
            }.joined(separator: "\n")
        case "paragraph", nil: return inline(children)
        default:
            let own = inline([node])
            return own.isEmpty ? blocks(children, indent: indent) : own
        }
    }

    private func list(_ node: JSONValue, _ items: [JSONValue], indent: String) -> String {
        var number = Int(node["start"]?.integer ?? 1)
        return items.map { item in
            let children = item["children"]?.elements ?? []
            if children.count == 1, children[0]["type"]?.string == "list" {
                return block(children[0], indent: indent + "    ")
            }
            var marker = "- "
            switch node["listType"]?.string {
            case "number":
                marker = "\(number). "
                number += 1
            case "check": marker = item["checked"]?.bool == true ? "- [x] " : "- [ ] "
            default: break
            }
            let nested = children.filter { $0["type"]?.string == "list" }
            let own = children.filter { $0["type"]?.string != "list" }
            let lines = [indent + marker + inline(own).replacing("\n", with: " ")]
            return (lines + nested.map { block($0, indent: indent + "    ") }).joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private func plain(_ nodes: [JSONValue]) -> String {
        nodes.map { node in
            if node["type"]?.string == "linebreak" { return "\n" }
            return node["text"]?.string ?? plain(node["children"]?.elements ?? [])
        }.joined()
    }

    private func inline(_ nodes: [JSONValue]) -> String {
        nodes.map { node in
            let children = node["children"]?.elements ?? []
            switch node["type"]?.string {
            case "linebreak": return "\n"
            case "link", "autolink":
                let label = inline(children)
                let target = node["url"]?.string ?? ""
                return label == target ? "<\(target)>" : "[\(label)](\(target))"
            case "snbubble":
                guard let target = node["itemUuid"]?.string.flatMap(address) else { return "" }
                return "[Linked note](\(target))"
            case "text", "code-highlight", "hashtag": return marked(node)
            default: return node["text"]?.string.map(MarkdownEscape.inline) ?? inline(children)
            }
        }.joined()
    }

    private func marked(_ node: JSONValue) -> String {
        let text = node["text"]?.string ?? ""
        let format = node["format"]?.integer ?? 0
        guard format != 0, !text.trimmedBlanks().isEmpty else { return MarkdownEscape.inline(text) }
        if format & 16 != 0 { return "`" + text + "`" }
        var marks = ""
        if format & 1 != 0 { marks += "**" }
        if format & 2 != 0 { marks += "*" }
        if format & 4 != 0 { marks += "~~" }
        return marks + MarkdownEscape.inline(text) + String(marks.reversed())
    }
}
