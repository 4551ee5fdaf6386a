// Which files make up a vault. The one thing to keep true: a file counts if and only if the manifest
// lists it; replacing the manifest is the moment at which files come and go.

internal import CoffretBase
internal import CoffretCrypto

/// Names one file of records.
struct StorageFileID: Hashable, Sendable {
    let kind: SegmentKind
    /// A segment's number, or a pack's generation.
    let number: UInt64
    /// A pack's first byte of addresses, or its upper half, or 0; 0 for segments.
    let prefix: UInt8
    /// How many bits of an address a pack's file name fixes: 0, 4 or 8; 0 for segments.
    let prefixBitCount: Int

    static func segment(_ kind: SegmentKind, _ number: UInt64) -> StorageFileID {
        StorageFileID(kind: kind, number: number, prefix: 0, prefixBitCount: 0)
    }

    /// Path from the vault's directory.
    var relativePath: String {
        let digits = HexText.digits(number, count: 16)
        guard kind == .pack else { return "journal/\(digits)" }
        switch prefixBitCount {
        case 8: return "blobs/\(HexText.digits(UInt64(prefix), count: 2)).\(digits)"
        case 4: return "blobs/\(HexText.digits(UInt64(prefix >> 4), count: 1)).\(digits)"
        default: return "blobs/all.\(digits)"
        }
    }

    /// Goes into the file's header, so that one pack cannot be put in another's place.
    var headerNumber: UInt64 {
        kind == .pack ? number << 16 | UInt64(prefixBitCount) << 8 | UInt64(prefix) : number
    }

    /// The first bytes of the addresses that a pack holds.
    var firstBytes: Range<Int> {
        let count = 1 << (8 - prefixBitCount)
        let start = Int(prefix) & ~(count - 1)
        return start..<start + count
    }
}

enum HexText {
    /// `count` lowercase hexadecimal digits of `value`, most significant first.
    static func digits(_ value: UInt64, count: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}

/// The list of a vault's files, small enough to be read whole.
///
/// Layout: magic (8) ‖ format version (4) ‖ generation (8) ‖ next number (8) ‖ active segment (8) ‖
/// number of sealed files (4) ‖ per file: kind (1) ‖ number (8) ‖ prefix (1) ‖ prefix bits (1) ‖ byte
/// count (8) ‖ code (16, zeros as salt).
struct Manifest: Equatable, Sendable {
    struct SealedEntry: Equatable, Sendable {
        let id: StorageFileID
        let byteCount: Int
    }

    static let formatVersion: UInt32 = 1
    static let byteCountMax = 64 << 20
    private static let magic: [UInt8] = Array("CofList\u{1}".utf8)
    private static let headByteCount = 40
    private static let entryByteCount = 19
    private static let salt = [UInt8](repeating: 0, count: JournalAuthenticator.saltByteCount)

    /// Grows by one with each replacement.
    var generation: UInt64
    /// The number that the next new file gets; numbers are not used twice.
    var nextNumber: UInt64
    /// The journal segment that grows.
    var activeSegment: UInt64
    /// Oldest first: the order in which they were added.
    var sealed: [SealedEntry]

    func encode(_ authenticator: JournalAuthenticator) -> [UInt8] {
        var bytes = Self.magic
        bytes.appendBigEndian(Self.formatVersion)
        bytes.appendBigEndian(generation)
        bytes.appendBigEndian(nextNumber)
        bytes.appendBigEndian(activeSegment)
        bytes.appendBigEndian(UInt32(sealed.count))
        for entry in sealed {
            bytes.append(entry.id.kind.rawValue)
            bytes.appendBigEndian(entry.id.number)
            bytes.append(entry.id.prefix)
            bytes.append(UInt8(entry.id.prefixBitCount))
            bytes.appendBigEndian(UInt64(entry.byteCount))
        }
        return bytes + authenticator.code(ofArray: bytes, salt: Self.salt, purpose: .manifest)
    }

    /// Reads and verifies a manifest.
    ///
    /// - Throws: `.manifestDamaged`, `.formatUnsupported`.
    static func parse(_ bytes: [UInt8], authenticator: JournalAuthenticator) throws(StorageError) -> Manifest {
        let damaged = StorageError(.manifestDamaged)
        guard bytes.count >= headByteCount + 16, Array(bytes[0..<8]) == magic else { throw damaged }
        guard UInt32(bigEndianBytes: bytes[8..<12]) == formatVersion else {
            throw StorageError(.formatUnsupported, place: "manifest")
        }
        let codeOffset = bytes.count - 16
        guard
            authenticator.isValid(
                code: bytes[codeOffset...], ofArray: bytes[..<codeOffset], salt: salt, purpose: .manifest),
            let generation = UInt64(bigEndianBytes: bytes[12..<20]),
            let nextNumber = UInt64(bigEndianBytes: bytes[20..<28]),
            let activeSegment = UInt64(bigEndianBytes: bytes[28..<36]),
            let count = UInt32(bigEndianBytes: bytes[36..<40]),
            codeOffset == headByteCount + Int(count) * entryByteCount
        else { throw damaged }
        var sealed: [SealedEntry] = []
        for index in 0..<Int(count) {
            let start = headByteCount + index * entryByteCount
            guard let kind = SegmentKind(rawValue: bytes[start]),
                let number = UInt64(bigEndianBytes: bytes[start + 1..<start + 9]),
                [0, 4, 8].contains(bytes[start + 10]),
                let byteCount = UInt64(bigEndianBytes: bytes[start + 11..<start + 19]).flatMap(Int.init(exactly:))
            else { throw damaged }
            let id = StorageFileID(
                kind: kind, number: number, prefix: bytes[start + 9], prefixBitCount: Int(bytes[start + 10]))
            sealed.append(SealedEntry(id: id, byteCount: byteCount))
        }
        return Manifest(
            generation: generation, nextNumber: nextNumber, activeSegment: activeSegment, sealed: sealed)
    }
}
