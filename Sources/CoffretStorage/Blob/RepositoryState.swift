// What a transaction says about the whole repository. The one thing to keep true: every complete
// transaction carries a state, so that opening needs the newest one and never a walk.

/// Heads, checkpoint and what was committed since, as of one complete transaction.
///
/// A store of logs has `logs` and `keyringGeneration` alone; one of commits has everything else and no `logs`.
package struct RepositoryState: Equatable, Sendable {
    /// A commit whose tree is stored in full.
    package struct Checkpoint: Equatable, Sendable {
        package var commit: BlobName
        package var root: BlobName

        package init(commit: BlobName, root: BlobName) {
            self.commit = commit
            self.root = root
        }
    }

    /// What a store of logs keeps (Spec/history.md section 15).
    package struct Logs: Equatable, Sendable {
        /// What the layer above stored at its last checkpoint; opaque here.
        package var kept: [UInt8]
        /// The entries that it stored behind that, oldest first.
        package var entries: [BlobName]
        /// Bytes of the sync, opaque here; at most 64 KiB.
        package var memory: [UInt8]

        package init(kept: [UInt8], entries: [BlobName] = [], memory: [UInt8] = []) {
            self.kept = kept
            self.entries = entries
            self.memory = memory
        }
    }

    /// The commits that no other commit of this repository has as its parent, ascending.
    package var heads: [BlobName]
    /// The newest commit with a stored tree; nil in a repository without one.
    package var checkpoint: Checkpoint?
    /// The checkpoint before that, kept as a fallback.
    package var previousCheckpoint: Checkpoint?
    /// The commits since `checkpoint`, in the order in which they were added.
    package var tailCommits: [BlobName]
    /// The newest keyring generation that this vault has seen.
    package var keyringGeneration: UInt64
    /// Bytes of the layer above, opaque here; at most 64 KiB.
    package var annotation: [UInt8]
    /// Nil in a store of commits.
    package var logs: Logs?

    package init(
        heads: [BlobName] = [], checkpoint: Checkpoint? = nil, previousCheckpoint: Checkpoint? = nil,
        tailCommits: [BlobName] = [], keyringGeneration: UInt64 = 0, annotation: [UInt8] = []
    ) {
        self.heads = heads
        self.checkpoint = checkpoint
        self.previousCheckpoint = previousCheckpoint
        self.tailCommits = tailCommits
        self.keyringGeneration = keyringGeneration
        self.annotation = annotation
    }

    /// The state of a store of logs.
    package init(logs: Logs, keyringGeneration: UInt64 = 0) {
        self.init(keyringGeneration: keyringGeneration)
        self.logs = logs
    }

    /// Takes one more commit into the tail, which is the only head then; in a store of logs, one more entry.
    package mutating func append(head: BlobName) {
        guard logs == nil else {
            logs?.entries.append(head)
            return
        }
        heads = [head]
        tailCommits.append(head)
    }

    /// Whether this is `earlier` with more commits, or none, in the tail, whose last one is the only head.
    func goesOn(from earlier: RepositoryState) -> Bool {
        logs == nil && earlier.logs == nil && checkpoint == earlier.checkpoint
            && previousCheckpoint == earlier.previousCheckpoint
            && tailCommits.starts(with: earlier.tailCommits)
            && (tailCommits.count == earlier.tailCommits.count
                ? heads == earlier.heads : heads.count == 1 && heads.first == tailCommits.last)
    }

    /// Whether this is `earlier` with one more commit in the tail, which is the only head now.
    func extends(_ earlier: RepositoryState, by head: BlobName) -> Bool {
        logs == nil && earlier.logs == nil && heads == [head] && tailCommits.count == earlier.tailCommits.count + 1
            && tailCommits.last == head
            && checkpoint == earlier.checkpoint && previousCheckpoint == earlier.previousCheckpoint
            && keyringGeneration == earlier.keyringGeneration && annotation == earlier.annotation
            && tailCommits.dropLast().elementsEqual(earlier.tailCommits)
    }
}
