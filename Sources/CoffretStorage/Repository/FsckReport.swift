// What a check of a vault found. The one thing to keep true: what was removed on purpose is told apart
// from what is missing.

/// The findings of `VaultRepository.fsck`.
package struct FsckReport: Sendable {
    /// History that a compaction removed, and the commit that says so.
    package struct Removal: Equatable, Sendable {
        package let commit: BlobName
        package let removedCommitCount: UInt64
    }

    package internal(set) var commitCount = 0
    package internal(set) var signatureCount = 0
    package internal(set) var rootCount = 0
    package internal(set) var treeCount = 0
    package internal(set) var factCount: UInt64 = 0
    package internal(set) var valueCount = 0
    package internal(set) var reachableBlobCount = 0
    package internal(set) var removals: [Removal] = []
    /// Commits older than the present that this device was given have not arrived yet, and were not checked.
    package internal(set) var isHistoryPending = false
    /// What the files themselves showed.
    package internal(set) var blobs = BlobCheckReport()
    /// What is wrong with commits, trees and values; each names the object.
    package internal(set) var problems: [StorageError] = []

    /// Blobs that nothing refers to; harmless, and gone after the next compaction.
    package var unreachableBlobCount: Int { max(0, blobs.blobCount - reachableBlobCount) }
    package var allProblems: [StorageError] { blobs.problems + problems }
    package var isClean: Bool { allProblems.isEmpty }
}
