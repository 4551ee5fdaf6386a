// The log of all links, which the server signs. The one thing to keep true: a link and its entry are durable together, and an
// entry never changes its place.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeyLog
internal import CoffretTrust

extension ServerStore {
    static let keyLogKeyName = SQLValue.bytes(Array("log-key".utf8))
    private static let tileWidth = Int64(KeyLogTile.width)

    /// The log's signing key, made if the database has none; all links that were taken before come into the log then.
    static func openKeyLog(_ database: any SQLDatabase, random: any RandomSource) throws -> KeyLogSigner {
        func stored(_ session: any SQLSession) throws -> KeyLogSigner? {
            guard let seed = try session.first("SELECT value FROM meta WHERE name = $1", keyLogKeyName)?[0].bytes else {
                return nil
            }
            guard seed.count == KeyLogSigner.seedByteCount else {
                throw ServerFailure(.dataDirectory, "the database lost the key of its log")
            }
            return KeyLogSigner(seed: seed)
        }
        if let key = try database.read(stored) { return key }
        let seed = random.bytes(count: KeyLogSigner.seedByteCount)
        return try database.write { session in
            // Another process may have made it meanwhile.
            let isMade = try session.run(
                "INSERT INTO meta(name, value) VALUES($1, $2) ON CONFLICT(name) DO NOTHING", keyLogKeyName, .bytes(seed)
            )
            if isMade == 1 {
                let links = try session.query(
                    """
                    SELECT kind, chain, link, added, seq FROM links UNION ALL
                    SELECT CAST(1 AS BIGINT), account, link, added, seq FROM branches ORDER BY 4, 1, 2, 5
                    """, [])
                for row in links { try log(row[2].bytes, kind: row[0].int, row[1].bytes, session) }
            }
            guard let key = try stored(session) else { throw ServerFailure(.storageUnavailable, "the log has no key") }
            return key
        }
    }

    /// Adds the entry of a link that is stored in the same transaction.
    static func log(_ link: [UInt8], kind: Int64, _ chain: [UInt8], _ session: any SQLSession) throws {
        let unverified: UnverifiedLink
        do throws(TrustError) { unverified = try UnverifiedLink(decoding: link) } catch {
            throw ServerFailure(.storageUnavailable, "a stored link cannot be read")
        }
        let isFounding = unverified.sequenceNumber == 0 && unverified.kind != .identity
        guard let hash = Bytes32(unverified.hash(inChain: isFounding ? nil : ChainID(chain))) else {
            throw ServerFailure(.storageUnavailable, "a link without a hash")
        }
        let entry = KeyLogEntry(
            kind: UInt8(clamping: kind), chainID: chain, number: unverified.sequenceNumber, linkHash: hash)
        // Whoever appends at the same time waits here.
        _ = try session.first("SELECT value FROM meta WHERE name = $1" + session.lockClause, keyLogKeyName)
        let seq = try keyLogSize(session)
        try session.run("INSERT INTO log(seq, entry) VALUES($1, $2)", .int(seq), .bytes(entry.encoded))
        var (level, count) = (0, seq + 1)
        while count % tileWidth == 0 {
            let tile = count / tileWidth - 1
            let root = KeyLogTree.root(of: try hashes(level: level, from: tile * tileWidth, count: tileWidth, session))
            level += 1
            try session.run(
                "INSERT INTO lognodes(level, seq, hash) VALUES($1, $2, $3)", .int(Int64(level)), .int(tile),
                .bytes(root.bytes))
            count = tile + 1
        }
    }

    static func keyLogSize(_ session: any SQLSession) throws -> Int64 {
        (try session.first("SELECT seq FROM log ORDER BY seq DESC LIMIT 1")?[0].int ?? -1) + 1
    }

    private static func entries(from start: Int64, count: Int64, _ session: any SQLSession) throws -> [[UInt8]] {
        try session.query(
            "SELECT entry FROM log WHERE seq >= $1 AND seq < $2 ORDER BY seq", [.int(start), .int(start + count)]
        ).map { $0[0].bytes }
    }

    private static func hashes(
        level: Int, from start: Int64, count: Int64, _ session: any SQLSession
    ) throws -> [Bytes32] {
        guard level > 0 else { return try entries(from: start, count: count, session).map(KeyLogTree.leafHash) }
        return try session.query(
            "SELECT hash FROM lognodes WHERE level = $1 AND seq >= $2 AND seq < $3 ORDER BY seq",
            [.int(Int64(level)), .int(start), .int(start + count)]
        ).compactMap { Bytes32($0[0].bytes) }
    }

    // MARK: What is served

    /// The log's name and public key, as clients keep it.
    func keyLogVerifier(serverName: String) -> KeyLogVerifier {
        keyLogKey.verifier(name: Self.keyLogName(serverName))
    }

    private static func keyLogName(_ serverName: String) -> String { serverName + "/coffret-log/1" }

    /// The log as it is now, signed. It has all links that were answered before.
    func keyLogCheckpoint(serverName: String) throws -> [UInt8] {
        let range = try database.read(Self.keyLogRange)
        return KeyLogCheckpoint(
            size: range.size, root: range.root, name: Self.keyLogName(serverName), signer: keyLogKey
        ).note
    }

    /// - Complexity: reads at most 255 rows of each level.
    private static func keyLogRange(_ session: any SQLSession) throws -> KeyLogRange {
        var levels: [[Bytes32]] = []
        var width = try keyLogSize(session)
        while width > 0 {
            let rest = width % tileWidth
            levels.append(try hashes(level: levels.count, from: width - rest, count: rest, session))
            width /= tileWidth
        }
        return KeyLogRange(levels: levels)
    }

    /// A tile of hashes, or a bundle of entries.
    ///
    /// - Throws: `.malformed` for one that is not spelled so; `.objectUnknown` for one that the log does not have.
    func keyLogTile(path: String) throws -> [UInt8] {
        guard let tile = KeyLogTile(path: path), tile.index < UInt64(Int64.max) / KeyLogTile.width else {
            throw ServerFailure(.malformed, "a tile's name")
        }
        let (start, count) = (Int64(tile.index) * Self.tileWidth, Int64(tile.count))
        return try database.read { session in
            guard let level = tile.level else {
                let entries = try Self.entries(from: start, count: count, session)
                guard entries.count == tile.count else { throw ServerFailure(.objectUnknown) }
                return KeyLogBundle.encode(entries)
            }
            let hashes = try Self.hashes(level: level, from: start, count: count, session)
            guard hashes.count == tile.count else { throw ServerFailure(.objectUnknown) }
            return hashes.flatMap(\.bytes)
        }
    }

    /// What is wrong with the log: each link has its entry, and the nodes are those of the entries.
    static func keyLogFaults(_ session: any SQLSession) throws -> [String] {
        var faults: [String] = []
        var range = KeyLogRange()
        let size = try keyLogSize(session)
        while Int64(range.size) < size {
            let entries = try entries(from: Int64(range.size), count: tileWidth, session)
            guard !entries.isEmpty else { break }
            for entry in entries { range.append(KeyLogTree.leafHash(entry)) }
        }
        if try keyLogRange(session).root != range.root { faults.append("the log's nodes are not those of its entries") }
        let links =
            try session.first("SELECT (SELECT COUNT(*) FROM links) + (SELECT COUNT(*) FROM branches)")?[0].int ?? 0
        if size < links { faults.append("the log has \(size) entries, and there are \(links) links") }
        return faults
    }
}
