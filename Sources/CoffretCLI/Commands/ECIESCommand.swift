// `coffret ecies`: messages and signatures for keys of Apple's, such as those in a Secure Enclave. Needs
// no store.

internal import CoffretBase
internal import CoffretInterop
internal import CoffretMessages
internal import CoffretTerminal

enum ECIESCommand {
    private static let curve = OptionDescription.value(
        "curve", "CURVE", .choice(["p256", "p384", "p521"]),
        "p256 (as in a Secure Enclave, and when not said), p384 or p521")
    private static let newKey = OptionDescription.value(
        "output", short: "o", "FILE", .file, "the new file of the private key, readable by you only; required")
    private static let newPublic = OptionDescription.value(
        "public", "FILE", .file, "the new file of the public key, not standard output")
    private static let publicKey = OptionDescription.value("key", short: "k", "FILE", .file, "the public key; required")
    private static let privateKey = OptionDescription.value(
        "key", short: "k", "FILE", .file, "the private key; required")
    private static let signature = OptionDescription.value(
        "signature", "FILE", .file, "the signature, in DER; required")
    private static let format = OptionDescription.value(
        "format", "FORMAT", .choice(["pem", "jwk", "der", "x963"]),
        "pem, jwk, der, or x963, which Apple's SecKeyCreateWithData takes")
    private static let eitherKey = ArgumentDescription.required("KEY", .file, "a key file, private or public")

    private static let sealing = OptionDescription.value(
        "algorithm", short: "a", "NAME", .choice(ECIESAlgorithm.allCases.map(\.rawValue)),
        "one of Apple's 18 names (\(ECIESAlgorithm.recommended.rawValue))")
    private static let signing = OptionDescription.value(
        "algorithm", short: "a", "NAME", .choice(ECDSAAlgorithm.allCases.map(\.rawValue)),
        "one of Apple's names (\(ECDSAAlgorithm.ecdsaSignatureMessageX962SHA256.rawValue))")

    static let description = CommandDescription(
        "ecies", group: .inOut, "Seal, open, sign and verify with Apple's kind of keys",
        discussion: [
            "Speaks what SecKeyCreateEncryptedData and SecKeyCreateSignature speak, without a store. Keys come as \(CurveKeyFile.formNames)."
        ],
        subcommands: [keygen, publicHalf, seal, open, sign, verify])

    private static let keygen = CommandDescription(
        "keygen", "Make a key pair", options: [curve, newKey, newPublic],
        examples: [CommandExample("coffret ecies keygen -o server.pem --public server.pub", "a pair of files")],
        run: runKeygen)
    private static let publicHalf = CommandDescription(
        "public", "Print the public key of a key file, in the form you need",
        arguments: [eitherKey], options: [format, ForeignData.base64, ForeignData.output],
        examples: [CommandExample("coffret ecies public server.pem --format x963 --base64", "for a phone")],
        run: runPublic)
    private static let seal = CommandDescription(
        "seal", "Seal a message that only the holder of a private key opens",
        discussion: [
            "The message does not say which algorithm made it: agree on one. Anyone with the public key can make it; sign it as well if it matters who did.",
            "The 18 names: eciesEncryption, Cofactor or Standard, X963SHA or VariableIVX963SHA, 224, 256, 384 or 512, AESGCM; and the two of eciesEncryption, Cofactor or Standard, X963SHA1AESGCM. The shell completes them.",
        ],
        options: [publicKey, sealing, ForeignData.input, ForeignData.output, ForeignData.base64],
        examples: [CommandExample("coffret ecies seal -k phone.pub -i note.txt -o note.sealed", "for a phone's key")],
        run: { context in
            let data = try ForeignData(context)
            let key = try CurveKeyFile.publicKey(try context.required(publicKey))
            var plaintext = try data.plain()
            defer { plaintext.zero() }
            try data.writeSealed(try key.encrypt(plaintext, algorithm: sealingAlgorithm(context)))
        })
    private static let open = CommandDescription(
        "open", "Open a message that was sealed for a private key",
        options: [privateKey, sealing, ForeignData.input, ForeignData.output, ForeignData.base64],
        examples: [CommandExample("coffret ecies open -k server.pem -i note.sealed -o note.txt", "what a phone sent")],
        run: { context in
            let data = try ForeignData(context)
            let key = try CurveKeyFile.privateKey(try context.required(privateKey))
            var plaintext = try key.decrypt(data.sealed(), algorithm: sealingAlgorithm(context))
            defer { plaintext.zero() }
            try data.write(plaintext)
        })
    private static let sign = CommandDescription(
        "sign", "Sign a message, or a digest",
        discussion: [
            "The Message algorithms hash the input, the Digest ones take it as the digest itself. The names are ecdsaSignature, Message or Digest, X962SHA and 1, 224, 256, 384 or 512; and ecdsaSignatureDigestX962."
        ],
        options: [privateKey, signing, ForeignData.input, ForeignData.output, ForeignData.base64],
        examples: [CommandExample("coffret ecies sign -k server.pem -i note.txt -o note.sig", "ECDSA, in DER")],
        run: { context in
            let data = try ForeignData(context)
            let key = try CurveKeyFile.privateKey(try context.required(privateKey))
            try data.writeSealed(try key.sign(data.plain(), algorithm: signingAlgorithm(context)))
        })
    private static let verify = CommandDescription(
        "verify", "Say whether a signature is valid",
        options: [publicKey, signature, signing, ForeignData.input, ForeignData.base64],
        examples: [
            CommandExample("coffret ecies verify -k phone.pub --signature note.sig -i note.txt", "exit code 0 or 84")
        ],
        run: runVerify)

    private static func sealingAlgorithm(_ context: CommandContext) -> ECIESAlgorithm {
        context.arguments.value(sealing).flatMap { ECIESAlgorithm(rawValue: $0) } ?? .recommended
    }

    private static func signingAlgorithm(_ context: CommandContext) -> ECDSAAlgorithm {
        context.arguments.value(signing).flatMap { ECDSAAlgorithm(rawValue: $0) } ?? .ecdsaSignatureMessageX962SHA256
    }

    private static func runKeygen(_ context: CommandContext) throws {
        let path = try context.required(newKey)
        let publicPath = context.arguments.value(newPublic)
        let curve: Curve =
            switch context.arguments.value(curve) {
            case "p384": .p384
            case "p521": .p521
            default: .p256
            }
        let key = try SoftwareCurveKey.generate(curve)
        var secret = Array(try key.exportPEMRepresentation().utf8)
        defer { secret.zero() }
        let open = key.publicKey.pemRepresentation
        try ForeignFile.createPair(path, secret, publicPath, Array(open.utf8))
        if publicPath == nil {
            try context.print(.fields(["event": .string("done"), "file": .string(path), "public": .string(open)])) {
                open.hasSuffix("\n") ? String(open.dropLast()) : open
            }
        } else {
            try context.confirmDone(
                .fields(["event": .string("done"), "file": .string(path), "public": .string(open)])
            ) { "Wrote \(TextWidth.displaySafe(path)); keep it to yourself." }
        }
    }

    private static func runPublic(_ context: CommandContext) throws {
        let data = try ForeignData(context)
        let key = try CurveKeyFile.eitherPublicKey(context.arguments.required(eitherKey))
        switch context.arguments.value(format) {
        case "jwk": try data.write(Array((key.jwkRepresentation + "\n").utf8))
        case "der": try data.writeSealed(key.derRepresentation)
        case "x963": try data.writeSealed(key.x963Representation)
        default: try data.write(Array(key.pemRepresentation.utf8))
        }
    }

    private static func runVerify(_ context: CommandContext) throws {
        let data = try ForeignData(context)
        let key = try CurveKeyFile.publicKey(try context.required(publicKey))
        let signature = try data.decode(
            ForeignFile.read(try context.required(signature), byteCountMax: ForeignFile.keyByteCountMax),
            what: "the signature")
        do {
            try key.verify(signature, of: data.plain(), algorithm: signingAlgorithm(context))
        } catch let error as InteropError where error.code == .authenticationFailed {
            throw CommandFailure(
                .notAuthentic, code: error.code.rawValue,
                "the signature is not valid for this message, key and algorithm",
                hint: "r and s must stand in DER, as SecKeyCreateSignature and OpenSSL write them")
        }
        try context.confirmDone(.fields(["event": .string("done"), "isValid": .bool(true)])) {
            "The signature is valid."
        }
    }
}
