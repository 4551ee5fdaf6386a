// An export as one zip file. Invariant: the file appears whole or not at all, and an entry's size is known before its content is
// written: without it libarchive writes the form for very large files, which some programs do not read.

internal import Glibc

/// Where an export puts its files.
protocol ExportTarget: AnyObject {
    /// Writes a new file, with the folders above it. `produce` may be called more than once.
    ///
    /// - Throws: what `produce` throws, before anything of the file is there; `.targetOccupied`, `.targetUnwritable`.
    func write(
        _ path: SourcePath, modifiedMilliseconds: Int64?,
        _ produce: (@escaping (ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError)

    /// Makes everything written durable.
    func synchronize() throws(ImportExportError)
}

/// A zip file on its way, written by libarchive.
///
/// SAFETY: the handle and the locale are owned by this object alone and freed once, in `deinit`. The library keeps an unretained
/// pointer to this object and calls it only while the handle lives.
@safe final class ExportArchive: ExportTarget {
    private let library: ArchiveLibrary
    private let handle: ArchiveLibrary.Handle
    private let textLocale: locale_t?
    private let output: (ArraySlice<UInt8>) throws(ImportExportError) -> Void
    /// Why the output took no more.
    private var failure: ImportExportError?

    /// - Parameter output: takes the bytes of the file, in order.
    /// - Throws: `.libraryMissing` without libarchive.
    init(_ output: @escaping (ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) {
        guard let library = ArchiveLibrary.shared, let handle = unsafe library.writeNew() else {
            throw ImportExportError(.libraryMissing, at: "libarchive13")
        }
        self.library = library
        unsafe self.handle = handle
        self.output = output
        // As in reading: names leave in the character set of the thread's locale.
        unsafe textLocale = newlocale(1 << LC_CTYPE, "C.UTF-8", nil)
        _ = unsafe library.writeFormatZip(handle)
        // Bytes go out as they come, and none is added to fill a block.
        _ = unsafe library.writeBytesPerBlock(handle, 0)
        _ = unsafe library.writeBytesInLastBlock(handle, 1)
        let own = unsafe Unmanaged.passUnretained(self).toOpaque()
        try check(
            unsafe library.writeOpen(
                handle, own, nil,
                { (_, own, bytes, count) in
                    guard let own = unsafe own, let bytes = unsafe bytes else { return -1 }
                    let archive = unsafe Unmanaged<ExportArchive>.fromOpaque(own).takeUnretainedValue()
                    return archive.pass(unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count)))
                }, nil))
    }

    deinit {
        // What was left open is not written to its end: the file does not stay.
        failure = failure ?? ImportExportError(.stopped)
        _ = unsafe library.writeFree(handle)
        if let textLocale = unsafe textLocale { unsafe freelocale(textLocale) }
    }

    private func pass(_ bytes: [UInt8]) -> Int {
        guard failure == nil else { return -1 }
        do throws(ImportExportError) {
            try output(bytes[...])
            return bytes.count
        } catch {
            failure = error
            return -1
        }
    }

    private func check(_ status: Int32) throws(ImportExportError) {
        if let failure { throw failure }
        guard status == ArchiveLibrary.okay else {
            throw ImportExportError(.targetUnwritable, at: "libarchive \(unsafe library.errorNumber(handle))")
        }
    }

    func write(
        _ path: SourcePath, modifiedMilliseconds: Int64?,
        _ produce: (@escaping (ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        // A fault of the content has to show before the entry begins.
        var byteCount = 0
        try produce { byteCount += $0.count }
        try begin(path, byteCount: byteCount, modifiedMilliseconds: modifiedMilliseconds)
        var written = 0
        try produce { [self] piece throws(ImportExportError) in
            let count = unsafe piece.withUnsafeBytes { unsafe library.writeData(handle, $0.baseAddress, $0.count) }
            try check(count < 0 ? -1 : ArchiveLibrary.okay)
            written += count
        }
        guard written == byteCount else {
            throw ImportExportError(.targetUnwritable, at: "\(written) of \(byteCount) bytes", subject: path.printable)
        }
    }

    private func begin(_ path: SourcePath, byteCount: Int, modifiedMilliseconds: Int64?) throws(ImportExportError) {
        guard let entry = unsafe library.entryNew() else { throw ImportExportError(.targetUnwritable) }
        defer { unsafe library.entryFree(entry) }
        unsafe library.entrySetPath(entry, path.bytes.map { CChar(bitPattern: $0) } + [0])
        unsafe library.entrySetSize(entry, Int64(byteCount))
        unsafe library.entrySetMode(entry, UInt32(S_IFREG) | 0o600)
        if let modifiedMilliseconds {
            unsafe library.entrySetTime(entry, Int(modifiedMilliseconds.floorDivided(by: 1_000)), 0)
        }
        let previous = unsafe textLocale.map { unsafe uselocale($0) }
        let status = unsafe library.writeHeader(handle, entry)
        if let previous = unsafe previous { _ = unsafe uselocale(previous) }
        try check(status)
    }

    /// Writes the end of the file.
    func synchronize() throws(ImportExportError) { try check(unsafe library.writeClose(handle)) }
}

extension Int64 {
    fileprivate func floorDivided(by divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : (self - divisor + 1) / divisor
    }
}
