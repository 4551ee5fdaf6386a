// `coffret open`: the store to look at. The one thing to keep true: the program that is started is the one that lies beside this one.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum OpenCommand {
    static let browser = OptionDescription.flag(
        "browser", "in a tab of a browser, whose extensions can read what it shows")

    static let quick = OptionDescription.flag(
        "quick", "in a small window that finds and copies, and closes by itself")

    static let description = CommandDescription(
        "open", group: .find, "Show the store in a window, or in a browser",
        discussion: [
            "The window has no network, and none of a browser's extensions and services. While the store is locked it shows a lock screen, where the passphrase opens it. A second start brings the window to the front. Where there is no store yet, it makes one, or joins your other devices.",
            "The page in a browser is served to this user alone, at an address that nobody else knows, until the store locks, ten minutes pass without a request, or Ctrl-C. It shows no password; copying goes past the page.",
        ],
        options: [browser, quick],
        examples: [
            CommandExample("coffret open", "opens the window"),
            CommandExample("coffret open --browser", "opens the page in a tab"),
        ],
        run: run)

    private static func run(_ context: CommandContext) throws {
        guard !context.arguments.isSet(browser) || !context.arguments.isSet(quick) else {
            throw CommandFailure(.usage, .inputInvalid, "--browser or --quick?")
        }
        let program =
            context.arguments.isSet(browser)
            ? "coffret-web" : context.arguments.isSet(quick) ? "coffret-quick" : "coffret-desktop"
        guard let own = AgentLocation.canonical("/proc/self/exe"),
            case let path = PathText.join(PathText.parent(of: own), program), unsafe access(path, X_OK) == 0
        else {
            throw CommandFailure(
                .unavailable, .frontMissing, "there is no \(program) beside this program",
                hint: context.arguments.isSet(browser) || context.arguments.isSet(quick)
                    ? "install it; coffret find shows the store on the terminal" : "coffret open --browser")
        }
        let store: String?
        var isNew = false
        if context.arguments.isSet(browser) {
            // A tab has no way to ask for a passphrase.
            guard try CommandStore.open(context).isInAgent else {
                throw CommandFailure(
                    .unavailable, code: AgentErrorCode.storeLocked.rawValue, "the store is locked",
                    hint: "coffret unlock")
            }
            store = AgentLocation.canonical(try StoreAccess.requireStore(context).path)
        } else {
            // The window has a lock screen of its own, which needs an agent.
            store = AgentLocation.canonicalToBe(try StoreAccess.path(context))
            isNew = try !StoreAccess.exists(context)
            _ = try AgentStarter.connect(context)
        }
        guard let store else {
            throw CommandFailure(.unavailable, .frontFailed, "the store's folder is gone")
        }
        let words =
            [path, "--store", store] + (isNew ? ["--new"] : [])
            + (context.arguments.isSet(browser) ? ["--launch"] : [])
        let outcome: ChildOutcome
        do throws(SystemFailure) {
            // With them from the start the window need not start anew, which takes as long as loading WebKit.
            let variables = Dictionary(uniqueKeysWithValues: WindowStart.wiping.map { ($0.name, $0.value) })
            outcome = try ChildProcess.start(words, environment: program == "coffret-desktop" ? variables : [:]).wait()
        } catch {
            throw CommandFailure(.unavailable, .frontFailed, "\(program) cannot be started: \(error.message)")
        }
        guard outcome.isSuccess else {
            throw CommandFailure(.unavailable, .frontFailed, "\(program) ended: \(outcome.text)")
        }
    }
}
