// What a directory takes on disk, and how to make the next read go there.

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
