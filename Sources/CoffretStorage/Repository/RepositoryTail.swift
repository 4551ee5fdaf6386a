// What was committed since the tree was stored last. The one thing to keep true: stored tree plus tail
// is the state of the head.

internal import CoffretBase

/// The commits since the checkpoint, read once and kept up to date by the writer.
struct RepositoryTail {
    /// The stored tree below; nil for the empty tree.
    var baseRoot: BlobName?
    var overlay = Overlay()
    /// Changes in the tail, for the decision when to store the tree again.
    var factCount = 0
    var byteCount = 0
    /// Of the head.
    var versionVector: VersionVector
    var head: CommitSummary?

    /// Reads the tail that `state` names.
    ///
    /// - Complexity: a few microseconds per commit.
    init(state: RepositoryState, history: HistoryReader) throws(StorageError) {
        baseRoot = state.checkpoint?.root
        versionVector = try RepositoryAnnotation.decode(state.annotation).checkpointVersions
        for name in state.tailCommits {
            let (_, summary, byteCount) = try history.unverified(name)
            try add(summary, byteCount: byteCount, history: history)
        }
        if head == nil, let name = state.heads.first { head = try history.commit(name) }
    }

    mutating func add(_ summary: CommitSummary, byteCount: Int, history: HistoryReader) throws(StorageError) {
        let changes = try history.changes(of: summary)
        add(summary, facts: changes.facts, unstored: changes.unstored, byteCount: byteCount)
    }

    mutating func add(
        _ summary: CommitSummary, facts: [Fact], unstored: [BlobName: [UInt8]], byteCount: Int
    ) {
        overlay.add(facts, unstored: unstored)
        factCount += facts.count
        self.byteCount += byteCount
        versionVector = summary.commit.versionVector ?? versionVector.advanced(by: summary.dot)
        head = summary
    }
}

/// What this layer keeps in each transaction's state, beside heads and checkpoint.
struct RepositoryAnnotation {
    /// Of the checkpoint's commit; later ones follow from the tail.
    var checkpointVersions = VersionVector()

    func encode() -> [UInt8] {
        CBOREncoder.encode { checkpointVersions.encode(to: &$0) }
    }

    /// - Throws: `.commitMalformed` if the bytes are none of ours.
    static func decode(_ bytes: [UInt8]) throws(StorageError) -> RepositoryAnnotation {
        if bytes.isEmpty { return RepositoryAnnotation() }
        let versions = try withCBORDecoder(
            bytes,
            convert: { error in
                StorageError(.commitMalformed, place: "repository state", cause: error)
            }, { (decoder) throws(CBORError) in try VersionVector.decode(from: &decoder) })
        return RepositoryAnnotation(checkpointVersions: versions)
    }
}

/// When the tree is stored.
package struct CheckpointPolicy: Sendable {
    /// Changes since the last time.
    package var factCountMax: Int
    /// Bytes of commits since the last time.
    package var byteCountMax: Int

    package init(factCountMax: Int, byteCountMax: Int = 1 << 20) {
        self.factCountMax = factCountMax
        self.byteCountMax = byteCountMax
    }

    /// For processes that end after one command: each one that writes reads the tail first.
    package static let shortLived = CheckpointPolicy(factCountMax: 256)
    /// For a process that stays, and stores the tree when it has time.
    package static let resident = CheckpointPolicy(factCountMax: 1024)
}
