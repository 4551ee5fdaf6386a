// Opening the segment that grows, after whatever happened to it. The one thing to keep true: an
// append that was never acknowledged may vanish with a notice; an acknowledged one never without an
// error.

internal import CoffretBase
internal import CoffretCrypto

/// What to do when acknowledged transactions turn out to be lost.
package enum DamagedTailPolicy: Sendable {
    /// Refuse to open: `.journalDamagedTail`.
    case refuse
    /// Go on with what is left, with a notice: for checks and for repair that a person asked for.
    case accept
}

extension ActiveSegment {
    /// Opens segment `number` and reads it as far as needed.
    ///
    /// - Parameter isWriter: also makes the end fit for appending: unfinished bytes are removed, and
    ///   what may not be durable is written again.
    /// - Throws: `.journalDamagedSegment`, `.journalDamagedTail`, `.formatUnsupported`, `.fileFailed`.
    static func open(
        number: UInt64, isWriter: Bool, damagedTail: DamagedTailPolicy, context: StorageContext, sealer: BlobSealer
    ) throws(StorageError) -> ActiveSegment {
        let id = StorageFileID.segment(.journal, number)
        let (file, head) = try translatingFileErrors { () throws(FileSystemError) in
            let file = try context.fileSystem.open(context.path(id.relativePath), isWriter ? .readWrite : .read)
            let head = try file.readAvailable(byteCount: PositionHint.fileOffset + PositionHint.byteCount, at: 0)
            return (file, head)
        }
        let header = try SegmentHeader.parse(
            Array(head.prefix(SegmentHeader.byteCount)), place: id.relativePath, authenticator: context.authenticator)
        guard header.kind == .journal, header.number == id.headerNumber, header.firstSequence > 0 else {
            throw StorageError(.journalDamagedSegment, place: id.relativePath)
        }
        let segment = ActiveSegment(
            number: number, file: file, header: header, context: context, sealer: sealer, state: RepositoryState())
        let hint = PositionHint.parse(
            Array(head.dropFirst(PositionHint.fileOffset)), salt: header.salt, authenticator: context.authenticator)
        if let hint { try segment.start(from: hint) }
        let stop = try segment.readTail(hintedEndSequence: hint?.endSequence, damagedTail: damagedTail)
        segment.capacityByteCount = try translatingFileErrors(file.byteCount())
        if isWriter { try segment.makeFitForAppending(stop: stop) }
        return segment
    }

    /// Takes runs, state and position from a hint that verified; a hint whose state cannot be read is
    /// left aside, and the segment is read from its start.
    private func start(from hint: PositionHint) throws(StorageError) {
        guard let (state, record) = try stateBlob(at: hint.stateRecordOffset) else { return }
        self.hint = hint
        self.state = state
        // Only the segment's own first record is in no run and before the scan.
        if hint.runs.isEmpty { locations[record.address] = record.location }
        endOffset = hint.scanOffset
        lastSequence = hint.scanSequence
        runs = hint.runs.map { run in
            (
                run,
                SortedIndexReader(
                    file: file, byteOffset: run.byteOffset, entryCount: run.entryCount, sharedPrefixBitCount: 0,
                    salt: salt, authenticator: context.authenticator)
            )
        }
    }

    /// The state in the record at `offset`; nil if there is no such record or it does not verify.
    private func stateBlob(
        at offset: Int
    ) throws(StorageError) -> (RepositoryState, ScannedTransaction.Blob)? {
        let prefix = try translatingFileErrors(
            file.readAvailable(byteCount: RecordHeader.blobPrefixByteCount + 4, at: offset))
        guard prefix.count == RecordHeader.blobPrefixByteCount + 4, prefix[4] == RecordKind.blob.rawValue,
            let payload = UInt32(bigEndianBytes: prefix[0..<4]).map(Int.init),
            payload >= 32, payload <= 32 + BlobFormat.paddedByteCountMax + BlobFormat.overheadByteCount,
            let address = Bytes32(prefix[5..<37]).map(BlobAddress.init),
            let epoch = UInt32(bigEndianBytes: prefix[37...])
        else { return nil }
        let blob = ScannedTransaction.Blob(
            address: address, location: RecordLocation(byteOffset: offset, sealedByteCount: payload - 32), epoch: epoch)
        return try state(in: blob).map { ($0, blob) }
    }

    /// - Throws: `.formatUnsupported` for a state of an earlier version.
    private func state(in blob: ScannedTransaction.Blob) throws(StorageError) -> RepositoryState? {
        let isEarlier = try content(of: blob, .repositoryState) { bytes in
            bytes.isEmpty ? false : bytes[0] == RepositoryState.earlierFirstByte
        }
        if isEarlier == true { throw StorageError(.formatUnsupported, place: place) }
        return try content(of: blob, .repositoryState, RepositoryState.parse)
    }

    private func content<Content>(
        of blob: ScannedTransaction.Blob, _ type: BlobType, _ parse: (Span<UInt8>) -> Content?
    ) throws(StorageError) -> Content? {
        let parsed = try unsafe file.withBlobRecord(
            at: blob.location, of: blob.address, scratch: ScratchBuffer(capacity: 4096)
        ) { (sealed) throws(StorageError) -> Content?? in
            guard let name = unsafe sealer.name(ofAddress: blob.address, sealed: sealed) else { return nil }
            return try unsafe sealer.open(sealed, name: name, type: type) {
                (_, content) throws(StorageError) -> Content? in parse(content)
            }
        }
        return parsed.flatMap { $0 }
    }

    /// Reads the transactions from `endOffset` on.
    ///
    /// - Returns: what lies behind them.
    @discardableResult
    func readTail(
        hintedEndSequence: UInt64?, damagedTail: DamagedTailPolicy
    ) throws(StorageError) -> SegmentScanner.Stop {
        var suspectOffset: Int?
        while true {
            let scanner = try makeScanner(offset: endOffset, nextSequence: lastSequence + 1)
            try takeTransactions(of: scanner)
            let stop = scanner.stop ?? .empty
            var lostThrough = hintedEndSequence ?? 0
            if stop == .unfinished, let last = try scanner.lastSequenceBehindDamage(after: lastSequence) {
                // A writer may have completed it between the two looks; then the next look gets past it.
                if suspectOffset != endOffset {
                    suspectOffset = endOffset
                    continue
                }
                lostThrough = max(lostThrough, last)
            }
            guard lostThrough > lastSequence else { return stop }
            let place = "\(place) offset \(endOffset): \(lostThrough - lastSequence) transactions lost"
            guard damagedTail == .accept else { throw StorageError(.journalDamagedTail, place: place) }
            context.environment.notify(StorageNotice(.damageAccepted, place: place))
            return .unfinished
        }
    }

    /// Takes all that the scanner finds over into the index, and the last state of it.
    private func takeTransactions(of scanner: SegmentScanner) throws(StorageError) {
        var states = UnreadStates()
        let (offset, sequence) = (endOffset, lastSequence)
        var failure: StorageError?
        do throws(StorageError) {
            while let transaction = try scanner.next() { try take(transaction, &states) }
        } catch {
            failure = error
        }
        // Also after a failure: the state belongs to what was taken. Without it, that is taken again by the next look.
        do throws(StorageError) { try read(states) } catch {
            (endOffset, lastSequence) = (offset, sequence)
            throw error
        }
        if let failure { throw failure }
    }

    /// Takes a verified transaction over into the index; its state is read later.
    private func take(_ transaction: ScannedTransaction, _ states: inout UnreadStates) throws(StorageError) {
        guard let stateBlob = transaction.stateBlob else { throw damaged(at: transaction.startOffset) }
        switch transaction.trailer.state {
        case .full:
            states = UnreadStates(full: stateBlob)
        case .changed:
            states.memory = stateBlob
        case .appendedHead:
            guard let name = sealer.name(ofAddress: stateBlob.address, epoch: stateBlob.epoch) else {
                throw damaged(at: transaction.startOffset)
            }
            states.entries.append(name)
        }
        for blob in transaction.blobs { locations[blob.address] = blob.location }
        endOffset = transaction.endOffset
        lastSequence = transaction.trailer.sequence
        if hint == nil, transaction.startOffset == SegmentKind.journal.recordsOffset {
            // The first transaction's state is full and needs no run: as good a start as any.
            firstHint = makeHint(scanOffset: endOffset, stateRecordOffset: stateBlob.location.byteOffset)
        }
    }

    /// Makes the state that of the last transaction taken.
    private func read(_ states: UnreadStates) throws(StorageError) {
        if let blob = states.full {
            guard let full = try state(in: blob) else { throw damaged(at: blob.location.byteOffset) }
            state = full
        }
        if let blob = states.memory {
            guard let memory = try content(of: blob, .syncMemory, RepositoryState.parseMemory) else {
                throw damaged(at: blob.location.byteOffset)
            }
            state.memory = memory
        }
        state.entries.append(contentsOf: states.entries)
    }

    private func damaged(at offset: Int) -> StorageError {
        StorageError(.journalDamagedSegment, place: "\(place) offset \(offset)")
    }

    /// Makes sure that what was read is durable and that nothing stands behind it.
    ///
    /// After a sync that failed, or none at all, the system may hold pages that never reached the disk
    /// and never will on their own; they are written again here. After a clean end, which the hint
    /// tells, nothing has to be done: what a torn append may have left further behind is found when
    /// appends come near it.
    private func makeFitForAppending(stop: SegmentScanner.Stop) throws(StorageError) {
        emptyThroughOffset = endOffset
        if stop == .empty, let hint, hint.isClosed, hint.endOffset == endOffset, hint.endSequence == lastSequence {
            return
        }
        wasLeftOpen = true
        let durableOffset = hint.map(\.endOffset) ?? SegmentKind.journal.recordsOffset
        if durableOffset < endOffset {
            try translatingFileErrors { () throws(FileSystemError) in
                try file.write(
                    try file.read(byteCount: endOffset - durableOffset, at: durableOffset), at: durableOffset)
                try file.synchronizeData()
            }
        }
        if stop != .empty {
            try clearRoom(isNoticed: stop != .index)
        } else {
            try ensureRoomIsEmpty(through: .max)
        }
        if hint == nil { hint = firstHint }
        writeHint()
    }

    /// Looks at the room up to `offset`, or to the end of the file, and clears it if anything is there.
    ///
    /// Bytes of an unfinished append must go: a shorter one in their place would leave some of them
    /// standing behind it.
    func ensureRoomIsEmpty(through offset: Int) throws(StorageError) {
        while emptyThroughOffset < min(offset, capacityByteCount) {
            let block = try translatingFileErrors(
                file.readAvailable(
                    byteCount: min(
                        max(Self.lookaheadByteCount, min(offset, 1 << 20)), capacityByteCount - emptyThroughOffset),
                    at: emptyThroughOffset))
            if block.isEmpty { return }
            guard block.isAllZero else { return try clearRoom(isNoticed: true) }
            emptyThroughOffset += block.count
        }
    }

    /// Cuts off what stands behind the last transaction and sets empty room aside again.
    private func clearRoom(isNoticed: Bool) throws(StorageError) {
        if isNoticed {
            context.environment.notify(StorageNotice(.unfinishedAppend, place: "\(place) offset \(endOffset)"))
        }
        try translatingFileErrors { () throws(FileSystemError) in
            try file.truncate(to: endOffset)
            try file.synchronizeData()
        }
        refill()
        emptyThroughOffset = capacityByteCount
    }

    /// Sets the room behind the end aside again. Without it appends still work, only slower, so a full
    /// disk is no reason to refuse the store.
    private func refill() {
        let target = max(capacityByteCount, context.environment.tuning.segmentByteCountMin)
        do throws(FileSystemError) {
            try file.writeZeros(from: endOffset, to: target)
            try file.synchronizeData()
            capacityByteCount = target
        } catch {
            try? file.truncate(to: endOffset)
            capacityByteCount = endOffset
        }
    }
}

extension BlobSealer {
    /// The name of a stored blob that lies at `address`, whose first bytes say the epoch.
    func name(ofAddress address: BlobAddress, sealed: UnsafeRawBufferPointer) -> BlobName? {
        guard sealed.count >= 4 else { return nil }
        return name(ofAddress: address, epoch: unsafe sealed.loadBigEndian(UInt32.self, at: 0))
    }
}

/// States of transactions, of which only the last counts: each is sealed, and opening one costs more than
/// finding it.
private struct UnreadStates {
    var full: ScannedTransaction.Blob?
    /// After `full`.
    var memory: ScannedTransaction.Blob?
    /// Appended after `full`.
    var entries: [BlobName] = []
}
