// Who writes commits here. The one thing to keep true: the ids and chain heads come from verified
// chains; storage states them and does not judge them.

package import CoffretBase
package import CoffretCrypto

/// What a device needs to write commits into one vault.
package struct CommitAuthor: Sendable {
    package let signingKey: SigningKey
    /// 16 to 32 bytes, as the device chain names the device.
    package let deviceID: [UInt8]
    /// Of this copy of the store on this device; sequences count per instance (protocol 10).
    package let instanceID: UniqueID
    /// 32 bytes: the hash of the first link of the device chain.
    package let accountID: [UInt8]
    /// 32 bytes each: the newest links the author relies on.
    package let deviceChainHead: [UInt8]
    package let identityChainHead: [UInt8]?
    package let memberChainHead: [UInt8]

    package init(
        signingKey: SigningKey, deviceID: [UInt8], instanceID: UniqueID, accountID: [UInt8],
        deviceChainHead: [UInt8], identityChainHead: [UInt8]? = nil, memberChainHead: [UInt8]
    ) {
        precondition(CommitContext.deviceIDByteCounts ~= deviceID.count, "a device id has 16 to 32 bytes")
        let hashes = [accountID, deviceChainHead, memberChainHead] + (identityChainHead.map { [$0] } ?? [])
        precondition(hashes.allSatisfy { $0.count == 32 }, "an account and the heads of chains are hashes")
        self.signingKey = signingKey
        self.deviceID = deviceID
        self.instanceID = instanceID
        self.accountID = accountID
        self.deviceChainHead = deviceChainHead
        self.identityChainHead = identityChainHead
        self.memberChainHead = memberChainHead
    }
}
