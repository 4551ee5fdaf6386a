// What a client of a session has sent and nobody has answered. Invariant: a cancel counts for everything that was sent before
// it and for nothing that was sent after it, whenever it is read.

internal import CPlatform
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

    /// What a wait ended with.
    enum Next {
        case request(Entry)
        /// The client is gone.
        case ended
        /// A signal came.
        case stopped
        /// The moment came first.
        case timeout
    }

    private let connection: UnixConnection
    /// Becomes readable with a signal that ends the session; -1 for none.
    private let signals: Int32
    private let timer = coffret_boot_timer()
    private let isJSON: Bool
    private let receiver = MessageReceiver(byteCountMax: AgentSession.messageByteCountMax)
    private var waiting: [Entry] = []
    private var current: Entry?
    private var isClosed = false
    /// The question that was put last.
    private var question = 0
    /// To that question: an answer to an earlier one came too late, and is dropped.
    private var answer: (isYes: Bool, descriptors: ReceivedDescriptors)?

    init(_ connection: UnixConnection, isJSON: Bool, signals: Int32 = -1) {
        self.connection = connection
        self.isJSON = isJSON
        self.signals = signals
    }

    deinit { close(timer) }

    /// Waits for the next request.
    ///
    /// - Parameter moment: until when, on the clock that counts suspend; nil for ever.
    /// - Throws: `NetError` for a connection that broke off in the middle of a message.
    func next(until moment: BootInstant? = nil) throws(NetError) -> Next {
        current = nil
        _ = coffret_set_boot_timer(timer, moment.map { max(1, $0.nanoseconds) } ?? 0)
        while !isClosed {
            // What a signal ends is not begun.
            if isReadable(signals, within: 0) { return .stopped }
            if !waiting.isEmpty {
                let entry = waiting.removeFirst()
                current = entry
                return .request(entry)
            }
            var polled = [connection.descriptor, signals, timer].map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            guard unsafe poll(&polled, 3, -1) > 0 else { continue }
            if polled[0].revents != 0 { try receive() } else if polled[1].revents == 0 { return .timeout }
        }
        return .ended
    }

    /// Whether the client wants what it is waiting for no more, or is gone.
    func isCurrentCancelled() -> Bool {
        // What broke off is found again by `next`.
        while !isClosed, hasRoom, isReadable(connection.descriptor, within: 0) {
            do throws(NetError) { try receive() } catch { isClosed = true }
        }
        return isClosed || current?.isCancelled == true
    }

    /// Waits for the answer to a question that was just put.
    ///
    /// - Parameters:
    ///   - pollMilliseconds: how long to wait between two calls of `idle`; -1 for ever.
    ///   - idle: called again and again meanwhile.
    /// - Throws: `OperationError.cancelled` if the client cancels instead, or is gone; what `idle` throws.
    func nextAnswer(
        to question: Int, pollMilliseconds: Int32 = -1, while idle: () throws -> Void = {}
    ) throws -> (isYes: Bool, descriptors: ReceivedDescriptors) {
        (self.question, answer) = (question, nil)
        while !isClosed, hasRoom, current?.isCancelled != true {
            if let found = answer { return found }
            if isReadable(connection.descriptor, within: pollMilliseconds) { try receive() } else { try idle() }
        }
        if let found = answer { return found }
        throw OperationError(.cancelled)
    }

    private var hasRoom: Bool {
        waiting.count < Self.entryCountMax && waiting.reduce(0) { $0 + $1.byteCount } < Self.byteCountMax
    }

    private func isReadable(_ descriptor: Int32, within milliseconds: Int32) -> Bool {
        var polled = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
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
            case .answer(let isYes, self.question): answer = (isYes, descriptors)
            case .answer: break
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
