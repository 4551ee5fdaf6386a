// Checking everything. The one thing to keep true: it takes nothing on trust that reading takes on
// trust: signatures, roots, boundaries and values are all verified or recomputed.

internal import CoffretBase

extension VaultRepository {
    /// Checks files, commits, signatures, sequences, roots, trees and values; reports all it finds.
    ///
    /// - Parameter signers: knows the devices that may have written; nil for the own device alone.
    /// - Parameter progress: an error that it throws ends the check.
    /// - Complexity: reads everything; recomputes the root of every commit.
    package func fsck(
        signers: (any CommitSignerDirectory)? = nil, progress: (FsckProgress) throws -> Void
    ) rethrows -> FsckReport {
        var report = FsckReport()
        if let backend = backend as? any BlobMaintenance {
            report.blobs = try backend.check { done, total in
                try progress(FsckProgress(phase: .files, doneCount: done, totalCount: total))
            }
        }
        let directory = signers ?? author.map { SingleSignerDirectory(author: $0) }
        var check = HistoryCheck(repository: self, signers: directory)
        try check.run(progress: progress)
        report.commitCount = check.commitCount
        report.signatureCount = check.signatureCount
        report.rootCount = check.rootCount
        report.removals = check.removals
        report.problems = check.problems
        report.isHistoryPending = check.isHistoryPending
        try checkTrees(check.commits, &report, progress: progress)
        return report
    }

    /// As above, in silence.
    package func fsck(signers: (any CommitSignerDirectory)? = nil) -> FsckReport {
        fsck(signers: signers) { _ in }
    }

    /// Walks everything that is stored, rebuilds the head's tree from its facts, and reads all values.
    private func checkTrees(
        _ commits: [CommitSummary], _ report: inout FsckReport, progress: (FsckProgress) throws -> Void
    ) rethrows {
        var names: Set<BlobName> = []
        var values: Set<StoredValue> = []
        let walk = ReachableBlobs(history: history, nodes: nodes, kinds: .all)
        let visit = { (name: BlobName) in names.insert(name).inserted }
        let visitFact = { (fact: Fact) throws(StorageError) in
            if case .stored(let value) = fact.content { values.insert(value) }
        }
        for (index, commit) in commits.enumerated() {
            if index % 256 == 0 {
                try progress(FsckProgress(phase: .trees, doneCount: index, totalCount: commits.count))
            }
            report.collect { () throws(StorageError) in
                try walk.walk(commit, visit: visit, visitFact: visitFact)
                guard try backend.containsBlob(commit.commit.root) else { return }
                try walk.walkTree(commit.commit.root, visit: visit, visitFact: visitFact)
            }
        }
        report.treeCount = commits.count { names.contains($0.commit.root) }
        var factCount: UInt64 = 0
        report.collect { () throws(StorageError) in
            if let root = backend.state.checkpoint?.root {
                try walk.walkTree(root, visit: visit, visitFact: visitFact)
            }
            let present = try present
            let root = try present.root()
            factCount = root.factCount
            try present.forEachFact(visitFact)
            try checkBoundaries(of: present, root: root)
        }
        report.factCount = factCount
        report.valueCount = values.count
        let reader = (try? present.values) ?? ValueReader(reader: backend, unstored: [:])
        for (index, value) in values.enumerated() {
            if index % 256 == 0 {
                try progress(FsckProgress(phase: .trees, doneCount: commits.count, totalCount: commits.count))
            }
            report.collect { () throws(StorageError) in
                // A value that only a commit carries has been verified with the commit.
                guard try backend.containsBlob(value.name) || reader.unstored[value.name] != nil else {
                    if names.contains(value.name) {
                        throw StorageError(.blobMissing, place: value.name.description)
                    }
                    return
                }
                _ = try reader.value(value)
            }
        }
        report.reachableBlobCount = names.count
    }

    /// The tree built afresh from its facts must have the same root: so all boundaries are where the
    /// rule puts them.
    private func checkBoundaries(of snapshot: Snapshot, root: TreeNode) throws(StorageError) {
        var builder = TreeBuilder(splitHash: splitHash, sink: NodeSink(writer: nil))
        var cursor = try snapshot.cursor()
        while let fact = try cursor.next() { try builder.append(fact) }
        guard try builder.finish().name == root.name else {
            throw StorageError(.treeRootMismatch, place: root.name.description)
        }
    }
}

extension FsckReport {
    /// Runs one part of the check; what it throws becomes a finding.
    fileprivate mutating func collect(_ body: () throws(StorageError) -> Void) {
        do throws(StorageError) { try body() } catch { problems.append(error) }
    }
}
