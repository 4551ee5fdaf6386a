// The way into the loop that serves WebSockets, from any thread. The one thing to keep true: nothing but this
// inbox is shared with the loop.

internal import CPlatform
internal import Glibc
internal import Synchronization

/// A socket that has been upgraded.
struct UpgradedSocket: Sendable {
    /// Who moves the bytes.
    enum Carrier: Sendable {
        /// The peer's socket, which is ours alone, and its place among the connections.
        case own(Int32, ConnectionPlace)
        /// One end of a pair: the HTTP library has TLS with the peer's socket. It passes on no end of its own accord.
        case library(Int32, peer: Int32, UpgradeHandle, HTTPLoop)
    }

    let carrier: Carrier
    let kind: LiveKind
    /// Bytes that came right behind the request.
    let early: [UInt8]

    var descriptor: Int32 {
        switch carrier {
        case .own(let descriptor, _), .library(let descriptor, peer: _, _, _): descriptor
        }
    }

    /// The peer's socket if it is not `descriptor`: to be watched, and nothing else.
    var peerDescriptor: Int32? {
        if case .library(_, peer: let peer, _, _) = carrier { peer } else { nil }
    }

    /// Closes the socket and lets the HTTP server forget the connection.
    func close() {
        switch carrier {
        case .own(let descriptor, _): Glibc.close(descriptor)
        case .library(let descriptor, peer: let peer, let handle, let loop):
            // The library sends what is left first: a peer that takes nothing has only so long.
            loop.server.watch.set(peer, ConnectionWatch.headMilliseconds)
            loop.giveBack(handle)
            // Wakes the loop.
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }
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
