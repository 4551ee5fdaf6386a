// A file descriptor that is closed exactly once.

internal import CPlatform
internal import Glibc

/// An open file or folder of the file system that an import reads from.
final class OwnedDescriptor {
    /// The kind of a file.
    enum Kind { case file, folder, symbolicLink, special }

    /// The result of `fstat`.
    struct Status {
        let kind: Kind
        let byteCount: UInt64
        let modifiedMilliseconds: Int64
        let device: UInt64
        let node: UInt64

        init(_ raw: stat) {
            kind =
                switch raw.st_mode & S_IFMT {
                case S_IFREG: .file
                case S_IFDIR: .folder
                case S_IFLNK: .symbolicLink
                default: .special
                }
            byteCount = UInt64(max(0, raw.st_size))
            modifiedMilliseconds = Int64(raw.st_mtim.tv_sec) * 1_000 + Int64(raw.st_mtim.tv_nsec) / 1_000_000
            device = UInt64(raw.st_dev)
            node = UInt64(raw.st_ino)
        }
    }

    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }

    /// Kind, size and times of the open file.
    func status(subject: String) throws(ImportExportError) -> Status {
        var raw = stat()
        guard unsafe fstat(number, &raw) == 0 else {
            throw ImportExportError(.sourceUnreadable, at: "errno \(errno)", subject: printableText(subject.utf8))
        }
        return Status(raw)
    }

    /// Kind, size and times of a name in this folder; a symbolic link is not followed. Nil if it is gone.
    func status(ofName name: [UInt8]) -> Status? {
        var raw = stat()
        var terminated = name.map { CChar(bitPattern: $0) }
        terminated.append(0)
        guard unsafe fstatat(number, &terminated, &raw, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        return Status(raw)
    }

    /// Opens a name in this folder, without following a link and without waiting for a pipe.
    func open(name: [UInt8], folder: Bool, subject: String) throws(ImportExportError) -> OwnedDescriptor {
        var terminated = name.map { CChar(bitPattern: $0) }
        terminated.append(0)
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | (folder ? O_DIRECTORY : 0)
        let opened = unsafe coffret_openat(number, &terminated, flags, 0)
        guard opened >= 0 else {
            throw ImportExportError(.sourceUnreadable, at: "errno \(errno)", subject: subject)
        }
        return OwnedDescriptor(opened)
    }

    /// Reads up to the buffer's size; 0 at the end.
    func read(into buffer: inout [UInt8], subject: String) throws(ImportExportError) -> Int {
        while true {
            let count = unsafe Glibc.read(number, &buffer, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else {
                throw ImportExportError(.sourceUnreadable, at: "errno \(errno)", subject: subject)
            }
        }
    }

    /// The names in this folder, without `.` and `..`, in no order.
    func names(subject: String, countMax: Int) throws(ImportExportError) -> [[UInt8]] {
        let copy = dup(number)
        guard copy >= 0, let stream = unsafe fdopendir(copy) else {
            if copy >= 0 { close(copy) }
            throw ImportExportError(.sourceUnreadable, at: "errno \(errno)", subject: subject)
        }
        defer { unsafe closedir(stream) }
        unsafe rewinddir(stream)
        var names: [[UInt8]] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                guard errno == 0 else {
                    throw ImportExportError(.sourceUnreadable, at: "errno \(errno)", subject: subject)
                }
                return names
            }
            // SAFETY: the kernel ends the name with a NUL inside the record, which lives until the next call.
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                unsafe tuple.withMemoryRebound(to: CChar.self, capacity: 256) { text in
                    unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
                }
            }
            if name == [0x2E] || name == [0x2E, 0x2E] { continue }
            guard names.count < countMax else { throw ImportExportError(.tooManyEntries, subject: subject) }
            names.append(name)
        }
    }
}
