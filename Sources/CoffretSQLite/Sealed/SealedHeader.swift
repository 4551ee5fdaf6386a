// The first sector of a sealed database's file. Invariant: whatever is not exactly a header of this version, made
// under this key, is a reason to rebuild and nothing else.

internal import CoffretBase
internal import CoffretCrypto

/// Says which database this is and which log belongs to it.
///
/// One sector of a disk, so that it is replaced whole or not at all; the rest of the first page is not used.
///
/// Layout (512 bytes): magic (16) ‖ version (4) ‖ page size (4) ‖ state (4) ‖ database id (16) ‖
/// log salt (16) ‖ zeros ‖ code (32) over all that comes before. Spec/search.md, "Header".
struct SealedHeader {
    static let byteCount = 512
    static let version: UInt32 = 1
    static let saltByteCount = 16
    static let magic = Array("coffret sealed\0\0".utf8)

    enum State: UInt32 {
        case building = 1
        case complete = 2
    }

    var state: State
    let databaseID: [UInt8]
    /// Names the one log that may be laid over the pages; a new one makes an older log void.
    var logSalt: [UInt8]

    init(state: State, databaseID: [UInt8], logSalt: [UInt8]) {
        self.state = state
        self.databaseID = databaseID
        self.logSalt = logSalt
    }

    func encode(_ sealer: PageSealer) -> [UInt8] {
        var bytes = Self.magic
        bytes.appendBigEndian(Self.version)
        bytes.appendBigEndian(UInt32(PageSealer.pageByteCount))
        bytes.appendBigEndian(state.rawValue)
        bytes += databaseID
        bytes += logSalt
        bytes += repeatElement(0, count: Self.byteCount - PageSealer.codeByteCount - bytes.count)
        bytes += unsafe bytes.withUnsafeBytes { unsafe sealer.code(of: $0, purpose: .header) }
        return bytes
    }

    /// The id, from which the keys come; readable before anything is verified.
    static func unverifiedDatabaseID(of bytes: [UInt8]) throws(SQLiteError) -> [UInt8] {
        guard bytes.count == byteCount, bytes.starts(with: magic) else {
            throw SQLiteError(.sealedDamaged, place: "header")
        }
        guard bytes[16..<20].elementsEqual(version.bigEndianBytes) else {
            throw SQLiteError(.sealedUnknownVersion, place: "header")
        }
        return Array(bytes[28..<44])
    }

    /// Verifies a header whose magic and version were looked at.
    init(verifying bytes: [UInt8], sealer: PageSealer) throws(SQLiteError) {
        let end = Self.byteCount - PageSealer.codeByteCount
        let isValid = unsafe bytes.withUnsafeBytes { buffer in
            unsafe sealer.isValid(
                buffer.baseAddress! + end, of: UnsafeRawBufferPointer(rebasing: buffer[..<end]), purpose: .header)
        }
        guard isValid, bytes[20..<24].elementsEqual(UInt32(PageSealer.pageByteCount).bigEndianBytes),
            let stateValue = UInt32(bigEndianBytes: bytes[24..<28]), let state = State(rawValue: stateValue)
        else { throw SQLiteError(.sealedDamaged, place: "header") }
        self.state = state
        databaseID = Array(bytes[28..<44])
        logSalt = Array(bytes[44..<60])
    }
}
