// Links that a device states and that are not here. The one thing to keep true: a statement says something only with the
// signature of a device that is trusted now.

internal import CoffretBase
package import CoffretCrypto
internal import CoffretTrust

/// How the links that a context states stand to those that are here.
package enum LinkClaim: Sendable {
    /// They are here; the entry waits for something else.
    case known
    /// One is not here: the server keeps it back, or nobody made it.
    case withheld
    /// Another link has its number.
    case contradicted
}

extension MemberView {
    /// The key of a device that the newest chain here trusts.
    package func trustedKey(of device: MemberDevice) -> VerifyingKey? {
        guard let devices = accounts[device.account], devices.isTrusted(device.device),
            let bytes = devices.signingKey(of: device.device, at: devices.newest)
        else { return nil }
        return try? VerifyingKey(bytes)
    }

    /// Whether an entry is its author's, whatever it states.
    package func isSigned(_ entry: UnverifiedEntry, in vaultID: VaultID) -> Bool {
        guard entry.context.vaultID == vaultID, let key = trustedKey(of: entry.context.author) else { return false }
        return (try? key.verify(entry.signature, .entry, scope: vaultID.bytes, message: entry.message)) != nil
    }

    package func standing(of context: EntryContext) -> LinkClaim {
        guard let stated = Int(exactly: context.memberHead.number), stated < chain.count else { return .withheld }
        guard chain.links[stated].hash == context.memberHead.hash else { return .contradicted }
        return accounts[context.accountID]?.position(of: context.deviceHead) == nil ? .withheld : .known
    }
}
