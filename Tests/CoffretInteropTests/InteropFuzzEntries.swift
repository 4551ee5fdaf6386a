// One entry per parser of bytes from strangers, each run under a short seeded loop. What they must do is
// return or throw this library's error, and never accept what was changed where a tag covers it.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretInterop

/// Parsers of untrusted bytes. An entry must not crash, whatever it is given.
enum InteropFuzzEntries {
    private static let cell = try? SecureCell(key: [1])
    // A low ceiling, so that a count that the fuzzer made up costs nothing.
    private static let passphraseCell = try? PassphraseCell(passphrase: [1], iterationCountMax: 10)
    private static let themisKey = try? ThemisPrivateKey.generate()
    private static let curveKeys = Curve.allCases.compactMap { try? SoftwareCurveKey.generate($0) }

    static func fuzzSecureCell(_ bytes: [UInt8]) { _ = try? cell?.open(bytes) }
    static func fuzzToken(_ bytes: [UInt8]) {
        _ = try? cell?.open(.init(token: Array(bytes.prefix(44)), ciphertext: Array(bytes.dropFirst(44))))
    }
    static func fuzzPassphraseCell(_ bytes: [UInt8]) { _ = try? passphraseCell?.open(bytes) }
    static func fuzzKeyContainer(_ bytes: [UInt8]) {
        _ = try? ThemisPrivateKey(container: bytes)
        _ = try? ThemisPublicKey(container: bytes)
    }
    static func fuzzSecureMessage(_ bytes: [UInt8]) {
        guard let themisKey else { return }
        _ = try? SecureMessage.decrypt(bytes, to: themisKey, from: themisKey.publicKey)
        _ = try? SecureMessage.verify(bytes, from: themisKey.publicKey)
    }
    static func fuzzTransportString(_ bytes: [UInt8]) {
        _ = try? TransportString.decode(String(decoding: bytes, as: UTF8.self))
    }
    static func fuzzECIES(_ bytes: [UInt8]) {
        for key in curveKeys { _ = try? key.decrypt(bytes) }
    }
    static func fuzzCurveKeys(_ bytes: [UInt8]) {
        _ = try? CurvePublicKey(x963Representation: bytes)
        _ = try? SoftwareCurveKey(x963Representation: bytes)
        _ = try? CurvePublicKey(derRepresentation: bytes)
        _ = try? SoftwareCurveKey(derRepresentation: bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        _ = try? CurvePublicKey(pemRepresentation: text)
        _ = try? SoftwareCurveKey(pemRepresentation: text)
        _ = try? CurvePublicKey(jwkRepresentation: text)
        _ = try? SoftwareCurveKey(jwkRepresentation: text)
    }
    static func fuzzSignature(_ bytes: [UInt8]) {
        for key in curveKeys { _ = try? key.publicKey.verify(bytes, of: [1]) }
    }
    static func fuzzNoise(_ bytes: [UInt8]) {
        for pattern in NoisePattern.allCases {
            let psk = pattern.needsPreSharedKey ? [UInt8](repeating: 1, count: 32) : nil
            let key = NoiseStaticKey.generate()
            let responder = try? NoiseHandshake(
                NoiseProtocol(pattern), role: .responder,
                staticKey: pattern.needsStaticKey(.responder) ? key : nil,
                remoteStaticKey: pattern.needsRemoteStaticKey(.responder) ? key.publicKey : nil, preSharedKey: psk)
            _ = try? responder?.readMessage(bytes)
        }
    }
}

@Suite("Fuzzing of interop parsers")
struct InteropFuzzTests {
    @Test("Themis parsers survive any bytes")
    func fuzzThemis() throws {
        let cell = try SecureCell(key: [1])
        let sealed = try cell.seal(Array("fuzz".utf8))
        fuzz([sealed], InteropFuzzEntries.fuzzSecureCell)
        fuzz([sealed], InteropFuzzEntries.fuzzToken)
        let passphraseCell = try PassphraseCell(passphrase: [1]).seal(
            [1, 2], context: [], nonce: [UInt8](repeating: 1, count: 12), salt: [UInt8](repeating: 2, count: 16),
            iterationCount: 3)
        fuzz([passphraseCell], InteropFuzzEntries.fuzzPassphraseCell)
        let key = try ThemisPrivateKey.generate()
        fuzz([try key.exportContainer(), key.publicKey.container], InteropFuzzEntries.fuzzKeyContainer)
        fuzz(
            [try SecureMessage.encrypt([1], from: key, to: key.publicKey), try SecureMessage.sign([1], with: key)],
            rounds: 500, InteropFuzzEntries.fuzzSecureMessage)
        fuzz([Array(TransportString.encode(sealed).utf8)], InteropFuzzEntries.fuzzTransportString)
    }

    @Test("ECIES and key files survive any bytes")
    func fuzzCurves() throws {
        let key = try SoftwareCurveKey.generate()
        fuzz([try key.publicKey.encrypt([1])], rounds: 500, InteropFuzzEntries.fuzzECIES)
        fuzz([try key.sign([1])], rounds: 300, InteropFuzzEntries.fuzzSignature)
        fuzz(
            [
                try key.exportX963Representation(), key.publicKey.x963Representation, try key.exportDERRepresentation(),
                key.publicKey.derRepresentation, Array(try key.exportPEMRepresentation().utf8),
                Array(key.publicKey.pemRepresentation.utf8), Array(try key.exportJWKRepresentation().utf8),
            ], rounds: 1_500, InteropFuzzEntries.fuzzCurveKeys)
    }

    @Test("Noise handshakes survive any bytes")
    func fuzzNoise() throws {
        let initiator = try NoiseHandshake(NoiseProtocol(.xx), role: .initiator, staticKey: .generate())
        let message = try initiator.writeMessage([1, 2, 3])
        fuzz([message, message + [UInt8](repeating: 1, count: 80)], rounds: 200, InteropFuzzEntries.fuzzNoise)
    }

    @Test("R14: every flipped bit of a cell, a token, a message and a signed message fails with one error")
    func flippedBits() throws {
        let cell = try SecureCell(key: [1])
        let refused = InteropError(.authenticationFailed)
        withEveryFlippedBit((try? cell.seal([1, 2, 3], context: [4])) ?? []) { changed, bit in
            #expect(throws: refused, "bit \(bit)") { try cell.open(changed, context: [4]) }
        }
        let protected = try cell.protect([1, 2, 3])
        withEveryFlippedBit(protected.token) { changed, bit in
            #expect(throws: refused, "bit \(bit)") {
                try cell.open(.init(token: changed, ciphertext: protected.ciphertext))
            }
        }
        withEveryFlippedBit(protected.ciphertext) { changed, bit in
            #expect(throws: refused, "bit \(bit)") { try cell.open(.init(token: protected.token, ciphertext: changed)) }
        }
        let key = try ThemisPrivateKey.generate()
        withEveryFlippedBit(try SecureMessage.encrypt([1, 2, 3], from: key, to: key.publicKey)) { changed, bit in
            #expect(throws: refused, "bit \(bit)") {
                try SecureMessage.decrypt(changed, to: key, from: key.publicKey)
            }
        }
        withEveryFlippedBit(try SecureMessage.sign([1, 2, 3], with: key)) { changed, bit in
            #expect(throws: refused, "bit \(bit)") { try SecureMessage.verify(changed, from: key.publicKey) }
        }
        withEveryFlippedBit(try key.exportContainer()) { changed, bit in
            #expect(throws: InteropError.self, "bit \(bit)") { try ThemisPrivateKey(container: changed) }
        }
    }

    @Test("R14: every flipped bit of a passphrase cell fails, an iteration count too high without any work")
    func flippedPassphraseBits() throws {
        let cell = try PassphraseCell(passphrase: [1], iterationCountMax: 5_000)
        let sealed = try cell.seal(
            [1, 2], context: [], nonce: [UInt8](repeating: 1, count: 12), salt: [UInt8](repeating: 2, count: 16),
            iterationCount: 3)
        #expect(try cell.open(sealed) == [1, 2])
        withEveryFlippedBit(sealed) { changed, bit in
            let error = #expect(throws: InteropError.self, "bit \(bit)") { try cell.open(changed) }
            // The count lies in bytes 48 to 51; from bit 13 of it on it exceeds the ceiling.
            let isCount = bit >= 48 * 8 + 13 && bit < 52 * 8
            #expect(error?.code == (isCount ? .limitExceeded : .authenticationFailed), "bit \(bit)")
        }
    }

    @Test("property: what is sealed opens, whatever the sizes of key, context and plaintext")
    func roundTrip() {
        forAll(count: 200) { generator in
            let cell = try SecureCell(key: generator.bytes(count: 1...200))
            let context = generator.bytes(count: 0...50)
            let plaintext = generator.bytes(count: 1...5_000)
            try require(try cell.open(cell.seal(plaintext, context: context), context: context) == plaintext)
            try require(try cell.open(cell.protect(plaintext, context: context), context: context) == plaintext)
            let imprinted = try cell.imprint(plaintext, context: context + [1])
            try require(try cell.reverseImprint(imprinted, context: context + [1]) == plaintext)
            var buffer = [UInt8](repeating: 0, count: plaintext.count + SecureCell.overheadByteCount)
            try unsafe buffer.withUnsafeMutableBytes { bytes in
                var output = unsafe bytes.mutableBytes
                try unsafe cell.seal(plaintext.span.bytes, context: context.span.bytes, into: &output)
            }
            try require(try cell.open(buffer, context: context) == plaintext)
        }
    }
}
