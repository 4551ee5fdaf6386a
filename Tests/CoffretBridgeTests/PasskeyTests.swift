// Passkeys against values that another implementation computed, in the forms in which other programs keep them.

import CoffretBase
import CoffretCrypto
import CoffretInterop
import CoffretTestSupport
import Testing

@testable import CoffretBridge

@Suite("Passkeys")
struct PasskeyTests {
    private struct Vectors: Decodable {
        struct Case: Decodable {
            let field, site, origin, credentialID, userHandle, challenge, clientDataCreate, clientDataGet: String
            let authenticatorData, createdData, attestation, publicKey, signature: String
        }
        let cases: [Case]
    }

    private func cases() throws -> [Vectors.Case] {
        try VectorFile.decode(Vectors.self, from: "passkeys/passkeys.json").cases
    }

    @Test("R148: fields of three forms, and what a site gets")
    func vectors() throws {
        let cases = try cases()
        #expect(cases.count == 4)
        for each in cases {
            let passkey = try #require(Passkey(field: each.field))
            #expect(passkey.site == each.site && passkey.userName == "mira")
            #expect(Hex.encode(passkey.credentialID) == each.credentialID)
            #expect(Hex.encode(passkey.userHandle) == each.userHandle)
            #expect(Hex.encode(passkey.publicKey) == each.publicKey)
            #expect(Hex.encode(passkey.authenticatorData) == each.authenticatorData)
            #expect(Hex.encode(passkey.createdData) == each.createdData)
            #expect(Hex.encode(passkey.attestation) == each.attestation)
            let (challenge, origin) = (try Hex.decode(each.challenge), try WebOrigin(each.origin))
            #expect(
                Passkey.clientData(type: "webauthn.create", challenge: challenge, origin: origin)
                    == Array(each.clientDataCreate.utf8))
            let client = Passkey.clientData(type: "webauthn.get", challenge: challenge, origin: origin)
            #expect(client == Array(each.clientDataGet.utf8))
            let signed = unsafe passkey.authenticatorData + HashAlgorithm.sha256.hash(client.span.bytes)
            let digest = unsafe HashAlgorithm.sha256.hash(signed.span.bytes)
            let point = Array(try Hex.decode(each.publicKey).suffix(65))
            let key = unsafe try EllipticCurvePublicKey(.p256, point: point.span.bytes)
            let (theirs, ours) = (
                try Hex.decode(each.signature), try passkey.signature(passkey.authenticatorData, clientData: client)
            )
            #expect(unsafe key.isValidSignature(theirs.span.bytes, digest: digest.span.bytes))
            #expect(unsafe key.isValidSignature(ours.span.bytes, digest: digest.span.bytes))
            var other = ours
            other[other.count - 1] ^= 1
            #expect(unsafe !key.isValidSignature(other.span.bytes, digest: digest.span.bytes))
        }
    }

    @Test("a new passkey is read from its field again, as the same")
    func ownField() throws {
        let made = try Passkey.make(
            site: "shop.example", siteName: "The \"shop\"", userHandle: [1, 2, 3], userName: "mira",
            displayName: "Mira",
            now: 1_777_777_777_000, random: SystemRandomSource())
        let read = try #require(Passkey(field: made.field()))
        #expect(read.credentialID == made.credentialID && read.credentialID.count == 16)
        #expect(read.publicKey == made.publicKey && read.createdData == made.createdData)
        #expect(read.siteName == "The \"shop\"" && read.displayName == "Mira" && read.userHandle == [1, 2, 3])
        for count in [0, 65] {
            #expect(throws: BridgeError(.messageInvalid, at: "userHandle")) {
                try Passkey.make(
                    site: "a.example", siteName: "", userHandle: [UInt8](repeating: 1, count: count), userName: "",
                    displayName: "", now: 0, random: SystemRandomSource())
            }
        }
    }

    @Test("a field that cannot be used is none, whatever is wrong with it")
    func unusable() throws {
        let field = try #require(try cases().first).field
        for (part, other) in [
            ("\"P-256\"", "\"P-384\""), ("\"ECDSA\"", "\"RSA\""), ("\"public-key\"", "\"x\""),
            ("\"keyValue\":\"", "\"keyValue\":\"A"), ("\"credentialId\":\"", "\"credentialId\":\"0"), ("{", "["),
            ("\"rpId\"", "\"rp\""), ("\"userHandle\":\"", "\"userHandle\":\"*"),
        ] {
            #expect(field.contains(part) && Passkey(field: field.replacing(part, with: other)) == nil, "\(part)")
        }
        for text in ["", "{}", "null", "[]", #"{"rpId":"a.example"}"#, #"{"KPEX_PASSKEY_RELYING_PARTY":"a.example"}"#] {
            #expect(Passkey(field: text) == nil)
        }
    }
}
