// Volumes: the sealed pieces of files, many in one file. Invariant: a volume has its name once it is whole and on the disk;
// it never changes after that.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys

/// Names, seals and opens pieces.
struct PieceSealer {
    private let pieceKey: SymmetricKey<KeyPurposes.BackupPiece>
    private let nameKey: SymmetricKey<KeyPurposes.BackupName>

    init(_ key: BackupFolderKey) {
        pieceKey = KDF.derive(from: key, .backupPiece)
        nameKey = KDF.derive(from: key, .backupName)
    }

    static let markByteCount = 16

    /// The beginning of the name that no bytes would have: a piece holds at least one.
    var mark: [UInt8] { Array(name([]).prefix(Self.markByteCount)) }

    func name(_ plain: [UInt8]) -> [UInt8] {
        // EXPOSE: into the hash state, which is zeroed when the hasher goes.
        unsafe nameKey.withUnsafeBytes { key in
            var hasher = unsafe BLAKE2bHasher(byteCount: 32, keyBytes: key)
            hasher.update(plain)
            return hasher.finish()
        }
    }

    /// The nonce comes from the name and that from the bytes: the same nonce means the same bytes.
    func seal(_ plain: [UInt8], named name: [UInt8]) -> [UInt8] {
        BackupSeal.seal(
            plain, pieceKey, nonce: Array(name.prefix(XChaCha20Poly1305.nonceByteCount)),
            associatedData: BackupFormat.volumeMagic)
    }

    func open(_ sealed: [UInt8], named name: [UInt8]) -> [UInt8]? {
        BackupSeal.open(
            sealed, pieceKey, nonce: Array(name.prefix(XChaCha20Poly1305.nonceByteCount)),
            associatedData: BackupFormat.volumeMagic)
    }
}

/// Writes new pieces into new volumes.
struct VolumeWriter {
    private let folder: BackupFolder
    private let sealer: PieceSealer
    private var current: (id: UniqueID, file: any OpenFile, byteCount: Int)?
    /// Bytes of all volumes that were written, padding included.
    private(set) var byteCount = 0

    init(_ folder: BackupFolder, _ sealer: PieceSealer) {
        self.folder = folder
        self.sealer = sealer
    }

    mutating func add(_ plain: [UInt8], named name: [UInt8]) throws -> BackupPiece {
        if current == nil {
            let id = UniqueID.generate(from: folder.environment.random)
            let path = folder.volumePath(id) + ".new"
            let file = try inFiles { () throws(FileSystemError) in
                let file = try folder.environment.fileSystem.open(path, .createNew)
                try file.write(BackupFormat.volumeMagic, at: 0)
                return file
            }
            current = (id, file, BackupFormat.volumeMagic.count)
        }
        guard let (id, file, place) = current else { preconditionFailure("opened above") }
        let sealed = sealer.seal(plain, named: name)
        try inFiles(file.write(sealed, at: place))
        current = (id, file, place + sealed.count)
        if place + sealed.count >= BackupFormat.volumeByteCount { try finish() }
        return BackupPiece(name: name, volume: id, place: UInt64(place), byteCount: plain.count)
    }

    /// Ends the last volume; its size is padded.
    mutating func finish() throws {
        guard let (id, file, place) = current.take() else { return }
        let size = Padding.padme(place)
        let path = folder.volumePath(id)
        try inFiles { () throws(FileSystemError) in
            try file.truncate(to: size)
            try file.synchronizeData()
            try folder.environment.fileSystem.rename(path + ".new", to: path)
        }
        byteCount += size
    }
}

/// Reads pieces out of volumes.
final class VolumeReader {
    private let folder: BackupFolder
    private let sealer: PieceSealer
    private var current: (id: UniqueID, file: any OpenFile)?

    init(_ folder: BackupFolder, _ sealer: PieceSealer) {
        self.folder = folder
        self.sealer = sealer
    }

    /// - Throws: `.backupDamaged` with the volume's name for a volume that is missing or cut, and for a piece that does not
    ///   open; `.inputOutput`.
    func read(_ piece: BackupPiece) throws -> [UInt8] {
        let damaged = CoreError(.backupDamaged, at: "volume \(piece.volume.hex)")
        if current?.id != piece.volume {
            do throws(FileSystemError) {
                current = (piece.volume, try folder.environment.fileSystem.open(folder.volumePath(piece.volume), .read))
            } catch {
                throw error.code == .notFound ? damaged : CoreError(error)
            }
        }
        guard let file = current?.file else { throw damaged }
        guard try UInt64(inFiles(file.byteCount())) >= piece.end else { throw damaged }
        let count = piece.byteCount + XChaCha20Poly1305.tagByteCount
        let sealed = try inFiles(file.read(byteCount: count, at: Int(piece.place)))
        guard let plain = sealer.open(sealed, named: piece.name) else { throw damaged }
        return plain
    }
}
