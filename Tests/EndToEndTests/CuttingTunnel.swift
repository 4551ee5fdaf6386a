// A way to a server that breaks: TCP to this machine, cut after a chosen number of bytes. The one thing to keep true:
// until it is mended, nothing passes.

import Foundation
import Glibc
import Synchronization

/// Passes connections on to a port of this machine; TLS goes through untouched.
final class CuttingTunnel: Sendable {
    enum Direction: Sendable { case up, down }

    private struct State {
        var budget: [Direction: Int] = [:]
        var isCut = false
        var open: Set<Int32> = []
    }

    let port: Int
    private let target: UInt16
    private let listener: Int32
    private let state = Mutex(State())

    init(to target: Int) throws {
        self.target = UInt16(target)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = Self.address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe bind(listener, pointer, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        guard bound else { throw CocoaError(.fileWriteUnknown) }
        port = Int(UInt16(bigEndian: address.sin_port))
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
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Breaks everything once so many more bytes went in a direction.
    func cut(after byteCount: Int, _ direction: Direction) {
        state.withLock { $0.budget[direction] = byteCount }
    }

    /// From now on everything passes.
    func mend() { state.withLock { ($0.budget, $0.isCut) = ([:], false) } }

    /// Whether the cut has happened.
    var didCut: Bool { state.withLock(\.isCut) }

    private func serve(_ client: Int32) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(target)
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let isOpen = state.withLock { state in
            if !state.isCut && connected { state.open.formUnion([client, server]) }
            return !state.isCut && connected
        }
        guard isOpen else {
            close(client)
            close(server)
            return
        }
        let done = DispatchGroup()
        for (from, to, direction) in [(client, server, Direction.up), (server, client, .down)] {
            done.enter()
            Thread.detachNewThread {
                self.pump(from, to, direction)
                done.leave()
            }
        }
        done.notify(queue: .global()) {
            self.state.withLock { $0.open.subtract([client, server]) }
            close(client)
            close(server)
        }
    }

    private func pump(_ from: Int32, _ to: Int32, _ direction: Direction) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = unsafe read(from, &buffer, buffer.count)
            guard count > 0 else { break }
            let passed = state.withLock { state -> Int in
                guard !state.isCut else { return 0 }
                guard let budget = state.budget[direction] else { return count }
                state.budget[direction] = max(0, budget - count)
                guard budget <= count else { return count }
                state.isCut = true
                for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
                return 0
            }
            guard passed > 0, Self.write(buffer.prefix(passed), to: to) else { break }
        }
        shutdown(from, Int32(SHUT_RDWR))
        shutdown(to, Int32(SHUT_RDWR))
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

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
