// A private key on a NIST curve in memory. Its scalar is overwritten when the last reference goes, and
// leaves only where the caller asks for an external form.

internal import CoffretBase
internal import CoffretCrypto

/// A private key in memory.
public final class SoftwareCurveKey: CurvePrivateKey {
    let key: EllipticCurveKey

    init(_ key: EllipticCurveKey) { self.key = key }

    /// Makes a fresh key pair.
    ///
    /// - Throws: `InteropError` `.unavailable` when OpenSSL fails.
    public static func generate(_ curve: Curve = .p256) throws(InteropError) -> SoftwareCurveKey {
        SoftwareCurveKey(
            try translatingErrors(EllipticCurveKey.generate(curve.curve)))
    }

    /// Imports a bare scalar, big-endian at full width: 32, 48 or 66 bytes.
    ///
    /// - Throws: `InteropError` `.invalidKey`: another size, or a scalar outside 1 ..< order.
    public convenience init(curve: Curve, scalar: some Collection<UInt8>) throws(InteropError) {
        let scalar = [UInt8](scalar)
        self.init(
            try translatingErrors(unsafe try EllipticCurveKey(curve.curve, scalar: scalar.span.bytes)))
    }

    /// Imports `04 ‖ X ‖ Y ‖ K` (97, 145 or 199 bytes): what Apple's `SecKeyCopyExternalRepresentation` gives
    /// for a private key in software.
    ///
    /// - Throws: `InteropError` `.invalidKey`, also when the public half belongs to another scalar.
    public convenience init(x963Representation bytes: some Collection<UInt8>) throws(InteropError) {
        let bytes = [UInt8](bytes)
        guard let curve = Curve.allCases.first(where: { 1 + 3 * $0.coordinateByteCount == bytes.count }) else {
            throw InteropError(.invalidKey, at: "private key size")
        }
        var scalar = Array(bytes.suffix(curve.coordinateByteCount))
        defer { scalar.zero() }
        try self.init(curve: curve, scalar: scalar)
        guard bytes.starts(with: key.publicKey.uncompressedPoint) else {
            throw InteropError(.invalidKey, at: "public half")
        }
    }

    /// The curve.
    public var curve: Curve { Curve(key.curve) }

    /// The public half.
    public var publicKey: CurvePublicKey { CurvePublicKey(key.publicKey) }

    /// `04 ‖ X ‖ Y ‖ K`, Apple's external form. The bytes are the caller's to protect and to overwrite.
    ///
    /// - Throws: `InteropError` `.unavailable` when OpenSSL fails.
    public func exportX963Representation() throws(InteropError) -> [UInt8] {
        let scalar = try secretScalar()
        // EXPOSE: the caller asked for the private key.
        return unsafe scalar.withUnsafeBytes { unsafe key.publicKey.uncompressedPoint + $0 }
    }

    func secretScalar() throws(InteropError) -> SecretBytes {
        try translatingErrors(key.scalar())
    }

    /// Lends the shared secret at full width, and overwrites it afterwards.
    ///
    /// - Throws: `InteropError` `.invalidKey` for a point of another curve; what `body` throws.
    public func withSharedSecret(
        with point: CurvePublicKey, _ body: (RawSpan) throws(InteropError) -> Void
    ) throws(InteropError) {
        try unsafe withSecretScratch(byteCount: key.curve.coordinateByteCount) { (secret) throws(InteropError) in
            try translatingErrors(unsafe key.sharedSecret(with: point.key, into: secret))
            try unsafe body(UnsafeRawBufferPointer(secret).bytes)
        }
    }

    /// An ECDSA signature of a digest, in DER.
    ///
    /// - Throws: `InteropError` `.unavailable` when OpenSSL fails.
    public func signature(ofDigest digest: [UInt8]) throws(InteropError) -> [UInt8] {
        try translatingErrors(unsafe key.signature(digest: digest.span.bytes))
    }
}
