// The key of a server. Invariant: a pin is the hash of the key that the handshake proved, so that no certificate
// authority can put another server in its place.

internal import CoffretBase
internal import CoffretCrypto

/// SHA-256 of a server's public key, as its certificate has it (SubjectPublicKeyInfo).
package struct ServerPin: Hashable, Sendable {
    package static let byteCount = 32

    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Reads 64 hex digits, with or without colons or spaces, or libcurl's "sha256//" and base64.
    package static func parse(_ text: String) -> ServerPin? {
        if text.hasPrefix("sha256//") {
            return (try? Base64.standard.decode(String(text.dropFirst(8)))).flatMap { ServerPin(bytes: $0) }
        }
        let digits = text.filter { $0 != ":" && $0 != " " }
        return (try? Hex.decode(String(digits).lowercased())).flatMap { ServerPin(bytes: $0) }
    }

    /// In groups of 8 hex digits, for people to compare.
    package var text: String {
        let digits = Array(Hex.encode(bytes))
        return stride(from: 0, to: digits.count, by: 8).map { String(digits[$0..<$0 + 8]) }.joined(separator: " ")
    }

    var curlText: String { "sha256//" + Base64.standard.encode(bytes) }

    /// The pin of a certificate in PEM; nil if it is none.
    package init?(certificatePEM text: String) {
        guard let digest = CertificateKey.sha256(ofPEM: text) else { return nil }
        bytes = digest
    }
}
