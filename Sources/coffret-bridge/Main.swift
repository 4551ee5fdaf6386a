// The host of the browser's extension: what a browser starts for it. Invariant: it holds no key, opens no message that it passes on,
// and keeps none.

internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal
internal import Glibc

@main
enum Main {
    static func main() {
        ProcessHardening.apply()
        ProcessHardening.dropVariablesThatLoadCode()
        let words = ProgramArguments.words
        guard words.contains(BrowserExtension.chromiumOrigin) || words.contains(BrowserExtension.firefoxID) else {
            let text = "coffret-bridge: a browser starts this for its extension; coffret browser install tells it how\n"
            _ = try? DescriptorIO.write(Array(text.utf8), to: STDERR_FILENO)
            exit(64)
        }
        exit(BridgeHost(environment: ProcessEnvironment()).run())
    }
}
