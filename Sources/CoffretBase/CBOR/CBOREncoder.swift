// Deterministic CBOR, written. Invariant: equal values give equal bytes (RFC 8949 section 4.2.1), because names,
// hashes and signatures are computed over them.

/// The eight kinds of CBOR items, as the upper three bits of an item's first byte.
package enum CBORMajorType: UInt8, Sendable {
    case unsigned = 0
    case negative = 1
    case bytes = 2
    case text = 3
    case array = 4
    case map = 5
    case tag = 6
    case simple = 7
}

/// Appends deterministic CBOR to an array of bytes.
///
/// Integers and lengths take their shortest form, lengths are always definite. Arrays and maps are announced by their
/// count; a caller that writes a map header by hand writes the keys in ascending order of their encoded bytes, or uses
/// `encodeMap`, which sorts.
///
/// Spec: Spec/encoding.md. Source: RFC 8949 sections 3 and 4.2.1. Vectors: cbor/.
package struct CBOREncoder: Sendable {
    /// The bytes written so far.
    package private(set) var bytes: [UInt8]

    package init(reservingByteCount byteCount: Int = 0) {
        bytes = []
        if byteCount > 0 { bytes.reserveCapacity(byteCount) }
    }

    /// Encodes in one expression: `CBOREncoder.encode { $0.encode(unsigned: 1) }`.
    package static func encode<Failure: Error>(
        reservingByteCount byteCount: Int = 0, _ body: (inout CBOREncoder) throws(Failure) -> Void
    ) throws(Failure) -> [UInt8] {
        var encoder = CBOREncoder(reservingByteCount: byteCount)
        try body(&encoder)
        return encoder.bytes
    }

    /// Overwrites what was written with zeros and forgets it; for encodings that hold secrets.
    package mutating func zero() {
        bytes.zero()
        bytes.removeAll(keepingCapacity: true)
    }

    package mutating func encode(unsigned value: UInt64) {
        appendHead(.unsigned, value)
    }

    package mutating func encode(signed value: Int64) {
        if value >= 0 {
            appendHead(.unsigned, UInt64(value))
        } else {
            // -1 - n, without overflow at the smallest integer.
            appendHead(.negative, UInt64(bitPattern: ~value))
        }
    }

    /// Encodes the integer -1 - `argument`, down to -2^64.
    package mutating func encode(negativeArgument argument: UInt64) {
        appendHead(.negative, argument)
    }

    package mutating func encode(bytes value: [UInt8]) {
        appendHead(.bytes, UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    package mutating func encode(bytes value: ArraySlice<UInt8>) {
        appendHead(.bytes, UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    package mutating func encode(bytes value: UnsafeRawBufferPointer) {
        appendHead(.bytes, UInt64(value.count))
        unsafe bytes.append(contentsOf: value)
    }

    /// Encodes text as it is given: no Unicode normalisation.
    package mutating func encode(text value: String) {
        var value = value
        value.makeContiguousUTF8()
        appendHead(.text, UInt64(value.utf8.count))
        bytes.append(contentsOf: value.utf8)
    }

    /// Encodes text that lies as UTF-8 already; other bytes are our own bug.
    package mutating func encode(textBytes value: ArraySlice<UInt8>) {
        appendHead(.text, UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    /// Encodes the 16 bytes of an id without an array in between.
    package mutating func encode(id: UniqueID) {
        appendHead(.bytes, UInt64(UniqueID.byteCount))
        bytes.appendBigEndian(id.high)
        bytes.appendBigEndian(id.low)
    }

    package mutating func encode(bool value: Bool) {
        bytes.append(value ? 0xF5 : 0xF4)
    }

    package mutating func encodeNull() {
        bytes.append(0xF6)
    }

    /// Announces `count` items, which the caller writes next.
    package mutating func encodeArrayHeader(count: Int) {
        appendHead(.array, UInt64(count))
    }

    /// Announces `count` pairs of key and value, which the caller writes next, in ascending order of
    /// the keys' encoded bytes.
    package mutating func encodeMapHeader(count: Int) {
        appendHead(.map, UInt64(count))
    }

    /// Announces a tag; the caller writes the tagged item next.
    package mutating func encodeTag(_ tag: UInt64) {
        appendHead(.tag, tag)
    }

    /// Inserts bytes that are one or several items in deterministic CBOR already.
    package mutating func appendEncoded(_ encoded: [UInt8]) {
        bytes.append(contentsOf: encoded)
    }

    /// Writes a map whose pairs `body` gives in any order; they are sorted by their encoded keys.
    ///
    /// A key written twice is our own bug and stops the program.
    /// - Complexity: one small array per pair; formats on hot paths write their keys in order after
    ///   `encodeMapHeader` instead.
    package mutating func encodeMap<Failure: Error>(
        _ body: (inout CBORMapWriter) throws(Failure) -> Void
    ) throws(Failure) {
        var writer = CBORMapWriter()
        try body(&writer)
        encodeMapHeader(count: writer.entries.count)
        writer.entries.sort { $0.key.lexicographicallyPrecedes($1.key) }
        for index in writer.entries.indices {
            precondition(
                index == 0 || writer.entries[index - 1].key != writer.entries[index].key, "a map key occurs twice")
            bytes.append(contentsOf: writer.entries[index].key)
            bytes.append(contentsOf: writer.entries[index].value)
        }
    }

    private mutating func appendHead(_ type: CBORMajorType, _ argument: UInt64) {
        let prefix = type.rawValue << 5
        switch argument {
        case 0..<24:
            bytes.append(prefix | UInt8(argument))
        case 24...0xFF:
            bytes.append(prefix | 24)
            bytes.append(UInt8(argument))
        case 0x100...0xFFFF:
            bytes.append(prefix | 25)
            bytes.appendBigEndian(UInt16(argument))
        case 0x1_0000...0xFFFF_FFFF:
            bytes.append(prefix | 26)
            bytes.appendBigEndian(UInt32(argument))
        default:
            bytes.append(prefix | 27)
            bytes.appendBigEndian(argument)
        }
    }
}

/// Collects the pairs of one map.
package struct CBORMapWriter {
    fileprivate(set) var entries: [(key: [UInt8], value: [UInt8])] = []

    /// Adds the pair of an unsigned key and what `value` writes, which is one item.
    package mutating func put<Failure: Error>(
        _ key: UInt64, _ value: (inout CBOREncoder) throws(Failure) -> Void
    ) throws(Failure) {
        try put(encodedKey: CBOREncoder.encode { $0.encode(unsigned: key) }, value)
    }

    /// Adds the pair of a text key and what `value` writes, which is one item.
    package mutating func put<Failure: Error>(
        _ key: String, _ value: (inout CBOREncoder) throws(Failure) -> Void
    ) throws(Failure) {
        try put(encodedKey: CBOREncoder.encode { $0.encode(text: key) }, value)
    }

    /// Adds a pair whose key is one item in deterministic CBOR already.
    package mutating func put<Failure: Error>(
        encodedKey key: [UInt8], _ value: (inout CBOREncoder) throws(Failure) -> Void
    ) throws(Failure) {
        var encoder = CBOREncoder()
        try value(&encoder)
        entries.append((key, encoder.bytes))
    }
}
