// The loop that serves all WebSockets. The one thing to keep true: it lives on one thread, never waits for one
// peer, and holds a bounded number of bytes for each.

internal import CPlatform
internal import CoffretBase
internal import CoffretNet
internal import CoffretWire
internal import Glibc
internal import Synchronization

/// One upgraded connection.
private final class LiveConnection {
    let socket: UpgradedSocket
    var machine: WebSocketMachine
    var output: [UInt8] = []
    var outputOffset = 0
    var heardAt: Int64
    let openedAt: Int64
    var isPinged = false
    /// The close frame is out; the socket goes when the output is sent.
    var isEnding = false
    var partner: Int32?
    var isReading = true
    var waitsForWrite = false
    /// The peer's end of sending came; what is on its way from it is still read.
    var isPeerGone = false

    init(_ socket: UpgradedSocket, now: Int64) {
        self.socket = socket
        let limit =
            if case .events = socket.kind { ServerLimits.eventByteCountMax } else {
                ServerLimits.relayMessageByteCountMax
            }
        machine = WebSocketMachine(role: .server, messageByteCountMax: limit, random: SystemRandomSource())
        heardAt = now
        openedAt = now
    }

    var pendingByteCount: Int { output.count - outputOffset + machine.outputByteCount }
}

final class LiveLoop {
    static let quietMilliseconds: Int64 = 60_000
    static let silentMilliseconds: Int64 = 90_000
    static let listenerCountMaxPerDevice = 64
    static let listenerCountMaxPerAccount = 1_024
    /// Unsent bytes at which a listener of events is dropped; it compares heads when it comes again.
    static let eventBacklogByteCountMax = 256 << 10
    /// Unsent bytes at which a relay stops reading from the other side.
    static let relayBacklogByteCountMax = 256 << 10

    private let hub: LiveHub
    private let wake: Int32
    private let poll: Int32
    private var connections: [Int32: LiveConnection] = [:]
    /// Sockets of peers that the HTTP library serves, and ours for each.
    private var peers: [Int32: Int32] = [:]
    private var listeners: [[UInt8]: Set<Int32>] = [:]
    private var waiting: [[UInt8]: Int32] = [:]
    private var sweptAt = Monotonic.milliseconds
    private var isRunning = true
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    init(hub: LiveHub, wake: Int32) {
        self.hub = hub
        self.wake = wake
        poll = coffret_poll_create()
        precondition(poll >= 0, "an epoll descriptor cannot be made")
        watch(wake, reading: true, writing: false, isNew: true)
    }

    deinit { close(poll) }

    func run() {
        var descriptors = [Int32](repeating: 0, count: 256)
        var ready = descriptors
        while isRunning || !connections.isEmpty {
            let count = unsafe coffret_poll_wait(poll, &descriptors, &ready, Int32(ready.count), 1_000)
            for index in 0..<max(Int(count), 0) {
                let descriptor = descriptors[index]
                if descriptor == wake {
                    for command in hub.takeCommands() { handle(command) }
                } else if let own = peers[descriptor] {
                    leave(own, descriptor)
                } else if let connection = connections[descriptor] {
                    serve(connection, isReadable: ready[index] & (COFFRET_POLL_READ | COFFRET_POLL_GONE) != 0)
                }
            }
            let now = Monotonic.milliseconds
            if now - sweptAt >= 5_000 || !isRunning { sweep(now) }
        }
    }

    private func watch(_ descriptor: Int32, reading: Bool, writing: Bool, isNew: Bool = false) {
        let interests = (reading ? COFFRET_POLL_READ : 0) | (writing ? COFFRET_POLL_WRITE : 0)
        coffret_poll_set(poll, descriptor, interests, isNew ? 1 : 0)
    }

    // MARK: Commands

    private func handle(_ command: LiveHub.Command) {
        switch command {
        case .adopt(let socket): isRunning ? adopt(socket) : socket.close()
        case .notice(.event(let accountID, let bytes)): tell(accountID, bytes)
        case .notice(.pairing(let accountID, _)): tell(accountID, ServerEvent.pairing(accountID: accountID).encoded())
        case .notice(.ask(let accountID, let deviceID, _)):
            tell(accountID, ServerEvent.ask(accountID: accountID).encoded(), device: deviceID.bytes)
        case .notice(.sessionsEnded(let accountID, let deviceID)):
            for descriptor in listeners[accountID] ?? [] {
                guard let connection = connections[descriptor], case .events(let owner) = connection.socket.kind,
                    owner.deviceID == deviceID
                else { continue }
                end(connection, code: 4401, reason: "session ended")
            }
        case .notice(.missed):
            for connection in Array(connections.values) {
                if case .events = connection.socket.kind { end(connection, code: 1012, reason: "come again") }
            }
        case .stop:
            isRunning = false
            for connection in connections.values { end(connection, code: WebSocketCloseCode.goingAway, reason: "") }
        }
    }

    /// Sends an event to all of an account's listening devices.
    ///
    /// - Parameter device: if it is for one of them alone.
    private func tell(_ accountID: [UInt8], _ event: [UInt8], device: [UInt8]? = nil) {
        for descriptor in listeners[accountID] ?? [] {
            guard let connection = connections[descriptor] else { continue }
            if let device {
                guard case .events(let owner) = connection.socket.kind, owner.deviceID == device else { continue }
            }
            connection.machine.send(.binary(event))
            hub.counts.eventsSent.add(1, ordering: .relaxed)
            if connection.pendingByteCount > Self.eventBacklogByteCountMax {
                drop(connection)
            } else {
                flush(connection)
            }
        }
    }

    /// Of an account, and of a device, the newest listeners are told.
    private func makeRoom(for owner: SessionOwner) {
        let all = (listeners[owner.accountID] ?? []).compactMap { connections[$0] }
        let own = all.filter { if case .events(owner) = $0.socket.kind { true } else { false } }
        for (crowd, countMax) in [
            (own, Self.listenerCountMaxPerDevice), (all, Self.listenerCountMaxPerAccount),
        ] where crowd.count > countMax {
            let oldest = crowd.filter { !$0.isEnding }.min { $0.openedAt < $1.openedAt }
            if let oldest { end(oldest, code: 1013, reason: "too many listen") }
            return
        }
    }

    private func adopt(_ socket: UpgradedSocket) {
        guard coffret_set_nonblocking(socket.descriptor) == 0 else { return socket.close() }
        let connection = LiveConnection(socket, now: Monotonic.milliseconds)
        connections[socket.descriptor] = connection
        hub.counts.connections.add(1, ordering: .relaxed)
        watch(socket.descriptor, reading: true, writing: false, isNew: true)
        if let peer = socket.peerDescriptor {
            peers[peer] = socket.descriptor
            coffret_poll_set(poll, peer, COFFRET_POLL_GONE, 1)
        }
        switch socket.kind {
        case .events(let owner):
            listeners[owner.accountID, default: []].insert(socket.descriptor)
            makeRoom(for: owner)
        case .relayCreator(let id):
            waiting[id] = socket.descriptor
            connection.machine.send(.text(Hex.encode(id)))
        case .relayJoiner(let id):
            guard let first = waiting.removeValue(forKey: id), let creator = connections[first] else {
                end(connection, code: WebSocketCloseCode.goingAway, reason: "the other side left")
                break
            }
            creator.partner = socket.descriptor
            connection.partner = first
        // What the first sent while it waited for nobody was not kept.
        }
        if !socket.early.isEmpty { receive(connection, socket.early) }
        if connections[socket.descriptor] != nil { flush(connection) }
    }

    // MARK: Bytes

    private func serve(_ connection: LiveConnection, isReadable: Bool) {
        let descriptor = connection.socket.descriptor
        if isReadable {
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { return drop(connection) }
            if count > 0 { receive(connection, Array(buffer[..<count])) }
        }
        if connections[descriptor] != nil { flush(connection) }
    }

    private func receive(_ connection: LiveConnection, _ bytes: [UInt8]) {
        connection.heardAt = Monotonic.milliseconds
        connection.isPinged = false
        for event in connection.machine.receive(bytes) {
            switch event {
            case .message(let payload): pass(payload, from: connection)
            case .pong: break
            case .closed, .failed: connection.isEnding = true
            }
        }
    }

    /// Messages of a relay go to the other side; those of a listener to nobody.
    private func pass(_ payload: WebSocketPayload, from connection: LiveConnection) {
        guard let descriptor = connection.partner, let partner = connections[descriptor] else { return }
        partner.machine.send(payload)
        hub.counts.relayed.add(1, ordering: .relaxed)
        flush(partner)
        if partner.pendingByteCount > Self.relayBacklogByteCountMax, connection.isReading {
            connection.isReading = false
            watch(connection.socket.descriptor, reading: false, writing: connection.waitsForWrite)
        }
    }

    private func flush(_ connection: LiveConnection) {
        let descriptor = connection.socket.descriptor
        if connection.isPeerGone {
            (connection.output, connection.outputOffset) = ([], 0)
            _ = connection.machine.takeOutput()
        }
        if connection.outputOffset == connection.output.count {
            (connection.output, connection.outputOffset) = (connection.machine.takeOutput(), 0)
        } else if connection.machine.outputByteCount > 0 {
            connection.output += connection.machine.takeOutput()
        }
        while connection.outputOffset < connection.output.count {
            let (output, offset) = (connection.output, connection.outputOffset)
            let sent = unsafe output.withUnsafeBytes { bytes in
                unsafe send(descriptor, bytes.baseAddress! + offset, bytes.count - offset, Int32(MSG_NOSIGNAL))
            }
            if sent < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { break }
                return drop(connection)
            }
            connection.outputOffset += sent
        }
        let isBlocked = connection.outputOffset < connection.output.count
        if !isBlocked { (connection.output, connection.outputOffset) = ([], 0) }
        if isBlocked != connection.waitsForWrite {
            connection.waitsForWrite = isBlocked
            watch(descriptor, reading: connection.isReading, writing: isBlocked)
        }
        if connection.isEnding, !isBlocked { return drop(connection) }
        // The other side of a relay may go on once there is room again.
        if let other = connection.partner.flatMap({ connections[$0] }), !other.isReading,
            connection.pendingByteCount < Self.relayBacklogByteCountMax / 2
        {
            other.isReading = true
            watch(other.socket.descriptor, reading: true, writing: other.waitsForWrite)
        }
    }

    // MARK: Endings

    /// Says why, then closes; a peer that does not listen is dropped with the next sweep.
    private func end(_ connection: LiveConnection, code: UInt16, reason: String) {
        connection.machine.close(code: code, reason: reason)
        connection.isEnding = true
        flush(connection)
    }

    /// The peer is gone: once our side ends too, the library passes on what came last, and then the end.
    private func leave(_ descriptor: Int32, _ peer: Int32) {
        peers[peer] = nil
        coffret_poll_remove(poll, peer)
        connections[descriptor]?.isPeerGone = true
        shutdown(descriptor, Int32(SHUT_WR))
    }

    private func drop(_ connection: LiveConnection) {
        let descriptor = connection.socket.descriptor
        guard connections.removeValue(forKey: descriptor) != nil else { return }
        coffret_poll_remove(poll, descriptor)
        if let peer = connection.socket.peerDescriptor, peers.removeValue(forKey: peer) != nil {
            coffret_poll_remove(poll, peer)
        }
        hub.counts.connections.subtract(1, ordering: .relaxed)
        switch connection.socket.kind {
        case .events(let owner):
            listeners[owner.accountID]?.remove(descriptor)
            if listeners[owner.accountID]?.isEmpty == true { listeners[owner.accountID] = nil }
        case .relayCreator(let id):
            waiting[id] = nil
            hub.rooms.close(id)
        case .relayJoiner: break
        }
        if let partner = connection.partner.flatMap({ connections[$0] }) {
            partner.partner = nil
            end(partner, code: WebSocketCloseCode.goingAway, reason: "the other side left")
        }
        connection.socket.close()
    }

    private func sweep(_ now: Int64) {
        sweptAt = now
        for connection in Array(connections.values) {
            let silence = now - connection.heardAt
            let isUnjoined =
                if case .relayCreator = connection.socket.kind { connection.partner == nil } else { false }
            if connection.isEnding || silence > Self.silentMilliseconds {
                drop(connection)
            } else if isUnjoined, now - connection.openedAt > RelayRooms.lifetimeMilliseconds {
                end(connection, code: WebSocketCloseCode.goingAway, reason: "nobody joined")
            } else if silence > Self.quietMilliseconds, !connection.isPinged {
                connection.isPinged = true
                connection.machine.ping()
                flush(connection)
            }
        }
    }
}
