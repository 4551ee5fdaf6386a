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
///       v index of the instance ‖ v sequence ‖ in histories of entries v height
///       v 0 for a retraction, else 1 + the value's length n
///       the value if n <= 512, else the name (32) of its blob
package enum LeafCodec {
    /// - Parameter facts: ascending; their inline values are at most 512 bytes, stored ones longer. All have a height, or
    ///   none has.
    package static func encode(_ facts: LeafFacts) -> [UInt8] {
        let instances = sortedInstances(of: facts)
        let headByteCountMax = 2 * Varint.byteCountMax + instances.count * UniqueID.byteCount
        return [UInt8](capacity: headByteCountMax + facts.encodedByteCountMax) { bytes in
            Varint.append(UInt64(facts.count), to: &bytes)
            Varint.append(UInt64(instances.count), to: &bytes)
            for instance in instances { bytes.append(instance.bytes.span) }
            facts.encode(instances: instances, to: &bytes)
        }
    }

    private static func sortedInstances(of facts: LeafFacts) -> [UniqueID] {
        guard !facts.isEmpty else { return [] }
        let first = facts.dot(at: 0).instance
        var instances: Set<UniqueID> = []
        for index in 0..<facts.count where facts.dot(at: index).instance != first {
            instances.insert(facts.dot(at: index).instance)
        }
        guard !instances.isEmpty else { return [first] }
        instances.insert(first)
        return instances.sorted()
    }

    /// Decodes a leaf; nil for anything that `encode` would not have written.
    ///
    /// - Parameter hasHeights: whether the leaf is of a history of entries.
    package static func decode(
        _ bytes: Span<UInt8>, allowsRetractions: Bool, hasHeights: Bool = false
    ) -> LeafFacts? {
        var offset = 0
        guard let count = Varint.read(bytes, at: &offset), count <= bytes.count / 5,
            let instances = decodeInstances(bytes, at: &offset), count > 0 || instances.isEmpty
        else { return nil }
        var facts = LeafFacts()
        facts.reserveCapacity(count: Int(count), byteCount: bytes.count + Int(count) * 24)
        var isUsed = [Bool](repeating: false, count: instances.count)
        for _ in 0..<count {
            let start = facts.byteCount
            guard let isSameKey = facts.readKey(bytes, at: &offset),
                let index = Varint.read(bytes, at: &offset), index < instances.count,
                let sequence = Varint.read(bytes, at: &offset), sequence > 0,
                let height = hasHeights ? Varint.read(bytes, at: &offset) : 0,
                !hasHeights || 1...FactLimits.numberMax ~= height && sequence <= FactLimits.numberMax,
                let content = decodeContent(bytes, at: &offset, allowsRetractions: allowsRetractions)
            else { return nil }
            isUsed[Int(index)] = true
            let dot = Dot(instance: instances[Int(index)], sequence: sequence)
            if isSameKey, !(facts.dot(at: facts.count - 1) < dot) { return nil }
            facts.completeFact(
                from: start, dot: dot, height: height, valueByteCount: content.valueByteCount, content.range, of: bytes)
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

    /// - Returns: the value's size, nil for a retraction; and where it, or the name of its blob, lies.
    private static func decodeContent(
        _ bytes: Span<UInt8>, at offset: inout Int, allowsRetractions: Bool
    ) -> (valueByteCount: Int?, range: Range<Int>)? {
        guard let head = Varint.read(bytes, at: &offset) else { return nil }
        if head == 0 { return allowsRetractions ? (nil, offset..<offset) : nil }
        guard head - 1 <= FactLimits.valueByteCountMax else { return nil }
        let length = Int(head - 1)
        let byteCount = length <= FactLimits.inlineValueByteCountMax ? length : 32
        guard byteCount <= bytes.count - offset else { return nil }
        defer { offset += byteCount }
        return (length, offset..<offset + byteCount)
    }
}

extension OutputSpan<UInt8> {
    /// Appends bytes that lie elsewhere.
    mutating func append(_ bytes: Span<UInt8>) {
        precondition(bytes.count <= freeCapacity, "the room is counted before")
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            unsafe bytes.withUnsafeBufferPointer { source in
                _ = unsafe UnsafeMutableBufferPointer(rebasing: buffer[count...]).update(fromContentsOf: source)
            }
            count += bytes.count
        }
    }

    /// Appends the 32 bytes of a name.
    mutating func append(_ name: BlobName) {
        precondition(freeCapacity >= 32, "the room is counted before")
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            // SAFETY: there are 32 bytes from here on.
            unsafe name.value.write(to: UnsafeMutableRawPointer(buffer.baseAddress.unsafelyUnwrapped + count))
            count += 32
        }
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
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "the range lies inside")
        return unsafe withUnsafeBufferPointer { unsafe Array(UnsafeBufferPointer(rebasing: $0[range])) }
    }

    func append(_ range: Range<Int>, to bytes: inout [UInt8]) {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "the range lies inside")
        unsafe withUnsafeBufferPointer { buffer in
            unsafe bytes.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[range]))
        }
    }
}
