// A WebSocket over libcurl's connection: its TLS, pin and proxy, our own framing. Invariant: bytes that arrived with
// others are never left lying while somebody waits for the socket.

internal import CCurl
package import CoffretBase
package import CoffretNet
internal import Glibc

/// A WebSocket to a server, as its client. One thread at a time.
@safe package final class WebSocketConnection {
    private let client: HTTPClient
    private let socket: CInt
    /// For `poll`: something may be there to receive. Bytes that TLS holds already do not show here, so `receive` is
    /// called until it gives nothing before anybody waits.
    package var descriptor: CInt { socket }
    /// How often bytes came, pings and pongs among them: a connection is alive as long as this grows.
    package private(set) var readCount = 0
    private var machine: WebSocketMachine
    private var pending: [WebSocketMachine.Event] = []

    /// Connects and upgrades.
    ///
    /// - Parameters:
    ///   - path: below the server's address.
    ///   - fields: of the request, such as `Authorization`.
    /// - Throws: as `HTTPClient.send`; `.upgradeRefused` with the status.
    package init(
        _ settings: HTTPSettings, path: String, fields: [(name: String, value: String)] = [],
        messageByteCountMax: Int, random: any RandomSource
    ) throws(HTTPError) {
        let client = try HTTPClient(settings)
        try client.prepare(path: "/", time: settings.connectTime)
        try client.check(unsafe coffret_curl_set_connect_only(client.handle))
        try client.check(unsafe coffret_curl_perform(client.handle))
        socket = unsafe coffret_curl_socket(client.handle)
        guard socket >= 0 else { throw HTTPError(.failed, at: "socket") }
        self.client = client
        machine = WebSocketMachine(role: .client, messageByteCountMax: messageByteCountMax, random: random)
        var handshake = WebSocketClientHandshake(
            host: settings.address.authority, path: settings.address.basePath + path, fields: fields, random: random)
        let deadline = ContinuousClock.now + settings.connectTime
        try write(handshake.request, deadline: deadline)
        while true {
            guard let bytes = try read(deadline: deadline) else { throw HTTPError(.timedOut) }
            let rest: [UInt8]?
            do throws(WebSocketRefusal) {
                rest = try handshake.receive(bytes)
            } catch {
                if case .status(let status) = error { throw HTTPError(.upgradeRefused, at: String(status)) }
                throw HTTPError(.upgradeRefused)
            }
            guard let rest else { continue }
            pending = machine.receive(rest)
            return
        }
    }

    package func send(_ payload: WebSocketPayload) throws(HTTPError) {
        machine.send(payload)
        try flush()
    }

    package func ping() throws(HTTPError) {
        machine.ping()
        try flush()
    }

    /// Waits until the server answers a ping. It says yes to a connection before the part of it that sends messages has
    /// taken it over; what happens after the answer is sent here.
    ///
    /// - Throws: `.timedOut` without an answer in the time that a stalled connection gets; `.closed` as `receive`.
    package func awaitAnswer() throws(HTTPError) {
        let deadline = ContinuousClock.now + client.settings.stallTime
        try ping()
        while true {
            let answer = pending.firstIndex { if case .pong = $0 { true } else { false } }
            if let answer {
                pending.remove(at: answer)
                return
            }
            for event in pending { try throwEnd(event) }
            guard let bytes = try read(deadline: deadline) else { throw HTTPError(.timedOut) }
            pending += machine.receive(bytes)
            try flush()
        }
    }

    /// - Throws: `.closed`, `.failed` for an event that ends the connection.
    private func throwEnd(_ event: WebSocketMachine.Event) throws(HTTPError) {
        switch event {
        case .message, .pong: return
        case .closed(let code, _):
            try? flush()
            throw HTTPError(.closed, at: code.map(String.init))
        case .failed(let code):
            try? flush()
            throw HTTPError(.failed, at: "websocket \(code)")
        }
    }

    /// The next message; nil if none came within `time`. Pings are answered meanwhile.
    ///
    /// - Throws: `.closed` with the code when the other side closed or the connection ended.
    package func receive(within time: Duration) throws(HTTPError) -> WebSocketPayload? {
        let deadline = ContinuousClock.now + time
        while true {
            while !pending.isEmpty {
                let event = pending.removeFirst()
                if case .message(let payload) = event { return payload }
                try throwEnd(event)
            }
            guard let bytes = try read(deadline: deadline) else { return nil }
            pending = machine.receive(bytes)
            try flush()
        }
    }

    /// Says goodbye; does not wait for the answer.
    package func close() {
        machine.close(code: WebSocketCloseCode.normal)
        try? flush()
    }

    private func flush() throws(HTTPError) {
        guard machine.outputByteCount > 0 else { return }
        try write(machine.takeOutput(), deadline: ContinuousClock.now + client.settings.stallTime)
    }

    private func write(_ bytes: [UInt8], deadline: ContinuousClock.Instant) throws(HTTPError) {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe coffret_curl_send(client.handle, bytes.baseAddress! + sent, bytes.count - sent)
            }
            if count > 0 {
                sent += count
            } else {
                guard count == -1 else { throw HTTPError(.closed) }
                guard try wait(for: CShort(POLLOUT), until: deadline) else { throw HTTPError(.timedOut) }
            }
        }
    }

    /// The received bytes, at least one; nil when the deadline has passed.
    private func read(deadline: ContinuousClock.Instant) throws(HTTPError) -> [UInt8]? {
        while true {
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            // First what TLS has decrypted already: the socket says nothing about that.
            let count = unsafe buffer.withUnsafeMutableBytes { buffer in
                unsafe coffret_curl_receive(client.handle, buffer.baseAddress!, buffer.count)
            }
            if count > 0 {
                readCount += 1
                return Array(buffer[..<count])
            }
            guard count == -1 else { throw HTTPError(.closed) }
            guard try wait(for: CShort(POLLIN), until: deadline) else { return nil }
        }
    }

    private func wait(for events: CShort, until deadline: ContinuousClock.Instant) throws(HTTPError) -> Bool {
        while true {
            let left = ContinuousClock.now.duration(to: deadline).milliseconds
            guard left > 0 else { return false }
            var descriptor = pollfd(fd: socket, events: events, revents: 0)
            let count = unsafe poll(&descriptor, 1, CInt(clamping: left))
            if count > 0 { return true }
            guard count == 0 || errno == EINTR else { throw HTTPError(.failed, at: "poll") }
        }
    }
}
