// The file that SQLite believes to be a plain database. Invariant: what lies on disk is sealed, and is at every moment
// a state that some transaction committed, or one to be rebuilt.

internal import CoffretBase
internal import CoffretCrypto

/// The pages of one sealed database: main file, log laid over it, and the transaction at hand.
///
/// SQLite's calls arrive through `SealedVFS`; `SealedDatabase` holds the lock and says when a
/// transaction is complete. A transaction's pages are sealed as SQLite writes them, into the record
/// that goes to the log in one write.
@safe final class SealedFile {
    private let main: any OpenFile
    private let log: any OpenFile
    private let key: SealedDatabaseKey
    private let random: any RandomSource
    private var sealer: PageSealer
    private var header: SealedHeader
    private var headerBytes: [UInt8]
    private var logState: SealedLog
    /// Pages in the main file alone.
    private var mainPageCount: UInt32 = 0

    /// Writes go straight to the main file, whose header says that it is being made.
    private var isBuilding = false
    /// Slot in `pendingPages` by page number.
    private var pendingSlots: [UInt32: Int] = [:]
    private let pendingPages = PageBuffer(headByteCount: SealedLog.headByteCount)
    private var pendingPageCount: UInt32?
    /// Of the transaction at hand, as `head`.
    private var pendingHead: [UInt8]?
    private let scratch = PageBuffer(capacity: 1)

    /// The beginning of page 1, opened, and where that page lay: in the log, or in the main file beneath a log of this salt.
    private var head: (location: SealedLog.Location?, logSalt: [UInt8], bytes: [UInt8])?

    /// Why SQLite was last told of a failure; its own result codes are coarser.
    private(set) var failure: SQLiteError?
    /// Bytes written to log and main file since opening.
    private(set) var writtenByteCount = 0
    /// Whether a log whose end did not verify was found and cut.
    private(set) var didDiscardTornLog = false

    /// Reads what lies there. Under the shared or exclusive lock.
    ///
    /// - Throws: `SQLiteError`: a `sealed…` code if the database has to be made anew.
    init(
        main: any OpenFile, log: any OpenFile, key: SealedDatabaseKey, random: any RandomSource
    ) throws(SQLiteError) {
        self.main = main
        self.log = log
        self.key = key
        self.random = random
        headerBytes = try Self.readHeader(main)
        sealer = key.sealer(databaseID: try SealedHeader.unverifiedDatabaseID(of: headerBytes), random: random)
        header = try SealedHeader(verifying: headerBytes, sealer: sealer)
        logState = SealedLog(salt: header.logSalt)
        guard header.state == .complete else { throw SQLiteError(.sealedUnfinished, place: "header") }
        try readSizes()
    }

    /// Empties the files and starts a database that counts once `finishBuilding` is done. Under the
    /// exclusive lock, which stays until then.
    init(
        building main: any OpenFile, log: any OpenFile, key: SealedDatabaseKey, random: any RandomSource
    ) throws(SQLiteError) {
        self.main = main
        self.log = log
        self.key = key
        self.random = random
        isBuilding = true
        header = SealedHeader(
            state: .building, databaseID: random.bytes(count: PageSealer.databaseIDByteCount),
            logSalt: random.bytes(count: SealedHeader.saltByteCount))
        sealer = key.sealer(databaseID: header.databaseID, random: random)
        headerBytes = header.encode(sealer)
        logState = SealedLog(salt: header.logSalt)
        try onDisk { () throws(FileSystemError) in
            try main.truncate(to: 0)
            try main.write(headerBytes, at: 0)
            try main.truncate(to: PageSealer.pageByteCount)
            try log.truncate(to: 0)
        }
    }

    /// Syncs the pages, then says in the header that they are complete.
    ///
    /// The order is what matters: if a power cut takes the header the database is made again.
    func finishBuilding() throws(SQLiteError) {
        header.state = .complete
        headerBytes = header.encode(sealer)
        try onDisk { () throws(FileSystemError) in
            try main.synchronizeData()
            try main.write(headerBytes, at: 0)
        }
        isBuilding = false
    }

    // MARK: Keeping up with other processes

    /// Takes in what others committed since the last lock.
    ///
    /// - Returns: false if another database lies there now, so that nothing known of this one holds.
    func refresh() throws(SQLiteError) -> Bool {
        precondition(pendingSlots.isEmpty && !isBuilding, "a transaction ends before its lock")
        let bytes = try Self.readHeader(main)
        if bytes != headerBytes {
            let databaseID = try SealedHeader.unverifiedDatabaseID(of: bytes)
            guard databaseID == header.databaseID else { return false }
            header = try SealedHeader(verifying: bytes, sealer: sealer)
            headerBytes = bytes
            guard header.state == .complete else { throw SQLiteError(.sealedUnfinished, place: "header") }
            logState = SealedLog(salt: header.logSalt)
        }
        try readSizes()
        return true
    }

    private static func readHeader(_ main: any OpenFile) throws(SQLiteError) -> [UInt8] {
        do throws(FileSystemError) {
            return try main.read(byteCount: SealedHeader.byteCount, at: 0)
        } catch {
            guard error.code == .endOfFile else { throw SQLiteError(error) }
            let isEmpty = (try? main.byteCount()) == 0
            throw SQLiteError(isEmpty ? .sealedMissing : .sealedDamaged, place: "header")
        }
    }

    private func readSizes() throws(SQLiteError) {
        try onDisk { () throws(FileSystemError) in
            // A file that was cut may end inside its first page.
            mainPageCount = UInt32(clamping: max(0, try main.byteCount() / PageSealer.pageByteCount - 1))
            try logState.readRecords(from: log, sealer: sealer)
        }
    }

    /// Cuts what follows the last whole record, so that a new one joins it. Under the exclusive lock.
    func discardTornLog() throws(SQLiteError) {
        try onDisk { () throws(FileSystemError) in
            guard try log.byteCount() > logState.endByteOffset else { return }
            try log.truncate(to: logState.endByteOffset)
            didDiscardTornLog = true
        }
    }

    // MARK: What SQLite sees

    var pageCount: UInt32 {
        pendingPageCount ?? (isBuilding ? mainPageCount : logState.databasePageCount ?? mainPageCount)
    }

    /// Opens one page into `target` (4096 bytes).
    ///
    /// - Returns: false, with the reason in `failure`, if it cannot be read or does not open.
    func readPage(_ number: UInt32, into target: UnsafeMutableRawPointer) -> Bool {
        let sealed = unsafe scratch.page(0)
        do throws(SQLiteError) {
            if let slot = pendingSlots[number] {
                let page = unsafe pendingPages.page(slot)
                guard unsafe sealer.open(page.baseAddress!, number: number, into: target) else {
                    throw SQLiteError(.sealedDamaged, place: "page")
                }
                return true
            }
            let location = isBuilding ? nil : logState.locations[number]
            let count = try onDisk { () throws(FileSystemError) in
                if let location { return try unsafe log.read(into: sealed, at: location.byteOffset) }
                return try unsafe main.read(into: sealed, at: Int(number) * PageSealer.pageByteCount)
            }
            guard count == PageSealer.pageByteCount,
                unsafe location == nil || location?.tag == PageTag(ofSealedPage: UnsafeRawBufferPointer(sealed)),
                unsafe sealer.open(sealed.baseAddress!, number: number, into: target)
            else { throw SQLiteError(.sealedDamaged, place: "page") }
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Opens every page of the state that readers see.
    func verifyPages() throws(SQLiteError) {
        guard pageCount > 0 else { return }
        try unsafe withUnsafeTemporaryAllocation(byteCount: PageSealer.pageByteCount, alignment: 16) {
            page throws(SQLiteError) in
            for number in 1...pageCount {
                guard unsafe readPage(number, into: page.baseAddress!) else {
                    throw failure ?? SQLiteError(.sealedDamaged, place: "page")
                }
            }
        }
    }

    /// Copies a part of a page's content into `target`.
    ///
    /// SQLite reads sixteen bytes of page 1 at the beginning of each transaction, to see whether others have changed the
    /// database; the page is opened for it only if it is another one than before.
    ///
    /// - Returns: false, with the reason in `failure`, as `readPage`.
    func readPart(_ range: Range<Int>, ofPage number: UInt32, into target: UnsafeMutableRawPointer) -> Bool {
        let isHead = number == 1 && range.upperBound <= Self.headByteCount && !isBuilding && pendingSlots[1] == nil
        let location = logState.locations[number]
        if isHead, let head, head.location == location, head.logSalt == header.logSalt {
            unsafe head.bytes.withUnsafeBytes {
                unsafe target.copyMemory(from: $0.baseAddress! + range.lowerBound, byteCount: range.count)
            }
            return true
        }
        return unsafe withUnsafeTemporaryAllocation(byteCount: PageSealer.pageByteCount, alignment: 16) { page in
            guard unsafe readPage(number, into: page.baseAddress!) else { return false }
            unsafe target.copyMemory(from: page.baseAddress! + range.lowerBound, byteCount: range.count)
            if isHead { head = (location, header.logSalt, unsafe Array(page.prefix(Self.headByteCount))) }
            return true
        }
    }

    /// SQLite's header, at the beginning of its first page.
    private static let headByteCount = 100

    /// Seals a page (4096 bytes) for the transaction at hand, or into the main file of a new database.
    func writePage(_ number: UInt32, from page: UnsafeRawPointer) -> Bool {
        guard isBuilding else {
            let slot = pendingSlots[number] ?? pendingPages.append()
            pendingSlots[number] = slot
            unsafe sealer.seal(page, number: number, into: pendingPages.page(slot).baseAddress!)
            pendingPageCount = max(pageCount, number)
            if number == 1 {
                pendingHead = unsafe Array(UnsafeRawBufferPointer(start: page, count: Self.headByteCount))
            }
            return true
        }
        let sealed = unsafe scratch.page(0)
        unsafe sealer.seal(page, number: number, into: sealed.baseAddress!)
        do throws(SQLiteError) {
            try onDisk(unsafe main.write(UnsafeRawBufferPointer(sealed), at: Int(number) * PageSealer.pageByteCount))
        } catch {
            failure = error
            return false
        }
        writtenByteCount += PageSealer.pageByteCount
        mainPageCount = max(mainPageCount, number)
        return true
    }

    /// Sets the number of pages; SQLite shrinks a database when it takes back a transaction.
    func truncate(toPageCount count: UInt32) {
        if isBuilding {
            mainPageCount = min(mainPageCount, count)
        } else {
            pendingPageCount = count
        }
    }

    // MARK: Transactions

    /// Forgets the pages of the transaction at hand.
    func discardPending() {
        pendingSlots.removeAll()
        pendingPages.removeAll()
        pendingPageCount = nil
        pendingHead = nil
    }

    /// Appends the transaction at hand to the log in one write; not synced, because the database is
    /// derived and a lost end is only an older state.
    ///
    /// - Throws: `SQLiteError`; the transaction is then undone.
    func commitPending() throws(SQLiteError) {
        defer { discardPending() }
        guard !pendingSlots.isEmpty else { return }
        let recordHead = logState.head(pageCount: pendingPages.pageCount, databasePageCount: pageCount)
        var directory: [UInt8] = []
        directory.reserveCapacity(pendingPages.pageCount * SealedLog.entryByteCount)
        for (number, slot) in pendingSlots.sorted(by: { $0.value < $1.value }) {
            directory.appendBigEndian(number)
            unsafe directory.append(contentsOf: pendingPages.page(slot).suffix(PageSealer.tagByteCount))
        }
        let trailer = logState.trailer(head: recordHead, directory: directory, sealer: sealer)
        let record = unsafe pendingPages.record(head: recordHead, trailer: trailer)
        let byteOffset = logState.endByteOffset
        do throws(FileSystemError) {
            try unsafe log.write(record, at: byteOffset)
        } catch {
            // A record that was written in part would be taken for a torn one; remove it if that is possible.
            try? log.truncate(to: byteOffset)
            throw SQLiteError(error)
        }
        writtenByteCount += record.count
        logState.take(
            head: recordHead, directory: directory[...], code: Array(trailer.suffix(PageSealer.codeByteCount)))
        if let pendingHead { head = (logState.locations[1], header.logSalt, pendingHead) }
    }

    /// Where the log's last whole record ends.
    var logEndByteOffset: Int { logState.endByteOffset }

    /// Pages in the log, counting those that were written again.
    var logPageCount: Int { logState.framePageCount }

    /// Copies the log's pages into the main file and starts an empty log.
    ///
    /// Crash-safe by order: the log is durable before the first page is overwritten, the pages before
    /// the header names a new log, and the header before the old log is cut. Pages stay sealed as they are.
    func fold() throws(SQLiteError) {
        guard let pageCount = logState.databasePageCount else { return }
        var folded = header
        folded.logSalt = random.bytes(count: SealedHeader.saltByteCount)
        let foldedBytes = folded.encode(sealer)
        let sealed = unsafe scratch.page(0)
        try onDisk { () throws(FileSystemError) in
            try log.synchronizeData()
            for (number, location) in logState.locations where number <= pageCount {
                guard try unsafe log.read(into: sealed, at: location.byteOffset) == sealed.count else {
                    throw FileSystemError(.endOfFile, place: log.path)
                }
                try unsafe main.write(UnsafeRawBufferPointer(sealed), at: Int(number) * PageSealer.pageByteCount)
                writtenByteCount += PageSealer.pageByteCount
            }
            try main.truncate(to: (Int(pageCount) + 1) * PageSealer.pageByteCount)
            try main.synchronizeData()
            do throws(FileSystemError) {
                try main.write(foldedBytes, at: 0)
                try main.synchronizeData()
            } catch {
                // The log still holds everything; with the header as it was it still counts.
                try main.write(headerBytes, at: 0)
                throw error
            }
            header = folded
            headerBytes = foldedBytes
            mainPageCount = pageCount
            logState = SealedLog(salt: folded.logSalt)
            try log.truncate(to: 0)
        }
    }

    private func onDisk<Result>(_ value: @autoclosure () throws(FileSystemError) -> Result) throws(SQLiteError)
        -> Result
    {
        do throws(FileSystemError) { return try value() } catch { throw SQLiteError(error) }
    }

    /// The same for several statements.
    private func onDisk<Result>(_ body: () throws(FileSystemError) -> Result) throws(SQLiteError) -> Result {
        try onDisk(body())
    }
}
