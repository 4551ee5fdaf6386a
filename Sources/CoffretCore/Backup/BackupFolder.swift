// A folder of backups. Invariant: a backup has its name once all that it needs is on the disk, and what a backup needs
// goes only after the backup.

package import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys

/// The place of one backup among others.
package struct BackupName: Hashable, Comparable, Sendable {
    /// The moment in UTC, to the second, and eight random hex digits: `20261123T121500Z-0f3a9c41`.
    package let text: String
    /// The moment that the name states.
    package let time: Milliseconds

    /// - Returns: nil for any other text.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 25, bytes[16] == UInt8(ascii: "-"),
            bytes[17...].allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        let parts = [0..<4, 4..<6, 6..<8, 9..<11, 11..<13, 13..<15].map { String(decoding: bytes[$0], as: UTF8.self) }
        let standard = "\(parts[0])-\(parts[1])-\(parts[2])T\(parts[3]):\(parts[4]):\(parts[5])Z"
        guard let time = try? CivilTime.parse(standard), Self.compact(time) == text.prefix(16) else { return nil }
        self.text = text
        self.time = time
    }

    init(_ time: Milliseconds, random: any RandomSource) {
        self.time = time / 1_000 * 1_000
        text = Self.compact(self.time) + "-" + String(UniqueID.generate(from: random).hex.prefix(8))
    }

    private static func compact(_ time: Milliseconds) -> String {
        CivilTime.format(time).filter { $0 != "-" && $0 != ":" }
    }

    package static func < (a: BackupName, b: BackupName) -> Bool { a.text < b.text }
}

/// A backup and its size.
package struct ListedBackup: Equatable, Sendable {
    package let name: BackupName
    /// Of all that it needs, in bytes; what several backups need counts for each.
    package let byteCount: Int
}

/// The backups and bytes that went.
package struct PruneReport: Equatable, Sendable {
    package var removed: [BackupName] = []
    package var kept: [BackupName] = []
    /// Bytes of files that went.
    package var byteCount = 0
}

/// `FOLDER/coffret-backups`, `FOLDER/backups/NAME`, `FOLDER/volumes/ID` and `FOLDER/checked`.
package struct BackupFolder: Sendable {
    package let path: String
    let environment: StoreEnvironment
    /// The file that marks such a folder.
    package static var markerName: String { BackupFormat.markerName }

    /// A folder that is there.
    ///
    /// - Throws: `CoreError.backupUnknownFormat` for any other folder or file; `.inputOutput`.
    package init(at path: String, environment: StoreEnvironment) throws {
        self.path = path
        self.environment = environment
        let marker = try? environment.fileSystem.readFile(
            PathText.join(path, BackupFormat.markerName), byteCountMax: BackupFormat.marker.count)
        guard marker == BackupFormat.marker else {
            // A folder that cannot be read is one thing, another folder another.
            _ = try inFiles(environment.fileSystem.list(path))
            throw CoreError(.backupUnknownFormat, at: path)
        }
    }

    /// The content of a place that is to hold backups.
    package enum Content { case nothing, backups, otherFiles, noFolder }

    /// - Throws: `CoreError.inputOutput`.
    package static func content(at path: String, _ environment: StoreEnvironment) throws -> Content {
        try inFiles { () throws(FileSystemError) in
            let fileSystem = environment.fileSystem
            guard let status = try fileSystem.status(path) else { return .nothing }
            // A link, or a descriptor's path, to a folder is as good as the folder.
            guard status.kind == .directory || status.kind == .symbolicLink else { return .noFolder }
            let names = try fileSystem.list(path).map(\.name)
            if names.contains(BackupFormat.markerName) { return .backups }
            // A marker that a power cut left half written is no file of somebody's.
            let unfinished = BackupFormat.markerName + "."
            return names.allSatisfy { $0.hasPrefix(unfinished) && $0.hasSuffix(".new") } ? .nothing : .otherFiles
        }
    }

    /// The folder at `path`, made if nothing or an empty folder is there.
    ///
    /// - Throws: as above; a folder that holds other files is left alone.
    package static func prepared(at path: String, environment: StoreEnvironment) throws -> BackupFolder {
        let fileSystem = environment.fileSystem
        if try content(at: path, environment) == .nothing {
            try inFiles { () throws(FileSystemError) in
                try fileSystem.makeDirectories(path)
                try fileSystem.replaceFile(PathText.join(path, BackupFormat.markerName), with: BackupFormat.marker)
            }
        }
        let folder = try BackupFolder(at: path, environment: environment)
        try inFiles { () throws(FileSystemError) in
            try fileSystem.makeDirectories(folder.backupsPath)
            try fileSystem.makeDirectories(folder.volumesPath)
        }
        return folder
    }

    var backupsPath: String { PathText.join(path, "backups") }
    var volumesPath: String { PathText.join(path, "volumes") }
    var checkedPath: String { PathText.join(path, BackupFormat.checkedName) }
    func backupPath(_ name: BackupName) -> String { PathText.join(backupsPath, name.text) }
    func volumePath(_ id: UniqueID) -> String { PathText.join(volumesPath, id.hex) }

    /// All backups, the oldest first.
    ///
    /// - Throws: `CoreError.inputOutput`.
    package func names() throws -> [BackupName] {
        let fileSystem = environment.fileSystem
        guard try inFiles(fileSystem.exists(backupsPath)) else { return [] }
        return try inFiles(fileSystem.list(backupsPath)).compactMap { entry in
            entry.kind == .file && entry.isNameValid ? BackupName(entry.name) : nil
        }.sorted()
    }

    /// All backups with their sizes, the oldest first.
    package func list() throws -> [ListedBackup] {
        let sizes = try volumeSizes()
        return try names().map { name in
            let file = try inFiles(environment.fileSystem.open(backupPath(name), .read))
            let own = try inFiles(file.byteCount())
            // A damaged one is listed by its own size; verifying tells more.
            let volumes = (try? BackupFile(file))?.volumes ?? []
            return ListedBackup(name: name, byteCount: volumes.reduce(own) { $0 + (sizes[$1]?.byteCount ?? 0) })
        }
    }

    func volumeSizes() throws -> [UniqueID: (byteCount: Int, modified: Milliseconds)] {
        let fileSystem = environment.fileSystem
        guard try inFiles(fileSystem.exists(volumesPath)) else { return [:] }
        var sizes: [UniqueID: (byteCount: Int, modified: Milliseconds)] = [:]
        for entry in try inFiles(fileSystem.list(volumesPath)) where entry.kind == .file && entry.isNameValid {
            guard let bytes = try? Hex.decode(entry.name), let id = UniqueID(bytes: bytes),
                let status = try inFiles(fileSystem.status(volumePath(id)))
            else { continue }
            sizes[id] = (status.byteCount, status.modified)
        }
        return sizes
    }

    /// Holds the folder against other writers while `body` runs; they wait.
    func exclusively<Result>(_ body: () throws -> Result) throws -> Result {
        let marker = PathText.join(path, BackupFormat.markerName)
        let fileSystem = environment.fileSystem
        // A disk that can only be read has no other writers; a network's file system locks only what can be written.
        let lock = try (try? fileSystem.open(marker, .readWrite)) ?? inFiles(fileSystem.open(marker, .read))
        try inFiles(lock.lock(.exclusive, waits: true))
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    /// Removes what an interrupted writer left.
    func removeUnfinished() throws {
        let fileSystem = environment.fileSystem
        for folder in [backupsPath, volumesPath] {
            for entry in try inFiles(fileSystem.list(folder)) where entry.name.hasSuffix(".new") && entry.isNameValid {
                try inFiles(fileSystem.remove(PathText.join(folder, entry.name)))
            }
        }
    }

    /// Removes backups made before `time`, but never the newest, and then the volumes that no backup needs.
    ///
    /// A volume that is younger than a day stays: another machine's copy of this folder may be about to name it.
    /// - Throws: `CoreError.backupDamaged` if the clear part of a backup that stays cannot be read: then no volume goes.
    package func prune(before time: Milliseconds, isTrial: Bool = false) throws -> PruneReport {
        try exclusively {
            let fileSystem = environment.fileSystem
            var report = PruneReport()
            let all = try names()
            report.removed = all.dropLast().filter { $0.time < time }
            report.kept = all.filter { !report.removed.contains($0) }
            var needed: Set<UniqueID> = []
            for name in report.kept {
                needed.formUnion(try BackupFile(inFiles(fileSystem.open(backupPath(name), .read))).volumes)
            }
            for name in report.removed {
                report.byteCount += try inFiles(fileSystem.status(backupPath(name)))?.byteCount ?? 0
                if !isTrial { try inFiles(fileSystem.remove(backupPath(name))) }
            }
            if !isTrial {
                try removeUnfinished()
                try inFiles(fileSystem.synchronizeDirectory(backupsPath))
            }
            let youngest = environment.clock.now - 86_400_000
            for (id, size) in try volumeSizes() where !needed.contains(id) && size.modified < youngest {
                report.byteCount += size.byteCount
                if !isTrial { try inFiles(fileSystem.remove(volumePath(id))) }
            }
            return report
        }
    }
}

/// The clear part of a backup: magic (16) ‖ header length (4) ‖ header ‖ wrapped key (109) ‖ mark of the key (16) ‖
/// number of volumes (4) ‖ volumes (16 each).
struct BackupFile {
    let file: any OpenFile
    let byteCount: Int
    let header: [UInt8]
    /// The folder key, sealed under the backup key.
    let wrappedKey: [UInt8]
    /// Tells folder keys apart.
    let keyMark: [UInt8]
    let volumes: [UniqueID]
    /// Where the frames begin.
    let contentOffset: Int
    /// Of all bytes before the frames.
    private let clearHash: [UInt8]

    static let wrappedKeyByteCount = 32 + 4 + Envelope.overheadByteCount

    /// - Throws: `.backupUnknownFormat`, `.backupDamaged`, `.inputOutput`.
    init(_ file: any OpenFile) throws {
        self.file = file
        let size = try inFiles(file.byteCount())
        byteCount = size
        var position = 0
        func take(_ count: Int, _ place: String) throws -> [UInt8] {
            let start = position
            guard count <= size - start else { throw CoreError(.backupDamaged, at: place) }
            position += count
            return try inFiles(file.read(byteCount: count, at: start))
        }
        func number(_ place: String) throws -> Int { try take(4, place).reduce(0) { $0 << 8 | Int($1) } }
        let magic = try take(min(size, BackupFormat.magic.count), "magic")
        guard magic == BackupFormat.magic else {
            let isCut = magic.count < BackupFormat.magic.count && BackupFormat.magic.starts(with: magic)
            throw CoreError(isCut && !magic.isEmpty ? .backupDamaged : .backupUnknownFormat, at: file.path)
        }
        let headerByteCount = try number("header")
        guard headerByteCount <= Limits.keyringByteCountMax else { throw CoreError(.backupDamaged, at: "header") }
        header = try take(headerByteCount, "header")
        wrappedKey = try take(Self.wrappedKeyByteCount, "key")
        keyMark = try take(PieceSealer.markByteCount, "key")
        let volumeCount = try number("volumes")
        guard volumeCount <= BackupFormat.volumeCountMax else { throw CoreError(.backupDamaged, at: "volumes") }
        let names = try take(volumeCount * UniqueID.byteCount, "volumes")
        volumes = stride(from: 0, to: names.count, by: UniqueID.byteCount).compactMap {
            UniqueID(bytes: Array(names[$0..<$0 + UniqueID.byteCount]))
        }
        guard position < size else { throw CoreError(.backupDamaged, at: "offset \(position)") }
        contentOffset = position
        clearHash = BLAKE2b.hash(try inFiles(file.read(byteCount: contentOffset, at: 0)))
    }

    /// - Throws: `.backupDamaged`, also for the key of another folder.
    func list(_ key: BackupFolderKey) throws -> BackupList {
        let reader = BackupFrameReader(
            Self.frames(key, clearHash: clearHash), from: file, at: contentOffset, end: byteCount)
        return try BackupListReader(frames: reader, volumes: volumes).read()
    }

    static func frames(_ key: BackupFolderKey, clearHash: [UInt8]) -> BackupFrames {
        BackupFrames(
            key: KDF.derive(from: key, .backupContent, clearHash), associatedData: BackupFormat.magic + clearHash)
    }

    /// The folder key that a backup key gives back.
    ///
    /// - Throws: `.backupDamaged`.
    func folderKey(_ key: BackupKey) throws -> BackupFolderKey {
        do throws(CryptoError) {
            return try unsafe Envelope.open(
                wrappedKey, key: key, context: .backupKey, associatedData: BLAKE2b.hash(header), fill: .none
            ) { (bytes) throws(CryptoError) in
                guard bytes.count == 32 else { throw CryptoError(.authenticationFailed) }
                return BackupFolderKey(unsafe SecretBytes(copying: bytes))
            }
        } catch {
            throw CoreError(.backupDamaged, at: "key", cause: error)
        }
    }

    /// The clear part of a new backup.
    static func clear(
        _ keys: BackupKeys, _ folderKey: BackupFolderKey, _ volumes: [UniqueID], random: any RandomSource
    ) -> (bytes: [UInt8], hash: [UInt8]) {
        // EXPOSE: into the envelope, which seals it.
        let wrapped = unsafe folderKey.withUnsafeBytes { bytes in
            unsafe Envelope.seal(
                bytes, key: keys.key, context: .backupKey, associatedData: BLAKE2b.hash(keys.header), fill: .none,
                random: random)
        }
        var bytes = BackupFormat.magic + UInt32(keys.header.count).bigEndianBytes + keys.header + wrapped
        bytes += PieceSealer(folderKey).mark
        bytes += UInt32(volumes.count).bigEndianBytes
        for volume in volumes { bytes += volume.bytes }
        return (bytes, BLAKE2b.hash(bytes))
    }
}
