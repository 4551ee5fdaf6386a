// Chunks of files over HTTP. The one thing to keep true: a connection that breaks in the middle of a chunk costs what
// had not arrived, and a chunk is given up after a few tries that brought nothing.

internal import CoffretBase
internal import CoffretHTTP
package import CoffretStorage
package import CoffretWire
internal import Glibc

/// Requests about all chunks of one zone.
package protocol ChunkListTransport: AnyObject {
    /// The addresses of all chunks that the server has.
    func allChunks() throws(SyncError) -> [BlobAddress]
}

extension HTTPZoneTransport: ChunkListTransport {
    /// A server that names more of them does not end.
    private static var chunkCountMax: Int { 1 << 24 }

    package func allChunks() throws(SyncError) -> [BlobAddress] {
        var addresses: [BlobAddress] = []
        var next: [UInt8] = []
        repeat {
            let query = next.isEmpty ? "" : "?after=" + Hex.encode(next)
            let response = try exchange { request("GET", "/chunks" + query, body: nil, type: "") }
            guard response.status == 200 else { throw refusedFile(response.status, response.body) }
            guard let page = try? AddressPage(decoding: response.body) else { throw SyncError(.answerMalformed) }
            addresses += page.addresses.compactMap { BlobAddress(bytes: $0) }
            // A server that goes round in circles would never end.
            guard page.next.isEmpty || page.next != next && !page.addresses.isEmpty,
                addresses.count <= Self.chunkCountMax
            else { throw SyncError(.answerMalformed) }
            next = page.next
        } while !next.isEmpty
        return addresses
    }
}

extension HTTPZoneTransport: FileTransport {
    /// A chunk that broke off goes on in parts of so many bytes.
    private static var partByteCount: Int { 256 << 10 }
    /// Tries that bring nothing, in a row.
    private static var tryCountMax: Int { 3 }
    /// Pieces that one chunk may come in.
    private static var pieceCountMax: Int { 64 }
    /// How often, and how long, a busy server is waited for.
    private static var waitCountMax: Int { 20 }
    private static var waitSecondsMax: Int { 30 }

    package func missingChunks(_ chunks: [ChunkList.Chunk]) throws(SyncError) -> [ChunkList.Chunk] {
        let body = ChunkList(chunks).encoded()
        let response = try exchange {
            request("POST", "/chunks/missing", body: body, type: "application/cbor")
        }
        guard response.status == 200 else { throw refusedFile(response.status, response.body) }
        guard let list = try? ChunkList(decoding: response.body) else { throw SyncError(.answerMalformed) }
        reliesOnSession = true
        return list.chunks
    }

    package func space() throws(SyncError) -> ServerSpace? {
        let response = try exchange {
            var request = request("GET", "", body: nil, type: "")
            request.path = "/v1/usage"
            return request
        }
        // A server that does not tell refuses when there is no room.
        guard response.status == 200, let usage = try? AccountUsage(decoding: response.body) else { return nil }
        return ServerSpace(
            usedByteCount: Int(clamping: usage.usedByteCount), byteCountMax: Int(clamping: usage.byteCountMax))
    }

    package func withdraw(_ address: BlobAddress) throws(SyncError) {
        let response = try exchange {
            request("DELETE", "/chunks/" + Hex.encode(address.bytes), body: nil, type: "")
        }
        guard response.status == 204 else { throw refusedFile(response.status, response.body) }
    }

    // MARK: Sending

    package func upload(
        _ bytes: [UInt8], to address: BlobAddress, mayBeBegun: Bool
    ) throws(SyncError) -> Bool {
        let path = "/chunks/" + Hex.encode(address.bytes)
        var offset = mayBeBegun && bytes.count > Self.partByteCount ? try uploadOffset(path, below: bytes.count) : 0
        var isPatched = offset > 0
        var isInParts = isPatched
        var tryCount = 0
        // A server that takes parts for ever and never has the whole is no server.
        let putCountMax = 2 * (bytes.count / Self.partByteCount + 1) + 2 * Self.tryCountMax
        for _ in 0..<putCountMax {
            let end = isInParts ? min(offset + Self.partByteCount, bytes.count) : bytes.count
            do throws(SyncError) {
                switch try put(bytes, offset..<end, path) {
                case .whole: return isPatched
                case .part:
                    guard end < bytes.count else { throw SyncError(.answerMalformed) }
                    (offset, tryCount) = (end, 0)
                    continue
                case .elsewhere(let place):
                    tryCount += 1
                    guard tryCount < Self.tryCountMax else { throw SyncError(.answerMalformed) }
                    offset = place < bytes.count ? place : 0
                }
            } catch {
                tryCount += 1
                guard error.code == .unreachable, tryCount < Self.tryCountMax else { throw error }
                offset = try uploadOffset(path, below: bytes.count)
            }
            isInParts = true
            isPatched = isPatched || offset > 0
        }
        throw SyncError(.answerMalformed)
    }

    private enum PutOutcome {
        case whole, part
        /// The upload stands at another byte.
        case elsewhere(Int)
    }

    private func put(_ bytes: [UInt8], _ range: Range<Int>, _ path: String) throws(SyncError) -> PutOutcome {
        let isAll = range == 0..<bytes.count
        let body = isAll ? bytes : Array(bytes[range])
        let response = try exchange {
            var request = request("PUT", path, body: body, type: "application/octet-stream")
            request.time = nil
            if !isAll {
                request.fields.append(
                    ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)"))
            }
            return request
        }
        if (200...202).contains(response.status) { reliesOnSession = true }
        switch response.status {
        case 200, 201: return .whole
        case 202: return .part
        default:
            if response.status == 409, let offset = response.field("Upload-Offset").flatMap(Int.init), offset >= 0 {
                return .elsewhere(offset)
            }
            throw refusedFile(response.status, response.body)
        }
    }

    /// How many bytes of an unfinished upload are there.
    private func uploadOffset(_ path: String, below byteCount: Int) throws(SyncError) -> Int {
        // Where another variant lies there is no offset: then this upload has not begun as far as can be told.
        let response = try exchange { request("HEAD", path, body: nil, type: "") }
        guard response.status == 404, let offset = response.field("Upload-Offset").flatMap(Int.init) else { return 0 }
        return (0..<byteCount).contains(offset) ? offset : 0
    }

    // MARK: Fetching

    package func chunk(at address: BlobAddress, variant: Int) throws(SyncError) -> StoredVariant? {
        var path = "/chunks/" + Hex.encode(address.bytes)
        if variant > 0 { path += "?variant=\(variant)" }
        var bytes = interrupted?.path == path ? interrupted?.bytes ?? [] : []
        interrupted = nil
        var tryCount = 0
        for _ in 0..<Self.pieceCountMax {
            guard mayGoOn?() ?? true else {
                interrupted = (path, bytes)
                throw SyncError(.fileInterrupted)
            }
            let start = bytes.count
            do throws(SyncError) {
                let (response, refusal) = try piece(path, appendingTo: &bytes)
                let count = response?.field("Coffret-Variants").flatMap(Int.init) ?? 1
                switch response?.status {
                // More than any chunk has: it will not verify.
                case nil, 200, 206: return StoredVariant(bytes: bytes, count: max(count, 1))
                // It broke off behind the last byte.
                case 416 where start > 0: return StoredVariant(bytes: bytes, count: max(count, 1))
                case 404 where (try? ServerRefusal(decoding: refusal))?.code == "server.object.unknown": return nil
                case .some(let status): throw refusedFile(status, refusal)
                }
            } catch {
                if error.code == .fileInterrupted { interrupted = (path, bytes) }
                tryCount = bytes.count > start ? 0 : tryCount + 1
                guard error.code == .unreachable, tryCount < Self.tryCountMax else { throw error }
            }
        }
        throw SyncError(.unreachable)
    }

    /// Asks for what is behind `bytes`, and puts it there as it comes.
    ///
    /// - Returns: no response if more came than a chunk has; the body of a refusal.
    private func piece(
        _ path: String, appendingTo bytes: inout [UInt8]
    ) throws(SyncError) -> (response: HTTPResponse?, refusal: [UInt8]) {
        let start = bytes.count
        var received = bytes
        var refusal: [UInt8] = []
        var (isTooLong, hasBegun, isStopped) = (false, false, false)
        defer { bytes = received }
        do throws(SyncError) {
            let response = try exchange {
                // What an answer before this one said is no part of it.
                refusal = []
                var request = request("GET", path, body: nil, type: "")
                request.time = nil
                if start > 0 { request.fields.append(("Range", "bytes=\(start)-")) }
                return request
            } sink: { [self] status, more in
                guard status == 200 || status == 206 else {
                    refusal += more
                    return refusal.count <= ServerLimits.errorTextByteCountMax * 2
                }
                // A server that does not go on begins anew.
                if status == 200, start > 0, !hasBegun { received = [] }
                hasBegun = true
                received += more
                isTooLong = received.count > ServerLimits.chunkByteCountMax
                isStopped = !(mayGoOn?() ?? true)
                return !isTooLong && !isStopped
            }
            return (response, refusal)
        } catch {
            if isTooLong { return (nil, []) }
            throw isStopped ? SyncError(.fileInterrupted) : error
        }
    }

    // MARK: Requests

    /// Sends a request, with a new session if the old one has ended, and again when a busy server says when.
    func exchange(
        _ make: () -> HTTPRequest, sink: ((_ status: Int, _ bytes: [UInt8]) -> Bool)? = nil
    ) throws(SyncError) -> HTTPResponse {
        var hasRenewed = false
        var waitCount = 0
        while true {
            guard isWanted() else { throw SyncError(.unreachable) }
            let response: HTTPResponse
            do throws(HTTPError) {
                response = try client.send(make(), source: nil, sink: sink)
            } catch {
                lastError = error
                throw SyncError(.unreachable, cause: error)
            }
            if response.status == 401, !hasRenewed {
                // What was put down in the old session may have been swept since.
                let isCut = endSession()
                if renew() {
                    guard !isCut else { throw SyncError(.unreachable) }
                    hasRenewed = true
                    continue
                }
            }
            let seconds = response.field("Retry-After").flatMap(Int.init) ?? 0
            if response.status == 429 || response.status == 503, (1...Self.waitSecondsMax).contains(seconds),
                waitCount < Self.waitCountMax, mayGoOn == nil
            {
                waitCount += 1
                sleep(UInt32(seconds))
                continue
            }
            return response
        }
    }

    func refusedFile(_ status: Int, _ body: [UInt8]) -> SyncError {
        guard case .refused(let code) = Self.refusal(status, body) else { return SyncError(.unreachable) }
        return SyncError(refusal: code)
    }
}
