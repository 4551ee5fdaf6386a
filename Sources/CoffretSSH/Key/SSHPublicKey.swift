// Public keys of SSH: as blobs, as lines of authorized_keys, as fingerprints; and what they verify.

internal import CoffretBase
internal import CoffretCrypto

/// A public key that has been checked: its point lies on its curve, its modulus has an accepted size.
package struct SSHPublicKey: Sendable, Equatable {
    package let kind: SSHKeyKind
    /// The key as SSH sends it.
    package let blob: [UInt8]
    private let material: Material

    private enum Material: Sendable {
        case ed25519([UInt8])
        case ecdsa(EllipticCurvePublicKey)
        case rsa(RSAPublicKey)
    }

    /// The longest blob: RSA with 8,192 bits needs 1,047 bytes.
    package static let blobByteCountMax = 4_096

    package static func == (left: SSHPublicKey, right: SSHPublicKey) -> Bool { left.blob == right.blob }

    init(ed25519 key: [UInt8]) {
        kind = .ed25519
        var writer = SSHWriter()
        writer.text(kind.name)
        writer.string(key)
        blob = writer.bytes
        material = .ed25519(key)
    }

    init(_ key: EllipticCurvePublicKey) {
        kind = .ecdsa(key.curve)
        var writer = SSHWriter()
        writer.text(kind.name)
        writer.text(SSHKeyKind.curveName(key.curve))
        writer.string(key.uncompressedPoint)
        blob = writer.bytes
        material = .ecdsa(key)
    }

    init(_ key: RSAPublicKey) {
        kind = .rsa
        var writer = SSHWriter()
        writer.text(kind.name)
        writer.number(key.exponent)
        writer.number(key.modulus)
        blob = writer.bytes
        material = .rsa(key)
    }

    /// Reads a blob.
    ///
    /// - Throws: `SSHError` `.malformed`, `.unsupported` for other kinds of keys, `.invalidKey`.
    package init(blob: [UInt8]) throws(SSHError) {
        guard blob.count <= Self.blobByteCountMax else { throw SSHError(.malformed, at: "size of a public key") }
        var reader = SSHReader(blob)
        let name = try reader.text()
        guard let kind = SSHKeyKind(name: name) else { throw SSHError(.unsupported, at: String(name.prefix(64))) }
        switch kind {
        case .ed25519:
            let key = try reader.string()
            guard key.count == 32 else { throw SSHError(.invalidKey, at: "size of an Ed25519 key") }
            material = .ed25519(key)
        case .ecdsa(let curve):
            guard try reader.text() == SSHKeyKind.curveName(curve) else { throw SSHError(.malformed, at: "curve") }
            let point = try reader.string()
            material = .ecdsa(
                try inCrypto(unsafe EllipticCurvePublicKey(curve, point: point.span.bytes)))
        case .rsa:
            let exponent = try reader.number()
            let modulus = try reader.number()
            material = .rsa(
                try inCrypto(RSAPublicKey(modulus: modulus, exponent: exponent)))
        }
        try reader.finish()
        self.kind = kind
        self.blob = blob
    }

    // MARK: As text

    /// `ssh-ed25519 AAAA… comment`, without a line end.
    package func line(comment: String) -> String {
        let start = "\(kind.name) \(Base64.standard.encode(blob))"
        let plain = comment.split(whereSeparator: \.isNewline).joined(separator: " ")
        return plain.isEmpty ? start : start + " " + plain
    }

    /// Reads a line of authorized_keys without options, or of a `.pub` file.
    package static func parse(line: String) throws(SSHError) -> (key: SSHPublicKey, comment: String) {
        let words = line.split(maxSplits: 2, omittingEmptySubsequences: true) {
            $0 == " " || $0 == "\t" || $0.isNewline
        }
        guard words.count >= 2, let blob = try? Base64.standard.decode(String(words[1])) else {
            throw SSHError(.malformed, at: "public key line")
        }
        let key = try SSHPublicKey(blob: blob)
        guard key.kind.name == words[0] else { throw SSHError(.malformed, at: "kind of the key") }
        let comment = words.count > 2 ? String(words[2]) : ""
        return (key, comment.hasSuffix("\n") ? String(comment.dropLast()) : comment)
    }

    /// `SHA256:` and base64 without padding, as OpenSSH shows keys.
    package var fingerprint: String { Self.fingerprint(ofBlob: blob) }

    /// The fingerprint of any key, also of kinds that are not known here.
    package static func fingerprint(ofBlob blob: [UInt8]) -> String {
        var text = unsafe Base64.standard.encode(HashAlgorithm.sha256.hash(blob.span.bytes))
        while text.last == "=" { text.removeLast() }
        return "SHA256:" + text
    }

    // MARK: Verifying

    /// Whether a signature blob is one of `message` by this key.
    package func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        var reader = SSHReader(signature)
        guard let name = try? reader.text(), let algorithm = SSHSignatureAlgorithm(rawValue: name),
            algorithm.fits(kind), let value = try? reader.string(), reader.leftCount == 0
        else { return false }
        switch material {
        case .ed25519(let key): return ForeignEd25519Key.isValid(value, of: message, by: key)
        case .ecdsa(let key):
            var numbers = SSHReader(value)
            guard let r = try? numbers.number(), let s = try? numbers.number(), numbers.leftCount == 0 else {
                return false
            }
            let byteCount = key.curve.coordinateByteCount
            guard r.count <= byteCount, s.count <= byteCount else { return false }
            let raw =
                [UInt8](repeating: 0, count: byteCount - r.count) + r
                + [UInt8](repeating: 0, count: byteCount - s.count) + s
            guard let der = try? ECDSASignature.derEncoded(fromRaw: raw, curve: key.curve) else { return false }
            return unsafe key.isValidSignature(
                der.span.bytes, digest: algorithm.hash.hash(message.span.bytes).span.bytes)
        case .rsa(let key): return key.isValid(value, of: message, algorithm.hash)
        }
    }
}

/// Turns failures of cryptography into this module's: numbers that are no key.
func inCrypto<Value>(_ value: @autoclosure () throws(CryptoError) -> Value) throws(SSHError) -> Value {
    do throws(CryptoError) {
        return try value()
    } catch {
        throw SSHError(.invalidKey, at: error.place)
    }
}

/// The same for several statements.
func inCrypto<Value>(_ body: () throws(CryptoError) -> Value) throws(SSHError) -> Value {
    try inCrypto(body())
}
