// Inner nodes as bytes. The one thing to keep true: references are names alone; no key epoch, place or
// time gets into what is hashed (protocol 8).

/// Encodes and decodes inner nodes (Spec/tree.md section 4).
///
/// Layout, v = varint:
///
///     level (1), 1 or more
///     v child count; 0 only in the root of the empty tree, at level 1
///     per child, ascending:
///       shared (1) ‖ rest count (1) ‖ rest: the child's greatest key, as in leaves
///       v facts below the child
///       name (32)
package enum InnerCodec {
    /// 2^63 facts do not exist; a tree that claims more levels is refused.
    package static let levelMax = 32

    static func weight(of child: ChildReference, after previous: FactKey?) -> Int {
        let shared = previous.map { child.lastKey.sharedByteCount(with: $0) } ?? 0
        return 2 + child.lastKey.bytes.count - shared + Varint.byteCount(of: child.factCount) + 32
    }

    package static func encode(level: Int, _ children: [ChildReference]) -> [UInt8] {
        precondition(1...levelMax ~= level, "an inner node stands above leaves")
        var bytes: [UInt8] = [UInt8(level)]
        bytes.reserveCapacity(children.count * 64 + 8)
        Varint.append(UInt64(children.count), to: &bytes)
        var previous: FactKey?
        for child in children {
            KeyCoding.append(child.lastKey, after: previous, to: &bytes)
            previous = child.lastKey
            Varint.append(child.factCount, to: &bytes)
            bytes.append(child.name)
        }
        return bytes
    }

    /// Decodes an inner node; nil for anything that `encode` would not have written.
    package static func decode(_ bytes: Span<UInt8>) -> (level: Int, children: [ChildReference])? {
        guard bytes.count > 1 else { return nil }
        let level = Int(bytes[0])
        var offset = 1
        guard 1...levelMax ~= level, let count = Varint.read(bytes, at: &offset),
            count > 0 || level == 1, count <= bytes.count / 35
        else { return nil }
        var children: [ChildReference] = []
        children.reserveCapacity(Int(count))
        var factCountSum: UInt64 = 0
        for _ in 0..<count {
            let previous = children.last?.lastKey
            guard let key = KeyCoding.read(bytes, at: &offset, after: previous),
                let factCount = Varint.read(bytes, at: &offset), factCount > 0, factCount < 1 << 56,
                let name = bytes.readName(at: &offset)
            else { return nil }
            // Equal keys follow each other where concurrent facts of one key fill several leaves.
            if let previous, key < previous { return nil }
            factCountSum += factCount
            children.append(ChildReference(lastKey: key, name: name, factCount: factCount))
        }
        guard offset == bytes.count, factCountSum < 1 << 56 else { return nil }
        return (level, children)
    }
}
