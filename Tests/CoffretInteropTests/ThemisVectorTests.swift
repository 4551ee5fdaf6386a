// Themis against the reference library's vectors: the project's selection always, the full set where it
// is at hand. Files are found by listing; one that nobody knows fails the test.

import CoffretBase
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCrypto
@testable import CoffretInterop

extension VectorObject {
    /// The UTF-8 bytes of a text field.
    func utf8(_ name: String) throws -> [UInt8] { Array(try text(name).utf8) }
}

/// Expects `body` to fail with one of this library's errors and returns its code.
@discardableResult
func expectFailure(_ vector: VectorObject, _ body: () throws -> Void) -> InteropError.Code? {
    do {
        try body()
        Issue.record("\(vector) did not fail")
        return nil
    } catch let error as InteropError {
        return error.code
    } catch {
        Issue.record("\(vector): \(error)")
        return nil
    }
}

@Suite("Themis vectors")
struct ThemisVectorTests {
    @Test("the project's selection: every case ends as it says")
    func selection() throws { try run(SharedData.ownVectors("themis")) }

    @Test("the full set: every case ends as it says", .enabled(if: SharedData.isAvailable))
    func full() throws { try run(try #require(SharedData.fullVectors("themis"))) }

    private func run(_ folder: URL) throws {
        var caseCount = 0
        for file in try VectorObject.files(in: folder) {
            let vectors = try VectorObject(contentsOf: file)
            let before = caseCount
            switch try vectors.text("format") {
            case "themis-primitives": caseCount += try primitives(vectors)
            case "themis-secure-cell-seal": caseCount += try seal(vectors)
            case "themis-secure-cell-token-protect": caseCount += try tokenProtect(vectors)
            case "themis-secure-cell-context-imprint": caseCount += try contextImprint(vectors)
            case "themis-secure-cell-seal-passphrase": caseCount += try passphrase(vectors)
            case "themis-ec-key": caseCount += try keys(vectors)
            case "themis-secure-message-encrypt": caseCount += try encryptedMessages(vectors)
            case "themis-secure-message-sign": caseCount += try signedMessages(vectors)
            case "themis-edge-cases": caseCount += try ThemisEdgeCases.run(vectors)
            case "bear-note-chain": caseCount += try bearChain(vectors)
            case "zka-sample": caseCount += try transport(vectors)
            case let format: Issue.record("nobody reads \(file.lastPathComponent) of format \(format)")
            }
            #expect(caseCount > before, "\(file.lastPathComponent) holds no case")
        }
    }

    private func each(_ vectors: VectorObject, _ list: String, _ body: (VectorObject) throws -> Void) throws -> Int {
        let cases = try vectors.objects(list)
        VectorObject.forEach(cases, body)
        return cases.count
    }

    private func primitives(_ vectors: VectorObject) throws -> Int {
        var count = try each(vectors, "kdf_cases") { vector in
            let label = SoterKDF.Label(try vector.text("label_utf8"))
            let key = try vector.hex("key_hex")
            let context = try vector.texts("context_parts_hex").flatMap { try Hex.decode($0) }
            let output = unsafe makeBytes(byteCount: 32) {
                unsafe SoterKDF.derive(key: key.span.bytes, label: label, context: context.span.bytes, into: $0)
            }
            #expect(output.starts(with: try vector.hex("output_hex")), "\(vector)")
        }
        count += try each(vectors, "pbkdf2_cases") { vector in
            let passphrase = try vector.hex("passphrase_hex")
            let salt = try vector.hex("salt_hex")
            let iterationCount = try vector.int("iterations")
            let output = try unsafe makeBytes(byteCount: 32) { (output) throws(CryptoError) in
                try unsafe PBKDF2.derive(
                    .sha256, password: passphrase.span.bytes, salt: salt.span.bytes, iterationCount: iterationCount,
                    into: output)
            }
            #expect(output == (try vector.hex("output_hex")), "\(vector)")
        }
        count += try each(vectors, "crc32c_cases") { vector in
            let data = try vector.hex("data_hex")
            let checksum = UInt32(try vector.text("crc32c").dropFirst(2), radix: 16)
            #expect(CRC32C.checksum(data) == checksum, "\(vector)")
            // The container of a vector has a tag of its own; ours differ in tag and checksum alone.
            let container = try vector.hex("container_hex")
            #expect(KeyContainer.encode(.privateKey, payload: data).count == container.count)
            let zeroed = container[..<8] + [0, 0, 0, 0] + container[12...]
            let stored = container[8..<12].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            #expect(CRC32C.checksum(zeroed) == stored, "\(vector)")
        }
        return count
    }

    private func seal(_ vectors: VectorObject) throws -> Int {
        var count = try each(vectors, "cases") { vector in
            let cell = try SecureCell(key: vector.hex("key_hex"))
            let context = try vector.hexIfPresent("context_hex") ?? []
            let plaintext = try vector.hex("plaintext_hex")
            let sealed = try vector.hex("sealed_hex")
            #expect(try cell.open(sealed, context: context) == plaintext, "\(vector)")
            let again = unsafe try cell.seal(
                plaintext.span.bytes, context: context.span.bytes, nonce: vector.hex("iv_hex"))
            #expect(again == sealed, "\(vector)")
            #expect(try cell.open(cell.seal(plaintext, context: context), context: context) == plaintext)
        }
        count += try each(vectors, "negative_cases") { vector in
            let isSealing = try vector.text("operation") == "encrypt"
            let key = try vector.hex("key_hex")
            let code = expectFailure(vector) {
                let cell = try SecureCell(key: key)
                let context = try vector.hexIfPresent("context_hex") ?? []
                if isSealing {
                    _ = try cell.seal(vector.hex("plaintext_hex"), context: context)
                } else {
                    _ = try cell.open(vector.hex("sealed_hex"), context: context)
                }
            }
            #expect(code == (isSealing || key.isEmpty ? .invalidArgument : .authenticationFailed), "\(vector)")
        }
        return count
    }

    private func tokenProtect(_ vectors: VectorObject) throws -> Int {
        func protected(_ vector: VectorObject) throws -> SecureCell.ProtectedData {
            try SecureCell.ProtectedData(token: vector.hex("token_hex"), ciphertext: vector.hex("ciphertext_hex"))
        }
        var count = try each(vectors, "cases") { vector in
            let cell = try SecureCell(key: vector.hex("key_hex"))
            let context = try vector.hexIfPresent("context_hex") ?? []
            let plaintext = try vector.hex("plaintext_hex")
            #expect(try cell.open(protected(vector), context: context) == plaintext, "\(vector)")
            let again = try cell.protect(plaintext, context: context, nonce: vector.hex("iv_hex"))
            #expect(try again == protected(vector), "\(vector)")
            #expect(try cell.open(cell.protect(plaintext, context: context), context: context) == plaintext)
        }
        count += try each(vectors, "negative_cases") { vector in
            let isSealing = try vector.text("operation") == "encrypt"
            let code = expectFailure(vector) {
                let cell = try SecureCell(key: vector.hex("key_hex"))
                let context = try vector.hexIfPresent("context_hex") ?? []
                if isSealing {
                    _ = try cell.protect(vector.hex("plaintext_hex"), context: context)
                } else {
                    _ = try cell.open(protected(vector), context: context)
                }
            }
            #expect(code == (isSealing ? .invalidArgument : .authenticationFailed), "\(vector)")
        }
        return count
    }

    private func contextImprint(_ vectors: VectorObject) throws -> Int {
        var count = try each(vectors, "cases") { vector in
            let cell = try SecureCell(key: vector.hex("key_hex"))
            let context = try vector.hex("context_hex")
            #expect(
                try cell.imprint(vector.hex("plaintext_hex"), context: context) == vector.hex("ciphertext_hex"),
                "\(vector)")
            #expect(
                try cell.reverseImprint(vector.hex("ciphertext_hex"), context: context) == vector.hex("plaintext_hex"),
                "\(vector)")
        }
        count += try each(vectors, "unauthenticated_cases") { vector in
            let cell = try SecureCell(key: vector.hex("key_hex"))
            let output = try cell.reverseImprint(vector.hex("ciphertext_hex"), context: vector.hex("context_hex"))
            #expect(try output == vector.hex("output_hex"), "\(vector)")
        }
        count += try each(vectors, "negative_cases") { vector in
            let code = expectFailure(vector) {
                let cell = try SecureCell(key: vector.hex("key_hex"))
                let data = try vector.hexIfPresent("plaintext_hex") ?? vector.hex("ciphertext_hex")
                _ = try cell.imprint(data, context: vector.hexIfPresent("context_hex") ?? [])
            }
            #expect(code == .invalidArgument, "\(vector)")
        }
        return count
    }

    private func passphrase(_ vectors: VectorObject) throws -> Int {
        var count = try each(vectors, "cases") { vector in
            let cell = try PassphraseCell(passphrase: vector.hex("passphrase_hex"))
            let context = try vector.hexIfPresent("context_hex") ?? []
            let plaintext = try vector.hex("plaintext_hex")
            #expect(try cell.open(vector.hex("sealed_hex"), context: context) == plaintext, "\(vector)")
            let again = try cell.seal(
                plaintext, context: context, nonce: vector.hex("iv_hex"), salt: vector.hex("salt_hex"),
                iterationCount: vector.int("iterations"))
            #expect(try again == vector.hex("sealed_hex"), "\(vector)")
        }
        count += try each(vectors, "negative_cases") { vector in
            let isSealing = try vector.text("operation") == "encrypt"
            let passphrase = try vector.hex("passphrase_hex")
            let code = expectFailure(vector) {
                let cell = try PassphraseCell(passphrase: passphrase)
                let context = try vector.hexIfPresent("context_hex") ?? []
                if isSealing {
                    _ = try cell.seal(vector.hex("plaintext_hex"), context: context)
                } else {
                    _ = try cell.open(vector.hex("sealed_hex"), context: context)
                }
            }
            let isTooMuchWork = try vector.text("reason").contains("0x80000000")
            let expected: InteropError.Code =
                isSealing || passphrase.isEmpty
                ? .invalidArgument : isTooMuchWork ? .limitExceeded : .authenticationFailed
            // Big-endian iteration counts are large numbers, or small ones; both fail, each in its way.
            let isEither = try vector.text("reason").contains("big-endian")
            #expect(code == expected || isEither, "\(vector)")
        }
        return count
    }

    private func keys(_ vectors: VectorObject) throws -> Int {
        var count = try each(vectors, "cases") { vector in
            let privateContainer = try vector.hex("private_key_hex")
            let publicContainer = try vector.hex("public_key_hex")
            let privateKey = try ThemisPrivateKey(container: privateContainer)
            let publicKey = try ThemisPublicKey(container: publicContainer)
            #expect(privateKey.publicKey == publicKey, "\(vector)")
            #expect(try privateKey.exportContainer() == privateContainer, "\(vector)")
            #expect(try publicKey.uncompressedPoint == [4] + vector.hex("public_x_hex") + vector.hex("public_y_hex"))
            if try vector.text("public_point_encoding") == "compressed" {
                #expect(publicKey.container == publicContainer, "\(vector)")
            }
        }
        count += try each(vectors, "negative_cases") { vector in
            let container = try vector.hex("key_hex")
            let isPrivate = try vector.text("kind") == "private"
            let code = expectFailure(vector) {
                if isPrivate {
                    _ = try ThemisPrivateKey(container: container)
                } else {
                    _ = try ThemisPublicKey(container: container)
                }
            }
            #expect(code == .invalidKey, "\(vector)")
        }
        return count
    }

    private func encryptedMessages(_ vectors: VectorObject) throws -> Int {
        var count = try each(vectors, "cases") { vector in
            let sender = try ThemisPrivateKey(container: vector.hex("sender_private_key_hex"))
            let recipient = try ThemisPrivateKey(container: vector.hex("recipient_private_key_hex"))
            let senderPublic = try ThemisPublicKey(container: vector.hex("sender_public_key_hex"))
            let recipientPublic = try ThemisPublicKey(container: vector.hex("recipient_public_key_hex"))
            let plaintext = try vector.hex("plaintext_hex")
            let message = try vector.hex("message_hex")
            #expect(try SecureMessage.decrypt(message, to: recipient, from: senderPublic) == plaintext, "\(vector)")
            let again = try SecureMessage.encrypt(
                plaintext, from: sender, to: recipientPublic, nonce: vector.hex("iv_hex"))
            #expect(again == message, "\(vector)")
        }
        count += try each(vectors, "negative_cases") { vector in
            let isSealing = try vector.text("operation") == "encrypt"
            expectFailure(vector) {
                let own = try ThemisPrivateKey(container: vector.hex("private_key_hex"))
                let peer = try ThemisPublicKey(container: vector.hex("peer_public_key_hex"))
                if isSealing {
                    _ = try SecureMessage.encrypt(vector.hex("plaintext_hex"), from: own, to: peer)
                } else {
                    _ = try SecureMessage.decrypt(vector.hex("message_hex"), to: own, from: peer)
                }
            }
        }
        return count
    }

    private func signedMessages(_ vectors: VectorObject) throws -> Int {
        var count = try each(vectors, "cases") { vector in
            let key = try ThemisPrivateKey(container: vector.hex("signer_private_key_hex"))
            let publicKey = try ThemisPublicKey(container: vector.hex("signer_public_key_hex"))
            let message = try vector.hex("plaintext_hex")
            #expect(try SecureMessage.verify(vector.hex("signed_hex"), from: publicKey) == message, "\(vector)")
            #expect(try SecureMessage.verify(SecureMessage.sign(message, with: key), from: publicKey) == message)
        }
        count += try each(vectors, "negative_cases") { vector in
            let isSigning = try vector.text("operation") == "sign"
            expectFailure(vector) {
                if isSigning {
                    let key = try ThemisPrivateKey(container: vector.hex("private_key_hex"))
                    _ = try SecureMessage.sign(vector.hex("plaintext_hex"), with: key)
                } else {
                    let key = try ThemisPublicKey(container: vector.hex("public_key_hex"))
                    _ = try SecureMessage.verify(vector.hex("signed_hex"), from: key)
                }
            }
        }
        return count
    }

    private func bearChain(_ vectors: VectorObject) throws -> Int {
        func applicationKey(_ vector: VectorObject) throws -> BearKeyChain.ApplicationKey {
            let chain = try BearKeyChain(
                passwordPart: vector.utf8("generated_passphrase_password_utf8"),
                applicationContext: vector.utf8("generated_app_context_utf8"))
            return try chain.deriveApplicationKey(passphrase: vector.utf8("user_passphrase_utf8"))
        }
        var count = try each(vectors, "cases") { vector in
            let key = try applicationKey(vector)
            let noteID = try vector.utf8("note_encryption_id_utf8")
            let text = try vector.utf8("note_text_utf8")
            let isKey = try unsafe key.bytes.withUnsafeBytes {
                unsafe [UInt8]($0) == (try vector.hex("app_encryption_key_hex"))
            }
            #expect(isKey, "\(vector)")
            #expect(try key.noteKey(noteID) == vector.hex("note_encryption_key_hex"), "\(vector)")
            #expect(try key.open(vector.hex("encrypted_note_hex"), noteID: noteID) == text, "\(vector)")
            let again = unsafe try key.noteCell(noteID).seal(
                text.span.bytes, context: noteID.span.bytes, nonce: vector.hex("iv_hex"))
            #expect(try again == vector.hex("encrypted_note_hex"), "\(vector)")
        }
        count += try each(vectors, "negative_cases") { vector in
            let code = expectFailure(vector) {
                _ = try applicationKey(vector).open(
                    vector.hex("encrypted_note_hex"), noteID: vector.utf8("note_encryption_id_utf8"))
            }
            #expect(code == .authenticationFailed, "\(vector)")
        }
        return count
    }

    private func transport(_ vectors: VectorObject) throws -> Int {
        var count = try each(vectors, "encoding_cases") { vector in
            let text = try vector.text("transport_string")
            #expect(try TransportString.encode(vector.hex("data_hex")) == text, "\(vector)")
            #expect(try TransportString.decode(text) == vector.hex("data_hex"), "\(vector)")
        }
        count += try each(vectors, "decoding_cases") { vector in
            let text = try vector.text("transport_string")
            if try vector.text("expect") == "ok" {
                #expect(try TransportString.decode(text) == vector.hex("data_hex"), "\(vector)")
            } else {
                #expect(expectFailure(vector) { _ = try TransportString.decode(text) } == .invalidText)
            }
        }
        count += try each(vectors, "cases") { vector in
            for name in ["encrypted_post", "encrypted_shared_key"] {
                #expect(try TransportString.decode(vector.text("\(name)_transport")) == vector.hex("\(name)_hex"))
            }
            let author = try ThemisPublicKey(
                container: TransportString.decode(vector.text("author_public_key_transport")))
            let reader = try ThemisPrivateKey(container: vector.hex("reader_private_key_hex"))
            let shared = try TransportString.decode(vector.text("encrypted_shared_key_transport"))
            let key = try SecureMessage.decrypt(shared, to: reader, from: author)
            #expect(try key == vector.utf8("author_secret_key_utf8"), "\(vector)")
            let post = try SecureCell(key: key).open(vector.hex("encrypted_post_hex"))
            #expect(try post == vector.utf8("post_utf8"), "\(vector)")
        }
        return count
    }

    @Test("Coffret's own constants of scheme 1 are those of the vectors")
    func ownScheme() throws {
        let file = SharedData.ownVectors("themis").appendingPathComponent("bear_chain_scheme1.json")
        let own = try VectorObject(contentsOf: file).objects("cases").filter {
            try $0.utf8("generated_app_context_utf8") == BearKeyChain.coffretScheme1.applicationContext
                && $0.utf8("generated_passphrase_password_utf8") == BearKeyChain.coffretScheme1.passwordPart
        }
        #expect(own.count == 3)
    }
}
