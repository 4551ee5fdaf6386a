// What the doctor sees of the machine. The one thing to keep true: it only reads, and what cannot be read is no
// finding.

internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

/// The machine and the process that asks, seen through files below one root.
struct SystemProbe: Sendable {
    /// In front of every path; empty for the machine itself.
    var root = ""
    var userID: uid_t = geteuid()
    /// Bytes that this process may lock in memory; nil for no limit.
    var lockLimit: UInt64? = SystemProbe.ownLockLimit
    /// Variables of the caller.
    var variables: @Sendable (String) -> String? = { name in
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// What a file is, as far as permissions go.
    struct Status: Equatable {
        let isDirectory: Bool
        let isLink: Bool
        let mode: mode_t
        let owner: uid_t
        let device: UInt64
    }

    private static let byteCountMax = 1 << 20

    /// The text of a file; nil if it cannot be read. Files of /proc have no size before they are read.
    func text(_ path: String) -> String? {
        guard let file = try? OwnedDescriptor.open(root + path, O_RDONLY) else { return nil }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while bytes.count < Self.byteCountMax {
            let count = unsafe read(file.number, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The first word of a file.
    func word(_ path: String) -> String? {
        text(path)?.split(whereSeparator: \.isWhitespace).first.map(String.init)
    }

    func exists(_ path: String) -> Bool { unsafe access(root + path, F_OK) == 0 }

    /// Of the thing itself, not of what a link points to.
    func status(_ path: String) -> Status? {
        var information = stat()
        guard unsafe lstat(root + path, &information) == 0 else { return nil }
        return Status(
            isDirectory: information.st_mode & S_IFMT == S_IFDIR, isLink: information.st_mode & S_IFMT == S_IFLNK,
            mode: information.st_mode & 0o7777, owner: information.st_uid, device: UInt64(information.st_dev))
    }

    func names(in path: String) -> [String] {
        guard let directory = unsafe opendir(root + path) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// RLIMIT_MEMLOCK, which the headers define in a way that Swift does not see.
    private static let lockResource: UInt32 = 8

    private static var ownLockLimit: UInt64? {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(lockResource), &limit) == 0 else { return nil }
        return limit.rlim_cur == UInt64.max ? nil : UInt64(limit.rlim_cur)
    }
}
