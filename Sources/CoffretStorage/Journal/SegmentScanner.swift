// Finds the complete transactions of a segment. The one thing to keep true: it reports what verifies,
// in order and without a gap, and never reads past what it checked to be there.

internal import CoffretBase
internal import CoffretCrypto

/// A transaction whose trailer verified.
struct ScannedTransaction: Equatable, Sendable {
    struct Blob: Equatable, Sendable {
        let address: BlobAddress
        let location: RecordLocation
        /// Under which it says that it is sealed.
        let epoch: UInt32
    }

    let startOffset: Int
    let endOffset: Int
    let trailer: TransactionTrailer
    let blobs: [Blob]

    /// The blob whose record the trailer's state speaks of.
    var stateBlob: Blob? {
        blobs.first { $0.location.byteOffset == startOffset + trailer.stateRecordOffset }
    }
}

/// Walks a segment's transactions from one offset on, reading ahead in blocks.
final class SegmentScanner {
    /// Why the walk ended.
    enum Stop: Equatable, Sendable {
        /// Empty room, or the end of the file.
        case empty
        /// The index of a sealed segment.
        case index
        /// Bytes that are no complete transaction.
        case unfinished
    }

    private let file: any OpenFile
    private let salt: [UInt8]
    private let authenticator: JournalAuthenticator
    private let fileByteCount: Int
    private var window: [UInt8] = []
    /// Where in the file `window` begins.
    private var windowOffset: Int

    /// Where the next transaction would begin.
    private(set) var offset: Int
    private(set) var nextSequence: UInt64
    /// Set once `next` has returned nil.
    private(set) var stop: Stop?

    private static let blockByteCountMax = 64 << 10
    /// After a clean end nothing but empty room lies ahead, so the first look is a short one, and each further one twice as long.
    private var blockByteCount = 4 << 10

    init(
        file: any OpenFile, salt: [UInt8], authenticator: JournalAuthenticator, offset: Int, nextSequence: UInt64
    ) throws(StorageError) {
        self.file = file
        self.salt = salt
        self.authenticator = authenticator
        self.offset = offset
        self.nextSequence = nextSequence
        windowOffset = offset
        fileByteCount = try translatingFileErrors(file.byteCount())
    }

    /// The next complete transaction, or nil at the end; `stop` then says what was found there.
    func next() throws(StorageError) -> ScannedTransaction? {
        var position = offset
        var blobs: [ScannedTransaction.Blob] = []
        while true {
            guard try load(through: position + RecordHeader.byteCount) else {
                return finish(position == offset && position >= fileByteCount ? .empty : .unfinished)
            }
            let (payloadByteCount, kindByte) = recordHeader(at: position)
            if payloadByteCount == 0, kindByte == 0 {
                return finish(position == offset ? .empty : .unfinished)
            }
            guard let kind = RecordKind(rawValue: kindByte),
                payloadByteCount <= RecordHeader.payloadByteCountMax
            else { return finish(.unfinished) }
            if kind == .index { return finish(position == offset ? .index : .unfinished) }
            guard try load(through: position + RecordHeader.byteCount + payloadByteCount) else {
                return finish(.unfinished)
            }
            switch kind {
            case .blob:
                guard let blob = blob(at: position, payloadByteCount: payloadByteCount) else {
                    return finish(.unfinished)
                }
                blobs.append(blob)
            case .trailer:
                return complete(trailerAt: position, blobs: blobs)
            case .indexRun, .index:
                break
            }
            position += RecordHeader.byteCount + payloadByteCount
        }
    }

    private func finish(_ stop: Stop) -> ScannedTransaction? {
        self.stop = stop
        return nil
    }

    private func complete(
        trailerAt position: Int, blobs: [ScannedTransaction.Blob]
    ) -> ScannedTransaction? {
        let local = position - windowOffset
        let trailer: TransactionTrailer? = unsafe window.withUnsafeBytes { bytes in
            guard let trailer = unsafe TransactionTrailer.parse(bytes, at: local),
                trailer.sequence == nextSequence, trailer.recordsByteCount == position - offset,
                unsafe trailer.isValid(in: bytes, at: local, salt: salt, authenticator: authenticator)
            else { return nil }
            return trailer
        }
        guard let trailer else { return finish(.unfinished) }
        let transaction = ScannedTransaction(
            startOffset: offset, endOffset: position + TransactionTrailer.byteCount, trailer: trailer, blobs: blobs)
        guard transaction.stateBlob != nil else { return finish(.unfinished) }
        offset = transaction.endOffset
        nextSequence += 1
        return transaction
    }

    private func recordHeader(at position: Int) -> (payloadByteCount: Int, kind: UInt8) {
        unsafe window.withUnsafeBytes { bytes in
            unsafe (
                Int(bytes.loadBigEndian(UInt32.self, at: position - windowOffset)),
                bytes[position - windowOffset + 4]
            )
        }
    }

    private func blob(at position: Int, payloadByteCount: Int) -> ScannedTransaction.Blob? {
        guard payloadByteCount >= 32 + BlobFormat.overheadByteCount + BlobFormat.headerByteCount else { return nil }
        let local = position - windowOffset + RecordHeader.byteCount
        let (address, epoch) = unsafe window.withUnsafeBytes { bytes in
            unsafe (
                Bytes32(UnsafeRawBufferPointer(rebasing: bytes[local..<local + 32])),
                bytes.loadBigEndian(UInt32.self, at: local + 32)
            )
        }
        return ScannedTransaction.Blob(
            address: BlobAddress(address),
            location: RecordLocation(byteOffset: position, sealedByteCount: payloadByteCount - 32),
            epoch: epoch)
    }

    /// Makes the window reach `end`; false if the file does not.
    private func load(through end: Int) throws(StorageError) -> Bool {
        if end <= windowOffset + window.count { return true }
        guard end <= fileByteCount else { return false }
        // What lies before the current transaction is not needed any more.
        if offset > windowOffset {
            window.removeFirst(min(offset - windowOffset, window.count))
            windowOffset = offset
        }
        let start = windowOffset + window.count
        let byteCount = min(max(end - start, blockByteCount), fileByteCount - start)
        let block = try translatingFileErrors { () throws(FileSystemError) in
            // A writer may have cut the file meanwhile: what is gone was never acknowledged.
            try file.readAvailable(byteCount: byteCount, at: start)
        }
        blockByteCount = min(2 * blockByteCount, Self.blockByteCountMax)
        window.append(contentsOf: block)
        return end <= windowOffset + window.count
    }

    /// The highest sequence of any complete transaction that lies behind bytes that are none: proof
    /// that these were once acknowledged, since a transaction is written after the one before it is
    /// durable.
    ///
    /// - Parameter sequence: of the last transaction in unbroken order.
    /// - Complexity: reads the rest of the file; a code is computed for each chance match of the five
    ///   bytes that begin a trailer.
    func lastSequenceBehindDamage(after sequence: UInt64) throws(StorageError) -> UInt64? {
        let rest = try translatingFileErrors(file.readAvailable(byteCount: max(0, fileByteCount - offset), at: offset))
        return unsafe rest.withUnsafeBytes { bytes -> UInt64? in
            var last: UInt64?
            var position = 0
            while position + TransactionTrailer.byteCount <= bytes.count {
                defer { position += 1 }
                guard unsafe bytes[position + 4] == RecordKind.trailer.rawValue,
                    let trailer = unsafe TransactionTrailer.parse(bytes, at: position),
                    trailer.sequence > max(sequence, last ?? 0),
                    unsafe trailer.isValid(in: bytes, at: position, salt: salt, authenticator: authenticator)
                else { continue }
                last = trailer.sequence
            }
            return last
        }
    }

    /// Whether everything from `offset` to the end of the file is zero.
    func isRestEmpty() throws(StorageError) -> Bool {
        var position = offset
        while position < fileByteCount {
            let block = try translatingFileErrors(
                file.readAvailable(byteCount: min(1 << 20, fileByteCount - position), at: position))
            if block.isEmpty { return true }
            guard block.isAllZero else { return false }
            position += block.count
        }
        return true
    }
}

extension OpenFile {
    /// Reads up to `byteCount` bytes: fewer where the file ends.
    func readAvailable(byteCount: Int, at byteOffset: Int) throws(FileSystemError) -> [UInt8] {
        var failure: FileSystemError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            do throws(FileSystemError) {
                count = try unsafe read(
                    into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: byteCount), at: byteOffset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }
}

extension Array where Element == UInt8 {
    /// Whether every byte is zero; eight at a time, since segments are mostly empty room.
    var isAllZero: Bool {
        unsafe withUnsafeBytes { bytes in
            let wordCount = bytes.count / 8
            var combined: UInt64 = 0
            for index in 0..<wordCount {
                combined |= unsafe bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
            }
            for index in wordCount * 8..<bytes.count { unsafe combined |= UInt64(bytes[index]) }
            return combined == 0
        }
    }
}
