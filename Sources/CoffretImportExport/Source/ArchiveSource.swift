// Archives (tar plain or compressed, zip) as import sources, streamed. Invariant: sizes that an archive states are
// never trusted; what is unpacked is counted against the limits.

internal import Glibc

/// An archive file.
///
/// If all entries lie in one folder at the top, as archives are usually made, that folder is the root and
/// its name the name of the import: the unpacked folder and its archive then import alike.
final class ArchiveSource: ImportSource {
    private(set) var name: String
    let location: String
    let limits: ImportLimits
    private(set) var listing = SourceListing()
    private let file: OwnedDescriptor
    private let archiveByteCount: UInt64
    /// For each regular file in archive order its index in the listing, or nil if it was left out.
    private var listingIndexes: [Int?] = []

    /// Whether the file starts like a format that this type reads. No name is trusted.
    static func isArchive(_ file: OwnedDescriptor, subject: String) throws(ImportExportError) -> Bool {
        var head = [UInt8](repeating: 0, count: 512)
        let count = unsafe head.withUnsafeMutableBytes { buffer in
            unsafe pread(file.number, buffer.baseAddress, buffer.count, 0)
        }
        guard count >= 0 else {
            throw ImportExportError(.sourceUnreadable, at: "errno \(errno)", subject: printableText(subject.utf8))
        }
        return isArchive(head: head[..<count])
    }

    /// The same for bytes at the start of a file; 512 are enough.
    static func isArchive(head: ArraySlice<UInt8>) -> Bool {
        let magics: [[UInt8]] = [
            [0x1F, 0x8B], [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], [0x28, 0xB5, 0x2F, 0xFD], [0x42, 0x5A, 0x68],
            [0x50, 0x4B, 0x03, 0x04], [0x50, 0x4B, 0x05, 0x06],
        ]
        if magics.contains(where: { head.starts(with: $0) }) { return true }
        return head.count >= 262 && head.dropFirst(257).starts(with: "ustar".utf8)
    }

    init(
        file: OwnedDescriptor, location: String, byteCount: UInt64, limits: ImportLimits
    ) throws(ImportExportError) {
        self.file = file
        self.location = location
        self.limits = limits
        archiveByteCount = byteCount
        name = lastComponent(of: location)
        try list()
    }

    private func list() throws(ImportExportError) {
        var found: [SourceEntry?] = []
        var repeated = Set<SourcePath>()
        let session = try ArchiveSession(file: file, subject: printableText(location.utf8))
        while let header = try session.next() {
            let path = try SourcePath(validating: header.path, limits: limits)
            switch header.kind {
            case .folder: continue
            case .hardLink: listing.skip(path.printable, .hardLink)
            case .symbolicLink: listing.skip(path.printable, .symbolicLink)
            case .special: listing.skip(path.printable, .specialFile)
            case .file:
                if header.isEncrypted { throw ImportExportError(.archiveEncrypted, subject: path.printable) }
                if isLeftOutOfImports(path) {
                    listing.skip(path.printable, .hidden)
                    found.append(nil)
                } else {
                    guard repeated.insert(path).inserted else {
                        throw ImportExportError(.pathRepeated, subject: path.printable)
                    }
                    let entry = SourceEntry(
                        path: path, byteCount: header.byteCount, modifiedMilliseconds: header.modifiedMilliseconds)
                    // The listing checks the limits; its order is set below.
                    try listing.add(entry, limits: limits)
                    try checkRatio(unpackedByteCount: listing.totalByteCount)
                    found.append(entry)
                }
                // Left-out files count too: an archive of a million hidden files is still refused.
                guard found.count <= limits.entryCountMax else { throw ImportExportError(.tooManyEntries) }
            }
        }
        setOrder(of: found)
    }

    /// Strips the folder that all share, sorts, and remembers where each entry of the archive went.
    private func setOrder(of found: [SourceEntry?]) {
        let kept = found.compactMap { $0 }
        var rootCount = 0
        if let first = kept.first, !first.path.folder.isEmpty, let root = first.path.components.first,
            kept.allSatisfy({ $0.path.bytes.count > root.count && $0.path.bytes.starts(with: root + [0x2F]) })
        {
            rootCount = root.count + 1
            name = printableText(root)
        }
        let stripped = kept.map { entry in
            SourceEntry(
                path: SourcePath(cleanBytes: Array(entry.path.bytes.dropFirst(rootCount))),
                byteCount: entry.byteCount, modifiedMilliseconds: entry.modifiedMilliseconds)
        }
        let order = stripped.indices.sorted { stripped[$0].path < stripped[$1].path }
        var placeOf = [Int](repeating: 0, count: order.count)
        for (place, index) in order.enumerated() { placeOf[index] = place }
        listing.entries = order.map { stripped[$0] }
        var next = 0
        listingIndexes = found.map { entry in
            guard entry != nil else { return nil }
            defer { next += 1 }
            return placeOf[next]
        }
    }

    private func checkRatio(unpackedByteCount: UInt64) throws(ImportExportError) {
        guard unpackedByteCount > limits.ratioFreeByteCount else { return }
        guard unpackedByteCount / max(1, archiveByteCount) <= limits.compressionRatioMax else {
            throw ImportExportError(
                .ratioTooHigh, at: "\(unpackedByteCount) from \(archiveByteCount)", subject: printableText(name.utf8))
        }
    }

    func visit(
        _ wanted: (Int) -> Bool, _ body: (Int, any SourceEntryReader) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        let session = try ArchiveSession(file: file, subject: printableText(location.utf8))
        var fileCount = 0
        var unpacked: UInt64 = 0
        while let header = try session.next() {
            guard header.kind == .file else { continue }
            guard fileCount < listingIndexes.count else { throw ImportExportError(.sourceChanged) }
            let listed = listingIndexes[fileCount]
            fileCount += 1
            guard let index = listed, wanted(index) else { continue }
            let reader = ArchiveEntryReader(session: session, subject: listing.entries[index].path.printable)
            try body(index, reader)
            unpacked += reader.byteCount
            try checkRatio(unpackedByteCount: unpacked)
        }
    }
}

/// One pass over an archive.
///
/// SAFETY: the handle and the locale are owned by this object alone and freed once, in `deinit`.
@safe final class ArchiveSession {
    enum Kind { case file, folder, symbolicLink, hardLink, special }

    struct Header {
        let path: [UInt8]
        let kind: Kind
        let byteCount: UInt64
        let modifiedMilliseconds: Int64?
        let isEncrypted: Bool
    }

    let library: ArchiveLibrary
    private let subject: String
    private let handle: ArchiveLibrary.Handle
    private let textLocale: locale_t?

    init(file: OwnedDescriptor, subject: String) throws(ImportExportError) {
        guard let library = ArchiveLibrary.shared else { throw ImportExportError(.libraryMissing, at: "libarchive13") }
        guard lseek(file.number, 0, SEEK_SET) == 0 else {
            throw ImportExportError(.sourceUnreadable, at: "errno \(errno)", subject: subject)
        }
        guard let handle = unsafe library.readNew() else {
            throw ImportExportError(.libraryMissing, at: "libarchive13")
        }
        self.library = library
        self.subject = subject
        unsafe self.handle = handle
        // libarchive converts names to the character set of the thread's locale; without UTF-8 there, names
        // that an archive declares as UTF-8 would be lost.
        unsafe textLocale = newlocale(1 << LC_CTYPE, "C.UTF-8", nil)
        for index in unsafe library.supportFunctions.indices { _ = unsafe library.supportFunctions[index](handle) }
        let status = withTextLocale { unsafe library.openDescriptor(handle, file.number, 64 << 10) }
        guard status == ArchiveLibrary.okay || status == ArchiveLibrary.warning else { throw damaged() }
    }

    deinit {
        _ = unsafe library.readFree(handle)
        if let textLocale = unsafe textLocale { unsafe freelocale(textLocale) }
    }

    private func withTextLocale<Result>(_ body: () -> Result) -> Result {
        guard let textLocale = unsafe textLocale else { return body() }
        let previous = unsafe uselocale(textLocale)
        defer { _ = unsafe uselocale(previous) }
        return body()
    }

    private func damaged() -> ImportExportError {
        ImportExportError(.archiveDamaged, at: "errno \(unsafe library.errorNumber(handle))", subject: subject)
    }

    /// The next entry, or nil at the end.
    func next() throws(ImportExportError) -> Header? {
        var entry: ArchiveLibrary.Handle?
        let status = withTextLocale { unsafe library.nextHeader(handle, &entry) }
        if status == ArchiveLibrary.endOfFile { return nil }
        guard status == ArchiveLibrary.okay || status == ArchiveLibrary.warning, let entry = unsafe entry else {
            throw damaged()
        }
        return withTextLocale { unsafe header(of: entry) }
    }

    private func header(of entry: ArchiveLibrary.Handle) -> Header {
        var path: [UInt8] = []
        if let text = unsafe library.entryPathUTF8(entry) ?? library.entryPath(entry) {
            path = unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
        }
        let kind: Kind
        if unsafe library.entryHardLink(entry) != nil {
            kind = .hardLink
        } else {
            kind =
                switch unsafe library.entryFileType(entry) & UInt32(S_IFMT) {
                case UInt32(S_IFREG): .file
                case UInt32(S_IFDIR): .folder
                case UInt32(S_IFLNK): .symbolicLink
                default: .special
                }
        }
        let hasSize = unsafe library.entrySizeIsSet(entry) != 0
        let hasTime = unsafe library.entryTimeIsSet(entry) != 0
        // Times far outside of any calendar would overflow as milliseconds.
        let seconds = hasTime ? unsafe library.entryTime(entry) : 0
        let isPlausible = hasTime && abs(seconds) < 1 << 40
        return Header(
            path: path, kind: kind,
            byteCount: hasSize ? UInt64(max(0, unsafe library.entrySize(entry))) : 0,
            modifiedMilliseconds: isPlausible
                ? Int64(seconds) * 1_000 + Int64(unsafe library.entryTimeNanoseconds(entry)) / 1_000_000 : nil,
            isEncrypted: unsafe library.entryIsEncrypted(entry) != 0)
    }

    /// Reads from the current entry; 0 at its end.
    func read(into buffer: inout [UInt8]) throws(ImportExportError) -> Int {
        let capacity = buffer.count
        let count = withTextLocale { unsafe library.readData(handle, &buffer, capacity) }
        guard count >= 0 else { throw damaged() }
        return count
    }
}

/// Reads one entry of an archive.
final class ArchiveEntryReader: SourceEntryReader {
    private let session: ArchiveSession
    private let subject: String
    /// The bytes unpacked so far.
    private(set) var byteCount: UInt64 = 0

    init(session: ArchiveSession, subject: String) {
        self.session = session
        self.subject = subject
    }

    func forEachPiece(
        byteCountMax: UInt64, _ body: (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = try session.read(into: &buffer)
            if count == 0 { return }
            byteCount += UInt64(count)
            guard byteCount <= byteCountMax else {
                throw ImportExportError(.fileTooLarge, at: "more than \(byteCountMax) bytes", subject: subject)
            }
            try body(buffer[..<count])
        }
    }
}
