// The facts of one leaf. The one thing to keep true: two blocks of memory hold them all, and a fact of its own
// is made only for who asks for one.

internal import CoffretBase
internal import CoffretCrypto

/// A list of facts: the bytes of their keys and values in one block, the rest in another.
///
/// Leaves are decoded, copied and compared far more often than single facts are looked at; two arrays for each
/// fact took half of the time of a difference.
package struct LeafFacts: Sendable {
    /// One fact. Its key begins at `start` of the bytes; the value, or the name of its blob, follows.
    private struct Entry {
        let dot: Dot
        /// 0 in trees of commits.
        let height: UInt64
        let start: UInt32
        /// Of the value, wherever it lies; `retraction` for none.
        let valueByteCount: UInt32
        let keyByteCount: UInt8
        /// Bytes that the key shares with the key before, as many as there are; 0 for the first.
        let sharedByteCount: UInt8

        static let retraction = UInt32.max

        var keyRange: Range<Int> { Int(start)..<Int(start) + Int(keyByteCount) }
        /// What of the value lies here.
        var contentByteCount: Int {
            switch valueByteCount {
            case Self.retraction: 0
            case 0...UInt32(FactLimits.inlineValueByteCountMax): Int(valueByteCount)
            default: 32
            }
        }
        var contentRange: Range<Int> {
            let start = Int(start) + Int(keyByteCount)
            return start..<start + contentByteCount
        }
        var range: Range<Int> { Int(start)..<contentRange.upperBound }

        /// The same fact in another list, behind the same key.
        func moved(to start: Int) -> Entry {
            Entry(
                dot: dot, height: height, start: UInt32(start), valueByteCount: valueByteCount,
                keyByteCount: keyByteCount, sharedByteCount: sharedByteCount)
        }
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    /// Of the key that `readKey` read last.
    private var readSharedByteCount: UInt8 = 0

    init() {}

    package init(_ facts: some Sequence<Fact>) {
        for fact in facts { append(fact) }
    }

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    mutating func reserveCapacity(count: Int, byteCount: Int) {
        entries.reserveCapacity(count)
        bytes.reserveCapacity(byteCount)
    }

    mutating func removeAll() {
        // What the list filled so far belongs to a node now; the next node is about as large.
        let factCount = entries.count
        let byteCount = bytes.count
        entries = []
        bytes = []
        reserveCapacity(count: factCount, byteCount: byteCount)
    }

    // MARK: Growing

    /// What a key that is to be appended shares with the last one.
    private func sharedByteCount(with key: Span<UInt8>) -> UInt8 {
        guard let last = entries.last else { return 0 }
        return UInt8(bytes.span.extracting(last.keyRange).sharedByteCount(with: key))
    }

    mutating func append(_ fact: Fact) {
        let start = UInt32(bytes.count)
        let sharedByteCount = sharedByteCount(with: fact.key.bytes.span)
        bytes.append(contentsOf: fact.key.bytes)
        let valueByteCount: UInt32
        switch fact.content {
        case .retraction:
            valueByteCount = Entry.retraction
        case .inline(let value):
            precondition(value.count <= FactLimits.inlineValueByteCountMax, "an inline value is short")
            valueByteCount = UInt32(value.count)
            bytes.append(contentsOf: value)
        case .stored(let value):
            precondition(value.byteCount > FactLimits.inlineValueByteCountMax, "a stored value is long")
            valueByteCount = UInt32(value.byteCount)
            bytes.append(value.name)
        }
        entries.append(
            Entry(
                dot: fact.dot, height: fact.height, start: start, valueByteCount: valueByteCount,
                keyByteCount: UInt8(fact.key.bytes.count), sharedByteCount: sharedByteCount))
    }

    /// Appends a fact of another list.
    mutating func append(_ other: borrowing LeafFacts, at index: Int) {
        let entry = other.entries[index]
        let start = UInt32(bytes.count)
        let sharedByteCount = sharedByteCount(with: other.bytes.span.extracting(entry.keyRange))
        other.bytes.span.append(entry.range, to: &bytes)
        entries.append(
            Entry(
                dot: entry.dot, height: entry.height, start: start, valueByteCount: entry.valueByteCount,
                keyByteCount: entry.keyByteCount, sharedByteCount: sharedByteCount))
    }

    /// Appends the first facts of another list to one that is empty.
    mutating func appendFirst(_ factCount: Int, of other: borrowing LeafFacts) {
        precondition(isEmpty, "what is shared with the key before stays as it is")
        guard factCount > 0 else { return }
        // In both lists facts lie one behind the other, from the start on.
        other.bytes.span.append(0..<other.entries[factCount - 1].range.upperBound, to: &bytes)
        entries.append(contentsOf: other.entries[..<factCount])
    }

    /// Reads the key of the next fact; `completeFact` must follow.
    ///
    /// - Returns: whether it is the key before; nil if it is malformed, or below the one before.
    mutating func readKey(_ content: Span<UInt8>, at offset: inout Int) -> Bool? {
        let previous = entries.last?.keyRange
        guard let key = KeyCoding.read(content, at: &offset, after: previous, to: &bytes) else { return nil }
        readSharedByteCount = key.sharedByteCount
        return key.isEqual
    }

    /// Ends the fact whose key was read last.
    ///
    /// - Parameter start: where the list ended before that key.
    /// - Parameter valueByteCount: nil for a retraction.
    /// - Parameter range: what lies of the value in `content`: all of it, or the name of its blob.
    mutating func completeFact(
        from start: Int, dot: Dot, height: UInt64, valueByteCount: Int?, _ range: Range<Int>, of content: Span<UInt8>
    ) {
        let keyByteCount = UInt8(bytes.count - start)
        content.append(range, to: &bytes)
        entries.append(
            Entry(
                dot: dot, height: height, start: UInt32(start),
                valueByteCount: valueByteCount.map { UInt32($0) } ?? Entry.retraction, keyByteCount: keyByteCount,
                sharedByteCount: readSharedByteCount))
    }

    var byteCount: Int { bytes.count }

    // MARK: Looking at facts where they lie

    func dot(at index: Int) -> Dot { entries[index].dot }
    func height(at index: Int) -> UInt64 { entries[index].height }

    /// Negative, zero or positive, as the key sorts before, with or behind `key`, which may be a beginning of keys.
    func compareKey(at index: Int, to key: [UInt8]) -> Int {
        bytes.span.extracting(entries[index].keyRange).compare(to: key.span)
    }

    /// As above, for a key of another list.
    func compareKey(at index: Int, to other: borrowing LeafFacts, at otherIndex: Int) -> Int {
        bytes.span.extracting(entries[index].keyRange)
            .compare(to: other.bytes.span.extracting(other.entries[otherIndex].keyRange))
    }

    func isEqual(at index: Int, to other: borrowing LeafFacts, at otherIndex: Int) -> Bool {
        let left = entries[index]
        let right = other.entries[otherIndex]
        return left.keyByteCount == right.keyByteCount && left.valueByteCount == right.valueByteCount
            && left.dot == right.dot && left.height == right.height
            && bytes.span.extracting(left.range).compare(to: other.bytes.span.extracting(right.range)) == 0
    }

    /// The first index behind `index` under another key.
    func endOfKey(at index: Int) -> Int {
        var end = index + 1
        while end < entries.count, compareKey(at: end, to: self, at: index) == 0 { end += 1 }
        return end
    }

    /// The first fact, from `start` on, whose key is not below `key`; `count` if there is none.
    func firstIndex(notBelow key: [UInt8], from start: Int = 0) -> Int {
        start + partitionPoint(count - start) { compareKey(at: start + $0, to: key) < 0 }
    }

    /// The first byte of a key: the kind of its entity.
    func entityKind(at index: Int) -> UInt8 { bytes[Int(entries[index].start)] }

    func key(at index: Int) -> FactKey {
        FactKey(wellFormed: bytes.span.copy(entries[index].keyRange))
    }

    /// The value's blob, if the value lies in one.
    func storedValue(at index: Int) -> StoredValue? {
        let entry = entries[index]
        guard entry.valueByteCount != Entry.retraction,
            entry.valueByteCount > UInt32(FactLimits.inlineValueByteCountMax)
        else { return nil }
        var offset = entry.contentRange.lowerBound
        guard let name = bytes.span.readName(at: &offset) else { preconditionFailure("a name lies here") }
        return StoredValue(name: name, byteCount: Int(entry.valueByteCount))
    }

    private func content(at index: Int) -> FactContent {
        let entry = entries[index]
        if entry.valueByteCount == Entry.retraction { return .retraction }
        if let value = storedValue(at: index) { return .stored(value) }
        return .inline(bytes.span.copy(entry.contentRange))
    }

    // MARK: As nodes need them

    /// The keyed hash of the last fact's key.
    func lastKeyHash(_ key: ShortHashKey, level: UInt8) -> UInt64 {
        guard let last = entries.last else { preconditionFailure("the list has a fact") }
        return key.hash(prefix: level, bytes: bytes.span.extracting(last.keyRange))
    }

    /// What a fact adds to the weight of the node, but for its instance if that is new.
    ///
    /// The weight decides boundaries, so it depends on what stands before the fact only; the index of
    /// the instance counts as one byte.
    func weight(at index: Int) -> Int {
        let entry = entries[index]
        var weight =
            3 + Int(entry.keyByteCount) - Int(entry.sharedByteCount) + Varint.byteCount(of: entry.dot.sequence)
        if entry.height > 0 { weight += Varint.byteCount(of: entry.height) }
        if entry.valueByteCount == Entry.retraction { return weight + 1 }
        return weight + Varint.byteCount(of: UInt64(entry.valueByteCount) + 1) + entry.contentByteCount
    }

    /// The most bytes that `encode` appends.
    var encodedByteCountMax: Int { bytes.count + count * (KeyCoding.overheadByteCount + 4 * Varint.byteCountMax) }

    /// Appends the encoding of each fact to `target`.
    ///
    /// - Parameter instances: ascending; all that dots here name.
    func encode(instances: [UniqueID], to target: inout OutputSpan<UInt8>) {
        for entry in entries {
            KeyCoding.append(entry.keyRange, sharedByteCount: entry.sharedByteCount, of: bytes.span, to: &target)
            let index = instances.count == 1 ? 0 : instances.firstIndex(of: entry.dot.instance) ?? 0
            Varint.append(UInt64(index), to: &target)
            Varint.append(entry.dot.sequence, to: &target)
            if entry.height > 0 { Varint.append(entry.height, to: &target) }
            if entry.valueByteCount == Entry.retraction {
                Varint.append(0, to: &target)
            } else {
                Varint.append(UInt64(entry.valueByteCount) + 1, to: &target)
                target.append(bytes.span.extracting(entry.contentRange))
            }
        }
    }
}

extension LeafFacts: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(index: Int) -> Fact {
        Fact(key: key(at: index), content: content(at: index), dot: dot(at: index), height: height(at: index))
    }
}
