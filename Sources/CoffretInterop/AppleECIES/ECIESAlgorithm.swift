// Apple's names for ECIES, and what they mean. A message does not say which of them made it.

internal import CoffretCrypto

/// One of the 18 `SecKeyAlgorithm` names of ECIES on the NIST curves, spelled as in Swift.
///
/// A name fixes the hash of the key derivation and where the IV comes from. It does not depend on the
/// curve, and a message does not carry it: both sides must know it from elsewhere. Cofactor and Standard
/// give the same bytes, as the cofactor of these curves is 1.
///
/// For new data take `eciesEncryptionCofactorVariableIVX963SHA256AESGCM`; the forms without VariableIV are
/// what Apple calls legacy, and their IV is zero.
/// Spec: Spec/interop-apple-ecies.md §1.
public enum ECIESAlgorithm: String, Sendable, CaseIterable {
    // The cases are Apple's names, letter by letter, so that they can be searched for.
    case eciesEncryptionCofactorX963SHA1AESGCM
    case eciesEncryptionCofactorX963SHA224AESGCM
    case eciesEncryptionCofactorX963SHA256AESGCM
    case eciesEncryptionCofactorX963SHA384AESGCM
    case eciesEncryptionCofactorX963SHA512AESGCM
    case eciesEncryptionCofactorVariableIVX963SHA224AESGCM
    case eciesEncryptionCofactorVariableIVX963SHA256AESGCM
    case eciesEncryptionCofactorVariableIVX963SHA384AESGCM
    case eciesEncryptionCofactorVariableIVX963SHA512AESGCM
    case eciesEncryptionStandardX963SHA1AESGCM
    case eciesEncryptionStandardX963SHA224AESGCM
    case eciesEncryptionStandardX963SHA256AESGCM
    case eciesEncryptionStandardX963SHA384AESGCM
    case eciesEncryptionStandardX963SHA512AESGCM
    case eciesEncryptionStandardVariableIVX963SHA224AESGCM
    case eciesEncryptionStandardVariableIVX963SHA256AESGCM
    case eciesEncryptionStandardVariableIVX963SHA384AESGCM
    case eciesEncryptionStandardVariableIVX963SHA512AESGCM

    /// The one to take for new data.
    public static let recommended = ECIESAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM

    /// Whether the IV is derived with the key; in the legacy forms it is zero.
    public var isVariableIV: Bool { rawValue.contains("VariableIV") }

    var hash: HashAlgorithm {
        switch self {
        case .eciesEncryptionCofactorX963SHA1AESGCM, .eciesEncryptionStandardX963SHA1AESGCM: .sha1
        case .eciesEncryptionCofactorX963SHA224AESGCM, .eciesEncryptionCofactorVariableIVX963SHA224AESGCM,
            .eciesEncryptionStandardX963SHA224AESGCM, .eciesEncryptionStandardVariableIVX963SHA224AESGCM:
            .sha224
        case .eciesEncryptionCofactorX963SHA256AESGCM, .eciesEncryptionCofactorVariableIVX963SHA256AESGCM,
            .eciesEncryptionStandardX963SHA256AESGCM, .eciesEncryptionStandardVariableIVX963SHA256AESGCM:
            .sha256
        case .eciesEncryptionCofactorX963SHA384AESGCM, .eciesEncryptionCofactorVariableIVX963SHA384AESGCM,
            .eciesEncryptionStandardX963SHA384AESGCM, .eciesEncryptionStandardVariableIVX963SHA384AESGCM:
            .sha384
        case .eciesEncryptionCofactorX963SHA512AESGCM, .eciesEncryptionCofactorVariableIVX963SHA512AESGCM,
            .eciesEncryptionStandardX963SHA512AESGCM, .eciesEncryptionStandardVariableIVX963SHA512AESGCM:
            .sha512
        }
    }
}

/// Apple's names for ECDSA with signatures in X9.62 form (DER), spelled as in Swift.
///
/// The `Message` forms hash what they are given; the `Digest` forms take a digest of the named hash, and
/// `ecdsaSignatureDigestX962` one of any.
public enum ECDSAAlgorithm: String, Sendable, CaseIterable {
    // The cases are Apple's names, letter by letter.
    case ecdsaSignatureMessageX962SHA1
    case ecdsaSignatureMessageX962SHA224
    case ecdsaSignatureMessageX962SHA256
    case ecdsaSignatureMessageX962SHA384
    case ecdsaSignatureMessageX962SHA512
    case ecdsaSignatureDigestX962SHA1
    case ecdsaSignatureDigestX962SHA224
    case ecdsaSignatureDigestX962SHA256
    case ecdsaSignatureDigestX962SHA384
    case ecdsaSignatureDigestX962SHA512
    case ecdsaSignatureDigestX962

    /// Whether the algorithm is given the message itself, and hashes it.
    public var hashesMessage: Bool { rawValue.contains("Message") }

    var hash: HashAlgorithm? {
        switch self {
        case .ecdsaSignatureMessageX962SHA1, .ecdsaSignatureDigestX962SHA1: .sha1
        case .ecdsaSignatureMessageX962SHA224, .ecdsaSignatureDigestX962SHA224: .sha224
        case .ecdsaSignatureMessageX962SHA256, .ecdsaSignatureDigestX962SHA256: .sha256
        case .ecdsaSignatureMessageX962SHA384, .ecdsaSignatureDigestX962SHA384: .sha384
        case .ecdsaSignatureMessageX962SHA512, .ecdsaSignatureDigestX962SHA512: .sha512
        case .ecdsaSignatureDigestX962: nil
        }
    }

    /// The bytes to sign: the hash of a message, or the digest as given, if it has the right size.
    func digest(of data: RawSpan) throws(InteropError) -> [UInt8] {
        if hashesMessage, let hash { return hash.hash(data) }
        // Without a name any digest goes, up to the longest that exists.
        let byteCounts = hash.map { $0.digestByteCount...$0.digestByteCount } ?? 1...64
        guard byteCounts.contains(data.byteCount) else { throw InteropError(.invalidArgument, at: "digest size") }
        return unsafe data.withUnsafeBytes { unsafe [UInt8]($0) }
    }
}

/// Any algorithm of a key on a NIST curve, by Apple's name.
public enum CurveAlgorithm: Sendable, Hashable {
    /// Encryption.
    case ecies(ECIESAlgorithm)
    /// Signatures.
    case ecdsa(ECDSAAlgorithm)

    /// The algorithm of that name in Swift's spelling; nil for a name that is not among them.
    public init?(name: String) {
        if let algorithm = ECIESAlgorithm(rawValue: name) {
            self = .ecies(algorithm)
        } else if let algorithm = ECDSAAlgorithm(rawValue: name) {
            self = .ecdsa(algorithm)
        } else {
            return nil
        }
    }
}

/// The uses of a key.
public enum CurveOperation: Sendable, CaseIterable {
    /// With a public key.
    case encrypt
    /// With a private key.
    case decrypt
    /// With a private key.
    case sign
    /// With a public key.
    case verify
}
