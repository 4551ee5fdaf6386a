// OpenSSH's private key files (PROTOCOL.key of OpenSSH). Invariant: a file is read as a whole or refused, and its
// public half must be that of its private one.

package import CoffretBase
internal import CoffretCrypto

/// Reads and writes `-----BEGIN OPENSSH PRIVATE KEY-----`.
package enum OpenSSHKeyFile {
    private static let beginning = "-----BEGIN OPENSSH PRIVATE KEY-----"
    private static let ending = "-----END OPENSSH PRIVATE KEY-----"
    private static let magic = Array("openssh-key-v1".utf8) + [0]
    /// The longest file: RSA with 8,192 bits has some 6 KiB.
    package static let byteCountMax = 32 << 10
    private static let lineCount = 70
    private static let plainBlockByteCount = 8
    private static let cipherBlockByteCount = 16
    private static let cipherName = "aes256-ctr"

    /// For files that need none.
    package static var noPassphrase: SecretBytes {
        var empty: [UInt8] = []
        return SecretBytes(consuming: &empty)
    }

    /// A key out of a file.
    package struct Contents: Sendable {
        package let key: SSHPrivateKey
        package let comment: String
    }

    /// Whether a text looks like such a file.
    package static func isMeant(by text: [UInt8]) -> Bool {
        text.drop { $0 == 0x0A || $0 == 0x0D || $0 == 0x20 }.starts(with: beginning.utf8)
    }

    /// Reads a file.
    ///
    /// - Parameter text: overwritten by the caller.
    /// - Throws: `SSHError` `.malformed`, `.unsupported`, `.invalidKey`, `.passphraseNeeded`, `.passphraseWrong`,
    ///   `.passphraseUnavailable`.
    package static func parse(_ text: [UInt8], passphrase: borrowing SecretBytes) throws(SSHError) -> Contents {
        var bytes = try unarmored(text)
        defer { bytes.zero() }
        var reader = SSHReader(bytes)
        try reader.take(magic)
        let cipher = try reader.text()
        let derivation = try reader.text()
        let options = try reader.string()
        guard try reader.uint32() == 1 else { throw SSHError(.unsupported, at: "several keys in one file") }
        let publicBlob = try reader.string()
        var sealed = try reader.string()
        defer { sealed.zero() }
        try reader.finish()
        // An unknown kind is told before anybody is asked for a passphrase.
        let publicKey = try SSHPublicKey(blob: publicBlob)
        if cipher != "none" { try open(&sealed, cipher, derivation, options, passphrase) }
        guard cipher == "none" ? derivation == "none" && options.isEmpty : true else {
            throw SSHError(.malformed, at: "key derivation without a cipher")
        }
        do throws(SSHError) {
            let contents = try privatePart(
                sealed, blockByteCount: cipher == "none" ? plainBlockByteCount : cipherBlockByteCount)
            guard contents.key.publicKey == publicKey else { throw SSHError(.invalidKey, at: "public half") }
            return contents
        } catch {
            // Under the wrong passphrase the check numbers differ; anything else would be an odd chance.
            guard cipher != "none", error.place == "check numbers" else { throw error }
            throw SSHError(.passphraseWrong)
        }
    }

    /// Base64 between the two lines.
    private static func unarmored(_ text: [UInt8]) throws(SSHError) -> [UInt8] {
        guard text.count <= byteCountMax, let text = String(validating: text, as: UTF8.self) else {
            throw SSHError(.malformed, at: "size or encoding")
        }
        let lines = text.split(whereSeparator: \.isNewline).map { $0.filter { $0 != " " && $0 != "\t" } }
            .filter { !$0.isEmpty }
        let marks = [beginning, ending].map { $0.filter { $0 != " " } }
        guard lines.count > 2, lines.first == marks[0], lines.last == marks[1],
            let bytes = try? Base64.standard.decode(lines[1..<(lines.count - 1)].joined())
        else { throw SSHError(.malformed, at: "armour") }
        return bytes
    }

    /// Decrypts in place.
    private static func open(
        _ sealed: inout [UInt8], _ cipher: String, _ derivation: String, _ options: [UInt8],
        _ passphrase: borrowing SecretBytes
    ) throws(SSHError) {
        guard cipher == cipherName, derivation == "bcrypt" else {
            throw SSHError(.unsupported, at: "\(cipher.prefix(64)) with \(derivation.prefix(64))")
        }
        guard !sealed.isEmpty, sealed.count % cipherBlockByteCount == 0 else {
            throw SSHError(.malformed, at: "size of the private part")
        }
        var reader = SSHReader(options)
        let salt = try reader.string()
        let roundCount = try reader.uint32()
        try reader.finish()
        guard (1...1_024).contains(salt.count), (1...BcryptPBKDF.roundCountMax).contains(roundCount) else {
            throw SSHError(.unsupported, at: "bcrypt with \(roundCount) rounds")
        }
        guard passphrase.byteCount > 0 else { throw SSHError(.passphraseNeeded) }
        let derived: SecretBytes
        do throws(CryptoError) {
            derived = try BcryptPBKDF.derive(
                passphrase: passphrase, salt: salt, roundCount: roundCount, byteCount: 48)
        } catch {
            throw SSHError(.passphraseUnavailable)
        }
        var plain = [UInt8](repeating: 0, count: sealed.count)
        defer { plain.zero() }
        // EXPOSE: the key to the cipher; the copy is zeroed below.
        var key = unsafe derived.withUnsafeBytes { bytes in unsafe Array(bytes) }
        defer { key.zero() }
        guard decrypt(sealed, into: &plain, key) else { throw SSHError(.malformed, at: "cipher") }
        for index in plain.indices { sealed[index] = plain[index] }
    }

    /// - Parameter key: 32 bytes of key and 16 of counter.
    private static func decrypt(_ sealed: [UInt8], into plain: inout [UInt8], _ key: [UInt8]) -> Bool {
        unsafe key.withUnsafeBytes { key in
            unsafe sealed.withUnsafeBytes { input in
                unsafe plain.withUnsafeMutableBytes { output in
                    let counter = unsafe UnsafeRawBufferPointer(rebasing: key[32...])
                    let cipherKey = unsafe UnsafeRawBufferPointer(rebasing: key[..<32])
                    let status: Void? = unsafe try? AESCTR.apply(
                        to: input, key: cipherKey.bytes, counterBlock: counter.bytes, into: output)
                    return status != nil
                }
            }
        }
    }

    private static func privatePart(_ bytes: [UInt8], blockByteCount: Int) throws(SSHError) -> Contents {
        guard !bytes.isEmpty, bytes.count % blockByteCount == 0 else {
            throw SSHError(.malformed, at: "size of the private part")
        }
        var reader = SSHReader(bytes)
        guard try reader.uint32() == reader.uint32() else { throw SSHError(.malformed, at: "check numbers") }
        let name = try reader.text()
        guard let kind = SSHKeyKind(name: name) else { throw SSHError(.unsupported, at: String(name.prefix(64))) }
        let key: SSHPrivateKey
        switch kind {
        case .ed25519: key = try ed25519(&reader, bytes)
        case .ecdsa(let curve): key = try ecdsa(&reader, bytes, curve)
        case .rsa: key = try rsa(&reader, bytes)
        }
        let comment = String(decoding: try reader.string(), as: UTF8.self)
        var expected: UInt8 = 1
        guard reader.leftCount < blockByteCount else { throw SSHError(.malformed, at: "padding") }
        while reader.leftCount > 0 {
            guard try reader.byte() == expected else { throw SSHError(.malformed, at: "padding") }
            expected += 1
        }
        return Contents(key: key, comment: comment)
    }

    /// Copies secret bytes of a key file into locked memory.
    private static func secret(_ bytes: [UInt8], _ range: Range<Int>) -> SecretBytes {
        unsafe SecretBytes(byteCount: range.count) { target in
            unsafe target.copyBytes(from: bytes[range])
        }
    }

    private static func ed25519(_ reader: inout SSHReader, _ bytes: [UInt8]) throws(SSHError) -> SSHPrivateKey {
        let publicKey = try reader.string()
        let range = try reader.stringRange()
        guard publicKey.count == 32, range.count == 64,
            bytes[range].suffix(32).elementsEqual(publicKey)
        else { throw SSHError(.invalidKey, at: "size of an Ed25519 key") }
        let key = ForeignEd25519Key(seed: secret(bytes, range.lowerBound..<(range.lowerBound + 32)))
        guard key.publicKey == publicKey else { throw SSHError(.invalidKey, at: "public half") }
        return SSHPrivateKey(.ed25519(key))
    }

    private static func ecdsa(
        _ reader: inout SSHReader, _ bytes: [UInt8], _ curve: EllipticCurve
    ) throws(SSHError) -> SSHPrivateKey {
        guard try reader.text() == SSHKeyKind.curveName(curve) else { throw SSHError(.malformed, at: "curve") }
        let point = try reader.string()
        let range = try reader.numberRange()
        let byteCount = curve.coordinateByteCount
        guard range.count <= byteCount else { throw SSHError(.invalidKey, at: "scalar size") }
        var scalar = [UInt8](repeating: 0, count: byteCount - range.count) + bytes[range]
        defer { scalar.zero() }
        let key = try inCrypto(unsafe EllipticCurveKey(curve, scalar: scalar.span.bytes))
        guard key.publicKey.uncompressedPoint == point else { throw SSHError(.invalidKey, at: "public half") }
        return SSHPrivateKey(.ecdsa(key))
    }

    private static func rsa(_ reader: inout SSHReader, _ bytes: [UInt8]) throws(SSHError) -> SSHPrivateKey {
        let modulus = try reader.number()
        let exponent = try reader.number()
        let privateExponent = try reader.numberRange()
        let coefficient = try reader.numberRange()
        let primes = [try reader.numberRange(), try reader.numberRange()]
        let start = privateExponent.lowerBound
        let secrets = secret(bytes, start..<primes[1].upperBound)
        let ranges = [privateExponent, primes[0], primes[1], coefficient].map {
            ($0.lowerBound - start)..<($0.upperBound - start)
        }
        let key = try inCrypto(RSAKey(modulus: modulus, exponent: exponent, secrets: secrets, ranges: ranges))
        return SSHPrivateKey(.rsa(key))
    }

    // MARK: Writing

    /// The file of a key, without a passphrase: the vault is what protects it.
    ///
    /// - Returns: text that the caller overwrites.
    package static func text(of key: SSHPrivateKey, comment: String, random: any RandomSource) -> [UInt8] {
        var part = SSHWriter(capacity: 8_192)
        defer { part.zero() }
        let check = random.bytes(count: 4)
        part.raw(check)
        part.raw(check)
        part.text(key.publicKey.kind.name)
        switch key.material {
        case .ed25519(let key):
            part.string(key.publicKey)
            // EXPOSE: into the key file, which the caller overwrites.
            let expanded = key.duplicateExpanded()
            unsafe expanded.withUnsafeBytes { unsafe part.string($0) }
        case .ecdsa(let key):
            part.text(SSHKeyKind.curveName(key.curve))
            part.string(key.publicKey.uncompressedPoint)
            if let scalar = try? key.scalar() {
                // EXPOSE: as above.
                unsafe scalar.withUnsafeBytes { unsafe part.number($0) }
            }
        case .rsa(let key):
            part.number(key.publicKey.modulus)
            part.number(key.publicKey.exponent)
            unsafe key.withSecretNumbers { numbers in
                for index in [0, 3, 1, 2] { unsafe part.number(numbers[index]) }
            }
        }
        part.text(comment)
        var padding: UInt8 = 1
        while part.bytes.count % plainBlockByteCount != 0 {
            part.byte(padding)
            padding += 1
        }
        var file = SSHWriter(capacity: 16_384)
        defer { file.zero() }
        file.raw(magic)
        file.text("none")
        file.text("none")
        file.text("")
        file.uint32(1)
        file.string(key.publicKey.blob)
        file.string(part.bytes)
        return armored(file.bytes)
    }

    private static func armored(_ bytes: [UInt8]) -> [UInt8] {
        var encoded = Array(Base64.standard.encode(bytes).utf8)
        defer { encoded.zero() }
        var text: [UInt8] = []
        text.reserveCapacity(encoded.count * 2 + 128)
        text += beginning.utf8
        text.append(0x0A)
        var rest = encoded[...]
        while !rest.isEmpty {
            text += rest.prefix(lineCount)
            text.append(0x0A)
            rest = rest.dropFirst(lineCount)
        }
        text += ending.utf8
        text.append(0x0A)
        return text
    }
}
