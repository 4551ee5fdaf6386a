// Keys, derivations, signatures and passphrases.

import CoffretBase
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCrypto

@Suite("Keys")
struct KeyTests {
    private func bytes<Purpose>(_ key: SymmetricKey<Purpose>) -> [UInt8] {
        unsafe key.withUnsafeBytes { unsafe [UInt8]($0) }
    }

    @Test("R16: context labels are unique, prefix-free ASCII")
    func labels() {
        let labels = Context.allCases.map(\.rawValue)
        for (index, label) in labels.enumerated() {
            #expect(label.utf8.allSatisfy { 0x21...0x7E ~= $0 })
            for (other, longer) in labels.enumerated() where other != index {
                #expect(!longer.hasPrefix(label), "\(label) is a prefix of \(longer)")
            }
        }
    }

    @Test("a derivation is the hash that the specification writes down")
    func derivation() {
        var secret = [UInt8](0..<32)
        let key = VaultKey(SecretBytes(consuming: &secret))
        let derived: BlobKey = KDF.derive(from: key, .blob, [1, 2], [])
        var expected = [UInt8](repeating: 0, count: 32)
        let message = Array("coffret/1/blob".utf8) + [0] + [0, 0, 0, 2, 1, 2] + [0, 0, 0, 0]
        unsafe message.withUnsafeBytes { message in
            unsafe [UInt8](0..<32).withUnsafeBytes { key in
                unsafe expected.withUnsafeMutableBytes { unsafe BLAKE2b.hash(message, key: key, into: $0) }
            }
        }
        #expect(bytes(derived) == expected)
        // Parts are told apart from their concatenation.
        let joined: BlobKey = KDF.derive(from: key, .blob, [1], [2])
        #expect(bytes(joined) != bytes(derived))
    }

    @Test("descriptions of keys show their purpose only")
    func redaction() {
        let generator = SeededGenerator.fromEnvironment()
        let key = BlobKey.generate(from: generator)
        #expect("\(key)" == "blob key (redacted)")
        #expect(String(reflecting: SigningKey.generate(from: generator)) == "signing key (redacted)")
        var text = ""
        dump(key, to: &text)
        #expect(!text.contains("secret"))
    }

    @Test("R16: a signature holds in its context, scope and message only")
    func signatures() throws {
        let generator = SeededGenerator.fromEnvironment()
        let key = SigningKey.generate(from: generator)
        let signature = key.sign(.link, scope: [1], message: [2])
        try key.verifyingKey.verify(signature, .link, scope: [1], message: [2])
        let failed = CryptoError(.authenticationFailed)
        #expect(throws: failed) { try key.verifyingKey.verify(signature, .commit, scope: [1], message: [2]) }
        #expect(throws: failed) { try key.verifyingKey.verify(signature, .link, scope: [], message: [1, 2]) }
        #expect(throws: failed) { try key.verifyingKey.verify(signature, .link, scope: [1], message: [3]) }
        withEveryFlippedBit(signature) { changed, bit in
            #expect(throws: failed, "bit \(bit)") {
                try key.verifyingKey.verify(changed, .link, scope: [1], message: [2])
            }
        }
    }

    @Test("public keys of small order, not canonical or off the curve are refused")
    func badVerifyingKeys() {
        let bad = [
            "0100000000000000000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            // y = 1 + p, the identity in a second encoding.
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "0200000000000000000000000000000000000000000000000000000000000000",
        ]
        for hex in bad {
            #expect(throws: CryptoError.self, "\(hex)") { try VerifyingKey(try Hex.decode(hex)) }
        }
        #expect(throws: CryptoError.self) { try VerifyingKey([1, 2, 3]) }
    }

    @Test("addresses are AES-128-CBC of the name, as OpenSSL's own CBC computes it")
    func addresses() throws {
        // Computed with `openssl enc -aes-128-cbc -nopad`, key 10...1f, vector 00...0f, input 80...9f.
        var secret = [UInt8](0..<32)
        let cipher = AddressCipher(AddressKey(SecretBytes(consuming: &secret)))
        let address = cipher.address(ofName: [UInt8](0x80..<0xA0))
        #expect(Hex.encode(address) == "38a8fd08bb8d0e9fc008a1cbe33080892b95f7fc8ec655172a2511879f0f7b1e")
        #expect(cipher.address(ofName: [UInt8](0x80..<0xA0)) == address, "no state is kept between addresses")
    }

    @Test("secret boxes open with their nonce only; the nonce comes from the name")
    func secretBox() throws {
        let generator = SeededGenerator.fromEnvironment()
        let keys = EpochKeys(
            epoch: 1, vaultKey: .generate(from: generator), vaultID: try #require(VaultID(generator.bytes(count: 32))))
        let message = generator.bytes(count: 500)
        var nonce = [UInt8](repeating: 0, count: 24)
        var sealed = [UInt8](repeating: 0, count: 516)
        let name = BLAKE2b.hash(message)
        unsafe name.withUnsafeBytes { name in
            unsafe nonce.withUnsafeMutableBytes {
                unsafe SecretBox.deriveNonce(ofName: name, key: keys.nonceKey, into: $0)
            }
        }
        unsafe message.withUnsafeBytes { message in
            unsafe nonce.withUnsafeBytes { nonce in
                unsafe sealed.withUnsafeMutableBytes {
                    unsafe SecretBox.seal(message, key: keys.blobKey, nonce: nonce, into: $0)
                }
            }
        }
        func open(_ sealed: [UInt8]) -> [UInt8]? {
            var output = [UInt8](repeating: 0, count: 500)
            let isOpen = unsafe sealed.withUnsafeBytes { sealed in
                unsafe nonce.withUnsafeBytes { nonce in
                    unsafe output.withUnsafeMutableBytes { output in
                        (try? unsafe SecretBox.open(sealed, key: keys.blobKey, nonce: nonce, into: output)) != nil
                    }
                }
            }
            return isOpen ? output : nil
        }
        #expect(open(sealed) == message)
        withEveryFlippedBit(sealed) { changed, bit in #expect(open(changed) == nil, "bit \(bit)") }
    }

    @Test("the two ways of XChaCha20-Poly1305 give the same bytes and open each other's")
    func fastPath() {
        forAll(count: 60) { generator in
            let key = generator.bytes(count: 32)
            let nonce = generator.bytes(count: 24)
            let associated = generator.bytes(count: 0...40)
            let message = generator.bytes(count: generator.bool() ? 0...200 : 0...9_000)
            func seal(_ way: AEADHarness.Way) -> [UInt8] {
                AEADHarness.seal(message, key: key, nonce: nonce, associatedData: associated, way)
            }
            func open(_ sealed: [UInt8], _ way: AEADHarness.Way) -> [UInt8]? {
                AEADHarness.open(sealed, key: key, nonce: nonce, associatedData: associated, way)
            }
            let sealed = seal(.sodium)
            try require(seal(.openSSL) == sealed && seal(.automatic) == sealed)
            try require(open(sealed, .openSSL) == message && open(sealed, .sodium) == message)
            var changed = sealed
            changed[generator.int(in: 0...changed.count - 1)] ^= 1 << UInt8(generator.int(in: 0...7))
            try require(
                open(changed, .openSSL) == nil && open(changed, .sodium) == nil && open(changed, .automatic) == nil)
        }
    }

    @Test("padding: sizes never shrink, follow the classes, and stay within 12 percent above them")
    func padding() {
        for (size, padded) in [(0, 192), (192, 192), (193, 320), (320, 320), (321, 448), (448, 448), (449, 464)] {
            #expect(Padding.paddedByteCount(size) == padded)
        }
        // The paper's example: 9 stays within 10, padmé of 1000 is 1024 at 6 upper bits.
        #expect(Padding.padme(9) == 10 && Padding.padme(1_000) == 1_024)
        forAll { generator in
            let size = generator.int(in: 449...1 << 24)
            let padded = Padding.paddedByteCount(size)
            try require(padded >= size && padded * 100 <= size * 112)
            try require(Padding.paddedByteCount(padded) == padded, "a padded size is its own class")
        }
    }
}

@Suite("Passphrases")
struct PassphraseTests {
    private func bytes(_ passphrase: Passphrase) -> [UInt8] {
        unsafe passphrase.withUnsafeBytes { unsafe [UInt8]($0) }
    }

    private func typed(_ text: String) throws -> [UInt8] {
        var bytes = Array(text.utf8)
        return self.bytes(try Passphrase(typed: &bytes))
    }

    @Test("composed and decomposed forms give the same bytes")
    func normalisation() throws {
        for (one, other) in [
            ("caf\u{E9}", "cafe\u{301}"), ("\u{AC01}", "\u{1100}\u{1161}\u{11A8}"), ("\u{212B}", "A\u{30A}"),
            ("\u{1E0B}\u{323}", "d\u{323}\u{307}"),
        ] {
            #expect(try typed(one) == typed(other))
        }
        #expect(try typed("cafe\u{301}") == Array("caf\u{E9}".utf8))
        #expect(try typed("\u{1E0B}\u{323}") == Array("\u{1E0D}\u{307}".utf8))
        #expect(try typed("\u{FB01}") == Array("\u{FB01}".utf8), "form C keeps compatibility characters")
    }

    @Test("one line end is dropped from files, and none from what is typed")
    func lineEnds() throws {
        for (content, expected) in [("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("a\r", "a\r"), (" a ", " a ")] {
            var bytes = Array(content.utf8)
            #expect(try self.bytes(Passphrase(fileContent: &bytes)) == Array(expected.utf8))
            #expect(bytes.allSatisfy { $0 == 0 }, "the input is zeroed")
        }
        #expect(try typed("a\n") == Array("a\n".utf8))
    }

    @Test("what is empty, too long, not UTF-8 or holds a zero byte is refused")
    func refused() {
        for content in [[], [0x0A], [0xFF, 0xFE], [0x61, 0x00], [UInt8](repeating: 0x61, count: 4_097)] as [[UInt8]] {
            var bytes = content
            #expect(throws: CryptoError(.invalidPassphrase)) { try Passphrase(fileContent: &bytes) }
        }
    }

    @Test("R13: parameters outside the bounds are refused before anything is derived")
    func policy() throws {
        var bytes = Array("passphrase".utf8)
        let passphrase = try Passphrase(typed: &bytes)
        let salt = [UInt8](repeating: 1, count: 16)
        for (memory, passes, salt) in [
            (65_535, 3, salt), (1_048_577, 3, salt), (65_536, 2, salt), (65_536, 17, salt),
            (65_536, 3, Array(salt.dropLast())), (UInt32.max, UInt32.max, salt), (0, 0, []),
        ] as [(UInt32, UInt32, [UInt8])] {
            let parameters = PasswordParameters(memoryKibibytes: memory, passCount: passes, salt: salt)
            let (_, seconds) = ProcessorTime.measure {
                let error = #expect(throws: CryptoError.self) { _ = try parameters.deriveSecret(from: passphrase) }
                #expect(error?.code == .passwordPolicy)
            }
            #expect(seconds < 0.05)
        }
    }

    @Test("Argon2id at the floor gives what the reference implementation gives")
    func argon2id() throws {
        var bytes = Array("correct horse".utf8)
        let passphrase = try Passphrase(typed: &bytes)
        let parameters = PasswordParameters(memoryKibibytes: 65_536, passCount: 3, salt: [UInt8](0..<16))
        let secret = try parameters.deriveSecret(from: passphrase)
        #expect(
            unsafe secret.withUnsafeBytes { unsafe Hex.encode($0) }
                == "e3c889ca40ed01e6b6771fc8a5bf16e35ad60b41c9bd5d7e6d63adf51e50b0fd")
    }
}

@Suite("Registry of contexts")
struct ContextTests {
    @Test("Spec/contexts.md lists exactly the labels of the sources")
    func contexts() throws {
        let page = try String(
            contentsOf: SharedData.packageRoot.appendingPathComponent("Spec/contexts.md"), encoding: .utf8)
        var listed: [String] = []
        for line in page.split(separator: "\n") where line.hasPrefix("| `") {
            listed.append(String(line.split(separator: "`")[1]))
        }
        #expect(listed.sorted() == Context.allCases.map(\.rawValue).sorted())
    }
}
