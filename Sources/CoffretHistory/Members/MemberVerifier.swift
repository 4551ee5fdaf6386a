// A member chain as its readers follow it. The one thing to keep true: what a link does is `VerifiedMemberRights`' word, and
// only this file adds to it what the link's sealed part says.

package import CoffretBase
package import CoffretCrypto
package import CoffretTrust

/// A member chain as far as it was verified, from the founding link on, with its checkpoints.
package struct VerifiedMembers: Equatable, Sendable {
    package private(set) var rights: VerifiedMemberRights
    package private(set) var state = MemberState()

    package var vaultID: VaultID { rights.vaultID }
    package var foundation: VaultFoundation { rights.foundation }
    /// Commitments to the vault's keys by epoch, those of later epochs by their links.
    package var keyCommitments: [UInt32: Bytes32] { rights.keyCommitments }

    package static func == (left: VerifiedMembers, right: VerifiedMembers) -> Bool {
        left.vaultID == right.vaultID && left.state == right.state
    }

    /// Begins with link 0.
    ///
    /// - Throws: `TrustError`, as `VerifiedMemberChain.verify` does.
    package init(
        founding link: UnverifiedLink, founder: AccountDevices, chain: VerifiedDeviceChain, vaultID: VaultID? = nil,
        isKnown: Bool = false
    ) throws(TrustError) {
        rights = try VerifiedMemberRights(
            founding: link, founder: founder, chain: chain, vaultID: vaultID, isKnown: isKnown)
        state.append(VerifiedMemberLink(rights.links[0]))
    }

    /// Checks the next link and takes it in.
    ///
    /// - Parameters:
    ///   - keys: open the sealed part; nil for who reads none.
    ///   - isKnown: the link was verified before it was put where nobody else writes.
    /// - Throws: `MemberError`, `.keyMissing` where the checkpoint cannot be opened for lack of a key; the chain is unchanged
    ///   then.
    package mutating func append(
        _ link: UnverifiedLink, accounts: [ChainID: AccountDevices], keys: (any MemberKeys)?, isKnown: Bool = false
    ) throws(MemberError) {
        let step = try rights.check(link, accounts: accounts, isKnown: isKnown)
        let number = link.sequenceNumber
        let reading = keys.map {
            MemberSealing.open(
                link.sealedPart, number: number, in: vaultID, epoch: step.opening?.epoch ?? rights.rights.epoch,
                opening: step.opening, keys: $0)
        }
        if case .needsKey = reading { throw MemberError(.keyMissing, at: number) }
        var (details, checkpoint) = (nil as MemberDetails?, nil as Checkpoint?)
        if case .read(let read, let found) = reading { (details, checkpoint) = (read, found) }
        // A checkpoint by no writer, or over a base that is none, is no checkpoint.
        if let found = checkpoint,
            !state.isBase(found.base) || rights.rights.members[step.effect.accountID]?.writes != true
        {
            checkpoint = nil
        }
        rights.take(step)
        state.append(VerifiedMemberLink(step.effect, checkpoint: checkpoint, details: details))
    }

    /// Goes on with what a server gives, from any link of this chain to the newest.
    ///
    /// - Parameter knownCount: links below this number were verified before they were put where nobody else writes.
    /// - Returns: the failure at which the chain ends for now; nil: all links were taken in. `.forked` names a link that
    ///   differs from the one here: nothing is changed, and each device stays with the links that it has (K9).
    package mutating func follow(
        _ served: [UnverifiedLink], accounts: [ChainID: AccountDevices], keys: (any MemberKeys)?, knownCount: Int = 0
    ) -> MemberError? {
        for link in served {
            let number = link.sequenceNumber
            if number < UInt64(state.count) {
                let hash = Bytes32(link.hash(inChain: number == 0 ? nil : ChainID(vaultID.bytes)))
                guard hash == state.links[Int(number)].hash else { return MemberError(.forked, at: number) }
                continue
            }
            do throws(MemberError) {
                try append(link, accounts: accounts, keys: keys, isKnown: number < UInt64(knownCount))
            } catch {
                return error
            }
        }
        return nil
    }

    /// The next link as its author plans it: the same checks as for a link of somebody else, before anything is signed.
    ///
    /// - Returns: the link without a checkpoint and without its hash; for `HistoryMachine.plan`, and nothing else.
    /// - Throws: `MemberError`.
    package func preview(
        _ operation: MemberOperation, signedBy device: UniqueID, accounts: [ChainID: AccountDevices]
    ) throws(MemberError) -> VerifiedMemberLink {
        VerifiedMemberLink(try rights.preview(operation, signedBy: device, accounts: accounts))
    }
}
