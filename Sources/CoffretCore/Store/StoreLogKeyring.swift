// Keys of one vault's epochs, in the store's keyring. Invariant: a key is in the keyring, and with the other devices, before
// the link that commits to it leaves this one.

internal import CoffretBase
package import CoffretCrypto
internal import CoffretHistory
package import CoffretKeys
package import CoffretLogs
package import CoffretTrust

/// The keyring as a vault's member chain needs it.
///
/// Changes are not noted in the vaults: one of them is open for writing meanwhile. Who opens a vault for writing notes them.
package final class StoreLogKeyring: LogKeyring {
    private let keyring: UnlockedKeyring
    private let vaultID: VaultID
    package let splitKey: SplitKey
    /// Sends a key that was made to the account's other devices; nil where there are none.
    private let send: (() throws -> Void)?

    /// - Parameter send: called before the key's link is posted.
    package init(_ keyring: UnlockedKeyring, _ vaultID: VaultID, send: (() throws -> Void)? = nil) throws(KeyError) {
        self.keyring = keyring
        self.vaultID = vaultID
        self.send = send
        splitKey = try keyring.splitKey(of: vaultID)
    }

    package func vaultKey(ofEpoch epoch: UInt32) -> VaultKey? {
        (try? keyring.vaultKey(of: vaultID, epoch: epoch)) ?? nil
    }

    package func makeKey(ofEpoch epoch: UInt32) throws -> MadeKey {
        let key = try changing { try keyring.makeKey(ofEpoch: epoch, in: vaultID) }
        try send?()
        return MadeKey(epoch: epoch, key: key)
    }

    package func offer(_ keys: [UInt32: VaultKey]) throws {
        try changing { try keyring.offer(keys, in: vaultID) }
        try send?()
    }

    package func settle(_ chain: VerifiedMemberRights) throws {
        let newest = chain.keyCommitments.keys.max() ?? 1
        try changing {
            try keyring.settleKeys(of: vaultID, newest: newest) { chain.commits(to: $0, ofEpoch: $1) }
        }
    }

    /// Goes on with what another process has made of the keyring.
    @discardableResult
    private func changing<Result>(_ change: () throws -> Result) throws -> Result {
        do {
            return try change()
        } catch let error as KeyError where error.code == .keyringChanged {
            try keyring.readAgain()
            return try change()
        }
    }
}
