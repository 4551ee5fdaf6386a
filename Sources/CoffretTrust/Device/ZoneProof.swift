// A device's word for a zone's head, and for the end of a zone. Invariant: who has a session's token alone can give
// neither.

internal import CoffretBase
package import CoffretCrypto

/// The messages that a device signs for a push, and for the deletion of a zone. Spec: Spec/server.md, "Zones".
package enum ZoneProof: Equatable, Sendable {
    case push(expectedHead: [UInt8]?, newHead: [UInt8]?, epoch: UInt32)
    case deletion(accountID: [UInt8])

    private var context: Context {
        switch self {
        case .push: .push
        case .deletion: .zoneDeletion
        }
    }

    /// Heads have 32 bytes or none, and none goes away: the length says which are there.
    private var message: [UInt8] {
        switch self {
        case .push(let expected, let new, let epoch): (expected ?? []) + (new ?? []) + epoch.bigEndianBytes
        case .deletion(let accountID): accountID
        }
    }

    package func sign(zone: [UInt8], with key: SigningKey) -> [UInt8] {
        key.sign(context, scope: zone, message: message)
    }

    /// - Throws: `.signatureInvalid`.
    package func verify(_ signature: [UInt8], zone: [UInt8], by key: VerifyingKey) throws(TrustError) {
        do throws(CryptoError) {
            try key.verify(signature, context, scope: zone, message: message)
        } catch {
            throw TrustError(.signatureInvalid)
        }
    }
}
