// `coffret ssh-key`: SSH keys made here or brought in. The one thing to keep true: a private key is kept only in a form
// that the agent can use, with the public half that belongs to it.

internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretSSH
internal import CoffretScripting
internal import CoffretStorage
internal import CoffretTerminal

enum SSHKeyCommand {
    static let title = ArgumentDescription.required("TITLE", "what to call the key")
    static let file = ArgumentDescription.required("FILE", .file, "a private key in OpenSSH's format")
    static let name = OptionDescription.value(
        "title", "TITLE", "what to call the key (its comment, or the file's name)")
    static let confirm = OptionDescription.flag("confirm", "ask each time before the key is used")
    static let keyPassphrase = OptionDescription.value(
        "key-passphrase-fd", "N", .number(0...1_048_575), "read the key's passphrase from an open file descriptor")

    static let description = CommandDescription(
        "ssh-key", group: .scripts, "Keep SSH keys for coffret ssh-agent",
        subcommands: [
            CommandDescription(
                "new", "Make an Ed25519 key and print its public half",
                discussion: ["The private key never leaves the vault; coffret ssh-agent signs with it."],
                arguments: [title], options: [NewCommand.tag, confirm],
                examples: [CommandExample("coffret ssh-key new laptop", "prints the line for authorized_keys")],
                run: make),
            CommandDescription(
                "import", "Take a private key that is in a file",
                discussion: [
                    "A key's passphrase is asked for, and taken off: the vault protects the key from then on. The file stays where it is; remove it once coffret ssh-agent serves the key."
                ],
                arguments: [file], options: [name, NewCommand.tag, confirm, keyPassphrase],
                examples: [CommandExample("coffret ssh-key import ~/.ssh/id_ed25519", "brings in a key")], run: bring),
            CommandDescription(
                "public", "Print the public half of a key, as authorized_keys has it",
                arguments: [CommonArguments.item],
                run: printPublic),
        ])

    private static func make(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let title = context.arguments.required(title)
        let key = SSHPrivateKey.generate(from: SystemRandomSource())
        try save(key, title: title, comment: title, session, context)
    }

    private static func bring(_ context: CommandContext) throws {
        let path = context.arguments.required(file)
        try PathCheck.readable(path)
        let session = try VaultSession.open(context)
        var text = try ForeignFile.readSecretKey(path)
        defer { text.zero() }
        var contents: OpenSSHKeyFile.Contents
        do throws(SSHError) {
            contents = try OpenSSHKeyFile.parse(text, passphrase: OpenSSHKeyFile.noPassphrase)
        } catch {
            guard error.code == .passphraseNeeded else { throw error }
            let passphrase = try PassphraseSource(context: context).ofKeyFile(
                from: keyPassphrase, "Passphrase of \(TextWidth.displaySafe(path)): ")
            contents = try OpenSSHKeyFile.parse(text, passphrase: passphrase)
        }
        let fileName = path.split(separator: "/").last.map(String.init) ?? path
        let title =
            context.arguments.value(name) ?? (contents.comment.isEmpty ? fileName : contents.comment)
        try save(contents.key, title: title, comment: contents.comment, session, context)
    }

    private static func save(
        _ key: SSHPrivateKey, title: String, comment: String, _ session: VaultSession, _ context: CommandContext
    ) throws {
        var fields = fields(of: key, comment: comment)
        if context.arguments.isSet(confirm) {
            fields.append(
                ItemField(
                    key: .generate(from: SystemRandomSource()), label: SSHKeyring.confirmField, kind: .text,
                    value: "yes",
                    position: 1))
        }
        let draft = ItemDraft(
            kind: .sshKey, title: title, fields: fields, tags: try context.tags(NewCommand.tag))
        let id = try session.writing { vault in try vault.create(draft) }
        let line = key.publicKey.line(comment: comment)
        try context.print(
            .fields([
                "id": .string(id.uuid.hex), "title": .string(title), "publicKey": .string(line),
                "fingerprint": .string(key.publicKey.fingerprint),
            ]), isVerbatim: true
        ) { TextWidth.displaySafe(line) }
        try context.output.flush()
        let item = try session.vault.item(id)
        context.note("Saved \(context.label(item, try session.shortID(id)))")
    }

    /// The fields of an item for a key.
    static func fields(of key: SSHPrivateKey, comment: String) -> [ItemField] {
        var text = OpenSSHKeyFile.text(of: key, comment: comment, random: SystemRandomSource())
        defer { text.zero() }
        return [
            ("private-key", String(decoding: text, as: UTF8.self)),
            ("public-key", key.publicKey.line(comment: comment)),
            ("fingerprint", key.publicKey.fingerprint),
        ].compactMap { ItemField(standard: $0.0, of: .sshKey, value: $0.1) }
    }

    private static func printPublic(_ context: CommandContext) throws {
        let session = try VaultSession.open(context)
        let item = try session.readable(
            session.vault.item(try session.vault.resolve(context.arguments.required(CommonArguments.item))))
        guard item.kind == .sshKey, let key = SSHKeyring.publicKey(of: item) else {
            throw CommandFailure(
                .notFound, .fieldNotFound,
                "\"\(TextWidth.displaySafe(item.title))\" has no SSH key that coffret can read",
                hint: "coffret ls --type ssh-key lists the keys")
        }
        let line = key.line(comment: item.title)
        try context.print(
            .fields(["publicKey": .string(line), "fingerprint": .string(key.fingerprint)]), isVerbatim: true
        ) { TextWidth.displaySafe(line) }
    }
}
