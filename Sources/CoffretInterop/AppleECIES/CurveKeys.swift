// Keys on the NIST curves as strangers use them: a public key that encrypts and verifies, and a protocol
// for private ones, so that software and hardware keys serve alike. A public key is always on its curve.

internal import CoffretBase
internal import CoffretCrypto

/// A curve that Apple's ECIES runs on.
public enum Curve: String, Sendable, CaseIterable {
    /// secp256r1, the only curve of a Secure Enclave.
    case p256 = "P-256"
    /// secp384r1.
    case p384 = "P-384"
    /// secp521r1.
    case p521 = "P-521"

    /// The size of a coordinate, of a scalar and of a shared secret: 32, 48 or 66 bytes.
    public var coordinateByteCount: Int { curve.coordinateByteCount }

    var curve: EllipticCurve {
        switch self {
        case .p256: .p256
        case .p384: .p384
        case .p521: .p521
        }
    }

    init(_ curve: EllipticCurve) {
        switch curve {
        case .p256: self = .p256
        case .p384: self = .p384
        case .p521: self = .p521
        }
    }
}

/// A public key on a NIST curve: encrypts messages and verifies signatures.
///
/// All that is needed to send to a key inside a Secure Enclave. A value is always a point on its curve.
public struct CurvePublicKey: Sendable, Equatable {
    let key: EllipticCurvePublicKey

    init(_ key: EllipticCurvePublicKey) { self.key = key }

    /// The curve.
    public var curve: Curve { Curve(key.curve) }

    /// Imports `04 ‖ X ‖ Y` (65, 97 or 133 bytes): what Apple's `SecKeyCopyExternalRepresentation` gives for
    /// a public key, a Secure Enclave's included.
    ///
    /// - Throws: `InteropError` `.invalidKey`: another form, coordinates out of range, a point off the curve.
    public init(x963Representation bytes: some Collection<UInt8>) throws(InteropError) {
        let bytes = [UInt8](bytes)
        guard let curve = EllipticCurve.allCases.first(where: { $0.uncompressedPointByteCount == bytes.count }) else {
            throw InteropError(.invalidKey, at: "point size")
        }
        key = try translatingErrors(unsafe try EllipticCurvePublicKey(curve, point: bytes.span.bytes))
    }

    /// `04 ‖ X ‖ Y`.
    public var x963Representation: [UInt8] { key.uncompressedPoint }

    /// Whether this key can do something, in the manner of `SecKeyIsAlgorithmSupported`: a public key
    /// encrypts and verifies.
    public func supports(_ operation: CurveOperation, _ algorithm: CurveAlgorithm) -> Bool {
        switch (operation, algorithm) {
        case (.encrypt, .ecies), (.verify, .ecdsa): true
        default: false
        }
    }

    /// Encrypts a message that only the holder of the private key can open.
    ///
    /// Writes what `SecKeyCreateEncryptedData` writes. Does not say who sent it, and binds no context: put
    /// into the plaintext whatever must be bound, and check it after opening.
    /// Layout: ephemeral key (65, 97 or 133 bytes) ‖ ciphertext (n) ‖ tag (16).
    /// - Parameter plaintext: may be empty.
    /// - Throws: `InteropError`: `.limitExceeded` above 2³⁶ - 32 bytes, `.unavailable` when OpenSSL fails.
    /// Spec: Spec/interop-apple-ecies.md §3. Vectors: apple-ecies/valid.json.
    public func encrypt(
        _ plaintext: some Collection<UInt8>, algorithm: ECIESAlgorithm = .recommended
    ) throws(InteropError) -> [UInt8] {
        let plaintext = [UInt8](plaintext)
        let ephemeral = try translatingErrors(EllipticCurveKey.generate(key.curve))
        return try ECIES.seal(plaintext, to: key, algorithm: algorithm, ephemeral: ephemeral)
    }

    /// Verifies an ECDSA signature over a message, or over a digest, as the algorithm says.
    ///
    /// - Parameter signature: in DER, as X9.62 has it.
    /// - Throws: `InteropError`: `.authenticationFailed` for a signature that is not valid;
    ///   `.invalidArgument` for a digest of the wrong size.
    public func verify(
        _ signature: some Collection<UInt8>, of data: some Collection<UInt8>,
        algorithm: ECDSAAlgorithm = .ecdsaSignatureMessageX962SHA256
    ) throws(InteropError) {
        let signature = [UInt8](signature)
        let data = [UInt8](data)
        let digest = try unsafe algorithm.digest(of: data.span.bytes)
        guard unsafe key.isValidSignature(signature.span.bytes, digest: digest.span.bytes) else {
            throw .authenticationFailed
        }
    }
}

/// A private key on a NIST curve, wherever it lives: in memory (`SoftwareCurveKey`), in a TPM, in a Secure Enclave.
///
/// A home of keys implements the two operations and says what it supports; opening messages and signing
/// them follow from that, in this protocol's extension.
public protocol CurvePrivateKey: Sendable {
    /// The public half.
    var publicKey: CurvePublicKey { get }

    /// Lends the x coordinate of private scalar times point for the duration of `body`, then overwrites it.
    ///
    /// The point is on the curve of the key. The coordinate may come without its leading zeros, as some
    /// hardware gives it; the caller pads it.
    /// - Throws: `InteropError` `.keyUnavailable` when the operation was not carried out; what `body` throws.
    func withSharedSecret(
        with point: CurvePublicKey, _ body: (RawSpan) throws(InteropError) -> Void
    ) throws(InteropError)

    /// An ECDSA signature of a digest, in DER.
    ///
    /// - Throws: `InteropError` `.keyUnavailable` when the operation was not carried out.
    func signature(ofDigest digest: [UInt8]) throws(InteropError) -> [UInt8]

    /// Whether this key can do something; a key that only signs, or only agrees, says so here.
    func supports(_ operation: CurveOperation, _ algorithm: CurveAlgorithm) -> Bool
}

extension CurvePrivateKey {
    /// A private key decrypts and signs, unless its home says otherwise.
    public func supports(_ operation: CurveOperation, _ algorithm: CurveAlgorithm) -> Bool {
        switch (operation, algorithm) {
        case (.decrypt, .ecies), (.sign, .ecdsa): true
        default: false
        }
    }

    /// Opens a message that was made for this key, by `SecKeyCreateEncryptedData` or by `encrypt`.
    ///
    /// - Parameter algorithm: the one it was made with: nothing in the message says.
    /// - Returns: the plaintext, which is the caller's to overwrite.
    /// - Throws: `InteropError`: `.authenticationFailed`, for any fault of the message;
    ///   `.unsupported` if the key does not decrypt; `.keyUnavailable` if its home did not answer.
    /// Spec: Spec/interop-apple-ecies.md §4. Vectors: apple-ecies/valid.json, invalid.json, real-apple.json.
    public func decrypt(
        _ message: some Collection<UInt8>, algorithm: ECIESAlgorithm = .recommended
    ) throws(InteropError) -> [UInt8] {
        let message = [UInt8](message)
        guard supports(.decrypt, .ecies(algorithm)) else { throw InteropError(.unsupported, at: "decrypt") }
        return try ECIES.open(message, with: self, algorithm: algorithm)
    }

    /// Signs a message, or a digest, as the algorithm says. No two signatures are alike.
    ///
    /// - Returns: r and s in DER, as X9.62 has it.
    /// - Throws: `InteropError`: `.invalidArgument` for a digest of the wrong size; `.unsupported`,
    ///   `.keyUnavailable` as in `decrypt`.
    public func sign(
        _ data: some Collection<UInt8>, algorithm: ECDSAAlgorithm = .ecdsaSignatureMessageX962SHA256
    ) throws(InteropError) -> [UInt8] {
        let data = [UInt8](data)
        guard supports(.sign, .ecdsa(algorithm)) else { throw InteropError(.unsupported, at: "sign") }
        return try signature(ofDigest: unsafe algorithm.digest(of: data.span.bytes))
    }
}

/// A signature as r ‖ s, the form that JWS, WebCrypto and TPMs use, made into DER.
public enum CurveSignature {
    /// DER from two big-endian numbers of `coordinateByteCount` bytes each.
    ///
    /// - Throws: `InteropError` `.invalidArgument` for another size.
    public static func derRepresentation(fromRaw raw: some Collection<UInt8>, curve: Curve) throws(InteropError)
        -> [UInt8]
    {
        let raw = [UInt8](raw)
        return try translatingErrors(ECDSASignature.derEncoded(fromRaw: raw, curve: curve.curve))
    }
}
