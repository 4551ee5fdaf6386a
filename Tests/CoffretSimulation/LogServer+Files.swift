// Chunks of files on their way to the server's store and back. The one thing to keep true: a chunk goes in parts, and the way
// may break off before each of them.

internal import CoffretBase
package import CoffretServer
internal import CoffretStorage
package import CoffretSync
internal import CoffretWire

/// How a device reaches the chunks of its zone.
package protocol ChunkSite: FileTransport, ChunkListTransport {}

extension LogSite {
    /// - Parameter mayPass: asked before each request; false: there is no answer.
    /// - Returns: nil at a server that is asked about chunks elsewhere.
    package func chunks(
        in zone: [UInt8], by owner: SessionOwner, mayPass: @escaping () -> Bool
    ) -> (any ChunkSite)? {
        (self as? LogServer).map { LogServerFiles($0, zone: zone, owner: owner, mayPass: mayPass) }
    }
}

private final class LogServerFiles: ChunkSite {
    private static let partByteCount = 200

    private let server: LogServer
    private var store: ServerStore { server.store }
    private let zone: [UInt8]
    private let owner: SessionOwner
    private let mayPass: () -> Bool

    init(_ server: LogServer, zone: [UInt8], owner: SessionOwner, mayPass: @escaping () -> Bool) {
        self.server = server
        self.zone = zone
        self.owner = owner
        self.mayPass = mayPass
    }

    private func passing<Result>(_ body: () throws -> Result) throws(SyncError) -> Result {
        guard mayPass() else { throw SyncError(.unreachable) }
        do { return try body() } catch let failure as ServerFailure {
            throw SyncError(.refused, at: failure.code.rawValue)
        } catch { throw SyncError(.vaultFailed, at: "\(error)", cause: error) }
    }

    func missingChunks(_ chunks: [ChunkList.Chunk]) throws(SyncError) -> [ChunkList.Chunk] {
        try passing { try store.missing(ChunkList(chunks), in: zone, for: owner).chunks }
    }

    func upload(_ bytes: [UInt8], to address: BlobAddress, mayBeBegun: Bool) throws(SyncError) -> Bool {
        if server.losesChunks { return false }
        var offset = 0
        if mayBeBegun {
            offset = try passing { try store.uploadOffset(address: address.bytes, in: zone, for: owner) }
            if offset >= bytes.count { offset = 0 }
        }
        let isPatched = offset > 0
        while offset < bytes.count {
            // The first part alone, so that one may be begun and not ended.
            let end = offset == 0 && bytes.count > Self.partByteCount ? Self.partByteCount : bytes.count
            let part = Array(bytes[offset..<end])
            let start = offset
            let outcome = try passing {
                try store.upload(part, at: start, of: bytes.count, address: address.bytes, in: zone, by: owner)
            }
            switch outcome {
            case .complete: return isPatched
            case .partial(let byteCount): offset = byteCount
            case .offset(let byteCount): throw SyncError(.vaultFailed, at: "an upload that stands at \(byteCount)")
            }
        }
        return isPatched
    }

    func chunk(at address: BlobAddress, variant: Int) throws(SyncError) -> StoredVariant? {
        do throws(SyncError) {
            return try passing {
                let chunk = try store.chunk(address: address.bytes, variant: variant, in: zone, for: owner)
                return StoredVariant(bytes: chunk.bytes, count: chunk.variantCount)
            }
        } catch {
            guard error.place == ServerFailure.Code.objectUnknown.rawValue else { throw error }
            return nil
        }
    }

    func space() throws(SyncError) -> ServerSpace? { nil }

    func withdraw(_ address: BlobAddress) throws(SyncError) {
        try passing { try store.withdrawChunk(address: address.bytes, in: zone, by: owner) }
    }

    func allChunks() throws(SyncError) -> [BlobAddress] {
        try passing {
            try store.storedAddresses(.chunk, after: [], in: zone, for: owner).addresses
                .compactMap { BlobAddress(bytes: $0) }
        }
    }
}
