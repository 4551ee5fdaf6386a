// The primitives over OpenSSL against Wycheproof and the standards' own examples.

import CoffretBase
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCrypto

/// Hands the bytes of a test's own array to an API that takes a raw buffer to write to.
func written(_ byteCount: Int, _ body: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows -> [UInt8] {
    var bytes = [UInt8](repeating: 0xEE, count: byteCount)
    try unsafe bytes.withUnsafeMutableBytes { try unsafe body($0) }
    return bytes
}

@Suite("Primitives over OpenSSL")
struct OpenSSLVectorTests {
    /// Runs one test of a file, and says whether it succeeded; nil for a file of another part of the module.
    private func run(_ file: String, _ group: VectorObject, _ test: VectorObject) throws -> Bool? {
        switch file {
        case "aes_gcm_test":
            try unsafe aead(group, test) {
                try unsafe AESGCM.seal($0, key: $1, nonce: $2, additionalData: $3, ciphertext: $4, tag: $5)
            } open: {
                try unsafe AESGCM.open($0, tag: $1, key: $2, nonce: $3, additionalData: $4, plaintext: $5)
            }
        case "chacha20_poly1305_test":
            try unsafe aead(group, test) {
                try unsafe ChaCha20Poly1305.seal($0, key: $1, nonce: $2, additionalData: $3, ciphertext: $4, tag: $5)
            } open: {
                try unsafe ChaCha20Poly1305.open($0, tag: $1, key: $2, nonce: $3, additionalData: $4, plaintext: $5)
            }
        case "ecdh_secp256r1_ecpoint_test": try agreement(.p256, test)
        case "ecdh_secp384r1_ecpoint_test": try agreement(.p384, test)
        case "ecdh_secp521r1_ecpoint_test": try agreement(.p521, test)
        case "ecdsa_secp256r1_sha256_test": try signature(group, test, isRaw: false)
        case "ecdsa_secp256r1_sha256_p1363_test": try signature(group, test, isRaw: true)
        case "hkdf_sha256_test": try derivation(group, test)
        default: nil
        }
    }

    @Test("Wycheproof, the project's selection: every test ends as it says")
    func wycheproofSelection() throws {
        try wycheproof(SharedData.ownVectors("wycheproof"))
    }

    @Test("Wycheproof, the full set: every test ends as it says", .enabled(if: SharedData.isAvailable))
    func wycheproofFull() throws {
        try wycheproof(try #require(SharedData.fullVectors("wycheproof")))
    }

    private func wycheproof(_ folder: URL) throws {
        var fileCount = 0
        for file in try VectorObject.files(in: folder) {
            var testCount = 0
            for group in try VectorObject(contentsOf: file).objects("testGroups") {
                for test in try group.objects("tests") {
                    let name = file.deletingPathExtension().lastPathComponent
                    guard let isGood = try run(name, group, test) else { continue }
                    testCount += 1
                    let result = try test.text("result")
                    if result != "acceptable" {
                        #expect(isGood == (result == "valid"), "\(file.lastPathComponent) \(test)")
                    }
                }
            }
            if testCount > 0 { fileCount += 1 }
        }
        #expect(fileCount == 8)
    }

    typealias Seal = (
        UnsafeRawBufferPointer, RawSpan, RawSpan, RawSpan, UnsafeMutableRawBufferPointer, UnsafeMutableRawBufferPointer
    ) throws -> Void
    typealias Open = (
        UnsafeRawBufferPointer, UnsafeRawBufferPointer, RawSpan, RawSpan, RawSpan, UnsafeMutableRawBufferPointer
    ) throws -> Void

    private func aead(_ group: VectorObject, _ test: VectorObject, seal: Seal, open: Open) throws -> Bool {
        let key = try test.hex("key")
        let nonce = try test.hex("iv")
        let data = try test.hex("aad")
        let message = try test.hex("msg")
        let ciphertext = try test.hex("ct")
        let tag = try test.hex("tag")
        // OpenSSL takes nonces of at most 128 bytes; we refuse longer ones and say so.
        if nonce.count > 128 {
            #expect(throws: CryptoError.self) {
                _ = try unsafe written(16) { tag in
                    try unsafe seal(
                        UnsafeRawBufferPointer(start: nil, count: 0), key.span.bytes, nonce.span.bytes, data.span.bytes,
                        UnsafeMutableRawBufferPointer(start: nil, count: 0), tag)
                }
            }
            return try test.text("result") == "valid"
        }
        let opened: [UInt8]?
        do {
            opened = try unsafe written(ciphertext.count) { output in
                do {
                    try unsafe ciphertext.withUnsafeBytes { input in
                        try unsafe tag.withUnsafeBytes {
                            try unsafe open(input, $0, key.span.bytes, nonce.span.bytes, data.span.bytes, output)
                        }
                    }
                } catch let error as CryptoError where error == CryptoError(.authenticationFailed) {
                    // No plaintext is left behind.
                    #expect(unsafe output.allSatisfy { $0 == 0 })
                    throw error
                }
            }
        } catch is CryptoError {
            return false
        }
        #expect(opened == message, "\(test)")
        var sealedTag = [UInt8](repeating: 0, count: 16)
        let sealed = try unsafe written(message.count) { output in
            try unsafe message.withUnsafeBytes { input in
                try unsafe sealedTag.withUnsafeMutableBytes {
                    try unsafe seal(input, key.span.bytes, nonce.span.bytes, data.span.bytes, output, $0)
                }
            }
        }
        #expect(sealed == ciphertext && sealedTag == tag, "\(test)")
        return true
    }

    private func agreement(_ curve: EllipticCurve, _ test: VectorObject) throws -> Bool {
        let significant = try test.hex("private").drop { $0 == 0 }
        let scalar = [UInt8](repeating: 0, count: max(0, curve.coordinateByteCount - significant.count)) + significant
        let point = try test.hex("public")
        let expected = try test.hex("shared")
        do {
            let key = unsafe try EllipticCurveKey(curve, scalar: scalar.span.bytes)
            let peer = unsafe try EllipticCurvePublicKey(curve, point: point.span.bytes, allowingCompressed: true)
            var shared = [UInt8](repeating: 0, count: curve.coordinateByteCount)
            try unsafe shared.withUnsafeMutableBytes { try unsafe key.sharedSecret(with: peer, into: $0) }
            return shared == expected
        } catch let error as CryptoError {
            #expect(error == CryptoError(.invalidKey, at: "point") || error.place == "scalar range", "\(error)")
            return false
        }
    }

    private func signature(_ group: VectorObject, _ test: VectorObject, isRaw: Bool) throws -> Bool {
        let point = try group.object("publicKey").hex("uncompressed")
        let key = unsafe try EllipticCurvePublicKey(.p256, point: point.span.bytes)
        let message = try test.hex("msg")
        let digest = unsafe HashAlgorithm.sha256.hash(message.span.bytes)
        var signature = try test.hex("sig")
        if isRaw {
            guard let encoded = try? ECDSASignature.derEncoded(fromRaw: signature, curve: .p256) else { return false }
            signature = encoded
        }
        return unsafe key.isValidSignature(signature.span.bytes, digest: digest.span.bytes)
    }

    private func derivation(_ group: VectorObject, _ test: VectorObject) throws -> Bool {
        let material = try test.hex("ikm")
        let salt = try test.hex("salt")
        let info = try test.hex("info")
        let byteCount = try test.int("size")
        let output = try? unsafe written(byteCount) { output in
            try unsafe HKDF.derive(
                .sha256, inputKeyMaterial: material.span.bytes, salt: salt.span.bytes, info: info.span.bytes,
                into: output)
        }
        guard let output else { return false }
        return try output == test.hex("okm")
    }

    @Test("digests, codes and stretched passwords are those of the standards")
    func hashes() throws {
        let folder = SharedData.ownVectors("crypto")
        func algorithm(_ object: VectorObject) throws -> HashAlgorithm {
            try #require(HashAlgorithm(rawValue: object.text("hash")))
        }
        for test in try VectorObject(contentsOf: folder.appendingPathComponent("sha.json")).objects("cases") {
            let message = try test.hex("message_hex")
            #expect(try unsafe algorithm(test).hash(message.span.bytes) == test.hex("digest_hex"))
        }
        for test in try VectorObject(contentsOf: folder.appendingPathComponent("hmac.json")).objects("cases") {
            let key = try test.hex("key_hex")
            let message = try test.hex("message_hex")
            let code = unsafe try HMAC.authenticationCode(
                algorithm(test), key: key.span.bytes, message: message.span.bytes)
            #expect(code == (try test.hex("code_hex")))
        }
        for test in try VectorObject(contentsOf: folder.appendingPathComponent("pbkdf2.json")).objects("cases") {
            let password = try test.hex("password_hex")
            let salt = try test.hex("salt_hex")
            let expected = try test.hex("output_hex")
            let output = try unsafe written(expected.count) { output in
                try unsafe PBKDF2.derive(
                    algorithm(test), password: password.span.bytes, salt: salt.span.bytes,
                    iterationCount: test.int("iterations"), into: output)
            }
            #expect(output == expected)
        }
    }

    @Test("sizes that an algorithm does not have are refused", arguments: [0, 15, 17, 31, 33, 64])
    func wrongKeySizes(byteCount: Int) {
        let key = [UInt8](repeating: 1, count: byteCount)
        let nonce = [UInt8](repeating: 2, count: 12)
        let empty = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        let nothing = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
        #expect(throws: CryptoError(.invalidKey, at: "aes key size")) {
            _ = try unsafe written(16) {
                try unsafe AESGCM.seal(
                    empty, key: key.span.bytes, nonce: nonce.span.bytes, additionalData: RawSpan(), ciphertext: nothing,
                    tag: $0)
            }
        }
        #expect(throws: CryptoError(.invalidKey, at: "cipher key size")) {
            _ = try unsafe written(16) {
                try unsafe ChaCha20Poly1305.seal(
                    empty, key: key.span.bytes, nonce: nonce.span.bytes, additionalData: RawSpan(), ciphertext: nothing,
                    tag: $0)
            }
        }
        #expect(throws: CryptoError(.invalidParameter, at: "hkdf output size")) {
            try unsafe HKDF.derive(
                .sha256, inputKeyMaterial: key.span.bytes, salt: RawSpan(), info: RawSpan(), into: nothing)
        }
        #expect(throws: CryptoError(.invalidParameter, at: "pbkdf2")) {
            _ = try unsafe written(4) {
                try unsafe PBKDF2.derive(
                    .sha1, password: key.span.bytes, salt: RawSpan(), iterationCount: 1 << 31, into: $0)
            }
        }
    }

    @Test("a generated key agrees, signs and survives export", arguments: EllipticCurve.allCases)
    func curveRoundTrip(curve: EllipticCurve) throws {
        let one = try EllipticCurveKey.generate(curve)
        let other = try EllipticCurveKey.generate(curve)
        let first = try unsafe written(curve.coordinateByteCount) {
            try unsafe one.sharedSecret(with: other.publicKey, into: $0)
        }
        let second = try unsafe written(curve.coordinateByteCount) {
            try unsafe other.sharedSecret(with: one.publicKey, into: $0)
        }
        #expect(first == second)
        let scalar = try one.scalar()
        let again = try unsafe scalar.withUnsafeBytes { try unsafe EllipticCurveKey(curve, scalar: $0.bytes) }
        #expect(again.publicKey == one.publicKey)
        let compressed = one.publicKey.compressedPoint
        #expect(
            unsafe try EllipticCurvePublicKey(curve, point: compressed.span.bytes, allowingCompressed: true)
                == one.publicKey)
        #expect(throws: CryptoError(.invalidKey, at: "point")) {
            _ = unsafe try EllipticCurvePublicKey(curve, point: compressed.span.bytes)
        }
        let digest = SystemRandomSource().bytes(count: 32)
        let signature = try unsafe one.signature(digest: digest.span.bytes)
        #expect(unsafe one.publicKey.isValidSignature(signature.span.bytes, digest: digest.span.bytes))
        withEveryFlippedBit(signature) { changed, bit in
            #expect(unsafe !one.publicKey.isValidSignature(changed.span.bytes, digest: digest.span.bytes), "bit \(bit)")
        }
        #expect(unsafe !other.publicKey.isValidSignature(signature.span.bytes, digest: digest.span.bytes))
    }

    @Test("nonces never repeat, whichever thread asks, and however many")
    func noncePool() async {
        let nonces = await withTaskGroup(of: [[UInt8]].self) { group in
            for _ in 0..<4 {
                group.addTask { (0..<5_000).map { _ in NoncePool.shared.bytes(count: 12) } }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(nonces).count == 20_000)
        #expect(Set((0..<100).map { _ in NoncePool.shared.bytes(count: 100) }).count == 100)
    }
}
