// Apple's ECIES against its vectors: the project's selection always, the full set where it is at hand.

import CoffretBase
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCrypto
@testable import CoffretInterop

@Suite("Apple ECIES vectors")
struct ECIESVectorTests {
    @Test("the project's selection: every case ends as it says")
    func selection() throws { try run(SharedData.ownVectors("apple-ecies")) }

    @Test("the full set: every case ends as it says", .enabled(if: SharedData.isAvailable))
    func full() throws { try run(try #require(SharedData.fullVectors("apple-ecies"))) }

    private func run(_ folder: URL) throws {
        for file in try VectorObject.files(in: folder) {
            let vectors = try VectorObject(contentsOf: file)
            let cases = try vectors.objects("cases")
            #expect(!cases.isEmpty, "\(file.lastPathComponent) holds no case")
            switch try vectors.text("format") {
            case "apple-ecies-valid/1": VectorObject.forEach(cases, valid)
            case "apple-ecies-invalid/1": VectorObject.forEach(cases, invalid)
            case "x963kdf/1": VectorObject.forEach(cases, derivation)
            case let format: Issue.record("nobody reads \(file.lastPathComponent) of format \(format)")
            }
        }
    }

    private func key(_ vector: VectorObject) throws -> SoftwareCurveKey {
        let curve = try #require(Curve(rawValue: vector.text("curve")))
        let key = try SoftwareCurveKey(curve: curve, scalar: vector.hex("private_key_hex"))
        #expect(try key.publicKey.x963Representation == vector.hex("public_key_hex"), "\(vector)")
        return key
    }

    private func valid(_ vector: VectorObject) throws {
        let algorithm = try #require(ECIESAlgorithm(rawValue: vector.text("algorithm")))
        #expect(try algorithm.hash.rawValue == vector.text("kdf_hash"))
        #expect(try algorithm.isVariableIV == vector.bool("variable_iv"))
        let key = try key(vector)
        let plaintext = try vector.hex("plaintext_hex")
        let message = try vector.hex("message_hex")
        #expect(try key.decrypt(message, algorithm: algorithm) == plaintext, "\(vector)")
        guard vector.has("ephemeral_private_key_hex") else { return }
        let ephemeral = try SoftwareCurveKey(curve: key.curve, scalar: vector.hex("ephemeral_private_key_hex"))
        let again = try ECIES.seal(
            plaintext, to: key.key.publicKey, algorithm: algorithm, ephemeral: ephemeral.key)
        #expect(again == message, "\(vector)")
        #expect(
            try key.decrypt(key.publicKey.encrypt(plaintext, algorithm: algorithm), algorithm: algorithm) == plaintext)
    }

    private func invalid(_ vector: VectorObject) throws {
        let algorithm = try #require(ECIESAlgorithm(rawValue: vector.text("algorithm")))
        let key = try key(vector)
        let code = expectFailure(vector) { _ = try key.decrypt(vector.hex("message_hex"), algorithm: algorithm) }
        #expect(code == .authenticationFailed, "\(vector)")
    }

    private func derivation(_ vector: VectorObject) throws {
        let algorithm = try #require(HashAlgorithm(rawValue: vector.text("hash")))
        let secret = try vector.hex("z_hex")
        let info = try vector.hex("shared_info_hex")
        let output = try unsafe makeBytes(byteCount: vector.int("output_length")) { (output) throws(CryptoError) in
            try unsafe X963KDF.derive(algorithm, secret: secret.span.bytes, sharedInfo: info.span.bytes, into: output)
        }
        #expect(try output == vector.hex("output_hex"))
    }
}
