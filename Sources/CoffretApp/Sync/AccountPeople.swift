// Letters of an account for its vaults. The one thing to keep true: a key is sealed to an identity that a chain leads to from an
// account id, and to no other, and a letter that fails any check brings nothing.

package import CoffretAccount
package import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHistory
package import CoffretKeys
package import CoffretLogs
internal import CoffretSharing
package import CoffretSync
package import CoffretTrust

/// Seals and opens the letters of one account.
package final class AccountPeople: VaultPeople {
    let account: Account
    let random: any RandomSource
    private let clock: any WallClock
    /// As they were verified: what was shown to the person is what is sealed to, or what came behind it (R80).
    private var identities: [ChainID: VerifiedIdentityChain] = [:]
    /// To whom nothing could be sealed, and the code of why.
    package private(set) var unsealed: [ChainID: String] = [:]
    /// Why letters with vaults' keys were refused, since this was asked last.
    private var refusals: [VaultID: SharingError] = [:]

    package init(_ account: Account, random: any RandomSource, clock: any WallClock) {
        self.account = account
        self.random = random
        self.clock = clock
    }

    package func letters(_ wish: LetterWish, accounts: [ChainID: FollowedAccount]) throws -> [[UInt8]] {
        let sender = try sender()
        let head = StatedLink(number: wish.memberHead.number, hash: wish.memberHead.hash)
        let people = wish.accounts.compactMap { accounts[$0] }
        identities.merge(try account.identities(of: people, known: identities)) { $1 }
        var letters: [[UInt8]] = []
        for person in people {
            guard let recipient = recipient(person) else { continue }
            let content = VaultKeyContent(
                vaultKey: wish.key, splitKey: wish.splitKey, word: wish.word(for: person.chain.accountID))
            let letter = try LetterSealing.seal(
                .vaultKey(content), scope: wish.vaultID.bytes, subject: .key(epoch: wish.epoch, memberHead: head),
                from: sender, to: recipient, random: random)
            letters.append(letter.encoded)
        }
        return letters
    }

    /// An account's devices, and its identity: nil while it has none.
    ///
    /// - Throws: `.personUnknown`; `.failed` with a `TrustError`, also where it is shown otherwise than a moment ago.
    func follow(_ id: ChainID) throws -> (account: FollowedAccount, identity: VerifiedIdentityChain?) {
        let person = try account.follow(id, known: identities[id])
        identities[id] = person.identity
        return person
    }

    /// This device, as it writes letters.
    func sender() throws -> LetterSender {
        let keyring = account.store.keyring
        return LetterSender(
            accountID: try keyring.accountID(), deviceID: try keyring.deviceID(),
            head: StatedLink(try keyring.deviceChain().head), signingKey: try keyring.letterSigner())
    }

    /// nil where nothing may be sealed to the account now: it has no identity yet, or none that is current, or its transient
    /// key is too old.
    private func recipient(_ person: FollowedAccount) -> LetterRecipient? {
        let id = person.chain.accountID
        unsealed[id] = nil
        do {
            guard let chain = identities[id] else { throw TrustError(.identityStale) }
            return try LetterRecipient(chain.receivingKeys(for: person.devices), now: clock.now)
        } catch {
            unsealed[id] = (error as? TrustError)?.code.rawValue ?? (error as? SharingError)?.code.rawValue
        }
        return nil
    }

    package func keys(
        in letter: [UInt8], epoch: UInt32, chain: VerifiedMemberRights, accounts: [ChainID: FollowedAccount]
    ) throws -> LetterKeys? {
        // While other devices alone have the identity's keys, nothing is said of the letter.
        guard !letter.isEmpty, let own = try ownIdentity() else { return nil }
        do throws(SharingError) {
            guard let read = try? UnverifiedLetter(decoding: letter),
                case .key(epoch: epoch, memberHead: _)? = LetterSubject(
                    decoding: read.header.subject, of: read.header.purpose),
                let sender = accounts[read.header.sender],
                case .vaultKey(let content) = try LetterOpener(chain: own.chain, keys: own.keys)
                    .open(read, from: sender.devices, in: .vault(chain))
            else { throw SharingError(.letterInvalid) }
            return LetterKeys(key: content.vaultKey, splitKey: content.splitKey, word: content.word)
        } catch {
            refusals[chain.vaultID] = error
            return nil
        }
    }

    /// Why a letter with a vault's key was refused, if one was since this was asked last.
    func takeRefusal(of vault: VaultID) -> SharingError? { refusals.removeValue(forKey: vault) }

    /// The account's identity, founded if there is none.
    ///
    /// - Returns: nil where other devices alone have its private halves, and were asked.
    @discardableResult
    package func ownIdentity() throws -> (chain: VerifiedIdentityChain, keys: IdentityKeys)? {
        do {
            return try account.ownIdentity()
        } catch let error as AccountError where error.code == .keysAwaited {
            return nil
        }
    }
}
