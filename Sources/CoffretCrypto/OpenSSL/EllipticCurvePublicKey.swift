// Public keys on the NIST curves. A value of this type is always a point on its curve.

internal import COpenSSL

/// A point on a curve, fit for key agreement and for verifying signatures.
package final class EllipticCurvePublicKey: Sendable, Equatable {
    /// The curve.
    package let curve: EllipticCurve
    /// `04 ‖ X ‖ Y`, each coordinate at full width.
    package let uncompressedPoint: [UInt8]
    let key: EVPKey

    init(_ curve: EllipticCurve, generated key: EVPKey) throws(CryptoError) {
        self.curve = curve
        self.key = key
        // A fresh key comes out uncompressed, and in one piece: asking for the coordinates one by one would
        // cost a field inversion each.
        var point = [UInt8](repeating: 0, count: curve.uncompressedPointByteCount)
        var byteCount = 0
        let status = unsafe EVP_PKEY_get_octet_string_param(
            key.pointer, OSSL_PKEY_PARAM_PUB_KEY, &point, point.count, &byteCount)
        guard status == 1, byteCount == point.count, point[0] == 4 else {
            throw CryptoError(.unavailable, at: "point")
        }
        uncompressedPoint = point
    }

    /// Imports `04 ‖ X ‖ Y`, or, if asked for, also the compressed form `02/03 ‖ X`.
    ///
    /// Refuses every other form, coordinates that are not below the field's prime, and points off the curve.
    /// - Throws: `CryptoError` `.invalidKey`.
    package init(_ curve: EllipticCurve, point: RawSpan, allowingCompressed: Bool = false) throws(CryptoError) {
        let first: UInt8 = point.isEmpty ? 0 : unsafe point.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
        let isCompressed = first == 2 || first == 3
        let byteCount = isCompressed ? 1 + curve.coordinateByteCount : curve.uncompressedPointByteCount
        guard point.byteCount == byteCount, first == 4 || (isCompressed && allowingCompressed),
            let key = curve.domain.publicKey(point: point)
        else { throw CryptoError(.invalidKey, at: "point") }
        self.curve = curve
        self.key = key
        uncompressedPoint =
            isCompressed
            ? try Self.uncompressedPoint(of: key, curve) : unsafe point.withUnsafeBytes { unsafe [UInt8]($0) }
    }

    private static func uncompressedPoint(of key: EVPKey, _ curve: EllipticCurve) throws(CryptoError) -> [UInt8] {
        let byteCount = curve.coordinateByteCount
        var point = [UInt8](repeating: 0, count: curve.uncompressedPointByteCount)
        point[0] = 4
        var x: OpaquePointer?
        var y: OpaquePointer?
        defer {
            unsafe BN_free(x)
            unsafe BN_free(y)
        }
        // The coordinates are asked for by themselves, as the point would come in the form it was set in.
        guard unsafe EVP_PKEY_get_bn_param(key.pointer, OSSL_PKEY_PARAM_EC_PUB_X, &x) == 1,
            unsafe EVP_PKEY_get_bn_param(key.pointer, OSSL_PKEY_PARAM_EC_PUB_Y, &y) == 1
        else { throw CryptoError(.unavailable, at: "point") }
        let isWritten = unsafe point.withUnsafeMutableBufferPointer { buffer in
            let base = unsafe buffer.baseAddress! + 1
            return unsafe BN_bn2binpad(x, base, Int32(byteCount)) == byteCount
                && BN_bn2binpad(y, base + byteCount, Int32(byteCount)) == byteCount
        }
        guard isWritten else { throw CryptoError(.unavailable, at: "point") }
        return point
    }

    /// The compressed form `02/03 ‖ X`.
    package var compressedPoint: [UInt8] {
        let isOdd = uncompressedPoint[uncompressedPoint.count - 1] & 1
        return [2 | isOdd] + uncompressedPoint[1...curve.coordinateByteCount]
    }

    /// Whether `signature` is an ECDSA signature of `digest`, in strict DER.
    ///
    /// A digest longer than the curve's order is cut to its leftmost bits, as the standard says.
    package func isValidSignature(_ signature: RawSpan, digest: RawSpan) -> Bool {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else { return false }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_verify_init(context) == 1 else { return false }
        let status = unsafe signature.withUnsafeBytes { signatureBytes in
            unsafe digest.withUnsafeBytes { digestBytes in
                unsafe EVP_PKEY_verify(
                    context, signatureBytes.baseAddress?.assumingMemoryBound(to: UInt8.self), signatureBytes.count,
                    digestBytes.baseAddress?.assumingMemoryBound(to: UInt8.self), digestBytes.count)
            }
        }
        if status != 1 { ERR_clear_error() }
        return status == 1
    }

    /// Two keys are equal when they are the same point of the same curve.
    package static func == (left: EllipticCurvePublicKey, right: EllipticCurvePublicKey) -> Bool {
        left.curve == right.curve && left.uncompressedPoint == right.uncompressedPoint
    }
}
