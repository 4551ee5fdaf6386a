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
        let files = try fileContents(files)
        try wrappingVaultErrors { try checkNothingIsVeiled() }
        let view = try wrappingVaultErrors { try present }
        var ids: [EntityID] = []
        try wrappingVaultErrors {
            try view.forEachItem { if options.only?.contains($0.id) ?? true { ids.append($0.id) } }
        }
        let folder = try ExportFolder(path: target, mayReplace: options.mayReplace)
        var run = try MarkdownExportRun(view: view, files: files, folder: folder, options: options)
        for (index, id) in ids.enumerated() {
            if isStopped() { throw ImportExportError(.stopped) }
            guard let item = try wrappingVaultErrors({ try view.item(id) }) else { continue }
            try run.write(item)
            progress(
                WorkProgress(
                    stage: .writing, doneCount: index + 1, totalCount: ids.count, byteCount: run.report.byteCount))
        }
        try run.finish()
        return run.report
    }
}

/// One export on its way.
private struct MarkdownExportRun {
    let view: VaultView
    let files: any FileContentStore
    let folder: ExportFolder
    let options: MarkdownExportOptions
    var report = ExportReport()
    private var recordOf: [EntityID: (root: String, record: FileRecord)] = [:]
    private var collectors = Set<EntityID>()
    private var names: ExportNames
    private var otherItems: [JSONValue] = []
    /// Whether the folder of the import stands above its files: only if there are several imports.
    private let keepsRoots: Bool
    private let limits = ImportLimits()

    init(
        view: VaultView, files: any FileContentStore, folder: ExportFolder, options: MarkdownExportOptions
    ) throws(ImportExportError) {
        self.view = view
        self.files = files
        self.folder = folder
        self.options = options
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
        if item.isTrashed, !options.includesTrash {
            report.trashed += 1
            return
        }
        guard !item.isSealed else {
            report.locked += 1
            return
        }
        guard item.kind == .note else { return try writeOther(item) }
        if !item.conflicts.isEmpty {
            report.warnings.append(
                "of concurrent values only the shown one is written: \(printableText(item.title.utf8))")
        }
        let path = try importedPath(item.id) ?? names.pathOfNote(item)
        let written = try writeAttachments(of: item, beside: path)
        if collectors.contains(item.id), item.text.hasPrefix("Files that came with the import of ") { return }
        let mentions = Set(
            MarkdownScan(item.text).links.compactMap { SourceLink.relativePath(of: Array($0.destination.utf8)) })
        // A file that an import attached is found by its place again; one that was attached in the vault must be
        // named.
        let unmentioned = written.filter { !mentions.contains(percentDecoded($0[...]) ?? $0) }
        let record = recordOf[item.id]?.record
        let writer = NoteWriter(
            item: item, record: record, path: path, unmentioned: unmentioned.map { String(decoding: $0, as: UTF8.self) }
        )
        let bytes = try writer.bytes()
        try folder.write(path, modifiedMilliseconds: item.modified) { (write) throws(ImportExportError) in
            try write(bytes[...])
        }
        report.notes += 1
        report.byteCount += UInt64(bytes.count)
        if let record, record.stateHash == itemStateHash(item), unmentioned.isEmpty { report.identical += 1 }
    }

    /// Writes the files of an item.
    ///
    /// - Returns: references to those that no import brought, from the folder of `path`.
    private mutating func writeAttachments(
        of item: Item, beside path: SourcePath
    ) throws(ImportExportError) -> [[UInt8]] {
        var references: [[UInt8]] = []
        for attachment in item.attachments {
            let imported = try importedPath(attachment.id)
            let target = imported ?? names.pathOfAttachment(attachment, beside: path)
            let files = files
            do throws(ImportExportError) {
                try folder.write(target, modifiedMilliseconds: attachment.created) {
                    (write) throws(ImportExportError) in
                    try files.load(attachment.encodedReference, write)
                }
            } catch {
                // The caller names it; everything else goes on.
                guard error.code == .vaultFailed, let fault = error.cause.flatMap(AttachmentFault.init) else {
                    throw error
                }
                report.faults[attachment.encodedReference] = fault
                continue
            }
            report.attachments += 1
            report.byteCount += UInt64(max(0, attachment.byteCount))
            if imported == nil { references.append(percentEncoded(target.reference(from: path.folder))) }
        }
        return references
    }

    private mutating func writeOther(_ item: Item) throws(ImportExportError) {
        let place = SourcePath(cleanBytes: Array(ItemListWriter.fileName.utf8))
        let paths = try writeAttachments(of: item, beside: place)
        otherItems.append(
            ItemListWriter.value(of: item, attachments: paths.map { String(decoding: $0, as: UTF8.self) }))
        report.otherItems += 1
    }

    mutating func finish() throws(ImportExportError) {
        if !otherItems.isEmpty {
            var bytes = Array((ItemListWriter.list(otherItems).text(.pretty) + "\n").utf8)
            defer { bytes.zero() }
            let path = names.free(ItemListWriter.fileName)
            try folder.write(path, modifiedMilliseconds: nil) { (write) throws(ImportExportError) in
                try write(bytes[...])
            }
            report.byteCount += UInt64(bytes.count)
            report.warnings.append("\(path.printable) holds passwords and other secrets in clear")
        }
        try folder.synchronize()
    }
}
