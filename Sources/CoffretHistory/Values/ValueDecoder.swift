// Stored values of anybody, read. The one thing to keep true: no memory is taken for a size that the stored bytes could not
// have, and a value has one reading on all devices.

internal import CZstd
internal import CoffretBase
package import CoffretStorage

/// What stands before a frame.
struct StoredValueHead {
    let byteCount: Int
    let base: BlobName?
    /// Where the frame begins.
    let frameOffset: Int

    /// - Returns: nil for a value of form 0, and for what is none.
    init?(_ stored: [UInt8]) {
        guard let first = stored.first, let form = ValueForm(rawValue: first), form != .plain else { return nil }
        var offset = 1
        guard let size = Varint.read(stored.span, at: &offset), size <= UInt64(ValueLimits.byteCountMax)
        else { return nil }
        byteCount = Int(size)
        guard form == .delta else {
            (base, frameOffset) = (nil, offset)
            return
        }
        guard let name = BlobName(bytes: stored[offset...].prefix(32)) else { return nil }
        (base, frameOffset) = (name, offset + 32)
    }
}

/// Reads stored values. Spec: Spec/history.md section 14, Z3 to Z5.
package enum ValueDecoder {
    /// The bytes of a stored value.
    ///
    /// - Parameters:
    ///   - place: names the value in errors.
    ///   - base: the stored value of that name, without its salt; nil if it is not here. Asked for form 2 alone.
    /// - Throws: `.valueMalformed` for what no writer may write, a base that is not here among it: for this value only.
    ///   `.valueLibraryMissing` without libzstd; what `base` throws.
    /// - Complexity: at most the value's size, its base's size and 200 KB of memory.
    package static func decode(
        _ stored: [UInt8], place: some CustomStringConvertible, base: (BlobName) throws(HistoryError) -> [UInt8]?
    ) throws(HistoryError) -> [UInt8] {
        if stored.first == ValueForm.plain.rawValue { return Array(stored.dropFirst()) }
        guard let head = StoredValueHead(stored) else { throw malformed(place) }
        guard let name = head.base else {
            guard ValueLimits.allows(head.byteCount, ofStored: stored.count) else { throw malformed(place) }
            return try decompress(stored, head, prefix: [], place)
        }
        guard head.byteCount <= ValueLimits.deltaByteCountMax, isFrame(stored[head.frameOffset...]),
            let found = try base(name), let base = ValueBase(name: name, stored: found),
            ValueLimits.allows(head.byteCount, ofStored: stored.count + base.stored.count)
        else { throw malformed(place) }
        let prefix = try decode(base.stored, place: place) { _ in nil }
        return try decompress(stored, head, prefix: prefix, place)
    }

    private static func malformed(_ place: some CustomStringConvertible) -> HistoryError {
        HistoryError(.valueMalformed, place: place.description)
    }

    private static func decompress(
        _ stored: [UInt8], _ head: StoredValueHead, prefix: [UInt8], _ place: some CustomStringConvertible
    ) throws(HistoryError) -> [UInt8] {
        let frame = stored[head.frameOffset...]
        guard isFrame(frame) else { throw malformed(place) }
        var result = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: head.byteCount) { output, count in
            result = unsafe frame.withUnsafeBufferPointer { frame in
                unsafe prefix.withUnsafeBufferPointer { prefix in
                    unsafe coffret_zstd_decompress(
                        frame.baseAddress, frame.count, prefix.isEmpty ? nil : prefix.baseAddress, prefix.count,
                        output.baseAddress, head.byteCount)
                }
            }
            count = max(result, 0)
        }
        if result == Int(COFFRET_ZSTD_UNAVAILABLE.rawValue) { throw HistoryError(.valueLibraryMissing) }
        guard result == head.byteCount else { throw malformed(place) }
        return bytes
    }

    /// Whether the bytes are one frame, and nothing behind it: no magic, size, checksum or dictionary, a window of at most
    /// 2^24 bytes, and blocks up to the end. Blocks are looked into by libzstd.
    static func isFrame(_ bytes: ArraySlice<UInt8>) -> Bool {
        let frame = bytes.span
        guard frame.count >= 2, frame[0] == 0, frame[1] <= (ValueLimits.windowLogMax - 10) << 3 else { return false }
        var offset = 2
        while offset + 3 <= frame.count {
            let header = Int(frame[offset]) | Int(frame[offset + 1]) << 8 | Int(frame[offset + 2]) << 16
            let (isLast, kind, size) = (header & 1 == 1, header >> 1 & 3, header >> 3)
            // Raw, one byte repeated, compressed; 3 is reserved.
            guard kind < 3 else { return false }
            offset += 3 + (kind == 1 ? 1 : size)
            if isLast { return offset == frame.count }
        }
        return false
    }
}
