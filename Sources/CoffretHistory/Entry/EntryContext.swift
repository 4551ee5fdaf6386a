// Whose log an entry is in. The one thing to keep true: an instance's id is computed from its context and read from
// nowhere, so nobody claims another's and no instance shows in two vaults (E4).

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

/// What many entries of one log state alike, written once: vault, account, device, and the links that the author knew.
///
/// Blob of type 9. Spec: Spec/history.md section 3.
package struct EntryContext: Hashable, Sendable {
    /// Format 2; those before it are commits, which no program reads any more.
    package static let formatVersion: UInt64 = 2

    package let vaultID: VaultID
    package let accountID: ChainID
    package let deviceID: UniqueID
    /// 16 random bytes of the instance.
    package let nonce: UniqueID
    /// The newest member link that was known when the instance began.
    package let firstLink: UInt32
    /// The newest link of the account's device chain that the author knew.
    package let deviceHead: ChainPosition
    /// The newest member link that the author had taken: p of section 6.
    package let memberHead: ChainPosition
    package let epoch: UInt32
    /// Programs of an older format must not write behind this entry.
    package let formatFloor: UInt64
    package let identityHead: ChainPosition?
    /// Derived from vault, account, device, first link and nonce.
    package let instance: InstanceID

    package init(
        vaultID: VaultID, accountID: ChainID, deviceID: UniqueID, nonce: UniqueID, firstLink: UInt32,
        deviceHead: ChainPosition, memberHead: ChainPosition, epoch: UInt32,
        formatFloor: UInt64 = EntryContext.formatVersion, identityHead: ChainPosition? = nil
    ) {
        self.vaultID = vaultID
        self.accountID = accountID
        self.deviceID = deviceID
        self.nonce = nonce
        self.firstLink = firstLink
        self.deviceHead = deviceHead
        self.memberHead = memberHead
        self.epoch = epoch
        self.formatFloor = formatFloor
        self.identityHead = identityHead
        let hash = BLAKE2b.hash(
            Array("coffret/instance/1".utf8), vaultID.bytes, accountID.bytes, deviceID.bytes,
            firstLink.bigEndianBytes, nonce.bytes, byteCount: InstanceID.byteCount)
        guard let instance = InstanceID(bytes: hash) else { preconditionFailure("the hash has 16 bytes") }
        self.instance = instance
    }
}
