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
    private static func matches(_ asked: GitCredential, _ store: CommandStore) throws -> [LoginMessage] {
        var request = LoginMatch()
        (request.protocolName, request.host) = (asked.protocolName, asked.host)
        (request.path, request.username, request.vault) = (asked.path, asked.username, try store.wantedVault)
        return try store.perform(request).logins
    }

    /// Of several, the one whose address has the path that git tells.
    private static func only(_ found: [LoginMessage], _ asked: GitCredential) -> [LoginMessage] {
        guard found.count > 1, asked.path != nil else { return found }
        let exact = found.filter(\.hasPath)
        return exact.isEmpty ? found : exact
    }

    private static func ambiguous(_ found: [LoginMessage], _ asked: GitCredential) -> CommandFailure {
        var failure = CommandFailure(
            .ambiguous, code: CoreError.Code.itemAmbiguous.rawValue,
            "several items are for \(TextWidth.displaySafe(asked.protocolName))://\(TextWidth.displaySafe(asked.host))",
            hint: "tell git which user: git config credential.https://HOST.username NAME")
        failure.add(
            found.map { match in
                CoreError.Candidate(
                    id: match.item,
                    title: match.title + (match.username.map { " (\($0))" } ?? ""))
            })
        return failure
    }

    // MARK: What git calls

    private static func get(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        let asked = try read(context)
        let found = only(try matches(asked, store), asked)
        guard found.count <= 1 else { throw ambiguous(found, asked) }
        // Nothing found is no failure: git asks the next helper, or the person.
        guard let match = found.first else { return }
        let values = [match.username ?? asked.username ?? "", match.secret]
        guard values.allSatisfy({ value in !value.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 } }) else {
            throw CommandFailure(
                .badInput, .inputInvalid,
                "the password of \"\(TextWidth.displaySafe(match.title))\" has line ends, which git cannot take")
        }
        if context.isJSON {
            try context.output.line(
                JSONValue.fields([
                    "id": .string(match.item), "username": values[0].isEmpty ? nil : .string(values[0]),
                    "password": .string(values[1]),
                ]).line)
            return
        }
        if !values[0].isEmpty { try context.output.line("username=\(values[0])") }
        try context.output.line("password=\(values[1])")
    }

    private static func store(_ context: CommandContext) throws {
        guard try canOpenUnasked(context) else { return }
        let store = try CommandStore.open(context)
        let asked = try read(context)
        guard let username = asked.username, let password = asked.password, !password.isEmpty, asked.expiry == nil,
            ["http", "https"].contains(asked.protocolName)
        else { return }
        let found = only(try matches(asked, store), asked)
        if let match = found.first {
            // Several are left alone: which one worked is not known.
            guard found.count == 1, match.secret != password else { return }
            var request = ItemEdit()
            (request.item, request.vault) = (match.item, try store.wantedVault)
            request.setFields = [FieldDraft(name: match.field, value: password)]
            _ = try store.perform(request)
            return
        }
        let path = asked.path.map { "/" + $0 } ?? "/"
        var request = ItemCreate()
        (request.kind, request.title, request.tags) = (ItemKind.login.name, asked.host, [tag])
        request.vault = store.namedVault
        request.fields = [
            FieldDraft(name: "username", value: username), FieldDraft(name: "password", value: password),
            FieldDraft(name: "url", value: "\(asked.protocolName)://\(asked.host)\(path)"),
        ]
        _ = try store.perform(request)
    }

    private static func erase(_ context: CommandContext) throws {
        guard try canOpenUnasked(context) else { return }
        let store = try CommandStore.open(context)
        let asked = try read(context)
        for match in try matches(asked, store) {
            // A newer password than the one that git tried stays.
            if let password = asked.password, password != match.secret { continue }
            guard match.tags.contains(where: { $0.lowercased() == tag }), asked.username == match.username else {
                context.note(
                    "coffret: git says that the password of \"\(TextWidth.displaySafe(match.title))\" does not work; the item stays as it is."
                )
                continue
            }
            var request = ItemTrash()
            (request.items, request.vault) = ([match.item], try store.wantedVault)
            _ = try store.perform(request)
        }
    }

    /// Whether the store opens without a question. Git stores after every fetch; nobody wants to be asked each time.
    private static func canOpenUnasked(_ context: CommandContext) throws -> Bool {
        if PassphraseSource(context: context).isUnattended { return true }
        // With the agent, only if the store is unlocked now.
        guard let client = try AgentClient.connect(context.environment),
            let store = AgentLocation.canonical(try StoreAccess.path(context))
        else { return false }
        return try client.status(of: store).first?.isUnlocked ?? false
    }
}
