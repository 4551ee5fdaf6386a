// Encrypted backups of Standard Notes, made here by its protocol 004; the key derivation against the program's own test.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Standard Notes")
struct StandardNotesTests {
    private static let seed = "baaec0131d677cf993381367eb082fe377cefe70118c1699cb9b38f0bc850e7b"

    @Test("the key of a password is the one that Standard Notes derives")
    func derivation() throws {
        // Source: standardnotes/app, packages/snjs/mocha/004.test.js.
        let key = try StandardNotesCipher.rootKeys004(
            password: Array("very_secure".utf8), identifier: "foo@bar.com", seed: Self.seed)
        #expect(Hex.encode(key.cipher) == "5d68e78b56d454e32e1f5dbf4c4e7cf25d74dc1efc942e7c9dfce572c1f3b943")
    }

    private func seal(_ text: String, _ key: [UInt8], _ id: String) -> String {
        let nonce = [UInt8](repeating: 9, count: 24)
        let data = Base64.standard.encode(Array("{\"u\":\"\(id)\",\"v\":\"004\"}".utf8))
        let message = Array(text.utf8)
        var ciphertext = [UInt8](repeating: 0, count: message.count)
        var tag = [UInt8](repeating: 0, count: 16)
        unsafe message.withUnsafeBytes { message in
            unsafe key.withUnsafeBytes { key in
                unsafe nonce.withUnsafeBytes { nonce in
                    unsafe Array(data.utf8).withUnsafeBytes { data in
                        unsafe ciphertext.withUnsafeMutableBytes { ciphertext in
                            unsafe tag.withUnsafeMutableBytes { tag in
                                unsafe XChaCha20Poly1305.seal(
                                    message, key: key, nonce: nonce, associatedData: data, ciphertext: ciphertext,
                                    tag: tag)
                            }
                        }
                    }
                }
            }
        }
        return "004:\(Hex.encode(nonce)):\(Base64.standard.encode(ciphertext + tag)):\(data)"
    }

    private func item(_ id: String, _ type: String, _ content: String, under key: [UInt8], keyID: String = "") -> String
    {
        let itemKey = [UInt8](repeating: 3, count: 32)
        return """
            {"uuid":"\(id)","content_type":"\(type)","items_key_id":"\(keyID)",\
            "enc_item_key":"\(seal(Hex.encode(itemKey), key, id))","content":"\(seal(content, itemKey, id))",\
            "created_at":"2023-01-02T03:04:05.000Z","updated_at":"2023-02-02T03:04:05.000Z"}
            """
    }

    private func backup() throws -> String {
        let master = try StandardNotesCipher.rootKeys004(
            password: Array("very_secure".utf8), identifier: "foo@bar.com", seed: Self.seed
        ).cipher
        let itemsKey = [UInt8](repeating: 5, count: 32)
        let items = [
            item("K", "SN|ItemsKey", "{\"itemsKey\":\"\(Hex.encode(itemsKey))\",\"version\":\"004\"}", under: master),
            item(
                "N", "Note",
                "{\"title\":\"Sealed\",\"text\":\"inside\",\"references\":[],\"trashed\":true,\"appData\":{\"org.standardnotes.sn\":{\"pinned\":true}}}",
                under: itemsKey, keyID: "K"),
            item(
                "T", "Tag", "{\"title\":\"a.b\",\"references\":[{\"uuid\":\"N\",\"content_type\":\"Note\"}]}",
                under: itemsKey, keyID: "K"),
        ]
        return """
            {"version":"004","keyParams":{"identifier":"foo@bar.com","pw_nonce":"\(Self.seed)","version":"004"},\
            "items":[\(items.joined(separator: ","))]}
            """
    }

    @Test("an encrypted backup opens with its password, and with no other; one with a flipped byte does not")
    func encrypted() throws {
        let text = try backup()
        let trial = try ForeignTrial(Array(text.utf8), named: "sn.txt", password: "very_secure")
        let note = try #require(trial["Sealed"])
        #expect(note.text == "inside" && note.tagPaths == ["a/b"] && note.isPinned && note.isTrashed)
        #expect(CivilTime.format(note.created) == "2023-01-02T03:04:05Z")
        #expect(try ForeignTrial.refusal(Array(text.utf8), named: "sn.txt", password: "wrong") == .passwordWrong)
        #expect(try ForeignTrial.refusal(Array(text.utf8), named: "sn.txt") == .passwordNeeded)
        // The last sealed text is the tag's.
        let place = try #require(text.range(of: "004:0909", options: .backwards))
        var flipped = text
        let byte = flipped.index(place.lowerBound, offsetBy: 60)
        flipped.replaceSubrange(byte...byte, with: flipped[byte] == "A" ? "B" : "A")
        #expect(
            try ForeignTrial.refusal(Array(flipped.utf8), named: "sn.txt", password: "very_secure") == .formatInvalid)
        let swapped = text.replacing("\"uuid\":\"N\"", with: "\"uuid\":\"M\"")
        #expect(
            try ForeignTrial.refusal(Array(swapped.utf8), named: "sn.txt", password: "very_secure") == .formatInvalid)
        let older = text.replacing("\"version\":\"004\"}", with: "\"version\":\"002\"}")
        #expect(
            try ForeignTrial.refusal(Array(older.utf8), named: "sn.txt", password: "very_secure") == .sourceUnsupported)
    }

    // Source of keys and sealed texts: standardnotes/app, packages/snjs/mocha/003.test.js.
    private static let older = (
        identifier: "demo@standardnotes.org", id: "80488ade-933a-4570-8852-5282a094fafc",
        seed: "31107837b44d86179140b7c602a55d694243e2e9ced0c4c914ac21ad90215055",
        key:
            "003:f385f1af03c6e16844ba685b0766a93f65c6e1813c56146376994188c40902ef:80488ade-933a-4570-8852-5282a094fafc:"
            + "8af48228d965847a3fb7904e801f3958:xM1UKtXEpXytu0amQ405rpJ8KvTcNNjqNcZEWfhefZQo+25cZfNgFRniZuO2ysXyR4qWiLQlWb5ppt"
            + "Qi1gSNakOmCNl7WiQgH7t7ia7gwz667i6nrrwVJ8vauXeyTzspr4J/NHa1LM/f8/MDxiHWVG7MvXkWqGT7qBCzcY1BXXQaMlf6g1VEDq+INPnz"
            + "SZG/",
        content: "003:ca505a223d3ef3ad5cd4e6f4e0d06a2bb34b8b032f60180165c37acd5a4718e3:"
            + "80488ade-933a-4570-8852-5282a094fafc:bad25bb4ba935646148fe7f118c5f60d:g+eHtGG+M4ZdIevpx9xkK9mmFYo8/1JTlaDysM18"
            + "nGrA3Oe3wvFTfG5PPvH50uY6PgBbWZPS+BNpsH/gVMH8T9LCreRLPVw5yRhunyva0pgsk/k4Dmi4PTsvvNqhA2F8X2LZTwuw7QlLkvOneX9cNm"
            + "NDzVGmsedSWhEZXbD5jmb1Ev77Gq1kjqh2eFc7lPa/WBb52fs8FHKbO9HUGqXF49/JOunpvp76/bAydavGQ2n/abkGCoYvrtmyM1lqthBb8w60"
            + "KidkC/Hm4cGAm8wNKyg58YUHCYPAlaUI0DxPGXu24Ur/6M7HdP/9puitJGUSlXA32DXABMd8DbUk6JPvJRKvQ/v4Dd3UR0h7Gdm/YME="
    )

    @Test("the keys of protocol 003 are those that Standard Notes derives")
    func olderDerivation() throws {
        let keys = try StandardNotesCipher.rootKeys003(
            password: Array("very_secure".utf8), identifier: "foo@bar.com", seed: Self.seed, limits: ImportLimits())
        #expect(Hex.encode(keys.cipher) == "2b2162e5299f71f9fcd39789a01f6062f2779220e97a43d7895cf30da11186e9")
        #expect(Hex.encode(keys.authentication) == "24dfba6f42ffc07a5223440a28a574d463e99d8d4aeb68fe95f55aa8ed5fd39f")
    }

    @Test("a backup of protocol 003 opens with its password, and with no other; one with a flipped byte does not")
    func older() throws {
        let sample = Self.older
        func backup(_ content: String, cost: String = "110000", id: String = sample.id) -> [UInt8] {
            Array(
                """
                {"auth_params":{"identifier":"\(sample.identifier)","pw_nonce":"\(sample.seed)","pw_cost":\(cost),\
                "version":"003"},"items":[{"uuid":"\(id)","content_type":"Note","enc_item_key":"\(sample.key)",\
                "content":"\(content)","created_at":"2020-01-02T03:04:05.000Z"}]}
                """.utf8)
        }
        let whole = backup(sample.content)
        let trial = try ForeignTrial(whole, named: "sn.txt", password: "password")
        #expect(trial["Secret key"]?.text == "TaW8uq4cZRCNf3e4L8c7xFhsJkJdt6")
        #expect(try ForeignTrial.refusal(whole, named: "sn.txt", password: "wrong") == .passwordWrong)
        #expect(try ForeignTrial.refusal(whole, named: "sn.txt") == .passwordNeeded)
        let flipped = backup(sample.content.replacing("g+eHtGG", with: "g+eHtGA"))
        #expect(try ForeignTrial.refusal(flipped, named: "sn.txt", password: "password") == .formatInvalid)
        #expect(
            try ForeignTrial.refusal(backup(sample.content, id: "other"), named: "sn.txt", password: "password")
                == .passwordWrong)
        #expect(
            try ForeignTrial.refusal(backup(sample.content, cost: "900000000"), named: "sn.txt", password: "password")
                == .keyDerivationTooCostly)
    }

    @Test("texts of the editor Super and of others become Markdown, links lead to the items")
    func editors() throws {
        let root = """
            {"root":{"type":"root","children":[
            {"type":"heading","tag":"h2","children":[{"type":"text","text":"Head"}]},
            {"type":"paragraph","children":[{"type":"text","text":"bold","format":1},{"type":"text","text":" *x*"},
             {"type":"link","url":"http://x.org","children":[{"type":"text","text":"l"}]},{"type":"snbubble","itemUuid":"B"}]},
            {"type":"list","listType":"check","children":[{"type":"listitem","checked":true,"children":[{"type":"text","text":"done"}]},
             {"type":"listitem","children":[{"type":"list","listType":"bullet","children":[{"type":"listitem","children":[{"type":"text","text":"deep"}]}]}]}]}
            ]}}
            """
        func quoted(_ text: String) -> String { JSONValue.string(text).text() }
        let text = """
            {"version":"004","items":[
            {"content_type":"Note","uuid":"A","content":{"title":"A","noteType":"super","text":\(quoted(root)),"references":[]}},
            {"content_type":"Note","uuid":"B","content":{"title":"B","noteType":"rich-text","text":"<p>r <b>b</b></p>","references":[{"uuid":"A","content_type":"Note"}]}},
            {"content_type":"Note","uuid":"C","content":{"title":"C","noteType":"authentication","text":"[{}]","references":[],"starred":true}},
            {"content_type":"Note","uuid":"D","deleted":true,"content":{"title":"D","text":"","references":[]}}]}
            """
        let trial = try ForeignTrial(Array(text.utf8), named: "sn.json")
        let (a, b) = (try #require(trial["A"]), try #require(trial["B"]))
        #expect(
            a.text == """
                ## Head

                **bold** \\*x\\*[l](http://x.org)[Linked note](coffret:\(b.id.uuid.hex))

                - [x] done
                    - deep

                """)
        #expect(b.text == "r **b**\n\n\n[Linked note](coffret:\(a.id.uuid.hex))")
        #expect(trial["C"]?.fields.contains { $0.label == "Secrets" && $0.kind == .secret } == true)
        #expect(trial["C"]?.value("content.starred") == "true" && trial["D"] == nil)
    }
}
