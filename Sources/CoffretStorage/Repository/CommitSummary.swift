// Commits as history shows them. The one thing to keep true: what a summary says was read by name from
// this repository; who takes commits from elsewhere verifies signatures first.

package import CoffretBase

/// One commit of the history.
package struct CommitSummary: Equatable, Sendable {
    package let name: BlobName
    package let commit: Commit
    package let context: CommitContext

    package var parents: [BlobName] { commit.parents }
    package var firstParent: BlobName? { commit.parents.first }
    package var instance: UniqueID { context.instanceID }
    package var sequence: UInt64 { commit.sequence }
    package var dot: Dot { Dot(instance: instance, sequence: sequence) }
    package var deviceID: [UInt8] { context.deviceID }
    package var accountID: [UInt8] { context.accountID }
    package var timeMilliseconds: Milliseconds { commit.timeMilliseconds }
    package var flags: CommitFlags { commit.flags }
}

/// What one commit changed against its first parent.
package struct CommitChanges {
    /// Ascending; a fact with the content `.retraction` says that its key was retracted.
    package let facts: [Fact]
    private let values: ValueReader

    init(facts: [Fact], values: ValueReader) {
        self.facts = facts
        self.values = values
    }

    /// The value of one of `facts`; empty for a retraction.
    ///
    /// - Throws: what reading blobs throws; `.factMalformedValue`.
    package func value(of fact: Fact) throws(StorageError) -> [UInt8] {
        try values.value(of: fact)
    }
}

extension ValueReader {
    func value(of fact: Fact) throws(StorageError) -> [UInt8] {
        switch fact.content {
        case .retraction: []
        case .inline(let bytes): bytes
        case .stored(let stored): try value(stored)
        }
    }
}
