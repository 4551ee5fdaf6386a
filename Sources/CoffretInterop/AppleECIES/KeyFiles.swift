// Keys as PEM and DER: SubjectPublicKeyInfo, PKCS #8 and SEC 1. What is read is exactly one unencrypted
// key on one of our curves; everything else is refused.

internal import CoffretBase
internal import CoffretCrypto

/// The longest key file that is looked at.
let keyFileByteCountMax = 16 << 10

extension EllipticCurve {
    /// The curve's object identifier, encoded.
    var objectIdentifier: [UInt8] {
        switch self {
        case .p256: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        case .p384: [0x2B, 0x81, 0x04, 0x00, 0x22]
        case .p521: [0x2B, 0x81, 0x04, 0x00, 0x23]
        }
    }

    /// id-ecPublicKey, encoded.
    static let keyIdentifier: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]

    /// The AlgorithmIdentifier of a key on this curve.
    var algorithmIdentifier: [UInt8] {
        DERWriter.element(
            .sequence,
            DERWriter.element(.objectIdentifier, Self.keyIdentifier)
                + DERWriter.element(.objectIdentifier, objectIdentifier))
    }

    init?(objectIdentifier: ArraySlice<UInt8>) {
        guard let curve = Self.allCases.first(where: { $0.objectIdentifier.elementsEqual(objectIdentifier) }) else {
            return nil
        }
        self = curve
    }

    /// Reads an AlgorithmIdentifier; nil unless it names one of our curves.
    init?(algorithmIdentifierFrom reader: inout DERReader) {
        guard var identifier = reader.enter(.sequence), let kind = identifier.read(.objectIdentifier),
            kind.elementsEqual(Self.keyIdentifier), let name = identifier.read(.objectIdentifier), identifier.isAtEnd
        else { return nil }
        self.init(objectIdentifier: name)
    }
}

extension CurvePublicKey {
    /// Imports a SubjectPublicKeyInfo (RFC 5480), its point uncompressed or compressed.
    ///
    /// - Throws: `InteropError` `.invalidKey`.
    public init(derRepresentation bytes: some Collection<UInt8>) throws(InteropError) {
        let bytes = [UInt8](bytes)
        let malformed = InteropError(.invalidKey, at: "subject public key info")
        guard bytes.count <= keyFileByteCountMax else { throw malformed }
        var reader = DERReader(bytes[...])
        guard var body = reader.enter(.sequence), reader.isAtEnd,
            let curve = EllipticCurve(algorithmIdentifierFrom: &body), let bits = body.readBitString(), body.isAtEnd
        else { throw malformed }
        let point = Array(bits)
        self.init(
            try translatingErrors(
                unsafe try EllipticCurvePublicKey(curve, point: point.span.bytes, allowingCompressed: true)))
    }

    /// A SubjectPublicKeyInfo, the point uncompressed.
    public var derRepresentation: [UInt8] {
        DERWriter.element(
            .sequence, key.curve.algorithmIdentifier + DERWriter.element(.bitString, [0] + key.uncompressedPoint))
    }

    /// Imports PEM text with a `PUBLIC KEY`.
    ///
    /// - Throws: `InteropError`: `.invalidText` for text that is no PEM, `.invalidKey`.
    public init(pemRepresentation text: String) throws(InteropError) {
        let (label, bytes) = try PEM.decode(text)
        guard label == "PUBLIC KEY" else { throw InteropError(.invalidKey, at: "pem label") }
        try self.init(derRepresentation: bytes)
    }

    /// PEM text with a `PUBLIC KEY`, as OpenSSL writes it.
    public var pemRepresentation: String { PEM.encode("PUBLIC KEY", derRepresentation) }
}

extension SoftwareCurveKey {
    /// Imports an unencrypted PKCS #8 key (RFC 5958), or an ECPrivateKey (RFC 5915) that names its curve.
    ///
    /// The array stays the caller's to overwrite.
    /// - Throws: `InteropError` `.invalidKey`, also when a public half is there and belongs to another scalar.
    public convenience init(derRepresentation bytes: some Collection<UInt8>) throws(InteropError) {
        let bytes = [UInt8](bytes)
        let malformed = InteropError(.invalidKey, at: "private key file")
        guard bytes.count <= keyFileByteCountMax else { throw malformed }
        var reader = DERReader(bytes[...])
        guard var body = reader.enter(.sequence), reader.isAtEnd, let version = body.read(.integer) else {
            throw malformed
        }
        // In PKCS #8 an algorithm follows the version, in SEC 1 the scalar.
        guard body.isNext(.sequence) else {
            try self.init(sec1: bytes[...], curve: nil)
            return
        }
        guard version.elementsEqual([0]) || version.elementsEqual([1]),
            let curve = EllipticCurve(algorithmIdentifierFrom: &body), let inner = body.read(.octetString)
        else { throw malformed }
        // Attributes, and in version 1 a public key, may follow; neither is needed.
        try self.init(sec1: inner, curve: curve)
    }

    private convenience init(sec1 bytes: ArraySlice<UInt8>, curve outerCurve: EllipticCurve?) throws(InteropError) {
        let malformed = InteropError(.invalidKey, at: "ec private key")
        var reader = DERReader(bytes)
        guard var body = reader.enter(.sequence), reader.isAtEnd, let version = body.read(.integer),
            version.elementsEqual([1]), let octets = body.read(.octetString)
        else { throw malformed }
        var innerCurve = outerCurve
        if var parameters = body.enter(.context0) {
            guard let name = parameters.read(.objectIdentifier), parameters.isAtEnd,
                let curve = EllipticCurve(objectIdentifier: name), outerCurve == nil || curve == outerCurve
            else { throw malformed }
            innerCurve = curve
        }
        var publicPoint: [UInt8]?
        if var wrapped = body.enter(.context1) {
            guard let bits = wrapped.readBitString(), wrapped.isAtEnd else { throw malformed }
            publicPoint = Array(bits)
        }
        guard let curve = innerCurve, body.isAtEnd else { throw malformed }
        var scalar = Array(octets)
        defer { scalar.zero() }
        try self.init(curve: Curve(curve), scalar: scalar)
        let own = key.publicKey
        guard publicPoint == nil || publicPoint == own.uncompressedPoint || publicPoint == own.compressedPoint else {
            throw InteropError(.invalidKey, at: "public half")
        }
    }

    /// Imports PEM text with a `PRIVATE KEY` or an `EC PRIVATE KEY`, not encrypted.
    ///
    /// A block `EC PARAMETERS` before it, which OpenSSL writes, is skipped.
    /// - Throws: `InteropError`: `.invalidText` for text that is no PEM, `.invalidKey`.
    public convenience init(pemRepresentation text: String) throws(InteropError) {
        var (label, bytes) = try PEM.decode(text, skipping: "EC PARAMETERS")
        defer { bytes.zero() }
        guard label == "PRIVATE KEY" || label == "EC PRIVATE KEY" else {
            throw InteropError(.invalidKey, at: "pem label")
        }
        try self.init(derRepresentation: bytes)
    }

    /// The key as PKCS #8, not encrypted. The bytes are the caller's to protect and to overwrite.
    ///
    /// - Throws: `InteropError` `.unavailable` when OpenSSL fails.
    public func exportDERRepresentation() throws(InteropError) -> [UInt8] {
        let scalar = try secretScalar()
        // EXPOSE: the caller asked for the private key; the copies on the way are overwritten.
        return unsafe scalar.withUnsafeBytes { bytes in
            var octets = unsafe [UInt8](bytes)
            var inner =
                DERWriter.element(.integer, [1]) + DERWriter.element(.octetString, octets)
                + DERWriter.element(.context1, DERWriter.element(.bitString, [0] + key.publicKey.uncompressedPoint))
            var sequence = DERWriter.element(.sequence, inner)
            var wrapped = DERWriter.element(.octetString, sequence)
            defer {
                octets.zero()
                inner.zero()
                sequence.zero()
                wrapped.zero()
            }
            return DERWriter.element(
                .sequence, DERWriter.element(.integer, [0]) + key.curve.algorithmIdentifier + wrapped)
        }
    }

    /// The key as PEM text with a `PRIVATE KEY`, not encrypted.
    ///
    /// Text cannot be overwritten: prefer `exportDERRepresentation` where the key must not linger in memory.
    /// - Throws: `InteropError` `.unavailable` when OpenSSL fails.
    public func exportPEMRepresentation() throws(InteropError) -> String {
        var bytes = try exportDERRepresentation()
        defer { bytes.zero() }
        return PEM.encode("PRIVATE KEY", bytes)
    }
}
