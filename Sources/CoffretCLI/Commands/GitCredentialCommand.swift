// `coffret git-credential`: git asks the vault. The one thing to keep true: git gets a password only if exactly one item
// is for exactly that place; otherwise it gets nothing, and asks the person as it would without us.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretMessages
internal import CoffretScripting
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum GitCredentialCommand {
    /// Logins that `store` made carry it; `erase` touches no others.
    static let tag = "git-credential"

    static let description = CommandDescription(
        "git-credential", group: .scripts, "Give git the passwords that it asks for",
        discussion: [
            "For git's own use: git config --global credential.helper '!coffret git-credential'. An item is used if its address has the same protocol, host and port, and the same user name and path where git tells them. If several fit, none is used; credential.username or a user name in the address tells git which.",
            "Without the agent, store and erase do nothing if they would have to ask for the passphrase.",
        ],
        subcommands: [
            CommandDescription(
                "get", "Look up the password for what git asks about",
                examples: [
                    CommandExample(
                        "printf 'protocol=https\\nhost=example.org\\n\\n' | coffret git-credential get",
                        "what git would be told")
                ], run: get),
            CommandDescription("store", "Keep a password that worked", run: store),
            CommandDescription("erase", "Put a password that did not work into the trash", run: erase),
        ])

    /// What fits, with the fields that answer.
    private struct Match {
        let item: Item
        let username: String?
        let password: ItemField
    }

    private static func read(_ context: CommandContext) throws -> GitCredential {
        let bytes = try? DescriptorIO.readAll(from: STDIN_FILENO, byteCountMax: GitCredential.byteCountMax)
        guard let bytes, let text = String(validating: bytes, as: UTF8.self), let asked = GitCredential(text) else {
            throw CommandFailure(
                .badInput, .inputInvalid, "that is not what git writes: protocol= and host= are needed",
                hint: "coffret help git-credential")
        }
        return asked
    }

    // MARK: Matching

    /// The items that are for that place.
    private static func matches(_ asked: GitCredential, _ vault: Vault) throws -> [Match] {
        try candidates(asked, vault).compactMap { id in
            let item = try vault.item(id)
            // Nobody is asked here whether somebody is there.
            guard !item.isHidden else { return nil }
            let addresses = item.fields.filter { $0.kind == .url && asked.matches($0.value) }
            let key = item.kind == .apiToken ? "token" : "password"
            guard !addresses.isEmpty, let password = item.fields.first(where: { $0.key.name == key }) else {
                return nil
            }
            let named = item.fields.first { $0.key.name == "username" }?.value
            let username = named ?? addresses.compactMap { GitCredential.Address($0.value)?.username }.first
            if let wanted = asked.username, let username, wanted != username { return nil }
            return Match(item: item, username: username, password: password)
        }
    }

    /// The items in which the words of the host stand side by side, out of the index: those that fit are among them, and
    /// nothing else is opened.
    private static func candidates(_ asked: GitCredential, _ vault: Vault) throws -> [EntityID] {
        let words = asked.searchWords
        guard !words.isEmpty else {
            var filter = ItemFilter()
            filter.kinds = [.login, .apiToken]
            return try vault.list(filter).map(\.id)
        }
        let query = "(type:login OR type:token) fields:\"\(words.joined(separator: " "))\""
        var found: [ItemSummary] = []
        while true {
            let page = try vault.search(query, limit: candidateCountMax, offset: found.count)
            found += page.hits.map(\.item)
            guard !page.hits.isEmpty, found.count < page.totalCount else { break }
        }
        return found.filter { !$0.isArchived && !$0.isTrashed }.map(\.id)
    }

    private static let candidateCountMax = 200

    /// Of several, the one whose address has the path that git tells.
    private static func only(_ found: [Match], _ asked: GitCredential) -> [Match] {
        guard found.count > 1, asked.path != nil else { return found }
        let exact = found.filter { match in
            match.item.fields.contains { field in
                field.kind == .url && asked.matches(field.value)
                    && GitCredential.Address(field.value)?.path.isEmpty == false
            }
        }
        return exact.isEmpty ? found : exact
    }

    private static func ambiguous(_ found: [Match], _ asked: GitCredential) -> CommandFailure {
        var failure = CommandFailure(
            .ambiguous, code: CoreError.Code.itemAmbiguous.rawValue,
            "several items are for \(TextWidth.displaySafe(asked.protocolName))://\(TextWidth.displaySafe(asked.host))",
            hint: "tell git which user: git config credential.https://HOST.username NAME")
        failure.add(
            found.map { match in
                CoreError.Candidate(
                    id: match.item.id.uuid.hex,
                    title: match.item.title + (match.username.map { " (\($0))" } ?? ""))
            })
        return failure
    }

    // MARK: What git calls

    private static func get(_ context: CommandContext) throws {
        // First the store: with the agent the command goes on in another process, which finds its input untouched.
        let session = try VaultSession.open(context)
        let asked = try read(context)
        let found = only(try matches(asked, session.vault), asked)
        guard found.count <= 1 else { throw ambiguous(found, asked) }
        // Nothing found is no failure: git asks the next helper, or the person.
        guard let match = found.first else { return }
        let values = [match.username ?? asked.username ?? "", match.password.value]
        guard values.allSatisfy({ value in !value.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 } }) else {
            throw CommandFailure(
                .badInput, .inputInvalid,
                "the password of \"\(TextWidth.displaySafe(match.item.title))\" has line ends, which git cannot take")
        }
        if context.isJSON {
            try context.output.line(
                JSONValue.fields([
                    "id": .string(match.item.id.uuid.hex), "username": values[0].isEmpty ? nil : .string(values[0]),
                    "password": .string(values[1]),
                ]).line)
            return
        }
        if !values[0].isEmpty { try context.output.line("username=\(values[0])") }
        try context.output.line("password=\(values[1])")
    }

    private static func store(_ context: CommandContext) throws {
        guard try canOpenUnasked(context) else { return }
        let session = try VaultSession.open(context)
        let asked = try read(context)
        guard let username = asked.username, let password = asked.password, !password.isEmpty, asked.expiry == nil,
            ["http", "https"].contains(asked.protocolName)
        else { return }
        let found = only(try matches(asked, session.vault), asked)
        if let match = found.first {
            // Several are left alone: which one worked is not known.
            guard found.count == 1, match.password.value != password else { return }
            try session.writing { vault in
                try vault.update(match.item.id) { item in
                    guard let index = item.fields.firstIndex(where: { $0.key == match.password.key }) else { return }
                    item.fields[index].value = password
                }
            }
            return
        }
        let path = asked.path.map { "/" + $0 } ?? "/"
        let fields = [
            ("username", username), ("password", password), ("url", "\(asked.protocolName)://\(asked.host)\(path)"),
        ].compactMap { ItemField(standard: $0.0, of: .login, value: $0.1) }
        let draft = ItemDraft(kind: .login, title: asked.host, fields: fields, tags: [try TagPath(tag)])
        try session.writing { vault in _ = try vault.create(draft) }
    }

    private static func erase(_ context: CommandContext) throws {
        guard try canOpenUnasked(context) else { return }
        let session = try VaultSession.open(context)
        let asked = try read(context)
        for match in try matches(asked, session.vault) {
            // A newer password than the one that git tried stays.
            if let password = asked.password, password != match.password.value { continue }
            guard match.item.givenTags.contains(where: { $0.folded == tag }), asked.username == match.username else {
                context.note(
                    "coffret: git says that the password of \"\(TextWidth.displaySafe(match.item.title))\" does not work; the item stays as it is."
                )
                continue
            }
            try session.writing { vault in _ = try vault.trash(match.item.id) }
        }
    }

    /// Whether the store opens without a question. Git stores after every fetch; nobody wants to be asked each time.
    private static func canOpenUnasked(_ context: CommandContext) throws -> Bool {
        if PassphraseSource(context: context).isUnattended || HostedCommand.isRunning { return true }
        // With the agent, only if the store is unlocked now.
        guard let client = try AgentClient.connect(context.environment),
            let store = AgentLocation.canonical(try StoreAccess.path(context))
        else { return false }
        return try client.status(of: store).first?.isUnlocked ?? false
    }
}
