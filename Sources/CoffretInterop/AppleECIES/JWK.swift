// Keys as JSON Web Keys (RFC 7517, RFC 7518). Coordinates have their full width, as the RFC demands.

internal import CoffretBase
internal import CoffretCrypto

private enum JWK {
    /// The named members of an EC key; nil for other keys, other curves and coordinates of other sizes.
    static func parse(_ text: String) throws(InteropError) -> (curve: EllipticCurve, value: JSONValue) {
        guard text.utf8.count <= keyFileByteCountMax else { throw InteropError(.limitExceeded, at: "jwk") }
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: Array(text.utf8))
        } catch {
            throw InteropError(.invalidText, at: "jwk")
        }
        guard value["kty"]?.string == "EC", let name = value["crv"]?.string, let curve = EllipticCurve(rawValue: name)
        else { throw InteropError(.invalidKey, at: "jwk kind") }
        return (curve, value)
    }

    static func number(_ name: String, of value: JSONValue, _ curve: EllipticCurve) throws(InteropError) -> [UInt8] {
        guard let text = value[name]?.string, let bytes = try? Base64.url.decode(text),
            bytes.count == curve.coordinateByteCount
        else { throw InteropError(.invalidKey, at: "jwk \(name)") }
        return bytes
    }

    static func publicKey(_ curve: EllipticCurve, _ value: JSONValue) throws(InteropError) -> EllipticCurvePublicKey {
        let point = try [4] + number("x", of: value, curve) + number("y", of: value, curve)
        return try translatingErrors(unsafe try EllipticCurvePublicKey(curve, point: point.span.bytes))
    }
}

extension CurvePublicKey {
    /// Imports a JWK of kind EC. A private member, if there is one, is ignored.
    ///
    /// - Throws: `InteropError`: `.invalidText` for text that is no JSON, `.invalidKey`.
    public init(jwkRepresentation text: String) throws(InteropError) {
        let (curve, value) = try JWK.parse(text)
        self.init(try JWK.publicKey(curve, value))
    }

    /// A JWK with the members that RFC 7638 hashes, in its order.
    public var jwkRepresentation: String {
        let byteCount = key.curve.coordinateByteCount
        let x = Base64.url.encode(Array(key.uncompressedPoint[1...byteCount]))
        let y = Base64.url.encode(Array(key.uncompressedPoint[(1 + byteCount)...]))
        return #"{"crv":"\#(key.curve.rawValue)","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
    }
}

extension SoftwareCurveKey {
    /// Imports a private JWK of kind EC.
    ///
    /// - Throws: `InteropError`: `.invalidText` for text that is no JSON, `.invalidKey`, also when the public
    ///   half belongs to another scalar.
    public convenience init(jwkRepresentation text: String) throws(InteropError) {
        let (curve, value) = try JWK.parse(text)
        let publicKey = try JWK.publicKey(curve, value)
        var scalar = try JWK.number("d", of: value, curve)
        defer { scalar.zero() }
        try self.init(curve: Curve(curve), scalar: scalar)
        guard publicKey == key.publicKey else { throw InteropError(.invalidKey, at: "public half") }
    }

    /// A private JWK. Text cannot be overwritten: it lingers in memory until that is used again.
    ///
    /// - Throws: `InteropError` `.unavailable` when OpenSSL fails.
    public func exportJWKRepresentation() throws(InteropError) -> String {
        let scalar = try secretScalar()
        // EXPOSE: the caller asked for the private key as text.
        let number = unsafe scalar.withUnsafeBytes { bytes in
            var copy = unsafe [UInt8](bytes)
            defer { copy.zero() }
            return Base64.url.encode(copy)
        }
        return #"{"d":"\#(number)","# + publicKey.jwkRepresentation.dropFirst()
    }
}
