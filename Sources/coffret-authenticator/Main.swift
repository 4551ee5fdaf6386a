// A security key for browsers and other programs, out of the passkeys of a vault. Invariant: this process holds no key; it makes messages out of
// reports, and passes them to a session of the agent.

internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

@main
enum Main {
    static func main() {
        ProcessHardening.apply()
        ProcessHardening.dropVariablesThatLoadCode()
        var information = stat()
        let isDevice =
            unsafe fstat(STDIN_FILENO, &information) == 0
            && [S_IFCHR, S_IFSOCK].contains(information.st_mode & S_IFMT) && isatty(STDIN_FILENO) == 0
        guard ProgramArguments.words.count <= 1, isDevice else {
            let text = "coffret-authenticator: systemd starts this with /dev/uhid as its input; see Docs/browser.md\n"
            _ = try? DescriptorIO.write(Array(text.utf8), to: STDERR_FILENO)
            exit(64)
        }
        exit(Authenticator(environment: ProcessEnvironment()).run())
    }
}
