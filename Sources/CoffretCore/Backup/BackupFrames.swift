// The frames of a backup: a stream cut into pieces that are sealed one by one. Invariant: the last frame says that it
// is the last, so that a backup cut anywhere is noticed.

internal import CoffretBase
internal import CoffretCrypto

/// Seals a stream into a file.
final class BackupFrameWriter {
    private let file: any OpenFile
    private let key: BackupContentKey
    private let associatedData: [UInt8]
    private var position: Int
    private var frame: [UInt8] = []
    private var frameCount: UInt64 = 0
    /// How many bytes of the stream were taken.
    private(set) var byteCount = 0

    init(
        to file: any OpenFile, at position: Int, key: BackupContentKey, associatedData: [UInt8]
    ) {
        self.file = file
        self.position = position
        self.key = key
        self.associatedData = associatedData
        frame.reserveCapacity(BackupFormat.sealedFrameByteCount)
    }

    func write(_ bytes: ArraySlice<UInt8>) throws {
        byteCount += bytes.count
        var rest = bytes
        while !rest.isEmpty {
            // A full frame waits until there is more: only then is it known not to be the last.
            if frame.count == BackupFormat.frameByteCount { try seal(isLast: false) }
            let part = rest.prefix(BackupFormat.frameByteCount - frame.count)
            frame += part
            rest = rest.dropFirst(part.count)
        }
    }

    func finish() throws {
        try seal(isLast: true)
    }

    private func seal(isLast: Bool) throws {
        let nonce = BackupFormat.nonce(frame: frameCount, isLast: isLast)
        var sealed = [UInt8](repeating: 0, count: frame.count + XChaCha20Poly1305.tagByteCount)
        let count = frame.count
        unsafe sealed.withUnsafeMutableBytes { sealed in
            unsafe frame.withUnsafeBytes { frame in
                // EXPOSE: into libsodium, which expands the key on its stack and clears that.
                unsafe key.withUnsafeBytes { key in
                    unsafe nonce.withUnsafeBytes { nonce in
                        unsafe associatedData.withUnsafeBytes { associatedData in
                            unsafe XChaCha20Poly1305.seal(
                                frame, key: key, nonce: nonce, associatedData: associatedData,
                                ciphertext: UnsafeMutableRawBufferPointer(rebasing: sealed[..<count]),
                                tag: UnsafeMutableRawBufferPointer(rebasing: sealed[count...]))
                        }
                    }
                }
            }
        }
        let target = position
        try inFiles(file.write(sealed, at: target))
        position += sealed.count
        frameCount += 1
        frame.removeAll(keepingCapacity: true)
    }
}

/// Opens the frames of a backup one after the other.
final class BackupFrameReader {
    private let file: any OpenFile
    private let key: BackupContentKey
    private let associatedData: [UInt8]
    /// How far the file was read.
    private(set) var position: Int
    private let end: Int
    private var frameCount: UInt64 = 0
    private var frame: ArraySlice<UInt8> = []

    /// - Parameters:
    ///   - position: where the first frame begins.
    ///   - end: the size of the file.
    init(
        from file: any OpenFile, at position: Int, end: Int, key: BackupContentKey,
        associatedData: [UInt8]
    ) {
        self.file = file
        self.position = position
        self.end = end
        self.key = key
        self.associatedData = associatedData
    }

    /// Whether the stream has ended.
    func isAtEnd() throws -> Bool {
        if frame.isEmpty && position < end { try open() }
        return frame.isEmpty
    }

    /// The rest of the current frame.
    func readFrame() throws -> ArraySlice<UInt8> {
        guard try !isAtEnd() else { return [] }
        defer { frame = [] }
        return frame
    }

    /// Exactly `count` bytes of the stream.
    ///
    /// - Throws: `.backupDamaged` if it ends before, or if a frame does not open.
    func read(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            if frame.isEmpty {
                guard position < end else { throw CoreError(.backupDamaged, at: "offset \(position)") }
                try open()
            }
            let part = frame.prefix(count - bytes.count)
            bytes += part
            frame = frame.dropFirst(part.count)
        }
        return bytes
    }

    private func open() throws {
        let place = position
        let count = min(BackupFormat.sealedFrameByteCount, end - position)
        guard count >= XChaCha20Poly1305.tagByteCount else { throw CoreError(.backupDamaged, at: "offset \(place)") }
        let sealed = try inFiles(file.read(byteCount: count, at: place))
        position += count
        let nonce = BackupFormat.nonce(frame: frameCount, isLast: position == end)
        frameCount += 1
        let plainCount = count - XChaCha20Poly1305.tagByteCount
        var plain = [UInt8](repeating: 0, count: plainCount)
        let isOpen = unsafe plain.withUnsafeMutableBytes { plain in
            unsafe sealed.withUnsafeBytes { sealed in
                // EXPOSE: into libsodium, which expands the key on its stack and clears that.
                unsafe key.withUnsafeBytes { key in
                    unsafe nonce.withUnsafeBytes { nonce in
                        unsafe associatedData.withUnsafeBytes { associatedData in
                            let opened: Void? = try? unsafe XChaCha20Poly1305.open(
                                UnsafeRawBufferPointer(rebasing: sealed[..<plainCount]),
                                tag: UnsafeRawBufferPointer(rebasing: sealed[plainCount...]), key: key,
                                nonce: nonce, associatedData: associatedData, message: plain)
                            return opened != nil
                        }
                    }
                }
            }
        }
        guard isOpen else { throw CoreError(.backupDamaged, at: "offset \(place)") }
        frame = plain[...]
    }
}
