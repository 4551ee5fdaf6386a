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
    static func read(_ configuration: ServerConfiguration) throws -> ServerCertificate? {
        switch (configuration.certificateFile, configuration.keyFile) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            guard let certificateBytes = ServerFiles.read(certificate, byteCountMax: 1 << 20),
                let keyBytes = ServerFiles.read(key, byteCountMax: 1 << 20)
            else { throw ServerFailure(.configuration, "the certificate or its key cannot be read") }
            let text = String(decoding: certificateBytes, as: UTF8.self)
            guard let fingerprint = CertificateKey.sha256(ofPEM: text) else {
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
}
