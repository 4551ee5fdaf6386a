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

    mutating func append(_ child: ChildReference) {
        let start = UInt32(keys.count)
        keys.append(contentsOf: child.lastKey.bytes)
        entries.append(
            Entry(
                name: child.name, factCount: child.factCount, keyStart: start,
                keyByteCount: UInt8(child.lastKey.bytes.count)))
    }

    /// Appends a child of another list.
    mutating func append(_ other: borrowing ChildList, at index: Int) {
        let entry = other.entries[index]
        let start = UInt32(keys.count)
        other.keys.span.append(entry.keyRange, to: &keys)
        entries.append(
            Entry(name: entry.name, factCount: entry.factCount, keyStart: start, keyByteCount: entry.keyByteCount))
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
                keyByteCount: UInt8(key.range.count)))
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

    /// What the last child adds to the weight of the node.
    var lastWeight: Int {
        guard let last = entries.last else { preconditionFailure("the list has a child") }
        var weight = 2 + Int(last.keyByteCount) + Varint.byteCount(of: last.factCount) + 32
        if entries.count > 1 {
            weight -= keys.span.extracting(last.keyRange)
                .sharedByteCount(with: keys.span.extracting(entries[entries.count - 2].keyRange))
        }
        return weight
    }

    /// Appends the encoding of each child to `target`.
    func encode(to target: inout [UInt8]) {
        var previous: Range<Int>?
        for entry in entries {
            KeyCoding.append(entry.keyRange, after: previous, of: keys.span, to: &target)
            previous = entry.keyRange
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
