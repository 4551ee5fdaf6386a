// Where foreign files come from: a folder, one file, or an archive. Invariant: a source reads only what lies inside
// it, in constant memory, and never follows a link.

internal import CPlatform
internal import CoffretBase
internal import Glibc

/// One regular file of a source.
package struct SourceEntry: Sendable, Equatable {
    /// Where it lies, relative to the source.
    package let path: SourcePath
    /// Its size; archives may state a wrong one, reading counts again.
    package let byteCount: UInt64
    /// When it was last changed, in milliseconds since 1970; nil if not known.
    package let modifiedMilliseconds: Int64?

    package init(path: SourcePath, byteCount: UInt64, modifiedMilliseconds: Int64?) {
        self.path = path
        self.byteCount = byteCount
        self.modifiedMilliseconds = modifiedMilliseconds
    }
}

/// Why an entry is not part of the listing.
package enum SkipReason: String, Sendable, CaseIterable {
    case hidden = "hidden or version control"
    case symbolicLink = "symbolic link"
    case hardLink = "hard link"
    case specialFile = "device, pipe or socket"
}

/// The entries of a source, found by a quick walk before anything is read.
package struct SourceListing: Sendable {
    /// The regular files, sorted by the bytes of their paths.
    package var entries: [SourceEntry] = []
    /// How many entries were skipped, by reason. A skipped folder counts once.
    package var skippedCounts: [SkipReason: Int] = [:]
    /// The first skipped paths other than hidden ones, for the report.
    package var skippedSamples: [String] = []
    /// Bytes of all entries.
    package var totalByteCount: UInt64 = 0

    package init() {}

    /// Notes a skipped entry.
    package mutating func skip(_ path: String, _ reason: SkipReason) {
        skippedCounts[reason, default: 0] += 1
        if reason != .hidden, skippedSamples.count < 100 { skippedSamples.append("\(path) (\(reason.rawValue))") }
    }

    /// Adds an entry after checking the limits that hold for every source.
    package mutating func add(_ entry: SourceEntry, limits: ImportLimits) throws(ImportExportError) {
        guard entries.count < limits.entryCountMax else {
            throw ImportExportError(.tooManyEntries, at: "more than \(limits.entryCountMax)")
        }
        guard entry.byteCount <= limits.fileByteCountMax else {
            throw ImportExportError(
                .fileTooLarge, at: "bytes \(entry.byteCount)", subject: entry.path.printable)
        }
        totalByteCount += entry.byteCount
        guard totalByteCount <= limits.totalByteCountMax else {
            throw ImportExportError(.totalTooLarge, at: "more than \(limits.totalByteCountMax)")
        }
        entries.append(entry)
    }
}

/// Hands out the bytes of one entry in pieces.
package protocol SourceEntryReader: AnyObject {
    /// Calls `body` with consecutive pieces of at most 1 MiB until the end.
    ///
    /// - Throws: `.fileTooLarge` if there is more than `byteCountMax`, whatever the listing said.
    func forEachPiece(
        byteCountMax: UInt64, _ body: (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    ) throws(ImportExportError)
}

extension SourceEntryReader {
    /// The whole entry.
    ///
    /// - Throws: `.fileTooLarge` above `byteCountMax` bytes.
    package func readAll(byteCountMax: Int) throws(ImportExportError) -> [UInt8] {
        var bytes: [UInt8] = []
        try forEachPiece(byteCountMax: UInt64(byteCountMax)) { piece in bytes.append(contentsOf: piece) }
        return bytes
    }
}

/// Files to import.
package protocol ImportSource: AnyObject {
    /// The name of the folder, file or archive, for people and as the name of the import.
    var name: String { get }
    /// Where it lies: an absolute path, by which a second import recognises the source.
    var location: String { get }
    /// Its entries.
    var listing: SourceListing { get }
    /// The limits it was opened with.
    var limits: ImportLimits { get }
    /// Visits the entries whose index in the listing is in `wanted`, each once, in an order that suits
    /// the source. May be called again.
    func visit(
        _ wanted: (Int) -> Bool,
        _ body: (Int, any SourceEntryReader) throws(ImportExportError) -> Void
    ) throws(ImportExportError)
}

extension ImportSource {
    /// The first bytes of an entry, for detection.
    package func prefix(ofEntry index: Int, byteCount: Int) throws(ImportExportError) -> [UInt8] {
        var bytes: [UInt8] = []
        try visit({ $0 == index }) { (_, reader) throws(ImportExportError) in
            do throws(ImportExportError) {
                try reader.forEachPiece(byteCountMax: .max) { piece throws(ImportExportError) in
                    bytes.append(contentsOf: piece.prefix(byteCount - bytes.count))
                    if bytes.count >= byteCount { throw ImportExportError(.fileTooLarge, at: "prefix") }
                }
            } catch {
                if error.place != "prefix" { throw error }
            }
        }
        return bytes
    }
}

/// Opens what lies at `path`: a folder, an archive (by its content, not its name) or a single file.
///
/// - Parameter path: as the person typed it; a symbolic link there is followed, none below it is.
/// - Throws: `.sourceMissing`, `.sourceUnreadable`, and the limits.
package func openImportSource(
    atPath path: String, limits: ImportLimits = ImportLimits()
) throws(ImportExportError) -> any ImportSource {
    let location = absolutePath(path)
    let file = OwnedDescriptor(try openSourceDescriptor(atPath: path))
    let status = try file.status(subject: path)
    switch status.kind {
    case .folder:
        return try FolderSource(root: file, location: location, limits: limits)
    case .file:
        if try ArchiveSource.isArchive(file, subject: path) {
            return try ArchiveSource(file: file, location: location, byteCount: status.byteCount, limits: limits)
        }
        return try SingleFileSource(file: file, location: location, status: status, limits: limits)
    case .symbolicLink, .special:
        throw ImportExportError(.sourceUnreadable, at: "not a file or folder", subject: printableText(path.utf8))
    }
}

/// Opens what lies at `path`, which is not looked at yet.
///
/// - Returns: a descriptor, which is the caller's to close.
/// - Throws: `.sourceMissing`, `.sourceUnreadable`.
package func openSourceDescriptor(atPath path: String) throws(ImportExportError) -> Int32 {
    // O_NONBLOCK so that a pipe in the place of a file cannot make us wait for a writer.
    let descriptor = unsafe coffret_open(path, O_RDONLY | O_NONBLOCK, 0)
    guard descriptor >= 0 else {
        throw ImportExportError(
            errno == ENOENT || errno == ENOTDIR ? .sourceMissing : .sourceUnreadable,
            at: "errno \(errno)", subject: printableText(path.utf8))
    }
    let status = try OwnedDescriptor(dup(descriptor)).status(subject: path)
    guard status.kind == .file || status.kind == .folder else {
        close(descriptor)
        throw ImportExportError(.sourceUnreadable, at: "not a file or folder", subject: printableText(path.utf8))
    }
    return descriptor
}

private func absolutePath(_ path: String) -> String {
    guard let resolved = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
}
