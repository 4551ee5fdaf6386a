// A way to a software TPM that breaks at a chosen command, as a device does that is pulled out or suspended.

internal import Foundation
internal import Glibc

/// Sits between tpm2-tss and swtpm on Unix sockets, and closes the connection at one command.
package final class CuttingProxy: @unchecked Sendable {
    // SAFETY: state behind `lock`; the sockets are closed once, in `stop`.
    /// What happens to the command at which the connection ends.
    package enum Manner: Sendable, CaseIterable {
        /// The TPM never sees it.
        case beforeCommand
        /// The TPM carries it out, and its answer is lost.
        case beforeAnswer
    }

    private let directory: TemporaryDirectory
    private let lock = NSLock()
    private var listeners: [Int32] = []
    private var remaining: Int
    private let manner: Manner
    private var hasCut = false

    /// - Parameter commandCount: commands that pass before the cut.
    package init(to tpm: SoftwareTPM, after commandCount: Int, _ manner: Manner) throws {
        directory = try TemporaryDirectory("proxy")
        remaining = commandCount
        self.manner = manner
        for (name, isData) in [("sock", true), ("sock.ctrl", false)] {
            let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            guard listener >= 0, unsafe Self.call(directory.file(name), { unsafe bind(listener, $0, $1) }) == 0,
                listen(listener, 8) == 0
            else { throw CocoaError(.fileWriteUnknown) }
            listeners.append(listener)
            let target = tpm.socketPath + (isData ? "" : ".ctrl")
            Thread.detachNewThread { [weak self] in
                while true {
                    let client = accept(listener, nil, nil)
                    guard client >= 0 else { return }
                    guard let self else {
                        close(client)
                        return
                    }
                    self.serve(client, target, isData: isData)
                }
            }
        }
    }

    deinit { stop() }

    package var transport: String { "swtpm:path=\(directory.file("sock"))" }

    /// Whether the cut happened: the work had as many commands.
    package var didCut: Bool { lock.withLock { hasCut } }

    package func stop() {
        for listener in lock.withLock({
            defer { listeners = [] }; return listeners
        }) {
            // Wakes the thread that waits in accept.
            shutdown(listener, Int32(SHUT_RDWR))
            close(listener)
        }
    }

    private func serve(_ client: Int32, _ target: String, isData: Bool) {
        defer { close(client) }
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(server) }
        guard unsafe Self.call(target, { unsafe connect(server, $0, $1) }) == 0 else { return }
        while let command = isData ? Self.readMessage(client) : Self.readSome(client) {
            let isCut = isData && countDown()
            if isCut, manner == .beforeCommand { return }
            guard Self.write(command, to: server),
                let answer = isData ? Self.readMessage(server) : Self.readSome(server)
            else { return }
            if isCut { return }
            guard Self.write(answer, to: client) else { return }
        }
    }

    private func countDown() -> Bool {
        lock.withLock {
            if remaining == 0 { hasCut = true }
            remaining -= 1
            return hasCut
        }
    }

    /// A TPM command or answer: tag (2), size (4) of the whole, and so on.
    private static func readMessage(_ descriptor: Int32) -> [UInt8]? {
        guard let header = readExactly(6, descriptor) else { return nil }
        let size = header[2...].reduce(0) { $0 << 8 | Int($1) }
        guard size >= 6, let rest = readExactly(size - 6, descriptor) else { return nil }
        return header + rest
    }

    private static func readExactly(_ count: Int, _ descriptor: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let more = readSome(descriptor, count - bytes.count) else { return nil }
            bytes += more
        }
        return bytes
    }

    private static func readSome(_ descriptor: Int32, _ count: Int = 4_096) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: count)
        let got = unsafe read(descriptor, &buffer, count)
        return got > 0 ? Array(buffer.prefix(got)) : nil
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private static func call(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
