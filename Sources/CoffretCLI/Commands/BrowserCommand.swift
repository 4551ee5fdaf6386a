// `coffret browser`: browsers that fill in logins. The one thing to keep true: what is written into a browser's folders names one
// program and one extension.

internal import CoffretBase
internal import CoffretBridge
internal import CoffretClient
internal import CoffretPairing
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum BrowserCommand {
    private static let programName = "coffret-bridge"
    private static let gone = ArgumentDescription.optional("NAME", .text, "as coffret browser ls shows it")
    private static let notices = ArgumentDescription.optional("on|off", .text, "without it: says how it is")
    private static let code = ArgumentDescription.required(
        "CODE", .text, "the text that the extension shows: COFFRET-BROWSER:1:…")
    private static let calledName = OptionDescription.value(
        "name", "NAME", "how the browser is called here, if not as it calls itself")
    private static let all = OptionDescription.flag("all", "forget all, also where their record was altered")

    static let description = CommandDescription(
        "browser", group: .secrets, "Fill in logins in Chromium and Firefox",
        discussion: [
            "The extension fills in on your command alone: a click on its button, its keys, or its entry in the context menu. It can read no page before that. Docs/browser.md says how to connect a browser, and what this cannot protect from."
        ],
        subcommands: [
            CommandDescription(
                "install", "Tell Chromium and Firefox where Coffret is, for you alone",
                discussion: [
                    "Writes one file for each browser below your home folder. The Debian package does the same for everybody. Then open the settings of the extension and press Connect."
                ], run: install),
            CommandDescription(
                "allow", "Let a browser on another machine ask this device for logins",
                discussion: [
                    "The extension's settings there show a code: scan it, and paste its text here. From then on its popup can ask for the login of the page in front. You are asked here each time, in Coffret's own prompt, and one value is sent. Docs/remote.md says more."
                ],
                arguments: [code], options: [calledName],
                examples: [
                    CommandExample(
                        "coffret browser allow COFFRET-BROWSER:1:M5QXEZDFNY --name library", "it is listed as library")
                ], run: allow),
            CommandDescription("ls", "List the browsers that are connected with the store", run: list),
            CommandDescription(
                "unpair", "Forget a browser; its next session is refused", arguments: [gone], options: [all],
                examples: [CommandExample("coffret browser unpair Firefox", "Firefox gets nothing from now on")],
                run: unpair),
            CommandDescription(
                "notices", "Show a notification of the desktop for each value that a browser is given",
                arguments: [notices], run: notices),
            CommandDescription(
                "log", "Say which browsers asked, and for which logins",
                discussion: [
                    "The entries of browsers in the log that coffret agent log shows: what was filled in, saved and refused."
                ], options: [CommonArguments.limit], run: log),
        ])

    // MARK: Installing

    private static func install(_ context: CommandContext) throws {
        guard let own = AgentLocation.canonical("/proc/self/exe") else { throw missing("/proc/self/exe") }
        let host = PathText.join(PathText.parent(of: own), programName)
        guard unsafe access(host, X_OK) == 0 else { throw missing(host) }
        guard let home = context.environment.homeDirectory else { throw missing("a home folder") }
        let configuration = context.environment.baseDirectory(.configHome, below: ".config") ?? home + "/.config"
        let files = [
            (configuration + "/chromium/NativeMessagingHosts", "allowed_origins", BrowserExtension.chromiumOrigin),
            (home + "/.mozilla/native-messaging-hosts", "allowed_extensions", BrowserExtension.firefoxID),
        ]
        var written: [String] = []
        for (folder, member, caller) in files {
            let path = PathText.join(folder, BrowserExtension.hostName + ".json")
            let text = manifest(host: host, allowing: caller, as: member).text(.pretty) + "\n"
            try PosixFileSystem().makeDirectories(folder)
            try PosixFileSystem().replaceFile(path, with: Array(text.utf8))
            written.append(path)
        }
        try context.print(.fields(["written": .array(written.map { .string($0) })])) {
            (written.map { "Wrote \(TextWidth.displaySafe($0))" } + [
                "Next: open the settings of the extension in the browser, and press Connect."
            ]).joined(separator: "\n")
        }
    }

    private static func manifest(host: String, allowing caller: String, as member: String) -> JSONValue {
        .object([
            .init("name", .string(BrowserExtension.hostName)), .init("description", .string("Coffret")),
            .init("path", .string(host)), .init("type", .string("stdio")), .init(member, .array([.string(caller)])),
        ])
    }

    private static func missing(_ place: String) -> CommandFailure {
        CommandFailure(
            .unavailable, .browserHostMissing, "there is no \(TextWidth.displaySafe(place))",
            hint: "install \(programName) beside coffret, as the package coffret-browser does")
    }

    // MARK: Browsers

    /// The agent alone knows where the list lies.
    private static func store(_ context: CommandContext) throws -> CommandStore {
        let store = try CommandStore.open(context)
        guard store.isInAgent else { throw BridgeError(.agentNeeded) }
        return store
    }

    private static func list(_ context: CommandContext) throws {
        let browsers = try store(context).perform(BrowserList()).browsers
        try context.print(.array(browsers.map(\.json))) {
            guard !browsers.isEmpty else {
                return context.isQuiet ? "" : "No browser is connected: press Connect in the extension's settings."
            }
            return browsers.map { browser in
                let since = context.relativeTime.moment(browser.created.milliseconds)
                let place = browser.isRemote == true ? "on another machine" : TextWidth.displaySafe(browser.program)
                return "\(TextWidth.displaySafe(browser.name)): \(place), since \(since)"
            }.joined(separator: "\n")
        }
    }

    private static func allow(_ context: CommandContext) throws {
        var request = BrowserAllow()
        (request.code, request.name) = (context.arguments.required(code), context.arguments.value(calledName))
        // A mistyped code is told before anybody is asked anything.
        _ = try PageCode.parse(request.code, as: .browser)
        let browser = try store(context).perform(request)
        try context.confirmDone(browser.json) {
            let name = TextWidth.displaySafe(browser.name)
            return
                "\"\(name)\" may ask from now on. Say yes there, too.\nTo end that: coffret browser unpair \"\(name)\""
        }
    }

    private static func unpair(_ context: CommandContext) throws {
        let wanted = context.arguments.value(gone)
        guard (wanted == nil) == context.arguments.isSet(all) else {
            throw CommandFailure(
                .usage, .browserUnnamed, "which browser is to go?", hint: "coffret browser unpair NAME, or --all")
        }
        var request = BrowserRemove()
        (request.name, request.isAll) = (wanted, wanted == nil ? true : nil)
        _ = try store(context).perform(request)
        try context.confirmDone(.fields(["removed": wanted.map { .string($0) } ?? .bool(true)])) {
            wanted.map { "\(TextWidth.displaySafe($0)) gets nothing from now on." }
                ?? "No browser gets anything from now on."
        }
    }

    private static func notices(_ context: CommandContext) throws {
        var request = BrowserNotices()
        switch context.arguments.value(notices) {
        case nil: break
        case "on": request.isOn = true
        case "off": request.isOn = false
        default: throw CommandFailure(.usage, .inputInvalid, "on or off?", hint: "coffret browser notices on")
        }
        let answer = try store(context).perform(request)
        try context.print(answer.json) {
            answer.isOn
                ? "The desktop shows each value that a browser is given."
                : "The desktop shows nothing of what browsers are given; coffret browser log does."
        }
    }

    private static func log(_ context: CommandContext) throws {
        let answer = try CommandStore.open(context).perform(AccessList())
        let limit = context.arguments.number(CommonArguments.limit) ?? (context.terminal.outputIsTerminal ? 50 : .max)
        let entries = answer.entries.filter { $0.browser != nil }.prefix(max(0, limit))
        try AgentLogCommand.show(Array(entries), answer, context) { "No browser has asked this store anything yet." }
    }
}
