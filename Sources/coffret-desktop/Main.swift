// The executable of the window: shows the page of one store, and locks with it.

internal import CGTK
internal import CWebKit
internal import CoffretBase
internal import CoffretClient
internal import CoffretFront
internal import CoffretTerminal
internal import CoffretWidgets
internal import Glibc

@main
struct Main {
    private static let usage = "usage: coffret-desktop --store PATH [--new] [--page FOLDER]"

    static func main() {
        exit(run(ProgramArguments.words))
    }

    /// Not bound to the main actor: GTK calls back from C.
    private nonisolated static func run(_ words: [String]) -> Int32 {
        ProcessHardening.apply()
        ProcessHardening.startAgainWithoutPreloads(with: WindowStart.wiping)
        // Processes that it starts have memory of their own.
        for (name, _) in WindowStart.wiping where name != WindowStart.webKitWiping.name { unsafe unsetenv(name) }
        ProcessHardening.dropVariablesThatLoadCode()
        let weakening = ["WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS", "WEBKIT_FORCE_SANDBOX", "WEBKIT_INSPECTOR_SERVER"]
        for name in weakening { unsafe unsetenv(name) }
        var (store, folder, isNew) = (String?.none, PageFiles.installedFolder, false)
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--store": store = rest.popFirst().flatMap(AgentLocation.canonicalToBe)
            case "--new": isNew = true
            case "--page": folder = rest.popFirst()
            default: return fail(64, usage)
            }
        }
        guard let store, let folder else { return fail(64, usage) }
        let files: PageFiles
        do throws(FrontError) {
            files = try PageFiles(folder: folder)
        } catch { return fail(78, "coffret-desktop: error: \(error.message)   [\(error.code.rawValue)]") }
        let noScreen = "coffret-desktop: error: there is no screen; coffret find shows the store on the terminal"
        if isNew, AgentLocation.canonical(store + "/store.keyring") == nil {
            guard QuestionWindow.open(style: StartWindow.style + DesktopWindow.style) else { return fail(69, noScreen) }
            guard StartWindow(store: store, environment: ProcessEnvironment()).run() else { return 0 }
            // The window of the store is another start, which gives up the network first.
            ProcessHardening.startAgain()
        }
        // Where the system refuses it, the page's own bounds hold: no address, no proxy, no navigation.
        _ = coffret_leave_network()
        guard QuestionWindow.open(style: DesktopWindow.style) else { return fail(69, noScreen) }
        guard let only = OnlyWindow(of: store) else { return 0 }
        let window = DesktopWindow(store: store, files: files, environment: ProcessEnvironment())
        only.raised = { window.raise() }
        window.run()
        return 0
    }

    private static func fail(_ code: Int32, _ text: String) -> Int32 {
        try? DescriptorIO.write(Array((text + "\n").utf8), to: STDERR_FILENO)
        return code
    }
}
