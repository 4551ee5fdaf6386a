// The file system of the machine. Invariant: every system call's failure becomes a named error, and what is
// interrupted is tried again.

internal import CPlatform
internal import Glibc

/// The seam's real side: plain system calls.
package struct PosixFileSystem: FileSystem {
    package init() {}

    package func open(_ path: String, _ opening: FileOpening, mode: UInt32) throws(FileSystemError) -> any OpenFile {
        let flags: Int32 =
            switch opening {
            case .read: O_RDONLY
            case .readWrite: O_RDWR
            case .createIfAbsent: O_RDWR | O_CREAT
            case .createNew: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
            }
        try Self.check(path)
        let descriptor = Self.retrying { unsafe coffret_open(path, flags, mode) }
        guard descriptor >= 0 else { throw FileSystemError.last(place: path) }
        return PosixFile(descriptor: descriptor, path: path)
    }

    package func makeDirectory(_ path: String, mode: UInt32) throws(FileSystemError) {
        try call(path) { unsafe Glibc.mkdir($0, mode) }
    }

    package func list(_ path: String) throws(FileSystemError) -> [DirectoryEntry] {
        try Self.check(path)
        guard let directory = unsafe opendir(path) else { throw FileSystemError.last(place: path) }
        defer { unsafe closedir(directory) }
        var entries: [DirectoryEntry] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(directory) else { break }
            // SAFETY: readdir ends the name with a zero byte inside the entry.
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                    unsafe (String(validatingCString: name), String(cString: name))
                }
            }
            if name.1 == "." || name.1 == ".." { continue }
            var kind: FileKind =
                switch unsafe Int(entry.pointee.d_type) {
                case DT_REG: .file
                case DT_DIR: .directory
                case DT_LNK: .symbolicLink
                default: .other
                }
            // Some file systems do not say; ask.
            if unsafe Int(entry.pointee.d_type) == DT_UNKNOWN, name.0 != nil {
                kind = try status(PathText.join(path, name.1))?.kind ?? .other
            }
            entries.append(DirectoryEntry(name: name.1, isNameValid: name.0 != nil, kind: kind))
        }
        guard errno == 0 else { throw FileSystemError.last(place: path) }
        return entries.sorted { $0.name < $1.name }
    }

    package func status(_ path: String) throws(FileSystemError) -> FileStatus? {
        try Self.check(path)
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            let error = FileSystemError.last(place: path)
            if error.code == .notFound { return nil }
            throw error
        }
        return FileStatus(status)
    }

    package func rename(_ path: String, to newPath: String) throws(FileSystemError) {
        try Self.check(newPath)
        try call(path) { unsafe Glibc.rename($0, newPath) }
    }

    package func remove(_ path: String) throws(FileSystemError) {
        try call(path) { unsafe unlink($0) }
    }

    package func removeDirectory(_ path: String) throws(FileSystemError) {
        try call(path) { unsafe rmdir($0) }
    }

    package func synchronizeDirectory(_ path: String) throws(FileSystemError) {
        let descriptor = Self.retrying { unsafe coffret_open(path, O_RDONLY, 0) }
        guard descriptor >= 0 else { throw FileSystemError.last(place: path) }
        defer { close(descriptor) }
        guard Self.retrying({ fsync(descriptor) }) == 0 else { throw FileSystemError.last(place: path) }
    }

    private func call(_ path: String, _ body: (String) -> Int32) throws(FileSystemError) {
        try Self.check(path)
        guard Self.retrying({ body(path) }) == 0 else { throw FileSystemError.last(place: path) }
    }

    /// A zero byte would end the path early and name another file.
    private static func check(_ path: String) throws(FileSystemError) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw FileSystemError(.invalidPath, place: path) }
    }

    fileprivate static func retrying<Value: SignedInteger>(_ body: () -> Value) -> Value {
        while true {
            let result = body()
            if result != -1 || errno != EINTR { return result }
        }
    }
}

extension FileStatus {
    fileprivate init(_ status: stat) {
        let kind: FileKind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            default: .other
            }
        self.init(
            kind: kind, byteCount: status.st_size, mode: status.st_mode & 0o7777,
            modified: Int64(status.st_mtim.tv_sec) * 1_000 + Int64(status.st_mtim.tv_nsec) / 1_000_000)
    }
}

/// An open file descriptor.
private final class PosixFile: OpenFile {
    let path: String
    private let descriptor: Int32

    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    private func check(_ succeeded: Bool) throws(FileSystemError) {
        if !succeeded { throw FileSystemError.last(place: path) }
    }

    func byteCount() throws(FileSystemError) -> Int {
        var status = stat()
        try check(unsafe fstat(descriptor, &status) == 0)
        return status.st_size
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int) throws(FileSystemError) -> Int {
        var count = 0
        while count < buffer.count {
            let result = PosixFileSystem.retrying {
                unsafe pread(descriptor, buffer.baseAddress! + count, buffer.count - count, byteOffset + count)
            }
            try check(result >= 0)
            if result == 0 { break }
            count += result
        }
        return count
    }

    /// The most bytes for one system call. Linux takes blocks of memory as large as the write for its
    /// page cache, and large ones are slow to get: 256 MiB in writes of 1 MiB took 0.4 to 0.6 s of system
    /// time, in writes of 64 to 256 KiB 0.1 s (kernel 6.18, ext4).
    private static let writeByteCountMax = 128 << 10

    func write(_ bytes: UnsafeRawBufferPointer, at byteOffset: Int) throws(FileSystemError) {
        var count = 0
        while count < bytes.count {
            let pieceByteCount = min(bytes.count - count, Self.writeByteCountMax)
            let result = PosixFileSystem.retrying {
                unsafe pwrite(descriptor, bytes.baseAddress! + count, pieceByteCount, byteOffset + count)
            }
            try check(result >= 0)
            // A write of nothing is a device that will never take the rest.
            guard result > 0 else { throw FileSystemError(.inputOutput, place: path) }
            count += result
        }
    }

    func truncate(to byteCount: Int) throws(FileSystemError) {
        try check(PosixFileSystem.retrying { ftruncate(descriptor, byteCount) } == 0)
    }

    func preallocate(byteCount: Int) throws(FileSystemError) {
        guard byteCount > 0 else { return }
        // posix_fallocate returns its error and leaves errno alone.
        let number = PosixFileSystem.retrying {
            let result = posix_fallocate(descriptor, 0, byteCount)
            if result == EINTR { errno = EINTR }
            return result == EINTR ? -1 : result
        }
        if number != 0 {
            errno = number
            throw FileSystemError.last(place: path)
        }
    }

    func beginWriting(at byteOffset: Int, byteCount: Int) {
        // A failure here shows again, and is reported, when the file is synced.
        _ = coffret_begin_writing(descriptor, byteOffset, byteCount)
    }

    func synchronizeData() throws(FileSystemError) {
        try check(PosixFileSystem.retrying { fdatasync(descriptor) } == 0)
    }

    func map(byteCount: Int) throws(FileSystemError) -> MappedFile {
        // mmap refuses an empty region.
        guard byteCount > 0 else {
            return unsafe MappedFile(UnsafeRawBufferPointer(start: nil, count: 0), release: { _ in })
        }
        let size = try self.byteCount()
        guard byteCount <= size else { throw FileSystemError(.endOfFile, place: path) }
        let address = unsafe mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0)
        guard let address = unsafe address, unsafe address != MAP_FAILED else {
            throw FileSystemError.last(place: path)
        }
        return unsafe MappedFile(UnsafeRawBufferPointer(start: address, count: byteCount)) { region in
            unsafe munmap(UnsafeMutableRawPointer(mutating: region.baseAddress), region.count)
        }
    }

    func lock(_ kind: FileLockKind, waits: Bool) throws(FileSystemError) {
        let operation = (kind == .exclusive ? LOCK_EX : LOCK_SH) | (waits ? 0 : LOCK_NB)
        try check(PosixFileSystem.retrying { flock(descriptor, operation) } == 0)
    }

    func unlock() throws(FileSystemError) {
        try check(PosixFileSystem.retrying { flock(descriptor, LOCK_UN) } == 0)
    }
}
