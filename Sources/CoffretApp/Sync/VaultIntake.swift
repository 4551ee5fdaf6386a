// A vault into which somebody added this account, before it is in the store. The one thing to keep true: what is shown of it
// comes from its verified chain, and from a letter that all checks have passed.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretHistory
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTrust
internal import CoffretWire

/// A vault that waits for a word of this account.
struct VaultIntake {
    /// How often a link is signed anew because somebody else was faster.
    static let tryCountMax = 5

    let chains: FollowedChains
    let rights: VerifiedMemberRights
    let own: Member
    /// The signer of the link that added the account.
    let adder: ChainID
    /// The keys that came, and that the chain commits to.
    let keys: [UInt32: VaultKey]
    let splitKey: SplitKey?
    /// The sender's word of a state that the first sync must show; empty: none.
    let word: [UInt8]
    /// Why it cannot be accepted yet.
    let obstacle: (any Error)?

    var vaultID: VaultID { chains.vaultID }

    /// As its founder calls it; nil before its key came.
    var name: String? {
        guard let splitKey, let link = chains.links.first else { return nil }
        let key: LinkDetailsKey = KDF.derive(from: splitKey, .linkDetailsKey, rights.foundation.random)
        return
            (try? LinkDetails.open(
                link.sealedPart, kind: .member, subject: rights.foundation.random, key: key))?.name
    }
}

extension AccountSync {
    /// Follows the chains of a vault that is not in the store, and opens the letter to this account.
    ///
    /// - Returns: nil if the account is none of its members.
    /// - Throws: what the chains are refused for.
    func intake(of vault: VaultID) throws -> VaultIntake? {
        let transport = try makeTransport(vault, account.connection.client)
        let now = clock.now
        let watch = try store.keyring.server()?.watch ?? ChainWatch(confirmedAt: now)
        var follower = MemberFollower(
            vaultID: vault, own: FollowedAccount(try store.keyring.deviceChain(), replaced: [], watch: watch))
        follower.begin()
        do throws(FollowFailure) {
            while let request = follower.request {
                let reply: LogReply
                do { reply = try transport.send(.chains(request), page: { _ in }) } catch { throw .answerMalformed }
                guard case .chains(let updates) = reply else { throw .answerMalformed }
                try follower.take(updates, now: now)
            }
            // Its sealed parts are read later, with the keys.
            _ = try follower.finish(keys: NoKeys())
        } catch {
            throw SyncError(.chainsRefused, at: "\(error)", cause: error)
        }
        let account = try store.keyring.accountID()
        guard let rights = follower.chains.rights, let own = rights.rights.members[account] else { return nil }
        let adder = rights.links[own.addedAt].accountID
        var (keys, opened, obstacle): ([UInt32: VaultKey], LetterKeys?, (any Error)?) = ([:], nil, nil)
        let epoch = rights.rights.epoch
        if case .keys(let given) = try transport.send(.keys, page: { _ in }), given.epoch == epoch,
            let letter = try people.keys(
                in: given.letter, epoch: epoch, chain: rights, accounts: follower.accounts)
        {
            let older = LogSync.olderKeys(in: given.history, epoch: epoch, key: letter.key, rights)
            keys = older.keys.merging([epoch: letter.key]) { $1 }
            opened = letter
            if keys[1] == nil { obstacle = SyncError(.historyDiffers, at: vault.hex) }
        } else {
            obstacle = try askAnew(in: rights) ?? SyncError(.keyAwaited, at: vault.hex)
        }
        return VaultIntake(
            chains: follower.chains, rights: rights, own: own, adder: adder, keys: keys, splitKey: opened?.splitKey,
            word: opened?.word ?? [], obstacle: obstacle)
    }

    /// Says no to a vault that is not in the store.
    func decline(_ intake: VaultIntake) throws {
        let transport = try makeTransport(intake.vaultID, account.connection.client)
        var intake = intake
        for _ in 0..<VaultIntake.tryCountMax {
            guard let head = Bytes32(try store.keyring.deviceChain().head.linkHash),
                let newest = intake.rights.links.last
            else { throw SyncError(.chainsRefused) }
            let operation = MemberOperation(.leave, by: try store.keyring.accountID(), deviceHead: head)
            let link = try store.keyring.signMemberLink(
                operation, in: intake.vaultID, number: UInt64(intake.rights.count), after: newest.hash)
            switch try transport.send(.members(MemberPost(link: link.encoded)), page: { _ in }) {
            case .links: return
            case .conflict:
                guard let again = try self.intake(of: intake.vaultID) else { return }
                intake = again
            case .refused(let code): throw AccountError(.refused, at: code)
            default: throw transport.lastError ?? HTTPError(.failed)
            }
        }
        throw SyncError(.contended)
    }
}

/// A reader without keys: rights rest on nothing that is sealed.
private struct NoKeys: MemberKeys {
    func vaultKey(ofEpoch _: UInt32) -> VaultKey? { nil }
}
