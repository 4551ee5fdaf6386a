// A commit: what changed, and what all facts are together. The one thing to keep true: the signature
// covers every byte of the content before it, and through names everything else.

package import CoffretBase

/// What a commit is beside a list of changes.
package struct CommitFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Has more than one parent and brings their facts together.
    package static let merge = CommitFlags(rawValue: 1)
    /// Opens a key epoch, or cuts off a revoked device (protocol 3).
    package static let epoch = CommitFlags(rawValue: 2)
    /// The author stored the tree in the same transaction.
    package static let checkpoint = CommitFlags(rawValue: 4)
    /// Records that older history was removed.
    package static let compaction = CommitFlags(rawValue: 8)
    /// The changes lie in a tree of their own.
    package static let bulk = CommitFlags(rawValue: 16)

    static let all: CommitFlags = [.merge, .epoch, .checkpoint, .compaction, .bulk]
}

/// What a compaction removed (protocol 21): enough to tell a missing parent from a broken chain.
package struct CompactionRecord: Equatable, Sendable {
    /// Parents of kept commits that are no longer there; ascending, at least one.
    package var removedParents: [BlobName]
    /// How many commits this compaction removed.
    package var removedCommitCount: UInt64
    /// Which ones: for each instance, up to and including this sequence.
    package var removedVersions: VersionVector
    /// Commits older than this were to go.
    package var olderThanMilliseconds: Milliseconds
    /// The commits with which the history begins, that is those that stay and lost a parent, and what each has seen, itself
    /// included. Nil in records from before this was told.
    package var beginnings: [BlobName: VersionVector]?
    /// Whose the instances are of which commits were removed: a revocation may have to judge by that what was made from them.
    package var authors: [UniqueID: Author]?

    /// A device of an account.
    package struct Author: Equatable, Sendable {
        package let accountID: [UInt8]
        package let deviceID: [UInt8]
    }
}

/// The signed part of a commit.
package struct Commit: Equatable, Sendable {
    package enum Changes: Equatable, Sendable {
        /// Ascending by key; may be empty.
        case list([CommitChange])
        /// The root of a tree that holds the new facts and, as retractions, the removed ones.
        case tree(BlobName)
    }

    /// Key 1: the name of the `CommitContext`.
    package var context: BlobName
    /// Key 2: the root of the tree of all facts.
    package var root: BlobName
    /// Key 3: ascending, without duplicates; empty for the first commit of a vault.
    package var parents: [BlobName]
    /// Key 4: counts the commits of the instance from 1.
    package var sequence: UInt64
    /// Key 5: the author's wall clock; for show, never for order.
    package var timeMilliseconds: Milliseconds
    /// Key 6: absent if empty.
    package var flags: CommitFlags = []
    /// Key 7: the list, absent if empty; key 8: the tree's root.
    package var changes: Changes
    /// Key 9: this instance's commit before; absent if it is a parent, or if there is none.
    package var previousOfInstance: BlobName?
    /// Key 10: absent if it is the first parent's, with the author's own entry advanced.
    package var versionVector: VersionVector?
    /// Key 11: what the author says of other vaults (`HeadStatement`), for the person's own devices; opaque here.
    package var statement: [UInt8]?
    /// Key 12: with the flag `compaction` only.
    package var compaction: CompactionRecord?
}

extension Commit {
    static let parentCountMax = 256

    /// The signed bytes: a deterministic CBOR map.
    package func encodeBody() -> [UInt8] {
        CBOREncoder.encode(reservingByteCount: 512) { encoder in
            var hasChanges = true
            if case .list(let changes) = changes { hasChanges = !changes.isEmpty }
            let optionalCount = [
                !flags.isEmpty, hasChanges, previousOfInstance != nil, versionVector != nil, statement != nil,
                compaction != nil,
            ].count { $0 }
            encoder.encodeMapHeader(count: 5 + optionalCount)
            encoder.encode(unsigned: 1)
            encoder.encode(bytes: context.bytes)
            encoder.encode(unsigned: 2)
            encoder.encode(bytes: root.bytes)
            encoder.encode(unsigned: 3)
            encoder.encode(names: parents)
            encoder.encode(unsigned: 4)
            encoder.encode(unsigned: sequence)
            encoder.encode(unsigned: 5)
            encoder.encode(signed: timeMilliseconds)
            if !flags.isEmpty {
                encoder.encode(unsigned: 6)
                encoder.encode(unsigned: flags.rawValue)
            }
            switch changes {
            case .list(let changes) where !changes.isEmpty:
                encoder.encode(unsigned: 7)
                CommitChangeCodec.encode(changes, to: &encoder)
            case .list:
                break
            case .tree(let root):
                encoder.encode(unsigned: 8)
                encoder.encode(bytes: root.bytes)
            }
            if let previousOfInstance {
                encoder.encode(unsigned: 9)
                encoder.encode(bytes: previousOfInstance.bytes)
            }
            if let versionVector {
                encoder.encode(unsigned: 10)
                versionVector.encode(to: &encoder)
            }
            if let statement {
                encoder.encode(unsigned: 11)
                encoder.encode(bytes: statement)
            }
            if let compaction {
                encoder.encode(unsigned: 12)
                compaction.encode(to: &encoder)
            }
        }
    }

    init(from decoder: inout CBORDecoder) throws(CBORError) {
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        try decoder.expectKey(1, in: &map)
        context = try decoder.readName()
        try decoder.expectKey(2, in: &map)
        root = try decoder.readName()
        try decoder.expectKey(3, in: &map)
        parents = try decoder.readNames(countMax: Self.parentCountMax)
        try decoder.expectKey(4, in: &map)
        sequence = try decoder.readUnsigned()
        try decoder.expectKey(5, in: &map)
        timeMilliseconds = try decoder.readSigned()
        changes = .list([])
        while let key = try decoder.readUnsignedKey(in: &map) {
            let place = decoder.byteOffset
            switch key {
            case 6: flags = CommitFlags(rawValue: try decoder.readUnsigned())
            case 7: changes = .list(try CommitChangeCodec.decode(from: &decoder))
            case 8 where changes == .list([]): changes = .tree(try decoder.readName())
            case 9: previousOfInstance = try decoder.readName()
            case 10: versionVector = try VersionVector.decode(from: &decoder)
            case 11: statement = try decoder.readBytes(countMax: HeadStatement.byteCountMax)
            case 12: compaction = try CompactionRecord(from: &decoder)
            default: throw CBORError(.unexpectedKey, byteOffset: place)
            }
            if key == 6, flags.isEmpty || !flags.isSubset(of: .all) {
                throw CBORError(.unexpectedItem, byteOffset: place)
            }
        }
        guard isConsistent else { throw CBORError(.unexpectedItem, byteOffset: start) }
    }

    /// What a well-formed commit satisfies beyond its grammar.
    private var isConsistent: Bool {
        var isBulk = false
        if case .tree = changes { isBulk = true }
        return sequence > 0 && flags.contains(.bulk) == isBulk && flags.contains(.merge) == (parents.count > 1)
            && flags.contains(.compaction) == (compaction != nil) && statement?.isEmpty != true
            && (previousOfInstance.map { !parents.contains($0) } ?? true)
    }
}

extension CompactionRecord {
    static let beginningCountMax = 65_536

    /// Map: 1 names, 2 count, 3 version vector, 4 time, 5 version vectors by name, 6 account and device by instance.
    func encode(to encoder: inout CBOREncoder) {
        encoder.encodeMapHeader(count: beginnings == nil ? 4 : authors == nil ? 5 : 6)
        encoder.encode(unsigned: 1)
        encoder.encode(names: removedParents)
        encoder.encode(unsigned: 2)
        encoder.encode(unsigned: removedCommitCount)
        encoder.encode(unsigned: 3)
        removedVersions.encode(to: &encoder)
        encoder.encode(unsigned: 4)
        encoder.encode(signed: olderThanMilliseconds)
        guard let beginnings else { return }
        encoder.encode(unsigned: 5)
        encoder.encodeMapHeader(count: beginnings.count)
        for (name, versions) in beginnings.sorted(by: { $0.key < $1.key }) {
            encoder.encode(bytes: name.bytes)
            versions.encode(to: &encoder)
        }
        guard let authors else { return }
        encoder.encode(unsigned: 6)
        encoder.encodeMapHeader(count: authors.count)
        for (instance, author) in authors.sorted(by: { $0.key < $1.key }) {
            encoder.encode(bytes: instance.bytes)
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: author.accountID)
            encoder.encode(bytes: author.deviceID)
        }
    }

    init(from decoder: inout CBORDecoder) throws(CBORError) {
        var map = try decoder.readMapHeader()
        try decoder.expectKey(1, in: &map)
        removedParents = try decoder.readNames(countMax: 65_536)
        try decoder.expectKey(2, in: &map)
        removedCommitCount = try decoder.readUnsigned()
        try decoder.expectKey(3, in: &map)
        removedVersions = try VersionVector.decode(from: &decoder)
        try decoder.expectKey(4, in: &map)
        olderThanMilliseconds = try decoder.readSigned()
        if map.remaining > 0 {
            try decoder.expectKey(5, in: &map)
            beginnings = try Self.decodeBeginnings(from: &decoder)
        }
        if map.remaining > 0 {
            try decoder.expectKey(6, in: &map)
            authors = try Self.decodeAuthors(from: &decoder)
        }
        guard map.remaining == 0, !removedParents.isEmpty else {
            throw CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        }
    }

    private static func decodeBeginnings(
        from decoder: inout CBORDecoder
    ) throws(CBORError) -> [BlobName: VersionVector] {
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        guard map.remaining <= beginningCountMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var beginnings: [BlobName: VersionVector] = [:]
        while let name = try decoder.readKey(
            in: &map, { (decoder) throws(CBORError) in try decoder.readName() })
        {
            beginnings[name] = try VersionVector.decode(from: &decoder)
        }
        return beginnings
    }

    private static func decodeAuthors(from decoder: inout CBORDecoder) throws(CBORError) -> [UniqueID: Author] {
        let start = decoder.byteOffset
        var map = try decoder.readMapHeader()
        guard map.remaining <= VersionVector.instanceCountMax else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        var authors: [UniqueID: Author] = [:]
        while let key = try decoder.readKey(
            in: &map, { (decoder) throws(CBORError) in try decoder.readBytes(count: UniqueID.byteCount) })
        {
            try decoder.readArrayHeader(count: 2)
            let accountID = try decoder.readBytes(count: 32)
            let deviceID = try decoder.readBytes(countMax: CommitContext.deviceIDByteCounts.upperBound)
            guard CommitContext.deviceIDByteCounts.contains(deviceID.count), let instance = UniqueID(bytes: key) else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            authors[instance] = Author(accountID: accountID, deviceID: deviceID)
        }
        return authors
    }
}

extension CompactionRecord.Author {
    init(_ context: CommitContext) {
        self.init(accountID: context.accountID, deviceID: context.deviceID)
    }

    /// What a commit of the instance might have stated.
    ///
    /// - Parameter other: of the commit that tells it.
    func context(of instance: UniqueID, toldBy other: CommitContext) -> CommitContext {
        var context = other
        (context.accountID, context.deviceID, context.instanceID) = (accountID, deviceID, instance)
        return context
    }
}

extension CBOREncoder {
    mutating func encode(names: [BlobName]) {
        encodeArrayHeader(count: names.count)
        for name in names { encode(bytes: name.bytes) }
    }
}

extension CBORDecoder {
    mutating func readName() throws(CBORError) -> BlobName {
        let start = byteOffset
        guard let name = BlobName(bytes: try readBytes(count: 32)) else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        return name
    }

    /// Reads names in ascending order without duplicates.
    mutating func readNames(countMax: Int) throws(CBORError) -> [BlobName] {
        let start = byteOffset
        let count = try readArrayHeader()
        guard count <= countMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
        var names: [BlobName] = []
        for _ in 0..<count {
            let name = try readName()
            if let last = names.last, !(last < name) { throw CBORError(.keysNotSorted, byteOffset: start) }
            names.append(name)
        }
        return names
    }
}
