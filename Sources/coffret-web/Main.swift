// The tab's executable: serves the page to a browser of this user, while the store is unlocked.

internal import CoffretBase
internal import CoffretClient
internal import CoffretFront
internal import CoffretTerminal
internal import Glibc

@main
enum Main {
    private static let usage = "usage: coffret-web --store PATH [--page FOLDER] [--launch]"

    static func main() {
        ProcessHardening.apply()
        ProcessHardening.dropVariablesThatLoadCode()
        exit(run(ProgramArguments.words))
    }

    private static func run(_ words: [String]) -> Int32 {
        var (store, folder, launches) = (String?.none, PageFiles.installedFolder, false)
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--store": store = rest.popFirst().flatMap(AgentLocation.canonical)
            case "--page": folder = rest.popFirst()
            case "--launch": launches = true
            default: return fail(64, usage)
            }
        }
        guard let store, let folder else { return fail(64, usage) }
        let files: PageFiles
        do throws(FrontError) {
            files = try PageFiles(folder: folder)
        } catch { return fail(78, "coffret-web: error: \(error.message)   [\(error.code.rawValue)]") }
        guard let server = WebServer(files: files, store: store, environment: ProcessEnvironment()) else {
            return fail(71, "coffret-web: error: no port of this machine is to be had")
        }
        let signals = SignalWatch(SignalWatch.ending)
        try? DescriptorIO.write(Array((server.gate.address + "\n").utf8), to: STDOUT_FILENO)
        if launches { launch(server.gate.address) }
        switch server.run(signals) {
        case .locked: say("The store is locked. coffret open --browser opens it again.")
        case .idle: say("Nobody asked for ten minutes, so the page is no longer served.")
        case .signal: break
        }
        return 0
    }

    private static func launch(_ address: String) {
        guard let program = ProgramFinder(environment: ProcessEnvironment()).find("xdg-open") else {
            return say("Open this address in a browser, within a minute.")
        }
        _ = try? ChildProcess.start([program, address], input: .null, output: .null, error: .null, isDetached: true)
    }

    private static func say(_ text: String) { try? DescriptorIO.write(Array((text + "\n").utf8), to: STDERR_FILENO) }

    private static func fail(_ code: Int32, _ text: String) -> Int32 {
        say(text)
        return code
    }
}
