// The engine's requests over HTTP. The one thing to keep true: an answer that is not exactly what Spec/server.md says
// is no answer.

internal import CoffretBase
package import CoffretCrypto
package import CoffretHTTP
internal import CoffretStorage
internal import CoffretTrust
package import CoffretWire

/// Speaks to one zone of one server with the session of one device. Blocks; one request at a time.
package final class HTTPZoneTransport: SyncTransport {
    let client: HTTPClient
    private let zonePath: String
    private let devicePath: String
    /// Of the session as it is at that time.
    private let fields: () -> [(name: String, value: String)]
    private let zone: [UInt8]
    private let signingKey: SigningKey
    /// Makes a new session when the server has forgotten the old one; false if that failed.
    let renew: () -> Bool
    /// Asked while a chunk of a file comes, and before each: false lets changes go first. Nil where nothing waits. With it
    /// a busy server is not waited for either.
    package var mayGoOn: (() -> Bool)?
    /// Asked before each request and while an answer comes: false ends all as an unreachable server does.
    package var isWanted: () -> Bool = { true }
    /// What came of the chunk that was interrupted.
    var interrupted: (path: String, bytes: [UInt8])?
    /// What the last failure was, for people.
    package internal(set) var lastError: HTTPError?
    /// Something was put down that no head names yet. A server waits a day for the head before it lets others sweep, and a
    /// session is shorter: within one nothing of it has gone.
    var reliesOnSession = false

    private static let headByteCountMax = 4 << 10
    private static let listByteCountMax = 24 << 20
    /// A stream may take as long as bytes come.
    private static let streamByteCountMax = Int.max

    /// - Parameters:
    ///   - signingKey: the device's, for what a session alone may not.
    ///   - fields: headers that bear the session; asked for at each request.
    ///   - renew: logs in anew; says whether it could.
    package init(
        client: HTTPClient, zone: [UInt8], device: [UInt8], signingKey: SigningKey,
        fields: @escaping () -> [(name: String, value: String)], renew: @escaping () -> Bool
    ) {
        self.zone = zone
        self.signingKey = signingKey
        self.client = client
        zonePath = "/v1/zones/" + Hex.encode(zone)
        devicePath = Hex.encode(device)
        self.fields = fields
        self.renew = renew
    }

    package func send(_ request: ServerRequest, frame: (ChangeFrame) throws -> Void) -> ServerReply {
        var reply = attempt(request, frame: frame)
        if reply == .refused(code: "server.session.unknown") {
            let isCut = endSession()
            guard renew() else { return reply }
            // Then it begins anew.
            guard !isCut else { return .unreachable }
            reply = attempt(request, frame: frame)
        }
        if case .push(let push) = request, case .pushed = reply { reliesOnSession = push.isStaging }
        return reply
    }

    /// - Returns: whether something was put down in the session that has ended.
    func endSession() -> Bool {
        defer { reliesOnSession = false }
        return reliesOnSession
    }

    private func attempt(_ request: ServerRequest, frame: (ChangeFrame) throws -> Void) -> ServerReply {
        guard isWanted() else { return .unreachable }
        do throws(HTTPError) {
            switch request {
            case .head:
                let response = try ask("GET", "/head", byteCountMax: Self.headByteCountMax)
                return decode(response) { (head: ZoneHead) in .head(head) }
            case .changes(let since):
                let query = since.isEmpty ? "" : "?since=" + Hex.encode(since)
                return try stream("GET", "/changes" + query, body: nil, frame)
            case .fetch(let addresses):
                let body = ZoneFetch(addresses: addresses.map(\.bytes)).encoded()
                return try stream("POST", "/fetch", body: body, frame)
            case .push(var push):
                let proof = ZoneProof.push(
                    expectedHead: push.expectedHead, newHead: push.newHead, epoch: push.epoch)
                push.signature = proof.sign(zone: zone, with: signingKey)
                let response = try ask("POST", "/push", body: push.encoded(), byteCountMax: Self.headByteCountMax)
                if response.status == 412 {
                    guard let head = try? ZoneHead(decoding: response.body) else { return .unreachable }
                    return .headMoved(head)
                }
                return decode(response) { (receipt: PushReceipt) in .pushed(receipt) }
            case .acknowledge(let bytes):
                let response = try ask(
                    "PUT", "/acks/" + devicePath, body: bytes, type: "application/octet-stream",
                    byteCountMax: Self.headByteCountMax)
                return response.status / 100 == 2 ? .acknowledged : refusal(response)
            case .acknowledgements:
                let response = try ask("GET", "/acks", byteCountMax: Self.listByteCountMax)
                return decode(response) { (list: Acknowledgements) in
                    .acknowledgements(list.entries)
                }
            }
        } catch {
            lastError = error
            return .unreachable
        }
    }

    func request(_ method: String, _ path: String, body: [UInt8]?, type: String) -> HTTPRequest {
        var request = HTTPRequest(method, zonePath + path, body: body)
        request.fields = fields()
        if body != nil { request.fields.append(("Content-Type", type)) }
        return request
    }

    private func ask(
        _ method: String, _ path: String, body: [UInt8]? = nil, type: String = "application/cbor", byteCountMax: Int
    ) throws(HTTPError) -> HTTPResponse {
        var request = request(method, path, body: body, type: type)
        request.answerByteCountMax = byteCountMax
        return try client.send(request)
    }

    private func stream(
        _ method: String, _ path: String, body: [UInt8]?, _ frame: (ChangeFrame) throws -> Void
    ) throws(HTTPError) -> ServerReply {
        var request = request(method, path, body: body, type: "application/cbor")
        request.answerByteCountMax = Self.streamByteCountMax
        request.time = nil
        var reader = ChangeFrameReader()
        var refused: [UInt8] = []
        var isBroken = false
        let response = try withoutActuallyEscaping(frame) { (frame) throws(HTTPError) in
            try client.send(request, source: nil) { status, bytes in
                guard status == 200 else {
                    refused += bytes.prefix(ServerLimits.errorTextByteCountMax * 2)
                    return true
                }
                do {
                    reader.append(bytes)
                    while let next = try reader.next() { try frame(next) }
                    isBroken = !self.isWanted()
                    return !isBroken
                } catch {
                    isBroken = true
                    return false
                }
            }
        }
        guard response.status == 200 else { return refusal(status: response.status, body: refused) }
        return !isBroken && reader.isBetweenFrames ? .streamEnd : .unreachable
    }

    private func decode<Message: ServerMessage>(
        _ response: HTTPResponse, _ reply: (Message) -> ServerReply
    ) -> ServerReply {
        guard response.status == 200 else { return refusal(response) }
        guard let message = try? Message(decoding: response.body) else { return .unreachable }
        return reply(message)
    }

    private func refusal(_ response: HTTPResponse) -> ServerReply {
        refusal(status: response.status, body: response.body)
    }

    func refusal(status: Int, body: [UInt8]) -> ServerReply {
        if let failure = try? ServerRefusal(decoding: body) { return .refused(code: failure.code) }
        return status >= 500 ? .unreachable : .refused(code: "HTTP \(status)")
    }
}
