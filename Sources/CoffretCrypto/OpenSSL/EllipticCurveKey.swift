// Private keys on the NIST curves. The scalar is in 1 ..< order, and stays inside OpenSSL, which
// overwrites it when the key is freed; it leaves only where a key is exported.

internal import COpenSSL
package import CoffretBase

/// A private scalar with its public point.
package final class EllipticCurveKey: Sendable {
    /// The public half.
    package let publicKey: EllipticCurvePublicKey
    private let key: EVPKey

    /// The curve.
    package var curve: EllipticCurve { publicKey.curve }

    private init(_ publicKey: EllipticCurvePublicKey, _ key: EVPKey) {
        self.publicKey = publicKey
        self.key = key
    }

    /// Makes a fresh key pair.
    package static func generate(_ curve: EllipticCurve) throws(CryptoError) -> EllipticCurveKey {
        let key = try curve.domain.generate()
        return EllipticCurveKey(try EllipticCurvePublicKey(curve, generated: key), key)
    }

    /// Imports a scalar, and computes its public point.
    ///
    /// - Parameter scalar: big-endian, exactly `coordinateByteCount` bytes, 1 ..< order.
    /// - Throws: `CryptoError` `.invalidKey`.
    package convenience init(_ curve: EllipticCurve, scalar: RawSpan) throws(CryptoError) {
        let byteCount = curve.coordinateByteCount
        guard scalar.byteCount == byteCount else { throw CryptoError(.invalidKey, at: "scalar size") }
        let group = unsafe curve.domain.group
        guard let number = unsafe BN_secure_new() else { throw CryptoError(.unavailable, at: "scalar") }
        defer { unsafe BN_clear_free(number) }
        unsafe BN_set_flags(number, BN_FLG_CONSTTIME)
        let isRead = unsafe scalar.withUnsafeBytes { bytes in
            unsafe BN_bin2bn(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count), number) != nil
        }
        guard isRead, unsafe BN_is_zero(number) == 0, unsafe BN_cmp(number, EC_GROUP_get0_order(group)) < 0 else {
            throw CryptoError(.invalidKey, at: "scalar range")
        }
        var point = try unsafe Self.publicPoint(curve, group, number)
        let pointer: OpaquePointer? = unsafe withSecretScratch(byteCount: byteCount) { native in
            guard
                unsafe BN_bn2nativepad(
                    number, native.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(byteCount)) == byteCount
            else { return nil }
            return unsafe point.withUnsafeMutableBufferPointer { pointBuffer in
                unsafe EVPKey.importing(
                    curve, selection: coffret_EVP_PKEY_KEYPAIR,
                    more: [
                        coffret_parameter_public(pointBuffer.baseAddress, pointBuffer.count),
                        coffret_parameter_private(
                            native.baseAddress?.assumingMemoryBound(to: UInt8.self), byteCount),
                    ])
            }
        }
        guard let pointer = unsafe pointer else { throw CryptoError(.unavailable, at: "scalar") }
        let publicKey = unsafe try EllipticCurvePublicKey(curve, point: point.span.bytes)
        self.init(publicKey, unsafe EVPKey(adopting: pointer))
    }

    /// `04 ‖ X ‖ Y` of scalar times generator; the multiplication takes the same time for every scalar.
    private static func publicPoint(
        _ curve: EllipticCurve, _ group: OpaquePointer, _ scalar: OpaquePointer
    ) throws(CryptoError) -> [UInt8] {
        guard let point = unsafe EC_POINT_new(group) else { throw CryptoError(.unavailable, at: "point") }
        defer { unsafe EC_POINT_clear_free(point) }
        var encoded = [UInt8](repeating: 0, count: curve.uncompressedPointByteCount)
        guard unsafe EC_POINT_mul(group, point, scalar, nil, nil, nil) == 1,
            unsafe EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &encoded, encoded.count, nil)
                == encoded.count
        else { throw CryptoError(.unavailable, at: "point") }
        return encoded
    }

    /// The private scalar, big-endian at full width, in locked memory.
    package func scalar() throws(CryptoError) -> SecretBytes {
        var number: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(key.pointer, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1 else {
            throw CryptoError(.unavailable, at: "scalar")
        }
        defer { unsafe BN_clear_free(number) }
        let byteCount = curve.coordinateByteCount
        return try unsafe SecretBytes(byteCount: byteCount) { (output) throws(CryptoError) in
            guard
                unsafe BN_bn2binpad(
                    number, output.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(byteCount)) == byteCount
            else { throw CryptoError(.unavailable, at: "scalar") }
        }
    }

    /// The x coordinate of this scalar times the other's point, at full width, leading zeros kept.
    ///
    /// The other point was checked when it was imported, so OpenSSL is told not to check it again:
    /// that would double the time.
    /// - Parameter output: exactly `coordinateByteCount` bytes.
    /// - Throws: `CryptoError` `.invalidKey` when the curves differ.
    package func sharedSecret(
        with other: EllipticCurvePublicKey, into output: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) {
        guard other.curve == curve else { throw CryptoError(.invalidKey, at: "curve") }
        precondition(output.count == curve.coordinateByteCount, "a shared secret needs exactly its own size")
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else {
            throw CryptoError(.unavailable, at: "key agreement")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var byteCount = output.count
        guard unsafe EVP_PKEY_derive_init(context) == 1,
            unsafe EVP_PKEY_derive_set_peer_ex(context, other.key.pointer, 0) == 1,
            unsafe EVP_PKEY_derive(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), &byteCount) == 1,
            byteCount == output.count
        else { throw CryptoError(.unavailable, at: "key agreement") }
    }

    /// An ECDSA signature of `digest`, in DER. The nonce is random, so no two signatures are alike.
    package func signature(digest: RawSpan) throws(CryptoError) -> [UInt8] {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else {
            throw CryptoError(.unavailable, at: "signature")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        // SEQUENCE of two INTEGERs, each with a sign byte at most: 9 bytes of framing cover all curves.
        var signature = [UInt8](repeating: 0, count: 2 * curve.coordinateByteCount + 16)
        var byteCount = signature.count
        guard unsafe EVP_PKEY_sign_init(context) == 1 else { throw CryptoError(.unavailable, at: "signature") }
        let status = unsafe digest.withUnsafeBytes { bytes in
            unsafe EVP_PKEY_sign(
                context, &signature, &byteCount, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        guard status == 1 else { throw CryptoError(.unavailable, at: "signature") }
        signature.removeLast(signature.count - byteCount)
        return signature
    }
}
