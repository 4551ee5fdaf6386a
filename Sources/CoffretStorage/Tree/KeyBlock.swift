// Keys in one block of memory. The one thing to keep true: nodes hold their keys like this, since an array for
// each would cost more time than all else that is done with them.

internal import Glibc

extension Span<UInt8> {
    /// Negative, zero or positive, as these bytes sort before, with or behind the others.
    func compare(to other: Span<UInt8>) -> Int {
        let limit = Swift.min(count, other.count)
        guard limit > 0 else { return count - other.count }
        let order = unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                // SAFETY: both hold at least `limit` bytes, and `limit` is not zero.
                unsafe memcmp(left.baseAddress.unsafelyUnwrapped, right.baseAddress.unsafelyUnwrapped, limit)
            }
        }
        return order != 0 ? Int(order) : count - other.count
    }

    /// How many bytes both share from the start.
    func sharedByteCount(with other: Span<UInt8>) -> Int {
        let limit = Swift.min(count, other.count)
        var shared = 0
        // Eight bytes at a time: keys of one entity share seventeen and more.
        while limit - shared >= 8 {
            let left = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: shared, as: UInt64.self)
            let right = unsafe other.bytes.unsafeLoadUnaligned(fromByteOffset: shared, as: UInt64.self)
            guard left == right else { return shared + UInt64(littleEndian: left ^ right).trailingZeroBitCount / 8 }
            shared += 8
        }
        while shared < limit && self[shared] == other[shared] { shared += 1 }
        return shared
    }
}

extension [UInt8] {
    /// Appends bytes that the array holds already.
    mutating func appendCopy(of range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "the range lies inside")
        let start = count
        append(contentsOf: repeatElement(0, count: range.count))
        unsafe withUnsafeMutableBytes { bytes in
            unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }
}

/// Keys as differences to the key before.
enum KeyCoding {
    /// The most bytes that `append` adds beside those of the key.
    static let overheadByteCount = 2

    /// Appends the key that lies at `range` of `block`, of which so many bytes are those of the key before.
    static func append(
        _ range: Range<Int>, sharedByteCount: UInt8, of block: Span<UInt8>, to bytes: inout OutputSpan<UInt8>
    ) {
        bytes.append(sharedByteCount)
        bytes.append(UInt8(range.count) - sharedByteCount)
        bytes.append(block.extracting(range.lowerBound + Int(sharedByteCount)..<range.upperBound))
    }

    /// Reads a key, which is to follow the one at `previous` of `block`, and appends it to `block`.
    ///
    /// - Returns: where it lies now, and how much of it is the key before; nil unless the shared part is as long as it
    ///   can be and the key is well formed and not below the one before.
    static func read(
        _ bytes: Span<UInt8>, at offset: inout Int, after previous: Range<Int>?, to block: inout [UInt8]
    ) -> (range: Range<Int>, sharedByteCount: UInt8, isEqual: Bool)? {
        guard bytes.count - offset >= 2 else { return nil }
        let shared = Int(bytes[offset])
        let rest = Int(bytes[offset + 1])
        offset += 2
        let previousByteCount = previous?.count ?? 0
        guard shared <= previousByteCount, rest <= bytes.count - offset else { return nil }
        let isEqual = previous != nil && rest == 0
        if isEqual {
            // Nothing new: the key before, or a part of it, which would sort below it.
            guard shared == previousByteCount else { return nil }
        } else if let previous, shared < previousByteCount {
            guard bytes[offset] > block[previous.lowerBound + shared] else { return nil }
        }
        let start = block.count
        if let previous { block.appendCopy(of: previous.lowerBound..<previous.lowerBound + shared) }
        bytes.append(offset..<offset + rest, to: &block)
        offset += rest
        let range = start..<block.count
        guard isEqual || FactKey.isValid(block.span.extracting(range)) else { return nil }
        return (range, UInt8(shared), isEqual)
    }
}
