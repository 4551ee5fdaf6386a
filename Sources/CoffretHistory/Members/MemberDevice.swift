// A device of somebody in a vault. The one thing to keep true: an account chooses the ids of its devices, so two accounts may
// have one id, and only account and id together say who it is.

package import CoffretBase
package import CoffretTrust

/// A device by its account and its id.
package struct MemberDevice: Hashable, Comparable, Sendable {
    package let account: ChainID
    package let device: UniqueID

    package init(account: ChainID, device: UniqueID) {
        self.account = account
        self.device = device
    }

    package static let byteCount = ChainID.byteCount + UniqueID.byteCount
    package var bytes: [UInt8] { account.bytes + device.bytes }

    /// - Returns: nil for another number of bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, let account = ChainID(Array(bytes[..<ChainID.byteCount])),
            let device = UniqueID(bytes: Array(bytes[ChainID.byteCount...]))
        else { return nil }
        self.init(account: account, device: device)
    }

    package static func < (left: MemberDevice, right: MemberDevice) -> Bool {
        left.account == right.account
            ? left.device < right.device : left.account.bytes.lexicographicallyPrecedes(right.account.bytes)
    }
}

extension EntryContext {
    package var author: MemberDevice { MemberDevice(account: accountID, device: deviceID) }
}

extension InstanceOwner {
    package var author: MemberDevice { MemberDevice(account: accountID, device: deviceID) }
}

extension VerifiedMemberLink {
    package var signer: MemberDevice { MemberDevice(account: accountID, device: deviceID) }
}
