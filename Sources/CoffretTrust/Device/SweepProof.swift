// A device's word that a zone's server may let go of some objects. The one thing to keep true: it says which zone, on
// which head and exactly which addresses, so that it is good for nothing else.

package import CoffretCrypto

/// What a device signs when it asks for a sweep. Spec: Spec/server.md, "Sweeps".
package struct SweepProof: Equatable, Sendable {
    package let zoneID: [UInt8]
    package let expectedHead: [UInt8]
    package let objects: [[UInt8]]
    package let chunks: [[UInt8]]

    package init(zoneID: [UInt8], expectedHead: [UInt8], objects: [[UInt8]], chunks: [[UInt8]]) {
        self.zoneID = zoneID
        self.expectedHead = expectedHead
        self.objects = objects
        self.chunks = chunks
    }

    private var message: [UInt8] {
        expectedHead + BLAKE2b.hash(objects.flatMap(\.self)) + BLAKE2b.hash(chunks.flatMap(\.self))
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
