// Objects of a zone on their way into a vault. The one thing to keep true: an entry is kept with all that it needs, after
// its signature was checked, and one that is left is looked for again.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretWire

/// A log of this device, before a page is taken.
struct WatchedLog {
    /// The newest entry that is here.
    let tip: EntryMark?
    /// This copy writes it, or has entries of it that the server does not have.
    let isUnshared: Bool
    /// It was left as a copy's, or a link closed or ended it.
    let isLeft: Bool
}

/// Takes pages of objects. Memory holds a page and at most 8 MiB of entries whose values did not come yet.
final class LogReceiver {
    private static let deferredByteCountMax = 8 << 20
    private static let headCountMax = 64

    private struct Offered {
        let name: BlobName
        let blob: SealedBlob
        let content: [UInt8]
    }

    private let repository: LogRepository
    /// Frontiers that came, by name.
    private(set) var heads: [BlobName: [UInt8]] = [:]
    private var deferred: [BlobName: Offered] = [:]
    private var deferredByteCount = 0
    /// Blobs that deferred entries need.
    private(set) var wanted: Set<BlobName> = []
    /// Entries that were taken since the last look.
    private var arrived: [BlobName] = []
    /// The logs of which the page brought entries.
    private(set) var touched: Set<InstanceID> = []
    /// Names of all that came since the last look, whatever became of it.
    private(set) var shown: Set<BlobName> = []
    /// Something was left that links, keys or room may make wanted.
    private(set) var hasLeft = false
    private(set) var hasUnreadable = false
    /// What devices state of links that are not here.
    private(set) var withheld: [EntryContext] = []
    /// Devices that state another link than the one here.
    private(set) var forkers: Set<MemberDevice> = []
    /// The newest epoch of what cannot be opened here.
    private(set) var unknownEpoch: UInt32?
    /// Numbers of this device's logs that the server showed, but of the one that this copy writes only what it wrote.
    private(set) var ownShown: [InstanceID: EntryNumber] = [:]
    /// Logs of this device that another copy of the store may write, too, as they were before the page.
    private var watched: [InstanceID: WatchedLog] = [:]
    /// I2: of these logs the server showed entries that this copy did not write.
    private(set) var copied: [LeftLog] = []
    /// Sealed words of entries that came, of the own account's other devices (E9).
    private(set) var statements: [(device: UniqueID, instance: InstanceID, bytes: [UInt8])] = []
    /// Checkpoints of a server's log in entries that came, of other devices: not looked at.
    private(set) var keyLogNotes: [[UInt8]: Milliseconds] = [:]
    private static let keyLogNoteCountMax = 16
    private(set) var takenCount = 0
    private(set) var refusedCount = 0

    init(repository: LogRepository) { self.repository = repository }

    func takeArrived() -> [BlobName] {
        defer { arrived = [] }
        return arrived
    }

    func takeShown() -> Set<BlobName> {
        defer { shown = [] }
        return shown
    }

    /// Gives up on what deferred entries need: it was asked for and did not come.
    func giveUp() {
        hasLeft = hasLeft || !deferred.isEmpty
        deferred = [:]
        wanted = []
        deferredByteCount = 0
    }

    func forgetLeft() { hasLeft = false }

    func watch(_ logs: [InstanceID: WatchedLog], copied: [LeftLog]) { (watched, self.copied) = (logs, copied) }

    func takeStatements() -> [(device: UniqueID, instance: InstanceID, bytes: [UInt8])] {
        defer { statements = [] }
        return statements
    }

    /// Takes a page in, durably with the memory.
    ///
    /// - Parameter memory: bytes of the sync, told whether something was left.
    func take(_ objects: [ZoneObject], memory: (Bool) -> [UInt8]) throws(StorageError) {
        let members = try repository.ask { (machine) in machine.members }
        let verifier = EntryVerifier(vaultID: repository.keys.vaultID, authority: members)
        let batch = try repository.beginReceiving()
        touched = []
        do throws(StorageError) {
            var entries: [Offered] = []
            for object in objects {
                guard let address = BlobAddress(bytes: object.address) else { continue }
                if let entry = try write(SealedBlob(address: address, bytes: object.ciphertext), to: batch) {
                    entries.append(entry)
                }
            }
            let again = deferred.values.sorted { $0.name < $1.name }
            (deferred, wanted, deferredByteCount) = ([:], [], 0)
            for entry in again + entries { try take(entry, verifier, batch) }
            hasLeft = hasLeft || batch.leftSome
            try batch.finish(memory: memory(hasLeft || !deferred.isEmpty))
        } catch {
            batch.cancel()
            throw error
        }
    }

    /// Writes all but entries and frontiers. Values of entries that are refused go with the next compaction.
    ///
    /// - Returns: an entry.
    private func write(_ blob: SealedBlob, to batch: LogReceiving) throws(StorageError) -> Offered? {
        let opened = try repository.exchange.openSealed(blob) {
            (name, type, span) -> (name: BlobName, type: BlobType, content: [UInt8]) in
            let isRead = type == .entry || type == .frontier
            return (name, type, isRead ? unsafe span.withUnsafeBufferPointer { unsafe Array($0) } : [])
        }
        guard let opened else {
            // Of an epoch whose key may come; else nothing follows from it.
            if let epoch = blob.epoch, repository.keys.keys(ofEpoch: epoch) == nil {
                hasLeft = true
                unknownEpoch = max(unknownEpoch ?? 0, epoch)
            } else {
                refusedCount += 1
            }
            return nil
        }
        shown.insert(opened.name)
        switch opened.type {
        case .entry: return Offered(name: opened.name, blob: blob, content: opened.content)
        case .frontier:
            if heads.count >= Self.headCountMax { heads = [:] }
            heads[opened.name] = opened.content
        case .treeLeaf, .treeInner, .value, .valueList, .entryContext: try batch.write(blob, name: opened.name)
        // A state says nothing to others, and commits are of no vault of logs.
        case .commit, .commitContext, .repositoryState, .syncMemory: refusedCount += 1
        }
        return nil
    }

    private func take(
        _ offered: Offered, _ verifier: EntryVerifier<MemberView>, _ batch: LogReceiving
    ) throws(StorageError) {
        let signed: SignedEntry
        var read: UnverifiedEntry?
        do throws(HistoryError) {
            let entry = try batch.read(offered.content, name: offered.name)
            read = entry
            signed = try verifier.verifySignature(of: entry)
        } catch {
            switch error.code {
            case .membersWithheld:
                hasLeft = true
                try note(withheldBy: read)
            case .entryUnsupportedFormat: (hasLeft, hasUnreadable) = (true, true)
            case .entryMalformed where (error.cause as? StorageError)?.code == .blobMissing:
                if let bytes = error.place.flatMap({ try? Hex.decode($0) }), let name = BlobName(bytes: bytes) {
                    deferEntry(offered, for: [name])
                }
            default: refusedCount += 1
            }
            return
        }
        if signed.context.author == repository.author.device, try isOwn(signed) {
            ownShown[signed.context.instance] = max(ownShown[signed.context.instance] ?? 0, signed.body.number)
        }
        guard try batch.takes(signed, byteCount: offered.content.count) else { return }
        let missing: [BlobName]
        do throws(StorageError) { missing = try batch.missingNames(of: signed) } catch {
            guard [.treeMalformedNode, .factMalformedValue, .blobAuthenticationFailed].contains(error.code) else {
                throw error
            }
            refusedCount += 1
            return
        }
        guard missing.isEmpty else { return deferEntry(offered, for: missing) }
        do throws(StorageError) {
            try batch.write(offered.blob, name: offered.name)
            try batch.take(signed, byteCount: offered.content.count)
        } catch {
            guard error.code == .treeMalformedNode else { throw error }
            refusedCount += 1
            return
        }
        arrived.append(offered.name)
        touched.insert(signed.context.instance)
        takenCount += 1
        if let bytes = signed.body.statement, signed.context.accountID == repository.author.accountID,
            signed.context.deviceID != repository.author.deviceID
        {
            statements.append((signed.context.deviceID, signed.context.instance, bytes))
        }
        if let note = signed.body.keyLogNote, signed.context.deviceID != repository.author.deviceID {
            keyLogNotes[note] = max(keyLogNotes[note] ?? .min, signed.body.time)
            if keyLogNotes.count > Self.keyLogNoteCountMax, let oldest = keyLogNotes.min(by: { $0.value < $1.value }) {
                keyLogNotes[oldest.key] = nil
            }
        }
    }

    /// Section 6, step 3: what a device states that is not here, if it signed it.
    private func note(withheldBy entry: UnverifiedEntry?) throws(StorageError) {
        let members = try repository.ask { (machine) in machine.members }
        guard let entry, members.isSigned(entry, in: repository.keys.vaultID) else { return }
        switch members.standing(of: entry.context) {
        case .withheld: withheld.append(entry.context)
        case .contradicted: forkers.insert(entry.context.author)
        case .known: break
        }
    }

    /// I2: whether an entry of this device shows that the server has its log as it is here.
    private func isOwn(_ entry: SignedEntry) throws(StorageError) -> Bool {
        let (instance, name) = (entry.context.instance, entry.name)
        if case .gone = entry.body.changes {
            try lookAtBareForm(entry)
            return false
        }
        if copied.contains(where: { $0.instance == instance }) { return false }
        guard let log = watched[instance] else { return true }
        let isKnown = try repository.ask { (machine) throws(StorageError) in
            try machine.store.dot(of: name) != nil
        }
        if isKnown { return true }
        let isBeside = entry.body.number <= log.tip?.number ?? 0
        guard log.isUnshared || isBeside else { return true }
        if log.isUnshared || !log.isLeft { copied.append(LeftLog(instance: instance, tip: log.tip)) }
        return false
    }

    /// A bare form has a name of its own; whoever deletes for good makes it. Of an entry that this copy did not write it tells as
    /// much as that entry.
    private func lookAtBareForm(_ form: SignedEntry) throws(StorageError) {
        let instance = form.context.instance
        guard let log = watched[instance], log.isUnshared, !copied.contains(where: { $0.instance == instance }) else {
            return
        }
        let isOther = try repository.ask { (machine) throws(StorageError) in
            guard form.body.number <= log.tip?.number ?? 0 else { return true }
            let known = try machine.store.entries(at: Dot(instance, form.body.number)).map(\.entry.body)
            return !known.isEmpty
                && !known.contains {
                    $0.before == form.body.before && $0.time == form.body.time && $0.height == form.body.height
                }
        }
        if isOther { copied.append(LeftLog(instance: instance, tip: log.tip)) }
    }

    private func deferEntry(_ offered: Offered, for names: [BlobName]) {
        deferredByteCount += offered.blob.bytes.count
        guard deferredByteCount <= Self.deferredByteCountMax else {
            hasLeft = true
            return
        }
        deferred[offered.name] = offered
        wanted.formUnion(names)
    }
}
