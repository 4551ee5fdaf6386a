// What this layer keeps beside heads and checkpoint. The one thing to keep true: an ordinary commit changes
// nothing here, so that it can be appended without the state.

internal import CoffretBase

/// A commit that a device of the same person vouched for, as its own head, with exactly what it has seen.
package struct PresentMark: Equatable, Sendable {
    package let head: BlobName
    package let versions: VersionVector

    package init(head: BlobName, versions: VersionVector) {
        self.head = head
        self.versions = versions
    }
}

/// The annotation of a repository's state (`Spec/journal.md`, section on the annotation).
struct RepositoryAnnotation: Equatable {
    static let noteByteCountMax = 32 << 10
    static let nameCountMax = 256

    /// Of the checkpoint's commit; later ones follow from the tail.
    var checkpointVersions = VersionVector()
    /// For an instance whose merge was dropped: the number that it had.
    var usedSequences = VersionVector()
    /// The present is here and the commits that lead to it have not been verified, nor need they be here: `present` says
    /// which it is.
    var isHistoryPartial = false
    /// What was told when this device was let in, until the history is here.
    var present: PresentMark?
    /// Commits that prove that an instance wrote two with one number; ascending.
    var evidence: [BlobName] = []
    /// Heads that are kept and not merged, because they build on a commit that is not valid; ascending.
    var quarantined: [BlobName] = []
    /// Commits that opened a key epoch or cut off a revoked device; ascending.
    var epochs: [BlobName] = []
    /// Bytes of who syncs the vault, opaque here.
    var note: [UInt8] = []
    /// What compactions that count or once counted here removed; nil in a state from before this was noted.
    var removedVersions: VersionVector? = VersionVector()

    /// Whether another one says the same of commits; what syncs may have noted something else.
    func isSameHistory(as other: RepositoryAnnotation) -> Bool {
        var other = other
        other.note = note
        return self == other && !isHistoryPartial
    }

    /// As many names as the annotation takes, ascending.
    static func bounded(_ names: Set<BlobName>) -> [BlobName] { Array(names.sorted().prefix(nameCountMax)) }

    func encode() -> [UInt8] {
        CBOREncoder.encode { encoder in
            let version: UInt64 = removedVersions == nil ? 2 : present == nil ? 3 : 4
            encoder.encodeArrayHeader(count: Int(version) + 6)
            encoder.encode(unsigned: version)
            checkpointVersions.encode(to: &encoder)
            usedSequences.encode(to: &encoder)
            encoder.encode(unsigned: isHistoryPartial ? 1 : 0)
            encoder.encode(names: evidence)
            encoder.encode(names: quarantined)
            encoder.encode(names: epochs)
            encoder.encode(bytes: note)
            removedVersions?.encode(to: &encoder)
            guard version == 4, let present else { return }
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: present.head.bytes)
            present.versions.encode(to: &encoder)
        }
    }

    /// - Throws: `.commitMalformed` if the bytes are none of ours.
    static func decode(_ bytes: [UInt8]) throws(StorageError) -> RepositoryAnnotation {
        if bytes.isEmpty { return RepositoryAnnotation() }
        return try withCBORDecoder(
            bytes,
            convert: { error in
                StorageError(.commitMalformed, place: "repository state", cause: error)
            }, { (decoder) throws(CBORError) in try RepositoryAnnotation(from: &decoder) })
    }

    init() {}

    private init(from decoder: inout CBORDecoder) throws(CBORError) {
        let start = decoder.byteOffset
        if try decoder.peekMajorType() == .map {
            // Version 1 was the version vector alone.
            checkpointVersions = try VersionVector.decode(from: &decoder)
            removedVersions = nil
            return
        }
        let count = try decoder.readArrayHeader()
        let version = try decoder.readUnsigned()
        guard (2...4).contains(version), count == version + 6 else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        checkpointVersions = try VersionVector.decode(from: &decoder)
        usedSequences = try VersionVector.decode(from: &decoder)
        isHistoryPartial = try decoder.readUnsigned(as: UInt8.self, max: 1) == 1
        evidence = try decoder.readNames(countMax: Self.nameCountMax)
        quarantined = try decoder.readNames(countMax: Self.nameCountMax)
        epochs = try decoder.readNames(countMax: Self.nameCountMax)
        note = try decoder.readBytes(countMax: Self.noteByteCountMax)
        removedVersions = version >= 3 ? try VersionVector.decode(from: &decoder) : nil
        guard version == 4 else { return }
        try decoder.readArrayHeader(count: 2)
        guard let head = BlobName(bytes: try decoder.readBytes(count: 32)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        present = PresentMark(head: head, versions: try VersionVector.decode(from: &decoder))
    }
}
