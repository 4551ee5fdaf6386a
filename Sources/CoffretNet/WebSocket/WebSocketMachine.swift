// One end of a WebSocket, without the socket. Invariant: after the first violation nothing that the peer sends has an
// effect, and no length that it states sets memory aside.

package import CoffretBase

/// Which end this is: clients mask what they send, servers do not.
package enum WebSocketRole: Sendable {
    case client
    case server
}

/// A peer's fault, by the code that it receives.
package enum WebSocketCloseCode {
    package static let normal: UInt16 = 1000
    package static let goingAway: UInt16 = 1001
    package static let protocolError: UInt16 = 1002
    package static let invalidText: UInt16 = 1007
    package static let policyViolation: UInt16 = 1008
    package static let messageTooLarge: UInt16 = 1009
    package static let tryAgainLater: UInt16 = 1013

    /// Whether a peer may send it: 1005, 1006 and 1015 stand for closes without a frame, the rest is unassigned.
    static func isValidOnWire(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

/// RFC 6455 framing as a state machine: bytes in, events out, bytes to send in `takeOutput`.
///
/// No extensions are spoken, so reserved bits are errors. Pings are answered by themselves.
/// Source: RFC 6455 sections 5 to 7. Checked against Python `websockets` in both roles.
/// - Concurrency: belongs to one isolation domain.
package struct WebSocketMachine: Sendable {
    package enum Event: Equatable, Sendable {
        case message(WebSocketPayload)
        /// The answer to a ping of ours.
        case pong([UInt8])
        /// The peer closed in good order; nil is a close without a code. Send what `takeOutput` holds, then close the socket.
        case closed(code: UInt16?, reason: String)
        /// The peer broke the protocol. A close frame with the code is in the output; then the socket goes.
        case failed(code: UInt16)
    }

    private enum State {
        case open
        /// Our close frame is out; the peer's is awaited.
        case closing
        case closed
    }

    private let role: WebSocketRole
    private let messageByteCountMax: Int
    private let random: any RandomSource
    private var state = State.open
    private var output: [UInt8] = []

    // The frame being read.
    private var header: [UInt8] = []
    private var frame: WebSocketFrameHeader?
    private var frameByteCountRead = 0
    /// Payload of a control frame.
    private var control: [UInt8] = []
    // The message being read, over all its frames.
    private var message: [UInt8] = []
    private var messageOpcode: WebSocketOpcode?
    private var text = UTF8Validator()

    /// - Parameter messageByteCountMax: the longest message accepted, over all its frames.
    /// - Parameter random: source of masks, for the client's role.
    package init(role: WebSocketRole, messageByteCountMax: Int, random: any RandomSource) {
        self.role = role
        self.messageByteCountMax = messageByteCountMax
        self.random = random
    }

    /// Whether both sides have said that they close, or one broke the protocol: nothing is sent or read any more.
    package var isClosed: Bool { state == .closed }
    /// Bytes that wait in the output.
    package var outputByteCount: Int { output.count }

    /// Bytes to send, in order; the machine forgets them.
    package mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    // MARK: Sending

    /// Sends a message in one frame; after `close` it is dropped.
    package mutating func send(_ payload: WebSocketPayload) {
        guard state == .open else { return }
        switch payload {
        case .binary(let bytes): write(.binary, bytes)
        case .text(let text): write(.text, Array(text.utf8))
        }
    }

    /// - Parameter payload: at most 125 bytes, which come back in a pong.
    package mutating func ping(_ payload: [UInt8] = []) {
        precondition(payload.count <= WebSocketFrameHeader.controlByteCountMax, "a ping carries 125 bytes at most")
        guard state == .open else { return }
        write(.ping, payload)
    }

    /// Begins to close; the peer's close frame ends it.
    ///
    /// - Parameter reason: cut to what a control frame carries.
    package mutating func close(code: UInt16, reason: String = "") {
        guard state == .open else { return }
        writeClose(code: code, reason: reason)
        state = .closing
    }

    private mutating func writeClose(code: UInt16, reason: String) {
        var cut = Substring(reason)
        while cut.utf8.count > WebSocketFrameHeader.controlByteCountMax - 2 { cut.removeLast() }
        write(.close, code.bigEndianBytes + Array(cut.utf8))
    }

    private mutating func write(_ opcode: WebSocketOpcode, _ payload: [UInt8]) {
        let mask = role == .client ? random.bytes(count: 4) : nil
        WebSocketFrameHeader.append(opcode: opcode, byteCount: payload.count, mask: mask, to: &output)
        let start = output.count
        output += payload
        if let mask { WebSocketFrameHeader.apply(mask, to: &output, from: start, offset: 0) }
    }

    // MARK: Receiving

    /// Takes bytes as they came and returns what they amount to.
    package mutating func receive(_ bytes: [UInt8]) -> [Event] {
        var events: [Event] = []
        var rest = bytes[...]
        while state != .closed, !rest.isEmpty || isFrameComplete {
            if let event = step(&rest) { events.append(event) }
        }
        return events
    }

    /// An empty frame is complete as soon as its header is.
    private var isFrameComplete: Bool { frame.map { $0.byteCount == frameByteCountRead } ?? false }

    private mutating func step(_ rest: inout ArraySlice<UInt8>) -> Event? {
        guard let current = frame else {
            if let byte = rest.popFirst() { header.append(byte) }
            switch WebSocketFrameHeader.parse(header, from: role) {
            case .needsMore: return nil
            case .invalid: return fail(WebSocketCloseCode.protocolError)
            case .header(let parsed): return begin(parsed)
            }
        }
        let taken = rest.prefix(current.byteCount - frameByteCountRead)
        rest = rest[taken.endIndex...]
        if let event = add(taken, of: current) { return event }
        frameByteCountRead += taken.count
        guard frameByteCountRead == current.byteCount else { return nil }
        frame = nil
        frameByteCountRead = 0
        return end(current)
    }

    private mutating func begin(_ parsed: WebSocketFrameHeader) -> Event? {
        header.removeAll(keepingCapacity: true)
        frame = parsed
        if parsed.opcode.isControl { return nil }
        switch (parsed.opcode, messageOpcode) {
        case (.continuation, nil), (.text, .some), (.binary, .some): return fail(WebSocketCloseCode.protocolError)
        case (.continuation, .some): break
        case (let opcode, _): messageOpcode = opcode
        }
        guard parsed.byteCount <= messageByteCountMax - message.count else {
            return fail(WebSocketCloseCode.messageTooLarge)
        }
        return nil
    }

    private mutating func add(_ bytes: ArraySlice<UInt8>, of frame: WebSocketFrameHeader) -> Event? {
        if frame.opcode.isControl {
            let start = control.count
            control += bytes
            if let mask = frame.mask {
                WebSocketFrameHeader.apply(mask, to: &control, from: start, offset: frameByteCountRead)
            }
            return nil
        }
        let start = message.count
        message += bytes
        if let mask = frame.mask {
            WebSocketFrameHeader.apply(mask, to: &message, from: start, offset: frameByteCountRead)
        }
        // Text that cannot become valid any more is refused at once, not at its end.
        guard messageOpcode == .text, !text.append(message[start...]) else { return nil }
        return fail(WebSocketCloseCode.invalidText)
    }

    private mutating func end(_ frame: WebSocketFrameHeader) -> Event? {
        if frame.opcode.isControl {
            defer { control.removeAll(keepingCapacity: true) }
            return endControl(frame.opcode)
        }
        guard frame.isFinal else { return nil }
        let opcode = messageOpcode
        let bytes = message
        message = []
        messageOpcode = nil
        if opcode == .text {
            defer { text = UTF8Validator() }
            guard text.isComplete else { return fail(WebSocketCloseCode.invalidText) }
            return deliver(.text(String(decoding: bytes, as: UTF8.self)))
        }
        return deliver(.binary(bytes))
    }

    /// Once we close, messages still come and nobody wants them.
    private func deliver(_ payload: WebSocketPayload) -> Event? { state == .open ? .message(payload) : nil }

    private mutating func endControl(_ opcode: WebSocketOpcode) -> Event? {
        switch opcode {
        case .ping:
            if state == .open { write(.pong, control) }
            return nil
        case .pong: return .pong(control)
        default: return endClose()
        }
    }

    private mutating func endClose() -> Event? {
        var code: UInt16?
        if !control.isEmpty {
            guard control.count >= 2 else { return fail(WebSocketCloseCode.protocolError) }
            let stated = UInt16(control[0]) << 8 | UInt16(control[1])
            guard WebSocketCloseCode.isValidOnWire(stated) else { return fail(WebSocketCloseCode.protocolError) }
            code = stated
        }
        var reasonCheck = UTF8Validator()
        guard reasonCheck.append(control.dropFirst(2)), reasonCheck.isComplete else {
            return fail(WebSocketCloseCode.invalidText)
        }
        if state == .open {
            if let code { writeClose(code: code, reason: "") } else { write(.close, []) }
        }
        state = .closed
        return .closed(code: code, reason: String(decoding: control.dropFirst(2), as: UTF8.self))
    }

    private mutating func fail(_ code: UInt16) -> Event {
        if state == .open { writeClose(code: code, reason: "") }
        state = .closed
        (header, control, message, frame) = ([], [], [], nil)
        return .failed(code: code)
    }
}
