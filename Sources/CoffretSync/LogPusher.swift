// Entries on their way to a zone. The one thing to keep true: what an entry needs is at the server before it, or with it,
// and nothing goes twice that the server is known to have.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretTrust
internal import CoffretWire

/// Entries to be sent, part by part. A value: a push that was refused is begun anew.
struct LogPusher {
    static let objectCountMax = 4_096

    private let repository: LogRepository
    private let served: ServedLogs
    /// By height, so that who lists them can apply them as they come.
    private var queue: ArraySlice<BlobName>
    private var sent: Set<BlobName> = []
    /// Entries of the parts so far.
    private(set) var entryCount = 0
    /// Entries of the newest part.
    private(set) var partEntries: [VerifiedEntry] = []
    /// Entries of all parts and those that wait.
    var totalCount: Int { entryCount + queue.count }
    /// Up to where each log was put into parts.
    private(set) var reached: [InstanceID: EntryNumber] = [:]

    var isAtEnd: Bool { queue.isEmpty }

    init(repository: LogRepository, served: ServedLogs) throws(StorageError) {
        self.repository = repository
        self.served = served
        queue = []
        try fill()
    }

    /// Also what was written since the queue was made.
    private mutating func fill() throws(StorageError) {
        let (served, reached) = (served, reached)
        queue = try repository.ask { (machine) throws(StorageError) -> [BlobName] in
            var records: [LogIndex.Record] = []
            for (instance, mark) in machine.frontier.marks {
                let start = max(reached[instance] ?? 0, served.end(of: instance))
                guard start < mark.number, !served.has(instance, mark.number) else { continue }
                records += try machine.store.index.records(of: instance, from: start + 1, to: mark.number)
                    .filter { !$0.isBare }
            }
            return records.sorted { ($0.height, $0.dot) < ($1.height, $1.dot) }.map(\.name)
        }[...]
    }

    /// The next entry alone.
    mutating func nextName() -> BlobName? { queue.popFirst() }

    /// The next objects, of about so many bytes.
    mutating func nextPart(byteCountMax: Int) throws(StorageError) -> [ZoneObject] {
        var objects: [ZoneObject] = []
        var byteCount = 0
        partEntries = []
        while byteCount < byteCountMax, objects.count < Self.objectCountMax, let name = queue.popFirst() {
            let entry = try repository.ask { (machine) throws(StorageError) in try machine.store.entry(named: name) }
            guard let entry = entry?.entry else { throw StorageError(.blobMissing, place: name.description) }
            let names = try repository.blobNames(of: entry) { (change) throws(StorageError) in
                try !hasServedBase(change)
            }
            if try hasServedContext(entry) { sent.insert(entry.body.context) }
            for blob in names where sent.insert(blob).inserted {
                let sealed = try repository.exchange.sealedBlob(blob)
                byteCount += sealed.bytes.count
                objects.append(ZoneObject(sealed))
            }
            entryCount += 1
            partEntries.append(entry)
            reached[entry.instance] = max(reached[entry.instance] ?? 0, entry.number)
            if queue.isEmpty { try fill() }
        }
        return objects
    }

    /// Whether the context went with the entry before.
    private func hasServedContext(_ entry: VerifiedEntry) throws(StorageError) -> Bool {
        guard let name = entry.body.before, served.has(entry.instance, entry.number - 1) else { return false }
        let before = try repository.ask { (machine) throws(StorageError) in try machine.store.entry(named: name) }
        return before?.entry.body.context == entry.body.context
    }

    /// Whether the base of a change's delta went with what the change replaces: as that value itself, or as its base too.
    private func hasServedBase(_ change: Change) throws(StorageError) -> Bool {
        guard let base = try repository.baseName(of: change.content, under: change.key) else { return false }
        let accepted = try repository.ask { (machine) in machine.accepted }
        for (dot, content) in try repository.replaced(by: change)
        // The server may collect the base of a value that lies below a checkpoint (G5).
        where served.has(dot.instance, dot.number) && !accepted.covers(dot) {
            if case .inBlobs(let value) = content, value.name == base { return true }
            if try repository.baseName(of: content, under: change.key) == base { return true }
        }
        return false
    }
}

extension ZoneObject {
    init(_ blob: SealedBlob) { self.init(address: blob.address.bytes, ciphertext: blob.bytes) }
}

extension ZonePush {
    /// A push with the word of this device over its objects.
    init(
        _ objects: [ZoneObject], from expected: [UInt8]?, to new: [UInt8]?, epoch: UInt32, zone: [UInt8],
        by key: SigningKey
    ) {
        var hasher = PushedObjectsHasher()
        for object in objects { hasher.add(address: object.address, ciphertext: object.ciphertext) }
        let proof = ZoneProof.push(expectedHead: expected, newHead: new, epoch: epoch, hash: hasher.finish())
        self.init(
            expectedHead: expected, newHead: new, epoch: epoch, objects: objects,
            signature: proof.sign(zone: zone, with: key))
    }
}
