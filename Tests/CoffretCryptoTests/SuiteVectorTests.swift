// The primitives against other people's vectors: the project's own selection always, the full sets
// where they are at hand.

import CoffretBase
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCrypto

@Suite("Suite vectors")
struct SuiteVectorTests {
    struct Groups<Group: Decodable>: Decodable { let testGroups: [Group] }

    struct AEADGroup: Decodable {
        struct Case: Decodable { let tcId: Int; let key, iv, aad, msg, ct, tag, result: String }
        let ivSize: Int
        let tests: [Case]
    }

    struct SignatureGroup: Decodable {
        struct Key: Decodable { let pk: String }
        struct Case: Decodable { let tcId: Int; let msg, sig, result: String }
        let publicKey: Key
        let tests: [Case]
    }

    struct AgreementGroup: Decodable {
        struct Case: Decodable {
            let tcId: Int
            let `public`, `private`, shared, result: String
            let flags: [String]
        }
        let tests: [Case]
    }

    struct HashFile: Decodable {
        struct Case: Decodable {
            let message_hex, key_hex, digest_hex: String
            let digest_size: Int
            let salt_hex, personalization_hex: String?
        }
        let cases: [Case]
    }

    /// The project's selection and, where present, the full set.
    static func files<Value: Decodable>(_ type: Value.Type, _ own: String, full: String) throws -> [Value] {
        var files = [try VectorFile.decode(type, from: "suite/\(own)")]
        if let url = SharedData.fullVectors(full) {
            files.append(try JSONDecoder().decode(type, from: Data(contentsOf: url)))
        }
        return files
    }

    @Test("BLAKE2b, keyed and not, one-shot and in pieces")
    func blake2b() throws {
        for file in try Self.files(HashFile.self, "blake2b.json", full: "rfc/blake2b.json") {
            var count = 0
            for vector in file.cases {
                let key = try Hex.decode(vector.key_hex)
                guard BLAKE2b.byteCountRange.contains(vector.digest_size), key.isEmpty || key.count >= 16,
                    (vector.salt_hex ?? "").isEmpty, (vector.personalization_hex ?? "").isEmpty
                else { continue }
                count += 1
                let message = try Hex.decode(vector.message_hex)
                var output = [UInt8](repeating: 0, count: vector.digest_size)
                unsafe message.withUnsafeBytes { message in
                    unsafe key.withUnsafeBytes { key in
                        unsafe output.withUnsafeMutableBytes { output in
                            unsafe BLAKE2b.hash(message, key: key.isEmpty ? nil : key, into: output)
                        }
                    }
                }
                #expect(Hex.encode(output) == vector.digest_hex)
                let inPieces = unsafe key.withUnsafeBytes { key in
                    var hasher = unsafe BLAKE2bHasher(byteCount: vector.digest_size, keyBytes: key)
                    for byte in message { hasher.update([byte]) }
                    return hasher.finish()
                }
                #expect(Hex.encode(inPieces) == vector.digest_hex)
            }
            #expect(count > 40)
        }
    }

    @Test("XChaCha20-Poly1305, sealing and opening")
    func xchacha() throws {
        for file in try Self.files(
            Groups<AEADGroup>.self, "xchacha20_poly1305_test.json", full: "wycheproof/xchacha20_poly1305_test.json")
        {
            for group in file.testGroups where group.ivSize == 192 {
                for vector in group.tests { try check(vector) }
            }
        }
    }

    private func check(_ vector: AEADGroup.Case) throws {
        let (key, nonce) = (try Hex.decode(vector.key), try Hex.decode(vector.iv))
        let (associated, message) = (try Hex.decode(vector.aad), try Hex.decode(vector.msg))
        let (ciphertext, tag) = (try Hex.decode(vector.ct), try Hex.decode(vector.tag))
        let sealed = AEADHarness.seal(message, key: key, nonce: nonce, associatedData: associated, .automatic)
        #expect((sealed == ciphertext + tag) == (vector.result == "valid"), "\(vector.tcId)")
        let opened = AEADHarness.open(ciphertext + tag, key: key, nonce: nonce, associatedData: associated, .automatic)
        #expect(opened == (vector.result == "valid" ? message : nil), "\(vector.tcId)")
    }

    @Test("Ed25519 verification, malleable and small-order cases included")
    func ed25519() throws {
        for file in try Self.files(
            Groups<SignatureGroup>.self, "ed25519_test.json", full: "wycheproof/ed25519_test.json")
        {
            for group in file.testGroups {
                let key = try VerifyingKey(try Hex.decode(group.publicKey.pk))
                for vector in group.tests {
                    let (signature, message) = (try Hex.decode(vector.sig), try Hex.decode(vector.msg))
                    let isValid = (try? key.verifyRaw(signature, over: message)) != nil
                    #expect(isValid == (vector.result == "valid"), "\(vector.tcId)")
                }
            }
        }
    }

    @Test("X25519 agreement; results of all zeros are refused")
    func x25519() throws {
        for file in try Self.files(Groups<AgreementGroup>.self, "x25519_test.json", full: "wycheproof/x25519_test.json")
        {
            for group in file.testGroups {
                for vector in group.tests {
                    var secret = try Hex.decode(vector.private)
                    let key = AgreementKey(SecretBytes(consuming: &secret))
                    let other = try AgreementPublicKey(try Hex.decode(vector.public))
                    let isZero = vector.shared.allSatisfy { $0 == "0" }
                    do throws(CryptoError) {
                        let shared = try key.sharedSecret(with: other)
                        let hex = unsafe shared.withUnsafeBytes { unsafe Hex.encode($0) }
                        #expect(hex == vector.shared && !isZero, "\(vector.tcId)")
                    } catch {
                        #expect(isZero, "\(vector.tcId)")
                    }
                }
            }
        }
    }
}

/// The AEAD over arrays, for tests only.
enum AEADHarness {
    enum Way { case automatic, sodium, openSSL }

    static func seal(
        _ message: [UInt8], key: [UInt8], nonce: [UInt8], associatedData: [UInt8], _ way: Way
    ) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: message.count + 16)
        unsafe key.withUnsafeBytes { key in
            unsafe nonce.withUnsafeBytes { nonce in
                unsafe associatedData.withUnsafeBytes { associated in
                    unsafe message.withUnsafeBytes { message in
                        unsafe output.withUnsafeMutableBytes { output in
                            let body = unsafe UnsafeMutableRawBufferPointer(rebasing: output[..<message.count])
                            let tag = unsafe UnsafeMutableRawBufferPointer(rebasing: output[message.count...])
                            switch way {
                            case .automatic:
                                unsafe XChaCha20Poly1305.seal(
                                    message, key: key, nonce: nonce, associatedData: associated, ciphertext: body,
                                    tag: tag)
                            case .sodium:
                                unsafe XChaCha20Poly1305.sealWithSodium(
                                    message, key: key, nonce: nonce, associatedData: associated, ciphertext: body,
                                    tag: tag)
                            case .openSSL:
                                unsafe XChaCha20Poly1305.sealWithOpenSSL(
                                    message, key: key, nonce: nonce, associatedData: associated, ciphertext: body,
                                    tag: tag)
                            }
                        }
                    }
                }
            }
        }
        return output
    }

    /// The message, or nil if it does not authenticate; then the output must be zeros.
    static func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], associatedData: [UInt8], _ way: Way
    ) -> [UInt8]? {
        guard sealed.count >= 16 else { return nil }
        var output = [UInt8](repeating: 0xAA, count: sealed.count - 16)
        let isOpen = unsafe key.withUnsafeBytes { key in
            unsafe nonce.withUnsafeBytes { nonce in
                unsafe associatedData.withUnsafeBytes { associated in
                    unsafe sealed.withUnsafeBytes { sealed in
                        unsafe output.withUnsafeMutableBytes { output in
                            let body = unsafe UnsafeRawBufferPointer(rebasing: sealed[..<output.count])
                            let tag = unsafe UnsafeRawBufferPointer(rebasing: sealed[output.count...])
                            do throws(CryptoError) {
                                switch way {
                                case .automatic:
                                    try unsafe XChaCha20Poly1305.open(
                                        body, tag: tag, key: key, nonce: nonce, associatedData: associated,
                                        message: output)
                                case .sodium:
                                    try unsafe XChaCha20Poly1305.openWithSodium(
                                        body, tag: tag, key: key, nonce: nonce, associatedData: associated,
                                        message: output)
                                case .openSSL:
                                    try unsafe XChaCha20Poly1305.openWithOpenSSL(
                                        body, tag: tag, key: key, nonce: nonce, associatedData: associated,
                                        message: output)
                                }
                                return true
                            } catch {
                                return false
                            }
                        }
                    }
                }
            }
        }
        if !isOpen { #expect(output.allSatisfy { $0 == 0 }, "a failed opening left bytes behind") }
        return isOpen ? output : nil
    }
}
