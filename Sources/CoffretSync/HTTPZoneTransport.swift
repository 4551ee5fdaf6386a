// Requests of a sync over HTTP. The one thing to keep true: an answer that is not exactly what Spec/server.md says
// is no answer.

package import CoffretBase
package import CoffretHTTP
internal import CoffretStorage
internal import CoffretTrust
internal import CoffretWire

/// The way to one zone of one server.
package protocol LogTransport: AnyObject {
    /// Sends a request and waits for its reply.
    ///
    /// - Parameter page: takes the objects of a list, before the reply.
    /// - Throws: what `page` throws; a server that cannot be reached is a reply.
    func send(_ request: LogRequest, page: (LogPage) throws(SyncError) -> Void) throws(SyncError) -> LogReply
}

extension LogSync {
    /// Syncs to the end.
    ///
    /// - Parameter now: this device's clock.
    package func run(
        through transport: any LogTransport, now: () -> Milliseconds
    ) throws(SyncError) -> LogReport {
        while let request = try next(now: now()) {
            let reply = try transport.send(request) { (page) throws(SyncError) in
                try take(.page(page), now: now())
            }
            try take(reply, now: now())
        }
        return report
    }
}

/// Speaks to one zone of one server with the session of one device. Blocks; one request at a time.
package final class HTTPZoneTransport: LogTransport {
    private static let headByteCountMax = 64 << 10
    private static let listByteCountMax = 24 << 20
    /// Objects that are held before a mark of the stream, or before what came of a fetch is passed on.
    private static let pageByteCountMax = 64 << 20
    private static let fetchedByteCountMax = 8 << 20

    let client: HTTPClient
    private let zonePath: String
    private let devicePath: String
    /// Of the session as it is at that time.
    private let fields: () -> [(name: String, value: String)]
    /// Makes a new session when the server has forgotten the old one; false if that failed.
    let renew: () -> Bool
    /// Asked while a chunk of a file comes, and before each: false lets changes go first. Nil where nothing waits. With it
    /// a busy server is not waited for either.
    package var mayGoOn: (() -> Bool)?
    /// The part that came of the chunk that was interrupted.
    var interrupted: (path: String, bytes: [UInt8])?
    /// Something was put down that no head names yet. A server waits a day for the head before it lets others sweep, and a
    /// session is shorter: within one nothing of it has gone.
    var reliesOnSession = false
    /// Asked before each request and while an answer comes: false ends all as an unreachable server does.
    package var isWanted: () -> Bool = { true }
    /// The last failure, for people.
    package internal(set) var lastError: HTTPError?

    /// - Parameters:
    ///   - zone: the vault's id.
    ///   - device: the id of the session's device.
    ///   - fields: headers that bear the session; asked for at each request.
    ///   - renew: logs in anew; says whether it could.
    package init(
        client: HTTPClient, zone: [UInt8], device: [UInt8], fields: @escaping () -> [(name: String, value: String)],
        renew: @escaping () -> Bool
    ) {
        self.client = client
        zonePath = "/v1/zones/" + Hex.encode(zone)
        devicePath = Hex.encode(device)
        self.fields = fields
        self.renew = renew
    }

    package func send(
        _ request: LogRequest, page: (LogPage) throws(SyncError) -> Void
    ) throws(SyncError) -> LogReply {
        var reply = try attempt(request, page)
        if reply == .refused(code: "server.session.unknown") {
            let isCut = endSession()
            guard renew() else { return reply }
            // Then it begins anew.
            guard !isCut else { return .unreachable }
            reply = try attempt(request, page)
        }
        if case .push(let push) = request, case .pushed = reply { reliesOnSession = push.isStaging }
        return reply
    }

    /// - Returns: whether something was put down in the session that has ended.
    func endSession() -> Bool {
        defer { reliesOnSession = false }
        return reliesOnSession
    }

    /// A request below the zone, for files.
    func request(_ method: String, _ path: String, body: [UInt8]?, type: String) -> HTTPRequest {
        make(method, zonePath + path, body, type: type)
    }

    private func attempt(
        _ request: LogRequest, _ page: (LogPage) throws(SyncError) -> Void
    ) throws(SyncError) -> LogReply {
        guard isWanted() else { return .unreachable }
        switch request {
        case .changes(let since):
            let query = since.isEmpty ? "" : "?since=" + Hex.encode(since)
            return try stream(make("GET", zonePath + "/changes" + query), isList: true, page)
        case .fetch(let addresses):
            let body = ZoneFetch(addresses: addresses.map(\.bytes)).encoded()
            return try stream(make("POST", zonePath + "/fetch", body), isList: false, page)
        default:
            do throws(HTTPError) { return try ask(request) } catch {
                lastError = error
                return .unreachable
            }
        }
    }

    private func ask(_ request: LogRequest) throws(HTTPError) -> LogReply {
        switch request {
        case .chains(let question):
            let response = try send("POST", "/v1/chains/updates", question.encoded(), Self.listByteCountMax)
            return Self.decode(response) { (updates: ChainUpdates) in .chains(updates) }
        case .head:
            let response = try send("GET", zonePath + "/head", nil, Self.headByteCountMax)
            return Self.decode(response) { (head: LogHead) in .head(head) }
        case .push(let push):
            let response = try send("POST", zonePath + "/push", push.encoded(), Self.headByteCountMax)
            if response.status == 412 { return Self.read(response) { (head: LogHead) in .moved(head) } }
            return Self.decode(response) { (receipt: PushReceipt) in .pushed(receipt) }
        case .links(let post):
            let response = try send("POST", "/v1/links", post.encoded(), Self.headByteCountMax)
            switch response.status {
            case 409: return Self.read(response) { (conflict: LinkConflict) in .conflict(conflict) }
            case 412: return Self.read(response) { (moved: LinkHeadMoved) in .moved(moved.state) }
            default: return Self.decode(response) { (receipt: LinkReceipt) in .links(receipt) }
            }
        case .members(let post):
            let response = try send("POST", zonePath + "/members", post.encoded(), Self.headByteCountMax)
            switch response.status {
            case 409: return Self.read(response) { (head: ChainHead) in .conflict(LinkConflict(index: 0, head: head)) }
            case 412: return Self.read(response) { (head: LogHead) in .moved(head) }
            default:
                return Self.decode(response) { (head: ChainHead) in .links(LinkReceipt([head.sequenceNumber])) }
            }
        case .keys:
            let response = try send("GET", zonePath + "/keys", nil, Self.listByteCountMax)
            return Self.decode(response) { (keys: ZoneKeys) in .keys(keys) }
        case .letters(let post):
            let response = try send("POST", zonePath + "/letters", post.encoded(), Self.headByteCountMax)
            return response.status / 100 == 2 ? .acknowledged : Self.refusal(response)
        case .letterOpened(let epoch):
            let response = try send("DELETE", zonePath + "/letter?epoch=\(epoch)", nil, Self.headByteCountMax)
            return response.status / 100 == 2 ? .acknowledged : Self.refusal(response)
        case .collections(let after):
            let query = after.isEmpty ? "" : "?after=" + Hex.encode(after)
            let response = try send("GET", zonePath + "/collections" + query, nil, Self.listByteCountMax)
            return Self.decode(response) { (records: CollectionRecords) in .collections(records) }
        case .sweep(let sweep):
            let response = try send("POST", zonePath + "/sweep", sweep.encoded(), Self.headByteCountMax)
            return Self.decode(response) { (receipt: SweepReceipt) in .swept(receipt) }
        case .acknowledgements:
            let response = try send("GET", zonePath + "/acks", nil, Self.listByteCountMax)
            return Self.decode(response) { (list: Acknowledgements) in .acknowledgements(list.entries) }
        case .acknowledge(let bytes):
            let response = try send(
                "PUT", zonePath + "/acks/" + devicePath, bytes, Self.headByteCountMax, type: "application/octet-stream")
            return response.status / 100 == 2 ? .acknowledged : Self.refusal(response)
        case .changes, .fetch: preconditionFailure("lists are streams")
        }
    }

    private func make(
        _ method: String, _ path: String, _ body: [UInt8]? = nil, type: String = "application/cbor"
    ) -> HTTPRequest {
        var request = HTTPRequest(method, path, body: body)
        request.fields = fields()
        if body != nil { request.fields.append(("Content-Type", type)) }
        return request
    }

    private func send(
        _ method: String, _ path: String, _ body: [UInt8]?, _ byteCountMax: Int, type: String = "application/cbor"
    ) throws(HTTPError) -> HTTPResponse {
        var request = make(method, path, body, type: type)
        request.answerByteCountMax = byteCountMax
        return try client.send(request)
    }

    // MARK: Lists

    /// - Parameter isList: each mark ends a page, with the place behind it; else a page ends where it is large enough.
    private func stream(
        _ request: HTTPRequest, isList: Bool, _ page: (LogPage) throws(SyncError) -> Void
    ) throws(SyncError) -> LogReply {
        var request = request
        // It may take as long as bytes come.
        request.answerByteCountMax = .max
        request.time = nil
        var pages = PageReader(isList: isList, byteCountMax: isList ? Self.pageByteCountMax : Self.fetchedByteCountMax)
        var refused: [UInt8] = []
        var isBroken = false
        var failure: SyncError?
        let result: Result<HTTPResponse, HTTPError> = withoutActuallyEscaping(page) { page in
            Result { () throws(HTTPError) in
                try client.send(request, source: nil) { status, bytes in
                    guard status == 200 else {
                        refused += bytes.prefix(ServerLimits.errorTextByteCountMax * 2)
                        return true
                    }
                    do throws(SyncError) {
                        isBroken = try !pages.take(bytes, page) || !self.isWanted()
                    } catch {
                        failure = error
                    }
                    return !isBroken && failure == nil
                }
            }
        }
        if let failure { throw failure }
        switch result {
        case .failure(let error):
            lastError = error
            return .unreachable
        case .success(let response) where response.status != 200:
            return Self.refusal(response.status, refused)
        case .success: return isBroken || !pages.isComplete ? .unreachable : .end
        }
    }

    /// Pages out of the frames of a stream.
    struct PageReader {
        let isList: Bool
        let byteCountMax: Int
        private var frames = ChangeFrameReader()
        private var objects: [ZoneObject] = []
        private var byteCount = 0
        private var hasEnded = false

        init(isList: Bool, byteCountMax: Int) {
            self.isList = isList
            self.byteCountMax = byteCountMax
        }

        /// Whether the stream may end here.
        var isComplete: Bool { hasEnded && frames.isBetweenFrames }

        /// - Returns: false for what is no stream of a zone.
        mutating func take(_ bytes: [UInt8], _ page: (LogPage) throws(SyncError) -> Void) throws(SyncError)
            -> Bool
        {
            frames.append(bytes)
            while true {
                let next: ChangeFrame?
                do throws(WireError) { next = try frames.next() } catch { return false }
                switch next {
                case nil: return true
                case _ where hasEnded: return false
                case .object(let object, _)?:
                    objects.append(object)
                    byteCount += object.ciphertext.count
                    guard byteCount >= byteCountMax else { continue }
                    guard !isList else { return false }
                    try finish(page, cursor: [], hasMore: true)
                case .mark(_, let cursor, let hasMore)?:
                    hasEnded = !hasMore
                    try finish(page, cursor: isList ? cursor : [], hasMore: hasMore)
                }
            }
        }

        private mutating func finish(
            _ page: (LogPage) throws(SyncError) -> Void, cursor: [UInt8], hasMore: Bool
        ) throws(SyncError) {
            let done = LogPage(objects: objects, cursor: cursor, hasMore: hasMore)
            (objects, byteCount) = ([], 0)
            try page(done)
        }
    }

    // MARK: Answers

    private static func decode<Message: ServerMessage>(
        _ response: HTTPResponse, _ reply: (Message) -> LogReply
    ) -> LogReply {
        response.status == 200 ? read(response, reply) : refusal(response)
    }

    private static func read<Message: ServerMessage>(
        _ response: HTTPResponse, _ reply: (Message) -> LogReply
    ) -> LogReply {
        (try? Message(decoding: response.body)).map(reply) ?? .unreachable
    }

    private static func refusal(_ response: HTTPResponse) -> LogReply { refusal(response.status, response.body) }

    static func refusal(_ status: Int, _ body: [UInt8]) -> LogReply {
        if let failure = try? ServerRefusal(decoding: body) { return .refused(code: failure.code) }
        return status >= 500 ? .unreachable : .refused(code: "HTTP \(status)")
    }
}
