// The server's certificate and what devices see of it. The one thing to keep true: the fingerprint is that of the key
// that new connections are served with.

internal import CoffretBase
internal import CoffretCrypto

/// A certificate with its key, as text.
struct ServerCertificate {
    let certificate: String
    let key: String
    let fingerprint: [UInt8]

    /// Reads the files that a server is set up with; nil without TLS.
    static func read(_ configuration: ServerConfiguration) throws(ServerFailure) -> ServerCertificate? {
        switch (configuration.certificateFile, configuration.keyFile) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            guard let certificateBytes = ServerFiles.read(certificate, byteCountMax: 1 << 20),
                let keyBytes = ServerFiles.read(key, byteCountMax: 1 << 20)
            else { throw ServerFailure(.configuration, "the certificate or its key cannot be read") }
            let text = String(decoding: certificateBytes, as: UTF8.self)
            guard let fingerprint = CertificateFingerprint.ofPEM(text) else {
                throw ServerFailure(.configuration, "\(certificate) holds no certificate")
            }
            return ServerCertificate(
                certificate: text, key: String(decoding: keyBytes, as: UTF8.self), fingerprint: fingerprint)
        default: throw ServerFailure(.configuration, "tls-certificate and tls-key go together")
        }
    }
}

/// SHA-256 of the public key in a certificate, as devices see it.
enum CertificateFingerprint {
    /// In the groups in which a device asks a person to compare it at the first contact; `none` for one of zeros.
    static func words(_ fingerprint: [UInt8]) -> String {
        guard fingerprint.contains(where: { $0 != 0 }) else { return "none" }
        return stride(from: 0, to: fingerprint.count, by: 4).map { Hex.encode(fingerprint[$0...].prefix(4)) }
            .joined(separator: " ")
    }

    /// Of the first certificate in PEM text.
    static func ofPEM(_ text: String) -> [UInt8]? {
        guard let start = text.firstRange(of: "-----BEGIN CERTIFICATE-----"),
            let end = text[start.upperBound...].firstRange(of: "-----END CERTIFICATE-----"),
            let der = try? Base64.standard.decode(
                String(text[start.upperBound..<end.lowerBound].filter { !$0.isWhitespace }))
        else { return nil }
        return ofDER(der)
    }

    /// Certificate → TBSCertificate → [version], serial, algorithm, issuer, validity, subject, SubjectPublicKeyInfo.
    ///
    /// Source: RFC 5280, section 4.1.
    static func ofDER(_ der: [UInt8]) -> [UInt8]? {
        guard let certificate = element(der[...]), certificate.tag == 0x30, let body = element(certificate.content),
            body.tag == 0x30
        else { return nil }
        var rest = body.content
        guard var next = element(rest) else { return nil }
        if next.tag == 0xA0 {
            rest = rest[next.end...]
            guard let serial = element(rest) else { return nil }
            next = serial
        }
        for _ in 0..<5 {
            rest = rest[next.end...]
            guard let following = element(rest) else { return nil }
            next = following
        }
        guard next.tag == 0x30 else { return nil }
        let key = Array(rest[rest.startIndex..<next.end])
        return unsafe HashAlgorithm.sha256.hash(key.span.bytes)
    }

    private static func element(_ bytes: ArraySlice<UInt8>) -> (tag: UInt8, content: ArraySlice<UInt8>, end: Int)? {
        guard bytes.count >= 2 else { return nil }
        let (tag, first) = (bytes[bytes.startIndex], bytes[bytes.startIndex + 1])
        var start = bytes.startIndex + 2
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...4).contains(count), bytes.endIndex - start >= count else { return nil }
            length = bytes[start..<start + count].reduce(0) { $0 << 8 | Int($1) }
            start += count
        }
        guard bytes.endIndex - start >= length else { return nil }
        return (tag, bytes[start..<start + length], start + length)
    }
}
