// Sealing to somebody's public key. Invariant: the key is bound to both public keys and the context, so that no other
// recipient, key or use can open it.

package import CoffretBase

/// An envelope to an X25519 public key, from nobody in particular.
///
/// E = ephemeral public key, R = recipient's; K = KDF(X25519(e, R), "box/agreement", E, R, context);
/// Layout: E (32) ‖ ENV(K, context, ad, m). Anyone can make one: what is inside is trusted only as far
/// as something else authenticates it.
/// Spec: Spec/suite.md.
package enum PublicKeyEnvelope {
    package static let overheadByteCount = AgreementPublicKey.byteCount + Envelope.overheadByteCount

    /// - Throws: `.invalidKey` if the recipient's key is a point of small order.
    package static func seal(
        _ message: UnsafeRawBufferPointer, to recipient: AgreementPublicKey, context: Context,
        associatedData: [UInt8], fill: Envelope.Fill = .sizeClasses, random: any RandomSource
    ) throws(CryptoError) -> [UInt8] {
        let ephemeral = AgreementKey.generate(from: random)
        let key = deriveKey(
            try ephemeral.sharedSecret(with: recipient), ephemeral.publicKey, recipient, context)
        return unsafe ephemeral.publicKey.bytes
            + Envelope.seal(
                message, key: key, context: context, associatedData: associatedData, fill: fill, random: random)
    }

    /// Opens an envelope and lends the message, which is zeroed afterwards.
    ///
    /// - Throws: `.authenticationFailed`, for any mismatch.
    package static func open<Result: ~Copyable>(
        _ sealed: [UInt8], with recipient: AgreementKey, context: Context, associatedData: [UInt8],
        fill: Envelope.Fill = .sizeClasses, _ body: (UnsafeRawBufferPointer) throws(CryptoError) -> Result
    ) throws(CryptoError) -> Result {
        guard sealed.count > overheadByteCount,
            let ephemeral = try? AgreementPublicKey(Array(sealed[..<AgreementPublicKey.byteCount]))
        else { throw CryptoError(.authenticationFailed) }
        let shared: SecretBytes
        do throws(CryptoError) {
            shared = try recipient.sharedSecret(with: ephemeral)
        } catch {
            throw CryptoError(.authenticationFailed)
        }
        let key = deriveKey(shared, ephemeral, recipient.publicKey, context)
        return try unsafe Envelope.open(
            Array(sealed[AgreementPublicKey.byteCount...]), key: key, context: context,
            associatedData: associatedData, fill: fill, body)
    }

    private static func deriveKey(
        _ shared: borrowing SecretBytes, _ ephemeral: AgreementPublicKey, _ recipient: AgreementPublicKey,
        _ context: Context
    ) -> SymmetricKey<KeyPurposes.Agreement> {
        SymmetricKey(KDF.derive(from: shared, .publicKeyEnvelope, ephemeral.bytes, recipient.bytes, context.bytes))
    }
}
