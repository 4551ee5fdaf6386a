// The content of a `repositoryState` blob (`Spec/journal.md`). The one thing to keep true: one state
// has one encoding, and anything else is refused.

internal import CoffretBase

extension RepositoryState {
    static let formatVersion: UInt8 = 1
    static let annotationByteCountMax = 64 << 10

    /// version (1) ‖ flags (1) ‖ keyring generation (8) ‖ per set flag commit (32) ‖ root (32) ‖
    /// lp-counted heads ‖ lp-counted tail ‖ lp(annotation).
    func encode() -> [UInt8] {
        if let logs { return logs.encode(keyringGeneration: keyringGeneration) }
        precondition(annotation.count <= Self.annotationByteCountMax, "an annotation has at most 64 KiB")
        var bytes: [UInt8] = [Self.formatVersion]
        bytes.append((checkpoint == nil ? 0 : 1) | (previousCheckpoint == nil ? 0 : 2))
        bytes.appendBigEndian(keyringGeneration)
        for checkpoint in [checkpoint, previousCheckpoint] {
            guard let checkpoint else { continue }
            bytes += checkpoint.commit.bytes + checkpoint.root.bytes
        }
        for names in [heads, tailCommits] {
            bytes.appendBigEndian(UInt32(names.count))
            for name in names { bytes += name.bytes }
        }
        bytes.appendLengthPrefixed(annotation)
        return bytes
    }

    /// Reads an encoding; nil if it is not exactly what `encode` writes.
    static func parse(_ content: Span<UInt8>) -> RepositoryState? {
        var reader = StateReader(bytes: unsafe content.withUnsafeBufferPointer { unsafe Array($0) })
        if reader.bytes.first == Logs.firstByte { return Logs.parse(reader.bytes) }
        guard reader.take(1) == [formatVersion], let flags = reader.take(1)?.first, flags <= 3,
            let generation = reader.take(8).flatMap({ UInt64(bigEndianBytes: $0) })
        else { return nil }
        var checkpoints: [Checkpoint?] = []
        for bit in [UInt8(1), 2] {
            if flags & bit == 0 { checkpoints.append(nil); continue }
            guard let commit = reader.name(), let root = reader.name() else { return nil }
            checkpoints.append(Checkpoint(commit: commit, root: root))
        }
        guard let heads = reader.names(), let tail = reader.names(), let annotation = reader.lengthPrefixed(),
            annotation.count <= annotationByteCountMax, reader.isAtEnd
        else { return nil }
        return RepositoryState(
            heads: heads, checkpoint: checkpoints[0], previousCheckpoint: checkpoints[1], tailCommits: tail,
            keyringGeneration: generation, annotation: annotation)
    }
}

/// Takes fields off the front of a byte array; each answer is nil where the bytes end too early.
struct StateReader {
    let bytes: [UInt8]
    var offset = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { offset == bytes.count }

    mutating func take(_ count: Int) -> [UInt8]? {
        guard count <= bytes.count - offset else { return nil }
        defer { offset += count }
        return Array(bytes[offset..<offset + count])
    }

    mutating func name() -> BlobName? { take(32).flatMap { BlobName(bytes: $0) } }

    mutating func count() -> Int? { take(4).flatMap { UInt32(bigEndianBytes: $0) }.map(Int.init) }

    /// A number of two bytes.
    mutating func number() -> Int? { take(2).map { Int($0[0]) << 8 | Int($0[1]) } }

    mutating func lengthPrefixed() -> [UInt8]? { count().flatMap { take($0) } }

    mutating func names() -> [BlobName]? {
        guard let count = count(), count <= (bytes.count - offset) / 32 else { return nil }
        var names: [BlobName] = []
        for _ in 0..<count {
            guard let name = name() else { return nil }
            names.append(name)
        }
        return names
    }
}
