// The state as bytes (`Spec/journal.md` section 5). The one thing to keep true: the journal reads of it what it changes
// itself, the entries behind the kept part and the memory of the sync, and nothing else.

internal import CoffretBase

extension RepositoryState {
    static let formatVersion: UInt64 = 2
    /// States of an earlier version, which had commits, begin so.
    static let earlierFirstByte: UInt8 = 1
    static let memoryByteCountMax = 64 << 10
    private static let memoryVersion: UInt64 = 1

    /// [2, keyring generation, kept, [* entry], memory].
    func encode() -> [UInt8] {
        precondition(memory.count <= Self.memoryByteCountMax, "the memory of the sync has at most 64 KiB")
        return CBOREncoder.encode(reservingByteCount: kept.count + memory.count + 34 * entries.count + 64) { encoder in
            encoder.encodeArrayHeader(count: 5)
            encoder.encode(unsigned: Self.formatVersion)
            encoder.encode(unsigned: keyringGeneration)
            encoder.encode(bytes: kept)
            encoder.encodeArrayHeader(count: entries.count)
            for name in entries { encoder.encode(bytes: name.bytes) }
            encoder.encode(bytes: memory)
        }
    }

    /// Reads an encoding; nil if it is not exactly what `encode` writes.
    static func parse(_ content: Span<UInt8>) -> RepositoryState? {
        try? withCBORDecoder(content.copy(0..<content.count)) { (decoder) throws(CBORError) in
            let start = decoder.byteOffset
            try decoder.readArrayHeader(count: 5)
            guard try decoder.readUnsigned() == formatVersion else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            let generation = try decoder.readUnsigned()
            let kept = try decoder.readBytes()
            var entries: [BlobName] = []
            for _ in 0..<(try decoder.readArrayHeader()) {
                guard let name = BlobName(bytes: try decoder.readBytes(count: 32)) else {
                    throw CBORError(.unexpectedItem, byteOffset: start)
                }
                entries.append(name)
            }
            let memory = try decoder.readBytes()
            guard memory.count <= memoryByteCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
            return RepositoryState(kept: kept, entries: entries, memory: memory, keyringGeneration: generation)
        }
    }

    // MARK: The memory alone

    /// The content of a blob of type 11: [1, memory].
    var encodedMemory: [UInt8] {
        precondition(memory.count <= Self.memoryByteCountMax, "the memory of the sync has at most 64 KiB")
        return CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(unsigned: Self.memoryVersion)
            encoder.encode(bytes: memory)
        }
    }

    /// Reads the content of a blob of type 11; nil if it is none.
    static func parseMemory(_ content: Span<UInt8>) -> [UInt8]? {
        try? withCBORDecoder(content.copy(0..<content.count)) { (decoder) throws(CBORError) in
            let start = decoder.byteOffset
            try decoder.readArrayHeader(count: 2)
            guard try decoder.readUnsigned() == memoryVersion else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            let memory = try decoder.readBytes()
            guard memory.count <= memoryByteCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
            return memory
        }
    }
}
