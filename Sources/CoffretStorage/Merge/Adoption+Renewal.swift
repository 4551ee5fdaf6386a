// Work that was done on an old copy of a store, under numbers that a newer copy may have used for something else
// (protocol 10). The one thing to keep true: each commit is written again where it stood, so nothing of its history is lost.

internal import CoffretBase
internal import CoffretCrypto

extension Adoption {
    /// Writes the commits of this device that `sent` has not seen again under the instance that it has now, each with its
    /// changes and its time, on what it stood on; merges are made anew. Ends the adoption.
    ///
    /// - Parameter sent: a commit that others have.
    /// - Returns: how many were written, merges not counted; 0 changes nothing.
    /// - Throws: `.unusable` if one of them opens an epoch or cuts history, also by having removed `sent` itself: these
    ///   cannot be said twice. Then nothing has changed.
    package func writeAgain(after sent: BlobName) throws(StorageError) -> Int {
        do throws(StorageError) {
            try repository.requireHistory()
            return try writeAgainVerified(after: sent)
        } catch {
            transaction.cancel()
            repository.forget()
            throw error
        }
    }

    private func writeAgainVerified(after sent: BlobName) throws(StorageError) -> Int {
        guard let localHead = repository.headNames.first else {
            cancel()
            return 0
        }
        guard try graph.contains(sent) else { throw StorageError(.unusable, place: "commit \(sent)") }
        var written: [BlobName: MergeSide] = [:]
        var count = 0
        func current(_ name: BlobName) throws(StorageError) -> MergeSide {
            if let known = written[name] { return known }
            return try side(name)
        }
        for commit in try ownCommits(upTo: localHead, after: sent) {
            guard commit.flags.isDisjoint(with: [.epoch, .compaction]), commit.commit.compaction == nil else {
                throw StorageError(.unusable, place: "commit \(commit.name)")
            }
            var bases: [MergeSide] = []
            for parent in commit.parents { bases.append(try current(parent)) }
            let time = commit.commit.timeMilliseconds
            let base = try reduce(bases, time: time)
            if commit.flags.contains(.merge) {
                written[commit.name] = base
            } else {
                written[commit.name] = try write(ownChanges(of: commit), on: base, time: time)
                count += 1
            }
        }
        guard let head = written[localHead] else {
            cancel()
            return 0
        }
        var state = repository.backend.state
        try finish(head, state: &state)
        return count
    }

    /// Parents before children.
    private func ownCommits(upTo head: BlobName, after sent: BlobName) throws(StorageError) -> [CommitSummary] {
        var order: [CommitSummary] = []
        var others: [BlobName] = []
        var seen: Set<BlobName> = []
        var stack: [(name: BlobName, isDone: Bool)] = [(head, false)]
        while let (name, isDone) = stack.popLast() {
            let commit = try graph.summary(name)
            if isDone {
                order.append(commit)
                continue
            }
            guard seen.insert(name).inserted, try !graph.isAncestor(name, of: sent) else { continue }
            guard commit.deviceID == author.deviceID else {
                others.append(name)
                continue
            }
            stack.append((name, true))
            for parent in commit.parents.reversed() where try graph.contains(parent) { stack.append((parent, false)) }
        }
        // What another device has built on was sent.
        var own: [CommitSummary] = []
        for commit in order {
            var isSent = false
            for other in others where !isSent { isSent = try graph.isAncestor(commit.name, of: other) }
            if !isSent { own.append(commit) }
        }
        return own
    }
}
