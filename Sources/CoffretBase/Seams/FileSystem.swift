// The seam to the disk. Invariant: nothing above it may assume more than this text promises, so that an implementation
// in memory can lose exactly what a power cut may lose.
//
// After a power failure these hold:
// - bytes and size of a file: those that `synchronizeData` saw, if it returned; anything later may
//   survive whole, in part (512-byte sectors) or not at all, in any order;
// - a name in a directory (creation, rename, removal): once `synchronizeDirectory` of that directory
//   returned; syncing a file does not keep its name;
// - a rename inside one directory happens whole or not at all.
// After a failed synchronisation the bytes it should have kept may be lost even if a later one
// succeeds: the caller writes them again or gives up.

internal import Glibc
internal import Synchronization

/// How a file is opened.
package enum FileOpening: Sendable {
    /// For reading; the file must exist.
    case read
    /// For reading and writing; the file must exist.
    case readWrite
    /// For reading and writing; made if it does not exist.
    case createIfAbsent
    /// For reading and writing; it must not exist yet, not even as a symbolic link.
    case createNew
}

package enum FileKind: Sendable {
    case file, directory, symbolicLink, other
}

package struct FileStatus: Equatable, Sendable {
    package let kind: FileKind
    package let byteCount: Int
    /// Permission bits, such as 0o600.
    package let mode: UInt32
    package let modified: Milliseconds

    package init(kind: FileKind, byteCount: Int, mode: UInt32, modified: Milliseconds) {
        self.kind = kind
        self.byteCount = byteCount
        self.mode = mode
        self.modified = modified
    }
}

/// A name in a directory.
package struct DirectoryEntry: Hashable, Sendable {
    /// The name; bytes that are not UTF-8 are replaced, and such a name cannot be opened.
    package let name: String
    package let isNameValid: Bool
    package let kind: FileKind

    package init(name: String, isNameValid: Bool = true, kind: FileKind) {
        self.name = name
        self.isNameValid = isNameValid
        self.kind = kind
    }
}

package enum FileLockKind: Sendable {
    case shared, exclusive
}

/// Files and directories by path. Relative paths start at the process's working directory.
package protocol FileSystem: Sendable {
    /// Opens a file. What is created gets `mode`, cut by the process's umask.
    func open(_ path: String, _ opening: FileOpening, mode: UInt32) throws(FileSystemError) -> any OpenFile
    func makeDirectory(_ path: String, mode: UInt32) throws(FileSystemError)
    /// The names in a directory, sorted, without `.` and `..`.
    func list(_ path: String) throws(FileSystemError) -> [DirectoryEntry]
    /// The status of the file at `path`, not following a symbolic link; nil if there is none.
    func status(_ path: String) throws(FileSystemError) -> FileStatus?
    /// Gives a file another name, replacing a file that has it.
    func rename(_ path: String, to newPath: String) throws(FileSystemError)
    /// Removes the name of a file.
    func remove(_ path: String) throws(FileSystemError)
    /// Removes an empty directory.
    func removeDirectory(_ path: String) throws(FileSystemError)
    /// Makes the names in a directory survive a power cut.
    func synchronizeDirectory(_ path: String) throws(FileSystemError)
}

/// An open file. It is closed when the last reference goes.
///
/// Reads and writes at different offsets may happen at the same time; the caller keeps
/// overlapping ones apart.
package protocol OpenFile: AnyObject, Sendable {
    var path: String { get }
    func byteCount() throws(FileSystemError) -> Int
    /// Reads until `buffer` is full or the file ends; returns how many bytes were read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int) throws(FileSystemError) -> Int
    /// Writes all of `bytes`, growing the file as needed. A failure may leave a part written.
    func write(_ bytes: UnsafeRawBufferPointer, at byteOffset: Int) throws(FileSystemError)
    /// Cuts the file, or grows it with zeros that take no room.
    func truncate(to byteCount: Int) throws(FileSystemError)
    /// Sets room aside, so that writes below `byteCount` do not run out of space; grows with zeros.
    func preallocate(byteCount: Int) throws(FileSystemError)
    /// Asks the system to begin to write a range to the disk, so that `synchronizeData` has less to wait for. Only a
    /// hint: nothing is durable by it.
    func beginWriting(at byteOffset: Int, byteCount: Int)
    /// Makes bytes and size survive a power cut.
    func synchronizeData() throws(FileSystemError)
    /// Maps the first `byteCount` bytes for reading; later writes show in the region.
    func map(byteCount: Int) throws(FileSystemError) -> MappedFile
    /// Takes an advisory lock; with `waits` false throws `.wouldBlock` if somebody holds it.
    ///
    /// The lock belongs to this open file and goes with it; taking it again changes its kind.
    func lock(_ kind: FileLockKind, waits: Bool) throws(FileSystemError)
    func unlock() throws(FileSystemError)
}

extension OpenFile {
    package func beginWriting(at byteOffset: Int, byteCount: Int) {}
}

extension FileSystem {
    package func open(_ path: String, _ opening: FileOpening) throws(FileSystemError) -> any OpenFile {
        try open(path, opening, mode: 0o600)
    }

    package func makeDirectory(_ path: String) throws(FileSystemError) {
        try makeDirectory(path, mode: 0o700)
    }

    package func exists(_ path: String) throws(FileSystemError) -> Bool {
        try status(path) != nil
    }

    /// Makes a directory and those above it that are missing; made ones are synced into their parents.
    package func makeDirectories(_ path: String, mode: UInt32 = 0o700) throws(FileSystemError) {
        if let status = try status(path) {
            // A symbolic link to a directory is as good; opening what lies below will tell.
            guard status.kind == .directory || status.kind == .symbolicLink else {
                throw FileSystemError(.wrongKind, place: path)
            }
            return
        }
        let parent = PathText.parent(of: path)
        if parent != path { try makeDirectories(parent, mode: mode) }
        do throws(FileSystemError) {
            try makeDirectory(path, mode: mode)
        } catch {
            // Somebody else made it meanwhile.
            if error.code != .exists { throw error }
        }
        try synchronizeDirectory(parent)
    }

    /// Reads a whole file of at most `byteCountMax` bytes; a larger one is `.noSpace`.
    package func readFile(_ path: String, byteCountMax: Int) throws(FileSystemError) -> [UInt8] {
        let file = try open(path, .read)
        let byteCount = try file.byteCount()
        guard byteCount <= byteCountMax else { throw FileSystemError(.noSpace, place: path) }
        return try file.read(byteCount: byteCount, at: 0)
    }

    /// Replaces a file so that a power cut leaves either the old content or the new one.
    ///
    /// Writes a temporary file beside it, syncs it, renames it and syncs the directory: two syncs.
    ///
    /// - Parameter isLocked: whether a lock keeps everybody else from replacing this file meanwhile. The temporary file has the same name
    ///   each time then, so that the next writer removes what a crash left. Without a lock each writer has a name of its own: with one
    ///   name for all, one would take the other's file away, or rename it half written.
    package func replaceFile(
        _ path: String, with bytes: [UInt8], mode: UInt32 = 0o600, isLocked: Bool = false
    ) throws(FileSystemError) {
        let temporary = path + (isLocked ? ".new" : TemporaryNames.nextEnding())
        do throws(FileSystemError) {
            try remove(temporary)
        } catch {
            if error.code != .notFound { throw error }
        }
        do throws(FileSystemError) {
            let file = try open(temporary, .createNew, mode: mode)
            try file.write(bytes, at: 0)
            try file.synchronizeData()
            try rename(temporary, to: path)
        } catch {
            try? remove(temporary)
            throw error
        }
        try synchronizeDirectory(PathText.parent(of: path))
    }

    /// Makes the names in a directory and in all directories below it survive a power cut. Does not follow links.
    package func synchronizeNames(below path: String) throws(FileSystemError) {
        for entry in try list(path) where entry.kind == .directory {
            try synchronizeNames(below: PathText.join(path, entry.name))
        }
        try synchronizeDirectory(path)
    }

    /// Removes a file or a directory with all it holds; nothing there is no error. Does not follow links.
    package func removeTree(_ path: String) throws(FileSystemError) {
        guard let status = try status(path) else { return }
        guard status.kind == .directory else { return try remove(path) }
        for entry in try list(path) { try removeTree(PathText.join(path, entry.name)) }
        try removeDirectory(path)
    }
}

/// Names of temporary files, of which no two in one system are the same.
private enum TemporaryNames {
    private static let count = Atomic<Int>(0)

    static func nextEnding() -> String {
        ".\(getpid())-\(count.wrappingAdd(1, ordering: .relaxed).newValue).new"
    }
}

extension OpenFile {
    package func write(_ bytes: [UInt8], at byteOffset: Int) throws(FileSystemError) {
        try unsafe bytes.span.withUnsafeBytes { (buffer) throws(FileSystemError) in
            try unsafe write(buffer, at: byteOffset)
        }
    }

    /// Reads exactly `byteCount` bytes; throws `.endOfFile` if the file holds fewer.
    package func read(byteCount: Int, at byteOffset: Int) throws(FileSystemError) -> [UInt8] {
        var failure: FileSystemError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initializedCount in
            do throws(FileSystemError) {
                initializedCount = try unsafe read(
                    into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: byteCount), at: byteOffset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        guard bytes.count == byteCount else { throw FileSystemError(.endOfFile, place: path) }
        return bytes
    }
}

/// Paths as text.
package enum PathText {
    package static func join(_ directory: String, _ name: String) -> String {
        if directory.isEmpty { return name }
        return directory.hasSuffix("/") ? directory + name : directory + "/" + name
    }

    /// The directory that holds `path`: `.` for a bare name, `/` for the root.
    package static func parent(of path: String) -> String {
        let trimmed = withoutTrailingSlashes(path)
        guard let slash = trimmed.lastIndex(of: "/") else { return trimmed == "/" ? "/" : "." }
        let parent = withoutTrailingSlashes(String(trimmed[..<slash]))
        return parent.isEmpty ? "/" : parent
    }

    /// The last part of `path`.
    package static func name(of path: String) -> String {
        let trimmed = withoutTrailingSlashes(path)
        guard let slash = trimmed.lastIndex(of: "/") else { return trimmed }
        return String(trimmed[trimmed.index(after: slash)...])
    }

    private static func withoutTrailingSlashes(_ path: String) -> String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
