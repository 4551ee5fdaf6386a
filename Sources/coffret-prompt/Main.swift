// The executable: asks a person at the desktop for another program, as a pinentry does.

internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWidgets
internal import Glibc

@main
struct Main {
    static func main() {
        run()
    }

    /// Not bound to the main actor: GTK calls back from C.
    private nonisolated static func run() {
        ProcessHardening.apply()
        ProcessHardening.startAgainWithoutPreloads()
        ProcessHardening.dropVariablesThatLoadCode()
        // Without a screen nobody can be asked, and whoever asks learns it at once.
        guard QuestionWindow.open() else { exit(ExitCode.unavailable.rawValue) }
        PromptServer().run()
        exit(ExitCode.success.rawValue)
    }
}
