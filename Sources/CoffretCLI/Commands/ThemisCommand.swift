// `coffret themis`: cells that Themis apps read and write. Needs no store.

internal import CoffretBase
internal import CoffretInterop
internal import CoffretTerminal

enum ThemisCommand {
    private static let newKey = OptionDescription.value(
        "output", short: "o", "FILE", .file, "the new file of the secret key, readable by you only; required")
    private static let newPublic = OptionDescription.value(
        "public", "FILE", .file, "the new file of the public key, not base64 on standard output")
    private static let symmetric = OptionDescription.flag("symmetric", "a key for cells instead: 32 random bytes")
    private static let keyFile = OptionDescription.value(
        "key-file", short: "k", "FILE", .file, "the key, all bytes of the file; otherwise a passphrase is asked")
    private static let cellContext = OptionDescription.value(
        "context", short: "c", "TEXT", "what the cell is bound to; not secret, and needed to open")
    private static let mode = OptionDescription.value(
        "mode", "MODE", .choice(["seal", "token", "imprint"]), "seal, token or imprint, as Themis calls them")
    private static let token = OptionDescription.value("token", "FILE", .file, "the token, in the mode of that name")

    private static let cellOptions = [
        keyFile, cellContext, ForeignData.input, ForeignData.output, ForeignData.base64, ForeignData.transport, mode,
        token,
    ]

    static let description = CommandDescription(
        "themis", group: .inOut, "Seal and open data of apps that use Themis",
        discussion: [
            "Speaks Secure Cell and Secure Message of Themis 0.10 to 0.15, without a store. A passphrase is asked at the terminal or read from --passphrase-fd, never from the file of the store's passphrase."
        ],
        subcommands: [
            CommandDescription(
                "keygen", "Make a key pair for messages, or a key for cells",
                options: [newKey, newPublic, symmetric],
                examples: [
                    CommandExample("coffret themis keygen -o own.key --public own.pub", "a pair on P-256"),
                    CommandExample("coffret themis keygen --symmetric -o cell.key", "a key for seal and open"),
                ],
                run: keygen),
            CommandDescription(
                "seal", "Seal data with a key or a passphrase",
                discussion: [
                    "The mode imprint authenticates nothing and must not be used twice with one key and context."
                ],
                options: cellOptions,
                examples: [
                    CommandExample("coffret themis seal -k cell.key -c note-17 -i note.txt -o note.cell", "with a key"),
                    CommandExample("coffret themis seal --base64 -i note.txt", "with a passphrase, as text"),
                ],
                run: seal),
            CommandDescription(
                "open", "Open data that was sealed with a key or a passphrase", options: cellOptions,
                examples: [
                    CommandExample("coffret themis open -k cell.key -c note-17 -i note.cell", "with a key"),
                    CommandExample(
                        "coffret themis open -k post.key --transport -i post.txt", "a post of the ZKA sample"),
                ],
                run: open),
            ThemisMessageCommand.description,
        ])

    // MARK: Keys

    private static func keygen(_ context: CommandContext) throws {
        let path = try context.required(newKey)
        let publicPath = context.arguments.value(newPublic)
        var secret: [UInt8]
        var open: [UInt8] = []
        if context.arguments.isSet(symmetric) {
            guard publicPath == nil else { throw ForeignData.conflict("a key for cells has no public half") }
            secret = SecureCell.generateKey()
        } else {
            let key = try ThemisPrivateKey.generate()
            secret = try key.exportContainer()
            open = key.publicKey.container
        }
        defer { secret.zero() }
        try ForeignFile.createPair(path, secret, publicPath, open)
        let text = Base64.standard.encode(open)
        let value = JSONValue.fields([
            "event": .string("done"), "file": .string(path), "public": open.isEmpty ? nil : .string(text),
        ])
        if publicPath == nil, !open.isEmpty {
            try context.print(value, isVerbatim: true) { text }
        } else {
            try context.confirmDone(value) { "Wrote \(TextWidth.displaySafe(path)); keep it to yourself." }
        }
    }

    // MARK: Cells

    /// What opens a cell.
    private enum Lock {
        case key(SecureCell)
        case passphrase(PassphraseCell)
    }

    private static func lock(_ context: CommandContext, isNew: Bool) throws -> Lock {
        if let path = context.arguments.value(keyFile) {
            guard !context.arguments.isSet(GlobalOptions.passphraseDescriptor) else {
                throw ForeignData.conflict("--key-file and --passphrase-fd exclude each other")
            }
            var key = try ForeignFile.readSecretKey(path)
            defer { key.zero() }
            return .key(try SecureCell(key: key))
        }
        let secret = try PassphraseSource(context: context).foreign(isNew: isNew)
        // EXPOSE: the cell takes an array, and copies it into memory of its own; ours is overwritten.
        var bytes = unsafe secret.withUnsafeBytes { unsafe Array($0) }
        defer { bytes.zero() }
        return .passphrase(try PassphraseCell(passphrase: bytes))
    }

    /// The mode, held against the options that go with it.
    private static func mode(_ context: CommandContext) throws -> String {
        let mode = context.arguments.value(mode) ?? "seal"
        guard mode == "seal" || context.arguments.isSet(keyFile) else {
            throw ForeignData.conflict("Themis knows the mode \(mode) with a key only: --key-file FILE is missing")
        }
        guard (mode == "token") == context.arguments.isSet(token) else {
            throw ForeignData.conflict("--mode token and --token FILE belong together")
        }
        guard mode != "imprint" || context.arguments.isSet(cellContext) else {
            throw ForeignData.conflict("--mode imprint needs --context TEXT")
        }
        return mode
    }

    private static func seal(_ context: CommandContext) throws {
        let mode = try mode(context)
        let data = try ForeignData(context)
        try ForeignFile.requireAbsent(context.arguments.values(token))
        let lock = try lock(context, isNew: true)
        let bound = Array((context.arguments.value(cellContext) ?? "").utf8)
        var plaintext = try data.plain()
        defer { plaintext.zero() }
        switch (lock, mode) {
        case (.passphrase(let cell), _): try data.writeSealed(try cell.seal(plaintext, context: bound))
        case (.key(let cell), "imprint"): try data.writeSealed(try cell.imprint(plaintext, context: bound))
        case (.key(let cell), "token"):
            let protected = try cell.protect(plaintext, context: bound)
            try ForeignFile.create(try context.required(token), protected.token) {
                try data.writeSealed(protected.ciphertext)
            }
        case (.key(let cell), _): try data.writeSealed(try cell.seal(plaintext, context: bound))
        }
    }

    private static func open(_ context: CommandContext) throws {
        let mode = try mode(context)
        let data = try ForeignData(context)
        let lock = try lock(context, isNew: false)
        let bound = Array((context.arguments.value(cellContext) ?? "").utf8)
        let sealed = try data.sealed()
        var plaintext: [UInt8]
        switch (lock, mode) {
        case (.passphrase(let cell), _): plaintext = try cell.open(sealed, context: bound)
        case (.key(let cell), "imprint"): plaintext = try cell.reverseImprint(sealed, context: bound)
        case (.key(let cell), "token"):
            let token = try ForeignFile.read(try context.required(token), byteCountMax: ForeignFile.keyByteCountMax)
            plaintext = try cell.open(SecureCell.ProtectedData(token: token, ciphertext: sealed), context: bound)
        case (.key(let cell), _): plaintext = try cell.open(sealed, context: bound)
        }
        defer { plaintext.zero() }
        try data.write(plaintext)
    }
}
