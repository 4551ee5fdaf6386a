// A device's word that a zone's server may let go of some objects. Invariant: it says which zone, below which link and
// exactly which addresses, so that it is good for nothing else.

package import CoffretCrypto

/// The message that a device signs for garbage collection at the server. Spec: Spec/server.md, "Garbage collection".
package struct SweepProof: Equatable, Sendable {
    package let zoneID: [UInt8]
    package let linkHash: [UInt8]
    package let objects: [[UInt8]]
    package let chunks: [[UInt8]]

    package init(zoneID: [UInt8], linkHash: [UInt8], objects: [[UInt8]], chunks: [[UInt8]]) {
        self.zoneID = zoneID
        self.linkHash = linkHash
        self.objects = objects
        self.chunks = chunks
    }

    private var message: [UInt8] {
        linkHash + BLAKE2b.hash(objects.flatMap(\.self)) + BLAKE2b.hash(chunks.flatMap(\.self))
    }

    package func sign(with key: SigningKey) -> [UInt8] { key.sign(.sweep, scope: zoneID, message: message) }

    /// - Throws: `.signatureInvalid`.
    package func verify(_ signature: [UInt8], by key: VerifyingKey) throws(TrustError) {
        do throws(CryptoError) {
            try key.verify(signature, .sweep, scope: zoneID, message: message)
        } catch {
            throw TrustError(.signatureInvalid)
        }
    }
}
