// The parts of a backup. Invariant: nothing of a backup is written to a store before all of it was authenticated to
// its last byte.
//
// Spec: Spec/backup.md.

internal import CoffretBase
internal import CoffretCrypto

extension KeyPurposes {
    /// Seals the frames of one backup.
    enum BackupContent: KeyPurpose { static var name: String { "backup content key" } }
}

/// Seals the frames of one backup.
typealias BackupContentKey = SymmetricKey<KeyPurposes.BackupContent>

/// Constants and rules of the format.
enum BackupFormat {
    /// The first sixteen bytes of every backup of this version.
    static let magic = Array("coffret/backup/1".utf8)
    /// The beginning of all versions.
    static let family = Array("coffret/backup/".utf8)
    /// Plain bytes of every frame but the last.
    static let frameByteCount = 1 << 20
    static let sealedFrameByteCount = frameByteCount + XChaCha20Poly1305.tagByteCount
    /// Files are read in blocks of this size; a block of zeros is left out.
    static let blockByteCount = 64 << 10
    /// The longest path of an entry, in bytes.
    static let pathByteCountMax = 256
    /// The largest file, in bytes: 2^48, far above what a disk holds.
    static let fileByteCountMax: UInt64 = 1 << 48

    /// Whether a path is one that a vault has: `<32 hex digits>/` and then `manifest`, `journal/NAME`,
    /// `blobs/NAME` or `files/XX/NAME`.
    ///
    /// Names are 1 to 64 of `0-9`, `a-z` and `.`, and do not begin with a dot, so that no path leads outside.
    static func isAcceptable(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { Array($0.utf8) }
        guard path.utf8.count <= pathByteCountMax, parts.count >= 2, isHex(parts[0], count: 32) else { return false }
        switch (String(decoding: parts[1], as: UTF8.self), parts.count) {
        case ("manifest", 2): return true
        case ("journal", 3), ("blobs", 3): return isName(parts[2])
        case ("files", 4): return isHex(parts[2], count: 2) && isName(parts[3])
        default: return false
        }
    }

    private static func isHex(_ bytes: [UInt8], count: Int) -> Bool {
        bytes.count == count && bytes.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Files that are being written end in `.new` or `.tmp` and belong to nobody yet.
    static func isName(_ bytes: [UInt8]) -> Bool {
        let isPlain = bytes.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2E }
        let ending = bytes.suffix(4)
        return isPlain && (1...64).contains(bytes.count) && bytes[0] != 0x2E
            && !ending.elementsEqual(".new".utf8) && !ending.elementsEqual(".tmp".utf8)
    }

    /// The nonce of a frame: 15 zero bytes ‖ number (8) ‖ 1 for the last frame, 0 for any other.
    static func nonce(frame: UInt64, isLast: Bool) -> [UInt8] {
        [UInt8](repeating: 0, count: 15) + frame.bigEndianBytes + [isLast ? 1 : 0]
    }

    /// The data that every frame is bound to: the format and the header.
    static func associatedData(header: [UInt8]) -> [UInt8] {
        magic + BLAKE2b.hash(header)
    }
}

extension CoreError {
    /// Wraps a failure of the file system.
    init(_ error: FileSystemError) {
        self.init(.inputOutput, at: error.place, cause: error)
    }
}

/// Evaluates `value`, turning errors of the file system into this module's.
func inFiles<Result>(_ value: @autoclosure () throws(FileSystemError) -> Result) throws -> Result {
    do throws(FileSystemError) {
        return try value()
    } catch {
        throw CoreError(error)
    }
}

/// The same for several statements.
func inFiles<Result>(_ body: () throws(FileSystemError) -> Result) throws -> Result {
    try inFiles(body())
}
