// The children of one inner node. The one thing to keep true: two blocks of memory hold them all, as with the
// facts of leaves.

internal import CoffretCrypto

/// A list of references to children: their greatest keys in one block, the rest in another.
package struct ChildList: Sendable {
    private struct Entry {
        let name: BlobName
        let factCount: UInt64
        let keyStart: UInt32
        let keyByteCount: UInt8
        /// Bytes that the key shares with the key before, as many as there are; 0 for the first.
        let sharedByteCount: UInt8

        var keyRange: Range<Int> { Int(keyStart)..<Int(keyStart) + Int(keyByteCount) }
    }

    private var keys: [UInt8] = []
    private var entries: [Entry] = []

    init() {}

    package init(_ children: some Sequence<ChildReference>) {
        for child in children { append(child) }
    }

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty }

    mutating func reserveCapacity(count: Int, byteCount: Int) {
        entries.reserveCapacity(count)
        keys.reserveCapacity(byteCount)
    }

    mutating func removeAll() {
        let childCount = entries.count
        let byteCount = keys.count
        entries = []
        keys = []
        reserveCapacity(count: childCount, byteCount: byteCount)
    }

    /// What a key that is to be appended shares with the last one.
    private func sharedByteCount(with key: Span<UInt8>) -> UInt8 {
        guard let last = entries.last else { return 0 }
        return UInt8(keys.span.extracting(last.keyRange).sharedByteCount(with: key))
    }

    mutating func append(_ child: ChildReference) {
        let start = UInt32(keys.count)
        let sharedByteCount = sharedByteCount(with: child.lastKey.bytes.span)
        keys.append(contentsOf: child.lastKey.bytes)
        entries.append(
            Entry(
                name: child.name, factCount: child.factCount, keyStart: start,
                keyByteCount: UInt8(child.lastKey.bytes.count), sharedByteCount: sharedByteCount))
    }

    /// Appends a child of another list.
    mutating func append(_ other: borrowing ChildList, at index: Int) {
        let entry = other.entries[index]
        let start = UInt32(keys.count)
        let sharedByteCount = sharedByteCount(with: other.keys.span.extracting(entry.keyRange))
        other.keys.span.append(entry.keyRange, to: &keys)
        entries.append(
            Entry(
                name: entry.name, factCount: entry.factCount, keyStart: start, keyByteCount: entry.keyByteCount,
                sharedByteCount: sharedByteCount))
    }

    /// Appends the first children of another list to one that is empty.
    mutating func appendFirst(_ childCount: Int, of other: borrowing ChildList) {
        precondition(isEmpty, "what is shared with the key before stays as it is")
        guard childCount > 0 else { return }
        // In both lists keys lie one behind the other, from the start on.
        other.keys.span.append(0..<other.entries[childCount - 1].keyRange.upperBound, to: &keys)
        entries.append(contentsOf: other.entries[..<childCount])
    }

    /// Reads one child; false for anything that `encode` would not have written.
    ///
    /// Equal keys follow each other where concurrent facts of one key fill several leaves.
    mutating func readChild(_ bytes: Span<UInt8>, at offset: inout Int) -> Bool {
        let previous = entries.last?.keyRange
        guard let key = KeyCoding.read(bytes, at: &offset, after: previous, to: &keys),
            let factCount = Varint.read(bytes, at: &offset), factCount > 0, factCount < 1 << 56,
            let name = bytes.readName(at: &offset)
        else { return false }
        entries.append(
            Entry(
                name: name, factCount: factCount, keyStart: UInt32(key.range.lowerBound),
                keyByteCount: UInt8(key.range.count), sharedByteCount: key.sharedByteCount))
        return true
    }

    func name(at index: Int) -> BlobName { entries[index].name }
    func factCount(at index: Int) -> UInt64 { entries[index].factCount }

    /// Facts below all children.
    var factCountSum: UInt64 { entries.reduce(0) { $0 + $1.factCount } }

    /// Whether the child at `index` is the one that `child` refers to.
    func isChild(_ child: ChildReference, at index: Int) -> Bool {
        entries[index].name == child.name && compareKey(at: index, to: child.lastKey.bytes) == 0
    }

    func compareKey(at index: Int, to key: [UInt8]) -> Int {
        keys.span.extracting(entries[index].keyRange).compare(to: key.span)
    }

    /// The first child whose greatest key is not below `key`; `count` if there is none.
    func firstIndex(notBelow key: [UInt8]) -> Int {
        partitionPoint(count) { compareKey(at: $0, to: key) < 0 }
    }

    func lastKey(at index: Int) -> FactKey {
        FactKey(wellFormed: keys.span.copy(entries[index].keyRange))
    }

    /// The keyed hash of the last child's key.
    func lastKeyHash(_ key: ShortHashKey, level: UInt8) -> UInt64 {
        guard let last = entries.last else { preconditionFailure("the list has a child") }
        return key.hash(prefix: level, bytes: keys.span.extracting(last.keyRange))
    }

    /// What a child adds to the weight of the node.
    func weight(at index: Int) -> Int {
        let entry = entries[index]
        return 2 + Int(entry.keyByteCount) - Int(entry.sharedByteCount) + Varint.byteCount(of: entry.factCount) + 32
    }

    /// The most bytes that `encode` appends.
    var encodedByteCountMax: Int {
        keys.count + count * (KeyCoding.overheadByteCount + Varint.byteCountMax + 32)
    }

    /// Appends the encoding of each child to `target`.
    func encode(to target: inout OutputSpan<UInt8>) {
        for entry in entries {
            KeyCoding.append(entry.keyRange, sharedByteCount: entry.sharedByteCount, of: keys.span, to: &target)
            Varint.append(entry.factCount, to: &target)
            target.append(entry.name)
        }
    }
}

extension ChildList: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(index: Int) -> ChildReference {
        ChildReference(lastKey: lastKey(at: index), name: name(at: index), factCount: factCount(at: index))
    }
}
