// Private keys of SSH. Invariant: the secret numbers stay in the memory of the cryptographic libraries, and leave it
// only to be written into a key file.

package import CoffretBase
internal import CoffretCrypto

/// A key that signs.
package final class SSHPrivateKey: Sendable {
    enum Material: Sendable {
        case ed25519(ForeignEd25519Key)
        case ecdsa(EllipticCurveKey)
        case rsa(RSAKey)
    }

    package let publicKey: SSHPublicKey
    let material: Material

    init(_ material: Material) {
        self.material = material
        publicKey =
            switch material {
            case .ed25519(let key): SSHPublicKey(ed25519: key.publicKey)
            case .ecdsa(let key): SSHPublicKey(key.publicKey)
            case .rsa(let key): SSHPublicKey(key.publicKey)
            }
    }

    /// A fresh Ed25519 key.
    package static func generate(from random: any RandomSource) -> SSHPrivateKey {
        SSHPrivateKey(.ed25519(.generate(from: random)))
    }

    /// The algorithm for the flags of an agent's request: 2 asks for SHA-256, 4 for SHA-512 with RSA.
    ///
    /// - Throws: `SSHError.algorithmRefused` for RSA without flags, which would be a signature with SHA-1.
    package func algorithm(flags: UInt32) throws(SSHError) -> SSHSignatureAlgorithm {
        switch publicKey.kind {
        case .ed25519: return .ed25519
        case .ecdsa(.p256): return .ecdsaP256
        case .ecdsa(.p384): return .ecdsaP384
        case .ecdsa(.p521): return .ecdsaP521
        case .rsa:
            if flags & 4 != 0 { return .rsaSHA512 }
            if flags & 2 != 0 { return .rsaSHA256 }
            throw SSHError(.algorithmRefused, at: "ssh-rsa with SHA-1")
        }
    }

    /// A signature blob: the algorithm's name and the signature (RFC 4253 section 6.6).
    package func signature(of message: [UInt8], _ algorithm: SSHSignatureAlgorithm) throws(SSHError) -> [UInt8] {
        guard algorithm.fits(publicKey.kind) else { throw SSHError(.algorithmRefused, at: algorithm.name) }
        var writer = SSHWriter()
        writer.text(algorithm.name)
        switch material {
        case .ed25519(let key): writer.string(key.signature(of: message))
        case .ecdsa(let key):
            let raw = try inCrypto { () throws(CryptoError) in
                let der = try unsafe key.signature(digest: algorithm.hash.hash(message.span.bytes).span.bytes)
                return try ECDSASignature.raw(fromDER: der, curve: key.curve)
            }
            var numbers = SSHWriter()
            numbers.number(raw[..<(raw.count / 2)])
            numbers.number(raw[(raw.count / 2)...])
            writer.string(numbers.bytes)
        case .rsa(let key):
            writer.string(try inCrypto(key.signature(of: message, algorithm.hash)))
        }
        return writer.bytes
    }
}
