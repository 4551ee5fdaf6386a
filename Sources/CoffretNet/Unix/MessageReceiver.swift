// One message from a socket, in as many pieces as it comes. The one thing to keep true: what was received of a
// message that never became whole is zeroed, and its descriptors are closed.

internal import CPlatform
internal import CoffretBase
internal import Glibc

/// Gathers messages of one connection without ever waiting, for a program that serves several.
package final class MessageReceiver {
    package enum Event {
        case message([UInt8], ReceivedDescriptors)
        /// There is no whole message yet.
        case pending
        /// The other side closed between two messages.
        case closed
    }

    private var length: [UInt8] = []
    private var descriptors: [ReceivedDescriptors] = []
    private var message: [UInt8] = []
    private var filledByteCount = 0
    private var isInMessage = false

    package init() {}

    deinit {
        message.zero()
    }

    /// Takes what has arrived.
    ///
    /// - Parameter waits: whether to wait until a message is whole.
    /// - Throws: `.closed` in the middle of a message, `.messageTooLarge` before anything is allocated for it.
    package func receive(from connection: UnixConnection, waits: Bool = false) throws(NetError) -> Event {
        while true {
            if isInMessage, filledByteCount == message.count { return finish() }
            let read = isInMessage ? readMessage(connection, waits: waits) : readLength(connection, waits: waits)
            if read < 0 {
                switch errno {
                case EINTR: continue
                case EAGAIN: return .pending
                default: throw connection.systemError()
                }
            }
            if read == 0 {
                guard !isInMessage, length.isEmpty else { throw NetError(.closed) }
                return .closed
            }
            if !isInMessage, length.count == 4 { try begin() }
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
        guard byteCount <= UnixConnection.messageByteCountMax else { throw NetError(.messageTooLarge) }
        message = [UInt8](repeating: 0, count: byteCount)
        filledByteCount = 0
        isInMessage = true
    }

    private func readMessage(_ connection: UnixConnection, waits: Bool) -> Int {
        let filled = filledByteCount
        let read = unsafe message.withUnsafeMutableBytes { bytes in
            unsafe recv(
                connection.descriptor, bytes.baseAddress! + filled, bytes.count - filled,
                waits ? 0 : Int32(MSG_DONTWAIT))
        }
        if read > 0 { filledByteCount += read }
        return read
    }

    private func finish() -> Event {
        defer {
            message = []
            length = []
            descriptors = []
            isInMessage = false
        }
        return .message(message, ReceivedDescriptors(descriptors.flatMap { $0.take() }))
    }
}
