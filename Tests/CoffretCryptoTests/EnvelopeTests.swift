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
    func domainSeparation() {
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
