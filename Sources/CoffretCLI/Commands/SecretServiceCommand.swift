// `coffret secret-service`: the desktop's programs keep their passwords in a vault. The one thing to keep true: a store that the
// desktop's keyring opens is never the one that the keyring lies in.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum SecretServiceCommand {
    static let tag = OptionDescription.value(
        "tag", short: "t", "TAG", .stored("tags"), "entries carry this tag; keyring without it")
    private static let usualTag = "keyring"
    private static let programPath = ArgumentDescription.required("PROGRAM", .file, "its path")

    static let description = CommandDescription(
        "secret-service", group: .scripts, "Let programs of the desktop keep their passwords in a vault",
        discussion: [
            "Browsers, mail programs and others keep passwords in the desktop's Secret Service, which gnome-keyring or KWallet provides. The program coffret-secret-service provides it out of one vault instead, with a token that shows it the items of one tag and nothing else. While the store is locked, programs can have you asked, and get nothing.",
            "It never takes the place of another program that provides the service. Docs/desktop.md says how to switch that one off.",
        ],
        subcommands: [
            CommandDescription(
                "on", "Choose the vault and make the token; somebody has to be there",
                options: [tag],
                examples: [
                    CommandExample("coffret secret-service on --vault Desktop", "the entries lie in the vault Desktop")
                ], run: switchOn),
            CommandDescription("off", "Remove the token; entries stay in the vault", run: switchOff),
            CommandDescription("status", "Say which vault it shows, to which programs, and who runs", run: status),
            CommandDescription(
                "allow", "Let a program use it without being asked",
                discussion: [
                    "You are asked for each program that comes for the first time. A program is a file: where it is an interpreter, such as python3, all that it runs are meant. The program of a running process is /proc/PID/exe."
                ], arguments: [programPath], run: allow),
            CommandDescription(
                "forget", "Ask again before the program uses it", arguments: [programPath], run: forget),
        ])

    private static func switchOn(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        guard let path = AgentLocation.canonical(try StoreAccess.path(context)) else {
            throw CommandFailure(.noStore, .storeMissing, "there is no store at this place")
        }
        // A slot in the keyring could open the store only once the store were open.
        guard try !store.perform(KeyList()).keys.contains(where: { $0.kind == .keyring }) else {
            throw KeyError(.keyStoreFailed, cause: KeyStoreError(.circular, place: "keyring"))
        }
        let wanted = try store.wantedVault
        guard let vault = try store.perform(VaultList()).vaults.first(where: { $0.id == wanted || $0.name == wanted })
        else {
            throw CommandFailure(
                .notFound, code: CoreError.Code.vaultNotFound.rawValue,
                "there is no vault \"\(TextWidth.displaySafe(wanted ?? ""))\"", hint: "coffret vault new NAME makes one"
            )
        }
        let tag = try TagPath(wanted: context.arguments.value(Self.tag) ?? usualTag).path
        try removeToken(store)
        var token = TokenCreate()
        (token.name, token.access, token.vaults, token.tags) = (
            SecretServiceGrant.tokenName, .write, [vault.id], [tag]
        )
        token.reason = "passwords of the desktop's programs"
        let made = try store.perform(token)
        do {
            try SecretServiceGrant(store: path, vault: vault.name, tag: tag, token: made.secret)
                .write(context.environment)
        } catch {
            // A token that nobody has is worth nothing, and it would stand in the list.
            try? removeToken(store)
            throw error
        }
        SecretServiceActivation(context.environment)?.write()
        try context.confirmDone(.fields(["vault": .string(vault.name), "tag": .string(tag)])) {
            """
            Programs of the desktop may keep passwords in "\(TextWidth.displaySafe(vault.name))", tagged #\(TextWidth.displaySafe(tag)).
            \(words(of: provider(context.environment)))
            """
        }
    }

    /// The program that provides the service now; the bus of the desktop reads its files again. Nil without a bus.
    private static func provider(_ environment: ProcessEnvironment) -> String? {
        guard let program = SecretServiceActivation(environment)?.program,
            let made = try? ChildProcess.run([program, "--provider"], byteCountMax: 256), made.outcome.isSuccess
        else { return nil }
        return String(decoding: made.output.prefix { $0 != 0x0A }, as: UTF8.self)
    }

    private static func words(of provider: String?) -> String {
        let start = "The first program that asks starts coffret-secret-service"
        return switch provider {
        case nil: start + ", unless another keyring runs already."
        case "": start + "."
        case "coffret": "coffret-secret-service runs."
        case let other?:
            "Another keyring runs, and stays: \(TextWidth.displaySafe(other)). Docs/desktop.md says how to switch it off."
        }
    }

    private static func removeToken(_ store: CommandStore) throws {
        guard try store.perform(TokenList()).tokens.contains(where: { $0.name == SecretServiceGrant.tokenName }) else {
            return
        }
        var request = TokenRemove()
        request.name = SecretServiceGrant.tokenName
        _ = try store.perform(request)
    }

    private static func switchOff(_ context: CommandContext) throws {
        do throws(SystemFailure) {
            try SecretServiceGrant.remove(context.environment)
        } catch {
            throw CommandFailure(.cannotCreate, .fileUnwritable, "the right cannot be removed: \(error.message)")
        }
        SecretServiceActivation(context.environment)?.remove()
        try removeToken(CommandStore.open(context))
        try context.confirmDone(.fields(["isOn": .bool(false)])) {
            "Programs of the desktop get nothing from Coffret any more. Their entries stay in the vault."
        }
    }

    private static func allow(_ context: CommandContext) throws {
        let given = context.arguments.value(programPath) ?? ""
        // A name alone is the program that a shell would start.
        guard let found = ProgramFinder(environment: context.environment).find(given),
            let path = AgentLocation.canonical(found), unsafe access(path, X_OK) == 0
        else {
            throw CommandFailure(.notFound, .fileUnreadable, "there is no program \(TextWidth.displaySafe(given))")
        }
        try SecretServicePrograms(context.environment).add(path)
        try context.confirmDone(.fields(["program": .string(path)])) { "\(TextWidth.displaySafe(path)) may use it." }
    }

    private static func forget(_ context: CommandContext) throws {
        let given = context.arguments.value(programPath) ?? ""
        // One that is not installed any more has no other path than that in the list.
        let path = AgentLocation.canonical(given) ?? given
        guard try SecretServicePrograms(context.environment).remove(path) else {
            throw CommandFailure(.notFound, .inputInvalid, "\(TextWidth.displaySafe(path)) is not in the list")
        }
        try context.confirmDone(.fields(["program": .string(path)])) {
            "\(TextWidth.displaySafe(path)) is asked about again."
        }
    }

    private static func status(_ context: CommandContext) throws {
        let grant = SecretServiceGrant.read(context.environment)
        let programs = SecretServicePrograms(context.environment).all
        if grant == nil, SecretServiceGrant.isOn(context.environment) {
            throw CommandFailure(
                .permission, .passphraseFileUnsafe, "the file of the right is not yours alone, or was altered",
                hint: "coffret secret-service off, then on")
        }
        let provider = grant == nil ? nil : provider(context.environment)
        try context.print(
            .fields([
                "isOn": .bool(grant != nil), "provider": provider.map { .string($0) },
                "store": grant.map { .string($0.store) },
                "vault": grant.map { .string($0.vault) }, "tag": grant.map { .string($0.tag) },
                "programs": .array(programs.map { .string($0) }),
            ])
        ) {
            guard let grant else { return "It is off: coffret secret-service on" }
            let first =
                "Programs of the desktop may keep passwords in \"\(TextWidth.displaySafe(grant.vault))\", tagged #\(TextWidth.displaySafe(grant.tag))."
            return ([first, words(of: provider)] + programs.map { "  " + TextWidth.displaySafe($0) }).joined(
                separator: "\n")
        }
    }
}

/// The file by which the bus starts the program when somebody asks for the service.
///
/// `<data>/dbus-1/services/org.freedesktop.secrets.service`, which goes before the files of the system.
private struct SecretServiceActivation {
    private let path: String
    let program: String
    private static let firstLine = "# Written by coffret secret-service on."

    /// - Returns: nil where there is no home, or no program beside this one.
    init?(_ environment: ProcessEnvironment) {
        guard let data = environment.baseDirectory(.dataHome, below: ".local/share"),
            let own = AgentLocation.canonical("/proc/self/exe"),
            let program = AgentLocation.canonical(PathText.join(PathText.parent(of: own), "coffret-secret-service"))
        else { return nil }
        path = data + "/dbus-1/services/org.freedesktop.secrets.service"
        self.program = program
    }

    private var isOwn: Bool {
        guard let file = try? OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW),
            let bytes = try? DescriptorIO.readAll(from: file.number, byteCountMax: 64 << 10)
        else { return false }
        return bytes.starts(with: Array(Self.firstLine.utf8))
    }

    /// A file that somebody else wrote stays. Without the file the unit starts the program.
    func write() {
        guard unsafe access(path, F_OK) != 0 || isOwn else { return }
        // The bus takes no quotes apart; a path with blanks is left to the unit.
        guard !program.contains(where: \.isWhitespace) else { return }
        for folder in [PathText.parent(of: PathText.parent(of: path)), PathText.parent(of: path)] {
            unsafe mkdir(folder, 0o700)
        }
        let lines = [
            Self.firstLine, "[D-BUS Service]", "Name=org.freedesktop.secrets", "Exec=\(program)",
            "SystemdService=coffret-secret-service.service",
        ]
        try? PrivateFile.replace(path, Array((lines.joined(separator: "\n") + "\n").utf8))
    }

    func remove() {
        if isOwn { unsafe unlink(path) }
    }
}
