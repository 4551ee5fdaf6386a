// Room on the disk of a store for files from elsewhere. The one thing to keep true: what comes unasked never takes the
// last of a disk, on which a note could not be saved any more.

internal import Glibc

/// Asks the disk that a store lies on.
package struct DiskRoom {
    /// Files leave a twentieth of the disk to its owner, at most this.
    private static let reserveByteCountMax: UInt64 = 256 << 20

    private let path: String

    package init(of path: String) { self.path = path }

    /// Whether so many bytes more may lie there.
    ///
    /// - Parameter isAskedFor: a person wants just this, and may have all that is free.
    package func has(_ byteCount: Int, isAskedFor: Bool = false) -> Bool {
        var information = statvfs()
        guard unsafe statvfs(path, &information) == 0 else { return true }
        let (unit, blocks) = (UInt64(information.f_frsize), UInt64(information.f_blocks))
        let reserve = isAskedFor ? 0 : min(blocks / 20, Self.reserveByteCountMax / max(1, unit))
        let needed = UInt64(byteCount) / max(1, unit) + 1
        return UInt64(information.f_bavail) >= reserve + needed
    }
}
