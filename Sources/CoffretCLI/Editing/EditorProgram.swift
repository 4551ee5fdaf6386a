// Which editor, and how it is told to keep its own copies in memory too. The one thing to keep true:
// no swap, backup, undo or history file of an editor we know lands outside the private folder.

internal import CoffretTerminal
internal import Glibc

/// The person's editor.
struct EditorProgram: Sendable {
    /// As the person wrote it: a program, perhaps with arguments.
    let command: String
    /// The program's name, for messages.
    let name: String
    /// The name of the program that finally runs, such as `vim.basic` for `vi`.
    private let finalName: String

    /// VISUAL, then EDITOR, then what Debian calls `editor`, then nano and vi.
    static func find(_ environment: ProcessEnvironment) throws -> EditorProgram {
        let finder = ProgramFinder(environment: environment)
        let chosen = environment.value(.visual) ?? environment.value(.editor)
        if let chosen { return EditorProgram(command: chosen, finder: finder) }
        for name in ["editor", "nano", "vi"] where finder.find(name) != nil {
            return EditorProgram(command: name, finder: finder)
        }
        throw CommandFailure(
            .unavailable, .editorMissing, "there is no editor",
            hint: "set EDITOR to the editor you like, or give the text through a pipe")
    }

    init(command: String, finder: ProgramFinder) {
        self.command = command
        let program = command.split(separator: " ").first.map(String.init) ?? command
        name = program.split(separator: "/").last.map(String.init) ?? program
        finalName = finder.find(program).map(ProgramFinder.finalName) ?? name
    }

    /// The command line. The shell splits EDITOR into words, as git and others do.
    func words(editing path: String, privateFolder: String) -> [String] {
        ["/bin/sh", "-c", "\(command) \"$@\"", name] + Self.discretion(finalName, privateFolder: privateFolder) + [path]
    }

    /// Arguments that keep an editor from writing copies elsewhere.
    static func discretion(_ finalName: String, privateFolder: String) -> [String] {
        if finalName.hasPrefix("vim") || finalName.hasPrefix("nvim") || finalName.hasPrefix("gvim") {
            // No swap file, no history of registers, and backups and undo off after the person's own settings.
            return ["-n", "-i", "NONE", "-c", "set nobackup nowritebackup noundofile noswapfile"]
        }
        if finalName == "nano" { return ["-C", privateFolder] }
        if finalName.hasPrefix("emacs"), !finalName.hasPrefix("emacsclient") {
            return ["--eval", "(setq make-backup-files nil auto-save-default nil create-lockfiles nil)"]
        }
        return []
    }
}
