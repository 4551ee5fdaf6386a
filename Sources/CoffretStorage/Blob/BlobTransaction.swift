// Blobs on their way to the disk. The one thing to keep true: until `commit` has returned nothing
// refers to them, and after it they are durable together with the state that does.

internal import CoffretBase
internal import CoffretCrypto
internal import Glibc

/// Collects blobs, and commits them with a new state.
///
/// A small transaction is kept in memory and becomes one write and one sync. One that grows beyond
/// `StorageTuning.bulkByteCountMin` goes to bulk segments of its own as it grows, so that memory stays bounded; they
/// are complete and listed before the journal speaks of them, and are mere garbage if it never does.
package final class BlobTransaction: BlobTransactionWriter {
    private let store: BlobStore
    private let tuning: StorageTuning
    /// Whole records, not written yet.
    private var records: [UInt8] = []
    private var pending: [BlobAddress: RecordLocation] = [:]
    private var bulk: SealedFileWriter?
    private var bulkLocations: [BlobAddress: RecordLocation] = [:]
    private var finishedBulk: [Manifest.SealedEntry] = []
    private var isEnded = false
    /// The transaction of which this one is a part (`BlobStore.beginStaging`).
    private let whole: BlobTransaction?

    init(store: BlobStore, partOf whole: BlobTransaction? = nil) {
        self.store = store
        self.whole = whole
        tuning = store.context.environment.tuning
        store.isInTransaction = true
    }

    deinit { cancel() }

    @discardableResult
    package func writeBlob(type: BlobType, content: Span<UInt8>) throws(StorageError) -> BlobName {
        precondition(!isEnded, "the transaction has ended")
        if let whole { return try whole.writeBlob(type: type, content: content) }
        let prepared = try store.sealer.prepare(type: type, content: content)
        let address = store.sealer.address(of: prepared.name, epoch: store.sealer.currentEpoch)
        guard try !holds(address), try !store.contains(address) else { return prepared.name }
        if records.count + prepared.sealedByteCount > tuning.bulkByteCountMin { try moveToBulk() }
        pending[address] = store.sealer.appendRecord(prepared, address: address, to: &records)
        return prepared.name
    }

    /// Appends a blob from elsewhere, which was verified, as it is.
    func append(sealed blob: SealedBlob) throws(StorageError) {
        precondition(!isEnded, "the transaction has ended")
        if let whole { return try whole.append(sealed: blob) }
        if records.count + blob.bytes.count > tuning.bulkByteCountMin { try moveToBulk() }
        pending[blob.address] = BlobSealer.appendRecord(blob, to: &records)
    }

    package func commit(state: RepositoryState, isCheckpoint: Bool) throws(StorageError) {
        precondition(!isEnded, "the transaction has ended")
        if whole != nil { return endPart(state) }
        if bulk != nil || !finishedBulk.isEmpty { try finishBulk() }
        var same = store.state
        same.memory = state.memory
        let isMemoryAlone = !isCheckpoint && same == state
        try end(isMemoryAlone ? .remembered(state) : .full(state), isCheckpoint: isCheckpoint)
    }

    package func commit(appendingHead head: BlobName) throws(StorageError) {
        precondition(!isEnded, "the transaction has ended")
        if whole != nil {
            var state = store.state
            state.entries.append(head)
            return endPart(state)
        }
        if bulk != nil || !finishedBulk.isEmpty {
            // Not in a file that counts before the state does: an entry that was never acknowledged must not lie there.
            try finishBulk(except: store.sealer.address(of: head, epoch: store.sealer.currentEpoch))
        }
        // The state itself is not looked at, and not copied: its tail has a thousand commits at times.
        guard bulk == nil, finishedBulk.isEmpty, let appended = appendedHead(head) else {
            var state = store.state
            state.entries.append(head)
            return try commit(state: state, isCheckpoint: false)
        }
        try end(appended, isCheckpoint: false)
    }

    /// The state is that of the store for who works inside, and nobody else's.
    private func endPart(_ state: RepositoryState) {
        isEnded = true
        store.isInTransaction = false
        store.stage(state)
    }

    private func end(_ change: StateChange, isCheckpoint: Bool) throws(StorageError) {
        isEnded = true
        store.isInTransaction = false
        try store.append(
            records: records, blobs: pending.map { ($0.key, $0.value) }, change, isCheckpoint: isCheckpoint)
        store.onDurable?(store.lastSequence)
    }

    package func cancel() {
        guard !isEnded else { return }
        isEnded = true
        store.isInTransaction = false
        // Of what a part wrote something lies in the whole.
        if whole != nil { return store.failStaging() }
        records = []
        pending = [:]
        var abandoned = finishedBulk.map(\.id)
        if let bulk { abandoned.append(bulk.id) }
        // What cannot be removed now is an orphan that the next writer removes.
        for id in abandoned { try? store.context.fileSystem.remove(store.context.path(id.relativePath)) }
    }

    private func appendedHead(_ head: BlobName) -> StateChange? {
        pending[store.sealer.address(of: head, epoch: store.sealer.currentEpoch)].map {
            .appendedHead(head, recordOffset: $0.byteOffset)
        }
    }

    // MARK: Large transactions

    /// - Parameter exception: the record that stays.
    private func moveToBulk(except exception: BlobAddress? = nil) throws(StorageError) {
        for (address, location) in pending.sorted(by: { $0.value.byteOffset < $1.value.byteOffset })
        where address != exception {
            let writer = try bulkWriter()
            let end = location.byteOffset + location.recordByteCount
            bulkLocations[address] = try unsafe records.lending(location.byteOffset..<end) {
                (record) throws(StorageError) in try unsafe writer.append(record: record, address: address)
            }
            if writer.recordsEndOffset >= tuning.bulkSegmentByteCountMax { try finishBulkSegment() }
        }
        let kept = exception.flatMap { pending[$0] }.map { location in
            (
                Array(records[location.byteOffset..<location.byteOffset + location.recordByteCount]),
                RecordLocation(byteOffset: 0, sealedByteCount: location.sealedByteCount)
            )
        }
        records.removeAll(keepingCapacity: true)
        pending.removeAll(keepingCapacity: true)
        guard let kept, let exception else { return }
        records = kept.0
        pending[exception] = kept.1
    }

    private func bulkWriter() throws(StorageError) -> SealedFileWriter {
        if let bulk { return bulk }
        let writer = try SealedFileWriter(.segment(.bulk, store.takeNumber()), context: store.context)
        bulk = writer
        return writer
    }

    private func finishBulkSegment() throws(StorageError) {
        guard let bulk else { return }
        finishedBulk.append(try bulk.finish())
        self.bulk = nil
        bulkLocations.removeAll(keepingCapacity: true)
    }

    /// Makes the bulk segments part of the store, which is harmless while no state refers to them.
    private func finishBulk(except exception: BlobAddress? = nil) throws(StorageError) {
        try moveToBulk(except: exception)
        try finishBulkSegment()
        let context = store.context
        try translatingFileErrors(context.fileSystem.synchronizeDirectory(context.path("journal")))
        let entries = finishedBulk
        finishedBulk = []
        try store.replaceManifest { $0.sealed += entries }
    }

    // MARK: Reading what is not committed yet

    package func readBlob<Result>(
        _ name: BlobName, type: BlobType, _ body: (Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        if let found = try readOwn(name, type: type, body) { return found }
        do throws(StorageError) { return try store.readBlob(name, type: type, body) } catch {
            // As in the store: a blob of another type is here.
            guard error.code == .blobMissing, try holds(name) else { throw error }
            throw StorageError(.blobAuthenticationFailed, place: name.description)
        }
    }

    /// As `readBlob`, of what this transaction wrote; nil for anything else.
    func readOwn<Result>(
        _ name: BlobName, type: BlobType, _ body: (Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result? {
        for epoch in store.sealer.epochsNewestFirst {
            let address = store.sealer.address(of: name, epoch: epoch)
            let found = try unsafe withSealedBlob(address) { (sealed) throws(StorageError) -> Result? in
                try unsafe store.sealer.open(sealed, name: name, type: type) {
                    (_, content) throws(StorageError) -> Result in try body(content)
                }
            }
            if let found { return found }
        }
        return nil
    }

    package func containsBlob(_ name: BlobName) throws(StorageError) -> Bool {
        if try holds(name) { return true }
        return try store.containsBlob(name)
    }

    /// Whether this transaction wrote a blob.
    func holds(_ name: BlobName) throws(StorageError) -> Bool {
        for epoch in store.sealer.epochsNewestFirst {
            if try holds(store.sealer.address(of: name, epoch: epoch)) { return true }
        }
        return false
    }

    private func holds(_ address: BlobAddress) throws(StorageError) -> Bool {
        if pending[address] != nil || bulkLocations[address] != nil { return true }
        for entry in finishedBulk where try store.openFile(entry).location(of: address) != nil { return true }
        return false
    }

    private func withSealedBlob<Result>(
        _ address: BlobAddress, _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result?
    ) throws(StorageError) -> Result? {
        if let location = pending[address] {
            let start = location.byteOffset + RecordHeader.blobPrefixByteCount
            // A copy, because `body` may write further blobs and so move the records.
            let sealed = Array(records[start..<start + location.sealedByteCount])
            return try unsafe sealed.lending(0..<sealed.count, body)
        }
        let scratch = ScratchBuffer(capacity: 4096)
        if let bulk, let location = bulkLocations[address] {
            return try unsafe bulk.withSealedBlob(address, at: location, scratch: scratch, body)
        }
        var isDamaged = false
        for entry in finishedBulk {
            if let result = try unsafe store.openFile(entry).withSealedBlob(
                address, scratch: scratch, isDamaged: &isDamaged, body)
            {
                return result
            }
        }
        return nil
    }
}

extension Array where Element == UInt8 {
    /// Lends a part of the bytes to a body that throws storage errors.
    func lending<Value>(
        _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        try unsafe withUnsafeBytes { bytes -> Swift.Result<Value, StorageError> in
            do throws(StorageError) {
                return .success(try unsafe body(UnsafeRawBufferPointer(rebasing: bytes[range])))
            } catch {
                return .failure(error)
            }
        }.get()
    }
}
