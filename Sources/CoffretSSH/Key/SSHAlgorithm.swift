// Names of keys and signatures in SSH (RFC 4253, 5656, 8332, 8709).

internal import CoffretBase
package import CoffretCrypto

/// A kind of key.
package enum SSHKeyKind: Equatable, Sendable {
    case ed25519
    case ecdsa(EllipticCurve)
    case rsa

    package static let all: [SSHKeyKind] = [.ed25519, .ecdsa(.p256), .ecdsa(.p384), .ecdsa(.p521), .rsa]

    /// The name in public keys.
    package var name: String {
        switch self {
        case .ed25519: "ssh-ed25519"
        case .ecdsa(let curve): "ecdsa-sha2-" + Self.curveName(curve)
        case .rsa: "ssh-rsa"
        }
    }

    package init?(name: String) {
        guard let kind = Self.all.first(where: { $0.name == name }) else { return nil }
        self = kind
    }

    static func curveName(_ curve: EllipticCurve) -> String {
        switch curve {
        case .p256: "nistp256"
        case .p384: "nistp384"
        case .p521: "nistp521"
        }
    }
}

/// A way to sign.
package enum SSHSignatureAlgorithm: String, Sendable, CaseIterable {
    case ed25519 = "ssh-ed25519"
    case ecdsaP256 = "ecdsa-sha2-nistp256"
    case ecdsaP384 = "ecdsa-sha2-nistp384"
    case ecdsaP521 = "ecdsa-sha2-nistp521"
    case rsaSHA256 = "rsa-sha2-256"
    case rsaSHA512 = "rsa-sha2-512"

    package var name: String { rawValue }

    var hash: HashAlgorithm {
        switch self {
        case .ecdsaP256, .rsaSHA256: .sha256
        case .ecdsaP384: .sha384
        case .ed25519, .ecdsaP521, .rsaSHA512: .sha512
        }
    }

    /// Whether keys of a kind sign so.
    func fits(_ kind: SSHKeyKind) -> Bool {
        switch self {
        case .ed25519: kind == .ed25519
        case .ecdsaP256: kind == .ecdsa(.p256)
        case .ecdsaP384: kind == .ecdsa(.p384)
        case .ecdsaP521: kind == .ecdsa(.p521)
        case .rsaSHA256, .rsaSHA512: kind == .rsa
        }
    }
}
