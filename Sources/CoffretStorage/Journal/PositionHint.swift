// Where to start reading a segment. The one thing to keep true: it is derived; without it, or with one
// that does not verify, opening reads the segment from its start and finds the same.

internal import CoffretBase
internal import CoffretCrypto

/// A run: a sorted index over some of the segment's records, itself a record of the segment.
struct IndexRun: Equatable, Sendable {
    /// Of the run's first page.
    let byteOffset: Int
    let entryCount: Int
}

/// Written into a segment's first page without a sync, after what it speaks of is durable.
///
/// `endOffset` and `endSequence` say what is known to be durable: if fewer transactions are found,
/// acknowledged ones have been lost.
///
/// Layout: magic (4) ‖ scan offset (8) ‖ last sequence before it (8) ‖ offset of the state's record (8)
/// ‖ end offset (8) ‖ end sequence (8) ‖ closed (1) ‖ number of runs (1) ‖ per run offset (8), entries
/// (4) ‖ code (16): at most 512 bytes, one sector.
struct PositionHint: Equatable, Sendable {
    static let fileOffset = 512
    static let byteCount = 512
    static let runCountMax = 32
    private static let magic: [UInt8] = Array("hint".utf8)

    /// Every blob before this offset is in `runs`; the state holds as of here.
    var scanOffset: Int
    var scanSequence: UInt64
    /// The record of the blob with the full state as of `scanOffset`.
    var stateRecordOffset: Int
    var endOffset: Int
    var endSequence: UInt64
    /// Whether the writer ended in good order and nothing was begun since.
    var isClosed: Bool
    var runs: [IndexRun]

    func encode(salt: [UInt8], _ authenticator: JournalAuthenticator) -> [UInt8] {
        precondition(runs.count <= Self.runCountMax, "runs are merged before they are too many")
        var bytes = Self.magic
        bytes.appendBigEndian(UInt64(scanOffset))
        bytes.appendBigEndian(scanSequence)
        bytes.appendBigEndian(UInt64(stateRecordOffset))
        bytes.appendBigEndian(UInt64(endOffset))
        bytes.appendBigEndian(endSequence)
        bytes.append(isClosed ? 1 : 0)
        bytes.append(UInt8(runs.count))
        for run in runs {
            bytes.appendBigEndian(UInt64(run.byteOffset))
            bytes.appendBigEndian(UInt32(run.entryCount))
        }
        bytes.append(contentsOf: authenticator.code(ofArray: bytes, salt: salt, purpose: .positionHint))
        return bytes + [UInt8](repeating: 0, count: Self.byteCount - bytes.count)
    }

    /// Reads a hint; nil if there is none or it does not verify.
    static func parse(_ bytes: [UInt8], salt: [UInt8], authenticator: JournalAuthenticator) -> PositionHint? {
        guard bytes.count == byteCount, Array(bytes[0..<4]) == magic, bytes[44] <= 1, bytes[45] <= runCountMax
        else { return nil }
        let codeOffset = 46 + 12 * Int(bytes[45])
        guard
            authenticator.isValid(
                code: bytes[codeOffset..<codeOffset + 16], ofArray: bytes[..<codeOffset], salt: salt,
                purpose: .positionHint),
            bytes[(codeOffset + 16)...].allSatisfy({ $0 == 0 })
        else { return nil }
        var runs: [IndexRun] = []
        for index in 0..<Int(bytes[45]) {
            let start = 46 + 12 * index
            guard let byteOffset = offset(bytes, start),
                let entryCount = UInt32(bigEndianBytes: bytes[start + 8..<start + 12])
            else { return nil }
            runs.append(IndexRun(byteOffset: byteOffset, entryCount: Int(entryCount)))
        }
        guard let scanOffset = offset(bytes, 4), let scanSequence = UInt64(bigEndianBytes: bytes[12..<20]),
            let stateRecordOffset = offset(bytes, 20), let endOffset = offset(bytes, 28),
            let endSequence = UInt64(bigEndianBytes: bytes[36..<44]), scanOffset <= endOffset,
            scanSequence <= endSequence,
            runs.allSatisfy({ $0.byteOffset + $0.entryCount * IndexEntry.byteCount <= endOffset })
        else { return nil }
        return PositionHint(
            scanOffset: scanOffset, scanSequence: scanSequence, stateRecordOffset: stateRecordOffset,
            endOffset: endOffset, endSequence: endSequence, isClosed: bytes[44] == 1, runs: runs)
    }

    /// An offset of eight bytes that fits a file.
    private static func offset(_ bytes: [UInt8], _ start: Int) -> Int? {
        UInt64(bigEndianBytes: bytes[start..<start + 8]).flatMap(Int.init(exactly:)).flatMap { $0 < 1 << 48 ? $0 : nil }
    }
}
