// CBOR as a tree of values, for tests and diagnostics. Invariant: it is never on the path of real data, whose formats
// read with the pull decoder and know what they expect.

/// Any item that Coffret's formats may hold.
package indirect enum CBORValue: Equatable, Sendable {
    case unsigned(UInt64)
    /// The integer -1 - n.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    /// Pairs in any order; encoding sorts them.
    case map([CBORPair])
    case tagged(UInt64, CBORValue)
    case bool(Bool)
    case null

    package struct CBORPair: Equatable, Sendable {
        package let key: CBORValue
        package let value: CBORValue

        package init(_ key: CBORValue, _ value: CBORValue) {
            self.key = key
            self.value = value
        }
    }

    /// Decodes one item, which must be all of `bytes`.
    package init(decoding bytes: [UInt8]) throws(CBORError) {
        // The first pass checks what reading into a tree does not: depth and big numbers.
        try withCBORDecoder(bytes) { (decoder) throws(CBORError) in try decoder.skipItem() }
        self = try withCBORDecoder(bytes) { (decoder) throws(CBORError) in try CBORValue(from: &decoder) }
    }

    private init(from decoder: inout CBORDecoder) throws(CBORError) {
        switch try decoder.peekMajorType() {
        case .unsigned: self = .unsigned(try decoder.readUnsigned())
        case .negative: self = .negative(try decoder.readNegativeArgument())
        case .bytes: self = .bytes(try decoder.readBytes())
        case .text: self = .text(try decoder.readText())
        case .array:
            var items: [CBORValue] = []
            for _ in 0..<(try decoder.readArrayHeader()) { items.append(try CBORValue(from: &decoder)) }
            self = .array(items)
        case .map:
            var pairs: [CBORPair] = []
            var map = try decoder.readMapHeader()
            while let key = try decoder.readKey(
                in: &map, { (decoder) throws(CBORError) in try CBORValue(from: &decoder) })
            {
                pairs.append(CBORPair(key, try CBORValue(from: &decoder)))
            }
            self = .map(pairs)
        case .tag:
            let tag = try decoder.readTag()
            self = .tagged(tag, try CBORValue(from: &decoder))
        case .simple:
            if decoder.isNextNull {
                try decoder.readNull()
                self = .null
            } else {
                self = .bool(try decoder.readBool())
            }
        }
    }

    package func encode(to encoder: inout CBOREncoder) {
        switch self {
        case .unsigned(let value): encoder.encode(unsigned: value)
        case .negative(let argument): encoder.encode(negativeArgument: argument)
        case .bytes(let value): encoder.encode(bytes: value)
        case .text(let value): encoder.encode(text: value)
        case .array(let items):
            encoder.encodeArrayHeader(count: items.count)
            for item in items { item.encode(to: &encoder) }
        case .map(let pairs):
            encoder.encodeMap { map in
                for pair in pairs {
                    map.put(encodedKey: CBOREncoder.encode { pair.key.encode(to: &$0) }) { pair.value.encode(to: &$0) }
                }
            }
        case .tagged(let tag, let value):
            encoder.encodeTag(tag)
            value.encode(to: &encoder)
        case .bool(let value): encoder.encode(bool: value)
        case .null: encoder.encodeNull()
        }
    }

    /// The deterministic encoding.
    package var encoded: [UInt8] { CBOREncoder.encode { encode(to: &$0) } }
}
