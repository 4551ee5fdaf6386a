// The parts of a folder of backups. Invariant: nothing of a backup is written to a store before all of it was authenticated
// to its last byte.
//
// Spec: Spec/backup.md.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys

extension KeyPurposes {
    /// Seals the list of one backup.
    enum BackupContent: KeyPurpose { static var name: String { "backup content key" } }
    /// Seals pieces of files.
    enum BackupPiece: KeyPurpose { static var name: String { "backup piece key" } }
    /// Names pieces by what they hold.
    enum BackupName: KeyPurpose { static var name: String { "backup name key" } }
}

/// Seals the list of one backup.
typealias BackupContentKey = SymmetricKey<KeyPurposes.BackupContent>

/// Constants and rules of the format.
enum BackupFormat {
    /// The first sixteen bytes of every backup of this version.
    static let magic = Array("coffret/backup/2".utf8)
    /// The beginning of all versions.
    static let family = Array("coffret/backup/".utf8)
    /// The first sixteen bytes of every volume.
    static let volumeMagic = Array("coffret/volume/1".utf8)
    /// The content of the file that marks a folder of backups.
    static let marker = Array("Backups of Coffret, see `coffret backup --help`.\n".utf8)
    static let markerName = "coffret-backups"
    static let checkedName = "checked"
    /// Plain bytes of every frame but the last.
    static let frameByteCount = 1 << 20
    static let sealedFrameByteCount = frameByteCount + XChaCha20Poly1305.tagByteCount
    /// A piece has at most so many bytes of a file, and begins at a multiple of them.
    static let pieceByteCount = 1 << 20
    /// Of journals, whose ends change with every backup.
    static let journalPieceByteCount = 64 << 10
    /// A volume that has so many bytes takes no more.
    static let volumeByteCount = 64 << 20
    /// A volume of at most so many bytes is used as long as any of it is needed.
    static let smallVolumeByteCount = 128 << 10
    /// The most volumes that one backup names.
    static let volumeCountMax = 1 << 20
    /// The longest path of an entry, in bytes.
    static let pathByteCountMax = 256
    /// The largest file, in bytes: 2^48, far above what a disk holds.
    static let fileByteCountMax: UInt64 = 1 << 48

    /// Whether a path is one that a vault has: `<32 hex digits>/` and then `manifest`, `chains`, `journal/NAME`,
    /// `blobs/NAME` or `files/XX/NAME`.
    ///
    /// Names are 1 to 64 of `0-9`, `a-z` and `.`, and do not begin with a dot, so that no path leads outside.
    static func isAcceptable(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { Array($0.utf8) }
        guard path.utf8.count <= pathByteCountMax, parts.count >= 2, isHex(parts[0], count: 32) else { return false }
        switch (String(decoding: parts[1], as: UTF8.self), parts.count) {
        case ("manifest", 2), (ChainsFile.name, 2): return true
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

    /// Whether a file never changes under its path: packs and attachments. Journals and the manifest do.
    static func isFixed(_ path: String) -> Bool { path.contains("/blobs/") || path.contains("/files/") }

    /// The nonce of a frame: 15 zero bytes ‖ number (8) ‖ 1 for the last frame, 0 for any other.
    static func nonce(frame: UInt64, isLast: Bool) -> [UInt8] {
        [UInt8](repeating: 0, count: 15) + frame.bigEndianBytes + [isLast ? 1 : 0]
    }
}

/// XChaCha20-Poly1305 over arrays.
enum BackupSeal {
    /// - Returns: ciphertext ‖ tag (16).
    static func seal<Purpose>(
        _ plain: [UInt8], _ key: SymmetricKey<Purpose>, nonce: [UInt8], associatedData: [UInt8]
    ) -> [UInt8] {
        var sealed = [UInt8](repeating: 0, count: plain.count + XChaCha20Poly1305.tagByteCount)
        unsafe sealed.withUnsafeMutableBytes { sealed in
            unsafe withInputs(plain[...], key, nonce, associatedData) { plain, key, nonce, associatedData in
                unsafe XChaCha20Poly1305.seal(
                    plain, key: key, nonce: nonce, associatedData: associatedData,
                    ciphertext: UnsafeMutableRawBufferPointer(rebasing: sealed[..<plain.count]),
                    tag: UnsafeMutableRawBufferPointer(rebasing: sealed[plain.count...]))
            }
        }
        return sealed
    }

    /// - Returns: nil for bytes that this key did not seal.
    static func open<Purpose>(
        _ sealed: [UInt8], _ key: SymmetricKey<Purpose>, nonce: [UInt8], associatedData: [UInt8]
    ) -> [UInt8]? {
        let plainCount = sealed.count - XChaCha20Poly1305.tagByteCount
        guard plainCount >= 0 else { return nil }
        var plain = [UInt8](repeating: 0, count: plainCount)
        let opened: Void? = unsafe plain.withUnsafeMutableBytes { plain in
            unsafe withInputs(sealed[...], key, nonce, associatedData) { sealed, key, nonce, associatedData in
                try? unsafe XChaCha20Poly1305.open(
                    UnsafeRawBufferPointer(rebasing: sealed[..<plainCount]),
                    tag: UnsafeRawBufferPointer(rebasing: sealed[plainCount...]), key: key, nonce: nonce,
                    associatedData: associatedData, message: plain)
            }
        }
        return opened == nil ? nil : plain
    }

    private static func withInputs<Purpose, Result>(
        _ bytes: ArraySlice<UInt8>, _ key: SymmetricKey<Purpose>, _ nonce: [UInt8], _ associatedData: [UInt8],
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer) ->
            Result
    ) -> Result {
        unsafe bytes.withUnsafeBytes { bytes in
            // EXPOSE: into libsodium or OpenSSL, which clear what they expand.
            unsafe key.withUnsafeBytes { key in
                unsafe nonce.withUnsafeBytes { nonce in
                    unsafe associatedData.withUnsafeBytes { associatedData in
                        unsafe body(bytes, key, nonce, associatedData)
                    }
                }
            }
        }
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
