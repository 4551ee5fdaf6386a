// Blobs in memory and made-up facts for tests of trees and commits. The one thing to keep true: the
// same seed makes the same facts.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport

@testable import CoffretStorage

/// Blobs by name, in a dictionary.
final class MemoryBlobs: BlobReader, BlobWriter {
    var blobs: [BlobName: (type: BlobType, content: [UInt8])] = [:]
    var readCount = 0

    func readBlob<Result>(
        _ name: BlobName, type: BlobType, _ body: (Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        readCount += 1
        guard let blob = blobs[name] else { throw StorageError(.blobMissing, place: name.description) }
        guard blob.type == type else { throw StorageError(.blobAuthenticationFailed, place: name.description) }
        return try body(blob.content.span)
    }

    func containsBlob(_ name: BlobName) -> Bool { blobs[name] != nil }

    func writeBlob(type: BlobType, content: Span<UInt8>) -> BlobName {
        let name = BlobName.derive(type: type, content: content)
        blobs[name] = (type, content.copy(0..<content.count))
        return name
    }
}

enum TreeSupport {
    static func splitHash(_ byte: UInt8 = 7) -> SplitHash {
        var key = [UInt8](repeating: byte, count: ShortHashKey.byteCount)
        return SplitHash(key: ShortHashKey(SecretBytes(consuming: &key)))
    }

    static func instance(_ number: UInt8) -> UniqueID {
        UniqueID(bytes: [UInt8](repeating: 0, count: 15) + [number])!
    }

    static func key(_ generator: SeededGenerator, entityCount: Int) -> FactKey {
        let entity = generator.int(in: 0...entityCount - 1)
        var uuid = [UInt8](repeating: 0, count: 16)
        // Spread over the key space, so that neighbours share few bytes, as random UUIDs do.
        let spread = UInt64(entity) &* 0x9E37_79B9_7F4A_7C15
        uuid.replaceSubrange(0..<8, with: spread.bigEndianBytes)
        let attributes: [Attribute] = ["title", "body", "modified", "tag", "url", "a", "ab"]
        let isElement = generator.int(in: 0...5) == 0
        return FactKey(
            entity: EntityID(kind: UInt8(ascii: "N"), uuid: UniqueID(bytes: uuid)!),
            attribute: generator.element(of: attributes),
            element: isElement ? [UInt8](repeating: UInt8(generator.int(in: 0...3)), count: 16) : [])
    }

    static func content(_ generator: SeededGenerator) -> FactContent {
        switch generator.int(in: 0...9) {
        case 0:
            let name = BlobName(bytes: generator.bytes(count: 32...32))!
            return .stored(StoredValue(name: name, byteCount: generator.int(in: 513...100_000)))
        case 1: return .inline(generator.bytes(count: 200...512))
        default: return .inline(generator.bytes(count: 0...50))
        }
    }

    /// One fact mostly, several concurrent ones at times, or none.
    static func replacement(_ generator: SeededGenerator, key: FactKey) -> Replacement {
        let count = [0, 1, 1, 1, 1, 1, 1, 1, 2, 12][generator.int(in: 0...9)]
        var dots: Set<Dot> = []
        while dots.count < count {
            let sequence = UInt64(generator.int(in: 1...100_000))
            dots.insert(Dot(instance: instance(UInt8(generator.int(in: 1...4))), sequence: sequence))
        }
        return Replacement(
            key: key, facts: dots.sorted().map { Fact(key: key, content: content(generator), dot: $0) })
    }

    static func batch(_ generator: SeededGenerator, count: Int, entityCount: Int) -> [Replacement] {
        var changes: [FactKey: Replacement] = [:]
        for _ in 0..<count {
            let key = key(generator, entityCount: entityCount)
            changes[key] = replacement(generator, key: key)
        }
        return changes.values.sorted { $0.key < $1.key }
    }

    /// The tree that the definition makes of `facts`.
    static func build(
        _ facts: [FactKey: [Fact]], writer: (any BlobWriter)? = nil, splitHash: SplitHash = splitHash()
    ) throws -> TreeNode {
        var builder = TreeBuilder(splitHash: splitHash, sink: NodeSink(writer: writer))
        for key in facts.keys.sorted() {
            for fact in facts[key] ?? [] { try builder.append(fact) }
        }
        return try builder.finish()
    }
}
