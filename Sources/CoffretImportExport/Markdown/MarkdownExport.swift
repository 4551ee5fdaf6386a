// A vault as a folder of Markdown. Invariant: what was imported goes back to where it came from, and what Markdown
// cannot hold is written beside it, not left out.

internal import CoffretBase
package import CoffretCore
package import CoffretStorage

/// The outcome of an export.
package struct ExportReport: Equatable, Sendable {
    /// Notes written.
    package var notes = 0
    /// Of these, how many have exactly the bytes that were imported.
    package var identical = 0
    /// Files written for attachments.
    package var attachments = 0
    /// Faults of contents that were left out, by their references.
    package var faults: [[UInt8]: AttachmentFault] = [:]
    /// Logins and other items, in `coffret-items.json`, with their secrets in clear.
    package var otherItems = 0
    /// Items left out because they are in the trash.
    package var trashed = 0
    /// Notes left out because they are locked.
    package var locked = 0
    /// Bytes written.
    package var byteCount: UInt64 = 0
    /// Messages for the person.
    package var warnings: [String] = []

    package init() {}

    /// Warns of values that several devices wrote, of which a file can hold one.
    mutating func warnOfConflicts(_ item: Item) {
        guard !item.conflicts.isEmpty else { return }
        warnings.append("of concurrent values only the shown one is written: \(printableText(item.title.utf8))")
    }
}

/// How a folder is written.
package struct MarkdownExportOptions: Sendable {
    /// Whether a folder that is not empty may be written into, replacing files of the same names.
    package var mayReplace = false
    /// Whether items in the trash are written too.
    package var includesTrash = false
    /// The items that are written; nil for all.
    package var only: Set<EntityID>?

    package init() {}
}

extension Vault {
    /// Writes all notes as Markdown files into a folder, other items beside them.
    ///
    /// Files have mode 0600, folders 0700. Everything is in clear: it is for leaving, or for other programs.
    /// - Parameter isStopped: asked before each item; what was written until then stays.
    /// - Throws: `.targetOccupied` before anything is written, `.targetUnwritable`, `.vaultFailed`, `.stopped`.
    package func exportMarkdown(
        to target: String, files: (any FileContentStore)? = nil,
        options: MarkdownExportOptions = MarkdownExportOptions(),
        progress: (WorkProgress) -> Void = { _ in }, isStopped: () -> Bool = { false }
    ) throws(ImportExportError) -> ExportReport {
        try export(
            to: target, files: files, mayReplace: options.mayReplace,
            isWanted: { options.only?.contains($0) ?? true }, progress: progress, isStopped: isStopped
        ) { (view, output) throws(ImportExportError) in
            try MarkdownExportRun(view: view, output: output, options: options)
        }
    }
}

/// One export on its way.
private struct MarkdownExportRun: ItemExport {
    let options: MarkdownExportOptions
    var output: ExportOutput
    private var recordOf: [EntityID: (root: String, record: FileRecord)] = [:]
    private var collectors = Set<EntityID>()
    private var names: ExportNames
    /// Of notes that were written or linked to so far, where they lie.
    private var places: [EntityID: SourcePath] = [:]
    /// The same of files that no import of Markdown brought.
    private var filePlaces: [EntityID: SourcePath] = [:]
    private let view: VaultView
    /// Whether the folder of the import stands above its files: only if there are several imports.
    private let keepsRoots: Bool
    private let limits = ImportLimits()

    init(view: VaultView, output: ExportOutput, options: MarkdownExportOptions) throws(ImportExportError) {
        self.output = output
        self.options = options
        self.view = view
        let reader = SourceRecordReader(snapshot: view.snapshot)
        let sources = try reader.sources().filter { $0.format == MarkdownImporter().name }
        keepsRoots = sources.count > 1
        var taken: [SourcePath] = []
        for source in sources {
            if let collector = source.collector { collectors.insert(collector) }
            for record in try reader.files(of: source.entity).values {
                recordOf[record.target] = (source.root, record)
                taken.append(try Self.path(of: record, root: keepsRoots ? source.root : nil, limits: limits))
            }
        }
        names = ExportNames(taken: taken)
    }

    /// Checked again: what stands in a vault may come from another device.
    private static func path(
        of record: FileRecord, root: String?, limits: ImportLimits
    ) throws(ImportExportError) -> SourcePath {
        let prefix = root.map { Array(($0 + "/").utf8) } ?? []
        return try SourcePath(validating: prefix + record.key, limits: limits)
    }

    private func importedPath(_ id: EntityID) throws(ImportExportError) -> SourcePath? {
        guard let (root, record) = recordOf[id] else { return nil }
        return try Self.path(of: record, root: keepsRoots ? root : nil, limits: limits)
    }

    mutating func write(_ item: Item) throws(ImportExportError) {
        guard !output.leavesOut(item, isTrashLeftOut: !options.includesTrash) else { return }
        guard item.kind == .note else { return try writeOther(item) }
        output.report.warnOfConflicts(item)
        let path = try place(of: item)
        let (written, moved) = try writeAttachments(of: item, beside: path)
        if collectors.contains(item.id), item.text.hasPrefix("Files that came with the import of ") { return }
        let record = recordOf[item.id]?.record
        let isUntouched = record.map { $0.stateHash == itemStateHash(item) } ?? false
        var item = item
        if !isUntouched { item.text = try relinkedText(of: item, at: path, moved) }
        let mentions = Set(
            MarkdownScan(item.text).links.compactMap { SourceLink.relativePath(of: Array($0.destination.utf8)) })
        // A file that an import attached is found by its place again; one that was attached in the vault must be
        // named.
        let unmentioned = written.filter { !mentions.contains(percentDecoded($0[...]) ?? $0) }
        let writer = NoteWriter(
            item: item, record: record, path: path, unmentioned: unmentioned.map { String(decoding: $0, as: UTF8.self) }
        )
        try output.write(try writer.bytes(), to: path, modified: item.modified)
        output.report.notes += 1
        if isUntouched, unmentioned.isEmpty { output.report.identical += 1 }
    }

    private mutating func place(of item: Item) throws(ImportExportError) -> SourcePath {
        if let known = places[item.id] { return known }
        let path = try importedPath(item.id) ?? names.pathOfNote(item)
        places[item.id] = path
        return path
    }

    private mutating func place(of file: Attachment, beside path: SourcePath) -> SourcePath {
        if let known = filePlaces[file.id] { return known }
        let target = names.pathOfAttachment(file, beside: path)
        filePlaces[file.id] = target
        return target
    }

    /// The text with links that work in the folder: to files that lie elsewhere than in their import, and to notes by their ids.
    private mutating func relinkedText(
        of item: Item, at path: SourcePath, _ moved: [String: SourcePath]
    ) throws(ImportExportError) -> String {
        var linked: [String: SourcePath] = [:]
        if item.text.asciiLowercased().containsBytes(of: NoteLink.scheme) {
            for link in MarkdownScan(item.text).links {
                guard let target = try self.linked(link.destination) else { continue }
                linked[link.destination] = try place(of: target)
            }
        }
        for (destination, place) in try placesOfOthers(shownBy: item, moved) { linked[destination] = place }
        guard !linked.isEmpty || !moved.isEmpty else { return item.text }
        return relinked(item.text) { destination in
            let target =
                linked[destination] ?? NoteLink.relativePath(destination, from: item.path).flatMap { moved[$0] }
            return target.map { linkDestination($0.reference(from: path.folder)) }
        }
    }

    /// Where files of other notes lie that a text shows, by its destinations: Joplin's notes may show one file, which belongs to the
    /// first of them.
    private mutating func placesOfOthers(
        shownBy item: Item, _ moved: [String: SourcePath]
    ) throws(ImportExportError) -> [String: SourcePath] {
        guard let own = item.path, !output.owners.isEmpty else { return [:] }
        var places: [String: SourcePath] = [:]
        for link in MarkdownScan(item.text).links {
            guard let old = NoteLink.relativePath(link.destination, from: own), moved[old] == nil,
                let (file, owner) = output.owners[old], owner != item.id, recordOf[file.id] == nil,
                let note = try wrappingVaultErrors({ try view.item(owner) }), note.kind == .note, !note.isSealed,
                options.includesTrash || !note.isTrashed
            else { continue }
            places[link.destination] = try place(of: file, beside: place(of: note))
        }
        return places
    }

    /// The note that a link names by its id, if the folder gets it.
    private func linked(_ destination: String) throws(ImportExportError) -> Item? {
        guard let id = NoteLink.note(ofAddress: destination), options.only?.contains(id) ?? true,
            let item = try wrappingVaultErrors({ try view.item(id) }), !item.isSealed,
            options.includesTrash || !item.isTrashed
        else { return nil }
        return item
    }

    /// Writes the files of an item.
    ///
    /// - Returns: references to those that no import of Markdown brought, from the folder of `path`; of these, the places of those that had
    ///   a path in their import.
    private mutating func writeAttachments(
        of item: Item, beside path: SourcePath
    ) throws(ImportExportError) -> (references: [[UInt8]], moved: [String: SourcePath]) {
        var references: [[UInt8]] = []
        var moved: [String: SourcePath] = [:]
        for attachment in item.attachments {
            let imported = try importedPath(attachment.id)
            let target = imported ?? place(of: attachment, beside: path)
            guard try output.write(attachment, to: target) else { continue }
            guard imported == nil else { continue }
            references.append(percentEncoded(target.reference(from: path.folder)))
            if let old = attachment.path { moved[old] = target }
        }
        return (references, moved)
    }

    private mutating func writeOther(_ item: Item) throws(ImportExportError) {
        let place = SourcePath(cleanBytes: Array(ItemListWriter.fileName.utf8))
        let paths = try writeAttachments(of: item, beside: place).references
        output.add(other: item, attachments: paths.map { String(decoding: $0, as: UTF8.self) })
    }

    mutating func finish() throws(ImportExportError) { try output.finish(&names) }
}
