// The present before its history. The one thing to keep true: below the commit that was vouched for nothing is read, and
// nothing is built on it for others, before all of it is here and verified.

internal import CoffretBase

/// How the present stands to its history.
package enum PresentStanding: Equatable, Sendable {
    /// All commits that are here were verified with all that leads to them.
    case whole
    /// Nothing is here; another device told its head, and that the tree of this lies at the server.
    case told
    /// That head is here as its state; the commits that lead to it are on their way.
    case ahead
}

extension VaultRepository {
    /// How the present stands to its history.
    package var presentStanding: PresentStanding {
        get throws(StorageError) {
            let annotation = try RepositoryAnnotation.decode(backend.state.annotation)
            guard annotation.present != nil else { return .whole }
            if annotation.isHistoryPartial { return .ahead }
            return headNames.isEmpty ? .told : .whole
        }
    }

    /// Notes what another device told of its head, in a vault in which nothing was written; with bytes of who syncs.
    package func remember(present: PresentMark, note: [UInt8]) throws(StorageError) {
        guard headNames.isEmpty, try pendingPresent() == nil else { throw StorageError(.unusable) }
        var state = backend.state
        try state.annotate { annotation in
            annotation.removedVersions = annotation.removedVersions ?? VersionVector()
            annotation.present = present
            annotation.note = note
        }
        let changed = state
        try transact { (transaction) throws(StorageError) in
            try transaction.commit(state: changed, isCheckpoint: false)
        }
    }

    /// The commit with which the history begins here until the rest has arrived; nil where all is here.
    package func pendingPresent() throws(StorageError) -> PresentMark? {
        let annotation = try RepositoryAnnotation.decode(backend.state.annotation)
        return annotation.isHistoryPartial ? annotation.present : nil
    }

    /// - Throws: `.historyPending` while older commits are on their way.
    package func requireHistory() throws(StorageError) {
        if let present = try pendingPresent() { throw StorageError(.historyPending, place: "commit \(present.head)") }
    }
}

/// The state of a commit as it goes to a device that has nothing of the vault.
package struct PresentContents: Equatable, Sendable {
    package let mark: PresentMark
    /// The blobs of the tree, what a blob leads to before it.
    package let names: [BlobName]
    package let byteCount: Int
}

/// When the present goes ahead of its history.
package struct PresentPolicy: Sendable {
    /// A history of fewer bytes comes soon enough.
    package var historyByteCountMin = 4 << 20
    /// The history has at least so many times the bytes of the present; else little is gained for what is sent twice.
    package var historyFactor = 2
    /// A new device keeps the present in memory until it is whole.
    package var presentByteCountMax = 64 << 20

    package init() {}
}

extension VaultRepository {
    /// More instances than a person has devices are told to nobody.
    private static var instanceCountMax: Int { 256 }

    /// The state of a commit, stored if it was not, if its history is so much larger that it is worth to send both.
    ///
    /// - Returns: nil if it is not.
    /// - Complexity: reads as much of the history as it takes to see that it is larger, and the tree.
    package func presentContents(
        of name: BlobName, _ policy: PresentPolicy = PresentPolicy()
    ) throws(StorageError) -> PresentContents? {
        try requireHistory()
        guard isWritable else { throw StorageError(.readOnly) }
        // It may have been told and never come, or have been removed by a compaction.
        guard let own = headNames.first, try backend.containsBlob(name), try isKnown(name, to: own) else { return nil }
        let versions = try graph().versions(of: name)
        guard versions.sequences.count <= Self.instanceCountMax,
            try hasHistory(of: name, byteCount: policy.historyByteCountMin)
        else { return nil }
        let commit = try commit(named: name)
        try storeTree(of: commit)
        let names = try ReachableBlobs(history: history, nodes: nodes, kinds: .none).namesOfTree(commit.commit.root)
        var byteCount = 0
        for name in names {
            byteCount += try sealedBlob(name).bytes.count
            guard byteCount <= policy.presentByteCountMax else { return nil }
        }
        guard try hasHistory(of: name, byteCount: byteCount * policy.historyFactor) else { return nil }
        return PresentContents(
            mark: PresentMark(head: name, versions: versions), names: names, byteCount: byteCount)
    }

    /// Whether the commits that lead to one, itself included, and the long values that they wrote have at least so many bytes.
    /// What large imports wrote is not counted: that is the present, mostly.
    private func hasHistory(of name: BlobName, byteCount wanted: Int) throws(StorageError) -> Bool {
        var byteCount = 0
        var seen: Set<BlobName> = [name]
        var pending = [name]
        let values = ValueReader(reader: backend, unstored: [:])
        while let next = pending.popLast() {
            guard byteCount < wanted else { return true }
            guard try history.commitIfWhole(next) != nil else { continue }
            let (_, commit, size) = try history.unverified(next)
            byteCount += size
            if case .list(let changes) = commit.commit.changes {
                for change in changes {
                    guard case .stored(let value) = change.content, seen.insert(value.name).inserted else { continue }
                    guard value.isList else {
                        byteCount += value.byteCount
                        continue
                    }
                    for piece in try values.list(value).pieces where seen.insert(piece.name).inserted {
                        byteCount += piece.byteCount
                    }
                }
            }
            for parent in commit.parents where seen.insert(parent).inserted { pending.append(parent) }
        }
        return byteCount >= wanted
    }

    private func storeTree(of commit: CommitSummary) throws(StorageError) {
        guard try !backend.containsBlob(commit.commit.root) else { return }
        if headNames == [commit.name] {
            try checkpoint()
            return
        }
        let old = try snapshot(at: commit.name)
        let root = try old.root()
        let state = backend.state
        var nodes = TreeWriter()
        try transact { (transaction) throws(StorageError) in
            try write(root, values: old.overlay.unstored, with: &nodes, to: transaction)
            try transaction.commit(state: state, isCheckpoint: true)
        }
        nodes.markStored(in: self.nodes)
    }
}

extension PresentMark {
    /// Deterministic CBOR [1, head (32), version vector].
    package func encode() -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: 1)
            encoder.encode(bytes: head.bytes)
            versions.encode(to: &encoder)
        }
    }

    /// - Returns: nil for bytes of another form, such as a later version's.
    package static func decode(_ bytes: [UInt8]) -> PresentMark? {
        let mark = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) -> PresentMark? in
            try decoder.readArrayHeader(count: 3)
            guard try decoder.readUnsigned() == 1, let head = BlobName(bytes: try decoder.readBytes(count: 32)) else {
                return nil
            }
            return PresentMark(head: head, versions: try VersionVector.decode(from: &decoder))
        }
        return mark ?? nil
    }
}
