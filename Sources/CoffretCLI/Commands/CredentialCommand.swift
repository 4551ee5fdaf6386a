// `coffret credential`: docker, Cargo, pip, AWS and kubectl ask the vault. The one thing to keep true: each gets the answer
// in its own form, by the rules that git's credentials have.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretMessages
internal import CoffretScripting
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum CredentialCommand {
    static let tokenFile = OptionDescription.value(
        "token-file", "FILE", .file, "ask with the token in FILE (coffret token new), which narrows down what is found")

    static let description = CommandDescription(
        "credential", group: .scripts, "Give other programs the logins that they ask for",
        discussion: [
            "A login or token is found by its address, as for git: the same protocol, host and port. If several fit, the program gets none of them, and the candidates are listed. Hidden items are not given.",
            "Docs/scripts.md says how each program is told to ask.",
        ],
        subcommands: [docker, CargoCredential.description, pip, aws, kubectl])

    // MARK: What all of them need

    /// The store, opened as for every command, or with the rights of a token.
    static func open(_ context: CommandContext) throws -> CommandStore {
        guard let path = context.arguments.value(tokenFile) else { return try CommandStore.open(context) }
        let secret = try PassphraseSource(context: context).read(file: path, holding: "token")
        // EXPOSE: a token is sent as text.
        let token = unsafe secret.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        return try CommandStore.open(context, token: token)
    }

    static func keeper(_ context: CommandContext, _ format: CredentialFormat) throws -> CredentialKeeper {
        CredentialKeeper(store: try open(context), format: format)
    }

    /// The place that a program names.
    static func address(_ text: String, _ command: String) throws -> CredentialAddress {
        guard let address = CredentialAddress(text) else {
            throw CommandFailure(
                .badInput, .inputInvalid, "\"\(TextWidth.displaySafe(String(text.prefix(200))))\" is not an address",
                hint: "coffret help credential \(command)")
        }
        return address
    }

    private static func readInput(_ command: String) throws -> String {
        let bytes = try? DescriptorIO.readAll(from: STDIN_FILENO, byteCountMax: CargoRequest.byteCountMax)
        guard let bytes, let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandFailure(
                .badInput, .inputInvalid, "that is not what \(command) writes",
                hint: "coffret help credential \(command)")
        }
        return text
    }

    private static func readLine(_ command: String) throws -> String {
        String(try readInput(command).prefix { !$0.isNewline })
    }

    // MARK: docker

    private enum DockerAction: String, CaseIterable {
        case get, store, erase, list
    }

    private static let dockerAction = ArgumentDescription.required(
        "ACTION", .choice(DockerAction.allCases.map(\.rawValue)),
        "get, store, erase or list; what they ask is on standard input")

    private static let docker = CommandDescription(
        "docker", "Answer docker and podman, as docker-credential-coffret",
        discussion: [
            "With {\"credsStore\": \"coffret\"} in ~/.docker/config.json, docker starts docker-credential-coffret, which starts this. docker login keeps its login in an item with the tag docker-credential, and docker logout moves that to the trash. Other items are read and never changed."
        ],
        arguments: [dockerAction], options: [tokenFile],
        examples: [
            CommandExample("echo registry.example.org | coffret credential docker get", "what docker would be told")
        ], run: runDocker)

    private static func runDocker(_ context: CommandContext) throws {
        let keeper = try keeper(context, .docker)
        switch DockerAction(rawValue: context.arguments.required(dockerAction)) {
        case .get?:
            let asked = try readLine("docker")
            guard let match = try keeper.find(address(asked, "docker").place), let username = match.username else {
                // Docker knows these words, and goes on without.
                try context.output.line("credentials not found in native keychain")
                throw CommandExit(code: 1)
            }
            let answer = JSONValue.fields([
                "ServerURL": .string(asked), "Username": .string(username), "Secret": .string(match.secret),
            ])
            try context.output.line(answer.line)
        case .store?:
            let value = try? JSONValue(parsing: Array(readInput("docker").utf8))
            guard let server = value?["ServerURL"]?.string, let username = value?["Username"]?.string,
                let secret = value?["Secret"]?.string, !secret.isEmpty
            else {
                throw CommandFailure(
                    .badInput, .inputInvalid,
                    "that is not what docker writes: ServerURL, Username and Secret are needed")
            }
            let address = try address(server, "docker")
            var place = address.place
            place.username = username
            try keeper.keepOnly(secret, for: place, address: address.text)
        case .erase?: _ = try keeper.eraseOnly(address(readLine("docker"), "docker").place)
        case .list?, nil: try listDocker(context, keeper)
        }
    }

    /// The registries whose logins docker had kept, with their user names.
    private static func listDocker(_ context: CommandContext, _ keeper: CredentialKeeper) throws {
        var request = ItemList()
        (request.kind, request.tags) = (ItemKind.login.name, [CredentialFormat.docker.tag])
        request.vault = try keeper.store.wantedVault
        var users: [(server: String, name: String)] = []
        for item in try keeper.store.perform(request).items {
            var read = ItemRead()
            (read.item, read.vault) = (item.id, try keeper.store.wantedVault)
            // A hidden item is not asked for.
            guard let fields = try? keeper.store.perform(read, by: .program).fields,
                let username = fields.first(where: { $0.name == "username" })?.value,
                let address = fields.first(where: { $0.name == "url" })?.value.flatMap(CredentialAddress.init)?
                    .forDocker,
                !users.contains(where: { $0.server == address })
            else { continue }
            users.append((address, username))
        }
        try context.output.line(JSONValue.object(users.map { .init($0.server, .string($0.name)) }).line)
    }

    // MARK: pip

    private enum PipAction: String, CaseIterable {
        case get, set, del
    }

    private static let pipAction = ArgumentDescription.required(
        "ACTION", .choice(PipAction.allCases.map(\.rawValue)),
        "get, set or del; set reads the password on standard input")
    private static let service = ArgumentDescription.required("SERVICE", "the address of an index, or its host")
    private static let username = ArgumentDescription.required("USERNAME", "the user name there")

    private static let pip = CommandDescription(
        "pip", "Answer pip, as the program keyring",
        discussion: [
            "With keyring-provider = subprocess, pip starts a program keyring with these arguments. A file keyring on the PATH that starts this command serves it; the user name stands in the address of the index."
        ],
        arguments: [pipAction, service, username], options: [tokenFile],
        examples: [
            CommandExample("coffret credential pip get https://pypi.example.org/simple ada", "what pip would be told")
        ], run: runPip)

    private static func runPip(_ context: CommandContext) throws {
        let address = try address(context.arguments.required(service), "pip")
        var place = address.place
        place.username = context.arguments.required(username)
        let keeper = try keeper(context, .pip)
        switch PipAction(rawValue: context.arguments.required(pipAction)) {
        case .get?, nil:
            guard let match = try keeper.find(place) else { throw CommandExit(code: 1) }
            guard !match.secret.contains(where: \.isNewline) else {
                throw CommandFailure(
                    .badInput, .inputInvalid,
                    "the password of \"\(TextWidth.displaySafe(match.title))\" has line ends, which pip cannot take")
            }
            try context.output.line(match.secret)
        case .set?:
            let secret = try readLine("pip")
            guard !secret.isEmpty else {
                throw CommandFailure(.badInput, .inputEmpty, "there is no password on standard input")
            }
            try keeper.keep(secret, for: place, address: address.text)
        case .del?:
            try keeper.erase(nil, for: place) { _ in }
        }
    }

    // MARK: AWS

    private static let aws = CommandDescription(
        "aws", "Answer the AWS command line, as its credential_process",
        discussion: [
            "The access key id is the field username or access-key-id, the secret the field token, password or secret-access-key; session-token is given where there is one. In ~/.aws/config: credential_process = coffret credential aws ITEM."
        ],
        arguments: [CommonArguments.item], options: [tokenFile],
        examples: [CommandExample("coffret credential aws 'AWS of the team'", "what aws would be told")], run: runAWS)

    private static func runAWS(_ context: CommandContext) throws {
        let store = try open(context)
        var request = ItemRead()
        (request.item, request.vault) = (context.arguments.required(CommonArguments.item), store.namedVault)
        request.revealsSecrets = true
        let item = try store.perform(request)
        func value(_ names: String...) throws -> String? {
            names.lazy.compactMap { name in
                item.fields.first { $0.name == name || $0.label.lowercased() == name }?.value
            }.first { !$0.isEmpty }
        }
        guard let id = try value("access-key-id", "username"),
            let secret = try value("secret-access-key", "token", "password")
        else {
            throw CommandFailure(
                .notFound, .fieldNotFound,
                "\"\(TextWidth.displaySafe(item.title))\" has no access key: a field username and a field token are needed",
                hint: "coffret edit ITEM --set username=AKIA… --secret token")
        }
        try context.output.line(
            JSONValue.fields([
                "Version": .integer(1), "AccessKeyId": .string(id), "SecretAccessKey": .string(secret),
                "SessionToken": try value("session-token").map { .string($0) },
            ]).line)
    }

    // MARK: kubectl

    private static let kubectl = CommandDescription(
        "kubectl", "Answer kubectl, as its exec plugin",
        discussion: [
            "An item of type api-token is found by the address of the cluster, which kubectl tells with provideClusterInfo: true. Docs/scripts.md shows the lines of the configuration."
        ],
        options: [tokenFile], run: runKubectl)

    private static func runKubectl(_ context: CommandContext) throws {
        let question = context.environment.value(.kubernetesExecution)
            .flatMap { try? JSONValue(parsing: Array($0.utf8)) }
        guard let question, let version = question["apiVersion"]?.string,
            let server = question["spec"]?["cluster"]?["server"]?.string
        else {
            throw CommandFailure(
                .badInput, .inputInvalid, "kubectl did not say which cluster it means",
                hint:
                    "set provideClusterInfo: true and interactiveMode: IfAvailable in the exec section of its configuration"
            )
        }
        let address = try address(server, "kubectl")
        guard let match = try keeper(context, .kubectl).find(address.place) else {
            throw CommandFailure(
                .notFound, code: CoreError.Code.itemNotFound.rawValue,
                "no token is for \(TextWidth.displaySafe(address.text))",
                hint: "coffret new --type api-token NAME --set url=\(address.text) --secret token")
        }
        try context.output.line(
            JSONValue.fields([
                "apiVersion": .string(version), "kind": .string("ExecCredential"),
                "status": .fields(["token": .string(match.secret)]),
            ]).line)
    }
}
