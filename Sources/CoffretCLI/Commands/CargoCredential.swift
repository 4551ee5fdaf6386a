// `coffret credential cargo`: Cargo's credential provider. The one thing to keep true: every line of Cargo is answered by one
// line, so that Cargo never waits, and failures reach the person through Cargo.

internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretScripting
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum CargoCredential {
    private static let plugin = OptionDescription.flag("cargo-plugin", "Cargo says so when it starts a provider")

    static let description = CommandDescription(
        "cargo", "Answer Cargo, as cargo-credential-coffret",
        discussion: [
            "With global-credential-providers = [\"cargo-credential-coffret\"] below [registry] in ~/.cargo/config.toml, Cargo starts that program, which starts this. A token is found by the whole address of the registry's index. cargo login keeps it in an item with the tag cargo-credential, and cargo logout moves that to the trash."
        ],
        options: [plugin, CredentialCommand.tokenFile], run: run)

    private static func run(_ context: CommandContext) throws {
        var keeper: CredentialKeeper?
        try answer(CargoAnswer.hello, context)
        while let line = try readLine() {
            do {
                let request = try CargoRequest(line)
                let opened = try keeper ?? CredentialCommand.keeper(context, .cargo)
                keeper = opened
                try answer(try perform(request, opened, context), context)
            } catch let refusal as CargoRefusal {
                try answer(CargoAnswer.refusal(refusal), context)
            } catch let error where !(error is BrokenPipe) {
                let failure = FailureTranslation.failure(from: error)
                let words = ([failure.message] + failure.details).joined(separator: "\n")
                try answer(CargoAnswer.refusal(.other(words)), context)
            }
        }
    }

    private static func perform(
        _ request: CargoRequest, _ keeper: CredentialKeeper, _ context: CommandContext
    ) throws -> String {
        guard let address = CredentialAddress(request.index) else {
            throw CargoRefusal.other("the registry has no address that could be looked for")
        }
        switch request.action {
        case .get:
            guard let match = try keeper.find(address.place) else { throw CargoRefusal.notFound }
            return CargoAnswer.token(match.secret)
        case .login(let token):
            let token = try token ?? ask(request, context)
            guard !token.isEmpty else { throw CargoRefusal.other("the token is empty") }
            try keeper.keepOnly(token, for: address.place, address: address.text)
            return CargoAnswer.loggedIn
        case .logout:
            guard try keeper.eraseOnly(address.place) else { throw CargoRefusal.notFound }
            return CargoAnswer.loggedOut
        }
    }

    private static func ask(_ request: CargoRequest, _ context: CommandContext) throws -> String {
        guard let prompt = context.prompt() else {
            throw CargoRefusal.other("there is no terminal to ask for the token at")
        }
        if let url = request.loginURL { prompt.show("A token comes from \(TextWidth.displaySafe(url))\n") }
        let name = TextWidth.displaySafe(request.name ?? request.index)
        let typed = try prompt.askSecret("Token for \(name): ")
        // EXPOSE: it is kept as the text of a field.
        return unsafe typed.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// - Returns: nil at the end.
    private static func readLine() throws -> String? {
        try DescriptorIO.readLine(from: STDIN_FILENO, byteCountMax: CargoRequest.byteCountMax) {
            var entry = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&entry, 1, -1)
        }
    }

    private static func answer(_ line: String, _ context: CommandContext) throws {
        try context.output.line(line)
        try context.output.flush()
    }
}
