// Lets a server forget what lies below a checkpoint (G5). The one thing to keep true: it names what this device had
// applied, and nothing that anything kept here leads to.

package import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
package import CoffretLogs
package import CoffretStorage
internal import CoffretTrust
internal import CoffretWire

/// Has the server collect what a dropping, or a deletion for good, leaves there. Gives requests and takes replies, as
/// `LogSync` does; it runs behind a sync and an audit of the same repository, and before `LogRepository.compact`.
package final class LogCollector {
    package enum Outcome: Equatable, Sendable {
        /// Nothing was asked for.
        case none
        /// No other device, and in a vault of several accounts no other account, has said that it has the checkpoint, or
        /// none has said anything since its link came to the server.
        case waitsForOthers
        /// The server says to come again later, with this code.
        case refused(code: String)
        /// Objects that the server let go of, and their bytes, as it says.
        case collected(count: UInt64, byteCount: UInt64)
    }

    /// The server has heard of nobody else since the link came, which words of before it do not make up for.
    private static let youngCode = "server.zone.checkpoint-young"

    private let repository: LogRepository
    private let audit: LogAudit
    private let partCountMax: Int
    private var memory: LogMemory
    private var rest: ArraySlice<[UInt8]>?
    private var chunks: ArraySlice<[UInt8]>
    private var count: UInt64 = 0
    private var byteCount: UInt64 = 0
    package private(set) var outcome = Outcome.none

    /// - Parameters:
    ///   - audit: of today: whose words say what they have.
    ///   - chunks: addresses of chunks of files that nothing kept here names.
    ///   - partCountMax: addresses of each of the two kinds in one request.
    package init(
        repository: LogRepository, audit: LogAudit, chunks: [[UInt8]] = [],
        partCountMax: Int = ServerLimits.sweepAddressCountMax
    ) {
        self.partCountMax = partCountMax
        self.repository = repository
        self.audit = audit
        self.chunks = chunks[...]
        memory = LogMemory(of: repository)
    }

    /// Notes, durably, that the server is to collect below a checkpoint: before history is dropped below it, or behind a
    /// link that deletes for good.
    package static func request(below link: Int, in repository: LogRepository) throws(StorageError) {
        var memory = LogMemory(of: repository)
        memory.collects = UInt32(max(link, Int(memory.collects ?? 0)))
        try repository.remember(memory.merged(in: repository))
    }

    /// The same behind an own link that deletes for good, whose entries went here. What they lead to is remembered by name,
    /// so that the files here are compacted at once.
    ///
    /// - Returns: false where these are too many: then the files are compacted when the server has collected.
    static func request(purge link: Int, in repository: LogRepository) throws(StorageError) -> Bool {
        try request(below: link, in: repository)
        var memory = LogMemory(of: repository)
        let names = try repository.deadBlobs(below: link, gone: memory.collectsNames)
        guard names.count <= LogMemory.collectedNameCountMax else { return false }
        memory.collectsNames = names
        try repository.remember(memory.encoded)
        return true
    }

    /// The link below which the server is to collect; nil: nothing is to be done.
    package static func requested(in repository: LogRepository) -> Int? {
        LogMemory(decoding: repository.syncMemory)?.collects.map { Int($0) }
    }

    /// The next request; nil: `outcome` says how it ended.
    package func next(now: Milliseconds) throws(SyncError) -> LogRequest? {
        do { return try ask(now: now) } catch { throw SyncError.translating(error) }
    }

    private func ask(now: Milliseconds) throws -> LogRequest? {
        guard let link = memory.collects.map({ Int($0) }), outcome == .none,
            let signingKey = repository.author.signingKey
        else { return nil }
        if rest == nil {
            guard let names = try names(below: link, now: now) else {
                outcome = .waitsForOthers
                return nil
            }
            rest = names.flatMap { repository.exchange.addresses(of: $0) }.map(\.bytes)[...]
        }
        let objects = Array((rest ?? []).prefix(partCountMax))
        let files = Array(chunks.prefix(partCountMax))
        guard !objects.isEmpty || !files.isEmpty else {
            outcome = .collected(count: count, byteCount: byteCount)
            // A link that was asked for meanwhile stays.
            memory = LogMemory(of: repository)
            if memory.collects.map({ Int($0) }) == link { (memory.collects, memory.collectsNames) = (nil, []) }
            try repository.remember(memory.encoded)
            return nil
        }
        let hash = try repository.ask { (machine) in machine.members.chain.links[link].hash.bytes }
        let proof = SweepProof(
            zoneID: repository.keys.vaultID.bytes, linkHash: hash, objects: objects, chunks: files)
        return .sweep(
            ZoneSweep(
                linkHash: hash, objects: objects, chunks: files, signature: proof.sign(with: signingKey)))
    }

    private func names(below link: Int, now: Milliseconds) throws(StorageError) -> [BlobName]? {
        let words = audit.words
        let acknowledged = try repository.ask { (machine) in
            Set(words.filter { machine.covers($0.value, link: link) }.keys)
        }
        return try repository.collectableBlobs(
            below: link, acknowledgedBy: acknowledged,
            unacknowledged: ServedLogs(memory, in: repository).unacknowledged(in: repository),
            gone: memory.collectsNames, now: now)
    }

    /// Takes a reply to the last request.
    package func take(_ reply: LogReply) throws(SyncError) {
        switch reply {
        case .swept(let receipt):
            rest = rest?.dropFirst(partCountMax)
            chunks = chunks.dropFirst(partCountMax)
            // Its word, for show.
            (count, byteCount) = (count &+ receipt.count, byteCount &+ receipt.byteCount)
        case .refused(code: Self.youngCode): outcome = .waitsForOthers
        case .refused(let code): outcome = .refused(code: code)
        case .unreachable: throw SyncError(.unreachable)
        default: throw SyncError(.answerMalformed)
        }
    }

    /// Collects to the end.
    package func run(through transport: any LogTransport, now: () -> Milliseconds) throws(SyncError) -> Outcome {
        while let request = try next(now: now()) {
            try take(transport.send(request) { (_) throws(SyncError) in })
        }
        return outcome
    }
}
