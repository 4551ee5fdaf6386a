// Evernote's export. Invariant: as in ForeignFormat.swift.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto

extension ForeignFormat {
    static let enex = ForeignFormat(
        name: "enex", title: "an Evernote export (ENEX)",
        signs: [.words(["<en-export"]), .most { $0.hasSuffix(".enex") }],
        read: { (source, sink) throws(ImportExportError) in
            let reader = EnexReader(source, sink)
            for (index, entry) in source.entries.enumerated()
            where entry.path.fileExtension == "enex" || index == source.main { try reader.read(index) }
            try reader.finish()
        })
}

private final class EnexReader {
    private let source: ForeignSource
    private let sink: ForeignSink
    private var subject = ""
    /// A folder of such files has one for each notebook.
    private var notebook: TagPath?
    private var folders: Set<String> = []
    /// The notes of each title in lower case.
    private var idsOfTitle: [String: [String]] = [:]
    /// Notes that link to others, which may come later, with the texts of their links.
    private var linking: [(item: ForeignItem, labels: [String: String])] = []
    private var lostLookCount = 0
    private var sealedCount = 0
    private var openLinkCount = 0

    /// A note as it is put together.
    private struct Note {
        var item = ForeignItem(kind: .note)
        var content = ""
        var created = ""
        var resources: [Resource] = []
        var tasks: [[(name: String, value: String)]] = []

        mutating func changeLast(_ change: (inout Resource) -> Void) {
            if let last = resources.indices.last { change(&resources[last]) }
        }
    }

    private struct Resource {
        var stored: StoredFile?
        var digest = ""
        var mediaType = ""
        var name = ""
    }

    init(_ source: ForeignSource, _ sink: ForeignSink) {
        self.source = source
        self.sink = sink
    }

    func read(_ entry: Int) throws(ImportExportError) {
        let path = source.entries[entry].path
        subject = path.printable
        notebook =
            source.entries.count > 1
            ? try? TagPath(String(decoding: path.stem, as: UTF8.self).replacing("/", with: "-")) : nil
        let stream = EnexStream(source.source, entry: entry)
        var note: Note?
        var count = 0
        while let event = try stream.next() {
            switch event {
            case .noteStart: note = Note()
            case .value(let path, let key, let text): take(path, key, text, &note)
            case .taskStart: note?.tasks.append([])
            case .resourceStart: note?.resources.append(Resource())
            case .data(let bytes):
                let stored = try store(startingWith: bytes, stream, &note)
                note?.changeLast { $0.stored = stored }
            case .resourceEnd(let digest): note?.changeLast { $0.digest = digest }
            case .noteEnd:
                if let whole = note { try put(whole) }
                note = nil
                count += 1
                guard count <= source.limits.entryCountMax else { throw ImportExportError(.tooManyEntries) }
            case .fileEnd(let hash): sink.took(entry, contentHash: hash)
            case .failure(let error): throw error
            }
        }
    }

    /// Puts the notes that link to others, now that all titles are known.
    func finish() throws(ImportExportError) {
        for (item, labels) in linking {
            var item = item
            var openCount = 0
            let text = relinked(item.draft.text) { [idsOfTitle, sink] destination in
                guard let label = labels[destination] else { return nil }
                let ids = idsOfTitle[label.lowercased()] ?? []
                guard ids.count == 1 else {
                    openCount += 1
                    return nil
                }
                return sink.address(ofItem: ids[0])
            }
            openLinkCount += openCount
            try item.setText(text, subject: subject, limits: source.limits)
            try sink.put(item, name: item.draft.title)
        }
        if lostLookCount > 0 { sink.warn("colours and sizes of the text are not carried: \(lostLookCount) notes") }
        if sealedCount > 0 {
            sink.warn("encrypted parts of texts are kept as they are, and only Evernote opens them: \(sealedCount)")
        }
        if openLinkCount > 0 { sink.warn("links to notes that no title here answers to: \(openLinkCount)") }
    }

    /// Stores the content of a resource while it comes in.
    private func store(
        startingWith first: [UInt8], _ stream: EnexStream, _ note: inout Note?
    ) throws(ImportExportError) -> StoredFile {
        var values: [(String, String)] = []
        var digest = ""
        var known: StoredFile?
        let id = note.map(Self.id(of:)) ?? ""
        var stored = StoredFile(byteCount: 0, contentHash: [], encodedReference: [])
        do throws(ImportExportError) {
            stored = try sink.store { (write) throws(ImportExportError) in
                var hasher = BLAKE2bHasher(byteCount: 32)
                var byteCount = 0
                var next: EnexEvent? = .data(first)
                while let event = next {
                    if case .data(let bytes) = event {
                        hasher.update(bytes)
                        byteCount += bytes.count
                        try write(bytes[...])
                    } else if case .value(let path, _, let text) = event {
                        values.append((path, text))
                    } else if case .resourceEnd(let found) = event {
                        digest = found
                        break
                    }
                    next = try stream.next()
                }
                guard !digest.isEmpty else {
                    throw ImportExportError(.formatTruncated, at: "a resource without end", subject: subject)
                }
                let hash = hasher.finish()
                guard sink.isAttached(digest, to: id, contentHash: hash) else { return }
                known = StoredFile(byteCount: byteCount, contentHash: hash, encodedReference: [])
                throw ImportExportError(.stopped)
            }
        } catch {
            guard let known else { throw error }
            stored = known
        }
        for (path, text) in values { take(path, nil, text, &note) }
        note?.changeLast { $0.digest = digest }
        return stored
    }

    // MARK: Values

    private func take(_ path: String, _ key: String?, _ text: String, _ note: inout Note?) {
        guard note != nil else { return }
        let text = path == "content" ? text : text.trimmedBlanks()
        switch path {
        case "title": note?.item.draft.title = cleanTitle(text)
        case "content": note?.content = text
        case "created":
            note?.created = text
            note?.item.draft.created = Self.time(text)
        case "updated": note?.item.draft.modified = Self.time(text)
        case "tag": note?.item.addTag(text)
        case "note-attributes/source-url": note?.item.add("source-url", text, kind: .url)
        case "resource/mime": note?.changeLast { $0.mediaType = text }
        case "resource/resource-attributes/file-name": note?.changeLast { $0.name = text }
        // What the program drew, recognised, or looked up for itself.
        case let path where path.hasPrefix("resource/"): return
        case let path where path.hasPrefix("task/"):
            if let last = note?.tasks.indices.last {
                note?.tasks[last].append((String(path.dropFirst("task/".count)), text))
            }
        default:
            let name = path.split(separator: "/").last.map(String.init) ?? path
            note?.item.add(key.map { "\(name) \($0)" } ?? name, text)
        }
    }

    /// `20220720T105928Z`.
    static func time(_ text: String) -> Milliseconds? {
        let digits = text.trimmedBlanks().filter { $0.isNumber }
        guard digits.utf8.count == 14, text.hasSuffix("Z") else { return try? CivilTime.parse(text) }
        func part(_ start: Int, _ count: Int) -> String { String(digits.dropFirst(start).prefix(count)) }
        return try? CivilTime.parse(
            "\(part(0, 4))-\(part(4, 2))-\(part(6, 2))T\(part(8, 2)):\(part(10, 2)):\(part(12, 2))Z")
    }

    // MARK: Notes

    private func put(_ note: Note) throws(ImportExportError) {
        var item = note.item
        item.id = Self.id(of: note)
        if let notebook { item.draft.tags.append(notebook) }
        let folder = folder(of: item)
        item.setPath("\(folder)/note.md", in: sink)
        var names: [String: String] = [:]
        var used: Set<String> = []
        for (index, resource) in note.resources.enumerated() {
            guard let stored = resource.stored else { continue }
            let name = Self.fileName(of: resource, index, &used)
            names[resource.digest] = name
            item.files.append(ForeignFile(name: name, id: resource.digest, content: .stored(stored)))
        }
        let (text, labels) = try text(of: note, names, &item)
        try item.setText(text, subject: subject, limits: source.limits)
        for index in item.files.indices {
            item.files[index].path = sink.place(of: "\(folder)/\(item.files[index].name)")
        }
        idsOfTitle[(item.draft.title ?? "").lowercased(), default: []].append(item.id)
        if labels.isEmpty { try sink.put(item, name: item.draft.title) } else { linking.append((item, labels)) }
    }

    private static func id(of note: Note) -> String { "\(note.created) \(note.item.draft.title ?? "")" }

    private func folder(of item: ForeignItem) -> String {
        let title = item.draft.title.map { ExportNames.safe($0) } ?? "Untitled"
        var name = title
        var number = 1
        while !folders.insert(name.lowercased()).inserted {
            number += 1
            name = "\(title) \(number)"
        }
        return name
    }

    private static func fileName(of resource: Resource, _ index: Int, _ used: inout Set<String>) -> String {
        let ending = MediaType.fileExtension(of: resource.mediaType)
        let given = resource.name.trimmedBlanks()
        let name = ExportNames.safe(given.isEmpty ? "resource\(index + 1)\(ending)" : given)
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        var free = name
        var number = 1
        while !used.insert(free.lowercased()).inserted {
            number += 1
            free = "\(name[..<dot]) \(number)\(name[dot...])"
        }
        return free
    }

    /// - Returns: also the texts of links to other notes, by their destinations.
    private func text(
        of note: Note, _ names: [String: String], _ item: inout ForeignItem
    ) throws(ImportExportError) -> (text: String, labels: [String: String]) {
        guard !note.content.isEmpty else { return (Self.tasks(note, group: nil).joined(separator: "\n"), [:]) }
        let element = try HTMLElement.parse(Array(note.content.utf8), subject: subject)
        var tasksShown: Set<String> = []
        var sealed: Set<String> = []
        var labels: [String: String] = [:]
        var embedded = EmbeddedFiles()
        var converter = HTMLMarkdown()
        converter.special = { element in
            switch element.name {
            case "en-media": return Self.media(element, names)
            case "en-todo": return .inline(element.attributes["checked"] == "true" ? "[x] " : "[ ] ")
            case "en-crypt":
                sealed.insert(element.text)
                return .inline(Self.verbatim(element))
            case "div":
                guard element.styles["--en-task-group"] == "true", let group = element.styles["--en-id"] else {
                    return nil
                }
                tasksShown.insert(group)
                return .block(Self.tasks(note, group: group).joined(separator: "\n"))
            case "a":
                let target = element.attributes["href"] ?? ""
                if target.hasPrefix("evernote:") { labels[target] = element.text.trimmedBlanks() }
                return nil
            case "img": return embedded.take(element).map { .inline($0) }
            default: return nil
            }
        }
        var text = converter.markdown(of: element)
        if converter.hasLostLook { lostLookCount += 1 }
        sealedCount += sealed.count
        let rest = Self.tasks(note, group: nil, except: tasksShown)
        if !rest.isEmpty { text += (text.isEmpty ? "" : "\n") + rest.joined(separator: "\n") + "\n" }
        item.files += embedded.files
        return (text, labels)
    }

    private static func media(_ element: HTMLElement, _ names: [String: String]) -> HTMLMarkdown.Special {
        guard let name = names[(element.attributes["hash"] ?? "").asciiLowercased()] else { return .nothing }
        let isImage = element.attributes["type"]?.hasPrefix("image/") == true
        return .inline("\(isImage ? "![]" : "[\(MarkdownEscape.label(name))]")(\(linkDestination(name.utf8)))")
    }

    private static func verbatim(_ element: HTMLElement) -> String {
        let attributes = element.attributes.sorted { $0.key < $1.key }
            .map { " \($0.key)=\"\($0.value.replacing("\"", with: "&quot;"))\"" }
        return "<\(element.name)\(attributes.joined())>\(element.text.trimmedBlanks())</\(element.name)>"
    }

    /// The tasks of a group, or of all groups but some, as lines of a checklist.
    private static func tasks(_ note: Note, group: String?, except shown: Set<String> = []) -> [String] {
        note.tasks.compactMap { task in
            func value(_ name: String) -> String? { task.first { $0.name == name }?.value }
            let own = value("taskGroupNoteLevelID")?.asciiLowercased() ?? ""
            if let group { guard own == group else { return nil } } else if shown.contains(own) { return nil }
            var line = value("taskStatus") == "completed" ? "- [x] " : "- [ ] "
            line += MarkdownEscape.inline((value("title") ?? "").replacing("\n", with: " "))
            if let due = value("dueDate").flatMap(time) { line += " (due \(CivilTime.format(due)))" }
            if let reminder = value("reminder/reminderDate").flatMap(time) {
                line += " (reminder \(CivilTime.format(reminder)))"
            }
            return line
        }
    }
}

/// Pictures that stand in a text as `data:` addresses.
struct EmbeddedFiles {
    private(set) var files: [ForeignFile] = []
    /// The embeddings by the addresses that were met; nil for what cannot be decoded.
    private var known: [String: String?] = [:]

    /// The embedding of a picture that has become a file; nil for other pictures.
    mutating func take(_ image: HTMLElement) -> String? {
        let source = image.attributes["src"] ?? ""
        guard source.hasPrefix("data:") else { return nil }
        if let embedding = known[source] { return embedding }
        let embedding = decode(source, image)
        known[source] = embedding
        return embedding
    }

    private mutating func decode(_ source: String, _ image: HTMLElement) -> String? {
        guard let comma = source.firstIndex(of: ",") else { return nil }
        let kind = source[source.index(source.startIndex, offsetBy: 5)..<comma]
        let content = source[source.index(after: comma)...]
        let bytes: [UInt8]
        if kind.hasSuffix(";base64") {
            let clean = content.filter { !$0.isWhitespace }
            guard let decoded = try? Base64.standard.decode(String(clean)) else { return nil }
            bytes = decoded
        } else {
            guard let decoded = percentDecoded(Array(content.utf8)[...]) else { return nil }
            bytes = decoded
        }
        let type = String(kind.prefix { $0 != ";" })
        let name = "embedded \(files.count + 1)\(MediaType.fileExtension(of: type))"
        files.append(ForeignFile(name: name, content: .bytes(bytes)))
        return "![\(MarkdownEscape.label(image.attributes["alt"] ?? ""))](\(linkDestination(name.utf8)))"
    }
}
