// A Unix socket that others of the same user connect to. Invariant: nobody else can put his own socket in its place,
// because the folder around it is ours alone.

internal import CPlatform
internal import Glibc

/// Waits for connections at a path.
package final class UnixListener: Sendable {
    /// For `poll`.
    package let descriptor: Int32
    package let path: String
    /// Held as long as this lives, so that of two that start at once one gives way.
    private let lock: Int32

    /// Listens at `path`. Its folder is made if it is missing; a socket that nobody answers on is replaced.
    ///
    /// - Throws: `.addressTaken` when somebody answers there, `.directoryUntrusted`, `.addressTooLong`.
    package init(path: String, userID: UInt32) throws(NetError) {
        let folder = UnixSocketAddress.folder(of: path)
        if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST { throw NetError(.failed, place: folder) }
        try UnixSocketAddress.checkDirectory(of: path, userID: userID)
        let lock = unsafe coffret_open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw NetError(.failed, place: path + ".lock") }
        do throws(NetError) {
            guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw NetError(.addressTaken, place: path) }
            do throws(NetError) {
                _ = try UnixConnection.connect(path: path, userID: userID)
                throw NetError(.addressTaken, place: path)
            } catch {
                guard error.code == .unreachable else { throw error }
            }
            unsafe unlink(path)
            descriptor = try UnixSocketAddress.makeSocket()
        } catch {
            close(lock)
            throw error
        }
        self.lock = lock
        self.path = path
        let previous = umask(0o077)
        let bound = try? unsafe UnixSocketAddress.with(path) { address, length in
            unsafe bind(descriptor, address, length)
        }
        umask(previous)
        guard bound == 0, listen(descriptor, 64) == 0 else {
            close(descriptor)
            close(lock)
            throw NetError(.failed, place: path)
        }
    }

    deinit {
        close(descriptor)
        unsafe unlink(path)
        close(lock)
    }

    /// Waits for the next connection of the user; connections of others are refused and closed.
    ///
    /// - Returns: nil once the listener was stopped, or at once if it does not wait and nobody is there.
    package func accept(userID: UInt32) -> UnixConnection? {
        while true {
            let accepted = coffret_accept(descriptor)
            if accepted < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return nil
            }
            let connection = UnixConnection(descriptor: accepted)
            if let peer = try? connection.peer(), peer.userID == userID { return connection }
        }
    }

    /// From now on `accept` does not wait.
    package func stopWaiting() {
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    /// Lets `accept` return nil, from any thread.
    package func stop() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }
}

enum UnixSocketAddress {
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The folder must be a real one, of this user, that nobody else can even look into.
    static func checkDirectory(of path: String, userID: UInt32) throws(NetError) {
        let folder = folder(of: path)
        var status = stat()
        guard unsafe lstat(folder, &status) == 0 else { throw NetError(.unreachable, place: folder) }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == userID, status.st_mode & 0o077 == 0 else {
            throw NetError(.directoryUntrusted, place: folder)
        }
    }

    static func makeSocket() throws(NetError) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw NetError(.failed, place: "errno \(errno)") }
        return descriptor
    }

    static func with(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(NetError) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else {
            throw NetError(.addressTooLong, place: path)
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
