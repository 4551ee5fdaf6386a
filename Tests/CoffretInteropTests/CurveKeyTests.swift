// Keys on NIST curves: external forms, what is supported, signatures, and private keys that live elsewhere.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretCrypto
@testable import CoffretInterop

/// A private key that answers like some hardware: the coordinate without its leading zeros, or not at all.
struct ForeignHomeKey: CurvePrivateKey {
    enum Answer { case withoutLeadingZeros, nothing, neverCalls, tooLong }
    let inner: SoftwareCurveKey
    let answer: Answer
    var publicKey: CurvePublicKey { inner.publicKey }

    func withSharedSecret(
        with point: CurvePublicKey, _ body: (RawSpan) throws(InteropError) -> Void
    ) throws(InteropError) {
        if answer == .nothing { throw InteropError(.keyUnavailable, at: "unplugged") }
        if answer == .neverCalls { return }
        var copy: [UInt8] = []
        try inner.withSharedSecret(with: point) { (secret) throws(InteropError) in
            copy = unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) }
        }
        let answered = answer == .tooLong ? [0] + copy : Array(copy.drop { $0 == 0 })
        try unsafe body(answered.span.bytes)
    }

    func signature(ofDigest digest: [UInt8]) throws(InteropError) -> [UInt8] {
        try inner.signature(ofDigest: digest)
    }

    func supports(_ operation: CurveOperation, _ algorithm: CurveAlgorithm) -> Bool {
        operation == .decrypt && algorithm == .ecies(.recommended)
    }
}

@Suite("Keys on NIST curves")
struct CurveKeyTests {
    @Test("there are 18 names of ECIES, and a name leads back to its algorithm")
    func names() {
        #expect(ECIESAlgorithm.allCases.count == 18)
        #expect(ECIESAlgorithm.allCases.filter(\.isVariableIV).count == 8)
        for algorithm in ECIESAlgorithm.allCases {
            #expect(CurveAlgorithm(name: algorithm.rawValue) == .ecies(algorithm))
            #expect(algorithm.rawValue.contains(algorithm.hash.rawValue.filter { $0 != "-" }))
        }
        for algorithm in ECDSAAlgorithm.allCases {
            #expect(CurveAlgorithm(name: algorithm.rawValue) == .ecdsa(algorithm))
            if let hash = algorithm.hash { #expect(algorithm.rawValue.hasSuffix(hash.rawValue.filter { $0 != "-" })) }
        }
        #expect(CurveAlgorithm(name: "rsaEncryptionPKCS1") == nil)
    }

    @Test("public keys encrypt and verify, private ones decrypt and sign")
    func support() throws {
        let key = try SoftwareCurveKey.generate()
        for algorithm in ECIESAlgorithm.allCases.map({ CurveAlgorithm.ecies($0) }) {
            #expect(CurveOperation.allCases.filter { key.publicKey.supports($0, algorithm) } == [.encrypt])
            #expect(CurveOperation.allCases.filter { key.supports($0, algorithm) } == [.decrypt])
        }
        for algorithm in ECDSAAlgorithm.allCases.map({ CurveAlgorithm.ecdsa($0) }) {
            #expect(CurveOperation.allCases.filter { key.publicKey.supports($0, algorithm) } == [.verify])
            #expect(CurveOperation.allCases.filter { key.supports($0, algorithm) } == [.sign])
        }
    }

    @Test(
        "all 18 algorithms seal and open on all curves, and none opens what another hash or IV made",
        arguments: Curve.allCases)
    func allAlgorithms(curve: Curve) throws {
        let key = try SoftwareCurveKey.generate(curve)
        let plaintext = Array("to the enclave".utf8)
        for algorithm in ECIESAlgorithm.allCases {
            let message = try key.publicKey.encrypt(plaintext, algorithm: algorithm)
            #expect(message.count == 1 + 2 * curve.coordinateByteCount + plaintext.count + 16)
            for other in ECIESAlgorithm.allCases {
                let isSame = other.hash == algorithm.hash && other.isVariableIV == algorithm.isVariableIV
                #expect((try? key.decrypt(message, algorithm: other)) == (isSame ? plaintext : nil))
            }
        }
    }

    @Test("R14: every flipped bit of a message fails with one error", arguments: Curve.allCases)
    func flippedBits(curve: Curve) throws {
        let key = try SoftwareCurveKey.generate(curve)
        let message = try key.publicKey.encrypt([1, 2, 3])
        withEveryFlippedBit(message) { changed, bit in
            #expect(throws: InteropError(.authenticationFailed), "bit \(bit)") { try key.decrypt(changed) }
        }
        for byteCount in 0..<message.count {
            #expect(throws: InteropError(.authenticationFailed)) { try key.decrypt(Array(message[..<byteCount])) }
        }
        #expect(throws: InteropError(.authenticationFailed)) { try key.decrypt(message + [0]) }
        let other = try SoftwareCurveKey.generate(curve)
        #expect(throws: InteropError(.authenticationFailed)) { try other.decrypt(message) }
    }

    @Test("a key elsewhere opens messages, padded or not, and says when it cannot")
    func foreignHome() throws {
        // One message in 256 has a shared secret with a leading zero; this many almost surely hold some.
        let inner = try SoftwareCurveKey.generate()
        let key = ForeignHomeKey(inner: inner, answer: .withoutLeadingZeros)
        for _ in 0..<1_000 {
            #expect(try key.decrypt(inner.publicKey.encrypt([7])) == [7])
        }
        let message = try inner.publicKey.encrypt([7])
        for answer in [ForeignHomeKey.Answer.nothing, .neverCalls, .tooLong] {
            let error = #expect(throws: InteropError.self) {
                try ForeignHomeKey(inner: inner, answer: answer).decrypt(message)
            }
            #expect(error?.code == .keyUnavailable)
        }
        #expect(throws: InteropError(.unsupported, at: "sign")) { try key.sign([1]) }
        #expect(throws: InteropError(.unsupported, at: "decrypt")) {
            try key.decrypt(message, algorithm: .eciesEncryptionCofactorX963SHA1AESGCM)
        }
    }

    @Test("signatures over messages and over digests verify, and only as what they are", arguments: Curve.allCases)
    func signatures(curve: Curve) throws {
        let key = try SoftwareCurveKey.generate(curve)
        let message = Array("signed".utf8)
        for algorithm in ECDSAAlgorithm.allCases {
            let data =
                algorithm.hashesMessage
                ? message : SystemRandomSource().bytes(count: algorithm.hash?.digestByteCount ?? 20)
            let signature = try key.sign(data, algorithm: algorithm)
            try key.publicKey.verify(signature, of: data, algorithm: algorithm)
            #expect(throws: InteropError(.authenticationFailed)) {
                try key.publicKey.verify(signature, of: data.map { $0 ^ 1 }, algorithm: algorithm)
            }
            #expect(throws: InteropError(.authenticationFailed)) {
                try key.publicKey.verify(Array(signature.dropLast()), of: data, algorithm: algorithm)
            }
            if !algorithm.hashesMessage {
                #expect(throws: InteropError(.invalidArgument, at: "digest size")) {
                    try key.sign(Array(repeating: 0, count: 65), algorithm: algorithm)
                }
            }
        }
    }

    @Test("property: every external form leads back to the same key", arguments: Curve.allCases)
    func externalForms(curve: Curve) throws {
        for _ in 0..<20 {
            let key = try SoftwareCurveKey.generate(curve)
            let copies = [
                try SoftwareCurveKey(x963Representation: key.exportX963Representation()),
                try SoftwareCurveKey(derRepresentation: key.exportDERRepresentation()),
                try SoftwareCurveKey(pemRepresentation: key.exportPEMRepresentation()),
                try SoftwareCurveKey(jwkRepresentation: key.exportJWKRepresentation()),
            ]
            for copy in copies {
                #expect(try copy.exportX963Representation() == key.exportX963Representation())
            }
            let publicKey = key.publicKey
            #expect(try CurvePublicKey(x963Representation: publicKey.x963Representation) == publicKey)
            #expect(try CurvePublicKey(derRepresentation: publicKey.derRepresentation) == publicKey)
            #expect(try CurvePublicKey(pemRepresentation: publicKey.pemRepresentation) == publicKey)
            #expect(try CurvePublicKey(jwkRepresentation: publicKey.jwkRepresentation) == publicKey)
        }
    }

    @Test("a private form with the public half of another key is refused")
    func mixedHalves() throws {
        let one = try SoftwareCurveKey.generate()
        let other = try SoftwareCurveKey.generate()
        let mixed = try other.publicKey.x963Representation + one.exportX963Representation().suffix(32)
        #expect(throws: InteropError(.invalidKey, at: "public half")) {
            try SoftwareCurveKey(x963Representation: mixed)
        }
        let x = try one.exportJWKRepresentation().prefix(51)
        let jwk = x + other.publicKey.jwkRepresentation.dropFirst()
        #expect(throws: InteropError(.invalidKey, at: "public half")) {
            try SoftwareCurveKey(jwkRepresentation: String(jwk))
        }
        var der = try one.exportDERRepresentation()
        der.replaceSubrange(der.count - 65..<der.count, with: other.publicKey.x963Representation)
        #expect(throws: InteropError(.invalidKey, at: "public half")) { try SoftwareCurveKey(derRepresentation: der) }
    }

    @Test("every flipped bit of a public key file is refused or gives another key")
    func flippedKeyFiles() throws {
        let key = try SoftwareCurveKey.generate().publicKey
        withEveryFlippedBit(key.derRepresentation) { changed, bit in
            if let other = try? CurvePublicKey(derRepresentation: changed) { #expect(other != key, "bit \(bit)") }
        }
    }

    @Test(
        "text that is no key is refused",
        arguments: [
            "", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\nAA\n-----END PUBLIC KEY-----\n",
            "-----BEGIN X-----\nAAAA\n-----END X-----\n", "{}", #"{"kty":"RSA"}"#, #"{"kty":"EC","crv":"P-192"}"#,
            #"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#, "[", String(repeating: "-", count: 20_000),
        ])
    func noKeys(text: String) {
        #expect(throws: InteropError.self) { try CurvePublicKey(pemRepresentation: text) }
        #expect(throws: InteropError.self) { try SoftwareCurveKey(pemRepresentation: text) }
        #expect(throws: InteropError.self) { try CurvePublicKey(jwkRepresentation: text) }
        #expect(throws: InteropError.self) { try SoftwareCurveKey(jwkRepresentation: text) }
    }
}
