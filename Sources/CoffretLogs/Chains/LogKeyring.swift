// Keys of a vault's epochs, as a device takes them. The one thing to keep true: a key is used when the verified chain
// commits to it, and whoever sent it: a planted key opens nothing (Spec/history.md section 8, Keys).

internal import CoffretBase
package import CoffretCrypto
package import CoffretHistory
package import CoffretTrust

/// A key that this device made for an epoch which it is about to open.
package struct MadeKey: Sendable {
    package let epoch: UInt32
    package let key: VaultKey

    package init(epoch: UInt32, key: VaultKey) {
        self.epoch = epoch
        self.key = key
    }
}

/// Where a device keeps the keys of a vault.
package protocol LogKeyring: MemberKeys {
    var splitKey: SplitKey { get }

    /// Makes a key for an epoch, durably, beside others that no link has yet.
    func makeKey(ofEpoch epoch: UInt32) throws -> MadeKey

    /// Keeps keys that somebody sent aside, durably, until the chain commits to them.
    func offer(_ keys: [UInt32: VaultKey]) throws

    /// Takes those of its keys that the chain commits to, by `commits`, and lets go of others of these epochs. A vault that is not open with one of them is opened anew.
    func settle(_ chain: VerifiedMemberRights) throws
}

extension VerifiedMemberRights {
    /// Whether this is the key of that epoch. An epoch that the chain does not have has none.
    package func commits(to key: VaultKey, ofEpoch epoch: UInt32) -> Bool {
        guard let commitment = keyCommitments[epoch] else { return false }
        let scope = epoch == 1 ? foundation.random : vaultID.bytes
        return EpochKeys.deriveCommitment(to: key, scope: scope, epoch: epoch) == commitment.bytes
    }
}
