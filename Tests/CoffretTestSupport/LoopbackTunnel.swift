// A way to a TCP server of this machine, which keeps a copy of what passes or breaks where a test wants it. The one thing
// to keep true: bytes are recorded before they are passed on, and once it is cut nothing passes until it is mended.

internal import Foundation
internal import Glibc
internal import Synchronization

/// Listens on a free port of the loopback and passes connections on to another; TLS goes through untouched.
package final class LoopbackTunnel: Sendable {
    package enum Direction: Sendable { case up, down }

    private struct State {
        var recorded: [UInt8] = []
        var budget: [Direction: Int] = [:]
        var isCut = false
        var isSlow = false
        /// How many connections are still turned away.
        var refusalCount = 0
        /// The descriptors of connections that have not ended.
        var open: Set<Int32> = []
    }

    package let port: UInt16
    private let target: UInt16
    private let records: Bool
    private let listener: Int32
    private let state = Mutex(State())

    /// - Parameter records: whether it keeps what passes.
    package init(to target: UInt16, records: Bool = false) throws {
        self.target = target
        self.records = records
        let listener = socket(AF_INET, Self.kind, 0)
        self.listener = listener
        var address = Self.loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard listener >= 0, unsafe Self.call(&address, { unsafe bind(listener, $0, length) }) == 0,
            listen(listener, 64) == 0, unsafe Self.call(&address, { unsafe getsockname(listener, $0, &length) }) == 0
        else { throw CocoaError(.fileWriteUnknown) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                guard let self else {
                    close(client)
                    return
                }
                self.serve(client)
            }
        }
    }

    deinit {
        // Wakes the thread that waits in accept.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    // MARK: What passes

    /// All that has passed so far, both ways.
    package var bytes: [UInt8] { state.withLock(\.recorded) }

    /// The same once every connection has ended: what a program said last may be on its way when it is gone.
    package func bytesWhenQuiet() throws -> [UInt8] {
        try Waiting.until("every connection has ended", everyMilliseconds: 5) { state.withLock(\.open.isEmpty) }
        return bytes
    }

    // MARK: Cuts

    /// Breaks everything once so many more bytes went in a direction.
    package func cut(after byteCount: Int, _ direction: Direction) {
        state.withLock { $0.budget[direction] = byteCount }
    }

    /// From now on everything passes.
    package func mend() { state.withLock { ($0.budget, $0.isCut) = ([:], false) } }

    /// Whether a lot takes long on its way down, on each connection by itself; little is as fast as ever.
    package func setSlow(_ isSlow: Bool) { state.withLock { $0.isSlow = isSlow } }

    /// Whether the cut has happened.
    package var didCut: Bool { state.withLock(\.isCut) }

    /// Closes the next connections as soon as they come.
    package func turnAway(_ connectionCount: Int) { state.withLock { $0.refusalCount = connectionCount } }

    /// Whether as many have come.
    package var hasTurnedAway: Bool { state.withLock { $0.refusalCount == 0 } }

    // MARK: Connections

    private func serve(_ client: Int32) {
        let isRefused = state.withLock { state in
            defer { state.refusalCount = max(0, state.refusalCount - 1) }
            return state.refusalCount > 0
        }
        guard !isRefused else {
            close(client)
            return
        }
        let server = socket(AF_INET, Self.kind, 0)
        // Before it is connected: whoever waits for quiet waits for this one, too.
        let isOpen = state.withLock { state in
            if !state.isCut { state.open.formUnion([client, server]) }
            return !state.isCut
        }
        var address = Self.loopback(target)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard isOpen, unsafe Self.call(&address, { unsafe connect(server, $0, length) }) == 0 else {
            return end(client, server)
        }
        let done = DispatchGroup()
        for (from, to, direction) in [(client, server, Direction.up), (server, client, .down)] {
            done.enter()
            Thread.detachNewThread {
                self.pump(from, to, direction)
                done.leave()
            }
        }
        done.notify(queue: .global()) { self.end(client, server) }
    }

    private func end(_ client: Int32, _ server: Int32) {
        // Closed before they are forgotten, under the lock: a number that is used anew is another connection's.
        state.withLock { state in
            close(client)
            close(server)
            state.open.subtract([client, server])
        }
    }

    private func pump(_ from: Int32, _ to: Int32, _ direction: Direction) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe recv(from, &buffer, buffer.count, 0)
            if direction == .down, count > 8_192, state.withLock(\.isSlow) { usleep(500_000) }
            guard count > 0, pass(buffer[..<count], direction), Self.write(buffer[..<count], to: to) else { break }
        }
        shutdown(to, Int32(SHUT_WR))
        // What the other end still sends has nowhere to come from; what it is sent, it may still read.
        shutdown(from, Int32(SHUT_RD))
    }

    /// - Returns: whether these bytes go on.
    private func pass(_ bytes: ArraySlice<UInt8>, _ direction: Direction) -> Bool {
        state.withLock { state in
            guard !state.isCut else { return false }
            if let budget = state.budget[direction] {
                state.budget[direction] = max(0, budget - bytes.count)
                if budget <= bytes.count {
                    state.isCut = true
                    for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
                    return false
                }
            }
            if records { state.recorded += bytes }
            return true
        }
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func call(
        _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Int32
    ) -> Int32 {
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0) }
        }
    }
}
