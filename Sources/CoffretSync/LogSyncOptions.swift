// Wishes of a sync. The one thing to keep true: none of them makes a server believed.

package import CoffretCrypto
package import CoffretHistory
package import CoffretLogs
package import CoffretStorage
package import CoffretTrust

extension LogSync {
    package struct Options: Sendable {
        /// A person said that the server was put back: what it lost is pushed again.
        package var acceptsRestoredServer = false
        /// Entries of before the checkpoint with which this device began, until all are here.
        package var readsPast = true
        package var partByteCountMax = 4 << 20
        /// A person wants a checkpoint: before history is dropped, or because the vault comes to a server.
        package var writesCheckpoint = false
        /// Entities that a person deletes for good; what retracts them is written.
        package var purges: [EntityID] = []
        /// Opens what other devices of the account state of other vaults (E9).
        package var headsKey: HeadsKey?
        /// What a person wants of the vault's members. It is done when the report says by which link.
        package var change: MemberChange?
        /// Whom `change` adds, as this device has followed that account.
        package var introduced: FollowedAccount?
        /// The person was shown links that lack confirmation, and takes or undoes them with `change` (K8).
        package var shown: ShownLinks?
        /// A person waits: links that are due are written at once.
        package var hurries = false
        /// Looks for members to whom nobody sealed the newest key.
        package var looksForLetters = false

        package init() {}
    }
}

/// Members of a vault to whom its key is to be sealed.
package struct LetterWish: Sendable {
    package let vaultID: VaultID
    package let accounts: [ChainID]
    package let epoch: UInt32
    package let key: VaultKey
    package let splitKey: SplitKey
    /// The newest link, or of the one that the letters go with.
    package let memberHead: ChainPosition
    /// Those of the accounts that have not accepted yet.
    package let newcomers: Set<ChainID>
    /// A state that the newcomers' first sync must show (`PairingWord`); empty: nothing can be said.
    package let word: [UInt8]

    package func word(for account: ChainID) -> [UInt8] { newcomers.contains(account) ? word : [] }
}

/// The keys that came in a letter.
package struct LetterKeys: Sendable {
    package let key: VaultKey
    package let splitKey: SplitKey
    /// The sender's word of what the server has; empty: none.
    package let word: [UInt8]

    package init(key: VaultKey, splitKey: SplitKey, word: [UInt8]) {
        self.key = key
        self.splitKey = splitKey
        self.word = word
    }
}

/// The people around a sync of a vault: who seals its keys, and who opens what was sealed.
package protocol VaultPeople: AnyObject {
    /// Letters to those of the accounts to whom one can be sealed now.
    ///
    /// - Parameter accounts: device chains as the sync has followed them.
    func letters(_ wish: LetterWish, accounts: [ChainID: FollowedAccount]) throws -> [[UInt8]]

    /// The keys in a letter to this account, if all about it is right: its sender is a member by the chain, and a device that
    /// counts now.
    func keys(
        in letter: [UInt8], epoch: UInt32, chain: VerifiedMemberRights, accounts: [ChainID: FollowedAccount]
    ) throws -> LetterKeys?
}
