// 16-byte identifiers. Invariant: they are random, so that they tell nothing and never meet.

/// A UUID as 16 bytes, ordered by them.
///
/// Layout: 16 bytes, most significant first. Text: RFC 9562, lower case.
package struct UniqueID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let byteCount = 16

    let high: UInt64
    let low: UInt64

    /// Reads 16 bytes; nil for another number.
    package init?<Bytes: Collection>(bytes: Bytes) where Bytes.Element == UInt8 {
        guard bytes.count == Self.byteCount else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for (index, byte) in bytes.enumerated() {
            if index < 8 { words.0 = words.0 << 8 | UInt64(byte) } else { words.1 = words.1 << 8 | UInt64(byte) }
        }
        (high, low) = words
    }

    /// Reads 16 bytes of an array; nil for another number. As above, but specialised for the callers in
    /// other modules, who read millions of these.
    package init?(bytes: [UInt8]) { self.init(bytes: bytes[...]) }

    /// Reads 16 bytes of an array; nil for another number.
    package init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for byte in bytes.prefix(8) { words.0 = words.0 << 8 | UInt64(byte) }
        for byte in bytes.suffix(8) { words.1 = words.1 << 8 | UInt64(byte) }
        (high, low) = words
    }

    /// Reads 16 bytes without an array.
    ///
    /// - Parameter bytes: exactly 16 bytes; anything else is our own bug.
    package init(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count == Self.byteCount, "16 bytes are needed")
        high = unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        low = unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A random UUID of version 4: 122 random bits.
    package static func generate(from random: any RandomSource) -> UniqueID {
        UniqueID(
            high: random.uint64() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000,
            low: random.uint64() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
    }

    /// Reads the text form, with or without hyphens, in either case.
    package static func parse(_ text: String) throws(TextCodingError) -> UniqueID {
        var digits = text
        if text.utf8.count == 36 {
            for (offset, character) in text.utf8.enumerated() where [8, 13, 18, 23].contains(offset) {
                guard character == UInt8(ascii: "-") else {
                    throw TextCodingError(.invalidCharacter, byteOffset: offset)
                }
            }
            digits.removeAll { $0 == "-" }
        }
        guard digits.utf8.count == 32, let id = UniqueID(bytes: try Hex.decode(digits)) else {
            throw TextCodingError(.invalidLength, byteOffset: text.utf8.count)
        }
        return id
    }

    package var bytes: [UInt8] { high.bigEndianBytes + low.bigEndianBytes }

    /// 32 hexadecimal digits.
    package var hex: String { Hex.encode(bytes) }

    package var description: String {
        var text = hex
        for offset in [20, 16, 12, 8] {
            text.insert("-", at: text.index(text.startIndex, offsetBy: offset))
        }
        return text
    }

    package static func < (left: UniqueID, right: UniqueID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension [UInt8] {
    /// Appends the 16 bytes of an id without an array in between.
    package mutating func append(id: UniqueID) {
        appendBigEndian(id.high)
        appendBigEndian(id.low)
    }
}
