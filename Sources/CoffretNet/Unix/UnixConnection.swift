// A connected Unix socket that carries whole messages and descriptors. Invariant: a message is delivered whole or not
// at all, and a descriptor that nobody takes is closed.

internal import CPlatform
internal import CoffretBase
internal import Glibc

/// The process at the other end, as the kernel reports it.
package struct PeerCredentials: Equatable, Sendable {
    package let processID: Int32
    package let userID: UInt32
    package let groupID: UInt32
}

/// File descriptors that came with a message; they are closed with this object unless they are taken.
package final class ReceivedDescriptors {
    private var descriptors: [Int32]

    init(_ descriptors: [Int32]) {
        self.descriptors = descriptors
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }

    package var count: Int { descriptors.count }

    /// Hands over all descriptors, in the order in which they were sent.
    package func take() -> [Int32] {
        defer { descriptors = [] }
        return descriptors
    }
}

/// One connection between two programs of one machine.
///
/// Framing: length of the message (4 bytes, big-endian) ‖ message. Descriptors travel with the length.
/// - Concurrency: one sender and one receiver at a time.
package final class UnixConnection: Sendable {
    /// The longest message that either side accepts.
    package static let messageByteCountMax = 1 << 20
    package static let descriptorCountMax = Int(COFFRET_DESCRIPTORS_MAX)

    /// For `poll`; it stays this object's.
    package let descriptor: Int32

    /// Takes over a connected socket.
    package init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Connects to the socket at `path`, whose folder must be ours alone, and whose listener must be of `userID`.
    ///
    /// - Throws: `.unreachable`, `.directoryUntrusted`, `.peerUntrusted`, `.addressTooLong`.
    package static func connect(path: String, userID: UInt32) throws(NetError) -> UnixConnection {
        try UnixSocketAddress.checkDirectory(of: path, userID: userID)
        let descriptor = try UnixSocketAddress.makeSocket()
        let connection = UnixConnection(descriptor: descriptor)
        guard
            try unsafe UnixSocketAddress.with(
                path, { address, length in unsafe Glibc.connect(descriptor, address, length) })
                == 0
        else { throw NetError(.unreachable, place: path) }
        guard try connection.peer().userID == userID else { throw NetError(.peerUntrusted, place: path) }
        return connection
    }

    /// The process that connected, or that listens.
    package func peer() throws(NetError) -> PeerCredentials {
        var process: Int32 = 0
        var user: UInt32 = 0
        var group: UInt32 = 0
        guard unsafe coffret_peer_credentials(descriptor, &process, &user, &group) == 0 else { throw systemError() }
        return PeerCredentials(processID: process, userID: user, groupID: group)
    }

    /// Sends one message.
    ///
    /// - Parameter waits: whether to wait for a receiver that is slow; otherwise that is `.closed`.
    /// - Parameter byteCountMax: the longest message that the other side takes.
    /// - Throws: `.closed`, `.messageTooLarge`.
    package func send(
        _ message: [UInt8], descriptors: [Int32] = [], waits: Bool = true, byteCountMax: Int = messageByteCountMax
    ) throws(NetError) {
        guard message.count <= byteCountMax else { throw NetError(.messageTooLarge) }
        precondition(descriptors.count <= Self.descriptorCountMax, "too many descriptors for one message")
        var frame = UInt32(message.count).bigEndianBytes
        frame += message
        defer { frame.zero() }
        var offset = 0
        while offset < frame.count {
            let sent = unsafe frame.withUnsafeBytes { bytes in
                unsafe coffret_send_descriptors(
                    descriptor, bytes.baseAddress! + offset, UInt(bytes.count - offset), descriptors,
                    offset == 0 ? Int32(descriptors.count) : 0, waits ? 1 : 0)
            }
            if sent < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { throw NetError(.closed) }
                throw systemError()
            }
            offset += sent
        }
    }

    /// Waits for one message.
    ///
    /// - Parameter byteCountMax: the longest message that is taken.
    /// - Returns: nil when the other side closed in good order.
    /// - Throws: `.closed` in the middle of a message, `.messageTooLarge` before anything is allocated for it.
    package func receive(
        byteCountMax: Int = messageByteCountMax
    ) throws(NetError) -> (message: ReceivedMessage, descriptors: ReceivedDescriptors)? {
        let receiver = MessageReceiver(byteCountMax: byteCountMax)
        switch try receiver.receive(from: self, waits: true) {
        case .message(let message, let descriptors): return (message, descriptors)
        case .closed: return nil
        case .pending: throw NetError(.failed, place: "a wait that did not wait")
        }
    }

    /// Ends reading and writing at once, also for a thread that waits in `receive`.
    package func shutDown() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    func systemError() -> NetError {
        switch errno {
        case EPIPE, ECONNRESET: NetError(.closed)
        case EMSGSIZE: NetError(.messageTooLarge)
        default: NetError(.failed, place: "errno \(errno)")
        }
    }
}
