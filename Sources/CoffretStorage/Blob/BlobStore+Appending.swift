// How a transaction reaches the journal. The one thing to keep true: one write and one sync for an
// ordinary one; and a segment is changed only where nothing acknowledged lies.

internal import CoffretBase
internal import CoffretCrypto

/// What a transaction makes of the state, and where it says so.
enum StateChange {
    /// This state, in a record of its own.
    case full(RepositoryState)
    /// This state, of which only the memory of the sync is another, in a record of its own.
    case remembered(RepositoryState)
    /// The state as it is with one more entry, whose record lies at this offset from the transaction's start.
    case appendedHead(BlobName, recordOffset: Int)

    /// What the record of its own holds.
    fileprivate var recordContent: (form: TransactionTrailer.State, type: BlobType, bytes: [UInt8]) {
        switch self {
        case .full(let state): (.full, .repositoryState, state.encode())
        case .remembered(let state): (.changed, .syncMemory, state.encodedMemory)
        case .appendedHead: (.appendedHead, .repositoryState, [])
        }
    }
}

extension BlobStore {
    package func beginTransaction() throws(StorageError) -> any BlobTransactionWriter { try begin() }

    /// Begins a transaction; see `BlobRepositoryBackend.beginTransaction`.
    package func begin() throws(StorageError) -> BlobTransaction {
        guard isWritable else { throw StorageError(isBroken ? .unusable : .readOnly, place: directory) }
        precondition(!isInTransaction, "one transaction at a time")
        if let staging {
            guard !staging.hasFailed else { throw StorageError(.unusable, place: directory) }
            return BlobTransaction(store: self, partOf: staging.transaction)
        }
        return BlobTransaction(store: self)
    }

    /// Appends a transaction to the journal.
    ///
    /// - Parameters:
    ///   - records: whole records of blobs.
    ///   - blobs: where each lies in `records`.
    ///   - change: what the state becomes.
    ///   - isCheckpoint: also stores an index run, so that the next opening begins here.
    func append(
        records: [UInt8], blobs: [(BlobAddress, RecordLocation)], _ change: StateChange, isCheckpoint: Bool
    ) throws(StorageError) {
        guard isWritable else { throw StorageError(.unusable, place: directory) }
        var transaction = records
        var blobs = blobs
        let form: TransactionTrailer.State
        let stateRecordOffset: Int
        switch change {
        case .appendedHead(_, let recordOffset):
            form = .appendedHead
            stateRecordOffset = recordOffset
        case .full, .remembered:
            let content = change.recordContent
            form = content.form
            let bytes = content.bytes
            let record = try sealer.appendRecord(type: content.type, content: bytes.span, to: &transaction)
            stateRecordOffset = record.location.byteOffset
            blobs.append((record.address, record.location))
        }
        let runReserve = isCheckpoint ? active.runByteCountMax(addedCount: blobs.count) : 0
        let neededByteCount = transaction.count + runReserve + TransactionTrailer.byteCount
        if active.endOffset + neededByteCount > active.capacityByteCount {
            try roll(neededByteCount: neededByteCount)
        }
        var newRuns: [IndexRun]?
        if isCheckpoint { newRuns = try active.appendRun(to: &transaction, adding: blobs) }
        active.appendTrailer(to: &transaction, state: form, stateRecordOffset: stateRecordOffset)
        let start = active.endOffset
        do throws(StorageError) {
            try active.append(transaction, blobs: blobs, change)
        } catch {
            isBroken = true
            throw error
        }
        if let newRuns { active.adoptRuns(newRuns, stateRecordOffset: start + stateRecordOffset) }
    }

    /// Goes on in a new segment: makes it, seals the old one with its index, and lists both.
    ///
    /// A crash before the manifest is replaced leaves the old segment active: its index is then cut off
    /// again, and the new one is an orphan.
    private func roll(neededByteCount: Int) throws(StorageError) {
        let roomByteCount = min(context.environment.tuning.segmentByteCountMax, active.capacityByteCount * 2)
        let neededByteCount = SegmentKind.journal.recordsOffset + 4096 + neededByteCount
        let fresh = try ActiveSegment.create(
            number: takeNumber(), firstSequence: active.lastSequence + 1, state: state,
            byteCount: max(roomByteCount, neededByteCount), context: context, sealer: sealer)
        do throws(StorageError) {
            try translatingFileErrors(context.fileSystem.synchronizeDirectory(context.path("journal")))
            let sealed = try active.seal()
            let number = fresh.number
            try replaceManifest {
                $0.sealed.append(sealed)
                $0.activeSegment = number
            }
        } catch {
            // The old segment may end in half an index now; opening anew sorts it out.
            isBroken = true
            throw error
        }
        active = fresh
    }
}

extension ActiveSegment {
    /// Writes index and footer behind the last transaction and cuts the file there.
    func seal() throws(StorageError) -> Manifest.SealedEntry {
        let seal = SealedFileFooter.encodeSeal(
            recordsEndOffset: endOffset, sorted: try allEntries(), lastSequence: lastSequence, salt: salt,
            authenticator: context.authenticator)
        try translatingFileErrors { () throws(FileSystemError) in
            try file.write(seal, at: endOffset)
            try file.truncate(to: endOffset + seal.count)
            try file.synchronizeData()
        }
        return Manifest.SealedEntry(id: id, byteCount: endOffset + seal.count)
    }

    /// The most bytes that the record of a run can take now.
    func runByteCountMax(addedCount: Int) -> Int {
        let entryCount = locations.count + addedCount + runs.reduce(0) { $0 + $1.run.entryCount }
        return RecordHeader.byteCount + IndexPage.pageCount(entryCount: entryCount) * IndexPage.byteCount
    }

    /// Appends an index run over all blobs that no run holds yet, those of this transaction included.
    ///
    /// Runs of less than twice its size are merged into it, so that there are never more than the
    /// logarithm of the number of blobs.
    /// - Returns: the runs of the segment once the transaction is in place.
    func appendRun(
        to transaction: inout [UInt8], adding blobs: [(BlobAddress, RecordLocation)]
    ) throws(StorageError) -> [IndexRun] {
        var entries = locations.map { IndexEntry(prefix: $0.key.value.word0, location: $0.value) }
        for (address, location) in blobs {
            entries.append(IndexEntry(prefix: address.value.word0, location: location.moved(by: endOffset)))
        }
        var kept = runs
        while let last = kept.last,
            last.run.entryCount <= 2 * entries.count || kept.count >= PositionHint.runCountMax
        {
            do throws(StorageError) {
                entries += try last.reader.allEntries()
            } catch {
                // Derived data: leave it all out, and let the next opening start from the beginning.
                guard error.code == .indexDamaged else { throw error }
                context.environment.notify(StorageNotice(.indexRebuilt, place: place))
                entries = try recordEntries(adding: blobs)
                kept = []
                break
            }
            kept.removeLast()
        }
        entries = Array(Set(entries)).sorted()
        let pages = IndexPage.encode(sorted: entries, salt: salt, context.authenticator)
        RecordHeader.append(.indexRun, payloadByteCount: pages.count, to: &transaction)
        let run = IndexRun(byteOffset: endOffset + transaction.count, entryCount: entries.count)
        transaction += pages
        return kept.map(\.run) + [run]
    }

    /// The entries of all blobs from the records themselves.
    private func recordEntries(adding blobs: [(BlobAddress, RecordLocation)]) throws(StorageError) -> [IndexEntry] {
        let scanner = try makeScanner(offset: SegmentKind.journal.recordsOffset, nextSequence: header.firstSequence)
        var entries = blobs.map { IndexEntry(prefix: $0.0.value.word0, location: $0.1.moved(by: endOffset)) }
        while scanner.offset < endOffset, let transaction = try scanner.next() {
            entries += transaction.blobs.map { IndexEntry(prefix: $0.address.value.word0, location: $0.location) }
        }
        return entries
    }

    /// Goes over to new runs once their transaction is durable, and hints at them.
    func adoptRuns(_ newRuns: [IndexRun], stateRecordOffset: Int) {
        let old = runs
        runs = newRuns.map { run in
            if let same = old.first(where: { $0.run == run }) { return same }
            return (
                run,
                SortedIndexReader(
                    file: file, byteOffset: run.byteOffset, entryCount: run.entryCount, sharedPrefixBitCount: 0,
                    salt: salt, authenticator: context.authenticator)
            )
        }
        locations.removeAll(keepingCapacity: true)
        put(makeHint(scanOffset: endOffset, stateRecordOffset: stateRecordOffset))
    }
}
