// The bytes of segments and packs that do not depend on how they are used (`Spec/journal.md`). The
// one thing to keep true: a file's header fixes its salt, and everything authenticated in the file is
// bound to that salt.

internal import CoffretBase
internal import CoffretCrypto

/// What a file of records is for.
enum SegmentKind: UInt8, Sendable {
    /// Transactions, one after the other; grows until it is sealed.
    case journal = 1
    /// The blobs of a large transaction, written before the transaction itself.
    case bulk = 2
    /// What compaction made: the blobs of one range of addresses.
    case pack = 3

    /// Where the first record lies. A journal's first page also holds the position hint.
    var recordsOffset: Int { self == .journal ? 4096 : 64 }
}

/// The first bytes of every segment and pack.
///
/// Layout: magic (8) ‖ format version (4) ‖ kind (1) ‖ zeros (3) ‖ number (8) ‖ first sequence (8) ‖
/// salt (16) ‖ code (16) = 64 bytes.
struct SegmentHeader: Equatable, Sendable {
    static let byteCount = 64
    static let magic: [UInt8] = Array("Coffret\u{1}".utf8)
    static let formatVersion: UInt32 = 1

    let kind: SegmentKind
    /// The segment's number, or the pack's generation ‖ prefix; binds the file to its name.
    let number: UInt64
    /// The sequence of the first transaction; 0 in files without transactions.
    let firstSequence: UInt64
    let salt: [UInt8]

    func encode(_ authenticator: JournalAuthenticator) -> [UInt8] {
        var bytes = Self.magic
        bytes.appendBigEndian(Self.formatVersion)
        bytes.append(kind.rawValue)
        bytes.append(contentsOf: [0, 0, 0])
        bytes.appendBigEndian(number)
        bytes.appendBigEndian(firstSequence)
        bytes.append(contentsOf: salt)
        bytes.append(contentsOf: authenticator.code(ofArray: bytes, salt: salt, purpose: .segmentHeader))
        return bytes
    }

    /// Reads and verifies a header.
    ///
    /// - Parameter bytes: the first 64 bytes of the file.
    /// - Throws: `.formatUnsupported` for a version that this program does not know (the code of such
    ///   a header is not checked, since its layout is not known either); `.journalDamagedSegment`.
    static func parse(
        _ bytes: [UInt8], place: String, authenticator: JournalAuthenticator
    ) throws(StorageError) -> SegmentHeader {
        guard bytes.count == byteCount, Array(bytes[0..<8]) == magic else {
            throw StorageError(.journalDamagedSegment, place: place)
        }
        guard let version = UInt32(bigEndianBytes: bytes[8..<12]), version == formatVersion else {
            throw StorageError(.formatUnsupported, place: place)
        }
        let salt = Array(bytes[32..<48])
        guard authenticator.isValid(code: bytes[48...], ofArray: bytes[..<48], salt: salt, purpose: .segmentHeader),
            let kind = SegmentKind(rawValue: bytes[12]), bytes[13..<16].allSatisfy({ $0 == 0 }),
            let number = UInt64(bigEndianBytes: bytes[16..<24]),
            let firstSequence = UInt64(bigEndianBytes: bytes[24..<32])
        else { throw StorageError(.journalDamagedSegment, place: place) }
        return SegmentHeader(kind: kind, number: number, firstSequence: firstSequence, salt: salt)
    }
}

/// What a record is. No kind is zero, so that empty room never looks like a record.
enum RecordKind: UInt8, Sendable {
    /// address (32) ‖ stored blob.
    case blob = 0x42
    /// Pages of a sorted index over earlier records of the same segment.
    case indexRun = 0x52
    /// Ends a transaction.
    case trailer = 0x54
    /// The index over all records of a sealed file; followed by the footer.
    case index = 0x49
}

/// Length (4, of what follows these five bytes) ‖ kind (1).
enum RecordHeader {
    static let byteCount = 5
    /// Header and address of a blob's record.
    static let blobPrefixByteCount = byteCount + 32
    /// No record is longer: the limit is above the index run of a full segment.
    static let payloadByteCountMax = 64 << 20

    static func append(_ kind: RecordKind, payloadByteCount: Int, to bytes: inout [UInt8]) {
        bytes.appendBigEndian(UInt32(payloadByteCount))
        bytes.append(kind.rawValue)
    }
}

/// Where a blob's record lies in a file.
struct RecordLocation: Equatable, Sendable {
    /// Of the record's header, from the start of the file.
    let byteOffset: Int
    /// Of the stored blob: epoch, tag and ciphertext.
    let sealedByteCount: Int

    var recordByteCount: Int { RecordHeader.blobPrefixByteCount + sealedByteCount }
}

extension JournalAuthenticator {
    /// The code over the bytes of an array or a slice of one.
    func code(
        ofArray bytes: some ContiguousBytes, salt: [UInt8], purpose: JournalPurpose
    ) -> [UInt8] {
        unsafe bytes.lendBytes { buffer in unsafe code(of: buffer, salt: salt, purpose: purpose) }
    }

    func isValid(
        code: some ContiguousBytes, ofArray bytes: some ContiguousBytes, salt: [UInt8], purpose: JournalPurpose
    ) -> Bool {
        unsafe code.lendBytes { codeBuffer in
            unsafe bytes.lendBytes { buffer in
                unsafe isValid(codeBuffer, of: buffer, salt: salt, purpose: purpose)
            }
        }
    }
}

/// Arrays of bytes and their slices.
protocol ContiguousBytes {
    func lendBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result
}

extension Array: ContiguousBytes where Element == UInt8 {
    func lendBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe withUnsafeBytes { bytes in unsafe body(bytes) }
    }
}

extension ArraySlice: ContiguousBytes where Element == UInt8 {
    func lendBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe withUnsafeBytes { bytes in unsafe body(bytes) }
    }
}
