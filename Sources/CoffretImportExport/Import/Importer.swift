// The seam for formats of other programs: one file per format, listed in `ImporterRegistry`. Invariant: an importer
// only reads its source and only writes through the session, so that an import is one commit or nothing.

package import CoffretBase
package import CoffretCore

/// How sure an importer is that a source is of its format.
package enum ImportConfidence: Int, Comparable, Sendable {
    /// It could be read, for want of anything better.
    case possible
    /// Names or structure speak for it.
    case likely
    /// A marker says so.
    case certain

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Brings one foreign format into a vault.
package protocol Importer: Sendable {
    /// The stable name for `--format` and for records in the vault: lower case, hyphens.
    var name: String { get }
    /// The name of the format for people.
    var title: String { get }
    /// Looks at names and first bytes; nil if the source is something else.
    func detect(_ sample: SourceSample) throws(ImportExportError) -> ImportConfidence?
    /// The importer, having opened a protected source, or having begun to read on a thread of its own; nobody else may
    /// read the source until `run` has returned. What has begun returns itself.
    ///
    /// - Throws: `.passwordNeeded`, `.passwordWrong`, `.keyDerivationTooCostly`, and what the source's format lacks.
    func begun(on source: any ImportSource, keys: SourceKeys) throws(ImportExportError) -> any Importer
    /// How the items of a source are named, whatever the source is called; nil for a format of files that have names alone.
    ///
    /// Asked where a source may be a later export of one that came in before, since it reads all of it.
    func identities(in source: any ImportSource) throws(ImportExportError) -> SourceIdentities?
    /// Reads the source into the session.
    func run(_ source: any ImportSource, into session: ImportSession) throws(ImportExportError)
}

extension Importer {
    package func begun(on source: any ImportSource, keys: SourceKeys) throws(ImportExportError) -> any Importer { self }
    package func identities(in source: any ImportSource) throws(ImportExportError) -> SourceIdentities? { nil }
}

/// The formats that this version reads.
package enum ImporterRegistry {
    package static let all: [any Importer] =
        [ItemListImporter()] + ListFormat.tables.map { TableImporter(format: $0) }
        + ForeignFormat.all.filter { $0.read != nil }.map { ForeignImporter(format: $0) } + [MarkdownImporter()]

    /// The formats of other programs besides tables, with their articles.
    package static let foreignTitles: [String] = ForeignFormat.all.filter { $0.read != nil }.map(\.title)

    /// The importer of a name.
    package static func named(_ name: String) -> (any Importer)? { all.first { $0.name == name } }

    /// The importer that is surest of the source; the first in the list among equals.
    ///
    /// - Throws: `.sourceUnsupported` if the source is a backup of another program that no importer is certain of;
    ///   `.sourceUnrecognised` if none is sure at all.
    package static func detect(_ source: any ImportSource) throws(ImportExportError) -> any Importer {
        let sample = SourceSample(source)
        var best: (importer: any Importer, confidence: ImportConfidence)?
        for importer in all {
            guard let confidence = try importer.detect(sample) else { continue }
            if best.map({ $0.confidence < confidence }) ?? true { best = (importer, confidence) }
        }
        if let best, best.confidence == .certain { return best.importer }
        let place = printableText(lastComponent(of: source.location).utf8)
        for format in ForeignFormat.all where format.read == nil {
            guard try format.match(sample) != nil else { continue }
            throw ImportExportError(.sourceUnsupported, subject: "\(place) is \(format.title)")
        }
        guard let best else { throw ImportExportError(.sourceUnrecognised, subject: place) }
        return best.importer
    }
}

extension Vault {
    /// Imports a source as one commit; the vault is unchanged if it throws or if nothing is new.
    ///
    /// - Parameters:
    ///   - chosen: nil to let the registry choose.
    ///   - keys: open a protected source, unless `chosen` has begun.
    ///   - files: takes the contents of attachments; nil for the vault's own store.
    ///   - isDryRun: reads and reports, writes nothing.
    ///   - progress: called often; it decides itself how often to show something.
    /// - Complexity: memory for the texts of new and changed notes, not for attachments.
    package func importFrom(
        _ source: any ImportSource, with chosen: (any Importer)? = nil, keys: SourceKeys = .none(),
        files: (any FileContentStore)? = nil, random: any RandomSource = SystemRandomSource(), isDryRun: Bool = false,
        progress: @escaping (WorkProgress) -> Void = { _ in }, isStopped: @escaping () -> Bool = { false }
    ) throws(ImportExportError) -> ImportReport {
        var importer: any Importer
        if let chosen { importer = chosen } else { importer = try ImporterRegistry.detect(source) }
        importer = try importer.begun(on: source, keys: keys)
        let files = try fileContents(files)
        var report = ImportReport()
        var failure: ImportExportError?
        do {
            try batch(indexesBeside: !isDryRun) { batch in
                do throws(ImportExportError) {
                    let session = try ImportSession(
                        vault: self, batch: batch, files: files, source: source, importer: importer, random: random,
                        isDryRun: isDryRun, progress: progress, isStopped: isStopped)
                    try importer.run(source, into: session)
                    try session.finish()
                    report = session.report
                } catch {
                    failure = error
                }
                // Thrown to roll the batch back; the caller gets `failure` or the report of a dry run instead.
                if failure != nil || isDryRun { throw CoreError(.inputOutput) }
            }
        } catch {
            if let failure { throw failure }
            if !isDryRun { throw ImportExportError(.vaultFailed, cause: error) }
        }
        return report
    }
}
