// The small items of histories in CBOR. The one thing to keep true: what is read here would be written again byte for
// byte, and numbers stay within section 16.

package import CoffretBase
package import CoffretStorage

extension CBOREncoder {
    package mutating func encode(bytes32 value: Bytes32) {
        // No array in between: entries have several of these, and are written often.
        unsafe withBytes(of: value) { bytes in unsafe encode(bytes: bytes) }
    }

    package mutating func encode(name: BlobName) { encode(bytes32: name.value) }

    /// `[number, name]`.
    package mutating func encode(mark: EntryMark) {
        encodeArrayHeader(count: 2)
        encode(unsigned: mark.number)
        encode(name: mark.name)
    }

    /// `[instance, number]`.
    package mutating func encode(dot: Dot) {
        encodeArrayHeader(count: 2)
        encode(id: dot.instance)
        encode(unsigned: dot.number)
    }

    /// `[number, hash]`.
    package mutating func encode(position: ChainPosition) {
        encodeArrayHeader(count: 2)
        encode(unsigned: position.number)
        encode(bytes32: position.hash)
    }

    /// `{* instance => [number, name]}`, ascending.
    package mutating func encode(frontier: Frontier) {
        encodeMapHeader(count: frontier.count)
        guard !frontier.isEmpty else { return }
        for (instance, mark) in frontier.sorted {
            encode(id: instance)
            encode(mark: mark)
        }
    }
}

extension CBORDecoder {
    package mutating func readBytes32() throws(CBORError) -> Bytes32 {
        let start = byteOffset
        let range = try readByteRange()
        guard range.count == 32 else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return unsafe withUnsafeBytes(in: range) { bytes in unsafe Bytes32(bytes) }
    }

    package mutating func readName() throws(CBORError) -> BlobName { BlobName(try readBytes32()) }

    /// A number of an entry, or a height: 1 to 2^53 − 1.
    package mutating func readNumber() throws(CBORError) -> UInt64 {
        let start = byteOffset
        let number = try readUnsigned()
        guard 1...HistoryLimits.numberMax ~= number else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return number
    }

    package mutating func readMark() throws(CBORError) -> EntryMark {
        try readArrayHeader(count: 2)
        return EntryMark(number: try readNumber(), name: try readName())
    }

    package mutating func readDot() throws(CBORError) -> Dot {
        try readArrayHeader(count: 2)
        return Dot(try readID(), try readNumber())
    }

    /// The number of a link counts from 0.
    package mutating func readPosition() throws(CBORError) -> ChainPosition {
        try readArrayHeader(count: 2)
        let number = try readUnsigned(as: UInt64.self, max: HistoryLimits.numberMax)
        return ChainPosition(number: number, hash: try readBytes32())
    }

    /// - Parameter countMax: more instances are `.unexpectedItem`; nothing is set aside for a count that is only stated.
    package mutating func readFrontier(countMax: Int = .max) throws(CBORError) -> Frontier {
        let start = byteOffset
        var map = try readMapHeader()
        guard map.remaining <= countMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var marks: [InstanceID: EntryMark] = [:]
        while let instance = try readKey(in: &map, { (decoder) throws(CBORError) in try decoder.readID() }) {
            marks[instance] = try readMark()
        }
        return Frontier(marks)
    }
}

/// What speaks for another format, if bytes are not of ours.
enum NewerFormat {
    /// Whether the bytes are one map in deterministic CBOR that has a key which this program does not know: then a newer
    /// program wrote them, and its known keys may mean something new as well.
    ///
    /// - Parameter known: the keys of our format, which are unsigned.
    static func isLikely(_ bytes: ArraySlice<UInt8>, known: ClosedRange<UInt64>) -> Bool {
        var isNewer = false
        let wasRead: Void? = try? unsafe bytes.span.withUnsafeBytes { (buffer) throws(CBORError) in
            try unsafe withCBORDecoder(over: buffer) { (decoder) throws(CBORError) in
                var map = try decoder.readMapHeader()
                func key(_ decoder: inout CBORDecoder) throws(CBORError) {
                    if try decoder.peekMajorType() == .unsigned {
                        if !known.contains(try decoder.readUnsigned()) { isNewer = true }
                    } else {
                        isNewer = true
                        try decoder.skipItem()
                    }
                }
                while try decoder.readKey(in: &map, key) != nil { try decoder.skipItem() }
            }
        }
        return wasRead != nil && isNewer
    }
}
