// Files inside a backup. Invariant: a file comes back byte for byte, and preallocated zeros take no room in between.

internal import CoffretBase
internal import CoffretCrypto

/// A file as it is met while a backup is read.
struct BackupEntry {
    let path: String
    let byteCount: UInt64
}

/// Puts files into the stream of a backup.
///
/// Layout: entry = path length (2) ‖ path ‖ file size (8) ‖ runs; run = offset (8) ‖ length (4) ‖ bytes, ascending,
/// not overlapping, at least one byte; the run with length 0 and the file's size as offset ends the entry. The
/// stream ends with path length 0 ‖ number of entries (8) ‖ zeros up to the padded size.
struct BackupEntryWriter {
    private let frames: BackupFrameWriter
    private(set) var entryCount: UInt64 = 0

    init(_ frames: BackupFrameWriter) { self.frames = frames }

    /// Copies a file as it lies.
    mutating func add(_ path: String, from file: any OpenFile) throws {
        precondition(BackupFormat.isAcceptable(path), "a vault has such files only")
        let byteCount = try inFiles(file.byteCount())
        try put(UInt16(path.utf8.count).bigEndianBytes + Array(path.utf8) + UInt64(byteCount).bigEndianBytes)
        var offset = 0
        while offset < byteCount {
            let start = offset
            let count = min(BackupFormat.blockByteCount, byteCount - offset)
            let block = try inFiles(file.read(byteCount: count, at: start))
            if block.contains(where: { $0 != 0 }) { try run(at: UInt64(offset), block) }
            offset += count
        }
        try run(at: UInt64(byteCount), [])
        entryCount += 1
    }

    /// Ends the stream.
    func finish() throws {
        try put(UInt16(0).bigEndianBytes + entryCount.bigEndianBytes)
        var missing = Padding.padme(frames.byteCount) - frames.byteCount
        let zeros = [UInt8](repeating: 0, count: min(missing, BackupFormat.blockByteCount))
        while missing > 0 {
            let part = zeros.prefix(missing)
            try frames.write(part)
            missing -= part.count
        }
        try frames.finish()
    }

    private func run(at offset: UInt64, _ bytes: [UInt8]) throws {
        try put(offset.bigEndianBytes + UInt32(bytes.count).bigEndianBytes)
        try put(bytes)
    }

    private func put(_ bytes: [UInt8]) throws { try frames.write(bytes[...]) }
}

/// Goes through the files of a backup.
struct BackupEntryReader {
    private let frames: BackupFrameReader

    init(_ frames: BackupFrameReader) { self.frames = frames }

    /// Reads everything to the last byte.
    ///
    /// - Parameters:
    ///   - begin: is told of each file before its content.
    ///   - write: gets each run of bytes with its offset in that file.
    /// - Throws: `.backupDamaged` for whatever does not follow the layout or does not open.
    func readAll(
        begin: (BackupEntry) throws -> Void, write: (UInt64, [UInt8]) throws -> Void
    ) throws {
        var paths: Set<String> = []
        while true {
            let pathByteCount: UInt16 = try number()
            if pathByteCount == 0 { break }
            guard let path = String(validating: try frames.read(Int(pathByteCount)), as: UTF8.self),
                BackupFormat.isAcceptable(path), paths.insert(path).inserted
            else { throw CoreError(.backupDamaged, at: "path") }
            let byteCount: UInt64 = try number()
            guard byteCount <= BackupFormat.fileByteCountMax else { throw CoreError(.backupDamaged, at: path) }
            try begin(BackupEntry(path: path, byteCount: byteCount))
            try readRuns(of: path, byteCount: byteCount, write)
        }
        guard try number() as UInt64 == UInt64(paths.count) else { throw CoreError(.backupDamaged, at: "count") }
        while try !frames.isAtEnd() {
            guard try frames.readFrame().allSatisfy({ $0 == 0 }) else { throw CoreError(.backupDamaged, at: "padding") }
        }
    }

    private func readRuns(
        of path: String, byteCount: UInt64, _ write: (UInt64, [UInt8]) throws -> Void
    ) throws {
        var position: UInt64 = 0
        while true {
            let offset: UInt64 = try number()
            let count: UInt32 = try number()
            guard offset >= position, offset <= byteCount, UInt64(count) <= byteCount - offset,
                count <= BackupFormat.frameByteCount
            else { throw CoreError(.backupDamaged, at: path) }
            if count == 0 {
                guard offset == byteCount else { throw CoreError(.backupDamaged, at: path) }
                return
            }
            try write(offset, try frames.read(Int(count)))
            position = offset + UInt64(count)
        }
    }

    private func number<Number: FixedWidthInteger>() throws -> Number {
        try frames.read(Number.bitWidth / 8).reduce(0) { $0 << 8 | Number($1) }
    }
}
