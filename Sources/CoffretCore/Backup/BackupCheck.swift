// Verifying a folder of backups. Invariant: what was verified once is read again only if its size or time changed, so that
// verifying costs what is new.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretStorage

/// The findings of a verification.
package struct BackupCheckReport: Equatable, Sendable {
    package var backupCount = 0
    /// Backups that other passphrases or recovery keys opened than those of today, or that are another store's.
    package var unreadable: [BackupName] = []
    /// Backups that cannot be restored whole, each with what is wrong.
    package var damaged: [BackupName: String] = [:]
    package var volumeCount = 0
    /// How many volumes were read, and their bytes.
    package var readVolumeCount = 0
    package var readByteCount = 0
}

extension Store {
    /// Verifies the backups that this store made under its present passphrases and recovery keys.
    ///
    /// - Parameters:
    ///   - readsAll: also what was verified before; a disk may decay.
    ///   - progress: is told how many bytes of how many were read; what it throws ends it.
    /// - Complexity: proportional to what was not verified before.
    /// - Throws: `CoreError` `.inputOutput`, `.keys`; damage is in the report.
    package func verifyBackups(
        in folder: BackupFolder, readsAll: Bool = false,
        progress: (_ doneByteCount: Int, _ byteCount: Int) throws -> Void = { _, _ in }
    ) throws -> BackupCheckReport {
        try folder.exclusively {
            let key = try inKeys(keyring.backupFolderKey())
            let former = CheckedVolumes.read(folder, keyring.storeID, key)
            var check = try BackupCheck(folder: folder, key: key, former: readsAll ? CheckedVolumes() : former)
            try check.run(progress)
            // On a disk that can only be read nothing is remembered, and the next one reads all of it again.
            try? check.checked.write(folder, keyring.storeID, key)
            return check.report
        }
    }
}

private struct BackupCheck {
    let folder: BackupFolder
    let key: BackupFolderKey
    let former: CheckedVolumes
    let sizes: [UniqueID: (byteCount: Int, modified: Milliseconds)]
    private let mark: [UInt8]
    var checked = CheckedVolumes()
    var report = BackupCheckReport()

    init(folder: BackupFolder, key: BackupFolderKey, former: CheckedVolumes) throws {
        self.folder = folder
        self.key = key
        self.former = former
        mark = PieceSealer(key).mark
        sizes = try folder.volumeSizes()
    }

    mutating func run(_ progress: (Int, Int) throws -> Void) throws {
        var needs: [BackupName: [UniqueID]] = [:]
        /// Of volumes that are to be read.
        var pieces: [UniqueID: Set<BackupPiece>] = [:]
        for name in try folder.names() {
            report.backupCount += 1
            do {
                let file = try BackupFile(inFiles(folder.environment.fileSystem.open(folder.backupPath(name), .read)))
                needs[name] = file.volumes
                let modified = try inFiles(folder.environment.fileSystem.status(folder.backupPath(name)))?.modified
                let stamp = CheckedVolumes.Stamp(file.byteCount, modified ?? 0)
                if former.backups[name] == stamp, file.volumes.allSatisfy(isUnchanged) {
                    checked.backups[name] = stamp
                    continue
                }
                guard file.keyMark == mark else {
                    report.unreadable.append(name)
                    needs[name] = nil
                    continue
                }
                let list = try file.list(key)
                for piece in list.pieces where !isUnchanged(piece.volume) {
                    pieces[piece.volume, default: []].insert(piece)
                }
                checked.backups[name] = stamp
            } catch let error as CoreError where error.code != .inputOutput {
                report.damaged[name] = error.place ?? ""
            }
        }
        try read(pieces, progress)
        for (name, volumes) in needs {
            guard let volume = volumes.first(where: { checked.damaged.contains($0) || sizes[$0] == nil }) else {
                continue
            }
            report.damaged[name] = "volume \(volume.hex)"
            checked.backups[name] = nil
        }
        report.volumeCount = Set(needs.values.joined()).count
    }

    private func isUnchanged(_ id: UniqueID) -> Bool {
        guard let size = sizes[id], let before = former.volumes[id] else { return false }
        return before == CheckedVolumes.Stamp(size.byteCount, size.modified)
    }

    private mutating func read(_ pieces: [UniqueID: Set<BackupPiece>], _ progress: (Int, Int) throws -> Void) throws {
        let reader = VolumeReader(folder, PieceSealer(key))
        let byteCount = pieces.keys.reduce(0) { $0 + (sizes[$1]?.byteCount ?? 0) }
        for id in sizes.keys where isUnchanged(id) { checked.volumes[id] = former.volumes[id] }
        for (id, pieces) in pieces.sorted(by: { $0.key < $1.key }) {
            do {
                for piece in pieces.sorted(by: { $0.place < $1.place }) { _ = try reader.read(piece) }
                if let size = sizes[id] { checked.volumes[id] = CheckedVolumes.Stamp(size.byteCount, size.modified) }
            } catch let error as CoreError where error.code == .backupDamaged {
                checked.damaged.insert(id)
            }
            report.readVolumeCount += 1
            report.readByteCount += sizes[id]?.byteCount ?? 0
            try progress(report.readByteCount, byteCount)
        }
    }
}

/// The verified parts: `FOLDER/checked`, sealed under the folder key, so that a stranger's word counts for nothing. An old one
/// that is put back costs time and nothing else.
struct CheckedVolumes: Equatable {
    struct Stamp: Equatable {
        let byteCount: Int
        let modified: Milliseconds

        init(_ byteCount: Int, _ modified: Milliseconds) { (self.byteCount, self.modified) = (byteCount, modified) }
    }

    var backups: [BackupName: Stamp] = [:]
    var volumes: [UniqueID: Stamp] = [:]
    var damaged: Set<UniqueID> = []

    private static let byteCountMax = 64 << 20

    /// Lines: `b NAME SIZE MODIFIED`, `v ID SIZE MODIFIED`, `x ID`.
    private var text: String {
        var lines = backups.sorted { $0.key < $1.key }.map { "b \($0.text) \($1.byteCount) \($1.modified)" }
        lines += volumes.sorted { $0.key < $1.key }.map { "v \($0.hex) \($1.byteCount) \($1.modified)" }
        lines += damaged.sorted().map { "x \($0.hex)" }
        return lines.joined(separator: "\n")
    }

    init() {}

    private init(_ text: String) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count > 1 else { continue }
            let id = (try? Hex.decode(words[1])).flatMap { UniqueID(bytes: $0) }
            var stamp: Stamp?
            if words.count == 4, let size = Int(words[2]), let time = Int64(words[3]) { stamp = Stamp(size, time) }
            switch words[0] {
            case "b": if let name = BackupName(words[1]) { backups[name] = stamp }
            case "v": if let id { volumes[id] = stamp }
            case "x": if let id { damaged.insert(id) }
            default: break
            }
        }
    }

    /// Nothing where there is no such file, or one of another store or another time.
    static func read(_ folder: BackupFolder, _ storeID: UniqueID, _ key: BackupFolderKey) -> CheckedVolumes {
        guard
            let sealed = try? folder.environment.fileSystem.readFile(folder.checkedPath, byteCountMax: byteCountMax),
            let text = unsafe try? Envelope.open(
                sealed, key: key, context: .backupChecked, associatedData: storeID.bytes,
                { (content) throws(CryptoError) in unsafe String(decoding: content, as: UTF8.self) })
        else { return CheckedVolumes() }
        return CheckedVolumes(text)
    }

    func write(_ folder: BackupFolder, _ storeID: UniqueID, _ key: BackupFolderKey) throws {
        let sealed = Envelope.seal(
            Array(text.utf8), key: key, context: .backupChecked, associatedData: storeID.bytes,
            random: folder.environment.random)
        try inFiles(folder.environment.fileSystem.replaceFile(folder.checkedPath, with: sealed, isLocked: true))
    }
}
