// The way into the loop that serves WebSockets, from any thread. The one thing to keep true: nothing but this
// inbox is shared with the loop.

internal import CMicroHTTPD
internal import CPlatform
internal import Glibc
internal import Synchronization

/// A socket that has been upgraded.
// SAFETY: the handle is used once, by the loop, to give the socket back; the library allows that from any thread.
@safe struct UpgradedSocket: @unchecked Sendable {
    let descriptor: Int32
    let kind: LiveKind
    /// Bytes that came right behind the request.
    let early: [UInt8]
    let handle: OpaquePointer

    /// Closes the socket and lets the HTTP server forget the connection.
    func close() { unsafe coffret_mhd_close_upgraded(handle) }
}

final class LiveHub: Sendable {
    enum Command: Sendable {
        case adopt(UpgradedSocket)
        case notice(StoreNotice)
        case stop
    }

    private let inbox = Mutex<[Command]>([])
    private let wake: Int32
    private let thread = Mutex<ServerThread?>(nil)
    let rooms: RelayRooms
    let counts = LiveCounts()

    init(rooms: RelayRooms) {
        self.rooms = rooms
        wake = coffret_wake_descriptor()
        precondition(wake >= 0, "an event descriptor cannot be made")
    }

    deinit { Glibc.close(wake) }

    func start() {
        let made = ServerThread { [self] in LiveLoop(hub: self, wake: wake).run() }
        thread.withLock { $0 = made }
    }

    func post(_ command: Command) {
        inbox.withLock { $0.append(command) }
        var one: UInt64 = 1
        _ = unsafe write(wake, &one, 8)
    }

    func takeCommands() -> [Command] {
        var count: UInt64 = 0
        _ = unsafe read(wake, &count, 8)
        return inbox.withLock { inbox in
            defer { inbox = [] }
            return inbox
        }
    }

    /// Ends all connections and waits for it.
    func stop() {
        post(.stop)
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }
}

/// Figures of the loop, for the metrics.
final class LiveCounts: Sendable {
    let connections = Atomic(0)
    let relayed = Atomic(0)
    let eventsSent = Atomic(0)
}
