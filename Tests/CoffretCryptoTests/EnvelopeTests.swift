// The committing envelope: what must open, and all that must not.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretCrypto

@Suite("Envelope")
struct EnvelopeTests {
    typealias Key = SymmetricKey<KeyPurposes.Storage>

    private func open(
        _ sealed: [UInt8], _ key: Key, _ context: Context = .keyringBody, _ associatedData: [UInt8] = [1],
        fill: Envelope.Fill = .sizeClasses
    ) -> [UInt8]? {
        try? unsafe Envelope.open(sealed, key: key, context: context, associatedData: associatedData, fill: fill) {
            unsafe [UInt8]($0)
        }
    }

    @Test("property: what was sealed opens, and sizes are those of the padding")
    func roundTrip() {
        forAll { generator in
            let key = Key.generate(from: generator)
            let message = generator.bytes(count: 0...3_000)
            let sealed = Envelope.seal(
                message, key: key, context: .keyringBody, associatedData: [1], random: generator)
            try require(open(sealed, key) == message)
            try require(sealed.count == Padding.paddedByteCount(message.count + 4) + Envelope.overheadByteCount)
            let bare = Envelope.seal(
                message, key: key, context: .keyringBody, associatedData: [1], fill: .none, random: generator)
            try require(open(bare, key, fill: .none) == message)
            try require(bare.count == message.count + 4 + Envelope.overheadByteCount)
        }
    }

    @Test("R14: every flipped bit fails, with one error")
    func flippedBits() {
        let generator = SeededGenerator.fromEnvironment()
        let key = Key.generate(from: generator)
        let sealed = Envelope.seal(
            Array("canary".utf8), key: key, context: .keyringBody, associatedData: [1], random: generator)
        withEveryFlippedBit(sealed) { changed, bit in
            #expect(throws: CryptoError(.authenticationFailed), "bit \(bit)") {
                try unsafe Envelope.open(changed, key: key, context: .keyringBody, associatedData: [1]) { _ in }
            }
        }
        for count in 0..<sealed.count { #expect(open(Array(sealed[..<count]), key) == nil) }
        #expect(open(sealed + [0], key) == nil)
    }

    @Test("R16: another key, context or associated data does not open it")
    func otherPurposeFromLyingServer() {
        let generator = SeededGenerator.fromEnvironment()
        let key = Key.generate(from: generator)
        let sealed = Envelope.seal(
            [7], key: key, context: .keyringBody, associatedData: [1, 2], random: generator)
        #expect(open(sealed, key, .keyringBody, [1, 2]) == [7])
        #expect(open(sealed, key, .backupHeader, [1, 2]) == nil)
        #expect(open(sealed, key, .keyringBody, [1]) == nil)
        #expect(open(sealed, key, .keyringBody, []) == nil)
        #expect(open(sealed, Key.generate(from: generator), .keyringBody, [1, 2]) == nil)
    }

    private struct EnvelopeVectors: Decodable {
        struct Case: Decodable { let key_hex, context, associated_data_hex, fill, message_hex, sealed_hex: String }
        struct Forgery: Decodable {
            let keys_hex, encryption_keys_hex: [String]
            let context, associated_data_hex, sealed_hex: String
        }
        let cases: [Case]
        let forgery: Forgery
    }

    private func key(_ hex: String) throws -> Key {
        var bytes = try Hex.decode(hex)
        return Key(SecretBytes(consuming: &bytes))
    }

    @Test("envelopes written by an independent implementation open")
    func vectors() throws {
        for vector in try VectorFile.decode(EnvelopeVectors.self, from: "envelope/envelope.json").cases {
            let opened = open(
                try Hex.decode(vector.sealed_hex), try key(vector.key_hex),
                try #require(Context(rawValue: vector.context)), try Hex.decode(vector.associated_data_hex),
                fill: vector.fill == "none" ? .none : .sizeClasses)
            #expect(opened.map { Hex.encode($0) } == vector.message_hex)
        }
    }

    /// R15: whoever knows two keys can make one ciphertext and tag that both accept, since Poly1305 does not
    /// commit. The commitment names one key, so that the other refuses.
    @Test("R15: a ciphertext crafted for two keys opens the bare cipher twice, the envelope once")
    func twoKeysFromLyingServer() throws {
        let forgery = try VectorFile.decode(EnvelopeVectors.self, from: "envelope/envelope.json").forgery
        let sealed = try Hex.decode(forgery.sealed_hex)
        let header = [sealed[0]] + sealed[25..<57]
        for hex in forgery.encryption_keys_hex {
            let opened = AEADHarness.open(
                Array(sealed[57...]), key: try Hex.decode(hex), nonce: Array(sealed[1..<25]), associatedData: header,
                .automatic)
            #expect(opened != nil, "the forgery itself must work, or this test shows nothing")
        }
        let context = try #require(Context(rawValue: forgery.context))
        let associated = try Hex.decode(forgery.associated_data_hex)
        let opened = try forgery.keys_hex.map { open(sealed, try key($0), context, associated, fill: .none) }
        #expect(opened[0] != nil && opened[1] == nil)
    }

    @Test("envelopes to a public key open with its private half only, in their context only")
    func publicKeyEnvelope() throws {
        let generator = SeededGenerator.fromEnvironment()
        let recipient = AgreementKey.generate(from: generator)
        let message: [UInt8] = [1, 2, 3]
        let sealed = try unsafe message.span.withUnsafeBytes { (bytes) throws(CryptoError) in
            try unsafe PublicKeyEnvelope.seal(
                bytes, to: recipient.publicKey, context: .slotStorageKey, associatedData: [9], random: generator)
        }
        func open(_ sealed: [UInt8], _ key: AgreementKey, _ context: Context = .slotStorageKey, _ data: [UInt8] = [9])
            -> [UInt8]?
        {
            try? unsafe PublicKeyEnvelope.open(sealed, with: key, context: context, associatedData: data) {
                unsafe [UInt8]($0)
            }
        }
        #expect(open(sealed, recipient) == message)
        #expect(open(sealed, AgreementKey.generate(from: generator)) == nil)
        #expect(open(sealed, recipient, .keyringBody) == nil)
        #expect(open(sealed, recipient, .slotStorageKey, [8]) == nil)
        // X25519 ignores the highest bit of a point; the derivation binds the bytes, so it counts here.
        withEveryFlippedBit(sealed) { changed, bit in
            if bit < 300 || bit % 7 == 0 { #expect(open(changed, recipient) == nil, "bit \(bit)") }
        }
        let smallOrder = [UInt8](repeating: 0, count: 32)
        #expect(open(smallOrder + sealed[32...], recipient) == nil)
    }
}
