// What we do at the edges of the Themis formats, case by case: what must be accepted is, what should be
// rejected is, and each leniency of the reference that we do not share is named here.

import CoffretTestSupport
import Testing

@testable import CoffretInterop

enum ThemisEdgeCases {
    /// Optional cases that we accept; all other optional ones are refused.
    static let acceptedTopics: Set<String> = ["pbkdf2-parameters"]

    static func run(_ vectors: VectorObject) throws -> Int {
        let cases = try vectors.objects("cases")
        for vector in cases {
            let advice = try vector.text("advice")
            let isAccepted =
                try advice == "must_accept" || (advice == "may_reject" && acceptedTopics.contains(vector.text("topic")))
            if isAccepted {
                #expect(try output(vector) == vector.hex("output_hex"), "\(vector)")
            } else {
                let code = expectFailure(vector) { _ = try output(vector) }
                #expect(code == .authenticationFailed || code == .invalidKey, "\(vector)")
            }
        }
        return cases.count
    }

    private static func output(_ vector: VectorObject) throws -> [UInt8] {
        let context = try vector.hexIfPresent("context_hex") ?? []
        switch try vector.text("operation") {
        case "seal_decrypt":
            return try SecureCell(key: vector.hex("key_hex")).open(vector.hex("sealed_hex"), context: context)
        case "seal_passphrase_decrypt":
            return try PassphraseCell(passphrase: vector.hex("passphrase_hex"))
                .open(vector.hex("sealed_hex"), context: context)
        case "token_decrypt":
            let protected = try SecureCell.ProtectedData(
                token: vector.hex("token_hex"), ciphertext: vector.hex("ciphertext_hex"))
            return try SecureCell(key: vector.hex("key_hex")).open(protected, context: context)
        case "secure_message_decrypt":
            let own = try ThemisPrivateKey(container: vector.hex("private_key_hex"))
            let peer = try ThemisPublicKey(container: vector.hex("peer_public_key_hex"))
            return try SecureMessage.decrypt(vector.hex("message_hex"), to: own, from: peer)
        case "secure_message_verify":
            let key = try ThemisPublicKey(container: vector.hex("public_key_hex"))
            return try SecureMessage.verify(vector.hex("signed_hex"), from: key)
        case "import_private_key":
            return try ThemisPrivateKey(container: vector.hex("key_hex")).exportContainer()
        case let operation:
            Issue.record("nobody knows the operation \(operation)")
            return []
        }
    }
}
