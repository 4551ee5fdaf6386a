// From requests to answers. The one thing to keep true: what a client may see or change is decided by the session's
// account, and nothing is told about what belongs to others.

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

    func answer(_ request: ServerRequest) throws -> ServerResponse {
        switch request.route {
        case .health:
            return store.isHealthy() ? ServerResponse(200, .text("ok\n")) : ServerResponse(503, .text("storage\n"))
        case .metrics: return ServerResponse(200, .text(metricsText()))
        case .loginChallenge:
            return ServerResponse(
                200,
                try store.challenge(request.message(LoginChallengeRequest.self), serverName: configuration.name))
        case .login:
            return ServerResponse(
                200,
                try store.login(
                    request.message(LoginRequest.self), serverName: configuration.name,
                    fingerprint: fingerprint.withLock { $0 }))
        case .register:
            let message = try request.message(AccountRegistration.self)
            return appended(try store.register(message, policy: configuration.registration), created: true)
        case .relayCreate: return try openRelay(for: request.query("account"))
        case .relayJoin(let id):
            guard rooms.claim(id) else { throw ServerFailure(.relayUnknown) }
            return ServerResponse(101, .webSocket(.relayJoiner(id: id)))
        default:
            guard let owner = request.owner else { throw ServerFailure(.sessionUnknown) }
            return try answer(request, for: owner)
        }
    }

    private func answer(_ request: ServerRequest, for owner: SessionOwner) throws -> ServerResponse {
        switch request.route {
        case .logout:
            try store.logout(token: request.token)
            return ServerResponse(204)
        case .usage: return ServerResponse(200, try store.usage(of: owner))
        case .chain(let kind, let id):
            let start = try Self.number(request.query("from"), max: Int64(Limits.chainLinkCountMax)) ?? 0
            return ServerResponse(200, try store.links(kind, id, from: start, for: owner))
        case .appendChain(let kind, let id):
            return appended(
                try store.append(try request.message(ChainAppend.self).link, to: kind, id, by: owner), created: false)
        case .links: return posted(try store.take(try request.message(LinkPost.self).items, by: owner))
        case .chainUpdates:
            return ServerResponse(200, try store.updates(try request.message(ChainUpdateRequest.self), for: owner))
        case .events: return ServerResponse(101, .webSocket(.events(owner)))
        case .pairings: return ServerResponse(200, rooms.board.requests(for: owner.accountID))
        case .postMail(let account):
            // Accounts have nothing to say to each other here, and nobody fills another's mailbox.
            guard account == owner.accountID else { throw ServerFailure(.forbidden) }
            try store.post(try request.message(MailboxPost.self), by: owner)
            return ServerResponse(201)
        case .mail(let account):
            guard account == owner.accountID else { throw ServerFailure(.forbidden) }
            return ServerResponse(200, try store.mail(for: owner))
        case .deleteMail(let account, let id):
            guard account == owner.accountID else { throw ServerFailure(.forbidden) }
            try store.deleteMail(id, for: owner)
            return ServerResponse(204)
        default: return try zoneAnswer(request, for: owner)
        }
    }

    /// Opens a relay id, and tells the named account's devices that somebody waits there.
    ///
    /// Whoever asks is not told whether there is such an account, or whether it heard of him.
    func openRelay(for name: String?) throws -> ServerResponse {
        var prefix: [UInt8] = []
        if let name {
            guard let bytes = try? Hex.decode(name), bytes.count == ServerLimits.accountNameByteCount,
                name == Hex.encode(bytes)
            else {
                throw ServerFailure(.malformed, "account")
            }
            prefix = bytes
        }
        let id = try rooms.open()
        do {
            if name != nil, let accountID = try store.account(named: prefix), rooms.board.admits(accountID),
                let relayID = UniqueID(bytes: id)
            {
                try store.announcePairing(relayID, to: accountID)
            }
        } catch {
            // Nobody will ever join it.
            rooms.close(id)
            throw error
        }
        return ServerResponse(101, .webSocket(.relayCreator(id: id)))
    }

    private func appended(_ outcome: AppendOutcome, created: Bool) -> ServerResponse {
        switch outcome {
        case .appended(let head): ServerResponse(created ? 201 : 200, head)
        case .conflict(let head): ServerResponse(409, head)
        case .untrusted(let code): Self.untrusted(code)
        }
    }

    private func posted(_ outcome: LinksOutcome) -> ServerResponse {
        switch outcome {
        case .taken(let heads): ServerResponse(200, LinkReceipt(heads.map(\.sequenceNumber)))
        case .conflict(let index, let head): ServerResponse(409, LinkConflict(index: UInt64(index), head: head))
        case .moved(let index, let state): ServerResponse(412, LinkHeadMoved(index: UInt64(index), state: state))
        case .untrusted(let code): Self.untrusted(code)
        case .tooMany(let seconds): ServerResponse(ServerFailure(.rateExceeded), retryAfterSeconds: seconds)
        }
    }

    private static func untrusted(_ code: String) -> ServerResponse {
        ServerResponse(422, ServerRefusal(code: code, message: "the link does not verify with its chain"))
    }

    // MARK: Zones

    private func zoneAnswer(_ request: ServerRequest, for owner: SessionOwner) throws -> ServerResponse {
        switch request.route {
        case .zones: return ServerResponse(200, ZoneFetch(addresses: try store.zones(of: owner)))
        case .createZone:
            guard let head = try store.createZone(try request.message(ZoneCreation.self), by: owner) else {
                throw ServerFailure(.malformed, "the founding link does not verify")
            }
            return ServerResponse(201, head)
        case .deleteZone(let id):
            try store.deleteZone(try request.message(ZoneDeletion.self), id, by: owner)
            return ServerResponse(204)
        case .head(let id): return try head(id, request, for: owner)
        case .push(let id):
            let push = try request.message(ZonePush.self)
            guard push.objects.allSatisfy({ $0.ciphertext.count >= ServerLimits.objectByteCountMin }) else {
                throw ServerFailure(.malformed, "an object shorter than any sealed one")
            }
            switch try store.push(push, to: id, by: owner) {
            case .accepted(let receipt): return ServerResponse(200, receipt)
            case .conflict(let head): return ServerResponse(412, head)
            case .moved(let head): return ServerResponse(412, head)
            }
        case .changes(let id): return try changes(id, request, for: owner)
        case .fetch(let id): return try fetch(id, try request.message(ZoneFetch.self).addresses, for: owner)
        case .storedObjects(let id): return try stored(.object, id, request, for: owner)
        case .storedChunks(let id): return try stored(.chunk, id, request, for: owner)
        case .sweep(let id):
            switch try store.sweep(try request.message(ZoneSweep.self), of: id, by: owner) {
            case .swept(let receipt): return ServerResponse(200, receipt)
            case .conflict(let head): return ServerResponse(412, head)
            }
        case .collections(let id):
            let after = try Self.cursor(request.query("after"))
            return ServerResponse(200, try store.collectionRecords(after: after, in: id, for: owner))
        case .acks(let id): return ServerResponse(200, try store.acknowledgements(in: id, for: owner))
        case .putAck(let id, let device):
            guard device.bytes == owner.deviceID else { throw ServerFailure(.forbidden) }
            guard !request.body.isEmpty else { throw ServerFailure(.malformed, "an empty acknowledgement") }
            try store.acknowledge(request.body, in: id, by: owner)
            return ServerResponse(204)
        case .missing(let id):
            return ServerResponse(200, try store.missing(try request.message(ChunkList.self), in: id, for: owner))
        case .chunk(let id, let address): return try chunk(id, address, request, for: owner)
        case .putChunk(let id, let address): return try putChunk(id, address, request, by: owner)
        case .deleteChunk(let id, let address):
            try store.withdrawChunk(address: address, in: id, by: owner)
            return ServerResponse(204)
        default: throw ServerFailure(.unknownRoute)
        }
    }

    private func head(
        _ id: [UInt8], _ request: ServerRequest, for owner: SessionOwner
    ) throws -> ServerResponse {
        let state = try store.state(id, for: owner)
        // The position changes with everything that is stored, the head with it.
        let tag = "\"\(Hex.encode(state.cursor))\""
        var response: ServerResponse
        switch state {
        case _ where request.header("If-None-Match") == tag: response = ServerResponse(304)
        case .commits(let head): response = ServerResponse(200, head)
        case .logs(let head): response = ServerResponse(200, head)
        }
        response.fields.append(("ETag", tag))
        return response
    }

    private func stored(
        _ kind: StoredKind, _ id: [UInt8], _ request: ServerRequest, for owner: SessionOwner
    ) throws -> ServerResponse {
        let after = try Self.cursor(request.query("after"))
        return ServerResponse(200, try store.storedAddresses(kind, after: after, in: id, for: owner))
    }

    private func changes(
        _ id: [UInt8], _ request: ServerRequest, for owner: SessionOwner
    ) throws -> ServerResponse {
        let text = request.query("since") ?? ""
        guard let since = try? Hex.decode(text), since.count <= ServerLimits.cursorByteCountMax else {
            throw ServerFailure(.malformed, "since")
        }
        let limit = try Self.number(request.query("limit"), max: .max)
        let store = store
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
                    cursor = batch.isLast || byteCount >= limit ?? .max ? nil : batch.head.cursor
                    return bytes
                }))
    }

    private func fetch(
        _ id: [UInt8], _ addresses: [[UInt8]], for owner: SessionOwner
    ) throws -> ServerResponse {
        let store = store
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
            bytes +=
                ChangeFrame.mark(head: batch.head.address, cursor: batch.head.cursor, hasMore: !batch.isLast).framed()
        }
        return bytes
    }

    // MARK: Chunks

    private func putChunk(
        _ id: [UInt8], _ address: [UInt8], _ request: ServerRequest, by owner: SessionOwner
    ) throws -> ServerResponse {
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
            request.body, at: part.first, of: part.total, address: address, in: id, by: owner)
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

    private func chunk(
        _ id: [UInt8], _ address: [UInt8], _ request: ServerRequest, for owner: SessionOwner
    ) throws -> ServerResponse {
        let variant = try Self.number(request.query("variant"), max: 1_000) ?? 0
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

    private static func cursor(_ text: String?) throws -> [UInt8] {
        guard let bytes = try? Hex.decode(text ?? ""), bytes.count <= ServerLimits.cursorByteCountMax else {
            throw ServerFailure(.malformed, "after")
        }
        return bytes
    }

    static func number(_ text: String?, max: Int64) throws -> Int64? {
        guard let text else { return nil }
        guard text.utf8.count <= 19, text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(text),
            number <= max
        else { throw ServerFailure(.malformed, "a number") }
        return number
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
