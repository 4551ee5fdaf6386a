// Formats of other programs, as data: a name, the signs that tell it, and the functions that open and read it. Invariant:
// what is recognised and has no reader is refused by its name; as plain Markdown it would lose its trash and its dates.

internal import CoffretBase

/// A format of another program.
struct ForeignFormat: Sendable {
    /// The stable name for `--format` and for records in the vault: lower case, hyphens.
    let name: String
    /// The name for people, with its article: "a Bear backup".
    let title: String
    /// Any one of them tells the format.
    let signs: [Sign]
    /// Opens a protected export before the vault is opened; nil for a format that has no protection.
    var open: (@Sendable (ForeignSource, SourceKeys) throws(ImportExportError) -> ForeignPayload?)?
    /// Puts the items into the sink; nil if this version does not read the format.
    var read: (@Sendable (ForeignSource, ForeignSink) throws(ImportExportError) -> Void)?

    /// How a format is recognised.
    enum Sign: Sendable {
        /// The name of the file or folder that was named, or of the folder in an archive, ends so.
        case place(suffix: String)
        /// There are files with all these paths, or ends of paths, in lower case; the first is the one that is read.
        case files([String])
        /// More than half of the Markdown files have such a path.
        case notes(@Sendable (String) -> Bool)
        /// More than half of all files have such a path.
        case most(@Sendable (String) -> Bool)
        /// Some file has such a path.
        case any(@Sendable (String) -> Bool)
        /// There are such paths, and no Markdown files.
        case pages(@Sendable (String) -> Bool)
        /// A file begins with these bytes.
        case magic([UInt8])
        /// A file begins with this text, behind a byte order mark and blanks.
        case start(String)
        /// These words stand in the first bytes of a file.
        case words([String])
        /// A file is JSON with members at all these paths, `items.folderId`.
        case json([String])
    }

    /// Whether the signs tell this format, and in which file.
    func match(_ sample: SourceSample) throws(ImportExportError) -> Match? {
        for sign in signs {
            if let match = try Self.match(sign, sample) { return match }
        }
        return nil
    }

    /// Where a format was recognised.
    struct Match {
        /// The file that is read first; nil where paths told the format.
        let entry: Int?
    }

    private static func match(_ sign: Sign, _ sample: SourceSample) throws(ImportExportError) -> Match? {
        func has(_ isThere: Bool) -> Match? { isThere ? Match(entry: nil) : nil }
        switch sign {
        case .place(let suffix): return has(sample.place.hasSuffix(suffix) || sample.root.hasSuffix(suffix))
        case .files(let names):
            let found = names.compactMap { sample.entry(at: $0) }
            return found.count == names.count ? Match(entry: found.first) : nil
        case .notes(let isMember):
            let notes = sample.source.listing.entries.indices.filter {
                sample.source.listing.entries[$0].path.isMarkdown
            }
            return has(SourceSample.isMost(of: notes.map { sample.paths[$0] }, isMember))
        case .most(let isMember): return has(SourceSample.isMost(of: sample.paths, isMember))
        case .any(let isMember): return has(sample.paths.contains(where: isMember))
        case .pages(let isMember): return has(!sample.hasNotes && sample.paths.contains(where: isMember))
        case .magic(let bytes): return try match(sample) { $0.bytes.starts(with: bytes) }
        case .start(let text):
            return try match(sample) { head in
                withoutMark(head.bytes).drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }.starts(with: text.utf8)
            }
        case .words(let words): return try match(sample) { head in words.allSatisfy { head.text.contains($0) } }
        case .json(let paths): return try match(sample) { $0.jsonPaths.isSuperset(of: paths) }
        }
    }

    private static func match(
        _ sample: SourceSample, _ isSuch: (SourceSample.Head) -> Bool
    ) throws(ImportExportError) -> Match? {
        for entry in sample.tellingEntries where isSuch(try sample.head(ofEntry: entry)) { return Match(entry: entry) }
        return nil
    }
}

/// A protected export, opened. Zeroed when the last importer that holds it goes.
final class ForeignPayload: Sendable {
    let bytes: [UInt8]
    /// Of a format of many protected files, each by its entry.
    let files: [Int: [UInt8]]?

    /// Takes the bytes over: the caller keeps no copy.
    init(_ bytes: consuming [UInt8], files: [Int: [UInt8]]? = nil) {
        self.bytes = bytes
        self.files = files
    }
}

/// The source as a reader sees it.
struct ForeignSource {
    let source: any ImportSource
    /// The file that told the format, or the only one; nil for a folder or archive known by its paths.
    let main: Int?
    /// The opened content of a protected export.
    var payload: ForeignPayload?

    var entries: [SourceEntry] { source.listing.entries }
    var limits: ImportLimits { source.limits }

    /// The path that items of the main file are known by.
    var path: SourcePath { main.map { entries[$0].path } ?? SourcePath(cleanBytes: Array(source.name.utf8)) }

    /// The opened content of a protected export, else the main file.
    func content() throws(ImportExportError) -> [UInt8] {
        if let payload { return payload.bytes }
        return try bytes()
    }

    /// The main file as a whole.
    ///
    /// - Throws: `.fileTooLarge` above `byteCountMax`; `.formatInvalid` without a main file.
    func bytes(byteCountMax: Int = ForeignSource.byteCountMax) throws(ImportExportError) -> [UInt8] {
        guard let main else { throw ImportExportError(.formatInvalid, at: "no main file") }
        return try bytes(ofEntry: main, byteCountMax: byteCountMax)
    }

    /// A file as a whole.
    func bytes(
        ofEntry index: Int, byteCountMax: Int = ForeignSource.byteCountMax
    ) throws(ImportExportError) -> [UInt8] {
        var bytes: [UInt8] = []
        try source.visit({ $0 == index }) { (_, reader) throws(ImportExportError) in
            bytes = try reader.readAll(byteCountMax: byteCountMax)
        }
        return bytes
    }

    /// A structured file is held in memory.
    static let byteCountMax = 256 << 20
}

/// Reads one foreign format.
struct ForeignImporter: Importer {
    let format: ForeignFormat
    private var payload: ForeignPayload?

    var name: String { format.name }
    var title: String { format.title }

    init(format: ForeignFormat) { self.format = format }

    func detect(_ sample: SourceSample) throws(ImportExportError) -> ImportConfidence? {
        guard format.read != nil, try format.match(sample) != nil else { return nil }
        return .certain
    }

    func begun(on source: any ImportSource, keys: SourceKeys) throws(ImportExportError) -> any Importer {
        guard payload == nil, let open = format.open else { return self }
        var begun = self
        begun.payload = try open(try foreign(source), keys)
        return begun
    }

    func run(_ source: any ImportSource, into session: ImportSession) throws(ImportExportError) {
        guard let read = format.read else {
            throw ImportExportError(
                .sourceUnsupported, subject: "\(printableText(source.name.utf8)) is \(format.title)")
        }
        let foreign = try foreign(source)
        let sink = ForeignSink(foreign, session)
        try read(foreign, sink)
        try sink.finish()
    }

    func identities(in source: any ImportSource) throws(ImportExportError) -> SourceIdentities? {
        guard let read = format.read else { return nil }
        let foreign = try foreign(source)
        let sink = ForeignSink(namesOf: foreign)
        try read(foreign, sink)
        return sink.identities
    }

    private func foreign(_ source: any ImportSource) throws(ImportExportError) -> ForeignSource {
        let match = try format.match(SourceSample(source))
        let main = match?.entry ?? (source.listing.entries.count == 1 ? 0 : nil)
        return ForeignSource(source: source, main: main, payload: payload)
    }
}
