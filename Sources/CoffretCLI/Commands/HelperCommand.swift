// `coffret helper`: an item in the tray, and a shortcut. The one thing to keep true: the file that starts it with the desktop is there
// exactly while it is switched on.

internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import Glibc

enum HelperCommand {
    private static let programName = "coffret-helper"
    private static let noBus = "there is no bus of a desktop here"
    private static let firstLine = "# Written by coffret helper on."

    static let description = CommandDescription(
        "helper", group: .scripts, "Show Coffret in the desktop's tray, with a shortcut to find and copy",
        discussion: [
            "The program coffret-helper puts an item into the tray: open the window, find and copy, lock, unlock. Where the desktop has the portal for global shortcuts, it asks for one; Docs/desktop.md says how to set one elsewhere. It holds no key and sees no text of the store."
        ],
        subcommands: [
            CommandDescription("on", "Start it now, and with the desktop", run: switchOn),
            CommandDescription("off", "End it, and start it no more", run: switchOff),
            CommandDescription("status", "Say whether it runs, and starts with the desktop", run: status),
        ])

    /// What the desktop starts when the person logs in (XDG Autostart).
    private static func path(_ context: CommandContext) throws -> String {
        guard let folder = context.environment.baseDirectory(.configHome, below: ".config") else {
            throw CommandFailure(.unavailable, .frontFailed, "there is no home folder")
        }
        return PathText.join(folder, "autostart/" + programName + ".desktop")
    }

    /// How the helper of a store is started; nil where one of the two is missing.
    private static func words(_ store: String) -> [String]? {
        guard let own = AgentLocation.canonical("/proc/self/exe"),
            let program = AgentLocation.canonical(PathText.join(PathText.parent(of: own), programName)),
            let store = AgentLocation.canonical(store)
        else { return nil }
        return [program, "--store", store]
    }

    private static func switchOn(_ context: CommandContext) throws {
        guard let words = words(try StoreAccess.requireStore(context).path) else {
            throw CommandFailure(
                .unavailable, .frontMissing, "there is no \(programName) beside this program", hint: "install it")
        }
        let lines = [
            firstLine, "[Desktop Entry]", "Type=Application", "Name=Coffret", "Icon=coffret",
            "Comment=Coffret in the tray",
            "Exec=" + words.map(quoted).joined(separator: " "), "X-GNOME-Autostart-enabled=true",
        ]
        let path = try path(context)
        try PosixFileSystem().makeDirectories(PathText.parent(of: path))
        try PosixFileSystem().replaceFile(path, with: Array((lines.joined(separator: "\n") + "\n").utf8))
        start(words)
        let isRunning = isRunning(words)
        try context.confirmDone(fields(isOn: true, path, isRunning)) {
            isRunning == true
                ? "It is in the tray, and starts with the desktop."
                : "It starts with the desktop. It does not run now: \(isRunning == nil ? noBus : "it has ended")."
        }
    }

    /// Starts it, and waits until it serves. One that runs already stays, and the new one ends by itself.
    private static func start(_ words: [String]) {
        guard let (reading, writing) = try? ChildProcess.makePipe() else { return }
        let source = OwnedDescriptor(reading)
        let child = try? ChildProcess.start(
            words, input: .null, output: .descriptor(writing), error: .null, isDetached: true)
        close(writing)
        // "ready", or its end.
        if child != nil { _ = try? DescriptorIO.readAll(from: source.number, byteCountMax: 1) }
    }

    /// By the bus of the desktop; nil where there is none.
    private static func isRunning(_ words: [String]) -> Bool? {
        let asked = words + ["--running"]
        switch try? ChildProcess.start(asked, input: .null, output: .null, error: .null).wait() {
        case .exited(0): return true
        case .exited(1): return false
        default: return nil
        }
    }

    private static func fields(isOn: Bool, _ path: String, _ isRunning: Bool?) -> JSONValue {
        .fields([
            "isOn": .bool(isOn), "file": isOn ? .string(path) : nil, "isRunning": isRunning.map { .bool($0) },
        ])
    }

    /// An argument of a desktop entry, in which nothing means anything else (Desktop Entry Specification 1.5, "Exec").
    private static func quoted(_ word: String) -> String {
        let inner = word.reduce(into: "") { text, character in
            // In a string of such a file the backslash itself is written twice.
            if "\"`$".contains(character) { text += "\\\\" }
            if character == "\\" { text += "\\\\\\" }
            if character == "%" { text += "%" }
            text.append(character)
        }
        return "\"\(inner)\""
    }

    private static func switchOff(_ context: CommandContext) throws {
        let path = try path(context)
        guard unsafe unlink(path) == 0 || errno == ENOENT else {
            throw CommandFailure(.cannotCreate, .fileUnwritable, "\(TextWidth.displaySafe(path)) cannot be removed")
        }
        // It sees within seconds that the file is gone.
        try context.confirmDone(.fields(["isOn": .bool(false)])) { "It leaves the tray, and starts no more." }
    }

    private static func status(_ context: CommandContext) throws {
        let path = try path(context)
        let isOn = unsafe access(path, F_OK) == 0
        let isRunning = words(try StoreAccess.path(context)).flatMap(isRunning)
        try context.print(fields(isOn: isOn, path, isRunning)) {
            let file = TextWidth.displaySafe(path)
            switch (isOn, isRunning == true) {
            case (true, true): return "It runs, and starts with the desktop: \(file)"
            case (true, false):
                let why = isRunning == nil ? noBus + "." : "coffret helper on"
                return "It starts with the desktop: \(file)\nIt does not run now: \(why)"
            case (false, true): return "It runs, and does not start with the desktop."
            case (false, false): return "It is off: coffret helper on"
            }
        }
    }
}
