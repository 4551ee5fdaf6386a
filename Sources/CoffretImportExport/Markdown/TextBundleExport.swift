// A vault as TextBundles, one for each note, in a folder or in one archive. Invariant: a note that nobody touched since it was imported from a bundle is
// written with the bytes that came in, and its files lie where its text says.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage

extension Vault {
    /// Writes all notes as bundles into a folder or an archive, other items beside them.
    ///
    /// Files have mode 0600, folders 0700. Everything is in clear: it is for leaving, or for other programs.
    /// - Parameters:
    ///   - isPack: whether the target is one zip file with all bundles (TextPack), and no folder.
    ///   - isStopped: asked before each item; what was written until then stays in a folder, and nothing of an archive.
    /// - Throws: `.targetOccupied` before anything is written, `.targetUnwritable`, `.vaultFailed`, `.stopped`.
    package func exportTextBundles(
        to target: String, isPack: Bool = false, files: (any FileContentStore)? = nil,
        progress: (WorkProgress) -> Void = { _ in }, isStopped: () -> Bool = { false }
    ) throws(ImportExportError) -> ExportReport {
        try export(to: target, files: files, isArchive: isPack, progress: progress, isStopped: isStopped) {
            (view, output) throws(ImportExportError) in
            try TextBundleExportRun(view: view, output: output)
        }
    }
}

/// One export on its way.
private struct TextBundleExportRun: ItemExport {
    var output: ExportOutput
    private var names: ExportNames
    /// Of notes that came from bundles: the path of the text in its import, and the state that the import left.
    private var origins: [EntityID: Origin] = [:]
    /// The notes that lie in bundles, by the paths of their imports.
    private var noteOfPath: [String: EntityID] = [:]
    /// What the `info.json` of each note calls it.
    private var namesOfNotes: [EntityID: String] = [:]
    private let limits = ImportLimits()

    private struct Origin {
        let text: SourcePath
        let stateHash: [UInt8]
        /// BLAKE2b-256 of the text as it came in; nil if that is not known.
        let textHash: [UInt8]?
        /// The bundle's `info.json` as it came in.
        let info: String
    }

    init(view: VaultView, output: ExportOutput) throws(ImportExportError) {
        self.output = output
        let reader = SourceRecordReader(snapshot: view.snapshot)
        let sources = try reader.sources()
        // With several imports of bundles their folders may have the same names; then all get new ones.
        let bundled = sources.filter { ["textbundle", "bear"].contains($0.format) }
        var taken: [SourcePath] = []
        if bundled.count == 1, let source = bundled.first {
            let records = try reader.files(of: source.entity)
            var stateOfItem: [EntityID: [UInt8]] = [:]
            for record in records.values where ItemKind(record.target) != nil {
                stateOfItem[record.target] = record.stateHash
            }
            for (id, hash) in stateOfItem {
                guard let path = try wrappingVaultErrors({ try view.item(id)?.path }),
                    path.hasPrefix(source.root + "/"),
                    let text = try? SourcePath(
                        validating: Array(path.utf8.dropFirst(source.root.utf8.count + 1)), limits: limits),
                    !text.folder.isEmpty,
                    let info = records[Array(text.folder) + [0x2F] + NoteBundles.infoName]?.frontMatter, !info.isEmpty
                else { continue }
                origins[id] = Origin(
                    text: text, stateHash: hash, textHash: records[text.bytes]?.contentHash, info: info)
                taken.append(SourcePath(cleanBytes: Array(text.folder)))
            }
        }
        names = ExportNames(taken: taken)
        try wrappingVaultErrors {
            try view.forEachItem { item in
                guard item.kind == .note, !item.isSealed, !item.isTrashed || origins[item.id] != nil else { return }
                namesOfNotes[item.id] = TextBundleInfo.identifier(of: item.id)
                if let path = item.path { noteOfPath[path] = item.id }
            }
        }
        for (id, origin) in origins {
            let info = try? BundleInfo(Array(origin.info.utf8), subject: "", limits: limits)
            namesOfNotes[id] = info?.id
        }
    }

    mutating func write(_ item: Item) throws(ImportExportError) {
        guard !output.leavesOut(item, isTrashLeftOut: origins[item.id] == nil) else { return }
        guard item.kind == .note else { return try writeOther(item) }
        output.report.warnOfConflicts(item)
        let origin = origins[item.id]
        let place = origin?.text ?? newBundle(for: item)
        let assets = try writeAssets(of: item, place)
        let text = relinked(item.text) { destination in
            let path = NoteLink.relativePath(destination, from: item.path)
            if let asset = path.flatMap({ assets[$0] }) { return asset }
            // Links by paths work from where a bundle lay before.
            let note =
                NoteLink.note(ofAddress: destination) ?? (origin == nil ? path.flatMap { noteOfPath[$0] } : nil)
            return note.flatMap { namesOfNotes[$0] }.map { BearLink.address(of: $0) }
        }
        let isIdentical = origin.map { $0.stateHash == itemStateHash(item) } ?? false
        let info = isIdentical ? origin?.info ?? "" : TextBundleInfo.text(of: item, named: namesOfNotes[item.id])
        try output.write(Array(text.utf8), to: place, modified: item.modified)
        try output.write(
            Array(info.utf8), to: SourcePath(cleanBytes: Array(place.folder) + [0x2F] + NoteBundles.infoName),
            modified: item.modified)
        output.report.notes += 1
        if isIdentical, origin?.textHash == BLAKE2b.hash(Array(text.utf8)) { output.report.identical += 1 }
    }

    private mutating func newBundle(for item: Item) -> SourcePath {
        let name = item.title.isEmpty ? "Untitled" : ExportNames.safe(item.title)
        let bundle = names.free(name, fileExtension: ".textbundle")
        return SourcePath(cleanBytes: bundle.bytes + Array("/text.md".utf8))
    }

    /// Writes the files of a note.
    ///
    /// - Returns: the destinations in the new text, by the paths that the old one means; nothing for files that stay where
    ///   the text has them.
    private mutating func writeAssets(
        of item: Item, _ place: SourcePath
    ) throws(ImportExportError) -> [String: String] {
        var destinations: [String: String] = [:]
        var used = ExportNames(taken: [])
        let bundle = Array(place.folder)
        for attachment in item.attachments {
            var target = used.free("assets/" + ExportNames.safe(attachment.name))
            if origins[item.id] != nil, let path = attachment.path, let end = path.firstRange(of: ".textbundle/"),
                let own = try? SourcePath(validating: Array(path[end.upperBound...].utf8), limits: limits)
            {
                target = own
            } else if let path = attachment.path {
                destinations[path] = linkDestination(target.bytes)
            }
            let path = SourcePath(cleanBytes: bundle + [0x2F] + target.bytes)
            _ = try output.write(attachment, to: path)
        }
        return destinations
    }

    private mutating func writeOther(_ item: Item) throws(ImportExportError) {
        var references: [String] = []
        for attachment in item.attachments {
            let place = SourcePath(cleanBytes: Array(ItemListWriter.fileName.utf8))
            let path = names.pathOfAttachment(attachment, beside: place)
            if try output.write(attachment, to: path) { references.append(linkDestination(path.bytes)) }
        }
        output.add(other: item, attachments: references)
    }

    mutating func finish() throws(ImportExportError) { try output.finish(&names) }
}

/// The `info.json` that Coffret writes. Bear's members carry what TextBundle has no place for, so that both read them; a member of
/// our own carries what Bear reads from the text alone, or not at all.
enum TextBundleInfo {
    /// The member of our own, and its members.
    static let ours = "coffret"
    static let (tags, title, fields) = ("tags", "title", "fields")

    /// - Parameter name: by which links name the note; nil for its id.
    static func text(of item: Item, named name: String?) -> String {
        func flag(_ isSet: Bool) -> JSONValue { .integer(isSet ? 1 : 0) }
        let bear = [
            JSONValue.Member("archived", flag(item.isArchived)),
            JSONValue.Member("creationDate", .string(CivilTime.format(item.created))),
            JSONValue.Member("modificationDate", .string(CivilTime.format(item.modified))),
            JSONValue.Member("pinned", flag(item.isPinned)), JSONValue.Member("trashed", flag(item.isTrashed)),
            JSONValue.Member("uniqueIdentifier", .string(name ?? identifier(of: item.id))),
        ]
        var own = [JSONValue.Member(tags, .array(item.givenTags.map { .string($0.path) }))]
        if let given = item.givenTitle { own.append(JSONValue.Member(title, .string(given))) }
        if !item.fields.isEmpty {
            own.append(JSONValue.Member(fields, .array(item.fields.map { ItemListWriter.field(of: $0, in: .note) })))
        }
        let members = [
            JSONValue.Member(ours, .object(own)), JSONValue.Member("creatorIdentifier", .string("coffret")),
            JSONValue.Member("net.shinyfrog.bear", .object(bear)), JSONValue.Member("transient", .bool(false)),
            JSONValue.Member("type", .string("net.daringfireball.markdown")), JSONValue.Member("version", .integer(2)),
        ]
        return JSONValue.object(members).text(.pretty) + "\n"
    }

    /// What names a note that Bear did not name.
    static func identifier(of id: EntityID) -> String { id.uuid.description.uppercased() }
}

/// Addresses by which texts link to notes of Bear.
enum BearLink {
    static let start = "bear://x-callback-url/open-note"

    static func address(of id: String) -> String { start + "?id=" + id }

    /// The id in a link; nil for any other address.
    static func id(in destination: String) -> String? {
        guard destination.hasPrefix(start), let query = destination.split(separator: "?").dropFirst().first else {
            return nil
        }
        return query.split(separator: "&").first { $0.hasPrefix("id=") }.map { String($0.dropFirst(3)) }
    }
}
