// The public key of a certificate, read by OpenSSL. Invariant: client and server hash the same bytes, so that people
// compare the same fingerprint.

internal import COpenSSL

/// What a server's certificate says of its key.
package enum CertificateKey {
    /// SHA-256 of the SubjectPublicKeyInfo of the first certificate in PEM text (RFC 5280 section 4.1).
    ///
    /// - Returns: 32 bytes; nil if the text has no certificate that OpenSSL reads.
    package static func sha256(ofPEM text: String) -> [UInt8]? {
        var key: UnsafeMutablePointer<UInt8>?
        var text = text
        let byteCount = text.withUTF8 { unsafe coffret_certificate_key($0.baseAddress, $0.count, &key) }
        guard byteCount > 0, let start = unsafe key else { return nil }
        defer { unsafe coffret_free_certificate_key(start) }
        let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: byteCount))
        return unsafe HashAlgorithm.sha256.hash(bytes.span.bytes)
    }
}
