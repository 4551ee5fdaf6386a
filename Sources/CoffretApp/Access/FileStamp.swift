// Whether a file is another one than before.

internal import Glibc

/// Which file lies at a path, and how it was when it was looked at.
package struct FileStamp: Equatable {
    private let numbers: [Int]

    package init(_ path: String) {
        var information = stat()
        guard unsafe stat(path, &information) == 0 else {
            numbers = []
            return
        }
        numbers = [
            Int(information.st_ino), Int(information.st_size), information.st_mtim.tv_sec, information.st_mtim.tv_nsec,
            // The system alone sets this one: an earlier file under its old name is another one.
            information.st_ctim.tv_sec, information.st_ctim.tv_nsec,
        ]
    }
}
