// Sorted indexes: from an address to where its record lies (`Spec/pack.md`). The one thing to keep
// true: no entry is believed before the code of its page has been verified, so that damage shows as
// damage and never as "not there".

internal import CoffretBase
internal import CoffretCrypto

/// One entry: address prefix (8) ‖ record offset (5) ‖ stored byte count (3) = 16 bytes.
///
/// The prefix alone is kept; the record repeats the whole address, and equal prefixes are tried in
/// turn.
struct IndexEntry: Hashable, Comparable, Sendable {
    static let byteCount = 16
    let prefix: UInt64
    /// byteOffset << 24 | sealedByteCount
    let packed: UInt64

    init(prefix: UInt64, location: RecordLocation) {
        precondition(
            location.byteOffset < 1 << 40 && location.sealedByteCount < 1 << 24, "an entry holds 5 and 3 bytes")
        self.prefix = prefix
        packed = UInt64(location.byteOffset) << 24 | UInt64(location.sealedByteCount)
    }

    init(prefix: UInt64, packed: UInt64) {
        self.prefix = prefix
        self.packed = packed
    }

    var location: RecordLocation {
        RecordLocation(byteOffset: Int(packed >> 24), sealedByteCount: Int(packed & 0xFF_FFFF))
    }

    static func < (left: IndexEntry, right: IndexEntry) -> Bool {
        (left.prefix, left.packed) < (right.prefix, right.packed)
    }
}

/// The pages of an index.
///
/// Layout of a page: 254 entries (4,064; the last page is filled up with zeros) ‖ page number (8) ‖
/// number of entries in the whole index (8) ‖ code (16) = 4,096 bytes.
enum IndexPage {
    static let byteCount = 4096
    static let entryCountMax = 254
    static let entriesByteCount = entryCountMax * IndexEntry.byteCount
    static let codeOffset = byteCount - JournalAuthenticator.codeByteCount

    static func pageCount(entryCount: Int) -> Int { (entryCount + entryCountMax - 1) / entryCountMax }

    static func encode(sorted entries: [IndexEntry], salt: [UInt8], _ authenticator: JournalAuthenticator) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(pageCount(entryCount: entries.count) * byteCount)
        for page in 0..<pageCount(entryCount: entries.count) {
            let start = bytes.count
            for entry in entries[page * entryCountMax..<min(entries.count, (page + 1) * entryCountMax)] {
                bytes.appendBigEndian(entry.prefix)
                bytes.appendBigEndian(entry.packed)
            }
            bytes.append(contentsOf: repeatElement(0, count: start + entriesByteCount - bytes.count))
            bytes.appendBigEndian(UInt64(page))
            bytes.appendBigEndian(UInt64(entries.count))
            bytes.append(contentsOf: authenticator.code(ofArray: bytes[start...], salt: salt, purpose: .indexPage))
        }
        return bytes
    }

    static func isValid(
        _ page: UnsafeRawBufferPointer, number: Int, entryCount: Int, salt: [UInt8],
        _ authenticator: JournalAuthenticator
    ) -> Bool {
        guard unsafe page.loadBigEndian(UInt64.self, at: entriesByteCount) == UInt64(number),
            unsafe page.loadBigEndian(UInt64.self, at: entriesByteCount + 8) == UInt64(entryCount)
        else { return false }
        return unsafe authenticator.isValid(
            UnsafeRawBufferPointer(rebasing: page[codeOffset...]),
            of: UnsafeRawBufferPointer(rebasing: page[..<codeOffset]), salt: salt, purpose: .indexPage)
    }
}

/// Looks addresses up in an index on disk, reading and verifying its pages as they are needed.
///
/// Not mapped: a mapped page that the device cannot read, or that somebody cuts off, would end the
/// process instead of giving an error. Memory for the whole index is reserved; the system backs only
/// the pages that were read.
@safe final class SortedIndexReader {
    private let file: any OpenFile
    private let byteOffset: Int
    let entryCount: Int
    private let salt: [UInt8]
    private let authenticator: JournalAuthenticator
    /// Bits of a prefix that all entries share and that interpolation leaves out.
    private let sharedPrefixBitCount: Int
    private let pages: UnsafeMutableRawPointer
    private var isPageLoaded: [Bool]

    init(
        file: any OpenFile, byteOffset: Int, entryCount: Int, sharedPrefixBitCount: Int, salt: [UInt8],
        authenticator: JournalAuthenticator
    ) {
        self.file = file
        self.byteOffset = byteOffset
        self.entryCount = entryCount
        self.sharedPrefixBitCount = sharedPrefixBitCount
        self.salt = salt
        self.authenticator = authenticator
        let pageCount = IndexPage.pageCount(entryCount: entryCount)
        unsafe pages = UnsafeMutableRawPointer.allocate(
            byteCount: max(pageCount, 1) * IndexPage.byteCount, alignment: 64)
        isPageLoaded = [Bool](repeating: false, count: pageCount)
    }

    deinit { unsafe pages.deallocate() }

    /// The locations of all entries with this prefix, usually none or one.
    ///
    /// - Throws: `.indexDamaged` if a page that is needed does not verify.
    func locations(prefix: UInt64) throws(StorageError) -> [RecordLocation] {
        var index = try lowerBound(prefix)
        var found: [RecordLocation] = []
        while index < entryCount {
            let entry = try entry(at: index)
            guard entry.prefix == prefix else { break }
            found.append(entry.location)
            index += 1
        }
        return found
    }

    /// All entries, in order.
    func allEntries() throws(StorageError) -> [IndexEntry] {
        var entries: [IndexEntry] = []
        entries.reserveCapacity(entryCount)
        for index in 0..<entryCount { entries.append(try entry(at: index)) }
        return entries
    }

    /// The first index whose entry's prefix is not below `prefix`.
    ///
    /// Addresses are uniform, so a guess is off by about the square root of the distance over which it was made; two
    /// corrections bring it within a few entries. The bounds around it double until they hold the answer.
    private func lowerBound(_ prefix: UInt64) throws(StorageError) -> Int {
        guard entryCount > 0 else { return 0 }
        var guess = min(expectedCount(below: prefix), entryCount - 1)
        var found = try entry(at: guess).prefix
        for _ in 0..<2 {
            let distance =
                found < prefix ? expectedCount(below: prefix - found) : -expectedCount(below: found - prefix)
            let next = min(max(guess + distance, 0), entryCount - 1)
            if next == guess { break }
            guess = next
            found = try entry(at: guess).prefix
        }
        var low = 0
        var high = entryCount
        var step = 2
        if found < prefix {
            low = guess + 1
            while low + step < entryCount, try entry(at: low + step).prefix < prefix {
                low += step + 1
                step *= 2
            }
            high = min(low + step, entryCount)
        } else {
            high = guess
            while high - step >= 0, try entry(at: high - step).prefix >= prefix {
                high -= step
                step *= 2
            }
            low = max(high - step, 0)
        }
        while low < high {
            let middle = (low + high) / 2
            if try entry(at: middle).prefix < prefix { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// How many entries a range of prefixes holds on average; its size is below that of the index's own range, or the
    /// answer is as good as any.
    private func expectedCount(below prefix: UInt64) -> Int {
        Int((prefix << UInt64(sharedPrefixBitCount)).multipliedFullWidth(by: UInt64(entryCount)).high)
    }

    private func entry(at index: Int) throws(StorageError) -> IndexEntry {
        let page = index / IndexPage.entryCountMax
        if !isPageLoaded[page] { try load(page) }
        let start = page * IndexPage.byteCount + index % IndexPage.entryCountMax * IndexEntry.byteCount
        return unsafe IndexEntry(
            prefix: UInt64(bigEndian: pages.loadUnaligned(fromByteOffset: start, as: UInt64.self)),
            packed: UInt64(bigEndian: pages.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self)))
    }

    private func load(_ page: Int) throws(StorageError) {
        let target = unsafe UnsafeMutableRawBufferPointer(
            start: pages + page * IndexPage.byteCount, count: IndexPage.byteCount)
        let byteCount = try translatingFileErrors(
            unsafe file.read(into: target, at: byteOffset + page * IndexPage.byteCount))
        guard byteCount == IndexPage.byteCount,
            unsafe IndexPage.isValid(
                UnsafeRawBufferPointer(target), number: page, entryCount: entryCount, salt: salt, authenticator)
        else { throw StorageError(.indexDamaged, place: "\(file.path) page \(page)") }
        isPageLoaded[page] = true
    }
}
