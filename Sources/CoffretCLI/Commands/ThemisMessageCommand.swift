// `coffret themis message`: Secure Message between two holders of Themis keys. Needs no store.

internal import CoffretBase
internal import CoffretInterop
internal import CoffretMessages

enum ThemisMessageCommand {
    private static let own = OptionDescription.value("private", "FILE", .file, "your private key; required")
    private static let other = OptionDescription.value("public", "FILE", .file, "the other side's public key; required")
    private static let data = [ForeignData.input, ForeignData.output, ForeignData.base64, ForeignData.transport]

    static let description = CommandDescription(
        "message", "Encrypt, decrypt, sign and verify with Themis keys",
        discussion: [
            "Both sides of an encrypted message share one key: either could have made it. A signed message can be read by everyone."
        ],
        subcommands: [
            CommandDescription(
                "encrypt", "Encrypt a message to somebody", options: [own, other] + data,
                examples: [
                    CommandExample(
                        "coffret themis message encrypt --private own.key --public peer.pub --base64",
                        "what comes by the pipe, as text")
                ],
                run: { context in
                    let (data, own, other) = try (ForeignData(context), ownKey(context), otherKey(context))
                    var plaintext = try data.plain()
                    defer { plaintext.zero() }
                    try data.writeSealed(try SecureMessage.encrypt(plaintext, from: own, to: other))
                }),
            CommandDescription(
                "decrypt", "Decrypt a message from somebody", options: [own, other] + data,
                run: { context in
                    let (data, own, other) = try (ForeignData(context), ownKey(context), otherKey(context))
                    var plaintext = try SecureMessage.decrypt(data.sealed(), to: own, from: other)
                    defer { plaintext.zero() }
                    try data.write(plaintext)
                }),
            CommandDescription(
                "sign", "Sign a message; the result holds it", options: [own] + data,
                run: { context in
                    let (data, own) = try (ForeignData(context), ownKey(context))
                    try data.writeSealed(try SecureMessage.sign(data.plain(), with: own))
                }),
            CommandDescription(
                "verify", "Verify a signed message, and print what it holds", options: [other] + data,
                run: { context in
                    let (data, other) = try (ForeignData(context), otherKey(context))
                    try data.write(try SecureMessage.verify(data.sealed(), from: other))
                }),
        ])

    private static func ownKey(_ context: CommandContext) throws -> ThemisPrivateKey {
        try ThemisKeyFile.privateKey(try context.required(own))
    }

    private static func otherKey(_ context: CommandContext) throws -> ThemisPublicKey {
        try ThemisKeyFile.publicKey(try context.required(other))
    }
}
