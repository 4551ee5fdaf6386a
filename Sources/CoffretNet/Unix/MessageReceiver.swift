// One message from a socket, in as many pieces as it comes. Invariant: what was received lies in one place, whole or
// not, and is zeroed with it; descriptors that nobody takes are closed.

internal import CPlatform
internal import CoffretBase
internal import Glibc

/// The bytes of a message, which may be secret: they are zeroed with this object, and never copied by sharing it.
@safe package final class ReceivedMessage {
    // SAFETY: owned by this object alone; it is lent out for the time of a call only.
    private let buffer: UnsafeMutableRawBufferPointer

    init(byteCount: Int) {
        unsafe buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
        unsafe buffer.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        unsafe buffer.zeroSecretly()
        unsafe buffer.deallocate()
    }

    package var byteCount: Int { unsafe buffer.count }

    /// Lends the bytes.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(buffer))
    }

    /// A copy, which nobody zeroes: for a program that does not outlive the secrets in its messages.
    package var bytes: [UInt8] { unsafe withUnsafeBytes { unsafe [UInt8]($0) } }

    /// Receives more, from `offset` on.
    fileprivate func receive(from connection: UnixConnection, offset: Int, waits: Bool) -> Int {
        unsafe recv(
            connection.descriptor, buffer.baseAddress! + offset, buffer.count - offset, waits ? 0 : Int32(MSG_DONTWAIT))
    }
}

/// Gathers messages of one connection without ever waiting, for a program that serves several.
package final class MessageReceiver {
    package enum Event {
        case message(ReceivedMessage, ReceivedDescriptors)
        /// There is no whole message yet.
        case pending
        /// The other side closed between two messages.
        case closed
    }

    private var length: [UInt8] = []
    private var descriptors: [ReceivedDescriptors] = []
    /// Nil until the length is known.
    private var message: ReceivedMessage?
    private var filledByteCount = 0

    private let byteCountMax: Int

    package init(byteCountMax: Int = UnixConnection.messageByteCountMax) { self.byteCountMax = byteCountMax }

    /// Takes what has arrived.
    ///
    /// - Parameter waits: whether to wait until a message is whole.
    /// - Throws: `.closed` in the middle of a message, `.messageTooLarge` before anything is allocated for it.
    package func receive(from connection: UnixConnection, waits: Bool = false) throws(NetError) -> Event {
        while true {
            if let message, filledByteCount == message.byteCount { return finish(message) }
            let read =
                message?.receive(from: connection, offset: filledByteCount, waits: waits)
                ?? readLength(connection, waits: waits)
            if read < 0 {
                switch errno {
                case EINTR: continue
                case EAGAIN: return .pending
                default: throw connection.systemError()
                }
            }
            if read == 0 {
                guard message == nil, length.isEmpty else { throw NetError(.closed) }
                return .closed
            }
            if message != nil {
                filledByteCount += read
            } else if length.count == 4 {
                try begin()
            }
        }
    }

    private func readLength(_ connection: UnixConnection, waits: Bool) -> Int {
        var part = [UInt8](repeating: 0, count: 4 - length.count)
        var numbers = [Int32](repeating: -1, count: UnixConnection.descriptorCountMax)
        var count: Int32 = 0
        let read = unsafe coffret_receive_descriptors(
            connection.descriptor, &part, UInt(part.count), &numbers, &count, waits ? 1 : 0)
        if count > 0 { descriptors.append(ReceivedDescriptors(Array(numbers.prefix(Int(count))))) }
        if read > 0 { length += part.prefix(read) }
        return read
    }

    private func begin() throws(NetError) {
        let byteCount = length.reduce(0) { $0 << 8 | Int($1) }
        guard byteCount <= byteCountMax else { throw NetError(.messageTooLarge) }
        message = ReceivedMessage(byteCount: byteCount)
        filledByteCount = 0
    }

    private func finish(_ message: ReceivedMessage) -> Event {
        defer {
            self.message = nil
            length = []
            descriptors = []
        }
        return .message(message, ReceivedDescriptors(descriptors.flatMap { $0.take() }))
    }
}
