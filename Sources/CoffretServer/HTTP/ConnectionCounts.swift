// How many connections there are. The one thing to keep true: a connection is counted from the first byte to the last,
// whoever serves it.

internal import Synchronization

/// Connections, and those of each network.
///
/// The HTTP library counts as well, but whole addresses, and not the sockets that left it.
final class ConnectionCounts: Sendable {
    private struct State {
        var count = 0
        var peers: [[UInt8]: Int] = [:]
    }

    private let countMax: Int
    private let countMaxPerPeer: Int
    /// Whether all come from a proxy, which has an address of its own.
    private let isBehindProxy: Bool
    private let state = Mutex(State())

    init(countMax: Int, countMaxPerPeer: Int, isBehindProxy: Bool) {
        self.isBehindProxy = isBehindProxy
        self.countMax = countMax
        self.countMaxPerPeer = countMaxPerPeer
    }

    /// Whether one more may come. Threads ask and take one by one, so there may be one too many for each.
    ///
    /// A network gets a quarter of what is free: however many take all they get, the next finds a place.
    func hasPlace(_ peer: [UInt8]) -> Bool {
        state.withLock { state in
            let free = countMax - state.count
            let limit = isBehindProxy ? countMaxPerPeer : min(countMaxPerPeer, (free + 3) / 4)
            return free > 0 && state.peers[peer, default: 0] < limit
        }
    }

    fileprivate func take(_ peer: [UInt8]) {
        state.withLock { state in
            state.count += 1
            state.peers[peer, default: 0] += 1
        }
    }

    fileprivate func give(_ peer: [UInt8]) {
        state.withLock { state in
            state.count -= 1
            state.peers[peer, default: 1] -= 1
            if state.peers[peer] == 0 { state.peers[peer] = nil }
        }
    }
}

/// The place of one connection, until nobody holds it.
final class ConnectionPlace: Sendable {
    private let counts: ConnectionCounts
    private let peer: [UInt8]

    init(_ counts: ConnectionCounts, _ peer: [UInt8]) {
        self.counts = counts
        self.peer = peer
        counts.take(peer)
    }

    deinit { counts.give(peer) }
}
