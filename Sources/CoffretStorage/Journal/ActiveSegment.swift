// The segment that grows. The one thing to keep true: what it answers for was verified when it was
// read, or written by itself and synced.

internal import CoffretBase
internal import CoffretCrypto

/// The journal's newest segment: knows its end, its state and where its blobs lie.
final class ActiveSegment {
    /// How many transactions may pass until the hint is written again.
    static let hintInterval = 32
    /// How far behind its own end a transaction makes sure that there is nothing.
    static let lookaheadByteCount = 64 << 10

    let number: UInt64
    let file: any OpenFile
    let header: SegmentHeader
    let context: StorageContext
    let sealer: BlobSealer

    /// Where the next transaction goes.
    var endOffset: Int
    var lastSequence: UInt64
    var state: RepositoryState
    /// The room that was set aside; the file may be longer if the last transaction needed more.
    var capacityByteCount: Int
    /// Whether the last writer did not end in good order, as far as this one found on opening.
    var wasLeftOpen = false
    /// Up to here the room behind the end is known to hold zeros.
    var emptyThroughOffset = 0
    /// The blobs that no run holds.
    var locations: [BlobAddress: RecordLocation] = [:]
    var runs: [(run: IndexRun, reader: SortedIndexReader)] = []
    /// The hint as it is on disk, if it is right.
    var hint: PositionHint?
    /// A hint for this segment's beginning, when the one on disk was not usable.
    var firstHint: PositionHint?

    var id: StorageFileID { .segment(.journal, number) }
    var place: String { id.relativePath }
    var salt: [UInt8] { header.salt }

    init(
        number: UInt64, file: any OpenFile, header: SegmentHeader, context: StorageContext, sealer: BlobSealer,
        state: RepositoryState
    ) {
        self.number = number
        self.file = file
        self.header = header
        self.context = context
        self.sealer = sealer
        self.state = state
        endOffset = SegmentKind.journal.recordsOffset
        lastSequence = header.firstSequence - 1
        capacityByteCount = 0
    }

    /// Makes a segment whose first transaction holds `state` in full, and makes its bytes durable.
    ///
    /// The room is filled with zeros, not merely reserved: overwriting written blocks costs half of
    /// what first writing reserved ones does at each sync.
    /// - Parameter isClosed: whether nothing else is under way, as when a store is made.
    static func create(
        number: UInt64, firstSequence: UInt64, state: RepositoryState, byteCount: Int, isClosed: Bool = false,
        context: StorageContext, sealer: BlobSealer
    ) throws(StorageError) -> ActiveSegment {
        let path = context.path(StorageFileID.segment(.journal, number).relativePath)
        let file = try translatingFileErrors { () throws(FileSystemError) in
            try context.fileSystem.removeIfPresent(path)
            return try context.fileSystem.open(path, .createNew)
        }
        let header = SegmentHeader(
            kind: .journal, number: number, firstSequence: firstSequence,
            salt: context.environment.random.bytes(count: JournalAuthenticator.saltByteCount))
        let segment = ActiveSegment(
            number: number, file: file, header: header, context: context, sealer: sealer, state: state)
        var transaction: [UInt8] = []
        let record = try sealer.appendRecord(
            type: .repositoryState, content: state.encode().span, to: &transaction)
        segment.appendTrailer(to: &transaction, state: .full, stateRecordOffset: 0)
        let start = segment.endOffset
        segment.endOffset += transaction.count
        segment.lastSequence = firstSequence
        var hint = segment.makeHint(scanOffset: segment.endOffset, stateRecordOffset: start)
        hint.isClosed = isClosed
        var bytes = header.encode(context.authenticator)
        bytes.append(contentsOf: repeatElement(0, count: PositionHint.fileOffset - bytes.count))
        bytes += hint.encode(salt: header.salt, context.authenticator)
        bytes.append(contentsOf: repeatElement(0, count: start - bytes.count))
        bytes += transaction
        try translatingFileErrors { () throws(FileSystemError) in
            try file.write(bytes, at: 0)
            try file.writeZeros(from: bytes.count, to: byteCount)
            try file.synchronizeData()
        }
        segment.hint = hint
        segment.locations[record.address] = record.location.moved(by: start)
        segment.capacityByteCount = max(byteCount, bytes.count)
        segment.emptyThroughOffset = segment.capacityByteCount
        return segment
    }

    func appendTrailer(to transaction: inout [UInt8], state: TransactionTrailer.State, stateRecordOffset: Int) {
        TransactionTrailer.append(
            to: &transaction, start: 0, sequence: lastSequence + 1, state: state,
            stateRecordOffset: stateRecordOffset, salt: salt, authenticator: context.authenticator)
    }

    /// Writes one whole transaction and makes it durable: one write, one sync.
    ///
    /// - Parameter transaction: records and trailer.
    /// - Throws: `.diskFull`, `.fileFailed`; what is on disk then is for the next opening to find out.
    func append(
        _ transaction: [UInt8], blobs: [(BlobAddress, RecordLocation)], _ change: StateChange
    ) throws(StorageError) {
        noteChange()
        try ensureRoomIsEmpty(through: endOffset + transaction.count + Self.lookaheadByteCount)
        try translatingFileErrors { () throws(FileSystemError) in
            try file.write(transaction, at: endOffset)
            try file.synchronizeData()
        }
        for (address, location) in blobs { locations[address] = location.moved(by: endOffset) }
        endOffset += transaction.count
        lastSequence += 1
        switch change {
        case .full(let newState), .remembered(let newState): state = newState
        case .appendedHead(let head, _): state.entries.append(head)
        }
        if lastSequence >= (hint?.endSequence ?? 0) + UInt64(Self.hintInterval) { writeHint() }
    }

    // MARK: Reading

    /// Lends the stored blob at `address`; nil if this segment does not hold it.
    ///
    /// - Parameter isDamaged: set if the segment should hold it but another record lies there.
    func withSealedBlob<Result>(
        _ address: BlobAddress, scratch: ScratchBuffer, isDamaged: inout Bool,
        _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Result?
    ) throws(StorageError) -> Result? {
        for location in try candidates(address) {
            if let result = try unsafe file.withBlobRecord(at: location, of: address, scratch: scratch, body) {
                return result
            }
            isDamaged = true
        }
        return nil
    }

    /// Where the record of `address` lies; nil if this segment does not hold it.
    func location(of address: BlobAddress) throws(StorageError) -> RecordLocation? {
        if let location = locations[address] { return location }
        for location in try candidates(address) {
            if try file.isBlobRecord(at: location, of: address) { return location }
        }
        return nil
    }

    private func candidates(_ address: BlobAddress) throws(StorageError) -> [RecordLocation] {
        if let location = locations[address] { return [location] }
        var found: [RecordLocation] = []
        do throws(StorageError) {
            for (_, reader) in runs { found += try reader.locations(prefix: address.value.word0) }
        } catch {
            guard error.code == .indexDamaged else { throw error }
            try dropRuns()
            return locations[address].map { [$0] } ?? []
        }
        return found
    }

    /// Reads all records again, because a run is damaged.
    private func dropRuns() throws(StorageError) {
        let scanner = try makeScanner(offset: SegmentKind.journal.recordsOffset, nextSequence: header.firstSequence)
        while scanner.offset < endOffset, let transaction = try scanner.next() {
            for blob in transaction.blobs { locations[blob.address] = blob.location }
        }
        guard scanner.offset >= endOffset else { throw StorageError(.journalDamagedSegment, place: place) }
        runs = []
        hint = nil
        context.environment.notify(StorageNotice(.indexRebuilt, place: place))
    }

    func makeScanner(offset: Int, nextSequence: UInt64) throws(StorageError) -> SegmentScanner {
        try SegmentScanner(
            file: file, salt: salt, authenticator: context.authenticator, offset: offset, nextSequence: nextSequence)
    }

    /// The entries of all blobs, sorted: what the index of the sealed segment holds.
    func allEntries() throws(StorageError) -> [IndexEntry] {
        var entries: [IndexEntry] = []
        do throws(StorageError) {
            for (_, reader) in runs { entries += try reader.allEntries() }
        } catch {
            guard error.code == .indexDamaged else { throw error }
            try dropRuns()
            entries = []
        }
        for (address, location) in locations {
            entries.append(IndexEntry(prefix: address.value.word0, location: location))
        }
        return entries.sorted()
    }

    // MARK: The hint

    func makeHint(scanOffset: Int, stateRecordOffset: Int) -> PositionHint {
        PositionHint(
            scanOffset: scanOffset, scanSequence: lastSequence, stateRecordOffset: stateRecordOffset,
            endOffset: endOffset, endSequence: lastSequence, isClosed: false, runs: runs.map(\.run))
    }

    /// Writes the hint again with today's end. Not synced; failing is no error, since it is derived.
    ///
    /// - Parameter isClosed: whether everything this writer did is durable and it does nothing more.
    func writeHint(isClosed: Bool = false) {
        guard var hint else { return }
        hint.isClosed = isClosed
        hint.endOffset = endOffset
        hint.endSequence = lastSequence
        put(hint)
    }

    /// Before the first change of a session: from here on, until the store is closed, the next writer
    /// must not take anything on disk as durable.
    func noteChange() {
        if hint?.isClosed == true { writeHint() }
    }

    func put(_ hint: PositionHint) {
        self.hint = hint
        try? file.write(hint.encode(salt: salt, context.authenticator), at: PositionHint.fileOffset)
    }
}

extension RecordLocation {
    func moved(by distance: Int) -> RecordLocation {
        RecordLocation(byteOffset: byteOffset + distance, sealedByteCount: sealedByteCount)
    }
}

extension OpenFile {
    /// Writes zeros over the range, in blocks.
    func writeZeros(from start: Int, to end: Int) throws(FileSystemError) {
        let block = [UInt8](repeating: 0, count: min(max(end - start, 0), 1 << 20))
        var offset = start
        while offset < end {
            let byteCount = min(block.count, end - offset)
            try write(byteCount == block.count ? block : Array(block[..<byteCount]), at: offset)
            offset += byteCount
        }
    }
}

extension BlobSealer {
    /// Seals content and appends its whole record: header, address, stored blob.
    ///
    /// - Returns: name, address, and where in `bytes` the record lies.
    @discardableResult
    func appendRecord(
        type: BlobType, content: Span<UInt8>, to bytes: inout [UInt8]
    ) throws(StorageError) -> (name: BlobName, address: BlobAddress, location: RecordLocation) {
        let prepared = try prepare(type: type, content: content)
        let address = address(of: prepared.name, epoch: currentEpoch)
        return (prepared.name, address, appendRecord(prepared, address: address, to: &bytes))
    }

    /// Appends the record of a blob that is sealed already.
    static func appendRecord(_ blob: SealedBlob, to bytes: inout [UInt8]) -> RecordLocation {
        let location = RecordLocation(byteOffset: bytes.count, sealedByteCount: blob.bytes.count)
        RecordHeader.append(.blob, payloadByteCount: 32 + blob.bytes.count, to: &bytes)
        unsafe withBytes(of: blob.address.value) { unsafe bytes.append(contentsOf: $0) }
        bytes += blob.bytes
        return location
    }

    /// Appends the record of what was prepared last.
    func appendRecord(_ prepared: Prepared, address: BlobAddress, to bytes: inout [UInt8]) -> RecordLocation {
        let location = RecordLocation(byteOffset: bytes.count, sealedByteCount: prepared.sealedByteCount)
        RecordHeader.append(.blob, payloadByteCount: 32 + prepared.sealedByteCount, to: &bytes)
        unsafe withBytes(of: address.value) { unsafe bytes.append(contentsOf: $0) }
        seal(prepared, into: &bytes)
        return location
    }
}
