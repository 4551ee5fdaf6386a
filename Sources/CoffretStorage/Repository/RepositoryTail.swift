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
    /// Numbers that were given to merges which were then dropped; they are never used again.
    let usedSequences: VersionVector

    /// Reads the tail that `state` names.
    ///
    /// - Complexity: a few microseconds per commit.
    init(state: RepositoryState, history: HistoryReader) throws(StorageError) {
        baseRoot = state.checkpoint?.root
        let annotation = try RepositoryAnnotation.decode(state.annotation)
        versionVector = annotation.checkpointVersions
        usedSequences = annotation.usedSequences
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

    /// The same place in history, and nothing that grows with the tail.
    var withoutOverlay: RepositoryTail {
        var tail = self
        tail.overlay = Overlay()
        return tail
    }

    /// The dot of the next commit of an instance.
    func nextDot(of instance: UniqueID) -> Dot {
        Dot(instance: instance, sequence: max(versionVector[instance], usedSequences[instance]) + 1)
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
