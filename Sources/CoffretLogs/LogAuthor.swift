// Who reads and writes a history here, and by which chains. The one thing to keep true: both come from verified chains;
// this layer states them and does not judge them.

package import CoffretBase
package import CoffretCrypto
package import CoffretHistory
package import CoffretStorage
package import CoffretTrust

/// The account and the device whose copy of a vault this is.
package struct LogAuthor: Sendable {
    package let accountID: ChainID
    package let deviceID: UniqueID
    /// The newest links that this device relies on.
    package let deviceHead: ChainPosition
    package let identityHead: ChainPosition?
    /// Nil to read only.
    package let signingKey: SigningKey?

    package init(
        accountID: ChainID, deviceID: UniqueID, deviceHead: ChainPosition, identityHead: ChainPosition? = nil,
        signingKey: SigningKey?
    ) {
        self.accountID = accountID
        self.deviceID = deviceID
        self.deviceHead = deviceHead
        self.identityHead = identityHead
        self.signingKey = signingKey
    }

    /// Only both together say who writes here: another account may choose the same id for a device.
    package var device: MemberDevice { MemberDevice(account: accountID, device: deviceID) }

    func with(_ deviceHead: ChainPosition) -> LogAuthor {
        LogAuthor(
            accountID: accountID, deviceID: deviceID, deviceHead: deviceHead, identityHead: identityHead,
            signingKey: signingKey)
    }
}

/// The verified chains of one vault, as they are known here.
package struct VaultChains: Sendable {
    package let accounts: [ChainID: AccountDevices]
    package let members: MemberState

    package init(accounts: [ChainID: AccountDevices], members: MemberState) {
        self.accounts = accounts
        self.members = members
    }
}

/// When a repository stores its trees, by what was written since (Spec/history.md section 15, L3).
package struct LocalCheckpointPolicy: Equatable, Sendable {
    package var changeCountMax: Int
    package var byteCountMax: Int
    /// Entries of others. Their names stand in the repository's state until a checkpoint, and a state holds some 32,000.
    package var receivedCountMax: Int

    package init(changeCountMax: Int, byteCountMax: Int, receivedCountMax: Int = 4_096) {
        self.changeCountMax = changeCountMax
        self.byteCountMax = byteCountMax
        self.receivedCountMax = receivedCountMax
    }

    /// For a program that runs one command.
    package static let shortLived = Self(changeCountMax: 256, byteCountMax: 1 << 20)
    /// For a program that stays.
    package static let longLived = Self(changeCountMax: 1_024, byteCountMax: 4 << 20)
}

/// A change that a caller asks for.
package struct LogChange: Equatable, Sendable {
    package let key: FactKey
    /// The value, as the caller has it; nil retracts.
    package let value: [UInt8]?
    /// The facts that the author was shown (E3, S8, T5); nil: all that stand under the key.
    package let replaces: [Dot]?
    /// A text is stored without an older version that it could be a difference to.
    package let isWhole: Bool

    package init(key: FactKey, value: [UInt8]?, replaces: [Dot]? = nil, isWhole: Bool = false) {
        self.key = key
        self.value = value
        self.replaces = replaces
        self.isWhole = isWhole
    }
}

/// What this device knows of the log of its server, for own entries.
package protocol KeyLogNoteSource: AnyObject {
    /// The checkpoint that the next own entry states; nil: none is due.
    func next() -> [UInt8]?
    /// The entry is durable.
    func written()
}

/// Words of this device about its other vaults.
package protocol LogStatementSource: AnyObject {
    /// The sealed words of the next own entry; nil: there are none.
    func next(of instance: InstanceID) -> [UInt8]?
    /// The entry is durable.
    func written()
}
