// A vault written aside, which takes the place of the present one all at once or not at all.

internal import CoffretStorage

/// A vault whose commits nobody else sees until they are made visible together.
package final class StagedVault {
    /// Write and read here. It has no index.
    package let vault: Vault
    private let commits: StagedCommits

    init(_ below: Vault) throws {
        let commits = try inStorage(below.repository.beginStaging())
        self.commits = commits
        vault = Vault(
            name: below.name, repository: commits.repository, clock: below.clock, random: below.random,
            attachments: below.attachmentStore)
    }

    /// Makes everything visible and durable in one step.
    ///
    /// - Throws: `CoreError.storage`; then nothing has happened.
    package func commit() throws {
        try inStorage(commits.commit())
    }

    /// Forgets everything; also what happens if `commit` is never called.
    package func cancel() { commits.cancel() }
}

extension Vault {
    /// Begins to write a state aside; the vault takes no other change until it ends.
    package func beginStaging() throws -> StagedVault {
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        return try StagedVault(self)
    }
}
