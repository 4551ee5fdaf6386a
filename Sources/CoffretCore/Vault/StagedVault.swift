// Entries written aside, which take the place of the present state all at once or not at all.

internal import CoffretLogs
internal import CoffretStorage

/// A vault whose changes nobody else sees until they are made visible together. The vault below takes no other change
/// meanwhile.
package final class StagedVault {
    /// Write and read here. It has no index.
    package let vault: Vault
    private let below: Vault

    init(_ below: Vault) throws {
        self.below = below
        try inStorage(below.repository.beginStaging())
        vault = Vault(
            name: below.name, repository: below.repository, clock: below.clock, random: below.random,
            attachments: below.attachmentStore)
    }

    deinit { cancel() }

    /// Makes everything visible and durable in one step.
    ///
    /// - Throws: `CoreError.storage`; then nothing has happened.
    package func commit() throws { try inStorage(below.repository.commitStaging()) }

    /// Forgets everything; also what happens if `commit` is never called.
    package func cancel() { below.repository.cancelStaging() }
}

extension Vault {
    /// Begins to write a state aside; the vault takes no other change until it ends.
    package func beginStaging() throws -> StagedVault {
        guard isWritable else { throw CoreError(.vaultReadOnly) }
        return try StagedVault(self)
    }
}
