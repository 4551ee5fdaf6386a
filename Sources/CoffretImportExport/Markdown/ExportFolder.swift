// A folder that an export writes into. Invariant: nothing outside the folder is ever written, and nothing inside it is
// replaced unless that was asked for.

internal import CPlatform
internal import Glibc

/// Creates files below one folder, all of them readable by their owner only.
final class ExportFolder: ExportTarget {
    private let root: OwnedDescriptor
    private let mayReplace: Bool
    private var openFolder: (path: ArraySlice<UInt8>, descriptor: OwnedDescriptor)
    /// Files that were written and are not durable yet.
    private var written: [SourcePath] = []

    /// Makes or opens the target.
    ///
    /// - Parameter mayReplace: whether a folder that is not empty may be written into.
    /// - Throws: `.targetOccupied`, `.targetUnwritable`.
    init(path: String, mayReplace: Bool) throws(ImportExportError) {
        let subject = printableText(path.utf8)
        if unsafe mkdir(path, 0o700) != 0, errno != EEXIST {
            throw ImportExportError(.targetUnwritable, at: "errno \(errno)", subject: subject)
        }
        let number = unsafe coffret_open(path, O_RDONLY | O_DIRECTORY, 0)
        guard number >= 0 else {
            throw ImportExportError(
                errno == ENOTDIR ? .targetOccupied : .targetUnwritable, at: "errno \(errno)", subject: subject)
        }
        root = OwnedDescriptor(number)
        openFolder = ([], root)
        self.mayReplace = mayReplace
        if !mayReplace {
            do throws(ImportExportError) {
                guard try root.names(subject: subject, countMax: 1).isEmpty else {
                    throw ImportExportError(.targetOccupied, subject: subject)
                }
            } catch {
                // More than one name is reported as too many of them.
                throw ImportExportError(
                    error.code == .tooManyEntries ? .targetOccupied : error.code, at: error.place, subject: subject)
            }
        }
    }

    /// Opens a folder that exists, to write single new files into.
    init(existing path: String) throws(ImportExportError) {
        let number = unsafe coffret_open(path, O_RDONLY | O_DIRECTORY, 0)
        guard number >= 0 else {
            throw ImportExportError(.targetUnwritable, at: "errno \(errno)", subject: printableText(path.utf8))
        }
        root = OwnedDescriptor(number)
        openFolder = ([], root)
        mayReplace = false
    }

    /// Creates a file, with the folders above it, and writes what `produce` hands over.
    ///
    /// The content goes to a name of its own first and is renamed, so that a half-written file never
    /// stands in the place of a whole one.
    func write(
        _ path: SourcePath, modifiedMilliseconds: Int64?,
        _ produce: (@escaping (ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
    ) throws(ImportExportError) {
        let folder = try folder(path.folder, subject: path.printable)
        let file = try ExportFile(
            folder: folder, name: Array(path.name), mayReplace: mayReplace, subject: path.printable)
        do throws(ImportExportError) {
            try produce { piece throws(ImportExportError) in try file.write(piece) }
            try file.finish(modifiedMilliseconds: modifiedMilliseconds)
        } catch {
            file.discard()
            throw error
        }
        written.append(path)
    }

    /// Makes everything written durable, file by file: a sync of a whole file system does nothing on some of them.
    ///
    /// Only now, so that the system writes many files together and few of these calls have to wait.
    func synchronize() throws(ImportExportError) {
        var folders: Set<[UInt8]> = [[]]
        for path in written {
            let folder = try folder(path.folder, subject: path.printable)
            let file = try folder.open(name: Array(path.name), folder: false, subject: path.printable)
            try file.synchronize(subject: path.printable)
            var above = path.folder
            while folders.insert(Array(above)).inserted, let slash = above.lastIndex(of: UInt8(ascii: "/")) {
                above = above[..<slash]
            }
        }
        for path in folders.sorted(by: { $0.count > $1.count }) {
            try folder(path[...], subject: "").synchronize(subject: printableText(path))
        }
        written = []
    }

    private func folder(_ path: ArraySlice<UInt8>, subject: String) throws(ImportExportError) -> OwnedDescriptor {
        if openFolder.path.elementsEqual(path) { return openFolder.descriptor }
        var folder = root
        for component in path.split(separator: UInt8(ascii: "/")) {
            var name = component.map { CChar(bitPattern: $0) }
            name.append(0)
            if unsafe mkdirat(folder.number, &name, 0o700) != 0, errno != EEXIST {
                throw ImportExportError(.targetUnwritable, at: "errno \(errno)", subject: subject)
            }
            do throws(ImportExportError) {
                folder = try folder.open(name: Array(component), folder: true, subject: subject)
            } catch {
                throw ImportExportError(.targetUnwritable, at: error.place, subject: subject)
            }
        }
        openFolder = (path, folder)
        return folder
    }
}

extension OwnedDescriptor {
    fileprivate func synchronize(subject: String) throws(ImportExportError) {
        while fsync(number) != 0 {
            guard errno == EINTR else {
                throw ImportExportError(.targetUnwritable, at: "errno \(errno)", subject: subject)
            }
        }
    }
}

/// One file on its way into a folder.
private final class ExportFile {
    private let folder: OwnedDescriptor
    private let file: OwnedDescriptor
    private let name: [CChar]
    private let temporaryName: [CChar]
    private let mayReplace: Bool
    private let subject: String

    init(folder: OwnedDescriptor, name: [UInt8], mayReplace: Bool, subject: String) throws(ImportExportError) {
        self.folder = folder
        self.mayReplace = mayReplace
        self.subject = subject
        self.name = name.map { CChar(bitPattern: $0) } + [0]
        temporaryName = Array(".coffret-export".utf8).map { CChar(bitPattern: $0) } + [0]
        // One file is written at a time: a leftover of that name is from an export that was interrupted.
        _ = unsafe unlinkat(folder.number, temporaryName, 0)
        let number = unsafe coffret_openat(
            folder.number, temporaryName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard number >= 0 else {
            throw ImportExportError(.targetUnwritable, at: "errno \(errno)", subject: subject)
        }
        file = OwnedDescriptor(number)
    }

    func write(_ bytes: ArraySlice<UInt8>) throws(ImportExportError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(file.number, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw ImportExportError(.targetUnwritable, at: "errno \(errno)", subject: subject)
            }
            rest = rest.dropFirst(count)
        }
    }

    func finish(modifiedMilliseconds: Int64?) throws(ImportExportError) {
        if let modifiedMilliseconds {
            let seconds =
                modifiedMilliseconds >= 0 ? modifiedMilliseconds / 1_000 : (modifiedMilliseconds - 999) / 1_000
            let rest = Int(modifiedMilliseconds - seconds * 1_000) * 1_000_000
            let time = timespec(tv_sec: Int(seconds), tv_nsec: rest)
            let times = [time, time]
            _ = unsafe futimens(file.number, times)
        }
        if !mayReplace {
            var existing = stat()
            guard unsafe fstatat(folder.number, name, &existing, AT_SYMLINK_NOFOLLOW) != 0 else {
                throw ImportExportError(.targetOccupied, subject: subject)
            }
        }
        guard unsafe renameat(folder.number, temporaryName, folder.number, name) == 0 else {
            throw ImportExportError(.targetUnwritable, at: "errno \(errno)", subject: subject)
        }
    }

    func discard() {
        _ = unsafe unlinkat(folder.number, temporaryName, 0)
    }
}

/// Writes one new file of mode 0600 and makes it durable.
func writeNewFile(_ bytes: [UInt8], to path: String) throws(ImportExportError) {
    try writeNewFile(to: path) { (write) throws(ImportExportError) in try write(bytes[...]) }
}

/// Writes one new file of mode 0600 piece by piece, and makes it durable; it has its name once it is whole.
func writeNewFile(
    to path: String,
    _ produce: (@escaping (ArraySlice<UInt8>) throws(ImportExportError) -> Void) throws(ImportExportError) -> Void
) throws(ImportExportError) {
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let folderPath = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let name = String(path[(slash.map { path.utf8.index(after: $0) } ?? path.startIndex)...])
    let folder = try ExportFolder(existing: folderPath)
    let target = try SourcePath(validating: Array(name.utf8), limits: ImportLimits())
    try folder.write(target, modifiedMilliseconds: nil, produce)
    try folder.synchronize()
}
