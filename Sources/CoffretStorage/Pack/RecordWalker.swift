// Goes through a sealed file record by record. The one thing to keep true: a header that leads outside
// the records is damage, told as such, and never followed.

internal import CoffretBase

/// Reads the records of a file in order, in blocks.
final class RecordWalker {
    struct Record {
        let kind: RecordKind
        /// Of the record's header.
        let byteOffset: Int
        let payloadByteCount: Int
    }

    private let file: any OpenFile
    private let endOffset: Int
    private(set) var offset: Int
    /// What the header of the index record says, once it was met.
    private(set) var indexByteCount: Int?
    private var window: [UInt8] = []
    private var windowOffset: Int

    private static let blockByteCount = 1 << 20

    /// - Parameter endOffset: where the records end.
    init(file: any OpenFile, offset: Int, endOffset: Int) {
        self.file = file
        self.offset = offset
        self.endOffset = endOffset
        windowOffset = offset
    }

    /// The next record, or nil at the end or at the index record.
    ///
    /// - Throws: `.packDamaged` if the bytes there are no record, `.fileFailed`.
    func next() throws(StorageError) -> Record? {
        guard offset < endOffset else { return nil }
        let damaged = StorageError(.packDamaged, place: "\(file.path) offset \(offset)")
        guard try load(through: offset + RecordHeader.byteCount) else { throw damaged }
        let (payloadByteCount, kindByte) = unsafe window.withUnsafeBytes { bytes in
            unsafe (
                Int(bytes.loadBigEndian(UInt32.self, at: offset - windowOffset)), bytes[offset - windowOffset + 4]
            )
        }
        guard let kind = RecordKind(rawValue: kindByte), payloadByteCount <= RecordHeader.payloadByteCountMax else {
            throw damaged
        }
        if kind == .index {
            indexByteCount = payloadByteCount
            return nil
        }
        guard kind != .blob || payloadByteCount >= 32 + BlobFormat.overheadByteCount + BlobFormat.headerByteCount,
            try load(through: offset + RecordHeader.byteCount + payloadByteCount)
        else { throw damaged }
        let record = Record(kind: kind, byteOffset: offset, payloadByteCount: payloadByteCount)
        offset += RecordHeader.byteCount + payloadByteCount
        return record
    }

    /// Lends the payload of the record that `next` returned last.
    func withPayload<Value>(
        of record: Record, _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        let start = record.byteOffset + RecordHeader.byteCount - windowOffset
        precondition(start >= 0, "only the last record is at hand")
        return try unsafe window.withUnsafeBytes { bytes -> Result<Value, StorageError> in
            do throws(StorageError) {
                return .success(
                    try unsafe body(UnsafeRawBufferPointer(rebasing: bytes[start..<start + record.payloadByteCount])))
            } catch {
                return .failure(error)
            }
        }.get()
    }

    private func load(through end: Int) throws(StorageError) -> Bool {
        if end <= windowOffset + window.count { return true }
        guard end <= endOffset else { return false }
        window.removeFirst(min(offset - windowOffset, window.count))
        windowOffset = offset
        let start = windowOffset + window.count
        let byteCount = min(max(end - start, Self.blockByteCount), endOffset - start)
        window += try translatingFileErrors(file.readAvailable(byteCount: byteCount, at: start))
        return end <= windowOffset + window.count
    }
}
