// `coffret ssh-key`: SSH keys made here or brought in. The one thing to keep true: a private key is kept only in a form
// that the agent can use, with the public half that belongs to it.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretSSH
internal import CoffretScripting
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

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
        let store = try CommandStore.open(context)
        let title = context.arguments.required(title)
        let key = SSHPrivateKey.generate(from: SystemRandomSource())
        try save(key, title: title, comment: title, store, context)
    }

    private static func bring(_ context: CommandContext) throws {
        let path = context.arguments.required(file)
        try PathCheck.readable(path)
        let store = try CommandStore.open(context)
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
        try save(contents.key, title: title, comment: contents.comment, store, context)
    }

    private static func save(
        _ key: SSHPrivateKey, title: String, comment: String, _ store: CommandStore, _ context: CommandContext
    ) throws {
        var request = ItemCreate()
        (request.kind, request.title, request.vault) = (ItemKind.sshKey.name, title, store.namedVault)
        request.tags = try context.tags(NewCommand.tag).map(\.path)
        var fields = fields(of: key, comment: comment).map { FieldDraft(name: $0.key.name, value: $0.value) }
        if context.arguments.isSet(confirm) { fields.append(FieldDraft(name: SSHKeyring.confirmField, value: "yes")) }
        request.fields = fields
        let item = try store.perform(request)
        let line = key.publicKey.line(comment: comment)
        try context.print(
            .fields([
                "id": .string(item.id), "title": .string(title), "publicKey": .string(line),
                "fingerprint": .string(key.publicKey.fingerprint),
            ]), isVerbatim: true
        ) { TextWidth.displaySafe(line) }
        try context.output.flush()
        context.note("Saved \(try store.label(item.id))")
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
        let store = try CommandStore.open(context)
        var request = ItemRead()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        var item = try store.perform(request)
        // Without a public half of its own, that of the private one.
        if !item.fields.contains(where: { $0.name == "public-key" }) {
            request.revealsSecrets = true
            item = try store.perform(request)
        }
        let fields = item.fields
        guard item.kind == ItemKind.sshKey.name,
            let key = SSHKeyring.publicKey({ name in fields.first { $0.name == name }?.value })
        else {
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
