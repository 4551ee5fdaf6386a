// Whose commits a store accepts: the devices of its account, and of the accounts that it was restored from.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys
package import CoffretStorage
internal import CoffretTrust

/// Looks up devices in the chains of a keyring.
private struct KeyringSigners: CommitSignerDirectory {
    let signers: [KnownSigner]

    func verifyingKey(for context: CommitContext) -> VerifyingKey? {
        signers.first { $0.deviceID.bytes == context.deviceID && $0.accountID.bytes == context.accountID }?.verifyingKey
    }
}

extension Store {
    /// The devices whose signatures count when a vault of this store is checked.
    ///
    /// One machine only: a revoked device's commits from before its revocation count too; telling them from later ones
    /// needs the cut that sync brings (protocol 3).
    package func signers() throws(CoreError) -> any CommitSignerDirectory {
        KeyringSigners(signers: try inKeys { () throws(KeyError) in try keyring.knownSigners() })
    }
}
