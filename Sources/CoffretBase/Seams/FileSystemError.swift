// Errors of the file system. Invariant: callers branch on the code; the errno is for people who repair machines.

internal import Glibc

/// Why an operation on files failed.
package struct FileSystemError: Error, Equatable, Sendable {
    package enum Code: String, Sendable {
        case notFound = "base.file.not-found"
        case exists = "base.file.exists"
        case permission = "base.file.permission"
        /// No space, or a quota is used up.
        case noSpace = "base.file.no-space"
        /// The device failed, or the operation did not take effect for a reason not named here.
        case inputOutput = "base.file.input-output"
        /// A lock is held by somebody else.
        case wouldBlock = "base.file.would-block"
        /// A directory where a file was expected, or the other way round; or a symbolic link.
        case wrongKind = "base.file.wrong-kind"
        /// A directory that should be empty is not.
        case notEmpty = "base.file.not-empty"
        /// The file system cannot be written.
        case readOnly = "base.file.read-only"
        /// Too many open files.
        case tooManyOpen = "base.file.too-many-open"
        /// The file ended before all bytes that were asked for.
        case endOfFile = "base.file.end-of-file"
        /// A path that is empty, too long or holds a zero byte.
        case invalidPath = "base.file.invalid-path"
    }

    package let code: Code
    /// The path, as it was given.
    package let place: String
    /// The system's error number, 0 if there is none. Ignored by equality.
    package let errorNumber: Int32

    package init(_ code: Code, place: String, errorNumber: Int32 = 0) {
        self.code = code
        self.place = place
        self.errorNumber = errorNumber
    }

    /// The error that the last system call left in `errno`.
    package static func last(place: String) -> FileSystemError {
        let number = errno
        let code: Code =
            switch number {
            case ENOENT: .notFound
            case EEXIST: .exists
            case EACCES, EPERM: .permission
            case ENOSPC, EDQUOT, EFBIG: .noSpace
            case EAGAIN: .wouldBlock
            case EISDIR, ENOTDIR, ELOOP: .wrongKind
            case ENOTEMPTY: .notEmpty
            case EROFS: .readOnly
            case EMFILE, ENFILE: .tooManyOpen
            case ENAMETOOLONG, EINVAL: .invalidPath
            default: .inputOutput
            }
        return FileSystemError(code, place: place, errorNumber: number)
    }

    package static func == (left: FileSystemError, right: FileSystemError) -> Bool {
        left.code == right.code && left.place == right.place
    }
}
