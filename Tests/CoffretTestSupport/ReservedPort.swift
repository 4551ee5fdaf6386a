// A port that is a test's own. The one thing to keep true: whoever wants any free port is not given this one, also while the
// server that listens there is down.

internal import Glibc

/// A port of the loopback. A server that sets SO_REUSEADDR can listen there, again and again.
package final class ReservedPort: Sendable {
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    package let number: UInt16
    /// Bound, which keeps the port; it never listens, so that a server can.
    private let descriptor: Int32

    package init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
            }
        }
        number = UInt16(bigEndian: address.sin_port)
        guard status == 0 else { throw Failed(description: "no port: errno \(errno)") }
    }

    deinit { close(descriptor) }
}
