// The size of a directory on disk, and how to make the next read go there.

import Glibc

/// Calls `body` with the path of every file below `path`.
func forEachFile(below path: String, _ body: (String) -> Void) {
    guard let stream = unsafe opendir(path) else { return }
    while let entry = unsafe readdir(stream) {
        let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
        }
        if name == "." || name == ".." { continue }
        let child = path + "/" + name
        if unsafe entry.pointee.d_type == UInt8(DT_DIR) { forEachFile(below: child, body) } else { body(child) }
    }
    unsafe closedir(stream)
}

/// Bytes of all files, as far as they have been written; room set aside beyond does not count.
func diskByteCount(_ directory: String) -> Int {
    var sum = 0
    forEachFile(below: directory) { path in
        var status = stat()
        if unsafe stat(path, &status) == 0 { sum += Int(status.st_size) }
    }
    return sum
}

/// Bytes of the indexes of all sealed files: what lies between their last record and their footer (Spec/pack.md).
func indexByteCount(_ directory: String) -> Int {
    let footerByteCount = 48
    var sum = 0
    forEachFile(below: directory) { path in
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let size = Int(lseek(descriptor, 0, SEEK_END))
        var footer = [UInt8](repeating: 0, count: footerByteCount)
        guard size >= footerByteCount,
            unsafe pread(descriptor, &footer, footerByteCount, size - footerByteCount) == footerByteCount,
            footer.starts(with: Array("cof-end\u{1}".utf8))
        else { return }
        let recordsEnd = footer[8..<16].reduce(0) { $0 << 8 | Int($1) }
        sum += size - footerByteCount - recordsEnd
    }
    return sum
}

/// Asks the system to forget what it keeps of the files.
func dropFromMemory(_ directory: String) {
    forEachFile(below: directory) { path in
        let descriptor = unsafe open(path, O_RDONLY)
        guard descriptor >= 0 else { return }
        fdatasync(descriptor)
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        close(descriptor)
    }
}

/// Removes a directory with all it holds.
func removeTree(_ path: String) {
    guard let stream = unsafe opendir(path) else { return }
    while let entry = unsafe readdir(stream) {
        let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
        }
        if name == "." || name == ".." { continue }
        let child = path + "/" + name
        if unsafe entry.pointee.d_type == UInt8(DT_DIR) { removeTree(child) } else { _ = unsafe unlink(child) }
    }
    unsafe closedir(stream)
    _ = unsafe rmdir(path)
}
