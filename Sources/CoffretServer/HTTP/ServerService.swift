// Answers of several steps, which the table of routes asks for. The one thing to keep true: every question to the store
// names the session's account.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
internal import CoffretWire
internal import Synchronization

/// Answers requests from the store.
final class ServerService: Sendable {
    let store: ServerStore
    let configuration: ServerConfiguration
    let rooms: RelayRooms
    let metricsText: @Sendable () -> String
    /// Looking for accounts by their addresses: 10 a minute.
    private let addressQuestions = RateLimiter(RateLimiter.Rate(burst: 10, perSecond: 1 / 6))
    /// Of the certificate that devices see now.
    private let fingerprint: Mutex<[UInt8]>

    init(
        store: ServerStore, configuration: ServerConfiguration, rooms: RelayRooms,
        metricsText: @escaping @Sendable () -> String
    ) {
        self.store = store
        self.configuration = configuration
        self.rooms = rooms
        self.metricsText = metricsText
        fingerprint = Mutex(configuration.fingerprint)
    }

    func renew(fingerprint next: [UInt8]) { fingerprint.withLock { $0 = next } }

    var certificateFingerprint: [UInt8] { fingerprint.withLock { $0 } }

    /// Opens a relay id, and tells the named account's devices, or one of them, that somebody waits there.
    ///
    /// Whoever asks is not told whether there is such an account or device, or whether it heard of him.
    func openRelay(for name: String?, device: String?) throws -> ServerResponse {
        let prefix = try Self.identifier(name, byteCount: ServerLimits.accountNameByteCount, "account")
        let deviceID = try Self.identifier(device, byteCount: UniqueID.byteCount, "device").map { UniqueID(bytes: $0) }
        guard prefix != nil || deviceID == nil else { throw ServerFailure(.malformed, "account") }
        let id = try rooms.open()
        do {
            if let prefix, let accountID = try store.account(named: prefix), let relayID = UniqueID(bytes: id) {
                if let deviceID {
                    if let deviceID, rooms.asks.admits(accountID + deviceID.bytes) {
                        try store.announceAsk(relayID, to: deviceID, of: accountID)
                    }
                } else if rooms.board.admits(accountID) {
                    try store.announcePairing(relayID, to: accountID)
                }
            }
        } catch {
            // Nobody will ever join it.
            rooms.close(id)
            throw error
        }
        return ServerResponse(101, .webSocket(.relayCreator(id: id)))
    }

    /// The account that an address means. Whoever tries many waits.
    func account(_ request: ServerRequest, for owner: SessionOwner) throws -> ServerResponse {
        let texts = [request.query("address"), request.query("short")]
        let counts = [ServerLimits.addressPrefixByteCount, ServerLimits.shortAddressByteCount]
        guard let place = texts.firstIndex(where: { $0 != nil }), texts.count(where: { $0 != nil }) == 1,
            let text = texts[place], let bytes = try? Hex.decode(text), bytes.count == counts[place],
            text == Hex.encode(bytes)
        else { throw ServerFailure(.malformed, "an address") }
        let now = Monotonic.nanoseconds
        let wait = addressQuestions.bucket(owner.accountID, now: now).take(addressQuestions.rate, now: now)
        guard wait == 0 else { return ServerResponse(ServerFailure(.rateExceeded), retryAfterSeconds: wait) }
        let bitCount = place == 0 ? ServerLimits.addressBitCount : 8 * ServerLimits.shortAddressByteCount
        return ServerResponse(200, try store.account(bytes, bitCount: bitCount))
    }

    /// The page of one-time requests, where the operator switched it on. Its other rules stand in the page itself.
    func askPage() throws -> ServerResponse {
        guard configuration.servesAskPage else { throw ServerFailure(.unknownRoute) }
        var response = ServerResponse(200, .page(AskPage.content))
        response.fields = [
            ("Content-Security-Policy", "frame-ancestors 'none'"), ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
        ]
        return response
    }

    /// Hexadecimal digits of the query; nil if they are missing.
    private static func identifier(_ digits: String?, byteCount: Int, _ name: String) throws -> [UInt8]? {
        guard let digits else { return nil }
        guard let bytes = try? Hex.decode(digits), bytes.count == byteCount, digits == Hex.encode(bytes) else {
            throw ServerFailure(.malformed, name)
        }
        return bytes
    }

    // MARK: Zones

    func push(_ request: ServerRequest, by owner: SessionOwner) throws -> ServerResponse {
        let push = try request.message(ZonePush.self)
        guard push.objects.allSatisfy({ $0.ciphertext.count >= ServerLimits.objectByteCountMin }) else {
            throw ServerFailure(.malformed, "an object shorter than any sealed one")
        }
        return switch try store.push(push, to: request.id, by: owner) {
        case .accepted(let receipt): ServerResponse(200, receipt)
        case .moved(let head): ServerResponse(412, head)
        }
    }

    func head(_ request: ServerRequest, for owner: SessionOwner) throws -> ServerResponse {
        let head = try store.head(request.id, for: owner)
        // The position changes with everything that is stored, the head with it.
        let tag = "\"\(Hex.encode(head.cursor))-\(head.people)\""
        var response = request.header("If-None-Match") == tag ? ServerResponse(304) : ServerResponse(200, head)
        response.fields.append(("ETag", tag))
        return response
    }

    func stored(_ kind: StoredKind, _ request: ServerRequest, for owner: SessionOwner) throws -> ServerResponse {
        let after = try request.cursor("after")
        return ServerResponse(200, try store.storedAddresses(kind, after: after, in: request.id, for: owner))
    }

    func changes(_ request: ServerRequest, for owner: SessionOwner) throws -> ServerResponse {
        let since = try request.cursor("since")
        let limit = try request.number("limit", max: .max)
        let (store, id) = (store, request.id)
        var cursor: [UInt8]? = since
        var byteCount: Int64 = 0
        // The first batch is read now, so that a refusal still has its status.
        var first: ChangeBatch? = try store.changes(in: id, since: since, for: owner)
        return ServerResponse(
            200,
            .stream(
                ByteStream {
                    guard let from = cursor else { return nil }
                    let batch: ChangeBatch
                    if let ready = first {
                        batch = ready
                        first = nil
                    } else {
                        batch = try store.changes(in: id, since: from, for: owner)
                    }
                    let bytes = Self.frames(batch)
                    byteCount += Int64(bytes.count)
                    cursor = batch.isLast || byteCount >= limit ?? .max ? nil : batch.cursor
                    return bytes
                }))
    }

    func fetch(_ request: ServerRequest, for owner: SessionOwner) throws -> ServerResponse {
        let (store, id, addresses) = (store, request.id, try request.message(ZoneFetch.self).addresses)
        var place: ServerStore.FetchPlace? = ServerStore.FetchPlace()
        // The first batch is read now, so that a refusal still has its status.
        var first: (batch: ChangeBatch, next: ServerStore.FetchPlace?)? = try store.objects(
            at: addresses, in: id, for: owner)
        return ServerResponse(
            200,
            .stream(
                ByteStream {
                    guard let from = place else { return nil }
                    let found: (batch: ChangeBatch, next: ServerStore.FetchPlace?)
                    if let ready = first {
                        found = ready
                        first = nil
                    } else {
                        found = try store.objects(at: addresses, from: from, in: id, for: owner)
                    }
                    place = found.next
                    return Self.frames(found.batch, marking: found.next == nil)
                }))
    }

    static func frames(_ batch: ChangeBatch, marking: Bool = true) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(batch.objects.reduce(256) { $0 + $1.object.ciphertext.count + 96 })
        for (object, uploader) in batch.objects { bytes += ChangeFrame.object(object, uploader: uploader).framed() }
        if marking {
            bytes += ChangeFrame.mark(head: batch.head, cursor: batch.cursor, hasMore: !batch.isLast).framed()
        }
        return bytes
    }

    // MARK: Chunks

    func putChunk(_ request: ServerRequest, by owner: SessionOwner) throws -> ServerResponse {
        var part = (first: 0, total: request.body.count)
        if let text = request.header("Content-Range") {
            guard let range = ByteRange.content(text), range.last - range.first + 1 == request.body.count,
                range.total <= ServerLimits.chunkByteCountMax
            else { throw ServerFailure(.malformed, "content-range") }
            guard range.last + 1 == range.total || request.body.count >= ServerLimits.partByteCountMin else {
                throw ServerFailure(.malformed, "a part that is too short")
            }
            part = (range.first, range.total)
        }
        guard part.total > 0 else { throw ServerFailure(.malformed, "an empty chunk") }
        let outcome = try store.upload(
            request.body, at: part.first, of: part.total, address: request.path.ids[1], in: request.id, by: owner)
        var response: ServerResponse
        switch outcome {
        case .complete: return ServerResponse(201)
        case .partial(let byteCount):
            response = ServerResponse(202)
            response.fields.append(("Upload-Offset", "\(byteCount)"))
        case .offset(let byteCount):
            response = ServerResponse(ServerFailure(.uploadOffset))
            response.fields.append(("Upload-Offset", "\(byteCount)"))
        }
        return response
    }

    func chunk(_ request: ServerRequest, for owner: SessionOwner) throws -> ServerResponse {
        let (id, address) = (request.id, request.path.ids[1])
        let variant = try request.number("variant", max: 1_000) ?? 0
        let chunk: StoredChunk
        do {
            chunk = try store.chunk(address: address, variant: Int(variant), in: id, for: owner)
        } catch let failure as ServerFailure where failure.code == .objectUnknown {
            var response = ServerResponse(failure)
            let offset = try store.uploadOffset(address: address, in: id, for: owner)
            response.fields.append(("Upload-Offset", "\(offset)"))
            return response
        }
        var response = ServerResponse(200, .octets(chunk.bytes))
        if let text = request.header("Range") {
            guard let range = ByteRange.request(text, byteCount: chunk.bytes.count) else {
                var refusal = ServerResponse(ServerFailure(.rangeInvalid))
                refusal.fields.append(("Content-Range", "bytes */\(chunk.bytes.count)"))
                return refusal
            }
            response = ServerResponse(206, .octets(Array(chunk.bytes[range])))
            response.fields.append(
                ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(chunk.bytes.count)"))
        }
        response.fields += [("Accept-Ranges", "bytes"), ("Coffret-Variants", "\(chunk.variantCount)")]
        return response
    }
}

/// Byte ranges of RFC 9110, section 14: one range at a time.
enum ByteRange {
    /// `bytes FIRST-LAST/TOTAL`.
    static func content(_ text: String) -> (first: Int, last: Int, total: Int)? {
        guard text.hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        let ends = (parts.first ?? "").split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, ends.count == 2, let first = number(ends[0]), let last = number(ends[1]),
            let total = number(parts[1]), first <= last, last < total
        else { return nil }
        return (first, last, total)
    }

    /// `bytes=FIRST-LAST`, `bytes=FIRST-` or `bytes=-COUNT`.
    static func request(_ text: String, byteCount: Int) -> Range<Int>? {
        guard text.hasPrefix("bytes=") else { return nil }
        let ends = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if ends[0].isEmpty {
            guard let count = number(ends[1]), count > 0, byteCount > 0 else { return nil }
            return max(0, byteCount - count)..<byteCount
        }
        guard let first = number(ends[0]), first < byteCount else { return nil }
        if ends[1].isEmpty { return first..<byteCount }
        guard let last = number(ends[1]), last >= first else { return nil }
        return first..<min(last + 1, byteCount)
    }

    private static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.count <= 15, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(text)
    }
}
