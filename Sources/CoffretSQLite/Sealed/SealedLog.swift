// The write-ahead log of a sealed database. Invariant: a record counts only if it is whole and follows the one before,
// so what a crash leaves is always a state that was once committed.

internal import CoffretBase
internal import CoffretCrypto

/// The tag that ends a sealed page, as two numbers that need no memory of their own.
struct PageTag: Equatable {
    private let words: SIMD2<UInt64>

    /// The tag whose 16 bytes begin at `offset`.
    init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        words = unsafe SIMD2(
            bytes.loadBigEndian(UInt64.self, at: offset), bytes.loadBigEndian(UInt64.self, at: offset + 8))
    }

    /// The tag of the sealed page at `page`.
    init(ofSealedPage page: UnsafeRawBufferPointer) {
        unsafe self.init(page, at: PageSealer.pageByteCount - PageSealer.tagByteCount)
    }
}

/// Where each page lies whose newest content is still in the log.
///
/// One record per transaction, one write each:
/// head (16) = page count of the record (4) ‖ page count of the database (4) ‖ sequence (8);
/// sealed pages (4096 each); directory (20 each) = page number (4) ‖ tag of the sealed page (16);
/// code (32) over log salt ‖ code of the record before (zeros for the first) ‖ head ‖ directory.
/// The tags in the directory tie the pages' bytes to the code without hashing them again.
struct SealedLog {
    static let headByteCount = 16
    static let entryByteCount = 4 + PageSealer.tagByteCount

    struct Location: Equatable {
        let byteOffset: Int
        let tag: PageTag
    }

    private(set) var locations: [UInt32: Location] = [:]
    /// Where the next record goes.
    private(set) var endByteOffset = 0
    /// Pages in all records, counting those that were written again.
    private(set) var framePageCount = 0
    /// The database's size after the last record; nil without one.
    private(set) var databasePageCount: UInt32?
    private var lastSequence: UInt64 = 0
    private var lastCode = [UInt8](repeating: 0, count: PageSealer.codeByteCount)
    private let salt: [UInt8]

    init(salt: [UInt8]) {
        self.salt = salt
    }

    static func recordByteCount(pageCount: Int) -> Int {
        headByteCount + pageCount * (PageSealer.pageByteCount + entryByteCount) + PageSealer.codeByteCount
    }

    /// Takes in the records that were added since the last call; stops before the first that does not verify.
    mutating func readRecords(from file: any OpenFile, sealer: PageSealer) throws(FileSystemError) {
        let byteCount = try file.byteCount()
        while endByteOffset + Self.recordByteCount(pageCount: 1) <= byteCount {
            let head = try file.read(byteCount: Self.headByteCount, at: endByteOffset)
            let pageCount = Int(UInt32(bigEndianBytes: head[0..<4])!)
            let recordByteCount = Self.recordByteCount(pageCount: pageCount)
            guard pageCount > 0, recordByteCount <= byteCount - endByteOffset else { return }
            let framesEnd = endByteOffset + Self.headByteCount + pageCount * PageSealer.pageByteCount
            let trailer = try file.read(
                byteCount: pageCount * Self.entryByteCount + PageSealer.codeByteCount, at: framesEnd)
            let directory = trailer.dropLast(PageSealer.codeByteCount)
            let code = Array(trailer.suffix(PageSealer.codeByteCount))
            let expected = self.code(head: head, directory: directory, sealer: sealer)
            guard ConstantTime.isEqual(code, expected), UInt64(bigEndianBytes: head[8..<16])! == lastSequence + 1
            else { return }
            take(head: head, directory: directory, code: code)
        }
    }

    /// The trailer of a record that is about to be appended: directory and code.
    func trailer(head: [UInt8], directory: [UInt8], sealer: PageSealer) -> [UInt8] {
        directory + code(head: head, directory: directory[...], sealer: sealer)
    }

    func head(pageCount: Int, databasePageCount: UInt32) -> [UInt8] {
        UInt32(pageCount).bigEndianBytes + databasePageCount.bigEndianBytes + (lastSequence + 1).bigEndianBytes
    }

    /// Takes in a record that lies verified, or was just written, at the end.
    mutating func take(head: [UInt8], directory: ArraySlice<UInt8>, code: [UInt8]) {
        let pageCount = directory.count / Self.entryByteCount
        unsafe directory.withUnsafeBytes { entries in
            for index in 0..<pageCount {
                let entryOffset = index * Self.entryByteCount
                let number = unsafe entries.loadBigEndian(UInt32.self, at: entryOffset)
                locations[number] = unsafe Location(
                    byteOffset: endByteOffset + Self.headByteCount + index * PageSealer.pageByteCount,
                    tag: PageTag(entries, at: entryOffset + 4))
            }
        }
        databasePageCount = UInt32(bigEndianBytes: head[4..<8])!
        lastSequence += 1
        lastCode = code
        framePageCount += pageCount
        endByteOffset += Self.recordByteCount(pageCount: pageCount)
    }

    private func code(head: [UInt8], directory: ArraySlice<UInt8>, sealer: PageSealer) -> [UInt8] {
        let message = salt + lastCode + head + directory
        return unsafe message.withUnsafeBytes { unsafe sealer.code(of: $0, purpose: .record) }
    }
}
