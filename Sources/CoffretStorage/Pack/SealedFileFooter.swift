// The last bytes of a file that will not change any more. The one thing to keep true: a sealed file is
// complete if and only if its footer verifies and is where the file ends.

internal import CoffretBase
internal import CoffretCrypto

/// Says where a sealed file's records end and how large its index is.
///
/// Layout: magic (8) ‖ records end (8) ‖ number of entries (8) ‖ last transaction's sequence (8) ‖
/// code (16) = 48 bytes. Between records and footer lies the index record: header (5) ‖ pages.
struct SealedFileFooter: Equatable, Sendable {
    static let byteCount = 48
    private static let magic: [UInt8] = Array("cof-end\u{1}".utf8)

    let recordsEndOffset: Int
    let entryCount: Int
    /// 0 in files without transactions.
    let lastSequence: UInt64

    var indexOffset: Int { recordsEndOffset + RecordHeader.byteCount }
    var indexByteCount: Int { IndexPage.pageCount(entryCount: entryCount) * IndexPage.byteCount }
    /// How long the file must be.
    var fileByteCount: Int { indexOffset + indexByteCount + Self.byteCount }

    func encode(salt: [UInt8], _ authenticator: JournalAuthenticator) -> [UInt8] {
        var bytes = Self.magic
        bytes.appendBigEndian(UInt64(recordsEndOffset))
        bytes.appendBigEndian(UInt64(entryCount))
        bytes.appendBigEndian(lastSequence)
        return bytes + authenticator.code(ofArray: bytes, salt: salt, purpose: .fileFooter)
    }

    /// Reads a footer; nil if it does not verify or does not fit a file of `fileByteCount` bytes.
    static func parse(
        _ bytes: [UInt8], fileByteCount: Int, salt: [UInt8], authenticator: JournalAuthenticator
    ) -> SealedFileFooter? {
        guard bytes.count == byteCount, Array(bytes[0..<8]) == magic,
            authenticator.isValid(code: bytes[32...], ofArray: bytes[..<32], salt: salt, purpose: .fileFooter),
            let recordsEnd = UInt64(bigEndianBytes: bytes[8..<16]).flatMap(Int.init(exactly:)),
            let entryCount = UInt64(bigEndianBytes: bytes[16..<24]).flatMap(Int.init(exactly:)),
            let lastSequence = UInt64(bigEndianBytes: bytes[24..<32]),
            recordsEnd <= fileByteCount, entryCount <= fileByteCount
        else { return nil }
        let footer = SealedFileFooter(
            recordsEndOffset: recordsEnd, entryCount: entryCount, lastSequence: lastSequence)
        return footer.fileByteCount == fileByteCount ? footer : nil
    }

    /// Everything that seals a file: the index record over `entries`, then the footer.
    static func encodeSeal(
        recordsEndOffset: Int, sorted entries: [IndexEntry], lastSequence: UInt64, salt: [UInt8],
        authenticator: JournalAuthenticator
    ) -> [UInt8] {
        let pages = IndexPage.encode(sorted: entries, salt: salt, authenticator)
        var bytes: [UInt8] = []
        RecordHeader.append(.index, payloadByteCount: pages.count, to: &bytes)
        bytes += pages
        let footer = SealedFileFooter(
            recordsEndOffset: recordsEndOffset, entryCount: entries.count, lastSequence: lastSequence)
        return bytes + footer.encode(salt: salt, authenticator)
    }
}
