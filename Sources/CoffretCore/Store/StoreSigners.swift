// Whose commits a store accepts: the devices of its account, and of the accounts that it was restored from. The one
// thing to keep true: a device counts where the chain trusts it at the link that the commit states.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretKeys
package import CoffretStorage
internal import CoffretTrust

/// Looks up devices in the chains of a keyring.
private final class KeyringSigners: CommitSignerDirectory {
    private let chain: VerifiedDeviceChain
    /// Of former accounts, whose chains end here.
    private let former: [KnownSigner]
    private let positions: [[UInt8]: UInt64]
    private var states: [UInt64: VerifiedDeviceChain] = [:]

    init(chain: VerifiedDeviceChain, known: [KnownSigner]) {
        self.chain = chain
        former = known.filter { $0.accountID != chain.accountID }
        var positions: [[UInt8]: UInt64] = [:]
        for link in chain.links { positions[link.hash] = link.link.sequenceNumber }
        self.positions = positions
    }

    func verifyingKey(for context: CommitContext) -> VerifyingKey? {
        guard context.accountID == chain.accountID.bytes else {
            return former.first { $0.deviceID.bytes == context.deviceID && $0.accountID.bytes == context.accountID }?
                .verifyingKey
        }
        guard let position = chainPosition(of: context), let id = UniqueID(bytes: context.deviceID),
            let device = state(at: position)?.device(id), device.isTrusted
        else { return nil }
        return device.keys.signing
    }

    func revocation(ofAuthorOf context: CommitContext) -> UInt64? {
        guard context.accountID == chain.accountID.bytes, let id = UniqueID(bytes: context.deviceID) else { return nil }
        return chain.device(id)?.revokedAt
    }

    func chainPosition(of context: CommitContext) -> UInt64? {
        context.accountID == chain.accountID.bytes ? positions[context.deviceChainHead] : nil
    }

    private func state(at position: UInt64) -> VerifiedDeviceChain? {
        if position == chain.head.sequenceNumber { return chain }
        if let known = states[position] { return known }
        let state = chain.asOf(position)
        states[position] = state
        return state
    }
}

extension Store {
    /// The devices whose signatures count in the vaults of this store.
    package func signers() throws -> any CommitSignerDirectory {
        try inKeys(KeyringSigners(chain: try keyring.deviceChain(), known: try keyring.knownSigners()))
    }

    /// Whether a commit of a vault says of each revocation that is known here where it takes effect; paper writes no commits.
    package func knowsCuts(in repository: VaultRepository) throws -> Bool {
        let chain = try keyring.deviceChain()
        let revocations = chain.devices.filter { $0.kind == .ordinary }.compactMap(\.revokedAt)
        guard let newest = revocations.max() else { return true }
        return try repository.hasCut(at: newest, account: chain.accountID.bytes, signers: signers())
    }
}
