// Our WebSocket ends against Python's `websockets`, in both roles, over Unix sockets.

import CoffretBase
import CoffretNet
import CoffretTestSupport
import Foundation
import Testing

@Suite("WebSocket with Python's websockets")
struct WebSocketPeerTests {
    static let python = SharedData.packageRoot.appendingPathComponent(".build/venv/bin/python").path
    static let script = SharedData.packageRoot.appendingPathComponent("Tests/Interop/websocket_peer.py").path
    static let hasPeer =
        FileManager.default.isExecutableFile(atPath: python)
        && (try? ProcessRunner.run(python, ["-c", "import websockets.sync.server"]))?.exitCode == 0

    /// A connected stream socket, closed with the object.
    final class Stream {
        let descriptor: Int32

        init(_ descriptor: Int32) {
            self.descriptor = descriptor
            // A test that waits for ever tells nothing.
            var limit = timeval(tv_sec: 20, tv_usec: 0)
            unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }

        deinit { close(descriptor) }

        static func connect(path: String) throws -> Stream {
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
            let status = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(status == 0)
            return Stream(descriptor)
        }

        func write(_ bytes: [UInt8]) throws {
            var offset = 0
            while offset < bytes.count {
                let sent = unsafe bytes.withUnsafeBytes {
                    unsafe send(descriptor, $0.baseAddress! + offset, $0.count - offset, Int32(MSG_NOSIGNAL))
                }
                guard sent > 0 else { throw CancellationError() }
                offset += sent
            }
        }

        /// What has come; empty at the end.
        func read() throws -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 60_000)
            let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
            try #require(count >= 0)
            return Array(bytes.prefix(count))
        }
    }

    static func nextEvent(_ machine: inout WebSocketMachine, _ stream: Stream) throws -> WebSocketMachine.Event {
        while true {
            let bytes = try stream.read()
            try #require(!bytes.isEmpty, "the peer went away")
            let events = machine.receive(bytes)
            let output = machine.takeOutput()
            if !output.isEmpty { try stream.write(output) }
            if let event = events.first { return event }
        }
    }

    @Test("our client talks to their server", .enabled(if: hasPeer, "needs Python's websockets in .build/venv"))
    func client() throws {
        let folder = try TemporaryDirectory("websocket")
        let process = try SpawnedProcess(
            Self.python, [Self.script, "serve", folder.file("s")], input: .pipe, output: .pipe, error: .inherited)
        defer { process.finish() }
        #expect(process.readOutputLine() == "ready")

        let stream = try Stream.connect(path: folder.file("s"))
        var handshake = WebSocketClientHandshake(host: "localhost", path: "/x", random: SystemRandomSource())
        try stream.write(handshake.request)
        var rest: [UInt8]?
        while rest == nil { rest = try handshake.receive(try stream.read()) }
        var machine = WebSocketMachine(role: .client, messageByteCountMax: 4 << 20, random: SystemRandomSource())
        #expect(machine.receive(try #require(rest)) == [])
        for byteCount in [0, 1, 125, 126, 65_535, 65_536, 1 << 20] {
            let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            machine.send(.binary(bytes))
            try stream.write(machine.takeOutput())
            #expect(try Self.nextEvent(&machine, stream) == .message(.binary(bytes)))
        }
        for (text, answer) in [("κόσμε", "κόσμε"), ("ping", "pong"), ("pieces", "pieces")] {
            machine.send(.text(text))
            try stream.write(machine.takeOutput())
            #expect(try Self.nextEvent(&machine, stream) == .message(.text(answer)))
        }
        machine.ping([1, 2, 3])
        try stream.write(machine.takeOutput())
        #expect(try Self.nextEvent(&machine, stream) == .pong([1, 2, 3]))
        machine.send(.text("close"))
        try stream.write(machine.takeOutput())
        #expect(try Self.nextEvent(&machine, stream) == .closed(code: 4001, reason: "as asked"))
        #expect(machine.isClosed)
    }

    @Test("their client talks to our server", .enabled(if: hasPeer, "needs Python's websockets in .build/venv"))
    func server() throws {
        let folder = try TemporaryDirectory("websocket")
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) {
            unsafe $0.copyBytes(from: Array(folder.file("s").utf8))
        }
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0 && listen(listener, 1) == 0)
        let driver = try SpawnedProcess(
            Self.python, [Self.script, "drive", folder.file("s")], output: .pipe, error: .inherited)
        let outcome = try Self.echo(Stream(accept(listener, nil, nil)))
        #expect(outcome == .closed(code: 3001, reason: "enough"))
        driver.wait()
        #expect(driver.readOutputLine() == "closed 3001")
    }

    /// Echoes until the peer closes.
    static func echo(_ stream: Stream) throws -> WebSocketMachine.Event {
        var request: [UInt8] = []
        var parsed = HTTPHead.Parsed.needsMore
        while parsed == .needsMore {
            request += try stream.read()
            parsed = HTTPHead.parse(request)
        }
        guard case .head(let head, let byteCount) = parsed else { throw CancellationError() }
        let fields = try WebSocketServerHandshake.answer(head)
        try stream.write(HTTPHead(startLine: "HTTP/1.1 101 Switching Protocols", fields: fields).encoded)
        var machine = WebSocketMachine(role: .server, messageByteCountMax: 4 << 20, random: SystemRandomSource())
        var pending = machine.receive(Array(request[byteCount...]))
        while true {
            for event in pending {
                if case .message(let payload) = event {
                    machine.send(payload)
                } else {
                    try stream.write(machine.takeOutput())
                    return event
                }
            }
            let output = machine.takeOutput()
            if !output.isEmpty { try stream.write(output) }
            pending = machine.receive(try stream.read())
        }
    }
}
