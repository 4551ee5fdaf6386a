// The executable of the small window that finds and copies. It holds no key.

internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import CoffretWidgets
internal import Glibc

@main
struct Main {
    static func main() {
        exit(run(ProgramArguments.words))
    }

    /// Not bound to the main actor: GTK calls back from C.
    private nonisolated static func run(_ words: [String]) -> Int32 {
        ProcessHardening.apply()
        ProcessHardening.startAgainWithoutPreloads()
        ProcessHardening.dropVariablesThatLoadCode()
        guard words.count == 2, words[0] == "--store", let store = AgentLocation.canonical(words[1]),
            let own = AgentLocation.canonical("/proc/self/exe")
        else { return fail(64, "usage: coffret-quick --store PATH") }
        guard QuestionWindow.open(style: QuickWindow.style) else {
            return fail(69, "coffret-quick: error: there is no screen; coffret find does the same on the terminal")
        }
        let program = PathText.join(PathText.parent(of: own), "coffret")
        QuickWindow(store: store, program: program, environment: ProcessEnvironment()).run()
        return 0
    }

    private static func fail(_ code: Int32, _ text: String) -> Int32 {
        try? DescriptorIO.write(Array((text + "\n").utf8), to: STDERR_FILENO)
        return code
    }
}
