// What a client of a session has sent and nobody has answered. Invariant: a cancel counts for everything that was sent before
// it and for nothing that was sent after it, whenever it is read.

internal import CoffretBase
internal import CoffretNet
internal import CoffretWire
internal import Glibc

/// Requests of one connection, in their order.
final class OperationInbox {
    /// A request that waits, or is being performed.
    final class Entry {
        /// A request that nobody could read is refused when its turn comes.
        let request: Result<OperationRequest, OperationError>
        let descriptors: ReceivedDescriptors
        fileprivate(set) var isCancelled = false
        fileprivate let byteCount: Int

        fileprivate init(
            _ request: Result<OperationRequest, OperationError>, _ descriptors: ReceivedDescriptors, byteCount: Int
        ) {
            self.request = request
            self.descriptors = descriptors
            self.byteCount = byteCount
        }
    }

    /// So much is read while an operation works; what comes after it stays in the socket.
    private static let entryCountMax = 64
    private static let byteCountMax = AgentSession.messageByteCountMax

    private let connection: UnixConnection
    private let isJSON: Bool
    private let receiver = MessageReceiver(byteCountMax: AgentSession.messageByteCountMax)
    private var waiting: [Entry] = []
    private var current: Entry?
    private var isClosed = false

    init(_ connection: UnixConnection, isJSON: Bool) {
        self.connection = connection
        self.isJSON = isJSON
    }

    /// Waits for the next request.
    ///
    /// - Parameter seconds: how long to wait; nil for ever.
    /// - Returns: nil once the client is gone, or after that time.
    /// - Throws: `NetError` for a connection that broke off in the middle of a message.
    func next(within milliseconds: Int32? = nil) throws(NetError) -> Entry? {
        current = nil
        while waiting.isEmpty {
            guard !isClosed, isReadable(within: milliseconds ?? -1) else { return nil }
            try receive()
        }
        current = waiting.removeFirst()
        return current
    }

    /// Whether the client wants what it is waiting for no more, or is gone.
    func isCurrentCancelled() -> Bool {
        // What broke off is found again by `next`.
        while !isClosed, hasRoom, isReadable(within: 0) {
            do throws(NetError) { try receive() } catch { isClosed = true }
        }
        return isClosed || current?.isCancelled == true
    }

    private var hasRoom: Bool {
        waiting.count < Self.entryCountMax && waiting.reduce(0) { $0 + $1.byteCount } < Self.byteCountMax
    }

    private func isReadable(within milliseconds: Int32) -> Bool {
        var polled = [pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)]
        var count: Int32
        repeat { count = unsafe poll(&polled, 1, milliseconds) } while count < 0 && errno == EINTR
        return count > 0
    }

    /// Takes what has come, without waiting.
    private func receive() throws(NetError) {
        switch try receiver.receive(from: connection) {
        case .pending: return
        case .closed: isClosed = true
        case .message(let message, let descriptors): take(message, descriptors)
        }
    }

    private func take(_ message: ReceivedMessage, _ descriptors: ReceivedDescriptors) {
        var bytes = message.bytes
        defer { bytes.zero() }
        do throws(WireError) {
            switch try SessionClientMessage(decoding: bytes, isJSON: isJSON) {
            case .request(let request):
                waiting.append(Entry(.success(request), descriptors, byteCount: bytes.count))
            case .cancel:
                current?.isCancelled = true
                for entry in waiting { entry.isCancelled = true }
            }
        } catch {
            let refusal = OperationError(.requestInvalid, at: error.place)
            waiting.append(Entry(.failure(refusal), descriptors, byteCount: bytes.count))
        }
    }
}
