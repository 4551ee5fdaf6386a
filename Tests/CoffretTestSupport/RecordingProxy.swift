// A way to a TCP server that keeps a copy of all that passes. The one thing to keep true: bytes are recorded before
// they are passed on, so what the other side acted on is in the record.

internal import Foundation
internal import Glibc

/// Listens on a free port of the loopback and passes everything to another.
package final class RecordingProxy: @unchecked Sendable {
    // SAFETY: state behind `lock`; descriptors of a connection belong to its two threads.
    package let port: UInt16
    private let target: UInt16
    private let listener: Int32
    private let lock = NSLock()
    private var recorded: [UInt8] = []
    private var openCount = 0

    package init(to target: UInt16) throws {
        self.target = target
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
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

    /// All that has passed so far, both ways.
    package var bytes: [UInt8] { lock.withLock { recorded } }

    /// The same once every connection has ended: what a program said last may be on its way when it is gone.
    package func bytesWhenQuiet(timeoutSeconds: Double = 30) throws -> [UInt8] {
        let deadline = Date(timeIntervalSinceNow: timeoutSeconds)
        while Date() < deadline {
            if let bytes = lock.withLock({ openCount == 0 ? recorded : nil }) { return bytes }
            usleep(5_000)
        }
        throw CocoaError(.fileReadUnknown)
    }

    private func serve(_ client: Int32) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = Self.loopback(target)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard unsafe Self.call(&address, { unsafe connect(server, $0, length) }) == 0 else {
            close(client)
            close(server)
            return
        }
        lock.withLock { openCount += 1 }
        let ends = DispatchGroup()
        for (from, to) in [(client, server), (server, client)] {
            ends.enter()
            Thread.detachNewThread { [weak self] in
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while true {
                    let count = unsafe recv(from, &buffer, buffer.count, 0)
                    guard count > 0 else { break }
                    self?.lock.withLock { self?.recorded += buffer[..<count] }
                    guard unsafe send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
                }
                shutdown(to, Int32(SHUT_WR))
                ends.leave()
            }
        }
        ends.notify(queue: .global()) { [weak self] in
            close(client)
            close(server)
            self?.lock.withLock { self?.openCount -= 1 }
        }
    }

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
