// The list of a backup as frames: a stream cut into parts that are sealed one by one. Invariant: the last frame says that it
// is the last, so that a list cut anywhere is noticed.

internal import CoffretBase
internal import CoffretCrypto

/// Seals and opens the frames of one list.
struct BackupFrames {
    let key: BackupContentKey
    /// The data that every frame is bound to.
    let associatedData: [UInt8]

    /// Writes a whole stream behind `position`.
    func write(_ stream: [UInt8], to file: any OpenFile, at position: Int) throws {
        var position = position
        var number: UInt64 = 0
        var rest = stream[...]
        repeat {
            let part = rest.prefix(BackupFormat.frameByteCount)
            rest = rest.dropFirst(part.count)
            let sealed = BackupSeal.seal(
                Array(part), key, nonce: BackupFormat.nonce(frame: number, isLast: rest.isEmpty),
                associatedData: associatedData)
            let place = position
            try inFiles(file.write(sealed, at: place))
            position += sealed.count
            number += 1
        } while !rest.isEmpty
    }
}

/// Opens the frames of a list one after the other.
final class BackupFrameReader {
    private let file: any OpenFile
    private let frames: BackupFrames
    /// How far the file was read.
    private(set) var position: Int
    private let end: Int
    private var frameCount: UInt64 = 0
    private var frame: ArraySlice<UInt8> = []

    /// - Parameters:
    ///   - position: where the first frame begins.
    ///   - end: the size of the file.
    init(_ frames: BackupFrames, from file: any OpenFile, at position: Int, end: Int) {
        self.frames = frames
        self.file = file
        self.position = position
        self.end = end
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
        let sealed = try inFiles(file.read(byteCount: count, at: place))
        position += count
        let nonce = BackupFormat.nonce(frame: frameCount, isLast: position == end)
        frameCount += 1
        guard let plain = BackupSeal.open(sealed, frames.key, nonce: nonce, associatedData: frames.associatedData)
        else { throw CoreError(.backupDamaged, at: "offset \(place)") }
        frame = plain[...]
    }
}
