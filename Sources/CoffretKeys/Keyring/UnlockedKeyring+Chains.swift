// Keys and chains of vaults, for who follows their member chains.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

extension UnlockedKeyring {
    /// The key of a vault's epoch; nil: it is not here.
    package func vaultKey(of id: VaultID, epoch: UInt32) throws(KeyError) -> VaultKey? {
        try vault(id).vaultKeys[epoch]
    }

    /// The key that cuts values and trees of a vault.
    package func splitKey(of id: VaultID) throws(KeyError) -> SplitKey { try vault(id).splitKey }

    /// Seals the chains that lie beside a vault.
    package func chainsKey(of id: VaultID) throws(KeyError) -> HeadsKey { try vault(id).chainsKey }

    /// A link of a vault's member chain, signed by this device, without a sealed part: for who leaves what he cannot read.
    package func signMemberLink(
        _ operation: MemberOperation, in vault: VaultID, number: UInt64, after previous: Bytes32
    ) throws(KeyError) -> UnverifiedLink {
        UnverifiedLink.sign(
            kind: .member, chainID: ChainID(vault.bytes), sequenceNumber: number, publicPart: operation.encoded,
            sealedPart: [], previousLinkHash: previous.bytes, with: try letterSigner())
    }

    /// Chains of devices that count no more, the oldest first: those that recoveries of this account replaced, and those of
    /// accounts of before.
    package func formerChains() throws(KeyError) -> [VerifiedDeviceChain] { try body().formerChains }
}
