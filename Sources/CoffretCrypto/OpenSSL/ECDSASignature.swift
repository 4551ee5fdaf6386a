// ECDSA signatures as r ‖ s and as DER. Only the shortest DER is written.

/// The two forms of an ECDSA signature.
package enum ECDSASignature {
    /// DER (X9.62) from `r ‖ s`, two big-endian numbers of `coordinateByteCount` bytes each.
    ///
    /// Nothing is said about r and s: zero, or a number beyond the order, fails when it is verified.
    /// - Throws: `CryptoError` `.invalidParameter` for another size.
    package static func derEncoded(fromRaw raw: [UInt8], curve: EllipticCurve) throws(CryptoError) -> [UInt8] {
        let byteCount = curve.coordinateByteCount
        guard raw.count == 2 * byteCount else { throw CryptoError(.invalidParameter, at: "signature size") }
        let body = integer(raw[..<byteCount]) + integer(raw[byteCount...])
        // Only P-521 signatures need the long form of the length, and one byte of it.
        let header: [UInt8] = body.count < 128 ? [0x30, UInt8(body.count)] : [0x30, 0x81, UInt8(body.count)]
        return header + body
    }

    /// `r ‖ s` at full width from the DER that OpenSSL writes.
    ///
    /// - Throws: `CryptoError` `.invalidParameter` for anything else.
    package static func raw(fromDER der: [UInt8], curve: EllipticCurve) throws(CryptoError) -> [UInt8] {
        let byteCount = curve.coordinateByteCount
        var rest = der[...]
        var raw: [UInt8] = []
        let isLong = der.count > 2 && der[1] == 0x81
        let bodyCount = der.count > 2 ? Int(der[isLong ? 2 : 1]) : 0
        rest = rest.dropFirst(isLong ? 3 : 2)
        guard der.first == 0x30, bodyCount == rest.count else { throw CryptoError(.invalidParameter, at: "signature") }
        for _ in 0..<2 {
            guard rest.count > 2, rest.first == 2, let count = rest.dropFirst().first.map({ Int($0) }),
                count <= rest.count - 2
            else { throw CryptoError(.invalidParameter, at: "signature") }
            let digits = rest.dropFirst(2).prefix(count).drop { $0 == 0 }
            guard digits.count <= byteCount else { throw CryptoError(.invalidParameter, at: "signature") }
            raw += [UInt8](repeating: 0, count: byteCount - digits.count) + digits
            rest = rest.dropFirst(2 + count)
        }
        guard rest.isEmpty else { throw CryptoError(.invalidParameter, at: "signature") }
        return raw
    }

    private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let significant = bytes.drop { $0 == 0 }
        let isSignByteNeeded = (significant.first ?? 0x80) >= 0x80
        return [2, UInt8(significant.count + (isSignByteNeeded ? 1 : 0))] + (isSignByteNeeded ? [0] : []) + significant
    }
}
