// What the shells complete with while the store is unlocked. The one thing to keep true: it never asks for anything, and
// looking is no use of the store, so that a person who plays with the tab key does not keep it open.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretNet
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum CompleteWordsCommand {
    static let what = ArgumentDescription.required(
        "WHAT", .choice(["items", "tags", "vaults", "fields"]), "what is completed")
    static let beginning = ArgumentDescription.optional("BEGINNING", "how the words begin")
    static let item = ArgumentDescription.optional("ITEM", "whose fields")
    /// A shell shows no more than a screen of them.
    private static let countMax = 200

    static let description = CommandDescription(
        "complete-words", group: .help, "Print titles, tags, vaults or fields for a shell, while the store is unlocked",
        arguments: [what, beginning, item], isHidden: true, run: run)

    private static func run(_ context: CommandContext) throws {
        guard HostedCommand.isRunning else { return look(context) }
        let begins = (context.arguments.value(beginning) ?? "").lowercased()
        let words: [String]
        switch context.arguments.required(what) {
        case "vaults": words = try StoreSession.open(context, with: .passphrase).store.vaults.map(\.name)
        case "tags": words = try VaultSession.openAll(context).flatMap { try $0.vault.tags().map(\.path) }
        case "fields": words = try fields(context)
        default: words = try VaultSession.openAll(context).flatMap { try $0.vault.list().map(\.title) }
        }
        let found = words.filter { $0.lowercased().hasPrefix(begins) && !$0.contains("\n") }.prefix(countMax)
        for word in found { try context.output.line(TextWidth.displaySafe(word)) }
    }

    /// The names of the fields of an item, none where it is not one item's name: a shell has it as it was typed.
    private static func fields(_ context: CommandContext) throws -> [String] {
        let written = context.arguments.value(item) ?? ""
        var found: [Item] = []
        for session in try VaultSession.openAll(context) {
            guard let id = try? session.vault.resolve(written) else { continue }
            found.append(try session.vault.item(id))
        }
        return found.count == 1 ? found[0].fields.map(\.label) : []
    }

    /// Lets the agent look, if it has the store unlocked; otherwise there is nothing to complete with.
    private static func look(_ context: CommandContext) {
        guard let path = try? StoreAccess.path(context), let store = AgentLocation.canonical(path),
            let client = try? AgentClient.connect(context.environment),
            let null = try? OwnedDescriptor.open("/dev/null", O_RDWR)
        else { return }
        let command = AgentCommand(
            store: store, arguments: context.words, workingDirectory: "/", environment: context.environment.travelling)
        let descriptors = [null.number, STDOUT_FILENO, null.number]
        for _ in 0..<3 {
            guard (try? client.connection.send(AgentRequest.look(command).encoded(), descriptors: descriptors)) != nil,
                let answer = try? client.receive(), case .locked(AgentResponse.reasonToRunAgain) = answer
            else { return }
        }
    }
}
