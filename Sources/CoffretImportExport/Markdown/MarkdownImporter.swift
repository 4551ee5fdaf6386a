// Folders of Markdown into notes. Invariant: the text of a note is the text of its file, byte for byte; links work
// because the vault keeps each note's path, not because they were rewritten.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage

/// Imports a folder or archive of Markdown files, or a single one.
///
/// Notes get their folder as a nested tag beside those of the front matter. Every other file becomes an
/// attachment of the first note, in the order of paths, that mentions it, or of one note that collects what
/// no note mentions: nothing of the folder is left behind except what the listing skips by rule.
package struct MarkdownImporter: Importer {
    package let name = "markdown"
    package let title = "Markdown"

    private var readAhead: NoteReadAhead?

    package init() {}

    package func begun(on source: any ImportSource, keys: SourceKeys) throws(ImportExportError) -> any Importer {
        guard readAhead == nil else { return self }
        // A list of items is read before the notes, from the same source.
        let list = ItemListWriter.fileName.utf8
        guard !source.listing.entries.contains(where: { $0.path.bytes.elementsEqual(list) }) else { return self }
        var begun = self
        begun.readAhead = NoteReadAhead(source)
        return begun
    }

    package func detect(_ sample: SourceSample) throws(ImportExportError) -> ImportConfidence? {
        let entries = sample.source.listing.entries
        let count = entries.count { $0.path.isMarkdown }
        guard count > 0 else { return nil }
        return entries.count == 1 || count * 2 > entries.count ? .likely : .possible
    }

    package func run(_ source: any ImportSource, into session: ImportSession) throws(ImportExportError) {
        var pass = MarkdownImportPass(source: source, session: session)
        try pass.readItemList()
        try pass.readNotes(readAhead ?? NoteReadAhead(source))
        try pass.readFiles()
    }
}

/// The two passes over a source: texts first, since they say where files belong.
private struct MarkdownImportPass {
    private let source: any ImportSource
    private let session: ImportSession
    private let index: LinkIndex
    private let entries: [SourceEntry]
    /// For each file that a note mentions, the first such note's entry.
    private var ownerEntry: [Int: Int] = [:]
    /// The item of each note's entry.
    private var itemOfEntry: [Int: EntityID] = [:]
    /// The entry of a list of other items, and the items to which it gives files.
    private var itemList: Int?
    private var listedOwner: [Int: EntityID] = [:]
    /// Links by name that no file answers to, counted by the name in lower case: a title or an alias may.
    private var openNames: [String: Int] = [:]
    /// Titles and aliases of the notes, in lower case.
    private var names = Set<String>()
    /// Markdown files that are no text and become attachments.
    private var refused = Set<Int>()
    /// Whether some file is not known from an earlier import, so that mentions matter.
    private let hasNewFiles: Bool

    init(source: any ImportSource, session: ImportSession) {
        self.source = source
        self.session = session
        entries = source.listing.entries
        index = LinkIndex(entries)
        hasNewFiles = entries.contains { !$0.path.isMarkdown && session.record(ofKey: $0.path.bytes) == nil }
    }

    /// The list of other items that an export writes beside its notes.
    mutating func readItemList() throws(ImportExportError) {
        let name = SourcePath(cleanBytes: Array(ItemListWriter.fileName.utf8))
        guard let list = index.index(of: name),
            ItemListImporter.hasMarker(try source.prefix(ofEntry: list, byteCount: 1_024))
        else { return }
        itemList = list
        var files: [(reference: String, item: EntityID)] = []
        try source.visit({ $0 == list }) { (_, reader) throws(ImportExportError) in
            files = try ItemListImporter.read(reader, path: name, into: session)
        }
        for (reference, item) in files {
            guard let link = SourceLink(listed: reference), let target = index.resolve(link, from: name) else {
                session.report.warn(
                    "\(name.printable) names a file that is not there: \(printableText(reference.utf8))")
                continue
            }
            listedOwner[target] = item
        }
    }

    mutating func readNotes(_ notes: NoteReadAhead) throws(ImportExportError) {
        let noteByteCountMax = min(session.limits.noteByteCountMax, Item.textByteCountMax)
        for entry in entries where entry.path.isMarkdown && entry.byteCount > UInt64(noteByteCountMax) {
            throw ImportExportError(.noteTooLarge, at: "bytes \(entry.byteCount)", subject: entry.path.printable)
        }
        try notes.forEachNote { (note) throws(ImportExportError) in
            try put(note)
            session.didRead(byteCount: note.byteCount)
        }
        for (name, count) in openNames where names.contains(name) { session.report.danglingLinks -= count }
    }

    private mutating func put(_ read: ReadNote) throws(ImportExportError) {
        let entry = read.entry
        let path = entries[entry].path
        let hash = read.contentHash
        if case .unchanged(let record) = session.standing(ofKey: path.bytes, contentHash: hash), !hasNewFiles,
            ItemKind(record.target) != nil
        {
            // Nothing of it can matter.
            _ = try session.put(ItemDraft(), key: path.bytes, contentHash: hash, name: path.printable)
            return
        }
        switch read.content {
        case .failure(let refusal):
            refused.insert(entry)
            let reason = refusal.reason == .notUTF8 ? "not UTF-8" : "holds NUL bytes"
            session.report.warn("\(reason), kept as a file: \(path.printable)")
        case .success(let note):
            if !path.isUTF8 { session.report.warn("name is not UTF-8: \(path.printable)") }
            noteMentions(of: note, entry: entry)
            itemOfEntry[entry] = try session.put(
                draft(note, entry: entries[entry]), key: path.bytes, contentHash: hash, name: path.printable,
                rawNames: note.rawFields.map(\.label), scan: note.scan
            ) { record in
                record.hasByteOrderMark = note.hasByteOrderMark
                record.frontMatter = note.frontMatter.map { FrontMatterWriter.text(replacing: [], in: $0) } ?? ""
            }
        }
    }

    private func draft(_ note: NoteFile, entry: SourceEntry) -> ItemDraft {
        var draft = note.draft
        let modified = note.modified ?? entry.modifiedMilliseconds
        draft.modified = modified
        draft.created = note.created ?? modified
        draft.path = itemPath(of: entry.path, root: session.root)
        return draft
    }

    private mutating func noteMentions(of note: NoteFile, entry: Int) {
        let path = entries[entry].path
        for name in note.names { names.insert(name.lowercased()) }
        for link in note.links {
            guard let target = index.resolve(link, from: path) else {
                session.report.danglingLinks += 1
                if case .wiki(let name) = link.target {
                    openNames[String(decoding: name, as: UTF8.self).lowercased(), default: 0] += 1
                }
                if link.isEmbed {
                    session.report.warn("\(path.printable) shows a file that is not there: \(link.printable)")
                }
                continue
            }
            guard !entries[target].path.isMarkdown else { continue }
            // The first in the order of paths, whatever the order of an archive.
            ownerEntry[target] = min(ownerEntry[target] ?? entry, entry)
        }
    }

    mutating func readFiles() throws(ImportExportError) {
        let isFile = { [entries, refused, itemList] (index: Int) in
            index != itemList && (!entries[index].path.isMarkdown || refused.contains(index))
        }
        var unchanged = Set<Int>()
        let hasRecord = { [entries, session] (index: Int) in
            isFile(index) && session.record(ofKey: entries[index].path.bytes) != nil
        }
        // Files that an earlier import attached are hashed first; only what changed is read into the vault.
        try source.visit(hasRecord) { (index, reader) throws(ImportExportError) in
            var hasher = BLAKE2bHasher(byteCount: 32)
            try reader.forEachPiece(byteCountMax: session.limits.fileByteCountMax) { piece in
                hasher.update(Array(piece))
            }
            let path = entries[index].path
            if case .unchanged(let record) = session.standing(ofKey: path.bytes, contentHash: hasher.finish()) {
                session.keepFile(record)
                session.didRead(byteCount: Int(clamping: entries[index].byteCount), stage: .attaching)
                unchanged.insert(index)
            }
        }
        try source.visit({ isFile($0) && !unchanged.contains($0) }) { (index, reader) throws(ImportExportError) in
            try attach(index, reader)
        }
    }

    private func attach(_ index: Int, _ reader: any SourceEntryReader) throws(ImportExportError) {
        let entry = entries[index]
        var owner = listedOwner[index] ?? ownerEntry[index].flatMap { itemOfEntry[$0] }
        if let record = session.record(ofKey: entry.path.bytes) {
            owner = try session.owner(ofAttachment: record.target) ?? owner
        }
        let item: EntityID
        if let owner { item = owner } else { item = try session.collector() }
        let stored = try session.storeFile(reader)
        try session.attach(
            stored, to: item, key: entry.path.bytes, name: String(decoding: entry.path.name, as: UTF8.self),
            path: itemPath(of: entry.path, root: session.root), created: entry.modifiedMilliseconds)
        session.didRead(byteCount: stored.byteCount, stage: .attaching)
    }
}

/// The path of an item or attachment in the vault: the name of the import, then the path in it.
func itemPath(of path: SourcePath, root: String) -> String {
    root + "/" + String(decoding: path.bytes, as: UTF8.self)
}

extension SourceLink {
    /// The target for people.
    var printable: String {
        switch target {
        case .path(let bytes), .wiki(let bytes): printableText(bytes)
        }
    }
}

extension NoteFile {
    /// The item that the file describes, without what only its place knows.
    var draft: ItemDraft {
        var tags: [TagPath] = []
        for tag in [folderTag].compactMap({ $0 }) + frontMatterTags
        where !tags.contains(where: { $0.folded == tag.folded }) {
            tags.append(tag)
        }
        var draft = ItemDraft(
            kind: .note, title: givenTitle, text: String(decoding: text, as: UTF8.self), fields: itemFields, tags: tags)
        draft.created = created
        draft.modified = modified
        draft.flags = flags
        return draft
    }

    /// The title and the aliases.
    var names: [String] {
        let item = draft
        let title = item.title ?? scan.title
        return [title] + NoteLink.aliases(fields: item.fields, text: item.text)
    }

    /// The raw fields with keys made from their labels, so that a second import writes the same fields.
    private var itemFields: [ItemField] {
        var seen: [String: Int] = [:]
        return rawFields.enumerated().compactMap { position, field in
            seen[field.label, default: 0] += 1
            let number = seen[field.label, default: 1]
            let digest = BLAKE2b.hash(Array("\(number) \(field.label)".utf8), byteCount: 16)
            guard let key = FieldKey("x-" + Hex.encode(digest.prefix(8))) else { return nil }
            return ItemField(
                key: key, label: field.label, kind: .text, value: field.value, position: UInt32(position) + 1)
        }
    }
}
