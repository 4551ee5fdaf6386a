// The desktop's Secret Service out of a vault. It holds no key of the store and asks by a token.

internal import CoffretBase
internal import CoffretClient
internal import CoffretSecretService
internal import CoffretTerminal
internal import Glibc

@main
enum Main {
    static func main() {
        ProcessHardening.startAgainWithoutPreloads()
        ProcessHardening.apply()
        ProcessHardening.dropVariablesThatLoadCode()
        exit(run(ProgramArguments.words))
    }

    private static func run(_ words: [String]) -> Int32 {
        if words == ["--provider"] {
            guard let name = SecretServiceProvider.look() else { return fail(69, "there is no bus of a desktop") }
            try? DescriptorIO.write(Array((name + "\n").utf8), to: STDOUT_FILENO)
            return 0
        }
        guard words.isEmpty else { return fail(64, "usage: coffret-secret-service [--provider]") }
        let environment = ProcessEnvironment()
        guard let grant = SecretServiceGrant.read(environment) else {
            return fail(78, "it is switched off: coffret secret-service on")
        }
        guard let own = AgentLocation.canonical("/proc/self/exe") else { return fail(71, "/proc is missing") }
        let coffret = PathText.join(PathText.parent(of: own), "coffret")
        let signals = SignalWatch(SignalWatch.ending)
        let service: SecretService
        do throws(SecretService.Refusal) {
            service = try SecretService(
                grant, environment, unlockingBy: [coffret, "unlock", "--store", grant.store])
        } catch {
            switch error {
            case .noBus: return fail(69, "there is no bus of a desktop")
            case .isProvided: return fail(75, "another program is the desktop's keyring, and stays it")
            }
        }
        try? DescriptorIO.write(Array("ready\n".utf8), to: STDOUT_FILENO)
        switch service.run(signals) {
        case .signal, .busGone: return 0
        case .isOff: return fail(0, "it was switched off")
        }
    }

    private static func fail(_ code: Int32, _ words: String) -> Int32 {
        ServiceLog.say(words)
        return code
    }
}
