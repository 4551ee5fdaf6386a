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

    package static func encode(level: Int, _ children: ChildList) -> [UInt8] {
        precondition(1...levelMax ~= level, "an inner node stands above leaves")
        return [UInt8](capacity: 1 + Varint.byteCountMax + children.encodedByteCountMax) { bytes in
            bytes.append(UInt8(level))
            Varint.append(UInt64(children.count), to: &bytes)
            children.encode(to: &bytes)
        }
    }

    /// Decodes an inner node; nil for anything that `encode` would not have written.
    package static func decode(_ bytes: Span<UInt8>) -> (level: Int, children: ChildList)? {
        guard bytes.count > 1 else { return nil }
        let level = Int(bytes[0])
        var offset = 1
        guard 1...levelMax ~= level, let count = Varint.read(bytes, at: &offset),
            count > 0 || level == 1, count <= bytes.count / 35
        else { return nil }
        var children = ChildList()
        children.reserveCapacity(count: Int(count), byteCount: Int(count) * 32)
        var factCountSum: UInt64 = 0
        for index in 0..<Int(count) {
            guard children.readChild(bytes, at: &offset) else { return nil }
            factCountSum += children.factCount(at: index)
        }
        guard offset == bytes.count, factCountSum < 1 << 56 else { return nil }
        return (level, children)
    }
}
