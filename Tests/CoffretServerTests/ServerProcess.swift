// The real server as a process, and a plain HTTP client for it. The one thing to keep true: no test waits for ever,
// and no server outlives its test.

import CoffretBase
import CoffretNet
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

/// A `coffret-server serve` on a free port.
final class ServerProcess {
    let port: UInt16
    /// As it said when it began.
    let fingerprint: String
    /// How many it takes, as it said when it began.
    let connectionCountMax: String
    private let process: SpawnedProcess
    private let lines = LogBox()
    /// Its data, which goes when nobody holds it: the caller may have no other use for it.
    private let folder: TemporaryDirectory?

    /// Beside the tests, or what `Scripts/sanitize` built.
    static let executable: String = {
        if let named = ProcessInfo.processInfo.environment["COFFRET_TEST_SERVER"] { return named }
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        for path in [bundle] + CommandLine.arguments.filter({ $0.contains("PackageTests") }) {
            let beside = URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent("coffret-server")
            if FileManager.default.isExecutableFile(atPath: beside.path) { return beside.path }
        }
        return "coffret-server"
    }()

    @discardableResult
    static func run(_ arguments: String...) throws -> ProcessResult {
        try ProcessRunner.run(executable, arguments, timeoutSeconds: 60)
    }

    /// - Parameter launcher: a program with arguments that becomes the server, whose path and arguments come behind.
    init(_ arguments: [String], in folder: TemporaryDirectory? = nil, launcher: [String] = []) throws {
        self.folder = folder
        let words = launcher + [Self.executable, "serve", "--listen", "127.0.0.1:0"] + arguments
        let process = try SpawnedProcess(words[0], Array(words.dropFirst()), error: .pipe)
        self.process = process
        var text = ""
        while !text.contains("\n") {
            let bytes = process.readError()
            guard !bytes.isEmpty else { break }
            text += String(decoding: bytes, as: UTF8.self)
        }
        let line = Data(text.split(separator: "\n").first.map { Array($0.utf8) } ?? [])
        let fields = (try? JSONSerialization.jsonObject(with: line)) as? [String: Any]
        guard let port = (fields?["port"] as? String).flatMap(UInt16.init) else {
            throw ClientFailure(text: "the server said: \(text)")
        }
        self.port = port
        fingerprint = fields?["fingerprint"] as? String ?? ""
        connectionCountMax = fields?["connections"] as? String ?? ""
        // What it writes later is read, so that it never waits for us.
        let thread = Thread { [lines] in
            while case let bytes = process.readError(), !bytes.isEmpty { lines.add(bytes) }
            lines.end()
        }
        thread.stackSize = 1 << 18
        thread.start()
    }

    var processID: Int32 { process.processID }

    /// Ends it as an operator does, and waits.
    func stop() -> Int32 { process.kill(SIGTERM).code }

    /// What it wrote after its first line, once it has ended.
    func log() throws -> String { try lines.text() }

    func killAtOnce() { process.kill() }

    deinit { killAtOnce() }
}

/// What a server writes, from the thread that reads it.
private final class LogBox: @unchecked Sendable {
    // SAFETY: guarded by the lock.
    private let lock = NSLock()
    private var bytes: [UInt8] = []
    private var isWhole = false

    func add(_ more: [UInt8]) { lock.withLock { bytes += more } }
    func end() { lock.withLock { isWhole = true } }

    func text() throws -> String {
        try Waiting.until("the log is whole") { lock.withLock { isWhole } }
        return lock.withLock { String(decoding: bytes, as: UTF8.self) }
    }
}

struct ClientFailure: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}

/// A connection to a server.
final class ClientSocket {
    let descriptor: Int32

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw ClientFailure(text: "no connection: errno \(errno)") }
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) throws {
        var offset = 0
        while offset < bytes.count {
            let sent = unsafe bytes.withUnsafeBytes {
                unsafe send(descriptor, $0.baseAddress! + offset, $0.count - offset, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { throw ClientFailure(text: "not sent: errno \(errno)") }
            offset += sent
        }
    }

    /// What has come; empty at the end.
    func read() throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { throw ClientFailure(text: "not read: errno \(errno)") }
        return Array(bytes.prefix(count))
    }

    /// Whether something has come, or the end.
    var hasNews: Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&polled, 1, 0) > 0
    }
}

struct ClientResponse {
    let status: Int
    let head: HTTPHead
    let body: [UInt8]

    var code: String { (try? ServerRefusal(decoding: body))?.code ?? "" }
}

/// Requests of one device.
// SAFETY: its token is set before another thread has it.
final class ServerClient: @unchecked Sendable {
    let port: UInt16
    let account: TestAccount
    let device: TestDevice
    private(set) var token = ""

    init(port: UInt16, account: TestAccount, device: TestDevice? = nil) {
        self.port = port
        self.account = account
        self.device = device ?? account.device
    }

    /// One request on a connection of its own.
    func send(
        _ method: String, _ path: String, _ body: [UInt8] = [], fields: [(name: String, value: String)] = []
    ) throws -> ClientResponse {
        let socket = try ClientSocket(port: port)
        var all: [(name: String, value: String)] = [("Host", "localhost"), ("Connection", "close")] + fields
        if !token.isEmpty { all.append(("Authorization", "Bearer \(token)")) }
        if !body.isEmpty || method == "POST" || method == "PUT" { all.append(("Content-Length", "\(body.count)")) }
        try socket.write(HTTPHead(startLine: "\(method) \(path) HTTP/1.1", fields: all).encoded)
        // A server that refuses closes before the body is out.
        try? socket.write(body)
        return try Self.response(socket)
    }

    /// Sends a link of the account's device chain.
    func append(_ link: [UInt8]) throws -> ClientResponse {
        try send("POST", "/v1/chains/device/\(Hex.encode(account.id))", ChainAppend(link: link).encoded())
    }

    /// Adds another device to the account, and logs it in.
    func adding(_ other: TestDevice) throws -> ServerClient {
        let link = account.adding(other)
        #expect(try append(link).status == 200)
        try account.follow(link)
        let client = ServerClient(port: port, account: account, device: other)
        #expect(try client.login().status == 200)
        return client
    }

    static func response(_ socket: ClientSocket) throws -> ClientResponse {
        var bytes: [UInt8] = []
        while true {
            let more = (try? socket.read()) ?? []
            if more.isEmpty { break }
            bytes += more
        }
        guard case .head(let head, let byteCount) = HTTPHead.parse(bytes),
            let status = Int(head.startLine.split(separator: " ").dropFirst().first ?? "")
        else { throw ClientFailure(text: "no answer: \(bytes.count) bytes") }
        var body = Array(bytes[byteCount...])
        if head.has("chunked", in: "transfer-encoding") { body = try unchunked(body) }
        return ClientResponse(status: status, head: head, body: body)
    }

    private static func unchunked(_ bytes: [UInt8]) throws -> [UInt8] {
        var (result, rest): ([UInt8], ArraySlice<UInt8>) = ([], bytes[...])
        while true {
            guard let end = rest.firstIndex(of: 13),
                let count = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16),
                rest.count >= end - rest.startIndex + 4 + count
            else { throw ClientFailure(text: "a broken chunk") }
            if count == 0 { return result }
            result += rest[(end + 2)..<(end + 2 + count)]
            rest = rest[(end + 4 + count)...]
        }
    }

    func register(invitation: [UInt8] = []) throws -> ClientResponse {
        try send("POST", "/v1/accounts", AccountRegistration(link: account.firstLink, invitation: invitation).encoded())
    }

    @discardableResult
    func login() throws -> ClientResponse {
        let request = LoginChallengeRequest(
            accountID: account.id, deviceID: device.id, clientNonce: SystemRandomSource().bytes(count: 32))
        token = ""
        let challenge = try LoginChallenge(decoding: try send("POST", "/v1/login/challenge", request.encoded()).body)
        let proof = LoginProof(
            serverName: challenge.serverName, fingerprint: LoginProof.noFingerprint, accountID: account.chain.accountID,
            deviceID: device.id, serverNonce: challenge.serverNonce, clientNonce: request.clientNonce,
            expiry: challenge.expiry)
        let answer = try send(
            "POST", "/v1/login",
            LoginRequest(challenge: challenge, request: request, signature: proof.sign(with: device.signing)).encoded())
        if answer.status == 200 { token = Hex.encode(try LoginSession(decoding: answer.body).token) }
        return answer
    }

    func push(_ zone: String, from head: [UInt8]?, to next: [UInt8]?, _ objects: [ZoneObject]) throws -> ClientResponse
    {
        try send(
            "POST", "/v1/zones/\(zone)/push",
            ZonePush(expectedHead: head, newHead: next, epoch: 1, objects: objects)
                .signed(for: try Hex.decode(zone), by: device.signing).encoded())
    }

    func deleteZone(_ zone: String) throws -> ClientResponse {
        let signature = ZoneProof.deletion(accountID: account.id)
            .sign(zone: try Hex.decode(zone), with: device.signing)
        return try send("POST", "/v1/zones/\(zone)/delete", ZoneDeletion(signature: signature).encoded())
    }

    /// Says that this device has seen what lies in a zone.
    func acknowledge(_ zone: String) throws {
        #expect(try send("PUT", "/v1/zones/\(zone)/acks/\(device.id.hex)", [1]).status == 204)
    }

    static func objects(_ frames: [ChangeFrame]) -> [ZoneObject] {
        frames.compactMap { (frame: ChangeFrame) -> ZoneObject? in
            if case .object(let object, _) = frame { return object }
            return nil
        }
    }

    /// All frames of a stream.
    static func frames(_ bytes: [UInt8]) throws -> [ChangeFrame] {
        var reader = ChangeFrameReader()
        reader.append(bytes)
        var frames: [ChangeFrame] = []
        while let frame = try reader.next() { frames.append(frame) }
        guard reader.isBetweenFrames else { throw ClientFailure(text: "the stream broke off") }
        return frames
    }
}

/// A WebSocket to the server.
final class ClientWebSocket {
    private let socket: ClientSocket
    private var machine = WebSocketMachine(role: .client, messageByteCountMax: 1 << 20, random: SystemRandomSource())
    private var events: [WebSocketMachine.Event] = []

    /// - Throws: `WebSocketRefusal`.
    init(port: UInt16, path: String, token: String = "") throws {
        socket = try ClientSocket(port: port)
        var handshake = WebSocketClientHandshake(
            host: "localhost", path: path, fields: token.isEmpty ? [] : [("Authorization", "Bearer \(token)")],
            random: SystemRandomSource())
        try socket.write(handshake.request)
        var early: [UInt8]?
        while early == nil {
            let bytes = try socket.read()
            guard !bytes.isEmpty else { throw WebSocketRefusal.malformed }
            early = try handshake.receive(bytes)
        }
        events = machine.receive(early ?? [])
    }

    func send(_ payload: WebSocketPayload) throws {
        machine.send(payload)
        try socket.write(machine.takeOutput())
    }

    /// Waits until the server has taken the connection over: from then on no event passes it by.
    func awaitAnswer() throws {
        machine.ping()
        try socket.write(machine.takeOutput())
        while !events.contains(where: \.isPong) {
            let bytes = try socket.read()
            guard !bytes.isEmpty else { throw ClientFailure(text: "the server closed the socket") }
            events += machine.receive(bytes)
        }
        events.removeAll(where: \.isPong)
    }

    func close() throws {
        machine.close(code: WebSocketCloseCode.normal)
        try socket.write(machine.takeOutput())
    }

    func next() throws -> WebSocketMachine.Event {
        while events.isEmpty {
            let bytes = try socket.read()
            guard !bytes.isEmpty else { throw ClientFailure(text: "the server closed the socket") }
            events += machine.receive(bytes)
        }
        return events.removeFirst()
    }
}

extension WebSocketMachine.Event {
    fileprivate var isPong: Bool {
        if case .pong = self { true } else { false }
    }
}

extension ClientWebSocket {
    /// A device that listens, and misses nothing from now on.
    static func events(port: UInt16, token: String) throws -> ClientWebSocket {
        let socket = try ClientWebSocket(port: port, path: "/v1/events", token: token)
        try socket.awaitAnswer()
        return socket
    }

    /// Waits for an event; others may come before: two servers pass them on some time behind what they tell of.
    func hear(_ event: ServerEvent) throws {
        while true {
            if case .message(.binary(let bytes)) = try next(), try ServerEvent(decoding: bytes) == event { return }
        }
    }
}
