// Elliptic-curve keys of Themis. A value of these types is a good key: on the curve, in range.

internal import CoffretBase
internal import CoffretCrypto

/// A public P-256 key in a Themis container.
///
/// Spec: Spec/interop-themis.md §7. Vectors: ec_keys.json.
public struct ThemisPublicKey: Sendable, Equatable {
    let key: EllipticCurvePublicKey

    init(_ key: EllipticCurvePublicKey) { self.key = key }

    /// Imports a container (`UEC2`, 45 bytes compressed or 77 bytes uncompressed).
    ///
    /// Refuses RSA keys, other curves, hybrid points, points off the curve and containers with a wrong
    /// size or checksum.
    /// - Throws: `InteropError` `.invalidKey`.
    public init(container: some Collection<UInt8>) throws(InteropError) {
        let container = [UInt8](container)
        let payload = Array(container[try KeyContainer.payload(of: container, .publicKey)])
        key = try translatingErrors(
            unsafe try EllipticCurvePublicKey(.p256, point: payload.span.bytes, allowingCompressed: true))
    }

    /// The container as Themis writes it: 45 bytes, the point compressed.
    public var container: [UInt8] { KeyContainer.encode(.publicKey, payload: key.compressedPoint) }

    /// `04 ‖ X ‖ Y`, 65 bytes, for use with other formats.
    public var uncompressedPoint: [UInt8] { key.uncompressedPoint }
}

/// A private P-256 key in a Themis container.
///
/// The scalar stays in memory that is overwritten when the last reference goes.
/// Spec: Spec/interop-themis.md §7. Vectors: ec_keys.json.
public final class ThemisPrivateKey: Sendable {
    let key: EllipticCurveKey

    private init(_ key: EllipticCurveKey) { self.key = key }

    /// Makes a fresh key pair.
    ///
    /// - Throws: `InteropError` `.unavailable` when OpenSSL fails.
    public static func generate() throws(InteropError) -> ThemisPrivateKey {
        ThemisPrivateKey(try translatingErrors(EllipticCurveKey.generate(.p256)))
    }

    /// Imports a container (`REC2`, 45 bytes, or 44 as some writers have it).
    ///
    /// The array stays the caller's to overwrite. Refuses scalars outside 1 ..< order, which the reference
    /// does not.
    /// - Throws: `InteropError` `.invalidKey`.
    public init(container: some Collection<UInt8>) throws(InteropError) {
        let containerBytes = [UInt8](container)
        let payload = try KeyContainer.payload(of: containerBytes, .privateKey)
        // 33 bytes with a zero in front, for no reason but history, or the bare scalar.
        guard payload.count == 32 || (payload.count == 33 && containerBytes[payload.lowerBound] == 0) else {
            throw InteropError(.invalidKey, at: "key container payload")
        }
        let container = containerBytes.span
        key = try unsafe container.withUnsafeBytes { (bytes) throws(InteropError) in
            try translatingErrors(
                unsafe try EllipticCurveKey(
                    .p256, scalar: bytes.part(payload.upperBound - 32..<payload.upperBound).bytes))
        }
    }

    /// The public half.
    public var publicKey: ThemisPublicKey { ThemisPublicKey(key.publicKey) }

    /// The container as Themis writes it: 45 bytes. They are the caller's to protect and to overwrite.
    ///
    /// - Throws: `InteropError` `.unavailable` when OpenSSL fails.
    public func exportContainer() throws(InteropError) -> [UInt8] {
        let scalar = try translatingErrors(key.scalar())
        // EXPOSE: the caller asked for the private key.
        return unsafe scalar.withUnsafeBytes { bytes in
            var payload = unsafe [0] + bytes
            defer { payload.zero() }
            return KeyContainer.encode(.privateKey, payload: payload)
        }
    }
}
