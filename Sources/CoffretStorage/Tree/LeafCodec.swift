// Leaves as bytes. The one thing to keep true: a list of facts has one encoding, and the decoder
// accepts nothing else.

internal import CoffretBase

/// Encodes and decodes leaves (Spec/tree.md section 3).
///
/// Layout, v = varint:
///
///     v fact count
///     v instance count ‖ instances (16 each), ascending, each used
///     per fact, ascending by key, then dot:
///       shared (1): bytes shared with the key before, as many as there are ‖ rest count (1) ‖ rest
///       v index of the instance ‖ v sequence
///       v 0 for a retraction, else 1 + the value's length n
///       the value if n <= 512, else the name (32) of its blob
package enum LeafCodec {
    /// What `fact` adds to the weight of a node in which it follows `previous`.
    ///
    /// The weight decides boundaries, so it depends on what stands before the fact only; the index of
    /// the instance counts as one byte.
    static func weight(of fact: Fact, after previous: FactKey?, isNewInstance: Bool) -> Int {
        let shared = previous.map { fact.key.sharedByteCount(with: $0) } ?? 0
        var weight = 3 + fact.key.bytes.count - shared + Varint.byteCount(of: fact.dot.sequence)
        if isNewInstance { weight += UniqueID.byteCount }
        switch fact.content {
        case .retraction: weight += 1
        case .inline(let bytes): weight += Varint.byteCount(of: UInt64(bytes.count) + 1) + bytes.count
        case .stored(let value): weight += Varint.byteCount(of: UInt64(value.byteCount) + 1) + 32
        }
        return weight
    }

    /// - Parameter facts: ascending; their inline values are at most 512 bytes, stored ones longer.
    package static func encode(_ facts: [Fact]) -> [UInt8] {
        let instances = sortedInstances(of: facts)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(facts.count * 48 + 64)
        Varint.append(UInt64(facts.count), to: &bytes)
        Varint.append(UInt64(instances.count), to: &bytes)
        for instance in instances { bytes.append(contentsOf: instance.bytes) }
        var previous: FactKey?
        for fact in facts {
            KeyCoding.append(fact.key, after: previous, to: &bytes)
            previous = fact.key
            let index = instances.count == 1 ? 0 : instances.firstIndex(of: fact.dot.instance) ?? 0
            Varint.append(UInt64(index), to: &bytes)
            Varint.append(fact.dot.sequence, to: &bytes)
            switch fact.content {
            case .retraction:
                Varint.append(0, to: &bytes)
            case .inline(let value):
                precondition(value.count <= FactLimits.inlineValueByteCountMax, "an inline value is short")
                Varint.append(UInt64(value.count) + 1, to: &bytes)
                bytes.append(contentsOf: value)
            case .stored(let value):
                precondition(value.byteCount > FactLimits.inlineValueByteCountMax, "a stored value is long")
                Varint.append(UInt64(value.byteCount) + 1, to: &bytes)
                bytes.append(value.name)
            }
        }
        return bytes
    }

    private static func sortedInstances(of facts: [Fact]) -> [UniqueID] {
        guard let first = facts.first?.dot.instance else { return [] }
        var instances: Set<UniqueID> = [first]
        for fact in facts where fact.dot.instance != first { instances.insert(fact.dot.instance) }
        return instances.sorted()
    }

    /// Decodes a leaf; nil for anything that `encode` would not have written.
    package static func decode(_ bytes: Span<UInt8>, allowsRetractions: Bool) -> [Fact]? {
        var offset = 0
        guard let count = Varint.read(bytes, at: &offset), count <= bytes.count / 5,
            let instances = decodeInstances(bytes, at: &offset), count > 0 || instances.isEmpty
        else { return nil }
        var facts: [Fact] = []
        facts.reserveCapacity(Int(count))
        var isUsed = [Bool](repeating: false, count: instances.count)
        for _ in 0..<count {
            guard let key = KeyCoding.read(bytes, at: &offset, after: facts.last?.key),
                let index = Varint.read(bytes, at: &offset), index < instances.count,
                let sequence = Varint.read(bytes, at: &offset), sequence > 0,
                let content = decodeContent(bytes, at: &offset, allowsRetractions: allowsRetractions)
            else { return nil }
            isUsed[Int(index)] = true
            let fact = Fact(key: key, content: content, dot: Dot(instance: instances[Int(index)], sequence: sequence))
            if let last = facts.last, !(last < fact) { return nil }
            facts.append(fact)
        }
        guard offset == bytes.count, isUsed.allSatisfy({ $0 }) else { return nil }
        return facts
    }

    private static func decodeInstances(_ bytes: Span<UInt8>, at offset: inout Int) -> [UniqueID]? {
        guard let count = Varint.read(bytes, at: &offset), count <= (bytes.count - offset) / UniqueID.byteCount
        else { return nil }
        var instances: [UniqueID] = []
        for _ in 0..<count {
            guard let instance = UniqueID(bytes: bytes.copy(offset..<offset + UniqueID.byteCount)) else { return nil }
            if let last = instances.last, !(last < instance) { return nil }
            instances.append(instance)
            offset += UniqueID.byteCount
        }
        return instances
    }

    private static func decodeContent(
        _ bytes: Span<UInt8>, at offset: inout Int, allowsRetractions: Bool
    ) -> FactContent? {
        guard let head = Varint.read(bytes, at: &offset) else { return nil }
        if head == 0 { return allowsRetractions ? .retraction : nil }
        let length = head - 1
        if length <= FactLimits.inlineValueByteCountMax {
            guard Int(length) <= bytes.count - offset else { return nil }
            defer { offset += Int(length) }
            return .inline(bytes.copy(offset..<offset + Int(length)))
        }
        guard length <= FactLimits.valueByteCountMax, let name = bytes.readName(at: &offset) else { return nil }
        return .stored(StoredValue(name: name, byteCount: Int(length)))
    }
}

/// Keys as differences to the key before.
enum KeyCoding {
    static func append(_ key: FactKey, after previous: FactKey?, to bytes: inout [UInt8]) {
        let shared = previous.map { key.sharedByteCount(with: $0) } ?? 0
        bytes.append(UInt8(shared))
        bytes.append(UInt8(key.bytes.count - shared))
        // One copy of memory; a slice would be walked byte by byte.
        unsafe key.bytes.withUnsafeBufferPointer { buffer in
            unsafe bytes.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[shared...]))
        }
    }

    /// Reads a key; nil unless the shared part is as long as it can be and the key is well formed.
    static func read(_ bytes: Span<UInt8>, at offset: inout Int, after previous: FactKey?) -> FactKey? {
        guard bytes.count - offset >= 2 else { return nil }
        let shared = Int(bytes[offset])
        let rest = Int(bytes[offset + 1])
        offset += 2
        guard shared <= previous?.bytes.count ?? 0, rest <= bytes.count - offset else { return nil }
        var encoded: [UInt8] = []
        encoded.reserveCapacity(shared + rest)
        if let previous {
            encoded.append(contentsOf: previous.bytes[..<shared])
            if rest > 0, shared < previous.bytes.count, bytes[offset] == previous.bytes[shared] { return nil }
        }
        bytes.append(offset..<offset + rest, to: &encoded)
        offset += rest
        return FactKey(encoded: encoded)
    }
}

extension [UInt8] {
    /// Appends the 32 bytes of a name without an array in between.
    mutating func append(_ name: BlobName) {
        unsafe withBytes(of: name.value) { bytes in unsafe append(contentsOf: bytes) }
    }
}

extension Span<UInt8> {
    /// The name whose 32 bytes begin at `offset`, which moves behind it; nil if there are not so many.
    func readName(at offset: inout Int) -> BlobName? {
        guard offset >= 0, count - offset >= 32 else { return nil }
        defer { offset += 32 }
        return unsafe withUnsafeBytes { buffer in
            unsafe BlobName(Bytes32(UnsafeRawBufferPointer(rebasing: buffer[offset..<offset + 32])))
        }
    }

    /// A copy of the bytes in `range`, which lies inside.
    func copy(_ range: Range<Int>) -> [UInt8] {
        var result: [UInt8] = []
        append(range, to: &result)
        return result
    }

    func append(_ range: Range<Int>, to bytes: inout [UInt8]) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "the range lies inside")
        unsafe withUnsafeBufferPointer { buffer in
            unsafe bytes.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[range]))
        }
    }
}
