// SQLite's way to sealed files: a VFS whose only file is the main database. Invariant: SQLite gets no other file from
// it, so a journal or a temporary file in clear cannot come about.

internal import CSQLite
internal import CoffretBase
internal import CoffretCrypto
internal import Glibc
internal import Synchronization

/// The VFS "coffret-sealed" and its callbacks.
///
/// SQLite sees plain pages of 4096 bytes whose last 40 it leaves alone. Locks are no-ops here:
/// `SealedDatabase` holds the right one around every transaction, because SQLite's step from shared
/// to exclusive cannot be made in one piece with `flock`.
enum SealedVFS {
    static let name = "coffret-sealed"
    /// SQLITE_IOERR_DATA, whose macro Swift cannot import.
    static let pageDoesNotOpen = SQLITE_IOERR | (32 << 8)
    private static let readFailed = SQLITE_IOERR | (1 << 8)
    private static let shortRead = SQLITE_IOERR | (2 << 8)
    private static let writeFailed = SQLITE_IOERR | (3 << 8)

    /// The memory that SQLite allocates per open file: its own part, then ours.
    @unsafe private struct FileRecord {
        var base: sqlite3_file
        var file: Unmanaged<SealedFile>?
    }

    /// Addresses of the files that are about to be opened, by the name that SQLite is given for them.
    private struct Opening {
        var lastNumber: UInt64 = 0
        var addresses: [String: UInt] = [:]
    }
    private static let opening = Mutex(Opening())

    /// Opens a connection to `file`, which lives at least as long as the connection.
    static func connect(to file: SealedFile) throws(SQLiteError) -> Connection {
        guard registration == SQLITE_OK else { throw SQLiteError(resultCode: registration, place: "register") }
        let unmanaged = unsafe Unmanaged.passRetained(file)
        let address = unsafe UInt(bitPattern: unmanaged.toOpaque())
        let name = opening.withLock { state in
            state.lastNumber += 1
            let name = "sealed-\(state.lastNumber)"
            state.addresses[name] = address
            return name
        }
        do throws(SQLiteError) {
            return try Connection(path: name, .createIfAbsent, vfsName: Self.name)
        } catch {
            // SQLite does not close a file that it never opened: the retained object is given back here.
            let isOpened = opening.withLock { state in state.addresses.removeValue(forKey: name) == nil }
            if !isOpened { unsafe unmanaged.release() }
            throw error
        }
    }

    // SAFETY: written once, before SQLite learns of it, and never freed: SQLite keeps the address.
    nonisolated(unsafe) private static let methods: UnsafeMutablePointer<sqlite3_io_methods> = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        var value = sqlite3_io_methods()
        value.iVersion = 1
        unsafe value.xClose = { unsafe SealedVFS.close($0) }
        unsafe value.xRead = { unsafe SealedVFS.read($0, $1, $2, $3) }
        unsafe value.xWrite = { unsafe SealedVFS.write($0, $1, $2, $3) }
        unsafe value.xTruncate = { unsafe SealedVFS.truncate($0, $1) }
        unsafe value.xSync = { _, _ in SQLITE_OK }
        unsafe value.xFileSize = { unsafe SealedVFS.fileSize($0, $1) }
        unsafe value.xLock = { _, _ in SQLITE_OK }
        unsafe value.xUnlock = { _, _ in SQLITE_OK }
        unsafe value.xCheckReservedLock = { _, result in
            unsafe result?.pointee = 0
            return SQLITE_OK
        }
        unsafe value.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
        unsafe value.xSectorSize = { _ in Int32(PageSealer.pageByteCount) }
        unsafe value.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
        unsafe methods.initialize(to: value)
        return unsafe methods
    }()

    private static let registration: Int32 = {
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        var value = unsafe sqlite3_vfs()
        unsafe value.iVersion = 1
        unsafe value.szOsFile = Int32(MemoryLayout<FileRecord>.stride)
        unsafe value.mxPathname = 512
        // Never freed: SQLite keeps the address.
        unsafe value.zName = UnsafePointer(strdup(name))
        unsafe value.xOpen = { unsafe SealedVFS.open($1, $2, $3, $4) }
        unsafe value.xDelete = { _, _, _ in SQLITE_OK }
        unsafe value.xAccess = { _, _, _, result in
            unsafe result?.pointee = 0
            return SQLITE_OK
        }
        unsafe value.xFullPathname = { unsafe SealedVFS.fullPathname($1, $2, $3) }
        unsafe value.xRandomness = { _, count, buffer in
            unsafe SystemRandomSource().fill(UnsafeMutableRawBufferPointer(start: buffer, count: Int(count)))
            return count
        }
        unsafe value.xSleep = { _, _ in 0 }
        // The epoch of 1970 as a Julian day: nothing here asks SQLite for the time.
        unsafe value.xCurrentTime = { _, result in
            unsafe result?.pointee = 2_440_587.5
            return SQLITE_OK
        }
        unsafe value.xGetLastError = { _, _, _ in 0 }
        unsafe vfs.initialize(to: value)
        return unsafe sqlite3_vfs_register(vfs, 0)
    }()

    // MARK: Callbacks

    private static func open(
        _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let file = unsafe file else { return SQLITE_MISUSE }
        unsafe file.pointee.pMethods = nil
        guard flags & SQLITE_OPEN_MAIN_DB != 0, let name = unsafe name else { return SQLITE_CANTOPEN }
        let key = unsafe String(cString: name)
        let address = opening.withLock { state in state.addresses.removeValue(forKey: key) }
        guard let address, let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return SQLITE_CANTOPEN }
        // SAFETY: SQLite allocated szOsFile bytes, the size of our record, at `file`; the address is that
        // of an object which `connect` retained for this file.
        unsafe UnsafeMutableRawPointer(file).assumingMemoryBound(to: FileRecord.self).pointee.file =
            unsafe Unmanaged.fromOpaque(pointer)
        unsafe file.pointee.pMethods = UnsafePointer(methods)
        unsafe outFlags?.pointee = flags
        return SQLITE_OK
    }

    /// The object behind a file that `open` filled in.
    private static func sealedFile(_ file: UnsafeMutablePointer<sqlite3_file>?) -> SealedFile {
        let record = unsafe UnsafeMutableRawPointer(file!).assumingMemoryBound(to: FileRecord.self)
        return unsafe record.pointee.file!.takeUnretainedValue()
    }

    private static func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
        let record = unsafe UnsafeMutableRawPointer(file!).assumingMemoryBound(to: FileRecord.self)
        unsafe record.pointee.file?.release()
        unsafe record.pointee.file = nil
        return SQLITE_OK
    }

    private static func read(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ target: UnsafeMutableRawPointer?, _ count: Int32,
        _ byteOffset: sqlite3_int64
    ) -> Int32 {
        let sealed = unsafe sealedFile(file)
        guard let target = unsafe target else { return SQLITE_MISUSE }
        let number = UInt32(byteOffset / Int64(PageSealer.pageByteCount)) + 1
        guard number <= sealed.pageCount else {
            unsafe target.initializeMemory(as: UInt8.self, repeating: 0, count: Int(count))
            return shortRead
        }
        if Int(count) == PageSealer.pageByteCount {
            return unsafe sealed.readPage(number, into: target) ? SQLITE_OK : readResult(sealed)
        }
        // Only the database header is read in parts: 100 bytes at opening, 16 to see what has changed.
        let start = Int(byteOffset % Int64(PageSealer.pageByteCount))
        guard start + Int(count) <= PageSealer.pageByteCount else { return SQLITE_MISUSE }
        let range = start..<start + Int(count)
        return unsafe sealed.readPart(range, ofPage: number, into: target) ? SQLITE_OK : readResult(sealed)
    }

    private static func readResult(_ sealed: SealedFile) -> Int32 {
        sealed.failure?.code == .sealedDamaged ? pageDoesNotOpen : readFailed
    }

    private static func write(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ source: UnsafeRawPointer?, _ count: Int32,
        _ byteOffset: sqlite3_int64
    ) -> Int32 {
        let sealed = unsafe sealedFile(file)
        let pageByteCount = Int64(PageSealer.pageByteCount)
        guard let source = unsafe source, Int64(count) == pageByteCount, byteOffset % pageByteCount == 0 else {
            return SQLITE_MISUSE
        }
        if unsafe sealed.writePage(UInt32(byteOffset / pageByteCount) + 1, from: source) { return SQLITE_OK }
        return sealed.failure?.code == .full ? SQLITE_FULL : writeFailed
    }

    private static func truncate(_ file: UnsafeMutablePointer<sqlite3_file>?, _ byteCount: sqlite3_int64) -> Int32 {
        unsafe sealedFile(file).truncate(toPageCount: UInt32(byteCount / Int64(PageSealer.pageByteCount)))
        return SQLITE_OK
    }

    private static func fileSize(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ result: UnsafeMutablePointer<sqlite3_int64>?
    ) -> Int32 {
        unsafe result?.pointee = Int64(sealedFile(file).pageCount) * Int64(PageSealer.pageByteCount)
        return SQLITE_OK
    }

    private static func fullPathname(
        _ name: UnsafePointer<CChar>?, _ count: Int32, _ target: UnsafeMutablePointer<CChar>?
    ) -> Int32 {
        guard let name = unsafe name, let target = unsafe target else { return SQLITE_MISUSE }
        let byteCount = unsafe strlen(name) + 1
        guard byteCount <= Int(count) else { return SQLITE_CANTOPEN }
        unsafe target.update(from: name, count: byteCount)
        return SQLITE_OK
    }
}
