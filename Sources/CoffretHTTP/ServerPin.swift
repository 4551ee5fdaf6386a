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
        let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
        let lines = text.split(whereSeparator: \.isNewline).map(String.init)
        guard let first = lines.firstIndex(of: begin), let last = lines[first...].firstIndex(of: end),
            let der = try? Base64.standard.decode(lines[(first + 1)..<last].joined()),
            let key = Self.subjectPublicKeyInfo(der)
        else { return nil }
        bytes = unsafe HashAlgorithm.sha256.hash(Array(key).span.bytes)
    }

    /// Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version OPTIONAL, serial, algorithm, issuer, validity,
    /// subject, subjectPublicKeyInfo, … } … }; the whole element with its header.
    ///
    /// Source: RFC 5280 section 4.1.
    private static func subjectPublicKeyInfo(_ certificate: [UInt8]) -> ArraySlice<UInt8>? {
        var outer = DERReader(certificate[...])
        guard let whole = outer.next(), whole.tag == 0x30 else { return nil }
        var signed = DERReader(whole.content)
        guard let tbs = signed.next(), tbs.tag == 0x30 else { return nil }
        var fields = DERReader(tbs.content)
        var field = fields.next()
        if field?.tag == 0xA0 { field = fields.next() }
        // `field` is the serial number; four more stand before the key.
        for _ in 0..<5 { field = fields.next() }
        guard let field, field.tag == 0x30 else { return nil }
        return field.whole
    }
}

/// Elements of DER, one after the other.
private struct DERReader {
    struct Element {
        let tag: UInt8
        let content: ArraySlice<UInt8>
        let whole: ArraySlice<UInt8>
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// nil at the end, or where the bytes are no DER.
    mutating func next() -> Element? {
        guard rest.count >= 2, let tag = rest.first, tag & 0x1F != 0x1F else { return nil }
        let start = rest.startIndex
        var length = Int(rest[start + 1])
        var header = 2
        if length >= 0x80 {
            let count = length & 0x7F
            guard (1...4).contains(count), rest.count >= 2 + count else { return nil }
            length = rest[start + 2..<start + 2 + count].reduce(0) { $0 << 8 | Int($1) }
            header += count
        }
        guard rest.count - header >= length else { return nil }
        let end = start + header + length
        defer { rest = rest[end...] }
        return Element(tag: tag, content: rest[start + header..<end], whole: rest[start..<end])
    }
}
