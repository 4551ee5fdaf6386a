// `coffret helper`: an item in the tray, and a shortcut. The one thing to keep true: the file that starts it with the desktop is there
// exactly while it is switched on.

internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import Glibc

enum HelperCommand {
    private static let programName = "coffret-helper"
    private static let firstLine = "# Written by coffret helper on."

    static let description = CommandDescription(
        "helper", group: .scripts, "Show Coffret in the desktop's tray, with a shortcut to find and copy",
        discussion: [
            "The program coffret-helper puts an item into the tray: open the window, find and copy, lock, unlock. Where the desktop has the portal for global shortcuts, it asks for one; Docs/desktop.md says how to set one elsewhere. It holds no key and sees no text of the store."
        ],
        subcommands: [
            CommandDescription("on", "Start it now, and with the desktop", run: switchOn),
            CommandDescription("off", "End it, and start it no more", run: switchOff),
            CommandDescription("status", "Say whether it starts with the desktop", run: status),
        ])

    /// What the desktop starts when the person logs in (XDG Autostart).
    private static func path(_ context: CommandContext) throws -> String {
        guard let folder = context.environment.baseDirectory(.configHome, below: ".config") else {
            throw CommandFailure(.unavailable, .frontFailed, "there is no home folder")
        }
        return PathText.join(folder, "autostart/" + programName + ".desktop")
    }

    private static func switchOn(_ context: CommandContext) throws {
        guard let own = AgentLocation.canonical("/proc/self/exe"),
            let program = AgentLocation.canonical(PathText.join(PathText.parent(of: own), programName)),
            let store = AgentLocation.canonical(try StoreAccess.requireStore(context).path)
        else {
            throw CommandFailure(
                .unavailable, .frontMissing, "there is no \(programName) beside this program", hint: "install it")
        }
        let words = [program, "--store", store]
        let lines = [
            firstLine, "[Desktop Entry]", "Type=Application", "Name=Coffret", "Icon=coffret",
            "Comment=Coffret in the tray",
            "Exec=" + words.map(quoted).joined(separator: " "), "X-GNOME-Autostart-enabled=true",
        ]
        let path = try path(context)
        try PosixFileSystem().makeDirectories(PathText.parent(of: path))
        try PosixFileSystem().replaceFile(path, with: Array((lines.joined(separator: "\n") + "\n").utf8))
        // One that runs already stays, and the new one ends by itself.
        let child = try? ChildProcess.start(words, input: .null, output: .null, error: .null, isDetached: true)
        try context.confirmDone(.fields(["isOn": .bool(true), "file": .string(path)])) {
            child == nil ? "It starts with the desktop." : "It is in the tray, and starts with the desktop."
        }
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
        try context.print(.fields(["isOn": .bool(isOn), "file": isOn ? .string(path) : nil])) {
            isOn ? "It starts with the desktop: \(TextWidth.displaySafe(path))" : "It is off: coffret helper on"
        }
    }
}
