// Errors between two programs.

/// An error of a socket.
package struct NetError: Error, Equatable, Sendable {
    package enum Code: String, Sendable {
        case unreachable = "net.unreachable"
        case closed = "net.closed"
        case addressTaken = "net.address.taken"
        case addressTooLong = "net.address.too-long"
        case directoryUntrusted = "net.directory.untrusted"
        case peerUntrusted = "net.peer.untrusted"
        case messageTooLarge = "net.message.too-large"
        case failed = "net.failed"
    }

    package let code: Code
    package let place: String?

    package init(_ code: Code, place: String? = nil) {
        self.code = code
        self.place = place
    }

    package static func == (left: NetError, right: NetError) -> Bool { left.code == right.code }
}
