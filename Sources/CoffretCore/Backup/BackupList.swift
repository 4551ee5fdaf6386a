// The list of a backup: its moment, the files of all vaults, and where the pieces of each lie. Invariant: bytes that no run
// covers are zero, so that preallocated room takes none in a backup.

internal import CoffretBase
internal import CoffretCrypto

/// Some bytes of a file, sealed in a volume.
struct BackupPiece: Hashable {
    /// Keyed hash of the plain bytes; its first 24 bytes are the nonce.
    let name: [UInt8]
    let volume: UniqueID
    /// Where its sealed bytes begin in the volume.
    let place: UInt64
    /// Plain; 16 less than sealed.
    let byteCount: Int

    /// The first byte behind it in the volume.
    var end: UInt64 { place + UInt64(byteCount + XChaCha20Poly1305.tagByteCount) }
}

/// A stretch of a file, and what it holds.
struct BackupRun {
    let offset: UInt64
    let piece: BackupPiece
}

/// A file of a vault as a backup has it.
struct BackupEntry {
    /// Below the directory of vaults.
    let path: String
    let byteCount: UInt64
    let modified: Milliseconds
    var runs: [BackupRun] = []
}

/// Layout: list = time (8) ‖ entry … ‖ 0 (2) ‖ number of entries (8) ‖ zeros up to the padded size; entry = path length (2) ‖
/// path ‖ file size (8) ‖ modified (8) ‖ run … ‖ file size (8) ‖ 0 (4); run = offset (8) ‖ length (4), not 0 ‖ volume (4) ‖
/// place (8) ‖ name (32).
struct BackupList {
    var time: Milliseconds
    var entries: [BackupEntry] = []

    /// All pieces, one by one as files need them.
    var pieces: [BackupPiece] { entries.flatMap { $0.runs.map(\.piece) } }

    /// - Parameter volumes: the number of each volume in the backup.
    func stream(_ volumes: [UniqueID: UInt32]) -> [UInt8] {
        var bytes = UInt64(bitPattern: time).bigEndianBytes
        for entry in entries {
            bytes += UInt16(entry.path.utf8.count).bigEndianBytes + Array(entry.path.utf8)
            bytes += entry.byteCount.bigEndianBytes + UInt64(bitPattern: entry.modified).bigEndianBytes
            for run in entry.runs {
                bytes += run.offset.bigEndianBytes + UInt32(run.piece.byteCount).bigEndianBytes
                bytes += (volumes[run.piece.volume] ?? .max).bigEndianBytes + run.piece.place.bigEndianBytes
                bytes += run.piece.name
            }
            bytes += entry.byteCount.bigEndianBytes + UInt32(0).bigEndianBytes
        }
        bytes += UInt16(0).bigEndianBytes + UInt64(entries.count).bigEndianBytes
        return bytes + [UInt8](repeating: 0, count: Padding.padme(bytes.count) - bytes.count)
    }
}

/// Reads a list.
struct BackupListReader {
    let frames: BackupFrameReader
    let volumes: [UniqueID]

    /// Reads everything to the last byte.
    ///
    /// - Throws: `.backupDamaged` for bytes that do not follow the layout or do not open.
    func read() throws -> BackupList {
        var list = BackupList(time: Int64(bitPattern: try number()))
        var paths: Set<String> = []
        while true {
            let pathByteCount: UInt16 = try number()
            if pathByteCount == 0 { break }
            guard let path = String(validating: try frames.read(Int(pathByteCount)), as: UTF8.self),
                BackupFormat.isAcceptable(path), paths.insert(path).inserted
            else { throw CoreError(.backupDamaged, at: "path") }
            list.entries.append(try entry(path))
        }
        guard try number() as UInt64 == UInt64(paths.count) else { throw CoreError(.backupDamaged, at: "count") }
        while try !frames.isAtEnd() {
            guard try frames.readFrame().allSatisfy({ $0 == 0 }) else { throw CoreError(.backupDamaged, at: "padding") }
        }
        return list
    }

    private func entry(_ path: String) throws -> BackupEntry {
        var entry = BackupEntry(path: path, byteCount: try number(), modified: Int64(bitPattern: try number()))
        guard entry.byteCount <= BackupFormat.fileByteCountMax else { throw CoreError(.backupDamaged, at: path) }
        var position: UInt64 = 0
        while true {
            let offset: UInt64 = try number()
            let count: UInt32 = try number()
            guard offset >= position, offset <= entry.byteCount, UInt64(count) <= entry.byteCount - offset,
                count <= BackupFormat.pieceByteCount
            else { throw CoreError(.backupDamaged, at: path) }
            if count == 0 {
                guard offset == entry.byteCount else { throw CoreError(.backupDamaged, at: path) }
                return entry
            }
            let volume: UInt32 = try number()
            let place: UInt64 = try number()
            guard volume < volumes.count, place < BackupFormat.fileByteCountMax else {
                throw CoreError(.backupDamaged, at: path)
            }
            let piece = BackupPiece(
                name: try frames.read(32), volume: volumes[Int(volume)], place: place, byteCount: Int(count))
            entry.runs.append(BackupRun(offset: offset, piece: piece))
            position = offset + UInt64(count)
        }
    }

    private func number<Number: FixedWidthInteger>() throws -> Number {
        try frames.read(Number.bitWidth / 8).reduce(0) { $0 << 8 | Number($1) }
    }
}
