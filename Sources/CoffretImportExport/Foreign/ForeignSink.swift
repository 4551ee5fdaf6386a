// Where readers of foreign formats put what they read. Invariant: a file of the source that no reader took in becomes an
// attachment; nothing is left behind without a line in the report.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage

/// A file that belongs to an item.
struct ForeignFile {
    /// Its name, without a path.
    var name: String
    /// Names it within its item at a second import; the name serves where the program has no identity for it.
    let id: String
    let content: Content
    /// Where it stood in the folder that its item's path belongs to, for links in texts; nil for nowhere.
    var path: String?
    /// When it was made, in milliseconds since 1970.
    var created: Int64?

    enum Content {
        /// An entry of the source, which is streamed.
        case entry(Int)
        case bytes([UInt8])
        /// A content that the reader has stored, by `ForeignSink.store`.
        case stored(StoredFile)
    }

    init(name: String, id: String? = nil, content: Content, created: Int64? = nil) {
        self.name = name
        self.id = id ?? name
        self.content = content
        self.created = created
    }
}

/// Takes items and files from a reader and writes them through the session, or only hears how the items are named.
final class ForeignSink {
    /// nil for a sink that only hears names.
    private let session: ImportSession?
    private let foreign: ForeignSource
    /// How the items are named that were put.
    private(set) var identities = SourceIdentities()
    private var list: ListPass
    /// Files of the source to attach, by their entry.
    private var waiting: [Int: [Attaching]] = [:]
    /// Constants of the program that sealed notes, where the person gave them.
    var constants: LockConstants?
    /// Entries that were read, or that say nothing of items.
    private var taken: Set<Int> = []

    private struct Attaching {
        /// Nil for the item that holds what belongs to none.
        let owner: EntityID?
        let key: [UInt8]
        let file: ForeignFile
    }

    init(_ foreign: ForeignSource, _ session: ImportSession) {
        self.session = session
        self.foreign = foreign
        list = ListPass(path: session.listPath(foreign.path))
    }

    /// A sink that writes nothing.
    init(namesOf foreign: ForeignSource) {
        self.foreign = foreign
        session = nil
        list = ListPass(path: foreign.path)
    }

    /// The beginning of the paths of this import's items.
    var root: String { session?.root ?? "" }

    // MARK: For readers

    /// Adds a line to the report.
    func warn(_ text: String) { session?.report.warn(text) }

    /// Counts something that is left out.
    func drop() { session?.report.dropped += 1 }

    /// Says that a file of the source was read, so that it is no attachment.
    ///
    /// - Parameter bytes: its content, by which a second import knows the source again.
    func took(_ entry: Int, _ bytes: [UInt8]) { took(entry, contentHash: BLAKE2b.hash(bytes)) }

    /// The same of a file that was read piece by piece, or whose text an export gives back.
    func took(_ entry: Int, contentHash: [UInt8], text: String = "") {
        guard let session, taken.insert(entry).inserted else { return }
        session.noteContainer(key: foreign.entries[entry].path.bytes, contentHash: contentHash, text: text)
        session.didRead(byteCount: Int(clamping: foreign.entries[entry].byteCount))
    }

    /// The address by which a text links to an item of this source, before or after the item is put.
    ///
    /// - Parameter id: the `ForeignItem.id` of the item.
    func address(ofItem id: String) -> String {
        guard let session else { return NoteLink.scheme }
        return NoteLink.scheme + session.identity(ofKey: list.key(Array(id.utf8))).hex
    }

    /// A text that came out of another vault, with links to where its notes are here.
    ///
    /// - Parameter foreignID: the id of an item in the source, by the sixteen bytes that it had in the vault.
    func linked(_ text: String, _ foreignID: ([UInt8]) -> String) -> String {
        guard text.asciiLowercased().containsBytes(of: NoteLink.scheme) else { return text }
        return relinked(text) { destination in
            NoteLink.note(ofAddress: destination).map { address(ofItem: foreignID($0.uuid.bytes)) }
        }
    }

    /// Seals a content that the reader makes piece by piece.
    func store(
        _ produce: ((ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError) -> StoredFile {
        guard let session else {
            try produce { _ in }
            return StoredFile(byteCount: 0, contentHash: [], encodedReference: [])
        }
        return try session.storeFile(produce)
    }

    /// Whether an earlier import attached this content to the item; a reader that learns it while it stores the content
    /// stops, and what was written is removed.
    ///
    /// - Parameters:
    ///   - item: the `ForeignItem.id`.
    ///   - file: the `ForeignFile.id`.
    func isAttached(_ file: String, to item: String, contentHash: [UInt8]) -> Bool {
        if case .unchanged? = session?.standing(ofKey: key(item, file), contentHash: contentHash) { return true }
        return false
    }

    private func key(_ item: String, _ file: String) -> [UInt8] { list.key(Array(item.utf8)) + [0] + Array(file.utf8) }

    /// Writes an item with its files.
    ///
    /// - Parameter name: of the item for the report; its title without one.
    func put(_ item: ForeignItem, name: String? = nil) throws(ImportExportError) {
        var item = item
        let entry = item.finished()
        guard !item.isNoItem else { return }
        guard let session else { return identities.add(entry, isOfProgram: !item.id.isEmpty && !item.isIDOfPlace) }
        let owner = try session.put(
            entry, in: &list, name: name ?? item.draft.title, sealed: item.sealed, constants: constants)
        for file in item.files {
            let key = list.key(entry.key) + [0] + Array(file.id.utf8)
            if case .entry(let index) = file.content { taken.insert(index) }
            // An item that was deleted here stays deleted, with its files.
            guard let owner else { continue }
            // Files of a sealed note come unsealed, and it can be given none before it is opened.
            let attaching = Attaching(owner: item.sealed == nil ? owner : nil, key: key, file: file)
            switch file.content {
            case .entry(let index): waiting[index, default: []].append(attaching)
            case .bytes(let bytes):
                if isKnown(key, BLAKE2b.hash(bytes), session) { continue }
                try attach(
                    attaching, try session.storeFile { (write) throws(ImportExportError) in try write(bytes[...]) },
                    session)
            case .stored(let stored):
                if !isKnown(key, stored.contentHash, session) { try attach(attaching, stored, session) }
            }
        }
    }

    /// Reads the list of other items that an export of Coffret writes beside its notes; nothing where there is none.
    func readItemList() throws(ImportExportError) {
        let path = SourcePath(cleanBytes: Array(ItemListWriter.fileName.utf8))
        let entries = foreign.entries
        guard let session, let list = entries.firstIndex(where: { $0.path == path }),
            ItemListImporter.hasMarker(try foreign.source.prefix(ofEntry: list, byteCount: 1_024))
        else { return }
        taken.insert(list)
        var files: [(reference: String, item: EntityID)] = []
        try foreign.source.visit({ $0 == list }) { (_, reader) throws(ImportExportError) in
            files = try ItemListImporter.read(reader, path: path, into: session)
        }
        let index = LinkIndex(entries)
        for (reference, item) in files {
            guard let link = SourceLink(listed: reference), let target = index.resolve(link, from: path) else {
                warn("\(path.printable) names a file that is not there: \(printableText(reference.utf8))")
                continue
            }
            let file = ForeignFile(
                name: String(decoding: entries[target].path.name, as: UTF8.self), content: .entry(target),
                created: entries[target].modifiedMilliseconds)
            taken.insert(target)
            waiting[target, default: []].append(Attaching(owner: item, key: entries[target].path.bytes, file: file))
        }
    }

    // MARK: Closing

    /// Attaches the files that wait, and those that nobody asked for.
    func finish() throws(ImportExportError) {
        guard let session else { return }
        let rest = foreign.entries.indices.filter { !taken.contains($0) }
        for index in rest {
            let path = foreign.entries[index].path
            let file = ForeignFile(
                name: String(decoding: path.name, as: UTF8.self), content: .entry(index),
                created: foreign.entries[index].modifiedMilliseconds)
            if case nil = session.record(ofKey: path.bytes) {
                warn("belongs to no item, kept as a file: \(path.printable)")
            }
            waiting[index] = [Attaching(owner: nil, key: path.bytes, file: file)]
        }
        // Files of an earlier import are hashed first; only what changed is read into the vault.
        let known = waiting.keys.filter { index in
            waiting[index]?.contains { session.record(ofKey: $0.key) != nil } ?? false
        }
        try foreign.source.visit(Set(known).contains) { (index, reader) throws(ImportExportError) in
            var hasher = BLAKE2bHasher(byteCount: 32)
            try reader.forEachPiece(byteCountMax: session.limits.fileByteCountMax) { hasher.update(Array($0)) }
            let hash = hasher.finish()
            waiting[index]?.removeAll { isKnown($0.key, hash, session) }
        }
        try foreign.source.visit({ waiting[$0]?.isEmpty == false }) { (index, reader) throws(ImportExportError) in
            let stored = try session.storeFile(reader)
            for attaching in waiting[index] ?? [] { try attach(attaching, stored, session) }
            session.didRead(byteCount: stored.byteCount, stage: .attaching)
        }
    }

    /// Whether an earlier import attached this content; counted then.
    private func isKnown(_ key: [UInt8], _ hash: [UInt8], _ session: ImportSession) -> Bool {
        guard case .unchanged(let record) = session.standing(ofKey: key, contentHash: hash) else { return false }
        session.keepFile(record)
        return true
    }

    private func attach(
        _ attaching: Attaching, _ stored: StoredFile, _ session: ImportSession
    ) throws(ImportExportError) {
        let owner: EntityID
        if let known = attaching.owner { owner = known } else { owner = try session.collector() }
        try session.attach(
            stored, to: owner, key: attaching.key, name: attaching.file.name, path: attaching.file.path,
            created: attaching.file.created)
    }
}
