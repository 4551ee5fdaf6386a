// A device's word for a zone's head, and for the end of a zone. Invariant: who has a session's token alone can give
// neither.

internal import CoffretBase
package import CoffretCrypto

/// The messages that a device signs for a push, and for the deletion of a zone. Spec: Spec/server.md, "Zones".
package enum ZoneProof: Equatable, Sendable {
    /// A push, whose word covers the objects (Spec/history.md section 11).
    case push(expectedHead: [UInt8]?, newHead: [UInt8]?, epoch: UInt32, hash: [UInt8])
    case deletion(accountID: [UInt8])

    private var context: Context {
        switch self {
        case .push: .push
        case .deletion: .zoneDeletion
        }
    }

    var message: [UInt8] {
        switch self {
        case .push(let expected, let new, let epoch, let hash):
            (expected ?? Self.noHead) + (new ?? Self.noHead) + epoch.bigEndianBytes + hash
        case .deletion(let accountID): accountID
        }
    }

    /// In the place of a head that is not there: so a first push and a push that leaves the head have other messages.
    private static let noHead = [UInt8](repeating: 0, count: 32)

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

/// The objects of a push, hashed one after the other: BLAKE2b-256(for each: address (32) ‖ BLAKE2b-256(ciphertext)).
package struct PushedObjectsHasher: ~Copyable {
    private var hasher = BLAKE2bHasher(byteCount: 32)

    package init() {}

    package mutating func add(address: [UInt8], ciphertext: [UInt8]) {
        add(address: address, digest: BLAKE2b.hash(ciphertext))
    }

    /// - Parameter digest: BLAKE2b-256 of the ciphertext.
    package mutating func add(address: [UInt8], digest: [UInt8]) {
        precondition(address.count == 32 && digest.count == 32, "addresses and digests have 32 bytes")
        hasher.update(address)
        hasher.update(digest)
    }

    package consuming func finish() -> [UInt8] { hasher.finish() }
}
