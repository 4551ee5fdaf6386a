// Importers write through this session: it knows the records of earlier imports of the same source, and decides for
// each entry whether it is new, unchanged, changed, or changed on both sides. Invariant: an import never overwrites a
// person's changes in the vault.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage

/// One import in progress.
package final class ImportSession {
    /// The vault that is imported into.
    package let vault: Vault
    /// Where the name of this import goes in the paths of its items, so that the paths of two imports differ.
    package var root: String { source.root }
    /// The outcome so far; importers add warnings.
    package var report = ImportReport()
    /// The limits of the source.
    package let limits: ImportLimits

    let batch: VaultBatch
    private let isDryRun: Bool
    private let files: any FileContentStore
    private let random: any RandomSource
    private let progress: (WorkProgress) -> Void
    /// Asked before each item, and a last time before the batch is written.
    private let isStopped: () -> Bool
    private var source: SourceRecord
    private let oldSource: SourceRecord?
    private let records: [[UInt8]: FileRecord]
    private var seenKeys = Set<[UInt8]>()
    /// Ids of items that texts linked to before they were made.
    private var identities: [[UInt8]: UniqueID] = [:]
    private var tags = Set<String>()
    private var hasChanges = false
    private let totalCount: Int
    private var doneCount = 0

    /// How an entry stands to the last import.
    enum Standing {
        case new
        case unchanged(FileRecord)
        case changed(FileRecord)
    }

    init(
        vault: Vault, batch: VaultBatch, files: any FileContentStore, source origin: any ImportSource,
        importer: any Importer, random: any RandomSource, isDryRun: Bool, progress: @escaping (WorkProgress) -> Void,
        isStopped: @escaping () -> Bool
    ) throws(ImportExportError) {
        self.vault = vault
        self.batch = batch
        self.files = files
        self.random = random
        self.isDryRun = isDryRun
        self.progress = progress
        self.isStopped = isStopped
        limits = origin.limits
        totalCount = origin.listing.entries.count
        let reader = SourceRecordReader(snapshot: try wrappingVaultErrors { try vault.present.snapshot })
        let format = importer.name
        let known = try reader.sources().filter { $0.format == format }
        if let match = try EarlierImport.find(of: origin, by: importer, among: known, reader: reader) {
            oldSource = match.record
            records = match.files
            source = match.record
            source.location = origin.location
        } else {
            oldSource = nil
            records = [:]
            let name = String(printableText(origin.name.utf8).prefix(120))
            let taken = Set(try reader.sources().map(\.root))
            source = SourceRecord(
                entity: EntityID(kind: EntityKind.importRecord, uuid: UniqueID.generate(from: random)), format: format,
                name: name, location: origin.location, root: Self.freeRoot(name, taken: taken))
        }
        report.format = format
        report.hidden = origin.listing.skippedCounts[.hidden] ?? 0
        for (reason, count) in origin.listing.skippedCounts where reason != .hidden { report.dropped += count }
        for sample in origin.listing.skippedSamples { report.warn("left out: \(sample)") }
        progress(WorkProgress(stage: .listing, doneCount: totalCount, totalCount: totalCount, byteCount: 0))
    }

    private static func freeRoot(_ name: String, taken: Set<String>) -> String {
        let clean = String(name.map { $0 == "/" ? "-" : $0 })
        let base = clean.isEmpty || clean == "." || clean == ".." ? "import" : clean
        guard taken.contains(base) else { return base }
        var number = 2
        while taken.contains("\(base) (\(number))") { number += 1 }
        return "\(base) (\(number))"
    }

    // MARK: Entries

    /// How an entry with this key and hash stands to the last import.
    func standing(ofKey key: [UInt8], contentHash: [UInt8]) -> Standing {
        guard let record = records[key] else { return .new }
        return record.contentHash == contentHash ? .unchanged(record) : .changed(record)
    }

    /// The path of a list by which the keys of its items begin: that of the earlier import, whose file may have had another name.
    func listPath(_ path: SourcePath) -> SourcePath {
        // Beside notes it is always called so.
        let beside = Array(ItemListWriter.fileName.utf8)
        guard path.bytes != beside else { return path }
        let known = Set(records.keys.compactMap { key in key.firstIndex(of: 0).map { Array(key[..<$0]) } })
        let earlier = known.subtracting([beside]).min { $0.lexicographicallyPrecedes($1) }
        guard let earlier, !known.contains(path.bytes) else { return path }
        return SourcePath(cleanBytes: earlier)
    }

    /// The record of a key, whatever its content now.
    func record(ofKey key: [UInt8]) -> FileRecord? { records[key] }

    /// The id that the item of a key has or will have.
    func identity(ofKey key: [UInt8]) -> UniqueID {
        if let record = records[key] { return record.target.uuid }
        if let known = identities[key] { return known }
        let id = UniqueID.generate(from: random)
        identities[key] = id
        return id
    }

    /// Says that an entry was read.
    func didRead(byteCount: Int, stage: WorkProgress.Stage = .reading) {
        doneCount += 1
        report.byteCount += UInt64(byteCount)
        progress(
            WorkProgress(
                stage: stage, doneCount: min(doneCount, totalCount), totalCount: totalCount, byteCount: report.byteCount
            ))
    }

    /// Writes an item, or finds that it is already there.
    ///
    /// - Parameters:
    ///   - key: what names the item in its source.
    ///   - contentHash: BLAKE2b-256 of its foreign form.
    ///   - name: of the item, for the report.
    ///   - rawNames: the labels of fields that were kept because nothing means them.
    ///   - sealed: the content of a note in the place of its text.
    ///   - constants: of the program that sealed it.
    ///   - scan: of the draft's text, if the importer has made it anyway; nil to make it here.
    ///   - form: completes the record that is kept of it.
    /// - Returns: the item that now stands for the entry; nil if it was deleted in the vault and stays so.
    @discardableResult
    func put(
        _ draft: ItemDraft, key: [UInt8], contentHash: [UInt8], name: String, rawNames: [String] = [],
        scan: MarkdownScan? = nil, sealed: ForeignSealedNote? = nil, constants: LockConstants? = nil,
        form: (inout FileRecord) -> Void = { _ in }
    ) throws(ImportExportError) -> EntityID? {
        let item = try putOpen(
            draft, key: key, contentHash: contentHash, name: name, rawNames: rawNames, scan: scan, form: form)
        guard let sealed, let item else { return item }
        try seal(item, sealed, constants, isNew: record(ofKey: key)?.contentHash != contentHash)
        return item
    }

    /// Makes an item the locked note that its program had.
    private func seal(
        _ item: EntityID, _ note: ForeignSealedNote, _ constants: LockConstants?, isNew: Bool
    ) throws(ImportExportError) {
        try wrappingVaultErrors {
            // A note that a person resealed or opened here stays as it is.
            if isNew, try batch.item(item)?.isLocked != true {
                try batch.writeSealed(note, of: item, constants: constants)
            } else if let constants, try batch.writeConstants(constants, for: note) {
                hasChanges = true
                report.updated += 1
            }
        }
    }

    private func putOpen(
        _ draft: ItemDraft, key: [UInt8], contentHash: [UInt8], name: String, rawNames: [String],
        scan: MarkdownScan?, form: (inout FileRecord) -> Void
    ) throws(ImportExportError) -> EntityID? {
        try goOn()
        guard draft.text.utf8.count <= Item.textByteCountMax else {
            throw ImportExportError(.noteTooLarge, at: "bytes \(draft.text.utf8.count)", subject: name)
        }
        seenKeys.insert(key)
        let known = record(ofKey: key)
        if let known, known.contentHash == contentHash {
            report.unchanged += 1
            report.add(name, .unchanged)
            return try vaultItem(known.target) == nil ? nil : known.target
        }
        report.add(name, known == nil ? .imported : .updated, mapped: draft.valueCount - rawNames.count, raw: rawNames)
        for raw in rawNames { report.keepRaw(label: raw, of: name) }
        let scan = scan ?? MarkdownScan(draft.text)
        for tag in draft.tags { tags.insert(tag.folded) }
        for mention in scan.tags { tags.insert(mention.tag.folded) }
        if let record = known {
            guard ItemKind(record.target) != nil, let item = try vaultItem(record.target) else {
                return try create(draft, scan, key: key, contentHash: contentHash, form: form)
            }
            if itemStateHash(item) == record.stateHash {
                try update(item, to: draft)
                return try remember(item.id, draft, key: key, contentHash: contentHash, form: form)
            }
            return try keepBoth(draft, item: item, record: record, contentHash: contentHash, name: name)
        }
        return try create(draft, scan, key: key, contentHash: contentHash, form: form)
    }

    private func vaultItem(_ id: EntityID) throws(ImportExportError) -> Item? {
        try wrappingVaultErrors { try batch.item(id) }
    }

    private func create(
        _ draft: ItemDraft, _ scan: MarkdownScan, key: [UInt8], contentHash: [UInt8],
        form: (inout FileRecord) -> Void
    ) throws(ImportExportError) -> EntityID {
        var draft = draft
        // A text that was put before may link to it.
        if let id = identities[key] { draft.uuid = id }
        let id = try wrappingVaultErrors { try batch.create(draft, scan: scan) }
        report.imported += 1
        return try remember(id, draft, key: key, contentHash: contentHash, form: form)
    }

    private func update(_ item: Item, to draft: ItemDraft) throws(ImportExportError) {
        _ = try wrappingVaultErrors {
            try batch.update(item.id) { item in
                item.givenTitle = draft.title
                item.text = draft.text
                item.fields = draft.fields
                item.givenTags = draft.tags
                item.path = draft.path
                for flag in Flag.allCases where flag != .trashed { item.set(flag, draft.flags[flag], at: batch.time) }
                // A source that says when it was changed is believed; never less than what the vault knew.
                if let modified = draft.modified { item.modified = max(item.modified, modified) }
            }
        }
        report.updated += 1
        if item.isTrashed { report.warn("updated in the trash: \(item.title)") }
    }

    /// The vault's item stays as the person made it; the source's version becomes an item of its own.
    private func keepBoth(
        _ draft: ItemDraft, item: Item, record: FileRecord, contentHash: [UInt8], name: String
    ) throws(ImportExportError) -> EntityID {
        var copy = draft
        copy.path = nil
        let title = draft.title ?? MarkdownScan.title(of: draft.text)
        copy.title = cleanTitle("\(title) (imported)") ?? "imported"
        _ = try wrappingVaultErrors { try batch.create(copy) }
        var record = record
        record.contentHash = contentHash
        write(record)
        report.conflicts += 1
        report.amendLast(.conflict)
        report.warn("changed here and in the source, both kept: \(name)")
        return item.id
    }

    private func remember(
        _ id: EntityID, _ draft: ItemDraft, key: [UInt8], contentHash: [UInt8], form: (inout FileRecord) -> Void
    ) throws(ImportExportError) -> EntityID {
        var record = FileRecord(
            key: key, target: id, contentHash: contentHash,
            stateHash: itemStateHash(
                givenTitle: draft.title, text: draft.text, tags: draft.tags, fields: draft.fields,
                flags: draft.flags))
        form(&record)
        write(record)
        // A text that comes later may link to it.
        identities[key] = id.uuid
        return id
    }

    private func write(_ record: FileRecord) {
        hasChanges = true
        batch.write([record.change(of: source.entity)])
    }

    /// Says that an entry was read whose content became items of their own.
    ///
    /// - Parameter text: of the entry, for an export that gives it back as it was.
    func noteContainer(key: [UInt8], contentHash: [UInt8], text: String = "") {
        seenKeys.insert(key)
        if case .unchanged = standing(ofKey: key, contentHash: contentHash) { return }
        var record = FileRecord(key: key, target: source.entity, contentHash: contentHash)
        record.frontMatter = text
        write(record)
    }

    // MARK: Files

    /// Says that a file was there and is attached already.
    func keepFile(_ record: FileRecord) {
        seenKeys.insert(record.key)
        report.attachmentsUnchanged += 1
    }

    /// Seals the content of an entry in the store; a dry run only reads it.
    func storeFile(_ reader: any SourceEntryReader) throws(ImportExportError) -> StoredFile {
        try storeFile { (write) throws(ImportExportError) in
            try reader.forEachPiece(byteCountMax: limits.fileByteCountMax, write)
        }
    }

    /// Seals a content that comes in pieces; a dry run only counts and hashes them.
    func storeFile(
        _ produce: ((ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError) -> StoredFile {
        guard isDryRun else { return try files.store(produce) }
        var byteCount = 0
        var hasher = BLAKE2bHasher(byteCount: 32)
        try produce { piece in
            byteCount += piece.count
            unsafe piece.withUnsafeBytes { unsafe hasher.update($0) }
        }
        return StoredFile(byteCount: byteCount, contentHash: hasher.finish(), encodedReference: [])
    }

    /// Attaches a file to an item, in place of what an earlier import attached from there.
    func attach(
        _ stored: StoredFile, to owner: EntityID, key: [UInt8], name: String, path: String?, created: Int64?
    ) throws(ImportExportError) {
        seenKeys.insert(key)
        try wrappingVaultErrors {
            if let old = records[key]?.target, let item = try batch.item(owner),
                let attachment = item.attachments.first(where: { $0.id == old })
            {
                try batch.removeAttachment(attachment)
            }
            let attachment = try batch.addAttachment(
                to: owner, name: attachmentName(name), mediaType: MediaType.guess(fileName: name),
                byteCount: stored.byteCount,
                reference: stored.encodedReference, path: path, created: created)
            write(FileRecord(key: key, target: attachment.id, contentHash: stored.contentHash))
        }
        report.attachments += 1
    }

    /// The item that holds files which nothing mentions; made when the first comes.
    func collector() throws(ImportExportError) -> EntityID {
        if let known = source.collector, try vaultItem(known) != nil { return known }
        let draft = ItemDraft(
            kind: .note, title: cleanTitle("Files of \(source.name)"),
            text: "Files that came with the import of \(source.name) and that no note mentions.\n")
        let id = try wrappingVaultErrors { try batch.create(draft) }
        source.collector = id
        return id
    }

    /// The item to which an earlier import attached the file of a record, if it still has it.
    func owner(ofAttachment id: EntityID) throws(ImportExportError) -> EntityID? {
        let candidates =
            records.values.filter { ItemKind($0.target) != nil }.map(\.target) + [source.collector].compactMap { $0 }
        // An attachment's id begins with half of its item's, which finds the item without reading all.
        let half = id.uuid.bytes.prefix(8)
        for candidate in candidates where candidate.uuid.bytes.prefix(8) == half {
            if let item = try vaultItem(candidate), item.attachments.contains(where: { $0.id == id }) {
                return candidate
            }
        }
        return nil
    }

    private func goOn() throws(ImportExportError) {
        if isStopped() { throw ImportExportError(.stopped) }
    }

    /// Closes the import: the place is remembered if anything is, and what is gone from it is counted.
    func finish() throws(ImportExportError) {
        try goOn()
        report.tags = tags.count
        // A container that another name replaces holds nothing of its own.
        report.missing = records.values.count { !seenKeys.contains($0.key) && $0.target != source.entity }
        progress(
            WorkProgress(stage: .saving, doneCount: doneCount, totalCount: totalCount, byteCount: report.byteCount))
        guard hasChanges else { return }
        if oldSource != source { batch.write([source.change]) }
    }
}

/// A file name as attachments may have it.
func attachmentName(_ name: String) -> String {
    var clean = ""
    for character in name {
        guard clean.utf8.count + character.utf8.count <= 1_024 else { break }
        clean.append(character.utf8.contains { $0 < 0x20 || $0 == 0x2F || $0 == 0x7F } ? "_" : character)
    }
    return clean.isEmpty || clean == "." || clean == ".." ? "_" + clean : clean
}
